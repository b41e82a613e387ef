"""The process in which a program runs once more, with its edits."""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from gradscope.imports import torch_needed
from gradscope.model import GradscopeError
from gradscope.places import SUFFIX
from gradscope.ranks import Rank
from gradscope.runner import Program, run
from gradscope.trying.overlay import Overlay

TRACE, FAULT, READ, STOPPED = (
    "again.gradscope",
    "fault",
    "read",
    "stopped",
)  # files in the folder of the order


def main(order: str) -> int:
    """Runs what the file `order` says (see `rerun.py`). Its exit code is of no interest."""
    folder = Path(order).parent
    told = json.loads(Path(order).read_text(encoding="utf-8"))
    try:
        return _run(told, folder)
    except GradscopeError as error:
        (folder / FAULT).write_text(str(error), encoding="utf-8")
        return 2


def _run(told: dict[str, Any], folder: Path) -> int:
    with torch_needed("`fix` needs it"):
        from gradscope.session import Session

    os.chdir(told["cwd"])
    overlay = Overlay({path: tuple(edit) for path, edit in told["texts"].items()}, folder / READ)
    overlay.install()
    if sys.version_info < (3, 13) and sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show  # that one quotes from the disk
    rank = Rank.of(os.environ) if told["ranks"] > 1 else None
    trace = folder / (TRACE if rank is None else f"{rank.file}{SUFFIX}")
    name, *args = told["argv"]
    target = Program.module(told["module"], args) if told["module"] else Program.script(name, args)
    main_file = os.path.realpath(target.path)
    facts = rank.facts() if rank is not None else None
    session = Session(target.argv, trace, main_file, sample=told["sample"], prove=told["prove"], rank=facts)
    session.recorder.signals.killed.connect(
        lambda number, hung: session.cut_short(-number) if hung else session.stop(-number)
    )
    if told["spawns"]:
        from gradscope.offspring import watch_children

        overlay.hand_on()
        watch_children(session, folder)
    process = os.getpid()
    session.start(sys._getframe(), outermost=True)
    if told["steps"]:
        session.end_after(told["steps"], (folder / STOPPED).touch)
    outcome = run(target)
    if os.getpid() == process:
        session.stop(outcome.exit_code, outcome.error)
    return outcome.exit_code


def _show(kind: Any, error: Any, trace: Any) -> None:
    traceback.print_exception(kind, error, trace)
