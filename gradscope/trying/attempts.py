"""Edits of findings are tried: alone, together, and with those of what they bring to light."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from types import TracebackType

from gradscope.analysis.names import place
from gradscope.analysis.words import counted
from gradscope.check import Report
from gradscope.config import Config
from gradscope.escape import one_line
from gradscope.events import Crashed
from gradscope.fixes.patch import Patch, patched
from gradscope.model import Finding, GradscopeError
from gradscope.store import Trace
from gradscope.together import examine_path
from gradscope.trying.command import Command, command_of, is_installed
from gradscope.trying.compare import Comparison, Lines
from gradscope.trying.files import Stored, stored
from gradscope.trying.rerun import Rerun, Runner, run_again

_SHORT = 60.0  # seconds: a run that took no longer is repeated to its end
_MORE = 20  # steps beyond those that the evidence, or an exception, took
_LEAST = 50  # steps of a long run
_ROUNDS = 3  # edits of what earlier edits brought to light
_SAID = 160  # characters of an exception's text


@dataclass(frozen=True)
class Attempt:
    """A run with the edits of `findings`, compared with the run before.

    `gone` are those of them that are no longer told, `left` those whose edits could not be made beside the
    others, `new` what was not told before; `failure` says how the program fails now, `doubt` why nothing can
    be said of it, `beyond` how it ends that came farther than before.
    """

    findings: tuple[Finding, ...]
    texts: Mapping[str, str]  # path → what the file holds with the edits
    comparison: Comparison
    gone: tuple[Finding, ...]
    new: tuple[Finding, ...]
    failure: str = ""
    doubt: str = ""
    beyond: str = ""
    stopped: str = ""
    left: tuple[Finding, ...] = ()

    @property
    def works(self) -> bool:
        """Whether all that was to be mended is, and nothing else is wrong now that was not."""
        worse = any(finding.severity != "note" for finding in self.new)
        return len(self.gone) == len(self.findings) and not (self.failure or self.doubt or worse)

    @property
    def steps(self) -> int:
        """How many optimizer steps the run with the edits made."""
        return int(self.comparison.after.trace.summary["steps"])


class Trial:
    """Repeats the run of a report with edits. Its traces last as long as the block that it opens."""

    def __init__(
        self,
        report: Report,
        config: Config,
        *,
        steps: int | None = None,
        seconds: float | None = None,
        output: int | None = subprocess.DEVNULL,
        start: Runner | None = None,
    ):
        """`steps`: end it after so many (0: at its end). `seconds`: end it then. By default both follow from
        the run. Raises GradscopeError where the program can't be run again."""
        self.command: Command = command_of(report.trace, report.run)
        self._config = replace(config, baseline=None)
        self.report = (
            examine_path(report.run or report.trace, self._config, each=True) if report.accepted else report
        )
        self._steps, self._seconds, self._output, self._start = steps, seconds, output, start
        self._lasting = ExitStack()
        self._plain: dict[int, Report] = {}  # steps → what is told of the program as it is
        self.files = {path: file for path in report.trace.sources if (file := _editable(path)) is not None}
        self.texts = {path: file.text for path, file in self.files.items()}

    def __enter__(self) -> Trial:
        self._folder = Path(self._lasting.enter_context(tempfile.TemporaryDirectory(prefix="gradscope-")))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lasting.close()

    # -- trying ------------------------------------------------------------------------

    def patch(self, findings: Sequence[Finding]) -> Patch:
        """The edits of these findings in the files that are the user's."""
        return patched(self.texts, findings)

    def attempt(self, findings: Sequence[Finding]) -> Attempt:
        """Runs the program with these findings' edits, and again with those of what that has brought to light,
        as long as it helps. Raises GradscopeError where there is nothing to edit."""
        patch = self.patch(findings)
        if not patch.texts:
            raise GradscopeError("their edits are of files that are not the program's own")
        tried = self._run(tuple(patch.made), patch.texts)
        left = [finding for finding in findings if finding not in patch.made]
        for _ in range(_ROUNDS - 1):
            further = self._further(tried, left)
            if further is None:
                break
            left, tried = [], further
        return replace(tried, findings=tuple(findings), left=tuple(left)) if left else tried

    def _further(self, tried: Attempt, left: Sequence[Finding]) -> Attempt | None:
        """The same with the edits of what stood in the way of others, or is new; None where that mends no more."""
        after = tried.comparison.after
        known = [f for f in tried.new if f.severity != "note"]
        known += [f for old in left for f in tried.comparison.others(old)]
        texts = {**self.texts, **tried.texts}
        if (
            tried.failure
            or tried.doubt
            or any(after.trace.sources.get(p, t) != t for p, t in tried.texts.items())
        ):
            return None
        patch = patched(texts, [finding for finding in known if finding.edits])
        if not patch.texts:
            return None
        more = self._run((*tried.findings, *left), {**tried.texts, **patch.texts})
        return (
            more if more.works or (more.failure == tried.failure and len(more.new) < len(tried.new)) else None
        )

    def _run(self, findings: tuple[Finding, ...], texts: Mapping[str, str]) -> Attempt:
        steps, seconds = self._limits(findings)
        run = self._again(texts, steps, seconds)
        before = self._before(run)
        after = examine_path(run.run or run.trace, self._config, each=True)
        compared = Comparison(before or self.report, after, Lines(self.texts, texts))
        failure, beyond = _end(compared, run)
        return Attempt(
            findings,
            texts,
            compared,
            gone=tuple(finding for finding in findings if not compared.is_there(finding)),
            new=tuple(compared.new()),
            failure=failure,
            beyond=beyond,
            doubt="" if failure else self._doubt(findings, run, before),
            stopped=run.stopped,
        )

    def _again(self, texts: Mapping[str, str], steps: int | None, seconds: float) -> Rerun:
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        edited = {path: (self.files[path], text) for path, text in texts.items()}
        return run_again(
            self.command, edited, folder, steps=steps, seconds=seconds, output=self._output, start=self._start
        )

    # -- how far -----------------------------------------------------------------------

    def seconds(self, findings: Sequence[Finding]) -> float:
        """After how many seconds at the latest each run with these findings' edits is ended."""
        return self._limits(findings)[1]

    def _limits(self, findings: Sequence[Finding]) -> tuple[int | None, float]:
        """After how many steps the run ends (None: by itself), and after how many seconds at the latest."""
        trace = self.report.trace
        took, made = float(trace.meta.get("summary", {}).get("seconds") or _SHORT), trace.summary["steps"]
        if self.command.spawns:
            steps = None  # each child counts its own
        elif self._steps is not None:
            steps = self._steps or None
        elif _raised(trace) is not None:
            steps = made + _MORE
        elif not _ended(trace):
            steps = made or None
        elif took <= _SHORT:
            steps = None
        else:
            first = max((f.since.step for f in findings if f.since is not None), default=made)
            steps = min(max(first + _MORE, _LEAST), made) or None
        expected = took * (steps / made if steps and made else 1.0)
        return steps, self._seconds if self._seconds is not None else 3 * expected + _SHORT

    def _before(self, run: Rerun) -> Report | None:
        """What is told of the program as it is where it is ended as early as this run was; None where that is
        the run that is there."""
        made = run.trace.summary["steps"]
        if (
            not run.stopped
            or not made
            or not _ended(self.report.trace)
            or _raised(self.report.trace) is not None
        ):
            return None
        if made not in self._plain:
            _, seconds = self._limits(())
            again = self._again({}, made, seconds)
            self._plain[made] = examine_path(again.run or again.trace, self._config, each=True)
        return self._plain[made]

    def _doubt(self, findings: Sequence[Finding], run: Rerun, before: Report | None) -> str:
        """Why nothing can be said of the edits."""
        if run.unread:
            names = ", ".join(PurePath(path).name for path in run.unread)
            return f"the program did not import {names}, so that the edits could not be tried"
        made = counted(run.trace.summary["steps"], "step")
        ended = _ended(self.report.trace) and _raised(self.report.trace) is None
        if run.stopped == "time" and ended and (before is None or self._limits(findings)[0] is None):
            return f"it had not come to its end in time, after {made}"
        if before is not None:
            plain = Comparison(self.report, before, Lines({}, {}))
            if not all(plain.is_there(finding) for finding in findings):
                return f"{made} are too few to show it, with the edits or without"
        return ""


def try_all(trial: Trial, findings: Sequence[Finding]) -> tuple[list[Attempt], Attempt | None]:
    """What became of each finding's edits: those of one attempt were made together. The other value is the
    attempt with all that work. What may be meant as it is, a note, is only edited where it is still told with the edits
    of the others."""
    wrong = [finding for finding in findings if finding.severity != "note"]
    notes = [finding for finding in findings if finding.severity == "note"]
    if not wrong or not notes:
        return _try_together(trial, findings)
    attempts, best = _try_together(trial, wrong)
    if best is None:
        further, best = _try_together(trial, notes)
        return [*attempts, *further], best
    gone = tuple(note for note in notes if not best.comparison.is_there(note))
    others = [attempt for attempt in attempts if attempt is not best]
    for note in notes:
        if note not in gone and trial.patch([note]).texts:
            both = trial.attempt([*best.findings, note])
            if both.works:
                best = both
            else:
                others.append(replace(both, findings=(note,)))
    best = replace(best, findings=(*best.findings, *gone), gone=(*best.gone, *gone))
    return [best, *others], best


def _try_together(trial: Trial, findings: Sequence[Finding]) -> tuple[list[Attempt], Attempt | None]:
    """All edits at once, where that does not work one by one."""
    first = trial.attempt(findings)
    if first.works or len(findings) == 1:
        return [first], first if first.works else None
    alone = [trial.attempt([finding]) for finding in findings if trial.patch([finding]).texts]
    best: Attempt | None = None
    told: list[Attempt] = []
    for attempt in alone:
        if not attempt.works:
            told.append(attempt)
        elif best is None:
            best = attempt
        elif (both := trial.attempt([*best.findings, *attempt.findings])).works:
            best = both
        else:
            told.append(replace(both, findings=attempt.findings))
    return [*([best] if best is not None else []), *told], best


def _editable(path: str) -> Stored | None:
    return None if is_installed(path) else stored(path)


# -- how it ended ------------------------------------------------------------------


def _raised(trace: Trace) -> tuple[str, str] | None:
    """Kind and text of the exception that ended the program, where nobody has asked for it."""
    error = trace.program.get("exception")
    if not error or error.get("type") in ("KeyboardInterrupt", "SystemExit"):
        return None
    return str(error.get("type")), str(error.get("text", ""))


def _ended(trace: Trace) -> bool:
    """Whether the program came to its end: nobody has stopped it."""
    program = trace.program
    interrupted = (program.get("exception") or {}).get("type") == "KeyboardInterrupt"
    return bool(program.get("ended")) and (program.get("exit_code") or 0) >= 0 and not interrupted


def _crash(trace: Trace) -> Crashed | None:
    return next(iter(reversed(trace.of(Crashed))), None)


def _end(compared: Comparison, run: Rerun) -> tuple[str, str]:
    """How the program fails that did not before, and how it ends that came farther than before."""
    old, now = compared.before.trace, run.trace
    raised, was = _raised(now), _raised(old)
    if raised is not None:
        crash = _crash(now)
        where = f" ({place(crash.site.user)})" if crash is not None else ""
        text = one_line(raised[1])
        said = f"{raised[0]}{where}" + (f": {text[:_SAID]}{'…' * (len(text) > _SAID)}" if text else "")
        if was is None:
            return said, ""
        if compared.same_end(_crash(old), crash):
            return "", ""
        farther = all(now.summary[what] >= old.summary[what] for what in ("steps", "passes"))
        return ("", said) if farther else (said, "")
    if run.stopped:
        return "", ""
    if not now.program.get("ended"):
        return "it died without a word", ""
    code = now.program.get("exit_code") or 0
    before = old.program.get("exit_code") or 0
    return (f"it ends with exit code {code}", "") if code and not before else ("", "")
