"""Watches processes that the program starts and that may train: the ranks of a launcher (torchrun, accelerate), and
the one program of a launcher that has no ranks to make, run under `gradscope run`; children of `multiprocessing` and
of `os.fork()` begin a watch of their own (gradscope/offspring.py). Each writes its own trace, in one folder."""

from __future__ import annotations

import multiprocessing.process
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks._torch import worker_module
from gradscope.ranks import is_python, starts_rank, watched_command


class Processes(Hook):
    order = 12

    def install(self) -> None:
        if self.recorder.children is None:
            return
        self.folder: Path = self.recorder.children
        self.patch(subprocess.Popen, "__init__", self._open(subprocess.Popen.__init__))
        process = multiprocessing.process.BaseProcess
        self.patch(process, "start", self._start(process.start))
        for name in ("poll", "wait"):
            self.patch(
                subprocess.Popen, name, self._asked(getattr(subprocess.Popen, name), lambda popen: popen)
            )
        for name in ("join", "is_alive"):
            self.patch(process, name, self._asked(getattr(process, name), _inner))
        asked = self._asked(vars(process)["exitcode"].fget, _inner)
        self.patch(process, "exitcode", property(asked, doc=vars(process)["exitcode"].__doc__))
        if hasattr(os, "fork"):
            self.patch(os, "fork", self._fork(os.fork))

    def _asked(self, real: Any, popen_of: Callable[[Any], Any]) -> Any:
        """The same, which notes how a process has ended that was asked for."""
        exits = self.recorder.exits

        def ask(process: Any, *args: Any, **kwargs: Any) -> Any:
            popen = popen_of(process)
            found = real(process, *args, **kwargs)
            if code := getattr(popen, "returncode", None):
                exits[popen.pid] = code
            return found

        return ask

    def _open(self, real: Any) -> Any:
        def __init__(popen: Any, args: Any, *more: Any, **kwargs: Any) -> None:
            real(popen, self._watched(args, kwargs.get("env")), *more, **kwargs)

        return __init__

    def _watched(self, args: Any, env: Any) -> Any:
        """The command as it is, or that of a rank under gradscope."""
        try:
            if isinstance(args, (list, tuple)) and (
                starts_rank(args, env, os.environ) or (self.recorder.launches and is_python(args))
            ):
                self.folder.mkdir(parents=True, exist_ok=True)
                options = ["--beside", str(self.folder)]
                options += ["--full"] * (not self.recorder.sample) + ["--prove"] * self.recorder.prove
                return watched_command(args, options) or args
        except BaseException as error:
            self.recorder.fault("watching a rank that starts", error)
        return args

    def _fork(self, real: Any) -> Any:
        services = self.recorder.services

        def fork() -> int:
            child: int = real()
            # In the child: what watched its parent is gone by now. `multiprocessing` says itself what a child runs.
            if not child and not str(sys._getframe(1).f_globals.get("__name__")).startswith(
                "multiprocessing"
            ):
                services.in_fork()
            return child

        return fork

    def _start(self, real: Any) -> Any:
        def start(process: Any) -> None:
            watched = self._with_a_watch(process)
            try:
                real(process)
            finally:
                if watched:
                    vars(process).pop("run", None)
            if watched:
                self._note_fork(process, sys._getframe(1))

        return start

    def _note_fork(self, process: Any, frame: FrameType) -> None:
        """That a child began with a copy of this process's memory."""
        recorder = self.recorder
        try:
            popen = _inner(process)
            if recorder.mine() and getattr(popen, "method", "") == "fork" and not _loads(process):
                recorder.emit("forked", recorder.sites.current(frame), {"process": popen.pid})
        except BaseException as error:
            recorder.fault("noting a process that starts", error)

    def _with_a_watch(self, process: Any) -> bool:
        """Has the child begin a watch before what it runs; a DataLoader's worker where it begins to train."""
        try:
            if "run" in vars(process):
                return False
            stand_in = self.recorder.services.in_child(process, _loads(process))
            if stand_in is not None:
                vars(process)["run"] = stand_in
            return stand_in is not None
        except BaseException as error:
            self.recorder.fault("watching a process that starts", error)
            return False


def _loads(process: Any) -> bool:
    """Whether it is a worker of a DataLoader."""
    return bool(getattr(getattr(process, "_target", None), "__module__", "") == worker_module.__name__)


def _inner(process: multiprocessing.process.BaseProcess) -> Any:
    """What a process of `multiprocessing` asks the system by."""
    return vars(process).get("_popen")
