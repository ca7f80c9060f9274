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
        value = loop.run_until_complete(task)
    except BaseException:
        # After an interrupt `driving` is for `repair` to look at.
        if not task.done():
            wind_up(loop, task)
        raise
    driving = None
    return value


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


def close(coroutine):
    """Ends a coroutine that would not be cancelled, lest its code run on when somebody lets go of it."""
    try:
        coroutine.close()
    except BaseException:
        pass


def end(loop):
    """Ends what runs in the loop, and the loop. A task that will not end within half a second is left."""
    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task._log_destroy_pending = False
            task.cancel()
        if left:
            _, stubborn = loop.run_until_complete(asyncio.wait(left, timeout=0.5))
            for task in stubborn:
                close(task.get_coro())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
        asyncio.set_event_loop(None)
