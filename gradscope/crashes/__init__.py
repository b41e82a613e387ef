"""Explanations of torch's own errors that have no rule: one file per family, found by being here.

An explanation is asked for only where the exception ended the run: what the program
catches and handles is no mistake. Rules tell of the errors that the catalogue has a code for,
and come first: `explain_crash` is silent where one of them points at the failing line.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from gradscope.analysis.names import kind_words, names_of
from gradscope.analysis.text import head_of, methods_named
from gradscope.analysis.words import code, quoted
from gradscope.events import Crashed, ErrorRaised
from gradscope.model import Finding, Op, Parameter, Site
from gradscope.store import Trace

MAX_FACTS = 4  # tensors of the failing line that are told of
MAX_SAID = 200  # characters of the exception's text in a message

Tensor = dict[str, Any]  # a tensor of the failing expression, see `crash` in docs/events.md


@dataclass(frozen=True)
class Crash:
    """The exception that ended a run, with the match of the pattern that fits its text."""

    trace: Trace
    event: Crashed
    match: re.Match[str]
    explanation: Explanation

    @property
    def text(self) -> str:
        return str(self.event.text)

    @property
    def site(self) -> Site:
        return self.event.site.user

    @cached_property
    def receiver(self) -> str:
        """What the failing method or attribute is taken of, as the user wrote it; else ""."""
        return names_of(self.trace).receiver(self.site) or ""

    @cached_property
    def tensors(self) -> list[Tensor]:
        """The tensors that the failing expression names, for which the explanation holds."""
        return [t for t in self.event.tensors if self.explanation.of.fits(t)]

    @cached_property
    def subject(self) -> Tensor | None:
        """The tensor that the error is about, where that is certain."""
        by_name = {t["name"]: t for t in self.tensors}
        if self.explanation.of.about is not None:
            return by_name.get(self.explanation.of.about(self))
        if self.receiver in by_name:
            return by_name[self.receiver]
        if self.explanation.of.of_receiver and self.receiver:
            return None
        certain = len(self.tensors) == 1 or (self.explanation.of.any_of and self.tensors)
        return self.tensors[0] if certain else None

    @property
    def it(self) -> str:
        """How a sentence names the subject."""
        if self.subject is not None:
            return quoted(self.subject["name"])
        if self.explanation.of.about is not None and (text := self.explanation.of.about(self)):
            return quoted(text)
        named = self.explanation.of.of_receiver and self.receiver
        return quoted(self.receiver) if named else "the tensor"

    def element(self, position: int, index: int) -> str:
        """The user's text of one tensor in the list (or the tensor) that a call got at `position`."""
        call = self.trace.source_file(self.site.path).at(self.site)
        if not isinstance(call, ast.Call) or len(call.args) <= position:
            return ""
        argument = call.args[position]
        elements = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
        return ast.unparse(elements[index]) if index < len(elements) else ""

    def made(self, t: Tensor | None) -> Site | None:
        """The user's line that made a tensor."""
        site = self.trace.site(t.get("site")) if t is not None else None
        return site.user if site is not None else None

    def last_op(self, name: str) -> Op | None:
        """The last recorded call of this name."""
        found = None
        for graph in self.trace.graphs:
            found = next((op for op in reversed(graph.ops) if op.name == name), found)
        return found

    def definition(self, cls: str, method: str) -> Site | None:
        """Where the user's class defines a method."""
        return next((head_of(*found) for found in methods_named(self.trace, cls, method)), None)


Place = tuple[Site, str]  # with its label


def _anything(t: Tensor) -> bool:
    return True


@dataclass(frozen=True)
class Subject:
    """Which tensor of the failing line an error is about: one that `fits`; `of_receiver`: only what a method or an
    attribute was taken of; `any_of`: the first that fits, where several do; `about` finds its text. `made` is the
    label of the line that made it."""

    made: str = "made here"
    fits: Callable[[Tensor], bool] = _anything
    of_receiver: bool = False
    any_of: bool = False
    about: Callable[[Crash], str] | None = None


class Explanation(NamedTuple):
    """What is said of the errors whose text `pattern` fits. In `message`, `why` and `fix`,
    `{it}` is the tensor that it is about and `{0}`, `{1}`, … are the groups of the match.
    `of` finds that tensor. `cause` finds the other place that is shown, `when` says whether the error is
    what its text sounds like, `seen` what was measured where that is more than the tensors of the failing
    line, `words` gives more names for the sentences, `related` more places, `parameter` the one that the
    tensor is."""

    name: str
    pattern: re.Pattern[str]
    message: str
    why: str
    fix: str
    of: Subject
    cause: Callable[[Crash], Place | None] | None
    when: Callable[[Crash], bool]
    seen: Callable[[Crash], Iterable[str]]
    words: Callable[[Crash], dict[str, str]]
    related: Callable[[Crash], Iterable[Place]]
    parameter: Callable[[Crash], Parameter | None]

    def finding(self, crash: Crash) -> Finding:
        words = {"it": crash.it, **self.words(crash)}
        groups = [group or "" for group in crash.match.groups()]
        place = self.cause(crash) if self.cause is not None else None
        made = crash.made(crash.subject)
        if place is None and self.cause is None and made is not None:
            place = made, self.of.made
        if place is not None and place[0].location() == crash.site.location():
            place = None
        found = self.parameter(crash)
        subjects = [("parameter", found.id)] if found is not None else []
        shown = [crash.subject] if crash.subject is not None else crash.tensors[:3]
        return Finding(
            message=self.message.format(*groups, **words),
            name=self.name,
            cause=place[0] if place is not None else None,
            cause_label=place[1] if place is not None else "",
            effect=crash.site,
            effect_label=f"{crash.event.type or 'the error'} is raised here",
            related=tuple(self.related(crash)),
            seen=tuple(self.seen(crash)) or tuple(facts(t) for t in shown),
            why=self.why.format(*groups, **words),
            fix=self.fix.format(*groups, **words),
            subjects=frozenset({("crash", crash.event.segment), *subjects}),
        )


_explanations: list[Explanation] = []


def explain(
    name: str,
    pattern: str,
    message: str,
    *,
    why: str,
    fix: str,
    of: Subject = Subject(),
    cause: Callable[[Crash], Place | None] | None = None,
    when: Callable[[Crash], bool] = lambda crash: True,
    seen: Callable[[Crash], Iterable[str]] = lambda crash: (),
    words: Callable[[Crash], dict[str, str]] = lambda crash: {},
    related: Callable[[Crash], Iterable[Place]] = lambda crash: (),
    parameter: Callable[[Crash], Parameter | None] = lambda crash: None,
) -> None:
    """Adds an explanation (see `Explanation`); called by the files of this package."""
    _explanations.append(
        Explanation(
            name, re.compile(pattern), message, why, fix, of, cause, when, seen, words, related, parameter
        )
    )


@cache
def all_explanations() -> list[Explanation]:
    """Every explanation, in the order in which they are tried: first those of a text from its
    beginning, which may quote another error."""
    for info in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{info.name}")
    return sorted(_explanations, key=lambda one: not one.pattern.pattern.startswith("^"))


def explain_crash(trace: Trace, found: Iterable[Finding]) -> Iterator[Finding]:
    """What is to be said of the exception that ended the run, unless `found` says it."""
    crashes = trace.of(Crashed)
    if not crashes:
        return
    event = crashes[-1]
    here = event.site.user.location()
    for finding in found:
        sites = [finding.cause, finding.effect, *(site for site, _ in finding.related)]
        if finding.severity == "error" and any(s is not None and s.location() == here for s in sites):
            return
    text = event.text
    for explanation in all_explanations():
        match = explanation.pattern.search(text)
        crash = Crash(trace, event, match, explanation) if match is not None else None
        if crash is not None and explanation.when(crash):
            yield explanation.finding(crash)
            return
    if _of_torch(trace, event):
        yield _unexplained(trace, event)


def _of_torch(trace: Trace, event: Crashed) -> bool:
    """Whether torch raised it, or the call on the user's line did that torch could have raised."""
    if event.site.kind == "torch":
        return True
    place = event.site.user
    for error in trace.of(ErrorRaised) if event.told else ():
        if error.text == event.text and error.site.user.location() == place.location():
            return True
    statement = trace.source_file(place.path).statement(place)
    return event.type == "RuntimeError" and not isinstance(statement, (ast.Raise, ast.Assert))


def _unexplained(trace: Trace, event: Crashed) -> Finding:
    """What is known of a failing line of which no explanation tells: its tensors, and where they were made."""
    place = event.site.user
    text, kind = event.text, event.type or "an error"
    said = next(filter(None, (line.strip() for line in text.splitlines())), "")
    tensors = event.tensors
    made = {
        site.user.location(): (site.user, f"{quoted(t['name'])} comes from here")
        for t in reversed(tensors[:MAX_FACTS])
        if (site := trace.site(t.get("site"))) is not None and site.user.location() != place.location()
    }
    return Finding(
        message=f"{code(trace, place, 'this line')} ended the program with {kind}"
        + (f": {said if len(said) <= MAX_SAID else said[: MAX_SAID - 1] + '…'}" if said else ""),
        name="error-of-torch",
        effect=place,
        effect_label=f"{kind} is raised here",
        related=tuple(reversed(made.values())),
        seen=tuple(facts(t) for t in tensors[:MAX_FACTS]),
        subjects=frozenset({("crash", event.segment)}),
    )


# -- words -----------------------------------------------------------------------


def facts(t: Tensor) -> str:
    """What was measured of a tensor, as a sentence."""
    parts = [kind_words(t["dtype"], t["shape"])]
    if t["device"] != "cpu":
        parts.append(f"on {t['device']}")
    if t["inference"]:
        parts.append("made in inference mode")
    elif t["requires_grad"]:
        parts.append("requires a gradient")
        parts.append("a leaf" if t["is_leaf"] else f"no leaf (`{t['node'] or 'a view'}`)")
    else:
        parts.append("requires no gradient")
    return f"`{t['name']}`: {', '.join(parts)}"


def in_function(crash: Crash, file: str) -> bool:
    """Whether the failing call went through a file of torch's, such as "_functorch/vmap.py"."""
    return any(frame.path.replace("\\", "/").endswith(file) for frame in crash.event.site.stack)


def nowhere(crash: Crash) -> Place | None:
    """For errors in which no other line has a part."""
    return None


# -- what an explanation can be about ----------------------------------------------


def with_gradient(t: Tensor) -> bool:
    return bool(t["requires_grad"])


def without_gradient(t: Tensor) -> bool:
    return not t["requires_grad"]


def computed(t: Tensor) -> bool:
    return not t["is_leaf"]


def of_integers(t: Tensor) -> bool:
    return not str(t["dtype"]).startswith(("float", "bfloat", "complex"))
