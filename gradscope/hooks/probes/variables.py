"""Watches `Variable(…)`, which old programs wrap their tensors in: it makes a new tensor
of the same memory, without the graph. A function mode does not see this call."""

from __future__ import annotations

import sys
from types import FrameType, FunctionType
from typing import Any

from torch.autograd import Variable

from gradscope.hooks import Hook
from gradscope.hooks._torch import DisableTorchFunction, sequence_number


class Variables(Hook):
    order = 65

    def install(self) -> None:
        real: Any = Variable.__new__

        def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
            frame, first = sys._getframe(1), sequence_number()
            result = _warned(real, frame, cls, *args, **kwargs) if kwargs else real(cls, *args)
            recorder = self.recorder
            if args and recorder.mine() and recorder.segment.looked:
                try:
                    with DisableTorchFunction():
                        asks = kwargs.get("volatile") is True
                        told = '{"volatile":true}' if asks else ""
                        recorder.op("Variable", args, None, result, first, frame, told)
                except BaseException as error:
                    recorder.fault("recording Variable", error)
            return result

        self.patch(Variable, "__new__", __new__)


def _warned(real: Any, frame: FrameType, cls: Any, *args: Any, **kwargs: Any) -> Any:
    """The call's result; what it warns of is said of the user's line, as without us: the call is made by code that
    stands there. (To catch warnings would make Python forget which it has said, of all others too.)"""
    if "volatile" not in kwargs:
        return real(cls, *args, **kwargs)

    def ours() -> Any:
        return real(cls, *args, **kwargs)

    there = ours.__code__.replace(
        co_filename=frame.f_code.co_filename, co_firstlineno=(frame.f_lineno or 1) - 1
    )
    try:
        return FunctionType(there, frame.f_globals, "", None, ours.__closure__)()
    except BaseException as error:
        raise error.with_traceback(None)  # noqa: B904, it is the same one
