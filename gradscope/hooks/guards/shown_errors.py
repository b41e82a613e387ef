"""What the program prints of exceptions and warnings stays as it would be without us:
tracebacks lose our frames, warnings keep the user's line."""

from __future__ import annotations

import inspect
import sys
import traceback
import warnings
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks.recorder.sites import kind_of
from gradscope.tracebacks import clean, clean_exception, is_detour, visible_frames


class ShownErrors(Hook):
    order = 10

    def install(self) -> None:
        real_init = traceback.TracebackException.__init__
        real_show = warnings._showwarnmsg  # type: ignore[attr-defined]

        def __init__(
            shown: Any, exc_type: Any, exc_value: Any, exc_traceback: Any, *args: Any, **kwargs: Any
        ) -> None:
            try:
                clean_exception(exc_value)
                exc_traceback = clean(exc_traceback) or exc_traceback
            except BaseException as error:
                self.recorder.fault("cleaning a traceback", error)
            real_init(shown, exc_type, exc_value, exc_traceback, *args, **kwargs)

        def _showwarnmsg(message: Any) -> None:
            if text := _of_anomaly_mode(message.message):
                self.recorder.history.anomaly = text
            if kind_of(message.filename) != "own":
                real_show(message)
                return
            self._again(message, real_show)

        real_walk = traceback.walk_stack

        def walk_stack(f: Any) -> Any:
            """Also what anomaly mode notes of the forward call."""
            if f is None:
                return real_walk(f)
            try:
                return iter(visible_frames(real_walk(f)))
            except BaseException as error:
                self.recorder.fault("cleaning a stack", error)
                return real_walk(f)

        real_outer = inspect.getouterframes

        def getouterframes(frame: Any, context: int = 1) -> Any:
            found = real_outer(frame, context)
            try:
                shown = {id(f) for f, _ in visible_frames((entry.frame, entry.lineno) for entry in found)}
                return [entry for entry in found if id(entry.frame) in shown]
            except BaseException as error:
                self.recorder.fault("cleaning a stack", error)
                return found

        if (notebook := sys.modules.get("IPython.core.interactiveshell")) is not None:
            shell = notebook.InteractiveShell
            self.patch(shell, "showtraceback", self._showtraceback(shell.showtraceback))
        self.patch(inspect, "getouterframes", getouterframes)
        self.patch(traceback.TracebackException, "__init__", __init__)
        self.patch(traceback, "walk_stack", walk_stack)
        self.patch(warnings, "_showwarnmsg", _showwarnmsg)
        self.patch(warnings, "warn", self._warn(warnings.warn))

    def _showtraceback(self, real: Any) -> Any:
        """For a notebook, which reads tracebacks itself."""

        def showtraceback(shell: Any, exc_tuple: Any = None, *args: Any, **kwargs: Any) -> Any:
            try:
                clean_exception(sys.exc_info()[1] if exc_tuple is None else exc_tuple[1])
            except BaseException as error:
                self.recorder.fault("cleaning a traceback", error)
            return real(shell, exc_tuple, *args, **kwargs)

        return showtraceback

    @staticmethod
    def _warn(real: Any) -> Any:
        def warn(
            message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **more: Any
        ) -> None:
            real(
                message,
                category,
                stacklevel + 1 + hidden_frames(sys._getframe(1), stacklevel),
                source,
                **more,
            )

        return warn

    def _again(self, message: Any, real_show: Any) -> None:
        """torch warned from C++ while our frame was on top: warn from the caller's instead."""
        frame: Any = sys._getframe(1)
        while frame is not None and (
            kind_of(frame.f_code.co_filename) == "own" or is_detour(frame.f_code.co_filename)
        ):
            own = frame.f_globals.get("__warningregistry__")
            if own is not None:
                own.clear()
            frame = frame.f_back
        if frame is None:
            real_show(message)
            return
        warnings.warn_explicit(
            message.message, message.category, frame.f_code.co_filename, frame.f_lineno,
            frame.f_globals.get("__name__") or "<string>", frame.f_globals.setdefault("__warningregistry__", {}),
        )  # fmt: skip


def hidden_frames(frame: Any, visible: int) -> int:
    """How many frames that a plain run does not have lie among the first `visible` others."""
    hidden = 0
    while frame is not None:
        path = frame.f_code.co_filename
        if kind_of(path) == "own":
            hidden += 1
        elif is_detour(path) and frame.f_code.co_name == "handle_torch_function":
            hidden += 2  # and the function that took the detour: it stands there twice
            frame = frame.f_back
        else:
            visible -= 1
            if visible <= 0:
                break
        frame = frame.f_back if frame is not None else None
    return hidden


def _of_anomaly_mode(warning: Any) -> str:
    """What torch warns of where anomaly mode stops a pass; "" of any other warning, whose code is not asked."""
    said = warning.args[0] if type(warning) is UserWarning and warning.args else ""
    return said if type(said) is str and said.startswith("Error detected in ") else ""
