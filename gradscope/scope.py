"""`gradscope.watch()`: the block that is watched, and what can be asked of it afterwards."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial, wraps
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from gradscope.analysis.names import full_name
from gradscope.analysis.words import plural
from gradscope.api import Explanation, Picture, Trace
from gradscope.check import Report, examine, fails, selected_rules
from gradscope.config import Config, split
from gradscope.imports import need_torch
from gradscope.model import (
    FAIL_ON,
    SEVERITIES,
    Finding,
    FindingsError,
    FindingWarning,
    GradscopeError,
    NoPlaceError,
    Op,
)
from gradscope.store import LineWork, Start
from gradscope.tracebacks import clean_exception, ending

if TYPE_CHECKING:
    from gradscope.hooks._torch import Tensor
    from gradscope.session import Session
    from gradscope.telling import Telling


P = ParamSpec("P")
R = TypeVar("R")


class Scope:
    """What `with gradscope.watch() as scope:` gives. After the block: `findings`, `report()`, `why(name)`,
    `without_gradient`, `cuts(loss, parameter)`, `built(place)`, `graph(level)`, `trace`, `save(path)`. A scope is used
    once; as a decorator (`@gradscope.watch()`) it makes one for each call. The arguments are those of
    `gradscope.watch`."""

    def __init__(
        self,
        sample: bool = True,
        prove: bool = False,
        path: str | os.PathLike[str] | None = None,
        select: str | Sequence[str] = (),
        fail_on: str = "never",
        steps: Container[int] | None = None,
        on_finding: Callable[[Finding], object] | Literal["log", "warn"] | None = None,
    ):
        self._again = partial(Scope, sample, prove, path, select, fail_on, steps, on_finding)
        self._sample = sample
        self._prove = prove
        self._steps = steps
        self._asked = None if path is None else Path(path)
        self._config = _selecting(select)
        if fail_on not in FAIL_ON:
            raise GradscopeError(f"fail_on is one of {', '.join(FAIL_ON)}, not `{fail_on}`")
        if steps is not None and not isinstance(steps, Container):
            raise GradscopeError(f"steps is what holds numbers of steps, as `range(3)`, not {steps!r}")
        self._fail_on = fail_on
        self._telling = _telling(on_finding)
        self._session: Session | None = None
        self._outer: Session | None = None  # that watched already: this watch is a part of its
        self._start: Start | None = None  # of the part
        self._path: Path | None = None  # of the trace, once the block has ended
        self._process = os.getpid()
        self._unwatched: str | None = None  # why there is no trace
        self._aside: list[str] = []
        self._file: str | None = None  # of what is watched, where that is not the one that begins
        self.name = "scope"  # what holds it, where no variable of the module or of the cells does

    def __enter__(self) -> Scope:
        return self.begin(sys._getframe(1))

    def start(self) -> Scope:
        """Begins to watch, where no `with` fits; `stop()` ends it."""
        return self.begin(sys._getframe(1))

    def stop(self) -> None:
        """Ends the watch that `start()` began. Does nothing where there is none, or it has ended."""
        if self._path is None and self._unwatched is None:
            self.__exit__(None, None, None)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """As a decorator: watches each call of `function`, whose `scope` is that of the newest one. The body of a
        coroutine or a generator is watched while it runs, with what runs while it waits. Raises GradscopeError for an
        asynchronous generator."""
        import inspect

        file = getattr(getattr(inspect.unwrap(function), "__code__", None), "co_filename", None)

        def begun() -> Scope:
            newest = decorated.scope = self._again()
            newest.name, newest._file = f"{function.__name__}.scope", file
            return newest

        if inspect.isasyncgenfunction(function):
            raise GradscopeError(
                f"`{function.__name__}` is an asynchronous generator: write `with gradscope.watch() as scope:` in it"
            )
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def watched_coroutine(*args: P.args, **kwargs: P.kwargs) -> Any:
                with begun():
                    return await function(*args, **kwargs)

            decorated: Any = watched_coroutine
        elif inspect.isgeneratorfunction(function):

            @wraps(function)
            def watched_generator(*args: P.args, **kwargs: P.kwargs) -> Any:
                with begun():
                    return (yield from function(*args, **kwargs))

            decorated = watched_generator
        else:

            @wraps(function)
            def watched(*args: P.args, **kwargs: P.kwargs) -> R:
                with begun():
                    return function(*args, **kwargs)

            decorated = watched
        return decorated  # type: ignore[no-any-return]

    def begin(self, frame: FrameType) -> Scope:
        """Begins to watch what the caller of `frame` goes on with."""
        import tempfile

        need_torch("gradscope.watch()")
        from gradscope.hooks.recorder.sites import cell_of
        from gradscope.session import Session, active

        if self._session or self._outer or self._unwatched:
            raise GradscopeError("this watch was used already: make a new one with gradscope.watch()")
        file = self._file or frame.f_code.co_filename
        cell, main = cell_of(file), frame.f_globals.get("__name__") == "__main__"
        # the command line of a program that watches itself: that of a notebook or a test runner is not its own
        self._program = [cell or file, *(sys.argv[1:] if main and not cell else ())]
        if self._asked is not None:
            check_target(self._asked)
        try:
            if self._asked is None:
                folder = tempfile.mkdtemp(prefix="gradscope-")
                weakref.finalize(self, _remove, folder, self._process)
            path = self._place = self._asked or Path(folder) / "watch.gradscope"
            if (outer := active()) is not None:
                self._outer, self._start = outer, outer.begin_part(self._sample, self._prove)
                return self
            session = Session(self._program, path, sample=self._sample, prove=self._prove, steps=self._steps)
        except (NoPlaceError, OSError) as error:  # a full disk stops no program
            self._unwatched = f"the block ran unwatched: {error}"
            return self
        session.start(frame)
        session.holder = self  # what nobody keeps after `start()` goes on, and so does its trace
        self._session = session
        if self._telling is not None:
            try:
                self._telling.start(session, self._config)
            except OSError as error:
                self._aside = [f"findings are told at the end only: {error}"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        self.end(error)
        if error is None and self._path is not None and self.fails(self._fail_on):
            raise FindingsError(self.report(), self.findings)
        return False

    def end(self, error: BaseException | None, program: str | None = None) -> None:
        """Ends the watch. error: what has ended the block, whose traceback loses our frames. program: what was
        watched, where that has a better name than its file."""
        if program is not None and self._session is not None:
            self._session.argv = [program]
        if error is not None:
            with suppress(Exception):
                clean_exception(error)
        if self._session is not None:
            self._session.stop(None, error)
            self._session.holder = None
            self._path = self._session.path
        elif self._outer is not None:
            self._leave(self._outer, error)
        if self._telling is not None:
            self._tell_rest(self._telling, error)

    def _tell_rest(self, telling: Telling, error: BaseException | None) -> None:
        """Tells what had not become certain before the end. error: what has ended the block, which stays that."""
        try:
            telling.end(self.findings if self._path is not None else ())
        except FindingWarning:
            if error is None:
                raise
        except Exception as fault:
            self._aside.append(f"not all findings were told: {fault}")

    def _leave(self, outer: Session, error: BaseException | None) -> None:
        """Takes what the watch around this one has recorded of the block; that one goes on."""
        if os.getpid() != self._process:
            self._unwatched = "the block ended in a forked child: it is the parent's that is watched"
            return
        path = self._place
        path.unlink(missing_ok=True)  # a trace of before
        facts: dict[str, Any] = {"argv": self._program, "exit_code": None, "exception": None, "ended": True}
        if error is not None:
            facts["exception"] = ending(error)
        try:
            if not outer.end_part(self._start, self._sample, path, facts):
                self._aside += ["the block was not watched: another thread is, one at a time"]
            self._path = path
        except (OSError, sqlite3.Error) as fault:
            self._unwatched = f"no trace of the block: {fault}"

    @property
    def _begun(self) -> bool:
        return self._session is not None or self._outer is not None

    @cached_property
    def trace(self) -> Trace:
        """The trace of the block, once it has ended."""
        if self._unwatched is not None:
            raise GradscopeError(self._unwatched)
        if self._path is None:
            if not self._begun:
                raise GradscopeError("nothing was watched: put `with` this watch around what is to be")
            raise GradscopeError("the watched block has not ended yet")
        return Trace(self._path)

    @cached_property
    def findings(self) -> list[Finding]:
        """What the rules say, most severe first."""
        return list(self._examined.findings)

    def fails(self, severity: str) -> bool:
        """Whether anything was found that is as severe as "error", "warning" or "note", or more ("never": no)."""
        return severity != "never" and fails(self.findings, severity)

    @cached_property
    def _examined(self) -> Report:
        return examine(self.trace, self._config)

    @property
    def faults(self) -> list[str]:
        """Faults of gradscope's own during the block; the program was not affected."""
        if self._unwatched is not None:
            return [self._unwatched]
        told = self._telling.faults if self._telling is not None else []
        session = self._outer.recorder if self._outer is not None else self._session
        return [*self._aside, *(session.faults if session is not None else []), *told]

    def selecting(self, select: str | Sequence[str]) -> Report:
        """What these rules alone say of the block."""
        return examine(self.trace, _selecting(select))

    def graph(self, level: str | None = None, **options: Any) -> Picture:
        """The graph that was built, at "module", "line" or "op" level (without one, what suits the program)."""
        return self.trace.picture(level, **options)

    def why(self, what: str | Tensor) -> Explanation:
        """Why a parameter, a variable or what a place made has (no) gradient, as `Trace.why` says. what: its name or
        place, or the tensor itself, of any shape: a leaf that was seen, or what a variable of the caller holds."""
        return self.trace.why(self._called(what, sys._getframe(1)))

    @property
    def without_gradient(self) -> list[Explanation]:
        """Of each parameter that requires a gradient and got none in the block, why; in the model's order."""
        return self.trace.without_gradient

    def cuts(self, loss: str | Tensor, parameter: str | Tensor) -> list[Op]:
        """The calls at which the gradient is lost between a loss and a parameter, as `Trace.cuts` says; both by name,
        or the tensors themselves as for `why`."""
        caller = sys._getframe(1)
        return self.trace.cuts(self._called(loss, caller), self._called(parameter, caller))

    def built(self, place: str) -> LineWork:
        """What a line (`train.py:31`) built, as `Trace.built` says."""
        return self.trace.built(place)

    def _called(self, what: object, frame: FrameType) -> str:
        """The name in the trace of what is asked about. Raises GradscopeError where it has none."""
        if isinstance(what, str):
            return what
        session = self._outer or self._session
        for ref, number in session.leaves() if session is not None else ():
            if ref() is what:
                return full_name(self.trace, self.trace.parameter(number))
        from gradscope.hooks.variables import variables

        for held in (variables(frame), frame.f_globals):
            if (
                name := next((name for name, thing in list(held.items()) if thing is what), None)
            ) is not None:
                return name
        raise GradscopeError(
            f"ask by a name, or a place as `train.py:31`: this {type(what).__name__} is no leaf that was seen, and "
            "no variable here holds it"
        )

    def __repr__(self) -> str:
        if self._path is None:
            state = "it has not ended yet" if self._begun else "it has not begun"
            return f"<gradscope.watch(): {self._unwatched or state}>"
        found = [plural(n, kind) for kind in SEVERITIES if (n := self._examined.count(kind))]
        return f"<gradscope.watch(): {', '.join(found) or 'nothing to report'}; print({self.name}.report())>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """A notebook shows the report."""
        if self._path is None:
            return {"text/plain": repr(self)}
        from gradscope.render.notebook import report

        name = self._among(vars(sys.modules["__main__"]))  # the cells' variables
        return {"text/plain": self._report(name), "text/html": report(self._examined, name)}

    def report(self, hints: bool = True) -> str:
        """The findings as text. hints: with what to call next on this scope."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gradscope":
            frame = frame.f_back
        # Not the variables of a function: to ask a frame for them keeps them.
        return self._report(self._among(frame.f_globals if frame is not None else {}), hints)

    def _report(self, name: str, hints: bool = True) -> str:
        from gradscope.render.text import render

        return render(self._examined, scope=name, hints=hints)

    def _among(self, variables: Mapping[str, object]) -> str:
        """The variable that holds it, for what a report says to call next."""
        held = (name for name, thing in list(variables.items()) if thing is self)
        return next((name for name in held if not name.startswith("_")), self.name)

    def save(self, path: str | Path) -> Path:
        """Copies the trace to `path`, which must not exist as anything but a trace."""
        target = Path(path)
        check_target(target)
        shutil.copyfile(self.trace.path, target)
        return target


def _selecting(select: str | Sequence[str]) -> Config:
    """Raises GradscopeError for an unknown code."""
    chosen = [select] if isinstance(select, str) else select
    config = Config().override(select=[code for text in chosen for code in split(text)])
    if select:
        selected_rules(config)  # knows the codes
    return config


def _telling(on_finding: Callable[[Finding], object] | str | None) -> Telling | None:
    if on_finding is None:
        return None
    from gradscope.telling import Telling, ignore, warn

    if callable(on_finding):
        return Telling(on_finding)
    if on_finding not in ("log", "warn"):
        raise GradscopeError(f'on_finding is a function, "log" or "warn", not `{on_finding}`')
    return Telling(warn if on_finding == "warn" else ignore)


def check_target(path: Path) -> None:
    """Raises GradscopeError where no trace can come to stand at `path`: it is something else, or has no folder."""
    if path.exists() and not (path.is_file() and path.stat().st_size == 0):  # of a run that ended as it began
        Trace(path).close()  # refuses what is no trace
    if not path.parent.is_dir():
        raise GradscopeError(f"no folder {path.parent} to save in")


def _remove(folder: str, process: int) -> None:
    """The block's trace goes with its scope, but not with a forked child's copy of that."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
