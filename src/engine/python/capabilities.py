"""What cells reach of their host: `host`, and each capability under a name of its own."""


class CapabilityError(Exception):
    """A call of a host function failed."""

    def __init__(self, message, capability=None, action=None, kind="tool", retryable=False, data=None):
        super().__init__(message)
        self.capability = capability
        self.action = action
        self.kind = kind
        self.retryable = retryable
        self.data = data


CapabilityError.__module__ = "warmcell"


# What belongs to its session: a copy is the thing itself, and there is none elsewhere.
class Fixed:
    __slots__ = ()

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        raise TypeError(f"{self!r} belongs to its session and cannot be pickled")


# A host function. Calling it waits for the answer; `aio` is its twin to await. (Each object has a docstring of its own.)
class Action(Fixed):
    __slots__ = ("_line", "_capability", "__name__", "__doc__")

    def __init__(self, line, capability, name, doc):
        for slot, value in zip(Action.__slots__, (line, capability, name, doc)):
            object.__setattr__(self, slot, value)

    def __call__(self, /, *arguments, **named):
        return self._line.call(self._capability, self.__name__, arguments, named)

    def aio(self, /, *arguments, **named):
        return self._line.desk.start(self._capability, self.__name__, arguments, named)

    def __setattr__(self, name, value):
        raise AttributeError(f"the host function `{self._capability}.{self.__name__}` cannot be changed")

    def __repr__(self):
        return f"<host function {self._capability}.{self.__name__}>"


# Host functions under one name.
class Capability(Fixed):
    __slots__ = ("_name", "_actions", "__doc__")

    def __init__(self, name, actions, doc):
        for slot, value in zip(Capability.__slots__, (name, actions, doc)):
            object.__setattr__(self, slot, value)

    def __getattr__(self, name):
        action = self._actions.get(name)
        if action is None:
            known = ", ".join(f"`{known}`" for known in self._actions)
            raise AttributeError(f"the capability `{self._name}` has no action `{name}`, but {known}", name=name, obj=self)
        return action

    def __getitem__(self, name):
        return self._actions[name]

    def __setattr__(self, name, value):
        raise AttributeError(f"the capability `{self._name}` cannot be changed")

    def __dir__(self):
        return sorted(self._actions)

    def __repr__(self):
        return f"<capability {self._name}>"


class Host(Fixed):
    """All capabilities of the session."""

    __slots__ = ("_capabilities", "CapabilityError")

    def __init__(self, capabilities):
        object.__setattr__(self, "_capabilities", capabilities)
        object.__setattr__(self, "CapabilityError", CapabilityError)

    def __getattr__(self, name):
        capability = self._capabilities.get(name)
        if capability is None:
            raise AttributeError(f"the host offers no capability `{name}`", name=name, obj=self)
        return capability

    def __getitem__(self, name):
        return self._capabilities[name]

    def __setattr__(self, name, value):
        raise AttributeError("`host` cannot be changed")

    def __dir__(self):
        return sorted(self._capabilities) + ["CapabilityError"]

    def __repr__(self):
        return "<host>"


def awaited():
    """Returns the class of what `aio` gives: a future, which `create_task` and `TaskGroup` take for a coroutine as well."""
    from asyncio import Future

    class Awaited(Future):
        def send(self, _):
            if self.done():
                raise StopIteration(self.result())
            self._asyncio_future_blocking = True
            return self

        def throw(self, kind, value=None, traceback=None):
            self.cancel()
            raise kind if value is None else value

        def close(self):
            self.cancel()

    return Awaited


class Desk:
    """Hands the answers to awaited calls to those who wait, inside the loop that they wait in."""

    def __init__(self, line):
        self.line = line
        self.waiting = {}
        self.loop = None
        self.awaited = None

    def start(self, capability, action, arguments, named):
        import asyncio

        loop = asyncio.get_running_loop()
        if self.loop is not loop:
            loop.add_reader(self.line.descriptor, self.deliver)
            self.loop = loop
            self.awaited = self.awaited or awaited()
        future = self.awaited(loop=loop)
        number = self.line.start(capability, action, arguments, named)
        self.waiting[number] = future
        future.add_done_callback(lambda _: self.waiting.pop(number, None))
        return future

    def deliver(self):
        for number, capability, action, answer in self.line.take():
            future = self.waiting.pop(number, None)
            if future is None or future.done():
                continue
            try:
                future.set_result(self.line.read(capability, action, answer))
            except CapabilityError as error:
                if error.kind == "cancelled":
                    future.cancel()
                else:
                    future.set_exception(error)
            except BaseException as error:
                future.set_exception(error)


def offer(line, offered):
    """The names that a session's namespace gets."""
    line.desk = Desk(line)
    capabilities = {
        name: Capability(name, {action: Action(line, name, action, text) for action, text in actions}, doc)
        for name, doc, actions in offered
    }
    return {"host": Host(capabilities), "CapabilityError": CapabilityError, **capabilities}
