"""What of a trace a picture is of: the flow of one step, with what belongs to it, and how that is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradscope.analysis.flow import Flow, join
from gradscope.graph._earlier import earlier
from gradscope.graph._marks import Mark, marks, severing
from gradscope.graph._relevant import relevant
from gradscope.graph._select import select
from gradscope.model import Finding, Op, Region
from gradscope.store import Trace


@dataclass
class Shown:
    """A flow with its cuts. notes: what the reader should know of the choice."""

    flow: Flow
    marks: dict[int, Mark]  # by op of the flow
    title: str
    notes: list[str]


def shown(trace: Trace, step: int | None, findings: Sequence[Finding], whole: bool = False) -> Shown:
    """The step that matters most, or the one that is asked for. whole: with what no backward pass depends on."""
    chosen = select(trace, step, findings)
    bare = set(chosen.graphs) - set(trace.graphs_with_nodes)  # of data, but for what leaves there as numbers
    before = earlier(trace, chosen.graphs, chosen.origins)
    flow = join(trace, chosen.graphs, severing(trace, bare), before, chosen.origins)
    flow.times = chosen.times
    flow.ops = _in_regions(flow)
    total = len(flow.ops)
    if not whole:
        flow = relevant(flow, list(findings))
    program = " ".join(trace.program["argv"][:1]) or trace.path.name
    found = Shown(flow, marks(flow), f"{Path(program).name}, {chosen.title}", list(chosen.notes))
    if left := total - len(flow.ops):
        ops = (
            "1 op that no backward pass depends on is"
            if left == 1
            else f"{left:,} ops that no backward pass depends on are"
        )
        found.notes.append(f"{ops} left out")
    return found


def _in_regions(flow: Flow) -> list[Op]:
    """The ops in the regions that change something: torch switches gradients on where they are on already, and where
    nothing builds a graph."""
    regions = flow.trace.regions
    builds = {op.region for op in flow.ops if op.nodes}
    around: dict[int | None, int | None] = {None: None}

    def outer(id: int | None) -> int | None:
        if id not in around:
            region = regions.get(id) if id is not None else None
            if region is None:
                around[id] = id
            elif region.site.kind == "torch" and region.kind == "enable_grad":
                above = outer(region.parent)
                around[id] = above if id not in builds or not _switched(regions, above) else id
            else:
                around[id] = id
        return around[id]

    return [op if outer(op.region) == op.region else op._replace(region=outer(op.region)) for op in flow.ops]


def _switched(regions: Mapping[int, Region], id: int | None) -> bool:
    """Whether one of these regions, from the innermost one on, sets the grad mode."""
    seen: set[int] = set()
    while id is not None and id in regions and id not in seen:
        seen.add(id)
        if regions[id].kind not in ("checkpoint", "autocast"):
            return True
        id = regions[id].parent
    return False
