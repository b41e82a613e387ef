"""A gradient penalty takes the norm of single elements, or one over all samples, not of each sample's gradient.

Why: the penalty of a WGAN-GP pushes the norm of the gradient of each output to 1. `gradients.norm(2, dim=1)` of
images, (N, C, H, W), is a norm over the channels: each pixel's gradient is pushed to 1, and that of the sample to the
square root of their number. `gradients.norm(2)`, or one with `dim=0`, runs over the samples: what is pushed to 1 is no
norm of a gradient that the critic has anywhere, and it shrinks with the size of the batch.

Fix: `gradients.flatten(1).norm(2, dim=1)`.

Silent on: one gradient for each output, as of a distance field; norms that are compared with a tensor; penalties
that pull the norm to 0.
"""

from collections.abc import Iterator
from math import prod

from gradscope.analysis.ops import REDUCTIONS, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import along, renamed
from gradscope.model import Edit, Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._penalties import FORMS, norm_of_gradient, squared
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(144, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        mixed = torch.randn(5, 3, 8, 8, requires_grad=True)
        scores = critic(mixed)
        (gradients,) = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True)
        norm = gradients.norm(2, dim=1)  # cause: GS715
        loss = scores.mean() + 10 * ((norm - 1) ** 2).mean()  # effect: GS715
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(144, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        mixed = torch.randn(5, 3, 8, 8, requires_grad=True)
        scores = critic(mixed)
        (gradients,) = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True)
        norm = gradients.flatten(1).norm(2, dim=1)
        loss = scores.mean() + 10 * ((norm - 1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS715", name="penalty-per-element", severity="warning")
def penalty_per_element(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: dict[tuple[str, int], tuple[Op, Op, Op, int]] = {}
    for key, op in known.used_calls(SUBTRACTIONS):
        graph = known.graph(key[0])
        if len(op.inputs) != 1:
            continue
        found = norm_of_gradient(known, (key[0], op.inputs[0]))
        if found is None:
            continue
        norm, grad = found
        outputs = _outputs(known, (grad.graph, grad.inputs[0]))
        samples = known.graph(grad.graph).values[grad.inputs[1]].shape[:1]
        if not samples or not 1 < samples[0] <= outputs or not squared(known, key):
            continue
        if outputs < prod(graph.values[op.inputs[0]].shape) or _over_samples(known, norm, outputs):
            told.setdefault(norm.site.user.location(), (norm, grad, op, outputs))
    for norm, grad, op, outputs in told.values():
        if _over_samples(known, norm, outputs):
            yield _mixed(trace, known, norm, op, outputs)
        else:
            yield _finding(trace, known, norm, grad, op, outputs)


def _over_samples(known: Paths, norm: Op, outputs: int) -> bool:
    """Whether a norm runs along an axis of the samples, alone or with others."""
    shape = known.value((norm.graph, norm.inputs[0])).shape
    dims = norm.extra.get("dims") or range(len(shape))
    return any(dim % len(shape) < _lead(shape, outputs) for dim in dims)


def _lead(shape: tuple[int, ...], outputs: int) -> int:
    """How many of a gradient's first axes the outputs are on: several where batches were stacked; 0 if none."""
    return next((n for n in range(1, len(shape)) if prod(shape[:n]) == outputs), 0)


def _outputs(known: Paths, key: Key) -> int:
    """How many outputs a gradient is of: those that were summed, where one was made of them."""
    while True:
        sources, op = known.sources(key)
        if op is None or op.name not in REDUCTIONS | FORMS or len(sources) != 1:
            return prod(known.value(key).shape)
        key = sources[0]


def _finding(trace: Trace, known: Paths, norm: Op, grad: Op, op: Op, outputs: int) -> Finding:
    graph = known.graph(norm.graph)
    before = graph.values[norm.inputs[0]].shape
    after = graph.values[op.inputs[0]].shape
    count = prod(after)
    one = prod(before) == count
    text = code(trace, norm.site.user, f"`{norm.name}`")
    here = located(trace, norm.site.user, f"`{norm.name}`")
    flat = _by_sample(before, outputs)
    edits: tuple[Edit, ...] = ()
    if norm.name == "norm" and norm.extra["dims"] in ([1], [-1]) and not text.strip("`").startswith("torch."):
        edits = renamed(trace, norm.site.user, "norm", f"{flat}.norm")
    return Finding(
        message=f"{text} gives {count // outputs} norms for each of {outputs} outputs, and the penalty pushes each of "
        "them to one number, not that of a sample's gradient",
        cause=norm.site.user,
        cause_label=f"{before} becomes {after}",
        effect=op.site.user,
        effect_label=f"{count} norms are pushed to one number",
        seen=(
            f"the gradient of {outputs} outputs had the shape {before}, its norm {after}: {count} "
            "numbers"
            + (", each the absolute value of one element, since the axis has size 1" if one else ""),
        ),
        fix=f"take the norm over all axes of a sample: `.{flat}.norm(2, dim=1)` in {here}",
        edits=edits,
    )


def _mixed(trace: Trace, known: Paths, norm: Op, op: Op, samples: int) -> Finding:
    before, after = (
        known.value((norm.graph, norm.inputs[0])).shape,
        known.value((op.graph, op.inputs[0])).shape,
    )
    site = norm.site.user
    text = code(trace, site, f"`{norm.name}`")
    edits: tuple[Edit, ...] = ()
    if norm.name == "norm" and not text.strip("`").startswith("torch.") and norm.extra.get("dims"):
        last = len(before) - 1
        edits = along(trace, site, "norm", last) if _lead(before, samples) == last else ()
    return Finding(
        message=f"{text} runs over the {samples} samples: the penalty pushes to one number what is the norm of no"
        " sample's gradient",
        cause=site,
        cause_label=f"{before} becomes {after}",
        effect=op.site.user,
        effect_label="is pushed to one number",
        seen=(f"the gradient of {samples} outputs had the shape {before}, its norm {after}",),
        fix=f"take the norm over all axes of a sample: `.{_by_sample(before, samples)}.norm(2, dim=1)` in"
        f" {located(trace, site, f'`{norm.name}`')}",
        edits=edits,
    )


def _by_sample(shape: tuple[int, ...], outputs: int) -> str:
    """What gives a gradient of this shape one row for each of the outputs."""
    lead = _lead(shape, outputs) or 1
    if lead == 1:
        return "flatten(1)"
    return f"flatten(0, {lead - 1})" + (".flatten(1)" if len(shape) > lead + 1 else "")
