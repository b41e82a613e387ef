"""Each program of the rules with a GPU as torch's default device: what is told there, beside what is told on the CPU.

    python tests/sweeps/on_gpu.py                # all programs
    python tests/sweeps/on_gpu.py --rule GS212 --workers 1

Ends with 1 if a right program is warned of there, if a fault of gradscope's is told, or if gradscope waits for the
device. What a wrong program loses is printed: a rule may need numbers that a GPU would have to be waited for. Programs
that do not run there (a generator or an array on the CPU) are counted.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Queue
from types import FrameType
from typing import NamedTuple

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
import rule_programs
from sweeps.pairs import FAILURES

import gradscope
from gradscope.check import examine
from gradscope.config import Config

CONTEXT = get_context("forkserver")
PACKAGE = Path(gradscope.__file__).parent


class Outcome(NamedTuple):
    """One program. `here`, `there`: (severity, code) of what is told on the CPU and on the GPU."""

    id: str
    here: list[tuple[str, str]]
    there: list[tuple[str, str]]
    failed: str  # what only ends it on the GPU
    faults: list[str]
    waits: list[str]  # lines of gradscope's that wait for the device


def told(
    program: rule_programs.Program, device: str, waits: list[str]
) -> tuple[list[tuple[str, str]], str, list[str]]:
    failed = ""

    def noted(message: Warning | str, *_: object, **__: object) -> None:
        if "synchronizing CUDA operation" in str(message) and (line := _of_ours()):
            waits.append(line)

    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = noted
        torch.set_default_device(device)
        torch.manual_seed(0)
        random.seed(0)
        try:
            with gradscope.watch() as scope:
                program()
        except FAILURES as error:
            failed = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        finally:
            torch.set_default_device("cpu")
        report = examine(scope.trace, Config())
    return sorted({(f.severity, f.code) for f in report.findings}), failed, [*scope.faults, *report.faults]


def _of_ours() -> str:
    """The line of gradscope's that has called torch, or "" where the program has."""
    frame: FrameType | None = sys._getframe(1)  # `traceback` shows a program none of ours
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(str(PACKAGE)):
            return f"{Path(file).relative_to(PACKAGE)}:{frame.f_lineno}"
        if file != __file__ and f"{os.sep}torch{os.sep}" not in file and not file.endswith("warnings.py"):
            return ""
        frame = frame.f_back
    return ""


def outcome(id: str) -> Outcome:
    program = next(p for kind in ("bad", "good") for p in rule_programs.programs(kind) if p.id == id)
    waits: list[str] = []
    here, ended, _ = told(program, "cpu", waits)
    torch.cuda.set_sync_debug_mode("warn")
    there, failed, faults = told(program, "cuda", waits)
    return Outcome(id, here, there, failed if failed and not ended else "", faults, waits)


def outcomes(ids: list[str], workers: int) -> Iterable[Outcome]:
    """In their order, by some processes that stay, as long as their device does."""
    CONTEXT.set_forkserver_preload(["torch", "gradscope.check", "rule_programs"])
    idle: Queue[Worker] = Queue()
    for _ in range(workers):
        idle.put(Worker())

    def ask(id: str) -> Outcome:
        worker = idle.get()
        answer = worker.ask(id)
        if answer is None:  # it has ended at the program before, or at this one
            worker = Worker()
            answer = worker.ask(id)
        idle.put(worker)
        return answer or Outcome(id, [], [], "the process ended", [], [])

    with ThreadPoolExecutor(workers) as threads:
        yield from threads.map(ask, ids)
    while not idle.empty():
        idle.get().ask("")


class Worker:
    def __init__(self) -> None:
        self.connection, theirs = CONTEXT.Pipe()
        CONTEXT.Process(target=_work, args=(theirs,), daemon=True).start()
        theirs.close()

    def ask(self, id: str) -> Outcome | None:
        """What came of one program; None where the process has ended."""
        try:
            self.connection.send(id)
            answer: Outcome = self.connection.recv()
            return answer
        except (EOFError, OSError):
            return None


def _work(connection: Connection) -> None:
    while id := connection.recv():
        try:
            connection.send(outcome(id))
        except Exception as error:  # a failed assertion on the device is the end of it for this process
            connection.send(
                Outcome(id, [], [], f"{type(error).__name__}: {str(error).splitlines()[0]}", [], [])
            )
            return


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rule")
    parser.add_argument("--workers", type=int, default=8)
    options = parser.parse_args()
    ids = [
        p.id
        for kind in ("bad", "good")
        for p in rule_programs.programs(kind, options.rule)
        if p.runs_here and not p.needs_cuda
    ]
    lost: Counter[str] = Counter()
    same = elsewhere = 0
    wrong = False
    waits: Counter[str] = Counter()
    for one in outcomes(ids, options.workers):
        waits.update(one.waits)
        code, _, name = one.id.partition("-")
        for fault in one.faults:
            print(f"{one.id}: fault: {fault}")
        new = [said for said in one.there if said not in one.here and said[0] != "note"]
        wrong |= bool(one.faults or (new and name.startswith("good")))
        if one.failed:
            elsewhere += 1
            print(f"{one.id}: does not run there: {one.failed}")
        elif one.here == one.there:
            same += 1
        else:
            gone = [said for said in one.here if said not in one.there]
            lost.update(said[1] for said in gone if said[1] == code)
            print(f"{one.id}: lost {gone}, new {[said for said in one.there if said not in one.here]}")
    for line, count in waits.most_common():
        print(f"waits {count} times: {line}")
    print(f"{len(ids)} programs: {same} told alike, {elsewhere} do not run there; lost by rule: {dict(lost)}")
    return int(wrong or bool(waits))


if __name__ == "__main__":
    sys.exit(main())
