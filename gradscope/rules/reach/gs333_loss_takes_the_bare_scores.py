"""Scores that the labels were worked into are in no loss: it takes the scores from before.

Why: a margin for the class of each sample, such as ArcFace's, is worked into the scores with the labels and is good for
nothing but the loss. Where the loss takes the scores from before it, everything trains as if there were no margin, and
no number of the run shows it.

Fix: give the loss the scores with the margin.

Measured: a value with a graph and of the shape of the scores that the loss is given, which was computed from these and
from the loss's labels; no operation of the run read it, and no pass went through it.
A loss is also the logarithms of a softmax, called or written out, of which those of the labels are picked.
Silent on: values that anything reads, a number for a log included; those that a later statement returns to the loss.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.dead_ends import taken_along
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import DIVISIONS, PASSING, PICKS_OF_ROWS, SCALES, WRITES_OF_PARTS
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.analysis.writes import before_writes, memory_root
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

LOSSES = {"cross_entropy", "nll_loss", "nll_loss_nd", "binary_cross_entropy_with_logits", "multi_margin_loss"}
LOGARITHMS = {"log_softmax"}
WRITTEN_OUT = {"logsumexp", "exp"}  # of a softmax or its logarithm
SHARES = {"neg", "log", *DIVISIONS}  # what comes between the exponentials and the picking of the labels'
DEEP = 8


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Margin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            scores = self.layer(x)
            own = nn.functional.one_hot(y, 3)
            output = scores - 0.5 * own  # effect: GS333
            return nn.functional.cross_entropy(scores, y), output  # cause: GS333

    model = Margin()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        loss, _ = model(x, x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Margin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            scores = self.layer(x)
            own = nn.functional.one_hot(y, 3)
            output = scores - 0.5 * own
            return nn.functional.cross_entropy(output, y), output

    model = Margin()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        loss, _ = model(x, x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS333", name="loss-takes-the-bare-scores", severity="warning", over=("GS744",))
def loss_takes_the_bare_scores(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    found: dict[tuple[str, int], tuple[Op, Op, int]] = {}
    other: set[tuple[str, int]] = set()  # losses without such a value
    seen: set[tuple[int, int]] = set()
    for _, op in known.used_calls(LOSSES | LOGARITHMS | WRITTEN_OUT):
        labels = _compared_with(known, op) if (op.graph, op.index) not in seen else None
        seen.add((op.graph, op.index))
        if labels is None:
            continue
        place = op.site.user.location()
        worked = _worked(known, op, labels)
        if worked is None:
            other.add(place)
        else:
            loss, maker, count = found.get(place, (op, worked, 0))
            found[place] = loss, maker, count + known.graph(op.graph).count
    for place, (loss, maker, count) in found.items():
        if place not in other and count > 1:
            yield _finding(trace, known, loss, maker, count)


def _compared_with(known: Paths, op: Op) -> int | None:
    """The labels that a loss takes, or that the logarithms of the scores are picked by."""
    if op.name in LOSSES:
        return op.inputs[1] if len(op.inputs) > 1 else None
    picked = _pick(known.graph(op.graph), op)
    return picked[1] if picked is not None else None


def _pick(graph: Graph, op: Op) -> tuple[Op, int] | None:
    """What picks the labels' logarithms or shares, or their scores, and the labels."""
    through = {"neg"} if op.name in LOGARITHMS else SHARES
    values = [*op.outputs, *op.inputs[:1]] if op.name in WRITTEN_OUT else op.outputs
    for value, reader in graph.readers_behind(values, lambda one: one.name in through):
        chosen = [i for i in reader.inputs if i != value and graph.values[i].dtype == "int64"]
        if reader.name in PICKS_OF_ROWS and chosen:
            return reader, chosen[-1]
    return None


def _worked(known: Paths, loss: Op, labels: int) -> Op | None:
    """What made the last value of the form of the loss's input that was made from it and from the labels, and that
    nothing has read."""
    graph = known.graph(loss.graph)
    given = loss.inputs[0]
    shape = graph.values[given].shape
    if not shape or not graph.values[given].requires_grad or graph.values[labels].requires_grad:
        return None
    own = _labels(known, (graph.id, labels))
    bases = _bases(known, graph, given)
    for op in graph.ops[::-1]:
        made = _made(op)
        if len(made) != 1 or not op.nodes:
            continue
        value = graph.values[made[0]]
        if value.shape != shape or not value.requires_grad or _is_read(graph, op, value.index):
            continue
        key = graph.id, value.index
        if key not in known.used.order and key not in taken_along(known.trace) and value.index not in bases:
            met, behind = _between(known, key, bases)
            if met and not own.isdisjoint(behind):
                return op
    return None


def _made(op: Op) -> tuple[int, ...]:
    return op.written if op.name in WRITES_OF_PARTS else op.outputs


def _is_read(graph: Graph, maker: Op, value: int) -> bool:
    """Whether anything reads a value; of one that was written into, also what shares its memory."""
    if maker.name not in WRITES_OF_PARTS:
        return bool(graph.consumers.get(value))
    root = memory_root(graph, before_writes(graph, value))
    shared = (v.index for v in graph.values if memory_root(graph, before_writes(graph, v.index)) == root)
    return any(one.index > maker.index for index in shared for one in graph.consumers.get(index, ()))


def _bases(known: Paths, graph: Graph, given: int) -> set[int]:
    """The scores that the loss is given, and what they are a multiple of."""
    found = {given}
    maker = graph.maker(given)
    while maker is not None and maker.name in SCALES | PASSING and len(found) < DEEP:
        trained = [value for value in maker.inputs if graph.values[value].requires_grad]
        if len(trained) != 1 or graph.values[trained[0]].shape != graph.values[given].shape:
            break
        found.add(trained[0])
        maker = graph.maker(trained[0])
    return found


def _between(known: Paths, key: Key, bases: set[int]) -> tuple[bool, set[Key]]:
    """Whether a value was made of the scores, and all that it was made of besides."""
    met, seen, todo = False, {key}, [key]
    while todo:
        current = todo.pop()
        if current[0] == key[0] and current[1] in bases:
            met = True
            continue
        sources, op = known.sources(current)
        if op is not None and op.name == "grad":  # a gradient of the loss, and no scores
            continue
        new = [source for source in sources if source not in seen]
        seen.update(new)
        todo += new
    return met, {known.made(one) for one in seen}


def _labels(known: Paths, key: Key) -> set[Key]:
    """The labels, as they are given to the loss and as they were before they took another form."""
    found = {known.made(key)}
    maker = known.maker(key)
    while maker is not None and maker.name in PASSING and maker.inputs:
        key = maker.graph, maker.inputs[0]
        found.add(known.made(key))
        maker = known.maker(key) if len(found) < DEEP else None
    return found


def _finding(trace: Trace, known: Paths, loss: Op, maker: Op, count: int) -> Finding:
    site, made = loss.site.user, maker.site.user
    names = names_of(trace)
    graph = known.graph(loss.graph)
    named = (names.name(graph, base) for base in _bases(known, graph, loss.inputs[0]))
    given = next((name for name in named if name), "")
    worked = _name_of(trace, maker)
    bare, better = f"`{given}`" if given else "the scores", f"`{worked}`" if worked else code(trace, made)
    return Finding(
        message=f"the loss takes {bare}, and {better}, which was made of {bare} and the labels, is in no loss: it has"
        " no effect at all",
        cause=site,
        cause_label=f"takes {bare}, from before the labels were worked in",
        effect=made,
        effect_label="made of the scores and the labels, and read by nothing",
        seen=(
            f"{better} has a graph, and the form {known.graph(maker.graph).values[_made(maker)[0]].shape} of {bare};"
            f" in {passes(count)} looked at nothing read it, and no pass went through it",
        ),
        fix=f"{better} in place of {bare} in {located(trace, site)}{_and_picks(trace, graph, loss)}; where it is not"
        " meant for the loss, leave it out",
        count=count,
        edits=_given(trace, loss, made, worked, given),
        subjects=parameter_subjects(known.reach([(loss.graph, loss.inputs[0])]).parameters)
        | {("loss", *site.location())},
    )


def _name_of(trace: Trace, maker: Op) -> str:
    """What the program calls the value; of one whose parts are written, what they are parts of."""
    file, place = trace.source_file(maker.site.user.path), maker.site.user
    statement = file.statement(place)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if maker.name in WRITES_OF_PARTS:
        return (
            target.value.id
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
            else ""
        )
    return file.variable(place) or ""


def _and_picks(trace: Trace, graph: Graph, loss: Op) -> str:
    """The other place that takes the scores, where a loss is written out."""
    picked = _pick(graph, loss) if loss.name == "logsumexp" else None
    return f" and in {located(trace, picked[0].site.user)}" if picked is not None else ""


def _given(trace: Trace, loss: Op, made: Site, worked: str, bare: str) -> Edits:
    """The value in place of the scores in the loss's first argument, where its name is known there."""
    site = loss.site.user
    here = Source(trace, site.path)
    call = here.file.at(site)
    if (
        not isinstance(call, ast.Call)
        or not worked
        or not beside(trace, made, site)
        or made.line >= site.line
    ):
        return ()
    if loss.name in WRITTEN_OUT:
        return ()
    named = [word.value for word in call.keywords if word.arg == "input"]
    given = named or call.args[:1]
    if given and isinstance(given[0], ast.BinOp):  # a multiple of the scores
        given = [one for one in ast.walk(given[0]) if isinstance(one, ast.Name) and one.id == bare]
    return here.replace(given[0], worked) if given and not isinstance(given[0], ast.Starred) else ()
