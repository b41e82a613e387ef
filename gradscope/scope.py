"""`gradscope.watch()`: the block that is watched, and what can be asked of it afterwards."""

from __future__ import annotations

import shutil
import sys
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from gradscope.model import Finding, GradscopeError, NoPlaceError
from gradscope.store import Trace

if TYPE_CHECKING:
    from gradscope.check import Report
    from gradscope.graph import View
    from gradscope.session import Session


class Scope:
    """What `with gradscope.watch() as scope:` gives. After the block: `findings`,
    `trace`, `graph(level)`, `report()`, `save(path)`."""

    def __init__(self, sample: bool = True, prove: bool = False):
        self._sample = sample
        self._prove = prove
        self._session: Session | None = None
        self._folder: str | None = None
        self._unwatched: str | None = None  # why there is no trace

    def __enter__(self) -> Scope:
        import tempfile

        from gradscope.session import Session

        if self._session is not None or self._unwatched is not None:
            raise GradscopeError("this watch was used already: make a new one with gradscope.watch()")
        frame = sys._getframe(1)
        try:
            self._folder = tempfile.mkdtemp(prefix="gradscope-")
            path = Path(self._folder) / "watch.gradscope"
            session = Session([frame.f_code.co_filename], path, sample=self._sample, prove=self._prove)
        except (NoPlaceError, OSError) as error:  # a full disk stops no program
            self._unwatched = f"the block ran unwatched: {error}"
            return self
        session.start(frame)
        self._session = session
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        if self._session is not None:
            self._session.stop(None, error)
        return False

    def __del__(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @cached_property
    def trace(self) -> Trace:
        """The trace of the block, once it has ended."""
        if self._unwatched is not None:
            raise GradscopeError(self._unwatched)
        if self._session is None or self._session.running:
            raise GradscopeError("the watched block has not ended yet")
        return Trace(self._session.path)

    @cached_property
    def findings(self) -> list[Finding]:
        """What the rules say, most severe first."""
        return list(self._examined.findings)

    @cached_property
    def _examined(self) -> Report:
        from gradscope.check import examine

        return examine(self.trace)

    @property
    def faults(self) -> list[str]:
        """Faults of gradscope's own during the block; the program was not affected."""
        if self._unwatched is not None:
            return [self._unwatched]
        return list(self._session.faults) if self._session is not None else []

    def graph(self, level: str = "line", **options: Any) -> View:
        """The graph that was built, at "module", "line" or "op" level."""
        from gradscope.graph import view

        return view(self.trace, level, **options)

    def report(self) -> str:
        """The findings as text."""
        from gradscope.render.text import render

        return render(self._examined)

    def save(self, path: str | Path) -> Path:
        """Copies the trace to `path`, which must not exist as anything but a trace."""
        target = Path(path)
        if target.exists():
            Trace(target).close()  # refuses what is no trace
        if not target.parent.is_dir():
            raise GradscopeError(f"no folder {target.parent} to save in")
        shutil.copyfile(self.trace.path, target)
        return target
