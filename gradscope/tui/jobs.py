"""Work that may take seconds on a large trace: done beside the UI, on a trace of its own.

Small traces are read in a thread. Large ones in another process, which does not share
our interpreter's lock: keys are answered while a million nodes are checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradscope.model import Finding, GradscopeError
from gradscope.store import LineWork, Pages, Trace

LARGE = 20_000  # ops


@dataclass(frozen=True)
class Checked:
    """What `check.examine` says, without its trace; `unused` are comments that silence nothing."""

    findings: tuple[Finding, ...]
    faults: tuple[str, ...]
    unused: tuple[tuple[str, int], ...]


def check(trace: Trace, folder: str) -> Checked:
    """What the rules say, under the configuration of `folder`."""
    from gradscope.check import examine, without_stacks
    from gradscope.config import load_config

    report = examine(trace, load_config(Path(folder)))
    found = tuple(without_stacks(finding) for finding in report.findings)
    return Checked(found, tuple(report.faults), tuple(report.unused_ignores))


def explain(trace: Trace, name: str) -> Any:
    """The answer to `gradscope why NAME` (answers.Answer)."""
    from gradscope.answers import why

    answer = why(trace, name)
    answer.steps = [replace(step, site=replace(step.site, parent=None)) for step in answer.steps]
    return answer


def lines(trace: Trace) -> dict[tuple[str, int], LineWork]:
    """What happened on each line of the user's source."""
    return Pages(trace).work_by_line()


def shapes(trace: Trace, first: str, second: str) -> list[dict[tuple[int, str], int]]:
    """What two graphs are compared by."""
    pages = Pages(trace)
    return [pages.shape_of(int(graph)) for graph in (first, second)]


def export(trace: Trace, target: str, folder: str) -> str:
    """Writes a picture or a report, as the suffix of `target` says; tells what was written."""
    from gradscope.render import renderers, write_report

    path = Path(folder) / target
    if path.suffix.lower() in {r.suffix for r in renderers().values()}:
        from gradscope.check import examine
        from gradscope.config import load_config

        write_report(examine(trace, load_config(Path(folder))), path)
        return f"wrote {target}"
    from gradscope.check import check
    from gradscope.graph import view
    from gradscope.render.picture import fits_screen
    from gradscope.render.pictures import check_target, draw

    check_target(path)
    shown = view(trace, findings=check(trace), fits=fits_screen)
    draw(shown, path)
    return f"wrote {target} ({shown.level} level, {len(shown.graph)} nodes)"


Job = Callable[..., Any]
_JOBS: dict[str, Job] = {job.__name__: job for job in (check, explain, lines, shapes, export)}


async def run(job: Job, path: Path, *args: str, large: bool) -> Any:
    """What `job` gives for the trace at `path`. Raises GradscopeError. Cancelling ends the process."""
    if not large:
        return await asyncio.to_thread(_in_thread, job, path, *args)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", f"from {__name__} import main; main()", job.__name__, str(path), *args,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise
    if process.returncode:
        raise GradscopeError(f"the process that should {job.__name__} ended with {process.returncode}")
    fault, result = pickle.loads(output)  # our own process wrote it
    if fault is not None:
        raise GradscopeError(fault)
    return result


def _in_thread(job: Job, path: Path, *args: str) -> Any:
    trace = Trace(path)
    try:
        return job(trace, *args)
    finally:
        trace.close()


def main() -> None:
    """In the other process: one job, its result pickled to stdout. Not run as `__main__`, whose
    classes no other process could find."""
    name, path, *args = sys.argv[1:]
    if hasattr(os, "nice"):
        os.nice(5)
    result: tuple[str | None, Any]
    try:
        result = None, _in_thread(_JOBS[name], Path(path), *args)
    except GradscopeError as error:
        result = str(error), None
    sys.stdout.buffer.write(pickle.dumps(result))
