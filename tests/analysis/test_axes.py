"""Which axis is which, through views, products and layers: measured by what torch does with the elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import pytest
import torch
from observed import Observed, observed, optimizer
from torch import nn
from torch.nn import functional as F

from gradscope.analysis.axes import Axes, Axis, axes, rows_in, size_of, straddling
from gradscope.analysis.reach import Key

SHAPES = [
    ((4, 6), (6, 4)),
    ((4, 6), (24,)),
    ((4, 6), (2, 2, 6)),
    ((4, 6), (4, 2, 3)),
    ((2, 3, 4), (3, 2, 4)),
    ((2, 3, 4), (4, 3, 2)),
    ((2, 3, 4), (6, 4)),
    ((2, 3, 4), (4, 6)),
    ((5, 3), (3, 5)),
    ((2, 8, 3), (8, 2, 3)),
    ((4, 4), (4, 4)),
    ((1, 4, 1, 3), (3, 4)),
]


def places(before: tuple[int, ...], after: tuple[int, ...], taken: int, given: int) -> torch.Tensor:
    """(place along `taken`, place along `given`) of each element that a view of the one shape as the other has."""
    one = torch.arange(before[taken]).view([-1 if i == taken else 1 for i in range(len(before))])
    other = torch.arange(after[given]).view([-1 if i == given else 1 for i in range(len(after))])
    return torch.stack([one.expand(before).reshape(-1), other.expand(after).reshape(-1)], 1)


@pytest.mark.parametrize(("before", "after"), SHAPES)
def test_what_lies_in_a_row_of_a_view_is_what_torch_puts_there(
    before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    for taken in range(len(before)):
        for given in range(len(after)):
            pairs = places(before, after, taken, given)
            for row in range(after[given]):
                there = sorted(set(pairs[pairs[:, 1] == row][:, 0].tolist()))
                assert rows_in(before, after, taken, given, row) == there


@pytest.mark.parametrize(("before", "after"), SHAPES)
def test_an_axis_straddles_where_its_places_are_not_those_of_the_axis_of_its_size(
    before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    for taken, given in straddling(before, after):
        assert before[taken] == after[given] > 1
        pairs = places(before, after, taken, given)
        assert (pairs[:, 0] != pairs[:, 1]).any(), "the same axis straddles nothing"
        assert len(set(map(tuple, pairs.tolist()))) > before[taken]


def test_two_sizes_that_a_view_swaps_straddle_both() -> None:
    assert set(straddling((4, 6), (6, 4))) == {(0, 1), (1, 0)}
    assert not straddling((4, 6), (4, 2, 3)) and not straddling((4, 6), (24,))


# -- through the calls of a run ------------------------------------------------------------


def followed(
    make: Callable[[torch.Tensor], torch.Tensor], *shape: int
) -> tuple[Axes, tuple[Axis, ...], tuple[Axis, ...]]:
    """The axes of a run, those of an input of this shape, and those of what is made of it."""
    run = observed(lambda: (make(torch.randn(*shape, requires_grad=True).exp()) * 1.5).sum().backward())
    found = axes(run.trace)
    (op,) = run.ops("make(torch.randn(*shape, requires_grad=True).exp()) * 1.5")
    (first,) = run.ops("torch.randn(*shape, requires_grad=True).exp()")
    return found, found.of((first.graph, first.outputs[0])), found.of((op.graph, op.inputs[0]))


KEPT: list[tuple[str, Callable[[torch.Tensor], torch.Tensor], str]] = [
    ("permute", lambda x: x.permute(2, 0, 1), "cab"),
    ("transpose", lambda x: x.transpose(0, 2), "cba"),
    ("negative", lambda x: x.transpose(-1, -2), "acb"),
    ("mT", lambda x: x.mT, "acb"),
    ("movedim", lambda x: x.movedim(0, 2), "bca"),
    ("twice", lambda x: x.permute(2, 0, 1).permute(1, 2, 0), "abc"),
    ("sum", lambda x: x.sum(1), "ac"),
    ("mean kept", lambda x: x.mean(1, keepdim=True), "a1c"),
    ("integer", lambda x: x[0], "bc"),
    ("colon", lambda x: x[:, 1], "ac"),
    ("ellipsis", lambda x: x[..., 0], "ab"),
    ("none", lambda x: x[:, None], "a1bc"),
    ("select", lambda x: x.select(1, 0), "ac"),
    ("unbind", lambda x: x.unbind(1)[2], "ac"),
    ("view and back", lambda x: x.view(6, 4).view(2, 3, 4), "abc"),
    ("wrong view and back", lambda x: x.view(4, 3, 2).view(2, 3, 4), "abc"),
    ("unsqueeze", lambda x: x.unsqueeze(0), "1abc"),
    ("softmax", lambda x: x.softmax(-1), "abc"),
    ("in place", lambda x: x.clone().mul_(2), "abc"),
    ("written to", lambda x: _written(x), "abc"),
    ("chunk", lambda x: x.chunk(1, 1)[0], "abc"),
    ("slice", lambda x: x[:, :2], "a?c"),
    ("cat", lambda x: torch.cat([x, x], 1), "a?c"),
    ("stack", lambda x: torch.stack([x, x], 1), "a?bc"),
    ("linear", lambda x: F.linear(x, torch.ones(5, 4)), "ab?"),
    ("matmul", lambda x: x @ torch.ones(4, 4), "ab?"),
    ("scores", lambda x: x @ x.transpose(1, 2), "abb"),
    ("einsum", lambda x: torch.einsum("abc,adc->adb", x, x.exp()), "abb"),
    ("repeat", lambda x: x.repeat(2, 1, 1).view(2, 2, 3, 4), "?abc"),
    ("repeat each", lambda x: x.repeat_interleave(2, 0).view(2, 2, 3, 4), "a?bc"),
    ("expand", lambda x: x[:1].expand(2, 3, 4), "?bc"),
    ("no_grad", lambda x: _without_graph(x) + x, "abc"),
]  # fmt: skip


def _written(x: torch.Tensor) -> torch.Tensor:
    y = x * 2.0
    y[:, 0] = 0
    return y


def _without_graph(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return x.transpose(0, 1).exp().transpose(0, 1)


@pytest.mark.parametrize(("make", "letters"), [case[1:] for case in KEPT], ids=[case[0] for case in KEPT])
def test_the_axes_of_a_result_are_those_of_the_input_that_it_has(
    make: Callable[[torch.Tensor], torch.Tensor], letters: str
) -> None:
    _, given, made = followed(make, 2, 3, 4)
    named = dict(zip(given, "abc", strict=True)) | {(): "1"}
    assert "".join(named.get(axis, "?") for axis in made) == letters


def test_a_view_merges_whole_axes_and_a_wrong_one_cuts_them() -> None:
    found, (a, b, c), (merged, last) = followed(lambda x: x.view(6, 4), 2, 3, 4)
    assert (merged, last) == (a + b, c) and found.whole(merged) and size_of(merged) == 6
    op = found.merged[merged]
    assert op.name == "view" and not found.straddles
    found, (a, b, c), made = followed(lambda x: x.view(4, 3, 2), 2, 3, 4)
    assert not all(found.whole(axis) for axis in made)
    (straddle,) = (s for s in found.straddles.values() if s.before == c)
    assert (straddle.taken, straddle.given, straddle.shape) == (2, 0, (2, 3, 4))
    assert found.sources_of(straddle.axis) >= {a[0].source}


def test_a_transposed_view_straddles_and_a_transpose_does_not() -> None:
    """`x.view(time, batch)` of what is (batch, time): the shape fits, the samples are mixed."""
    assert followed(lambda x: x.view(5, 3), 3, 5)[0].straddles
    assert not followed(lambda x: x.t().contiguous().view(5, 3), 3, 5)[0].straddles
    assert not followed(lambda x: x.view(3, 5), 3, 5)[0].straddles


@pytest.mark.parametrize("first", ["data", "parameter"])
def test_what_a_broadcast_lays_side_by_side_keeps_the_axis_of_the_data(first: str) -> None:
    class Shift(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.by = nn.Parameter(torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.add(x, self.by) if first == "data" else torch.add(self.by, x)

    run = observed(lambda: (Shift()(torch.randn(3, 4)) * 2).sum().backward())
    found = axes(run.trace)
    (op,) = (op for op in run.trace.ops if op.name == "add")
    brought, data = sorted((found.of((op.graph, i)) for i in op.inputs), key=len)
    assert found.of((op.graph, op.outputs[0])) == data
    assert found.given(brought[0]) and not any(map(found.given, data))


def test_a_value_carried_over_a_step_keeps_its_axes() -> None:
    def program() -> None:
        w = nn.Parameter(torch.ones(4))
        opt = optimizer(w)
        state = torch.zeros(3, 4)
        for _ in range(3):
            opt.zero_grad()
            state = (state + w).tanh()
            (state * 2).sum().backward()
            opt.step()
            state = state.detach()

    run = observed(program)
    found = axes(run.trace)
    firsts = {found.of((op.graph, op.outputs[0]))[0] for op in run.ops("(state + w).tanh()")}
    assert len(firsts) == 1, "the rows are the same in all steps"


def test_two_calls_of_a_function_make_axes_of_their_own() -> None:
    def program() -> None:
        def make() -> torch.Tensor:
            return torch.randn(3, requires_grad=True).exp()

        (make() * make()).sum().backward()

    run = observed(program)
    found = axes(run.trace)
    one, other = (
        found.of((op.graph, op.outputs[0])) for op in run.ops("torch.randn(3, requires_grad=True).exp()")
    )
    assert one != other


def test_rows_in_a_random_order_are_samples_also_where_they_are_merged() -> None:
    def program(shuffled: bool) -> Observed:
        def run() -> None:
            data, p = torch.randn(12, 3), nn.Parameter(torch.ones(3))
            batch = data[torch.randperm(12)[:4]] if shuffled else data[:4]
            ((batch * p).view(12) * 2).sum().backward()

        return observed(run)

    def asked(run: Observed) -> tuple[Axes, Axis, Axis]:
        found = axes(run.trace)
        return found, found.of(run.key("batch * p"))[0], found.of(run.key("(batch * p).view(12)"))[0]

    run = program(True)
    found, rows, merged = asked(run)
    op = found.drawn(rows)
    assert op is not None and run.text(op.site.user) == "data[torch.randperm(12)[:4]]"
    folded = found.folded(merged)
    assert folded is not None and folded[0] == 4
    found, rows, merged = asked(program(False))
    assert found.drawn(rows) is None and found.folded(merged) is None


@pytest.mark.parametrize("batch_first", [True, False])
def test_a_recurrent_layer_runs_along_the_axis_that_it_was_told(batch_first: bool) -> None:
    def program() -> None:
        layer = nn.LSTM(4, 5, batch_first=batch_first)
        x = torch.randn(2, 3, 4, requires_grad=True).exp()
        layer(x)[0].sum().backward()

    run = observed(program)
    found = axes(run.trace)
    first, second, _ = found.of(run.key("torch.randn(2, 3, 4, requires_grad=True).exp()"))
    (one,) = found.runs
    assert (one.along, one.apart) == ((second, first) if batch_first else (first, second))


def test_attention_runs_along_the_queries() -> None:
    def program() -> None:
        q = torch.randn(2, 3, 4, requires_grad=True).exp()
        F.scaled_dot_product_attention(q, q, q).sum().backward()

    run = observed(program)
    found = axes(run.trace)
    q = found.of(run.key("torch.randn(2, 3, 4, requires_grad=True).exp()"))
    ((along, apart),) = ((one.along, one.apart) for one in found.runs)
    assert (along, apart) == (q[1], q[0])
    assert found.of(run.key("F.scaled_dot_product_attention(q, q, q)"))[:2] == q[:2]


def test_every_value_has_as_many_axes_as_dimensions_and_of_their_sizes() -> None:
    """Whatever the call is: what is not known begins new ones."""

    def program() -> None:
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16, 5),
        )
        out = net(torch.randn(2, 3, 4, 4))
        F.cross_entropy(out.repeat(2, 1).topk(3).values, torch.zeros(4, dtype=torch.long)).backward()

    run = observed(program)
    found = axes(run.trace)
    keys: list[Key] = list(found.known.used.order)
    assert len(keys) > 10
    for key in keys:
        assert tuple(map(size_of, found.of(key))) == found.known.value(key).shape
        assert prod(map(size_of, found.of(key))) == prod(found.known.value(key).shape)
    conv = next(op for op in run.trace.ops if op.name == "conv2d")
    first = found.of((conv.graph, conv.inputs[0]))[0]
    assert found.of((conv.graph, conv.outputs[0]))[0] == first, "the samples stay"
