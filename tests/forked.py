"""Runs programs in processes of their own, forked from one that has imported torch already.

Started as a program, it reads a line of JSON for each run from stdin and answers with the run's
exit status. A forked child lives as a fresh interpreter would: it ends by its own exit code or
signal, with its own stdout and stderr.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

HOW = ("plain", "run", "watch")
LONGEST = 600  # seconds: a program that hangs must not hold up the tests for ever


@dataclass(frozen=True)
class Ended:
    """How a program ended. status: the exit code, or minus the signal."""

    status: int
    out: str
    err: str


class Forks:
    """The process that forks, as a context manager."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.runs = 0

    def __enter__(self) -> Forks:
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        # Said, and not by the end of the stream alone: a process that these tests have forked may hold its other end.
        self.process.stdin.write(json.dumps({"how": "end"}) + "\n")
        self.process.stdin.close()
        self.process.wait(20)

    def run(self, how: str, script: Path, **options: Any) -> Ended:
        """Runs `script` plain, under `gradscope run` or in a `watch()`, in a folder of its own that
        holds a copy. Options: args (of `run`), before (Python that runs first), files (the most
        bytes a file may have), stderr ("closed" or "broken")."""
        folder = self.folder / str(self.runs + 1)
        folder.mkdir()
        (folder / script.name).write_bytes(script.read_bytes())
        return self._ask({"how": how, "script": script.name, "folder": str(folder), **options})

    def command(self, folder: Path, *args: str) -> Ended:
        """Runs `gradscope ARGS` in `folder`."""
        return self._ask({"how": "command", "args": args, "folder": str(folder)})

    def _ask(self, request: dict[str, Any]) -> Ended:
        self.runs += 1
        request["streams"] = str(self.folder / str(self.runs))
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the process that forks has died"
        texts = [(self.folder / f"{self.runs}.{name}") for name in ("out", "err")]
        return Ended(int(answer), *(path.read_text() if path.exists() else "" for path in texts))


def _serve() -> dict[str, Any]:
    """Answers requests until it is told to end; in a forked child, gives the request that it is to run."""
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        if request["how"] == "end":
            break
        child = os.fork()
        if not child:
            return request
        limit = threading.Timer(LONGEST, os.kill, (child, signal.SIGKILL))
        limit.start()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        limit.cancel()
        limit.join()
        print(status, flush=True)
    os._exit(0)  # nothing is left to say: the interpreter need not take torch down


def _settle(request: dict[str, Any]) -> None:
    """Gives the child its streams, folder and limits."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for fd, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{request['streams']}.{name}", os.O_WRONLY | os.O_CREAT), fd)
    if request.get("stderr") == "closed":
        os.close(2)
    elif request.get("stderr") == "broken":
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, 2)
    os.chdir(request["folder"])
    if "files" in request:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["files"], request["files"]))
    exec(request.get("before", ""), {})


def _main(request: dict[str, Any]) -> Any:
    _settle(request)
    if request["how"] in ("run", "command"):
        from gradscope.commands import main

        if request["how"] == "command":
            return main(request["args"])
        return main(["run", *request.get("args", ()), request["script"]])
    sys.argv[:] = [request["script"]]
    if request["how"] == "plain":
        return runpy.run_path(request["script"], run_name="__main__") and 0
    import gradscope

    error = sys.stderr
    scope = gradscope.watch()
    try:
        with scope:
            runpy.run_path(request["script"], run_name="__main__")
    finally:
        for fault in scope.faults:
            print(f"gradscope: {fault}", file=error)
    return 0


if __name__ == "__main__":
    from loaded import load

    load()
    gc.freeze()
    sys.exit(_main(_serve()))
