"""The files that `run` writes when the program has ended: reports, pages and pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TextIO

from gradscope.check import Report
from gradscope.commands._saying import say
from gradscope.commands._working import working
from gradscope.model import GradscopeError
from gradscope.render import renderer_for, report_suffixes, write_report


class Files(NamedTuple):
    """What was asked for."""

    reports: tuple[Path, ...]  # pages are reports, too
    pictures: tuple[Path, ...]

    @classmethod
    def asked(
        cls, outputs: Iterable[Path], reports: Iterable[Path], pictures: Iterable[Path], cwd: Path
    ) -> Files:
        """From `--output`, `--report` and `--graph`. cwd: what the paths begin at; the program may go elsewhere.
        Raises GradscopeError where one of them is neither, or can't be made: before the run."""
        known = report_suffixes()
        outputs, pictures = list(outputs), list(pictures)
        texts = [*reports, *_ending(outputs, known, True), *_ending(pictures, [".html"], True)]
        drawn = [*_ending(pictures, [".html"], False), *_ending(outputs, known, False)]
        for path in texts:
            renderer_for(path)
        if drawn:
            from gradscope.render.pictures import check_target

            for path in drawn:
                check_target(path, known if path in outputs else [".html"])
        return cls(tuple(cwd / path for path in texts), tuple(cwd / path for path in drawn))

    def write(self, report: Report, stream: TextIO | None) -> bool:
        """Writes them; whether any of it failed."""
        done = [
            tried(partial(write_report, report, path), f"report in {path}", stream) for path in self.reports
        ]
        done += [
            tried(partial(_draw, report, path, stream), f"graph in {path}", stream) for path in self.pictures
        ]
        return not all(done)


def _ending(paths: Iterable[Path], suffixes: Iterable[str], so: bool) -> list[Path]:
    """Those that end so, or the others."""
    return [path for path in paths if (path.suffix.lower() in suffixes) is so]


def _draw(report: Report, path: Path, stream: TextIO | None) -> None:
    from gradscope.graph import view
    from gradscope.render.picture import screens
    from gradscope.render.pictures import draw

    with working("drawing the graph", stream):
        drawn = view(report.trace, findings=report.findings, extent=screens)
        draw(drawn, path)
    for note in drawn.notes:
        say(note, stream)
    say(f"graph in {os.path.relpath(path)}", stream)


def tried(does: Callable[[], object], what: str, stream: TextIO | None) -> bool:
    """Whether it could be done. A fault of ours here must not touch the program's end."""
    try:
        does()
        return True
    except GradscopeError as error:
        say(str(error), stream)
    except Exception as error:
        say(f"no {what}, a fault of its own: {type(error).__name__}: {error}", stream)
    return False
