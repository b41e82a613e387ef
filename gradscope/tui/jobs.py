"""Work that may take seconds on a large trace: done beside the UI, on a trace of its own.

Small traces are read in a thread. Large ones in another process, one for all jobs, which does not share
our interpreter's lock: keys are answered while a million nodes are checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gradscope.model import Finding, GradscopeError
from gradscope.store import LineWork, Pages, Run, Trace

LARGE = 5_000  # ops


@dataclass(frozen=True)
class Checked:
    """What `check.examine` says, without its trace; `unused` are comments that silence nothing."""

    findings: tuple[Finding, ...]
    faults: tuple[str, ...]
    unused: tuple[tuple[str, int], ...]
    notes: tuple[str, ...] = ()


def check(trace: Trace, folder: str, run: str = "", progress: Progress | None = None) -> Checked:
    """What the rules say, under the configuration of `folder`; of all processes of the run whose traces are in
    the folder `run`, where that is given."""
    from gradscope.check import examine, without_stacks
    from gradscope.config import load_config
    from gradscope.together import examine_run

    def told(done: int, of: int) -> None:
        if progress is not None:
            progress(f"rule {done + 1} of {of}")

    config = load_config(Path(folder))
    if run:
        opened = Run(run)
        report = examine_run(opened, config)
        opened.close()
    else:
        report = examine(trace, config, progress=told)
    found = tuple(without_stacks(finding) for finding in report.findings)
    if run:  # numbers of parameters are those of one process
        found = tuple(replace(finding, subjects=frozenset()) for finding in found)
    return Checked(found, tuple(report.faults), tuple(report.unused_ignores), tuple(report.notes))


def explain(trace: Trace, name: str) -> Any:
    """The answer to `gradscope why NAME` (answers.Answer)."""
    from gradscope.answers import why

    answer = why(trace, name)
    answer.steps = [step._replace(site=replace(step.site, parent=None)) for step in answer.steps]
    return answer


def lines(trace: Trace) -> dict[tuple[str, int], LineWork]:
    """What happened on each line of the user's source."""
    return Pages(trace).work_by_line()


def shapes(trace: Trace, first: str, second: str) -> list[dict[tuple[int, str], int]]:
    """What two graphs are compared by."""
    pages = Pages(trace)
    return [pages.shape_of(int(graph)) for graph in (first, second)]


def export(trace: Trace, target: str, folder: str, run: str = "") -> str:
    """Writes a picture or a report, as the suffix of `target` says; tells what was written."""
    from gradscope.render import report_suffixes, write_report

    path = Path(folder) / target
    if path.suffix.lower() in report_suffixes():
        from gradscope.config import load_config
        from gradscope.together import examine_path

        write_report(examine_path(Run(run) if run else trace, load_config(Path(folder))), path)
        return f"wrote {target}"
    from gradscope.check import check
    from gradscope.graph import view
    from gradscope.render.picture import screens
    from gradscope.render.pictures import check_target, draw

    check_target(path, report_suffixes())
    shown = view(trace, findings=check(trace), extent=screens)
    draw(shown, path)
    return f"wrote {target} ({shown.level} level, {len(shown.graph)} nodes)"


Job = Callable[..., Any]
Progress = Callable[[str], None]  # told how far a job is, in a few words
_JOBS: dict[str, Job] = {job.__name__: job for job in (check, explain, lines, shapes, export)}
_SIZE = struct.Struct("!Q")


class Helper:
    """Does one job after the other, those on large traces in one process beside the UI, which lives as long
    as it: what the rules have worked out, an answer need not work out again."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def run(self, job: Job, path: Path, *args: str, large: bool, progress: Progress) -> Any:
        """What `job` gives for the trace at `path`. Raises GradscopeError. Cancelling ends the process."""
        if not large:
            return await asyncio.to_thread(_in_thread, job, path, *args)
        async with self._turn:
            try:
                return await self._ask(job, path, args, progress)
            except GradscopeError:
                raise
            except BaseException:  # cancelled: what it does would still go on
                self.close()
                raise

    async def _ask(self, job: Job, path: Path, args: tuple[str, ...], progress: Progress) -> Any:
        if self._process is None or self._process.returncode is not None:
            self._process = await self._started()
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(_packed((job.__name__, str(path), args)))
        while True:
            try:
                (size,) = _SIZE.unpack(await process.stdout.readexactly(_SIZE.size))
                kind, said = pickle.loads(await process.stdout.readexactly(size))  # our own process wrote it
            except (asyncio.IncompleteReadError, ConnectionError):
                code = await process.wait()
                raise GradscopeError(f"the process that should {job.__name__} ended with {code}") from None
            if kind == "progress":
                progress(said)
            elif kind == "fault":
                raise GradscopeError(said)
            else:
                return said

    async def _started(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", f"from {__name__} import main; main()",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            start_new_session=True,
        )  # fmt: skip

    def close(self) -> None:
        """Ends the process, and what it has started (a layout)."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                process.kill() if sys.platform == "win32" else os.killpg(process.pid, signal.SIGKILL)


def _in_thread(job: Job, path: Path, *args: str) -> Any:
    trace = Trace(path)
    try:
        return job(trace, *args)
    finally:
        trace.close()


def _packed(what: Any) -> bytes:
    data = pickle.dumps(what)
    return _SIZE.pack(len(data)) + data


def main() -> None:
    """In the other process: jobs from stdin, until it ends. Not run as `__main__`, whose classes no other
    process could find."""
    if hasattr(os, "nice"):
        os.nice(5)
    out = sys.stdout.buffer
    held: Trace | None = None  # kept while the file stays as it is

    def say(kind: str, what: Any) -> None:
        out.write(_packed((kind, what)))
        out.flush()

    while head := sys.stdin.buffer.read(_SIZE.size):
        name, path, args = pickle.loads(sys.stdin.buffer.read(_SIZE.unpack(head)[0]))
        try:
            if held is None or held.path != Path(path) or held.grown():
                if held is not None:
                    held.close()
                held = None  # should opening fail
                held = Trace(path)
            more = {"progress": partial(say, "progress")} if _JOBS[name] is check else {}
            say("done", _JOBS[name](held, *args, **more))
        except GradscopeError as error:
            say("fault", str(error))
        except Exception as error:  # ours: the UI says so and goes on
            say("fault", f"{type(error).__name__}: {error}")
