"""What several rules need: program order, names and the user's own words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from gradscope import names
from gradscope.memo import once
from gradscope.model import Event, Graph, Op, Parameter, Segment, Site
from gradscope.names import names_of, place
from gradscope.store import Trace

MAX_CODE = 60  # characters of the user's source that a sentence can take

BOUNDS = {"clamp_", "clamp_min_", "clamp_max_", "clip_", "renorm_", "abs_", "relu_"}


@once
def stretches(trace: Trace) -> list[tuple[Segment, list[Event]]]:
    """Every segment in program order, with its events."""
    lists: dict[int, list[Event]] = {}
    for event in trace.events:
        lists.setdefault(event.segment, []).append(event)
    first: dict[tuple[int | None, int | None], int] = {}
    found = []
    for segment in trace.segments:
        index = first.setdefault((segment.events, segment.graph), segment.index)
        found.append((segment, lists.get(index, []) if segment.events is not None else []))
    return found


@once
def timeline(trace: Trace) -> list[tuple[int, list[Event]]]:
    """The run in program order: (how often in a row, events) of each stretch that has any."""
    return [(segment.repeat, events) for segment, events in stretches(trace) if segment.events is not None]


def nodes_of_program(trace: Trace) -> Iterator[ast.AST]:
    """Every node of the program's files, as far as they can be parsed."""
    for path in trace.sources:
        yield from ast.walk(trace.source_file(path).tree or ast.Module([], []))


def user(site: Site | None) -> Site | None:
    """The user's own innermost line of `site`."""
    return None if site is None else site.user


def code(trace: Trace, site: Site | None, otherwise: str = "") -> str:
    """The user's text at `site` on one line, as in "`opt.step()`"; `otherwise` where unknown."""
    text = source(trace, site)
    if not text:
        return otherwise
    return quoted(text)


def quoted(text: str) -> str:
    return f"`{text if len(text) <= MAX_CODE else text[: MAX_CODE - 1] + '…'}`"


def located(trace: Trace, site: Site | None, otherwise: str = "") -> str:
    """The same with its place: "`opt.step()` (train.py:12)"."""
    if site is None:
        return otherwise
    text = code(trace, site)
    line = (names_of(trace).line(site) or "").partition("#")[0].strip()
    if line.startswith(("with ", "async with ", "@")):  # the site of a block is all of it
        text = f"`{line.removesuffix(':')}`"
    elif text and re.match(rf"{re.escape(text.strip('`'))} [-+*/@]?=[^=]", line):
        text = quoted(line)  # that of `p.requires_grad = False` is its target
    return f"{text or otherwise} ({place(site)})".strip()


def source(trace: Trace, site: Site | None) -> str:
    """The user's text at `site` on one line; "" where unknown."""
    return (names_of(trace).text(site) if site is not None else None) or ""


def owner(text: str, attribute: str) -> str:
    """The expression before `.attribute` in the user's text ("b" in "b.data.zero_()"), or ""."""
    found = re.search(rf"([A-Za-z_]\w*(?:\.\w+|\[[^\]]*\])*)\.{attribute}\b", text)
    return found.group(1) if found else ""


def parameter_names(trace: Trace, ids: Iterable[int], limit: int = 3) -> str:
    """Their names as a sentence takes them: "`fc.weight`, `fc.bias` and 3 more"."""
    kept = list(dict.fromkeys(ids))
    shown = list(dict.fromkeys(f"`{parameter_name(trace, id)}`" for id in kept[:limit]))
    return listed(shown + [""] * (len(kept) - len(shown)), len(shown))


def parameter_name(trace: Trace, id: int) -> str:
    """Its name as `names.parameter_name` has it; the user's variable for a tensor on its own."""
    return names.parameter_name(trace, trace.parameter(id)) or _variable(trace, id) or f"parameter {id}"


def dotted(root: str, path: str) -> str:
    """A module as the program writes it: "model.body[1].norm" for `model` and "body.1.norm"."""
    parts = [f"[{part}]" if part.isdigit() else f".{part}" for part in path.split(".") if part]
    return f"{root}{''.join(parts)}".lstrip(".")


def _variable(trace: Trace, id: int) -> str | None:
    for graph in trace.graphs:
        for value in graph.values:
            if value.parameter == id and (name := names_of(trace).name(graph, value.index)):
                return name
    return None


def listed(names: list[str], limit: int = 3) -> str:
    """As a sentence lists them: "a, b and c", or "a, b, c and 5 more"."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def holds(outer: Site, inner: Site) -> bool:
    """Whether the expression `inner` stands within `outer`."""
    if outer.path != inner.path:
        return False
    start = (outer.line, outer.column) <= (inner.line, inner.column)
    return start and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


def root_of(trace: Trace, parameter: Parameter) -> int | None:
    """The outermost module that a parameter belongs to."""
    return trace.modules[parameter.module].root if parameter.module in trace.modules else None


def plural(count: int, noun: str) -> str:
    """The number with its noun: 1 step, 3 steps, 2 passes."""
    return f"{count} {noun}{'' if count == 1 else 'es' if noun.endswith('s') else 's'}"


def numbers(values: Any, limit: int = 5) -> str:
    """First elements of a tensor, as "[6, 1.3333, 1.3333]"."""
    if not isinstance(values, (list, tuple)):
        return _number(values)
    shown = [numbers(value, limit) for value in values[:limit]]
    return f"[{', '.join(shown)}{', …' if len(values) > limit else ''}]"


def _number(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def memory_root(graph: Graph, value: int) -> int:
    """The first value in this graph whose memory `value` shares."""
    seen = {value}
    while (base := graph.values[value].alias_of) is not None and base not in seen:
        seen.add(base)
        value = base
    return value


def only_bounded(trace: Trace) -> set[int]:
    """Parameters that nothing but a bound writes to (`p.clamp_(0, 1)`): that is no training."""
    bounded: set[int] = set()
    others: set[int] = set()
    for number in sorted({s.graph for s in trace.segments if s.graph is not None}):
        graph = trace.graph(number)
        for op in graph.ops:
            for value in op.writes if not initialises(op) else ():
                parameter = graph.values[memory_root(graph, value)].parameter
                if parameter is not None:
                    (bounded if op.name in BOUNDS else others).add(parameter)
    return bounded - others


def initialises(op: Op) -> bool:
    """Whether torch's own initialisers make the call."""
    return op.site.kind == "torch" and op.site.path.endswith("nn/init.py")


def parameter_subjects(ids: Iterable[int]) -> frozenset[Any]:
    """Subjects of a finding about these parameters."""
    return frozenset(("parameter", id) for id in ids)
