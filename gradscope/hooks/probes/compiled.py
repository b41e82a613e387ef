"""Steps aside where torch.compile, torch.jit.trace and torch.export look at Python code: they
would trace ours too, and torch.compile can't run under a function mode at all. A compiled
region is one op with the parameters that it uses."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.errors import note_error
from gradscope.hooks.recorder.parts import parameters
from gradscope.tracebacks import is_own


@dataclass
class Framed:
    """Where compiled code was entered at the door of its frames, and what was on before. The compiler opens and shuts
    the door for itself too while it works: only who has entered leaves."""

    entered_by: FrameType
    before: tuple[Any, bool, int]

    def is_left_by(self, caller: FrameType) -> bool:
        as_context = self.entered_by.f_code.co_name == "__enter__" and caller.f_code.co_name == "__exit__"
        return (caller is self.entered_by or as_context) and self.before[2] == private.thread_number()


class Compiled(Hook):
    order = 25  # after modules, which knows torch's own `__call__`

    def install(self) -> None:
        self.inside = False
        self.framed: Framed | None = None  # what to undo when code compiled before the watch returns
        self.classes: set[type] = set()
        self.plain_call = self.recorder.plain_module_call
        self.patch(torch, "compile", self._compile(torch.compile))
        for owner, name in private.tracing_doors():
            self.patch(owner, name, self._quietly(getattr(owner, name)))
        self.patch(private.script_module, "__call__", self._script(self.plain_call))
        self._watch_dynamo()

    def _compile(self, real: Any) -> Any:
        @functools.wraps(real)
        def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            result = real(model, *args, **kwargs)
            self._watch_dynamo()
            if model is None:
                return lambda function: self._wrap(result(function), function)
            return self._wrap(result, model)

        return compile

    def _wrap(self, compiled: Any, plain: Any) -> Any:
        if isinstance(compiled, nn.Module) or not callable(compiled) or compiled is plain:
            return compiled
        name = getattr(plain, "__name__", type(plain).__name__)
        owner = getattr(plain, "__self__", None)
        if isinstance(owner, nn.Module) and name == "_call_impl":
            name = type(owner).__name__

        @functools.wraps(compiled)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._aside(compiled, name, plain, args, kwargs, sys._getframe(1))

        return call

    def _script(self, real: Any) -> Any:
        def __call__(module: Any, /, *args: Any, **kwargs: Any) -> Any:
            plain = functools.partial(real, module)
            name = getattr(module, "original_name", type(module).__name__)
            return self._aside(plain, name, module, args, kwargs, sys._getframe(1))

        return __call__

    # -- dynamo ------------------------------------------------------------------------

    def _watch_dynamo(self) -> None:
        """Once torch's compiler is loaded: what it makes of a module is an OptimizedModule,
        and code that was compiled before the watch is met at the door of its frames."""
        dynamo: Any = sys.modules.get("torch._dynamo.eval_frame")
        if dynamo is None or dynamo.OptimizedModule in self.classes:
            return
        cls = dynamo.OptimizedModule
        self.classes.add(cls)
        if skip := getattr(dynamo, private.SKIP_CODE, None):
            _leave_ours_alone(skip)
        real = vars(cls).get("__call__", self.plain_call)

        def __call__(module: Any, /, *args: Any, **kwargs: Any) -> Any:
            plain = functools.partial(real, module)
            name = type(module._orig_mod).__name__
            return self._aside(plain, name, module._orig_mod, args, kwargs, sys._getframe(1))

        self.patch(cls, "__call__", __call__)
        door = getattr(dynamo, private.FRAME_DOOR, None)
        if door is not None:
            self.patch(dynamo, private.FRAME_DOOR, self._frames(door))

    def _frames(self, door: Any) -> Any:
        def set_frames(callback: Any) -> Any:
            caller = sys._getframe(1)
            if callback and self.framed is None and not self.inside and self.recorder.mine():
                self.framed = Framed(caller, self._off())
                return door(callback)
            before = door(callback)
            if not callback and self.framed is not None and self.framed.is_left_by(caller):
                was, self.framed = self.framed.before, None
                self._on(was)
            return before

        return set_frames

    # -- aside -------------------------------------------------------------------------

    def _off(self) -> tuple[Any, bool, int]:
        """The mode off, and torch's own module call in place."""
        recorder = self.recorder
        module_class: Any = nn.Module
        for follow in recorder.signals.compiling:
            follow()
        watched = module_class.__call__
        was_on = recorder.functions.pause()
        module_class.__call__ = self.plain_call
        self.inside = True
        recorder.paused += 1
        return watched, was_on, private.thread_number()

    def _on(self, before: tuple[Any, bool, int]) -> None:
        module_class: Any = nn.Module
        self.recorder.paused -= 1
        self.inside = False
        module_class.__call__ = before[0]
        if before[1]:
            self.recorder.functions.resume()

    def _quietly(self, real: Any) -> Any:
        """A call that is not recorded, nor anything in it."""

        @functools.wraps(real)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.inside or not self.recorder.mine():
                return real(*args, **kwargs)
            before = self._off()
            try:
                return real(*args, **kwargs)
            finally:
                self._on(before)

        return call

    def _aside(self, function: Any, name: str, plain: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        recorder = self.recorder
        if self.inside or not recorder.mine():
            return function(*args, **kwargs)
        first = private.sequence_number()
        before = self._off()
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            note_error(recorder, "op", name, error, args, kwargs, frame)
            raise
        finally:
            self._on(before)
        began = perf_counter()
        if recorder.segment.looked:
            try:
                with private.DisableTorchFunction():
                    used = self._parameters(plain, frame)
                    recorder.op(name, (*args, used), kwargs, result, first, frame, '{"compiled":true}')
            except BaseException as error:
                recorder.fault(f"recording compiled {name}", error)
        recorder.own_time += perf_counter() - began
        return result

    def _parameters(self, plain: Any, frame: Any) -> list[Any]:
        """Those of the modules that the compiled code can name."""
        recorder = self.recorder
        found: dict[int, Any] = {}
        for module in _modules(plain):
            if recorder.modules.find(module) is None:
                recorder.modules.register_root(module, frame, recorder.sites.current(frame))
            found |= {id(p): p for p in parameters(module)}
        return list(found.values())


def _modules(plain: Any) -> list[nn.Module]:
    """The modules that a callable is, is bound to, or refers to."""
    owner = getattr(plain, "__self__", None)
    named: list[Any] = [plain, owner]
    function = getattr(plain, "__func__", plain)
    if isinstance(function, FunctionType):
        for cell in function.__closure__ or ():
            try:
                named.append(cell.cell_contents)
            except ValueError:  # not filled yet
                continue
        named += [function.__globals__.get(name) for name in function.__code__.co_names]
    return [thing for thing in named if issubclass(type(thing), nn.Module)]


_left_alone: set[str] = set()  # modules of ours, once for the process


def _leave_ours_alone(skip: Callable[[CodeType], None]) -> None:
    """Tells the compiler of all code of ours that runs beside the program: where it meets that, below what it has
    left to Python (`loss.backward()` in a compiled step), it would compile it, and can fail at that."""
    new = [name for name in list(sys.modules) if name.startswith("gradscope.") and name not in _left_alone]
    for name in new:
        for thing in list(vars(sys.modules[name]).values()):
            if getattr(thing, "__module__", name) == name:  # not what it has imported
                for one in vars(thing).values() if isinstance(thing, type) else (thing,):
                    code = getattr(getattr(one, "__func__", one), "__code__", None)
                    if isinstance(code, CodeType) and is_own(code.co_filename):
                        for inner in _with_inner(code):
                            skip(inner)
        _left_alone.add(name)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)
