"""Says which Python this is, on one marked line: whatever else starts up may print too."""

import os
import sys

threading = "t" if "t" in getattr(sys, "abiflags", "") else ""
version = f"{sys.version_info[0]}.{sys.version_info[1]}{threading}"
answer = f"warmcell-python {sys.implementation.name} {version} {sys.executable or ''}"
sys.stdout.buffer.write(os.fsencode(answer) + b"\n")
