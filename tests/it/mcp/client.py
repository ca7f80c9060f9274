"""A client of the Python SDK that does what it is told on its standard input, and tells what came on its output.

Each line is a JSON object. `call` starts a call under a name, `cancel` takes it back, `list` lists the tools. Whatever comes
of a call is told under its name, progress included.
"""

import asyncio
import json
import os
import sys

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client


def tell(**what):
    print(json.dumps(what), flush=True)


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def call(client, order):
    name = order["as"]

    async def progress(progress, total, message):
        tell(**{"as": name, "progress": progress, "message": message})

    try:
        result = await client.call_tool(
            order["tool"],
            order["arguments"],
            read_timeout_seconds=order.get("timeout"),
            progress_callback=progress if order.get("progress") else None,
        )
        tell(**{"as": name, "result": plain(result)})
    except asyncio.CancelledError:
        tell(**{"as": name, "cancelled": True})
    except Exception as problem:
        tell(**{"as": name, "error": str(problem), "code": getattr(getattr(problem, "error", None), "code", None)})


async def main(mode, command, *arguments):
    # The SDK hands on little of its environment.
    state = {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}
    server = StdioServerParameters(command=command, args=list(arguments), env=state)
    async with Client(stdio_client(server), mode=mode) as client:
        tell(server=plain(client.server_info))
        calls = {}
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            order = json.loads(line)
            match order["do"]:
                case "list":
                    tell(tools=[plain(tool) for tool in (await client.list_tools()).tools])
                case "call":
                    calls[order["as"]] = asyncio.create_task(call(client, order))
                case "cancel":
                    calls[order["as"]].cancel()
        for task in calls.values():
            task.cancel()
        await asyncio.gather(*calls.values(), return_exceptions=True)
    tell(closed=True)


asyncio.run(main(*sys.argv[1:]))
