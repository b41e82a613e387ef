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
import threading
import time
from collections.abc import Callable
from pathlib import Path

_CHUNK = 65536
_POLL = 0.1  # seconds between looks at what it has printed
_MOST = (
    4 * _CHUNK
)  # bytes that are passed on at a time: a program that prints without end leaves time for keys
_BEHIND = 16 * _MOST  # bytes that a UI may be behind before it leaves some out
END_OF_INPUT = "\x04"  # Ctrl-D
_READ = ("0", "63")  # the system call, on x86-64 and on others


class Child:
    """Runs `command`. What it prints, both streams in one, goes to the file `output`, and from
    there to `on_text`, as it comes. What it reads is typed into a terminal of its own (`type`), which
    gives nothing more once this process is gone."""

    def __init__(self, command: list[str], output: Path, on_text: Callable[[str], None]):
        self._command = command
        self.output = output
        self._on_text = on_text
        self._process: subprocess.Popen[bytes] | None = None
        self._read = 0
        self._alone = False  # no UI: all that is printed is passed on
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._echo = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._keys: int | None = None  # our end of the terminal that it reads from
        self.exit_code: int | None = None  # as a shell has it: 130 after an interrupt

    @property
    def running(self) -> bool:
        return self.exit_code is None

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def waits_for_input(self) -> bool:
        """Whether its main thread stands in a read of its stdin, where the system tells that (Linux)."""
        if self._keys is None or self._process is None:
            return False
        try:
            number, file, *_ = Path(f"/proc/{self._process.pid}/syscall").read_text().split()
        except (OSError, ValueError):  # it runs, or has ended
            return False
        return number in _READ and int(file, 16) == 0

    def start(self) -> None:
        """Raises OSError."""
        input_: int = subprocess.DEVNULL
        if sys.platform != "win32":
            # Not its controlling terminal: it gets no SIGHUP when this end of it closes.
            self._keys, input_ = os.openpty()
            os.set_blocking(self._keys, False)
        try:
            with self.output.open("wb") as file:
                self._process = subprocess.Popen(
                    self._command, stdin=input_, stdout=file, stderr=subprocess.STDOUT,
                    start_new_session=True,
                )  # fmt: skip
        finally:
            if input_ != subprocess.DEVNULL:
                os.close(input_)

    async def run(self) -> int:
        """Runs it to its end; gives its exit code. Raises OSError."""
        self.start()
        while not self._ended():
            await asyncio.sleep(_POLL)
        assert self.exit_code is not None
        return self.exit_code

    def go_on(self, on_text: Callable[[str], None]) -> int:
        """The rest of `run`, without a UI: what is typed here and Ctrl-C are handed on to the program."""
        self._on_text, self._alone = on_text, True
        threading.Thread(target=self._hand_on, daemon=True).start()
        while True:
            try:
                while not self._ended():
                    time.sleep(_POLL)
                break
            except KeyboardInterrupt:
                self.interrupt()
        assert self.exit_code is not None
        return self.exit_code

    def _hand_on(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in sys.stdin:
                self.type(line)
            self.type(END_OF_INPUT)

    def _ended(self) -> bool:
        """Passes on what was printed since the last time; whether that was all."""
        assert self._process is not None
        code = self._process.poll()  # first: what is read below is all then
        self._pass_on(last=code is not None)
        if code is not None:
            self.exit_code = 128 - code if code < 0 else code
            if self._keys is not None:
                os.close(self._keys)
                self._keys = None
        return code is not None

    def _pass_on(self, last: bool) -> None:
        if (
            self._keys is not None
        ):  # what was typed, as a terminal shows it: not where the program asks for a secret
            with contextlib.suppress(OSError):
                self._on_text(self._echo.decode(os.read(self._keys, _CHUNK)).replace("^D\b\b", ""))
        with contextlib.suppress(OSError), self.output.open("rb") as file:  # the folder may be gone
            size = file.seek(0, os.SEEK_END)
            if not self._alone and size - self._read > _BEHIND:
                self._on_text(
                    f"\n[{(size - self._read) >> 20} MB are left out here: all is in {self.output}]\n"
                )
                self._read = size - _MOST
            file.seek(self._read)
            until = size if last or self._alone else min(size, self._read + _MOST)
            while self._read < until and (chunk := file.read(min(_CHUNK, until - self._read))):
                self._read += len(chunk)
                self._on_text(self._decoder.decode(chunk))
        if last and (rest := self._decoder.decode(b"", final=True)):
            self._on_text(rest)

    def type(self, text: str) -> bool:
        """Gives the program a line to read, or END_OF_INPUT. False where it does not take any more now."""
        if self._keys is None:
            return False
        try:
            return os.write(self._keys, text.encode()) > 0
        except OSError:
            return False

    def interrupt(self) -> None:
        """Asks the program to end as Ctrl-C in its terminal does: it and its children are told."""
        if sys.platform == "win32":
            self._signal(signal.SIGTERM)
        else:
            self._signal(signal.SIGINT)

    def kill(self) -> None:
        """Ends the program and its children at once, without their say."""
        self._signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.terminate()
            else:
                os.killpg(self._process.pid, number)
