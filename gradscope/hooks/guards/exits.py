"""`os._exit` runs no clean-up: what was seen until then is committed, and told of, first."""

from __future__ import annotations

import os
from contextlib import suppress
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
                    for follow in self.recorder.signals.process_exit:
                        follow(status)
            real(status)

        self.patch(os, "_exit", _exit)
