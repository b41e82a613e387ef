"""What of a flow is worth a picture: what backward passes start from, and what touches it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gradscope.analysis.flow import Flow
from gradscope.graph._marks import marks
from gradscope.graph._put_back import put_back
from gradscope.model import Finding, Span


def relevant(flow: Flow, findings: Sequence[Finding]) -> Flow:
    """The flow without its islands: ops that no backward pass depends on (metrics, clipping,
    updates by hand). Ops that findings point at stay, so do writes into what is shown, what gave the numbers it was
    made of, what is computed of leaves that never got a gradient, and where that is lost. Without a backward nothing
    goes."""
    kept = _ops_of(flow, flow.feeds_root)
    kept |= {op for node in flow.reached if (op := flow.node_op[node]) is not None}
    if not kept:
        return flow
    kept |= _unreached(flow)
    kept |= {index for index, mark in marks(flow).items() if mark.severs}
    kept |= _pointed_at(flow, findings, kept)
    kept = _with_sources(flow, kept)
    kept = _with_sources(flow, kept | _alike(flow, kept))
    kept |= _aliases(flow, kept)
    given = put_back(flow)
    while more := (_writes_into(flow, kept) | _numbers_of(flow, kept, given)) - kept:
        kept = _with_sources(flow, kept | more)
    return flow if len(kept) == len(flow.ops) else flow.only(sorted(kept))


def _ops_of(flow: Flow, values: Iterable[int]) -> set[int]:
    return {op for value in values if (op := flow.maker[value]) is not None}


def _with_sources(flow: Flow, ops: set[int]) -> set[int]:
    """These ops and all that their inputs were computed from."""
    return ops | _ops_of(flow, flow.upstream([v for op in ops for v in flow.inputs[op]]))


def _pointed_at(flow: Flow, findings: Sequence[Finding], kept: set[int]) -> set[int]:
    """What stands at the expressions of findings; where nothing does, and nothing that is kept is on their line,
    what is on it."""
    by_span: dict[Span, set[int]] = {}
    by_line: dict[tuple[str, int], set[int]] = {}
    at: dict[int, list[int]] = {}  # id of a site → the ops called there
    for index, op in enumerate(flow.ops):
        at.setdefault(op.site.id, []).append(index)
    for ops in at.values():
        own = flow.ops[ops[0]].site
        for site in (own, own.user):
            by_span.setdefault(site.span(), set()).update(ops)
            by_line.setdefault(site.location(), set()).update(ops)
    found: set[int] = set()
    for named in {s for finding in findings for s in (finding.cause, finding.effect) if s is not None}:
        for site in (named, named.user):
            around = by_line.get(site.location(), set())
            found |= by_span.get(site.span()) or (set() if around & kept else around)
    return found


def _alike(flow: Flow, kept: set[int]) -> set[int]:
    """Other rounds of calls that make data and are kept: where they go to is not known of the last round."""
    calls = {(flow.ops[op].site.id, flow.ops[op].name) for op in kept if not flow.ops[op].nodes}
    return {index for index, op in enumerate(flow.ops) if not op.nodes and (op.site.id, op.name) in calls}


def _unreached(flow: Flow) -> set[int]:
    """What builds a graph on parameters meant to be trained that no pass gave a gradient."""
    todo = [
        value
        for value in flow.leaf_bit
        if (p := flow.parameter(value)) is not None and p.optimizers and not p.passes
    ]
    found: set[int] = set()
    for value in todo:  # grows while it is walked
        for op in flow.consumers.get(value, ()):
            if flow.ops[op].nodes and op not in found:
                found.add(op)
                todo.extend(flow.outputs[op])
    return found


def _aliases(flow: Flow, kept: set[int]) -> set[int]:
    """Cuts that give shown values a second tensor on the same memory; not of parameters."""
    shown = {v for op in kept for v in flow.outputs[op]}
    return {
        i
        for i, op in enumerate(flow.ops)
        if op.cut in ("detach", "data") and shown.issuperset(flow.inputs[i])
    }


def _numbers_of(flow: Flow, kept: set[int], given: Mapping[int, list[int]]) -> set[int]:
    """What gives the numbers that shown values were made of. given: value → these ops."""
    return {
        op
        for value, ops in given.items()
        if kept & {flow.maker[value], *flow.consumers.get(value, ())}
        for op in ops
    }


def _writes_into(flow: Flow, kept: set[int]) -> set[int]:
    """In-place writes into memory of values that `kept` makes or reads; a parameter that is
    written where no graph is built is an update, not part of the step."""
    shown = {flow.base(v) for op in kept for v in (*flow.inputs[op], *flow.outputs[op])}
    found = set()
    for index, op in enumerate(flow.ops):
        bases = {flow.base(flow.joined[op.graph, v]) for v in op.writes} & shown
        if any(op.nodes or flow.parameter(base) is None for base in bases):
            found.add(index)
    return found
