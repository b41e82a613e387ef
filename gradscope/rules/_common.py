"""What several rules need: program order, names and the user's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from gradscope.model import Event, Graph, Site
from gradscope.store import Trace

MAX_CODE = 60  # characters of the user's source that a sentence can take


def timeline(trace: Trace) -> Iterator[tuple[int, list[Event]]]:
    """The run in program order: (how often in a row, events) of each stretch."""
    lists: dict[int, list[Event]] = {}
    for event in trace.events:
        lists.setdefault(event.segment, []).append(event)
    first: dict[tuple[int | None, int | None], int] = {}
    for segment in trace.segments:
        if segment.events is not None:
            index = first.setdefault((segment.events, segment.graph), segment.index)
            yield segment.repeat, lists.get(index, [])


def user(site: Site | None) -> Site | None:
    """The user's own innermost line of `site`."""
    return None if site is None else site.user


def code(trace: Trace, site: Site | None, otherwise: str = "") -> str:
    """The user's text at `site` on one line, as in "`opt.step()`"; `otherwise` where unknown."""
    text = source(trace, site)
    if not text:
        return otherwise
    return f"`{text if len(text) <= MAX_CODE else text[: MAX_CODE - 1] + '…'}`"


def source(trace: Trace, site: Site | None) -> str:
    """The user's text at `site`, white space squeezed; "" where unknown."""
    if site is None:
        return ""
    lines = trace.lines(site.path)[site.line - 1 : site.end_line]
    if not lines:
        return ""
    lines[-1] = lines[-1][: site.end_column - 1]
    lines[0] = lines[0][site.column - 1 :]
    return " ".join(" ".join(lines).split())


def owner(text: str, attribute: str) -> str:
    """The expression before `.attribute` in the user's text ("b" in "b.data.zero_()"), or ""."""
    found = re.search(rf"([A-Za-z_][\w.]*(?:\[[^\]]*\])?)\.{attribute}\b", text)
    return found.group(1) if found else ""


def parameter_names(trace: Trace, ids: Iterable[int], limit: int = 3) -> str:
    """"`fc.weight`, `fc.bias` and 3 more"."""
    names = [f"`{trace.parameter(id).name or f'parameter {id}'}`" for id in dict.fromkeys(ids)]
    return listed(names, limit)


def listed(names: list[str], limit: int = 3) -> str:
    """"a, b and c", or "a, b, c and 5 more"."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def numbers(values: Any, limit: int = 8) -> str:
    """First elements of a tensor, as "[6, 1.333, 1.333]"."""
    if not isinstance(values, (list, tuple)):
        return _number(values)
    shown = [numbers(value, limit) for value in values[:limit]]
    return f"[{', '.join(shown)}{', …' if len(values) > limit else ''}]"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def memory_root(graph: Graph, value: int) -> int:
    """The first value in this graph whose memory `value` shares."""
    seen = {value}
    while (base := graph.values[value].alias_of) is not None and base not in seen:
        seen.add(base)
        value = base
    return value


def parameter_subjects(ids: Iterable[int]) -> frozenset[Any]:
    """Subjects of a finding about these parameters."""
    return frozenset(("parameter", id) for id in ids)
