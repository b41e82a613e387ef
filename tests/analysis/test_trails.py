"""What becomes of the axes of weights: which of them a call sums over, and with what of the other factor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from observed import Observed, observed
from torch.nn import functional as F

from gradscope.analysis.axes import axes
from gradscope.analysis.reach import Key
from gradscope.analysis.trails import Trail, trail

Use = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def attended(use: Use, softmax: Callable[[torch.Tensor], torch.Tensor] = lambda s: s.softmax(-1)) -> Observed:
    """Scores of 3 queries with 5 keys, made weights, and used with values of 5 keys."""

    def program() -> None:
        scores = torch.randn(2, 3, 5, requires_grad=True).exp()
        values = torch.randn(2, 5, 4, requires_grad=True).tanh()
        use(softmax(scores), values).square().sum().backward()

    return observed(program)


def weights(run: Observed) -> Key:
    (op,) = (op for op in run.trace.ops if op.name in ("softmax", "log_softmax"))
    return op.graph, op.outputs[0]


def followed(use: Use) -> tuple[Observed, Trail]:
    run = attended(use)
    return run, trail(run.trace, weights(run))


USES: list[tuple[str, Use, set[int]]] = [
    ("product", lambda w, v: w @ v, {2}),
    ("bmm", lambda w, v: torch.bmm(w, v), {2}),
    ("einsum", lambda w, v: torch.einsum("bqk,bkd->bqd", w, v), {2}),
    ("sum", lambda w, v: (w[..., None] * v[:, None]).sum(2), {2}),
    ("transposed", lambda w, v: w.transpose(1, 2) @ v[:, :3], {1}),
    ("einsum over queries", lambda w, v: torch.einsum("bqk,bqd->bkd", w, v[:, :3]), {1}),
    ("sum over queries", lambda w, v: w.sum(1) * v[..., 0], {1}),
    ("from the right", lambda w, v: v.mT @ w.mT, {2}),
    ("after a view", lambda w, v: w.unsqueeze(1).squeeze(1).clone() @ v, {2}),
]


@pytest.mark.parametrize(("use", "over"), [case[1:] for case in USES], ids=[case[0] for case in USES])
def test_a_sum_over_some_axes_of_the_weights_is_found(use: Use, over: set[int]) -> None:
    _, found = followed(use)
    assert found.sums and found.sums[0].over == over
    assert found.sums[0].left == {0, 1, 2} - over
    assert not found.balanced


@pytest.mark.parametrize(("use", "over"), [case[1:] for case in USES[:4]], ids=[case[0] for case in USES[:4]])
def test_the_axis_of_the_values_that_is_summed_with_it_is_that_of_the_keys(use: Use, over: set[int]) -> None:
    run, found = followed(use)
    values = axes(run.trace).of(run.key("torch.randn(2, 5, 4, requires_grad=True).tanh()"))
    assert found.sums[0].other is not None and found.sums[0].shared == (values[1],)


def test_weights_of_places_by_the_same_places_are_followed_apart() -> None:
    """Queries and keys are the same axis there: which one a product sums over is told by the place."""

    def program(turned: bool) -> Observed:
        def run() -> None:
            x = torch.randn(3, 4, requires_grad=True).exp()
            w = (x @ x.t()).softmax(-1)
            ((w.t() if turned else w) @ x).square().sum().backward()

        return observed(run)

    for turned, over in ((False, {1}), (True, {0})):
        run = program(turned)
        rows = axes(run.trace).of(weights(run))
        assert rows[0] == rows[1], "no other way tells the two apart"
        assert [one.over for one in trail(run.trace, weights(run)).sums][:1] == [over]


@pytest.mark.parametrize(
    ("use", "balanced"),
    [
        (lambda w, v: w @ v, False),
        (lambda w, v: (w / w.sum(1, keepdim=True)) @ v, True),
        (lambda w, v: w.softmax(1) @ v, True),
        (lambda w, v: F.normalize(w, dim=-1) @ v, True),
        (lambda w, v: (w - w.mean(-1, keepdim=True)) @ v, True),
        (lambda w, v: (w * 2) @ v, False),
        (lambda w, v: (w / v.sum()) @ v, False),
        (lambda w, v: (w @ v) / w.sum(-1, keepdim=True), True),
    ],
    ids=["plain", "divided", "softmax", "normalize", "centred", "scaled", "by another", "divided later"],
)
def test_weights_that_are_normalised_once_more_are_known(use: Use, balanced: bool) -> None:
    def program() -> None:
        values = torch.randn(2, 5, 4, requires_grad=True).tanh()
        use(torch.randn(2, 3, 5, requires_grad=True).sigmoid(), values).square().sum().backward()

    run = observed(program)
    (first,) = (op for op in run.trace.ops if op.name == "sigmoid")
    assert trail(run.trace, (first.graph, first.outputs[0])).balanced == balanced


def test_what_is_left_of_the_axes_is_told_of_each_value() -> None:
    run, found = followed(lambda w, v: w.mT.exp().sum(1) * v[:, :3, 0])
    assert found.places(run.key("w.mT")) == {0, 1, 2}
    assert found.places(run.key("w.mT.exp().sum(1)")) == {0, 1}
    assert found.places(run.key("torch.randn(2, 5, 4, requires_grad=True).tanh()")) == frozenset()


def test_logarithms_are_scaled_by_sums_and_added_up_by_logsumexp() -> None:
    def use(w: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return (w + v[..., 0][:, None]).logsumexp(2)

    run = attended(use, lambda s: s.log_softmax(-1))
    (one,) = trail(run.trace, weights(run), logarithms=True).sums
    assert one.over == {2} and one.op.name == "logsumexp" and one.other is not None
    assert not trail(run.trace, weights(run)).sums, "as weights they are summed by nothing"


def test_what_only_a_log_reads_is_not_followed() -> None:
    def use(w: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        w.detach().sum(1)
        with torch.no_grad():
            w.transpose(1, 2) @ v[:, :3]
        return w @ v

    _, found = followed(use)
    assert [one.over for one in found.sums] == [{2}]


def test_weights_used_twice_have_a_sum_for_each_use() -> None:
    _, found = followed(lambda w, v: torch.cat([w @ v, w @ v.exp()], -1))
    assert [one.over for one in found.sums] == [{2}, {2}]
    assert found.sums[0].op != found.sums[1].op and found.sums[0].other != found.sums[1].other


def test_behind_a_layer_the_weights_are_of_another_scale() -> None:
    def use(w: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.linear(w, torch.ones(4, 5)).sum(1)[..., None] * v.sum(1)[:, None]

    _, found = followed(use)
    assert not found.sums
