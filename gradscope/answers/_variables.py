"""What a variable of the program's holds: a value that goes by its name, or by the text that an op is given."""

from __future__ import annotations

import re
from typing import NamedTuple

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import JOINING
from gradscope.analysis.reach import paths
from gradscope.analysis.words import plural
from gradscope.graph import Flow
from gradscope.model import GradscopeError
from gradscope.store import Trace

_ELEMENT = re.compile(r"^(.+)\[(-?\d+)\]$")


class Element(NamedTuple):
    """A tensor of a list: its value, what it is called, and where the list was joined."""

    value: int
    name: str
    told: str


def variable(flow: Flow, name: str) -> int | None:
    """The last value of a variable, best one that a backward pass started from, else one
    that such a value was computed from."""
    values = [index for index in range(len(flow.values)) if flow.name(index) == name]
    if not values and "[" in name:
        wanted = _spelled(name)
        values = [index for index in range(len(flow.values)) if _spelled(flow.name(index) or "") == wanted]
    for known in (flow.roots, flow.feeds_root, values):
        if found := [index for index in values if index in known]:
            return found[-1]
    return None


def newest(trace: Trace, name: str) -> list[tuple[int, int]]:
    """What a variable held last, of those that no pass has started from yet; [] where none is called so."""
    known, names = paths(trace), names_of(trace)
    for number in sorted(known.graph_ids, reverse=True):
        graph = known.graph(number)
        for index in range(len(graph.values) - 1, -1, -1):
            if names.name(graph, index) == name:
                return [(number, index)]
    return []


def number_at(flow: Flow, name: str) -> int | None:
    """The last op without a tensor as result that is assigned to `name`."""
    names = names_of(flow.trace)
    for index in range(len(flow.ops) - 1, -1, -1):
        if not flow.outputs[index] and names.assigned(flow.ops[index].site.user) == name:
            return index
    return None


def read_as(flow: Flow, name: str) -> int | None:
    """The last value that an op is given, or a backward pass starts from, by this text: `out.loss`, `batch["x"]`."""
    names, wanted = names_of(flow.trace), _spelled(name)
    for value, event in reversed(flow.roots.items()):
        if _spelled(names.receiver(event.site.user) or "") == wanted:
            return value
    texts: dict[int, bool] = {}  # site → whether its line has such a text
    last = wanted.rpartition(".")[2].partition("[")[0]
    for op in reversed(flow.ops):
        site = op.site.user
        if site.id not in texts:
            texts[site.id] = last in (names.text(site) or "")
        if texts[site.id]:
            for value, text in names.given(flow.trace.graph(op.graph), op):
                if _spelled(text) == wanted:
                    return flow.joined[op.graph, value]
    return None


def element(flow: Flow, name: str) -> Element | None:
    """The tensor of a list that `losses[2]` names; of `losses` the first without a graph, where there is one. The list
    is the last of this name that an op joins. Raises GradscopeError where it is shorter."""
    match = _ELEMENT.match(name)
    held, at = (match[1], int(match[2])) if match else (name, None)
    names = names_of(flow.trace)
    for index in range(len(flow.ops) - 1, -1, -1):
        op, values = flow.ops[index], flow.inputs[index]
        if op.name in JOINING and _spelled(names.first_argument(op.site.user) or "") == _spelled(held):
            if at is None:
                without = [number for number, v in enumerate(values) if not flow.values[v].requires_grad]
                at = (without or [0])[0]
            if not -len(values) <= at < len(values):
                raise GradscopeError(
                    f"`{held}` held {plural(len(values), 'tensor')} where it was joined last"
                )
            told = f"`{held}` held {plural(len(values), 'tensor')} where `{op.name}` joined it last, at " + (
                names.place(op.site.user)
            )
            return Element(values[at], f"{held}[{at}]", told)
    return None


def _spelled(text: str) -> str:
    """An expression as it is compared: a shell may have taken the quotes."""
    return re.sub(r"""[\s'"]""", "", text)
