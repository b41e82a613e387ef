"""A tensor that should be trained is not a leaf: it was computed from the one that requires the gradient.

Why: only leaves get a `.grad`. `.to(…)`, `* 0.1` and `w = w - lr * w.grad` make a new tensor out
of the leaf; gradients go to the leaf, which nobody holds any more, and the tensor that the
program goes on with keeps none. Where an optimizer has the leaf, its steps change the leaf and
not what was computed from it.

Fix: make the tensor complete first and ask for the gradient last (`.requires_grad_()`), wrap the
result (`nn.Parameter(value)`), and update in place (`w -= lr * w.grad` under `torch.no_grad()`).

Silent on: tensors that are computed anew in each forward, `retain_grad()`. An input whose `.grad` is
only looked at (an adversarial example) is GS307.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from gradscope.analysis.counted import at_least
from gradscope.analysis.failures import failure_subject
from gradscope.analysis.leaf_copies import LeafCopy, leaf_copies
from gradscope.analysis.loop import idle, settled
from gradscope.analysis.names import Names, names_of
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, holds, listed, parameter_subjects, plural, where
from gradscope.events import ErrorRaised, GradRead, Rooted, Step, Unregistered
from gradscope.fixes.leaves import asked_last, changed_here, in_place, inside_out, leaf_fix
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad_in_an_optimizer() -> None:
    import torch

    w = torch.randn(3, requires_grad=True).double()  # cause: GS213
    opt = torch.optim.SGD([w], lr=0.1)  # effect: GS213
    opt.zero_grad()


def good_new_leaf_each_time() -> None:
    import torch

    w, x = torch.randn(3, requires_grad=True), torch.randn(8, 3)
    for _ in range(3):
        loss = (x @ w).pow(2).mean()
        loss.backward()
        w = (w - 0.1 * w.grad).detach().requires_grad_()  # type: ignore[operator]


@rule(
    "GS213", name="non-leaf-parameter", severity="error", over=("GS206", "GS214", "GS303", "GS307", "GS601")
)
def non_leaf_parameter(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event in trace.of(ErrorRaised):
        if event.where == "optimizer" and "non-leaf" in event.text:
            for index in event.inputs:
                found = _leaf_behind(known, (event.graph, index))
                if found is not None:
                    refused = _finding(
                        trace, known, (event.graph, index), found, event.site.user, "refused here"
                    )
                    yield replace(refused, subjects=refused.subjects | {failure_subject(event)})
        elif event.where == "backward" and "does not require grad" in event.text:
            yield from _rebound(trace, known, event)
    read_of = set[Key]()  # one finding of a tensor, wherever it was read
    for read in trace.of(GradRead):
        key = (read.graph, read.value)
        if read.was_none and not read.is_leaf and key not in read_of:
            found = _leaf_behind(known, key)
            if found is not None and (
                (_same_thing(trace, known, key, found) and changed_here(trace, read.site.user))
                or _read_here(trace, known, found, read.site.user)
            ):
                read_of.add(key)
                yield _finding(trace, known, key, found, read.site.user, "its `.grad` is None")
    attributes = list(_attributes(trace))
    yield from attributes
    told = {subject for finding in attributes for subject in finding.subjects}
    for copy in leaf_copies(trace, known):
        if ("parameter", copy.parameter.id) not in told:
            yield _copied(trace, known, copy)


def _leaf_behind(known: Paths, key: Key) -> Key | None:
    """The leaf that a value was computed from, within one statement."""
    if key[0] < 0 or key[1] >= len(known.graph(key[0]).values) or known.value(key).is_leaf:
        return None
    line = None
    for _ in range(12):
        value = known.value(key)
        if value.is_leaf:
            return key if value.requires_grad else None
        here = value.site.user.location() if value.op is not None and value.site is not None else line
        if line is not None and here != line:
            return None
        line = here
        sources, _ = known.sources(key)
        trained = [s for s in sources if known.value(s).requires_grad]
        leaves = [s for s in trained if known.value(s).is_leaf]
        if not trained or len(leaves) > 1:
            return None
        key = (leaves or trained)[0]
    return None


def _same_thing(trace: Trace, known: Paths, key: Key, leaf: Key) -> bool:
    """Whether the tensor stands for its leaf: it took its name, or the leaf never had one."""
    value, source_value = known.value(key), known.value(leaf)
    if value.site is None or source_value.site is None:
        return False
    names = names_of(trace)
    name = names.name(known.graph(key[0]), key[1])
    if name and name == names.name(known.graph(leaf[0]), leaf[1]):
        return True
    made, first = (known.value(known.made(one)).site for one in (key, leaf))
    return made is not None and first is not None and holds(made.user, first.user)


def _read_here(trace: Trace, known: Paths, leaf: Key, read: Site) -> bool:
    """Whether the line that finds None has read the leaf's own gradient before: what it made of the
    leaf then (`[p - lr * p.grad for p in params]`) has taken its place."""
    number = known.value(leaf).parameter
    own = trace.parameter(number) if number is not None else None
    return own is not None and any((path, line) == read.location() for path, line, _ in own.read_at)


def _finding(trace: Trace, known: Paths, key: Key, leaf: Key, effect: Site, label: str) -> Finding:
    origin = known.made(key)
    value = known.value(origin)
    made = value.site.user if value.site is not None else effect
    name = _name(trace, known, key)
    node = known.graph(origin[0]).nodes[value.node].name if value.node is not None else ""
    rebound = name != "this tensor" and name == _name(trace, known, leaf)
    return Finding(
        message=f"{name} is not a leaf: it was computed from the tensor that should be trained",
        cause=made,
        cause_label="computed here, so gradients go to the tensor before it",
        effect=effect,
        effect_label=label,
        seen=(f"grad_fn of {name} is `{node}`, `.grad` is None",)
        if node
        else (f"`.grad` of {name} is None",),
        fix=leaf_fix(trace, name, made, rebound),
        edits=asked_last(trace, made, name),
        severity="" if not settled(trace) else "warning",  # it may only have been looked at
        subjects=frozenset({("value", *key)}),
    )


def _name(trace: Trace, known: Paths, key: Key) -> str:
    name = names_of(trace).name(known.graph(key[0]), key[1])
    return f"`{name}`" if name else "this tensor"


def _copied(trace: Trace, known: Paths, copy: LeafCopy) -> Finding:
    """`w = w.double()` before the loop: what trains is the tensor before it, or nothing."""
    made, leaf = copy.op.site.user, copy.parameter
    name, cast = _name(trace, known, copy.key), code(trace, made, f"`{copy.op.name}`")
    if leaf.steps:
        message = f"{name} is a copy that {cast} made once: no step of the optimizer reaches it"
        seen = f"{at_least(trace, copy.passes, 'loss')} came from the copy after a step had changed the parameter"
        fix = f"compute {cast} ({where(made)}) in each pass, or give the optimizer a parameter of that type"
    else:
        message = f"{name} is no parameter: {cast} made it of one that nobody holds"
        seen = f"{plural(leaf.passes, 'gradient')} went to the tensor before it, none was used"
        text, _ = inside_out(trace, made, name.strip("`"))
        fix = f"wrap the result: `{name.strip('`')} = {text or 'nn.Parameter(…)'}` ({where(made)}), for the optimizer"
    return Finding(
        message=message,
        cause=made,
        cause_label="makes a new tensor, which is not a leaf",
        effect=copy.last.site.user,
        effect_label="the gradient goes to the tensor before it",
        seen=(seen,),
        fix=fix,
        count=copy.passes,
        subjects=parameter_subjects([leaf.id]) | {("value", *copy.key)},
    )


class _Rebinding(NamedTuple):
    """`w = w - lr * w.grad` under no_grad: what it makes has the name of the leaf, and no graph."""

    name: str
    made: Key
    leaf: Key
    op: Op


def _rebound(trace: Trace, known: Paths, event: Rooted) -> Iterator[Finding]:
    """All such lines behind a loss that has no graph."""
    found: dict[tuple[object, ...], _Rebinding] = {}
    for one in _rebindings(trace, known, event):
        found.setdefault((one.name, *one.op.site.user.location()), one)
    if not found:
        return
    first, *others = sorted(found.values(), key=lambda one: one.op.index)
    names, site = [one.name for one in (first, *others)], first.op.site.user
    several = len(set(names)) > 1
    quoted = listed([f"`{name}`" for name in dict.fromkeys(names)])
    lines = dict.fromkeys(
        one.op.site.user for one in others if one.op.site.user.location() != site.location()
    )
    behind = [id for one in (first, *others) if (id := known.value(one.leaf).parameter) is not None]
    fixes = [leaf_fix(trace, f"`{one.name}`", one.op.site.user, True) for one in (first, *others)]
    same = "update in place under `with torch.no_grad():`: "
    if all(text.startswith(same) for text in fixes):
        fixes = [fixes[0], *(text.removeprefix(same) for text in fixes[1:])]
    edits = [in_place(trace, one.name, one.op.site.user)[1] for one in (first, *others)]
    yield Finding(
        message=f"{quoted} are replaced by new tensors that require no gradient"
        if several
        else f"{quoted} is replaced by a new tensor that requires no gradient",
        cause=site,
        cause_label="makes a new tensor where the old one was to be changed",
        effect=event.site.user,
        effect_label="the next loss has no graph: torch stops here",
        related=tuple((line, "does the same") for line in lines),
        seen=(
            f"{quoted} {'are each' if several else 'is'} computed from {'themselves' if several else 'itself'} under"
            " `torch.no_grad()`",
        ),
        fix="; ".join(dict.fromkeys(fixes)),
        edits=tuple(edit for each in edits for edit in each) if all(edits) else (),
        subjects=frozenset({("value", *one.made) for one in (first, *others)})
        | parameter_subjects(behind)
        | {failure_subject(event)},
    )


def _rebindings(trace: Trace, known: Paths, event: Rooted) -> Iterator[_Rebinding]:
    names, feeds = names_of(trace), known.flow([(event.graph, i) for i in event.roots]).feeds
    for key, readers in feeds.items():
        leaf = known.value(key)
        name = _called(names, known, key) if leaf.is_leaf and leaf.requires_grad else None
        for _, op in readers if name else ():
            made = _ends_at(feeds, op) if op is not None and op.cut == "no_grad" else None
            if name and op is not None and made is not None and _called(names, known, made) == name:
                later = [
                    one for one, by in feeds.get(made, ()) if by is None
                ]  # the same tensor, in later graphs
                if not any(known.value(one).requires_grad for one in (made, *later)):
                    yield _Rebinding(name, made, key, op)


def _ends_at(feeds: dict[Key, list[tuple[Key, Op | None]]], op: Op) -> Key | None:
    """What the line of an operation gives in the end: `w - a - b` of the line in which `w - a` is computed."""
    keys = [(op.graph, i) for i in op.outputs]
    for _ in range(12):
        if len(keys) != 1:
            return None
        on = [key for key, by in feeds.get(keys[0], ()) if by is not None and _in_line(by, op)]
        if not on:
            return keys[0]
        keys = on
    return None


def _in_line(one: Op, other: Op) -> bool:
    return (one.site.user.path, one.site.user.line) == (other.site.user.path, other.site.user.line)


def _called(names: Names, known: Paths, key: Key) -> str | None:
    return names.name(known.graph(key[0]), key[1])


def _attributes(trace: Trace) -> Iterator[Finding]:
    """`self.w = nn.Parameter(…).to(…)`: the module keeps what was computed."""
    known = {p.id: p for p in trace.parameters}
    for event in trace.of(Unregistered):
        lost = [known[p] for p in event.parameters if p in known]
        if event.holder != "computed" or not lost or not trace.of(Step):
            continue
        if any(p.passes < 2 or p.optimizers or p.registered or not idle(p) or p.site is None for p in lost):
            continue
        made = lost[0].site.user if lost[0].site is not None else None
        name = f"self.{event.name}"
        inside, edits = inside_out(trace, made, name)
        yield Finding(
            message=f"`{name}` is no parameter: it was computed from one that nobody holds",
            cause=made,
            cause_label="computed here, so gradients go to the tensor before it",
            effect=event.site.user,
            effect_label="fills a gradient that no optimizer can use",
            seen=(f"{plural(lost[0].passes, 'gradient')} went to the tensor before it, none was used",),
            fix=f"wrap the result, with everything computed inside: `{name} = {inside or 'nn.Parameter(…)'}`"
            f" ({where(made)})",
            count=1,
            edits=edits,
            subjects=parameter_subjects(p.id for p in lost),
        )
