def farewell(waits_for_threads):
    """What a Python program does at its end: it waits for its threads and calls what it has registered."""
    import atexit
    import threading

    if waits_for_threads:
        # `threading._shutdown` does the same, and takes the interpreter's own thread for ended besides.
        for ends in reversed(threading._threading_atexits):
            ends()
        own = {threading.main_thread(), threading.current_thread()}
        while left := [thread for thread in threading.enumerate() if not thread.daemon and thread not in own]:
            left[0].join()
    atexit._run_exitfuncs()
