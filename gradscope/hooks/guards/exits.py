"""`os._exit` and `os.exec…` run no clean-up: what was seen until then is committed, and told of, first."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import wraps
from typing import Any

from gradscope.hooks import Hook


class Exits(Hook):
    order = 15

    def install(self) -> None:
        real = os._exit
        pid = os.getpid()

        def _exit(status: Any) -> None:
            if os.getpid() == pid and isinstance(status, int):
                with suppress(BaseException):  # nobody is left to tell
                    if status and self.recorder.mine():
                        self.recorder.left = self.recorder.sites.current(sys._getframe(1))
                    for follow in self.recorder.signals.process_exit:
                        follow(status)
            real(status)

        self.patch(os, "_exit", _exit)
        for name in ("execv", "execve"):  # the others call these
            self.patch(os, name, self._replacing(getattr(os, name)))

    def _replacing(self, real: Any) -> Any:
        pid = os.getpid()

        @wraps(real)
        def call(path: Any, *given: Any, **named: Any) -> Any:
            if os.getpid() == pid and _can_run(path):
                with suppress(BaseException):
                    for follow in self.recorder.signals.replaced:
                        follow()
            return real(path, *given, **named)

        return call


def _can_run(path: Any) -> bool:
    """`os.execvp` tries all folders of PATH."""
    try:
        return os.path.isfile(path) and os.access(path, os.X_OK)
    except (OSError, TypeError, ValueError):
        return False
