"""Steps aside around compiled callables: torch.compile can't trace under a function mode.
A compiled region is one op with the parameters that it uses."""

from __future__ import annotations

import functools
import sys
from time import perf_counter
from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks._errors import note_error


class Compiled(Hook):
    order = 25  # after modules, which knows torch's own `__call__`

    def install(self) -> None:
        self.inside = False
        self.classes: set[type] = set()
        self.plain_call = self.recorder.plain_module_call
        self.patch(torch, "compile", self._compile(torch.compile))
        dynamo = sys.modules.get("torch._dynamo.eval_frame")
        if dynamo is not None:
            self._watch_class(dynamo.OptimizedModule)

    def _compile(self, real: Any) -> Any:
        @functools.wraps(real)
        def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            result = real(model, *args, **kwargs)
            if model is None:
                return lambda function: self._wrap(result(function), function)
            return self._wrap(result, model)

        return compile

    def _wrap(self, compiled: Any, plain: Any) -> Any:
        if isinstance(compiled, nn.Module):
            self._watch_class(type(compiled))
            return compiled
        if not callable(compiled):
            return compiled

        @functools.wraps(compiled)
        def call(*args: Any, **kwargs: Any) -> Any:
            name = getattr(plain, "__name__", type(plain).__name__)
            owner = getattr(plain, "__self__", None)
            return self._aside(compiled, name, owner, args, kwargs, sys._getframe(1))

        return call

    def _watch_class(self, cls: Any) -> None:
        """What torch.compile makes of a module is an OptimizedModule."""
        if cls.__name__ != "OptimizedModule" or cls in self.classes:
            return
        self.classes.add(cls)
        real = vars(cls).get("__call__", self.plain_call)

        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
            plain = functools.partial(real, module)
            name = type(module._orig_mod).__name__
            return self._aside(plain, name, module._orig_mod, args, kwargs, sys._getframe(1))

        self.patch(cls, "__call__", __call__)

    def _aside(self, function: Any, name: str, owner: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        """Calls `function` with the mode off and torch's own module call in place."""
        recorder = self.recorder
        if self.inside or not recorder.mine():
            return function(*args, **kwargs)
        first = private.sequence_number()
        module_class: Any = nn.Module
        watched = module_class.__call__
        was_on = recorder.functions.pause()
        module_class.__call__ = self.plain_call
        self.inside = True
        recorder.paused += 1
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            note_error(recorder, "op", name, error, args, kwargs, frame)
            raise
        finally:
            recorder.paused -= 1
            self.inside = False
            module_class.__call__ = watched
            if was_on:
                recorder.functions.resume()
        began = perf_counter()
        if recorder.segment.looked:
            try:
                with private.DisableTorchFunction():
                    parameters = list(owner.parameters()) if isinstance(owner, nn.Module) else []
                    if isinstance(owner, nn.Module) and recorder.modules.find(owner) is None:
                        recorder.modules.register_root(owner, frame, recorder.sites.current(frame))
                    recorder.op(name, (*args, parameters), kwargs, result, first, frame, '{"compiled":true}')
            except Exception as error:
                recorder.fault(f"recording compiled {name}", error)
        recorder.own_time += perf_counter() - began
        return result
