"""The watched program, in its own process, with its output read line by line."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import signal
import sys
from collections.abc import Callable

_CHUNK = 65536


class Child:
    """Runs `command`. What it prints goes to `on_text`, as it comes, both streams in one."""

    def __init__(self, command: list[str], on_text: Callable[[str], None]):
        self._command = command
        self._on_text = on_text
        self._process: asyncio.subprocess.Process | None = None
        self.exit_code: int | None = None

    @property
    def running(self) -> bool:
        return self.exit_code is None

    async def run(self) -> int:
        """Runs it to its end; gives its exit code."""
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        assert self._process.stdout is not None
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        while chunk := await self._process.stdout.read(_CHUNK):
            self._on_text(decoder.decode(chunk))
        self.exit_code = await self._process.wait()
        return self.exit_code

    def stop(self, *, now: bool = False) -> None:
        """Asks the program to end, as Ctrl-C does; `now`: kills it."""
        if self._process is None or not self.running:
            return
        with contextlib.suppress(ProcessLookupError):
            if now or sys.platform == "win32":
                self._process.kill()
            else:
                self._process.send_signal(signal.SIGINT)
