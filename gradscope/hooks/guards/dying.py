"""What ends a process in C (gloo's `abort` when a peer is gone, a segmentation fault) runs nothing of Python's: of one
of several processes `faulthandler` writes beside the trace which signal it was, and where each thread stood.

The program does not see it: where it wants Python's fault handler for itself it has it, and ours is gone.
"""

from __future__ import annotations

import faulthandler
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from gradscope.hooks import Hook


class Dying(Hook):
    order = 13

    def install(self) -> None:
        self.file: TextIO | None = None
        self.process = os.getpid()
        if not self.recorder.several or faulthandler.is_enabled():
            return
        self.path = Path(f"{self.recorder.writer.path}-died")
        self.file = self.path.open("w")
        faulthandler.enable(self.file, all_threads=True)
        real_enable, real_disable, real_asked = (
            faulthandler.enable, faulthandler.disable, faulthandler.is_enabled
        )  # fmt: skip

        def enable(*args: Any, **kwargs: Any) -> None:
            real_enable(*args, **kwargs)  # raises where it can't be
            self._leave()

        def disable() -> bool:
            return self.file is None and bool(real_disable())

        def is_enabled() -> bool:
            return self.file is None and real_asked()

        self.patch(faulthandler, "enable", enable)
        self.patch(faulthandler, "disable", disable)
        self.patch(faulthandler, "is_enabled", is_enabled)

    def uninstall(self) -> None:
        super().uninstall()
        if self.file is not None:
            faulthandler.disable()
            self._leave()

    def _leave(self) -> None:
        """The file goes, where it is not the parent's of a forked child."""
        file, self.file = self.file, None
        if file is not None:
            file.close()
            if os.getpid() == self.process:
                with suppress(OSError):
                    self.path.unlink()
