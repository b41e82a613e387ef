"""What ranks compute together is sent between them in forward, and its gradient is not in backward.

Why: `dist.all_reduce` and its like write numbers, and make no node: autograd goes back through what this rank computed,
and through nothing of the others. A loss that is averaged over the ranks is one number with another gradient on each. A
layer that is split over the ranks (tensor parallelism) works with all of its input and a part of the weight: the
gradient of that input is the sum over the ranks, and each has only its own term. Parameters of which each rank has a
copy part from the first step on.

Fix: go back from a rank's own loss and average the gradients afterwards, or wrap the model in
`DistributedDataParallel`. Hand what a split layer is given through a function whose backward sums the gradient over the
ranks, or use `torch.distributed.tensor.parallel`.

Measured: the ranks' losses, which are the same, and the gradients of parameters that were the same, which are not.
"""

from collections.abc import Iterator

from gradscope.analysis.reduced_loss import ReducedLoss, reduced_loss
from gradscope.analysis.reduced_values import ReducedValue, reduced_value
from gradscope.analysis.split_layers import NotSummed, not_summed
from gradscope.analysis.words import located, parameter_names, parameter_subjects, variable_given
from gradscope.fixes.collectives import hands_gradient_on, summed_in_backward
from gradscope.model import Finding, Since
from gradscope.rules import rule_across
from gradscope.store import Member, Run

_SHOWN = 4  # ranks


def bad() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1 + dist.get_rank())
    for _ in range(5):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        dist.all_reduce(loss)  # cause: GS810
        loss = loss / dist.get_world_size()
        loss.backward()  # effect: GS810
        opt.step()


def good() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1 + dist.get_rank())
    for _ in range(5):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        for p in model.parameters():
            assert p.grad is not None
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()


@rule_across("GS810", name="gradients-not-reduced", severity="error", over=("GS801",))
def gradients_not_reduced(run: Run) -> Iterator[tuple[Member, Finding]]:
    if (reduced := reduced_loss(run)) is not None:
        finding = _of_loss(reduced)
        yield from ((member, finding) for member in run.ranks)
    if (apart := not_summed(run)) is not None:
        finding = _of_split_layer(apart)
        yield from ((member, finding) for member in run.ranks)
    if (value := reduced_value(run)) is not None:
        finding = _of_value(value)
        yield from ((member, finding) for member in run.ranks)


def _of_value(found: ReducedValue) -> Finding:
    trace = found.values[0][0].trace
    given = variable_given(trace, found.site)
    subject = f"`{given}`" if given else "a value"
    shown = ", ".join(f"{value:.5g} on {m.name}" for m, value in found.values[:_SHOWN])
    into = f"`{given} = torch.distributed.nn.functional.all_reduce({given})`" if given else (
        "`torch.distributed.nn.functional.all_reduce(…)`"
    )  # fmt: skip
    return Finding(
        message=f"{subject} is summed over the ranks in forward, and its gradient is not in backward: that of what the"
        " other ranks' losses make of it is missing",
        cause=found.site,
        cause_label="changes numbers; autograd goes back through this rank's part alone",
        effect=found.backward,
        effect_label="each rank goes back from a loss of its own",
        seen=(
            f"{subject}, of shape {list(found.shape)}, was computed from"
            f" {parameter_names(trace, found.parameters)}, and the loss of each rank from the sum over all",
            f"the first loss: {shown}",
        ),
        why="every rank's loss depends on what this rank has given; `dist.all_reduce` makes no node, so the gradients"
        " of those losses never come back, and the mean that `DistributedDataParallel` takes lacks them",
        fix=f"write {into} in place of {located(trace, found.site, 'the call')}: its backward sums the gradient over"
        " the ranks; where no gradient is meant, give it `.detach().clone()`",
        severity="warning",
        subjects=frozenset({("reduced", *found.site.location())}),
    )


def _of_loss(found: ReducedLoss) -> Finding:
    trace = found.values[0][0].trace
    names = parameter_names(trace, found.parameters)
    first = parameter_names(trace, found.parameters[:1])
    shown = ", ".join(f"{value:.7g} on {m.name}" for m, value in found.values[:_SHOWN])
    place = located(trace, found.site, "the call")
    return Finding(
        message=f"the loss is averaged over the ranks and the gradients of {names} are not: autograd knows nothing of"
        " the other ranks",
        cause=found.site,
        cause_label="changes the loss's number, and no gradient",
        effect=found.backward,
        effect_label="each rank goes back through its own samples alone",
        seen=(
            f"all ranks went back from the same loss, {found.loss:.5g}; norm of {first}'s gradient at the first step:"
            f" {shown}",
            f"they differed at each of the first {found.compared:,} steps, and the parameters, which were the same"
            " before them, do now",
        ),
        why="a call between ranks writes a number: no node of the graph leads to what the others computed",
        fix=f"go back from the rank's own loss, without {place} (nor a division by the number of ranks), and average"
        " the gradients after `backward()`: `dist.all_reduce(p.grad)` and `p.grad /= dist.get_world_size()` for each"
        " parameter; or wrap the model in `DistributedDataParallel`",
        subjects=parameter_subjects(found.parameters),
        since=Since(1),
    )


def _of_split_layer(found: NotSummed) -> Finding:
    trace = found.values[0][0].trace
    names = parameter_names(trace, found.parameters)
    first = parameter_names(trace, found.parameters[:1])
    split = parameter_names(trace, [found.split])
    shown = ", ".join(f"{value:.7g} on {m.name}" for m, value in found.values[:_SHOWN])
    place = located(trace, found.site, "this line")
    file = trace.source_file(found.site.path)
    own = hands_gradient_on(file, found.given_by)
    return Finding(
        message=f"{names} get another gradient on each rank: that of what the layer of {split}, which is split over the"
        " ranks, is given is not summed",
        cause=found.site,
        cause_label="each rank's part gives back its part of the gradient",
        effect=found.step,
        effect_label="makes another step with the copies on each rank",
        seen=(
            f"the ranks have one loss in the first step, {found.loss:.5g}, and hold other parts of {split}",
            f"norm of {first}'s gradient at the first step: {shown}; before it the parameter was the same on all ranks",
            f"so at each of the first {found.compared:,} steps, and the copies differ now",
        ),
        why="each rank works with all of the input and a part of the weight, so the gradient of the input is the sum"
        " over the ranks; each has only its own term",
        fix=f"sum the gradient over the ranks in `{own.name}.backward` (line {own.lineno}),"
        " which hands its own on: `g = g.clone()`, `dist.all_reduce(g)`"
        if own is not None
        else f"hand what {place} is given through a function whose forward returns it as it is, and whose backward sums"
        " the gradient over the ranks (`dist.all_reduce`), or use `torch.distributed.tensor.parallel`",
        edits=summed_in_backward(trace, found.site.path, own) if own is not None else (),
        subjects=parameter_subjects(found.parameters),
        since=Since(1),
    )
