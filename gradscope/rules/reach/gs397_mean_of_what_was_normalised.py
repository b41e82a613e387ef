"""A mean is taken over just what an instance normalisation has brought to mean 0: it is the same whatever comes in.

Why: instance normalisation takes from each channel of each sample its own mean. The mean of that over the same places
is 0, or the bias of the layer: no number of the input changes it, and what it is computed from gets a gradient of 0. A
critic that ends so scores all samples alike, and the penalty of its gradient stays what it was.

Fix: no normalisation in front of the mean; or something between them that is not linear, such as a ReLU.

Measured: which axes the mean went over, and which the normalisation. Silent on: means over a part of these axes, layers
that normalise by running statistics, values that something else uses as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import MEANS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, plural
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

NORM = "instance_norm"
POOLED = ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
CHANNELS = 2  # axes in front of the places: samples and channels


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.LeakyReLU(), nn.Conv2d(4, 1, 1), nn.InstanceNorm2d(1))
    opt = torch.optim.Adam(features.parameters(), lr=0.01)
    for _ in range(3):
        scores = features(torch.randn(8, 1, 6, 6)).mean(dim=(1, 2, 3))  # cause: GS397
        opt.zero_grad()
        (scores - 1).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.InstanceNorm2d(4), nn.LeakyReLU(), nn.Conv2d(4, 1, 1))
    opt = torch.optim.Adam(features.parameters(), lr=0.01)
    for _ in range(3):
        scores = features(torch.randn(8, 1, 6, 6)).mean(dim=(1, 2, 3))
        opt.zero_grad()
        (scores - 1).pow(2).mean().backward()
        opt.step()


@rule("GS397", name="mean-of-what-was-normalised", severity="warning")
def mean_of_what_was_normalised(trace: Trace) -> Iterator[Finding]:
    if NORM not in trace.op_names:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, mean in known.used_calls({*MEANS, *POOLED}):
        norm = _normalised(known, key, mean)
        place = mean.site.user.location()
        if norm is not None and place not in told:
            told.add(place)
            yield _finding(trace, known, mean, norm)


def _normalised(known: Paths, key: Key, mean: Op) -> Op | None:
    """The normalisation whose result alone the mean goes over, along all of its places."""
    given = (mean.graph, mean.inputs[0])
    norm, shape = known.maker(given), known.value(given).shape
    if norm is None or norm.name != NORM or len(shape) <= CHANNELS or len(known.readers(given)) != 1:
        return None
    rest = [known.value((norm.graph, index)).kind for index in norm.inputs[1:]]
    if any(kind != "parameter" for kind in rest):  # running statistics
        return None
    places = set(range(CHANNELS, len(shape)))
    if mean.name in POOLED:
        over = places if set(known.value(key).shape[CHANNELS:]) == {1} else set()
    else:
        over = {dim % len(shape) for dim in mean.extra.get("dims", range(len(shape)))}
    return norm if places <= over else None


def _finding(trace: Trace, known: Paths, mean: Op, norm: Op) -> Finding:
    site, layer = mean.site.user, layer_site(trace, norm) or norm.site.user
    shape = known.value((norm.graph, norm.inputs[0])).shape
    count = prod(shape[CHANNELS:])
    always = "the bias of the layer" if len(norm.inputs) > 1 else "0"
    return Finding(
        message=f"{code(trace, site, f'`{mean.name}`')} is {always} whatever comes in: it is the mean of what"
        f" `{norm.name}` has brought to mean 0",
        cause=site,
        cause_label=f"the mean over the {plural(count, 'place')} of each channel",
        related=((layer, "takes the mean over the same places away"),)
        if layer.location() != site.location()
        else (),
        seen=(f"of shape {shape}, both go over all places behind the channels",),
        why="what is computed from such a mean does not depend on the layers in front of it, and they get a gradient"
        " of 0: they learn nothing by it",
        fix=f"leave out the normalisation of {located(trace, layer)}, or put something that is not linear between"
        f" both, such as a ReLU",
        count=known.graph(mean.graph).count,
        subjects=frozenset({("mean", site.location())}),
    )
