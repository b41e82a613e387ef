"""Saved memory that was overwritten behind autograd's back, as GS101 and GS103 tell it."""

from __future__ import annotations

from gradscope.analysis.names import names_of
from gradscope.analysis.words import named, numbers, owner, parameter_name, source, user, variable
from gradscope.analysis.writes import memory_root
from gradscope.events import Corrupted
from gradscope.fixes.in_place import copied_where_saved, names_of_memory
from gradscope.fixes.source import Edits
from gradscope.model import Finding, Site
from gradscope.store import Trace

GRADCHECK = "torch/autograd/gradcheck.py"
SHARING = {"__dlpack__": "DLPack", "from_numpy": "`torch.from_numpy`"}


RECEIVES = {"recv", "irecv"}
BETWEEN_RANKS = {
    "all_reduce",
    "reduce",
    "broadcast",
    "all_to_all_single",
    *RECEIVES,
}  # calls that no version counts
OTHER_LIBRARIES = {"numpy", "from_numpy", "__dlpack__", "storage", "untyped_storage"}  # GS103's


def corruptions(trace: Trace) -> list[list[Corrupted]]:
    """One write that one backward suffers from may have changed what several ops had saved.
    In each list the event with the measured gradient stands first."""
    groups: dict[tuple[object, object], list[Corrupted]] = {}
    for event in trace.of(Corrupted):
        write = trace.site(event.write)
        if write is not None and write.under(GRADCHECK):
            continue  # it moves its inputs by hand, forth and back
        groups.setdefault((event.write, event.backward), []).append(event)
    for events in groups.values():
        events.sort(key=lambda e: (not e.right, not e.wrong))
    return list(groups.values())


def corruption(
    trace: Trace, events: list[Corrupted], write: Site | None, attribute: str, label: str, fix: str
) -> Finding:
    """The finding for saved memory that was overwritten at `write` (also GS103's)."""
    event, read = events[0], events[0].read
    cause, effect = user(write), user(trace.site(event.backward) or event.site)
    memory = _memory(trace, event, write)
    behind = attribute not in BETWEEN_RANKS and owner(source(trace, cause), attribute)
    if attribute == "from_numpy":  # a function, of nobody
        behind = variable(trace, cause)
    name = behind or _name(trace, memory)
    right = {_leaf(trace, leaf): values for leaf, values in event.right.items()}
    wrong = {_leaf(trace, leaf): values for leaf, values in event.wrong.items()}
    saved = {
        site: f"saved here for backward, as {numbers(e.saved)}"
        for e in reversed(events)
        if (site := user(trace.site(e.saved_site))) is not None
    }
    shown = {
        leaf: values for leaf, values in wrong.items() if values != right.get(leaf)
    }  # in their first numbers
    seen = [_measured(leaf, values, right.get(leaf)) for leaf, values in shown.items()]
    if not seen and read is not None:
        alike = numbers(event.saved) == numbers(read)
        seen = [
            f"what backward read begins as what was saved, {numbers(read)}, and differs further on"
            if alike
            else f"saved as {numbers(event.saved)}, read by backward as {numbers(read)}"
        ]
    subject = f"`{name}`" if name else "a tensor that backward needs"
    leaves = named(wrong) or "the leaves below it"
    if attribute in BETWEEN_RANKS:
        hidden = f"`dist.{attribute}` writes to {subject} and leaves its version counter as it is"
    else:
        hidden = f"{SHARING.get(attribute, f'`.{attribute}`')} shares memory with {subject} but not its version counter"
    return Finding(
        message=f"{subject} was overwritten behind autograd's back: the gradient of {leaves} is wrong",
        cause=cause,
        cause_label=label,
        effect=effect,
        effect_label=f"read {numbers(read)}" if read is not None else "read the new values",
        related=tuple(reversed(saved.items())),
        seen=tuple(seen),
        why=f"{hidden}, so autograd does not see the write: backward used the new values where it needs the saved ones",
        fix=fix.format(name=name or "x"),
        count=_passes(events),
        subjects=frozenset({("memory", *memory)} if memory is not None else ()),
    )


def _leaf(trace: Trace, leaf: str) -> str:
    return parameter_name(trace, int(leaf)) if leaf.isdigit() else leaf


def _passes(events: list[Corrupted]) -> int:
    """How many passes read what was overwritten: a pass has an event for each call that had saved it, and for each
    place of the call where it had."""
    times: dict[tuple[int | None, int | None], dict[int, int]] = {}
    for event in events:
        of_call = times.setdefault((event.saved_site, event.saved_by), {})
        of_call[event.segment] = max(of_call.get(event.segment, 0), event.count)
    return max(sum(of_call.values()) for of_call in times.values())


def copied_for_backward(trace: Trace, events: list[Corrupted], *called: str) -> tuple[str, Edits]:
    """The copies that the calls need whose saved memory, called so, was overwritten."""
    spoilt = []
    names = {*called} - {""}
    for event in events:
        graph = trace.graph(event.graph) if event.graph >= 0 else None
        saved, value = event.saved_by, event.value
        op = graph.ops[saved] if graph is not None and saved is not None and saved < len(graph.ops) else None
        if graph is not None and isinstance(value, int) and value < len(graph.values):
            names |= names_of_memory(trace, graph.id, [value])
            memory = memory_root(graph, value)
            result = op is not None and any(memory_root(graph, v) == memory for v in op.outputs)
        else:
            result = False
        kept = ["result"] if result else ["self", "other"]
        spoilt.append({"site": event.saved_site, "op": saved or 0, "as": kept})
    return copied_where_saved(trace, events[0].graph, spoilt, names)


def _memory(trace: Trace, event: Corrupted, write: Site | None) -> tuple[int, int] | None:
    """(graph, first value) of the memory that was written at `write`."""
    if write is None or event.graph < 0:
        return None
    graph = trace.graph(event.graph)
    op = next((op for op in graph.ops if op.site.id == write.id and (op.writes or op.inputs)), None)
    return (graph.id, memory_root(graph, (op.writes or op.inputs)[0])) if op is not None else None


def _name(trace: Trace, memory: tuple[int, int] | None) -> str:
    return (names_of(trace).name(trace.graph(memory[0]), memory[1]) if memory is not None else None) or ""


def _measured(leaf: str, wrong: object, right: object) -> str:
    text = f"{leaf}.grad is {numbers(wrong)}"
    return f"{text}; with the saved values it is {numbers(right)}" if right is not None else text
