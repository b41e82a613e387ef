"""What a network gave for the batches of one pass is used for those of another: the loader has mixed them anew.

Why: a `DataLoader` with `shuffle=True` draws another order in every pass. What was kept by the number of the batch
(`teacher_outputs[i]`) belongs to other samples than the i-th batch of the next pass: each sample is taught another
one's answer.

Fix: compute it in the loop, on the batch that it is for, or keep it by the number of the sample.

Measured: the loop in which the kept values were computed and the one in which they are compared go through the same
loader, which draws its order. They may be a list, or one tensor that is cut into batches again, and compared by a loss
function or a difference. Silent on: values that are picked by numbers, means over all that was kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.ops import ALIASES, JOINING, LOSSES, PASSING, SCALES, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import runs_in
from gradscope.analysis.words import code, user
from gradscope.events import Loader
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event, losses, shape_of
from gradscope.store import Trace

ROWWISE = PASSING | ALIASES | SCALES | {"softmax", "log_softmax", "sigmoid", "exp", "log"}
STRETCHES = {"split", "chunk", "narrow", "tensor_split"}
DEEP = 12


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    loader = DataLoader(TensorDataset(torch.randn(48, 4)), batch_size=8, shuffle=True)
    with torch.no_grad():
        wanted = [teacher(x).softmax(1) for (x,) in loader]  # cause: GS774
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        for i, (x,) in enumerate(loader):
            opt.zero_grad()
            scores = student(x).log_softmax(1)
            loss = nn.functional.kl_div(scores, wanted[i], reduction="batchmean")  # effect: GS774
            loss.backward()
            opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    loader = DataLoader(TensorDataset(torch.randn(48, 4)), batch_size=8, shuffle=True)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        for (x,) in loader:
            with torch.no_grad():
                wanted = teacher(x).softmax(1)
            opt.zero_grad()
            nn.functional.kl_div(student(x).log_softmax(1), wanted, reduction="batchmean").backward()
            opt.step()


@rule("GS774", name="answers-of-another-pass", severity="warning", needs=Loader)
def answers_of_another_pass(trace: Trace) -> Iterator[Finding]:
    loops: dict[Site, list[Site]] = {}
    for event in trace.of(Loader):
        site = user(trace.site(event.loop))
        if event.order == "drawn" and site is not None:
            loops.setdefault(event.site.user, []).append(site)
    several = {made: sites for made, sites in loops.items() if len(sites) > 1}
    if not several:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for given, target, op in _comparisons(known):
        place = op.site.user.location()
        if place in told:
            continue
        maker = _kept(known, target)
        if maker is None or shape_of(known, target)[:1] != shape_of(known, given)[:1]:
            continue
        for made, sites in several.items():
            one = next((loop for loop in sites if runs_in(trace, maker.site, loop)), None)
            other = next((loop for loop in sites if runs_in(trace, op.site, loop)), None)
            if one is not None and other is not None and one != other:
                told.add(place)
                yield _finding(trace, known, op, maker, made, one)
                break


def _comparisons(known: Paths) -> Iterator[tuple[Key, Key, Op]]:
    """What is compared, what it is compared with, and by which call: a loss function or a difference."""
    for given, op in losses(known, LOSSES):
        if len(op.inputs) > 1:
            yield given, (op.graph, op.inputs[1]), op
    for _, op in known.used_calls(SUBTRACTIONS):
        values = known.graph(op.graph).inputs(op)
        if len(values) == 2 and values[0].shape == values[1].shape and values[0].shape:
            for one, other in (values, values[::-1]):
                if one.requires_grad and not other.requires_grad:
                    yield (op.graph, one.index), (op.graph, other.index), op


def _kept(known: Paths, key: Key) -> Op | None:
    """The call of a network that gave a value without a graph, each row for itself."""
    for _ in range(DEEP):
        graph = known.graph(key[0])
        if graph.values[key[1]].requires_grad or known.parameter_of(key) is not None:
            return None
        maker = known.maker(key)
        if maker is None or not maker.inputs:
            return None
        if maker.module is not None:
            return maker
        if not _keeps_rows(known, maker):
            return None
        key = (maker.graph, maker.inputs[0])
    return None


def _keeps_rows(known: Paths, op: Op) -> bool:
    """Whether the rows stay in the order of the pass: parts of one loop put together, or cut apart again."""
    if op.name in JOINING and len(op.inputs) > 1:
        makers = [known.maker((op.graph, index)) for index in op.inputs]
        return len({maker.site.user if maker is not None else None for maker in makers}) == 1
    if op.name == "__getitem__":
        return len(op.inputs) == 1 and op.extra.get("at") == "::"
    return op.name in ROWWISE | STRETCHES and len(op.inputs) == 1


def _finding(trace: Trace, known: Paths, loss: Op, maker: Op, made: Site, loop: Site) -> Finding:
    frames = list(maker.site.frames_in(loop))
    cause = frames[-1] if frames else None
    kept = cause if cause is not None and cause.kind == "user" else maker.site.user
    passed = loss_event(known, loss)
    return Finding(
        message=f"{code(trace, kept, 'what a network gives')} was kept of one pass of a loader that mixes its samples,"
        " and is compared with the batches of another",
        cause=kept,
        cause_label="computed on the batches of another pass",
        effect=loss.site.user,
        effect_label="compares each sample with the answer for another one",
        related=((made, "draws a new order in each pass"),),
        seen=(
            "both loops go through this loader, which draws its samples at random: the batches of the two passes hold"
            " other samples",
        ),
        fix=f"compute {code(trace, kept, 'it')} in the loop of the loss, on its own batch, under"
        " `with torch.no_grad():`; or make the loader with `shuffle=False`",
        count=passed.count if passed is not None else 1,
        subjects=frozenset({("loss", loss.site.user.location())}),
    )
