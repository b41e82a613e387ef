"""The watched program, in a session and with an output file of its own: whatever becomes of the UI
or of its terminal, the program runs on."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

_CHUNK = 65536
_POLL = 0.1  # seconds between looks at what it has printed


class Child:
    """Runs `command`. What it prints, both streams in one, goes to the file `output`, and from
    there to `on_text`, as it comes."""

    def __init__(self, command: list[str], output: Path, on_text: Callable[[str], None]):
        self._command = command
        self.output = output
        self._on_text = on_text
        self._process: subprocess.Popen[bytes] | None = None
        self._read = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.exit_code: int | None = None  # as a shell has it: 130 after an interrupt

    @property
    def running(self) -> bool:
        return self.exit_code is None

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Raises OSError."""
        with self.output.open("wb") as file:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip

    async def run(self) -> int:
        """Runs it to its end; gives its exit code. Raises OSError."""
        self.start()
        while not self._ended():
            await asyncio.sleep(_POLL)
        assert self.exit_code is not None
        return self.exit_code

    def go_on(self, on_text: Callable[[str], None]) -> int:
        """The rest of `run`, without a UI; Ctrl-C is handed on to the program."""
        self._on_text = on_text
        while True:
            try:
                while not self._ended():
                    time.sleep(_POLL)
                break
            except KeyboardInterrupt:
                self.interrupt()
        assert self.exit_code is not None
        return self.exit_code

    def _ended(self) -> bool:
        """Passes on what was printed since the last time; whether that was all."""
        assert self._process is not None
        code = self._process.poll()  # first: what is read below is all then
        self._pass_on(last=code is not None)
        if code is not None:
            self.exit_code = 128 - code if code < 0 else code
        return code is not None

    def _pass_on(self, last: bool) -> None:
        with contextlib.suppress(OSError), self.output.open("rb") as file:  # the folder may be gone
            file.seek(self._read)
            while chunk := file.read(_CHUNK):
                self._read += len(chunk)
                self._on_text(self._decoder.decode(chunk))
        if last and (rest := self._decoder.decode(b"", final=True)):
            self._on_text(rest)

    def interrupt(self) -> None:
        """Asks the program to end as Ctrl-C in its terminal does: it and its children are told."""
        if self._process is None or self._process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.terminate()
            else:
                os.killpg(self._process.pid, signal.SIGINT)
