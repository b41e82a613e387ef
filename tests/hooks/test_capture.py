"""The captured graph is the one that autograd built: node by node, edge by edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from needs import indexing_seen
from torch import nn
from torch.utils.checkpoint import checkpoint
from witness import graph_below

import gradscope


def captured(graph: Any, root: int) -> list[tuple[str, list[tuple[int, int]]]]:
    """What `graph_below` gives of the true graph, of a captured one."""
    index = {root: 0}
    order = [root]
    rows = []
    for node in order:
        edges = []
        for edge in graph.nodes[node].edges:
            if edge.target not in index:
                index[edge.target] = len(order)
                order.append(edge.target)
            edges.append((index[edge.target], edge.input_nr))
        rows.append((graph.nodes[node].name, edges))
    return rows


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 2


def leaf(*shape: int) -> torch.Tensor:
    return torch.rand(*shape).add_(0.1).requires_grad_()


def inplace_on_view() -> torch.Tensor:
    x = leaf(4, 4)
    y = x * 2
    y[1:3].mul_(3)
    y.t()[0] = leaf(4)
    return y.sum()


def views_of_views() -> torch.Tensor:
    x = leaf(4, 6)
    return x.view(2, 2, 6).transpose(0, 1)[1].permute(1, 0).unsqueeze(0).expand(3, -1, -1).sum()


def unrolled() -> torch.Tensor:
    cell = nn.LSTMCell(3, 4)
    h = c = torch.zeros(2, 4)
    for _ in range(6):
        h, c = cell(torch.ones(2, 3), (h, c))
    return (h + c).sum()


def many_outputs() -> torch.Tensor:
    x = leaf(6, 4)
    a, b = x.chunk(2)
    values, indices = x.max(dim=1)
    top = x.topk(2, dim=1).values
    picked = x.gather(1, indices[:, None])
    return (a * b).sum() + values.sum() + top.sum() + torch.stack(x.unbind()).mean() + picked.sum()


def double_backward() -> torch.Tensor:
    x = leaf(3)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return (g**2).sum()


def inplace_chain() -> torch.Tensor:
    y = leaf(3) * 1
    for _ in range(4):
        y += 1
        y.mul_(2).neg_()
    F.relu(y, inplace=True)
    return y.sum()


def cross_entropy() -> torch.Tensor:
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dropout(), nn.Linear(32, 5)
    )
    return F.cross_entropy(net(torch.rand(4, 1, 6, 6)), torch.tensor([0, 1, 2, 3]))


def attention() -> torch.Tensor:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return layer(torch.rand(2, 3, 8)).square().mean()


def shared_parameters() -> torch.Tensor:
    layer = nn.Linear(4, 4)
    x = torch.rand(2, 4)
    for _ in range(3):
        x = layer(x).tanh()
    return x.sum()


def custom_function() -> torch.Tensor:
    return Double.apply(leaf(3)).sum()


def checkpointed() -> torch.Tensor:
    layer = nn.Linear(4, 4)
    return checkpoint(layer, leaf(2, 4), use_reentrant=False).sum()


def carried_over_backward() -> torch.Tensor:
    x = leaf(3)
    y = x.exp()
    y.sum().backward(retain_graph=True)
    z = y * 2
    return z.sum()


def rebuilt_after_detach() -> torch.Tensor:
    x = leaf(3)
    y = (x * 2).detach().requires_grad_()
    with torch.no_grad():
        z = y + 1
    return (y * z).sum()


PROGRAMS: list[Callable[[], torch.Tensor]] = [
    inplace_on_view, views_of_views, unrolled, many_outputs, double_backward, inplace_chain, cross_entropy, attention,
    shared_parameters, custom_function, checkpointed, rebuilt_after_detach,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_graph_is_the_one_autograd_built(program: Callable[[], torch.Tensor]) -> None:
    with gradscope.watch() as scope:
        root = program()
    assert not scope.faults
    graph = scope.trace.graphs[-1]
    node = graph.values[graph.ops[-1].outputs[0]].node
    assert node is not None
    with indexing_seen(program):
        assert captured(graph, node) == graph_below(root.grad_fn)


@pytest.mark.parametrize("program", [*PROGRAMS, carried_over_backward], ids=lambda p: p.__name__)
def test_numbers_and_random_state_are_untouched(program: Callable[[], torch.Tensor]) -> None:
    torch.manual_seed(3)
    plain = program()
    plain.backward()
    state = torch.get_rng_state()
    torch.manual_seed(3)
    with gradscope.watch() as scope:
        watched = program()
        watched.backward()
    assert not scope.faults
    assert torch.equal(plain, watched)
    assert torch.equal(state, torch.get_rng_state())


def at_one_site(*calls: Callable[[], torch.Tensor]) -> list[torch.Tensor]:
    """What these give, all called from here."""
    return [call() for call in calls]


def test_calls_at_one_site_are_told_apart() -> None:
    """They have the same kinds of inputs, and build other nodes or other edges."""

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a * b

    def sort(**options: bool) -> torch.Tensor:
        return torch.sort(x, **options).values

    def doubled(part: torch.Tensor) -> torch.Tensor:
        return part * 2

    def reshaped(t: torch.Tensor) -> torch.Tensor:
        return t.sin().reshape(-1) @ torch.ones(9) + t.reshape(9).sum()

    def dropped(t: torch.Tensor, p: float) -> torch.Tensor:
        return F.dropout(t.exp(), p, inplace=True)

    with gradscope.watch() as scope:
        x, y = leaf(3, 3), leaf(3, 3)
        one, two, three = (x * 1).unbind()
        results = at_one_site(
            lambda: product(x, x), lambda: product(x, y), lambda: sort(), lambda: sort(stable=True),
            lambda: doubled(one), lambda: doubled(three), lambda: doubled(two), lambda: reshaped(x),
            lambda: reshaped(x.t()), lambda: dropped(x, 0.5), lambda: dropped(x, 0.0),
        )  # fmt: skip
        torch.atleast_1d(x.sum(), y)
        total = sum(r.sum() for r in results)
    assert not scope.faults
    graph = scope.trace.graphs[-1]
    node = graph.values[graph.ops[-1].outputs[0]].node
    assert captured(graph, node) == graph_below(total.grad_fn)


def test_identical_steps_are_stored_once() -> None:
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch(sample=False) as scope:
        for _ in range(20):
            optimizer.zero_grad()
            net(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    assert scope.trace.summary["steps"] == 20
    assert scope.trace.summary["passes"] == 20
    assert scope.trace.summary["distinct_graphs"] == 1
    assert len(scope.trace.graphs) <= 4  # what is set up, the first step, and the one that repeats


def test_nothing_stays_hooked() -> None:
    before = (nn.Module.__call__, nn.Module.train, torch.optim.Optimizer.step, torch.autograd.Function.apply)
    with gradscope.watch():
        pass
    after = (nn.Module.__call__, nn.Module.train, torch.optim.Optimizer.step, torch.autograd.Function.apply)
    assert before == after
    assert torch._C._len_torch_function_stack() == 0


def test_tensors_die_when_the_program_lets_go() -> None:
    import weakref

    with gradscope.watch():
        x = leaf(3)
        y = x * 2
        gone = weakref.ref(y)
        z = y.exp()
        del y
        assert gone() is None
        kept = weakref.ref(z)
        del z
        assert kept() is None


def test_models_that_are_gone_are_told_but_not_held() -> None:
    with gradscope.watch() as scope:
        for _ in range(700):
            net = nn.Linear(2, 1)
            net(torch.ones(1, 2)).sum().backward()
        recorder = scope._session.recorder
        assert len(recorder.modules.records) < 300 and len(recorder.ledger.all) < 600
    assert [p.passes for p in scope.trace.parameters] == [1] * 1400


def test_parameters_of_a_module_that_is_never_called_have_its_names() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        weights = list(net.parameters())
        hidden = F.linear(torch.ones(4, 2), *weights[:2]).relu()
        F.linear(hidden, *weights[2:]).sum().backward()
        optimizer.step()
    assert [p.name for p in scope.trace.parameters] == ["0.weight", "0.bias", "2.weight", "2.bias"]
