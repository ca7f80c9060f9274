"""The event loop of a session: it is made by the first cell that awaits and lives as long as the session."""

import asyncio
from asyncio import CancelledError
from contextvars import copy_context
from inspect import CO_COROUTINE
from selectors import DefaultSelector

# The loop that drives a cell now, and that cell's task.
driving = None

# What was given to the loop to stop it, because the cell is to stop and would not be cancelled.
stops = []

# The context that the last cell's task had in the end.
left = None


async def drive(parts, namespace):
    # A stop between the making of the task and the driving of the loop leaves a task, which must not begin in a later cell.
    global left
    if driving is None or driving[1] is not asyncio.current_task():
        return None
    value = None
    try:
        for code in parts:
            value = eval(code, namespace)
            if code.co_flags & CO_COROUTINE:
                value = await value
    finally:
        left = copy_context()
    return value


def new_loop():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop


def make_current(loop):
    """`asyncio.run` leaves no loop behind, and each session has its own."""
    try:
        asyncio.set_event_loop(loop)
    except Exception:
        # A program that broke what asyncio itself uses hears of it in a cell that awaits, and no other cell needs the loop.
        pass


def run(loop, parts, namespace):
    """Runs a cell's code inside the loop. Tasks of earlier cells advance meanwhile."""
    global driving, left
    left = None
    task = loop.create_task(drive(parts, namespace))
    driving = loop, task
    try:
        value = loop.run_until_complete(task)
    except BaseException:
        # After an interrupt `driving` is for `repair` to look at.
        if not (stops or task.done()):
            wind_up(loop, task)
        keep_context()
        raise
    driving = None
    keep_context()
    return value


def keep_context():
    """Sets for later cells what the cell has set for itself: a task has context variables of its own, a cell has the session's."""
    global left
    context, left = left, None
    for variable, value in context.items() if context else ():
        if variable.get(None) is not value:
            variable.set(value)


def wind_up(loop, task):
    """Something other than the cell's own code ended the loop: the cell ends too, in an orderly way."""
    task.cancel()
    try:
        loop.run_until_complete(task)
    except CancelledError:
        pass


def whose():
    """Says whose code runs.

    `own` is the cell's; `other` is another task's; `loop` is the loop's, which may have taken a callback off its list that
    would be lost if it were interrupted.
    """
    if driving is None:
        return "own"
    loop, task = driving
    if not loop.is_running():
        return "own"
    running = asyncio.current_task(loop)
    if running is task:
        return "own"
    return "loop" if running is None else "other"


def cancel_instead():
    """Cancels the cell's task where raising would hit something else. Returns who runs."""
    runs = whose()
    if runs != "own":
        loop, task = driving
        loop.call_soon_threadsafe(task.cancel)
    return runs


def give_up_instead():
    """Has the loop stop, and leave a task of the cell's that would not be cancelled, where raising would hit something else."""
    runs = whose()
    if runs != "own":
        loop, _ = driving
        stops.append(loop.call_soon_threadsafe(loop.stop))
    return runs


def repair(loop):
    """Puts the loop in order after an interrupt that may have skipped any line of asyncio's."""
    global driving
    asyncio._set_running_loop(None)
    loop._thread_id = None
    loop._stopping = False
    stop = asyncio.base_events._run_until_complete_cb
    for handle in loop._ready:
        if handle._callback is stop:
            handle.cancel()
    while stops:
        stops.pop().cancel()
    if driving is not None:
        _, task = driving
        driving = None
        task.remove_done_callback(stop)
        if not task.done():
            # Its code was closed; nothing may ever step it again, so nobody should wait for it either.
            task._log_destroy_pending = False
            asyncio.tasks._unregister_task(task)
            # What it waited for may step it all the same, which is an error that is nobody's.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())


def take_over(loop):
    """Gives the loop of a copied process a selector and a way to wake it of its own.

    The kernel's side of the old one is shared with the process that was copied. What the loop waits for stays registered;
    pipes and sockets are dead ends by now, which it learns when it looks.
    """
    old = loop._selector
    waited_for = [key for key in old.get_map().values() if key.fileobj is not loop._ssock]
    loop._selector = DefaultSelector()
    old.close()
    loop._ssock.close()
    loop._csock.close()
    loop._internal_fds -= 1
    loop._make_self_pipe()
    for key in waited_for:
        try:
            loop._selector.register(key.fileobj, key.events, key.data)
        except (OSError, ValueError, KeyError):
            pass


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
