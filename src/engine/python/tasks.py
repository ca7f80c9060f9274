"""The event loop of a session: it is made by the first cell that awaits and lives as long as the session."""

import asyncio
from asyncio import CancelledError
from inspect import CO_COROUTINE

# The loop that drives a cell now, and that cell's task.
driving = None


async def drive(parts, namespace):
    value = None
    for code in parts:
        value = eval(code, namespace)
        if code.co_flags & CO_COROUTINE:
            value = await value
    return value


def new_loop():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop


def make_current(loop):
    """`asyncio.run` leaves no loop behind, and each session has its own."""
    asyncio.set_event_loop(loop)


def run(loop, parts, namespace):
    """Runs a cell's code inside the loop. Tasks of earlier cells advance meanwhile."""
    global driving
    task = loop.create_task(drive(parts, namespace))
    driving = loop, task
    try:
        return loop.run_until_complete(task)
    except BaseException:
        if not task.done():
            wind_up(loop, task)
        raise
    finally:
        driving = None


def wind_up(loop, task):
    """Something other than the cell's own code ended the loop: the cell ends too, in an orderly way."""
    task.cancel()
    try:
        loop.run_until_complete(task)
    except CancelledError:
        pass


def cancel_instead():
    """Cancels the cell's task, unless it is the one that runs. Returns whether that was done."""
    if driving is None:
        return False
    loop, task = driving
    if not loop.is_running() or asyncio.current_task(loop) is task:
        return False
    loop.call_soon_threadsafe(task.cancel)
    return True


def repair(loop):
    """Puts the loop in order after an interrupt that may have skipped any line of asyncio's."""
    global driving
    asyncio._set_running_loop(None)
    loop._thread_id = None
    loop._stopping = False
    if driving is not None:
        _, task = driving
        driving = None
        if not task.done():
            task._log_destroy_pending = False
            task.cancel()


def end(loop):
    """Ends what runs in the loop, and the loop. A task that will not end within half a second is left."""
    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task._log_destroy_pending = False
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=0.5))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
        asyncio.set_event_loop(None)
