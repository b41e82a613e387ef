"""Exceptions of torch's own in a run, with the tensors that they are about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from gradscope.analysis.memo import once
from gradscope.analysis.names import kind_words, names_of
from gradscope.analysis.words import parameter_name
from gradscope.events import Crashed, ErrorRaised
from gradscope.model import Event, Graph, Region, Site, Value
from gradscope.store import Trace


class Operand(NamedTuple):
    """A tensor that a failing call was given: its name in the program and where it was made."""

    name: str
    made: Site | None
    facts: str
    value: tuple[int, int] | None = None  # (graph, index), where the call was recorded
    inference: bool = False
    parameter: int | None = None

    @property
    def shown(self) -> str:
        return f"`{self.name}`" if self.name else "a tensor"


class Failure(NamedTuple):
    """One exception: where it was raised, its text, and what the call was given."""

    trace: Trace
    event: ErrorRaised | Crashed
    operands: list[Operand]

    @property
    def site(self) -> Site:
        return self.event.site.user

    @property
    def text(self) -> str:
        return str(self.event.text)

    @property
    def where(self) -> str:
        """ "op", "backward" or "optimizer"; "" where only the exception itself is known."""
        return self.event.where if isinstance(self.event, ErrorRaised) else ""

    @property
    def module(self) -> int:
        """The id of the module that the failing call ran in; -1 outside of all."""
        return self.event.module if isinstance(self.event, ErrorRaised) else -1

    @property
    def said(self) -> str:
        """The first sentence of torch's text, for `seen`."""
        return self.text.split("\n")[0].split(". ")[0].rstrip(".")


def failure_subject(event: Event) -> tuple[str, int, int]:
    """Names one exception, for what several rules say about it."""
    return "error", event.segment, event.position


def was_caught(trace: Trace, subjects: Iterable[Any]) -> bool:
    """Whether they name an exception that the program has caught, and went on. Of a run that has not ended, or ended
    with an exit code of its own, that is not known."""
    return not _caught(trace).isdisjoint(subjects)


@once
def _caught(trace: Trace) -> frozenset[Any]:
    program = trace.program
    left = program.get("exception")
    if not program.get("ended") or (left is None and program.get("exit_code")):
        return frozenset()
    # One that was raised anew in another's words (a replica's, a worker's) stands among those.
    said = [left.get("text") or "", *left.get("behind", ())] if left is not None else []
    return frozenset(
        failure_subject(event)
        for event in trace.of(ErrorRaised)
        if not any(event.text in text for text in said)
    )


def versions(text: str) -> str:
    """For `seen`: what torch's text tells of the versions of a tensor that was saved and written to."""
    found = re.search(r"is at version (\d+); expected version (\d+)", text)
    if found is None:
        return text.split(";")[0]
    shape = re.search(r"\[torch\.\w+ \[([\d, ]*)\]\]", text)
    size = f" of shape {shape[1].replace(', ', '×')}" if shape and shape[1] else ""
    return (
        f"a tensor{size} was saved at version {found[2]} and is at version {found[1]} when backward reads it"
    )


def failures(trace: Trace, *texts: str) -> Iterator[Failure]:
    """The exceptions whose text holds one of `texts`, each told once."""
    told = [e for e in trace.of(ErrorRaised) if any(text in e.text for text in texts)]
    named = {e.text: e.tensors for e in trace.of(Crashed)}
    for event in told:
        more = named.get(event.text, ())
        operands = [*_recorded(trace, event), *(_looked_up(trace, t) for t in more)]
        yield Failure(trace, event, operands)
    for crash in trace.of(Crashed):
        if not crash.told and any(text in crash.text for text in texts):
            yield Failure(trace, crash, [_looked_up(trace, t) for t in crash.tensors])


def _recorded(trace: Trace, event: ErrorRaised) -> Iterator[Operand]:
    if event.graph < 0:
        return
    graph = trace.graph(event.graph)
    for index in event.inputs:
        if index < len(graph.values):
            yield operand(trace, graph, graph.values[index])


def operand(trace: Trace, graph: Graph, value: Value) -> Operand:
    """A recorded value as the sentence of a finding needs it."""
    name = names_of(trace).name(graph, value.index) or ""
    if value.parameter is not None:
        name = parameter_name(trace, value.parameter)
    elif not name and value.op is not None:
        name = names_of(trace).receiver(graph.ops[value.op].site.user) or ""
    site = value.site.user if value.site is not None else None
    return Operand(
        name, site, kind_words(value.dtype, value.shape), (graph.id, value.index),
        region_of(trace, graph, value, "inference_mode") is not None, value.parameter,
    )  # fmt: skip


def _looked_up(trace: Trace, t: dict[str, Any]) -> Operand:
    site = trace.site(t.get("site"))
    facts = kind_words(t["dtype"], t["shape"])
    made = site.user if site is not None else None
    return Operand(t["name"], made, facts, None, bool(t["inference"]), t.get("parameter"))


def region_of(trace: Trace, graph: Graph, value: Value, kind: str) -> Region | None:
    """The region of this kind in which a value was made, also in an earlier graph."""
    for _ in range(8):
        if value.op is not None and value.op < len(graph.ops):
            number = graph.ops[value.op].region
            while number is not None and (region := trace.regions.get(number)) is not None:
                if region.kind == kind:
                    return region
                number = region.parent
            return None
        if value.origin is None:
            return None
        graph = trace.graph(value.origin[0])
        value = graph.values[value.origin[1]]
    return None


def layer_of(site: Site) -> str:
    """The class of torch's own layer that made the write, inside of its `forward`; "" where the program did."""
    inner = []
    for frame in reversed(list(site.stack)):
        if frame.kind == "user":
            break
        inner.append(frame.function)
    called = next((function for function in inner if function.endswith(".forward")), "")
    return called.removesuffix(".forward")


def opening(trace: Trace, site: Site) -> Site:
    """The first line of a block, where `site` spans all of it."""
    lines = trace.source_file(site.path).lines
    if site.end_line == site.line or not 0 < site.line <= len(lines):
        return site
    return replace(site, end_line=site.line, end_column=len(lines[site.line - 1]) + 1)
