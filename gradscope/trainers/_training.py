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
    options: those of `gradscope.watch`.
    """

    def __init__(self, library: str, report: bool, options: dict[str, Any]):
        self._library = library
        self._report = report
        self._make: Callable[[], Scope] = lambda: gradscope.watch(**options)
        self._open = False
        self._make()  # knows what is wrong with the options
        self.scope: Scope | None = None  # of the newest training

    def begin(self) -> None:
        """Begins to watch, where nothing does."""
        from gradscope.session import active

        self.end()  # of a training that an exception has ended
        if active() is None:
            self.scope = self._make().begin(_outside(self._library, sys._getframe(1)))
            self.scope.name = "callback.scope"
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
        if self._report and scope.fails("warning"):
            print(scope.report(), file=sys.stderr)


def _outside(library: str, frame: FrameType) -> FrameType:
    """The innermost frame that is neither the library's nor ours: the one that began the training."""
    found: FrameType | None = frame
    while found is not None and found.f_globals.get("__name__", "").partition(".")[0] in (
        library,
        "gradscope",
    ):
        found = found.f_back
    return found or frame
