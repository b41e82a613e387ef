"""What the callbacks share: a watch around one training, and its report."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import gradscope
from gradscope.model import FindingsError
from gradscope.scope import Scope


class Training:
    """Watches from `begin` to `end`, unless the program is watched already (`gradscope run`, a `watch()` around it):
    then the names of the steps go there.

    library: the top package of the trainer. report: whether what was found is printed to stderr at the end.
    options: those of `gradscope.watch`. maker: the class that its user makes, and asks for the `scope`.
    """

    def __init__(self, library: str, report: bool, options: dict[str, Any], maker: str = "GradscopeCallback"):
        self._library = library
        self._maker = maker
        self._report = report
        self._make: Callable[[], Scope] = lambda: gradscope.watch(**options)
        self._open = False
        self._make()  # knows what is wrong with the options
        self.scope: Scope | None = None  # of the newest training
        self._variables: dict[str, Any] = {}  # of the module that began it

    def begin(self) -> None:
        """Begins to watch, where nothing does."""
        from gradscope.session import active

        self.end()  # of a training that an exception has ended
        if active() is None:
            frame = _outside(self._library, sys._getframe(1))
            self._variables = frame.f_globals
            self.scope = self._make().begin(frame)
            self._open = True
            atexit.register(self.end)

    def end(self, error: BaseException | None = None) -> None:
        """Ends the watch, and tells. error: what has ended the training. Does nothing where there is none."""
        scope, self._open = self.scope if self._open else None, False
        if scope is None:
            return
        atexit.unregister(self.end)
        if error is not None:
            scope.end(error)
            self._tell(scope)
            return
        try:
            scope.stop()
        except FindingsError:  # has the report
            raise
        else:
            self._tell(scope)

    def _tell(self, scope: Scope) -> None:
        if not (self._report and scope.fails("warning")):
            return
        held = next((name for name, thing in list(self._variables.items()) if _is_of(thing, self)), "")
        name = held or self._maker.removeprefix("Gradscope").lower()
        scope.name = f"{name}.scope"
        print(scope.report().rstrip("\n"), file=sys.stderr)
        if not held:
            print(f" note: keep it in a variable for that: `{name} = {self._maker}()`", file=sys.stderr)


def _is_of(thing: object, training: Training) -> bool:
    try:
        return object.__getattribute__(thing, "__dict__").get("_training") is training
    except AttributeError:
        return False


def _outside(library: str, frame: FrameType) -> FrameType:
    """The innermost frame that is neither the library's nor ours: the one that began the training."""
    found: FrameType | None = frame
    while found is not None and found.f_globals.get("__name__", "").partition(".")[0] in (
        library,
        "gradscope",
    ):
        found = found.f_back
    return found or frame
