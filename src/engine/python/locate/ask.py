"""Says which Python this is, on one marked line: whatever else starts up may print too."""

import os
import sys

threading = "t" if "t" in getattr(sys, "abiflags", "") else ""
answer = [
    "warmcell-python",
    sys.implementation.name,
    f"{sys.version_info[0]}.{sys.version_info[1]}{threading}",
    sys.base_prefix,
    sys.executable or "",
]
sys.stdout.buffer.write(os.fsencode("\0".join(answer)) + b"\n")
