"""Programs whose steps differ in how often a part repeats: sampling sleeps through them, the trace stays
small, and what goes wrong late is found as where all steps are equal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import gradscope
from gradscope.check import Report
from gradscope.events import Backward, ModuleCall
from gradscope.render import text
from gradscope.store import Trace

Lengths = Callable[[int], int]
STEPS = 40


def varying(low: int, high: int) -> Lengths:
    draw = torch.Generator().manual_seed(7)
    return lambda step: int(torch.randint(low, high, (), generator=draw))


class Unrolled:
    """A cell over sentences; `late` is what each step does from step 28 on."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.cell, self.embed, self.head = nn.LSTMCell(4, 4), nn.Embedding(9, 4), nn.Linear(4, 9)
        leaves = [*self.cell.parameters(), *self.embed.parameters(), *self.head.parameters()]
        self.opt = torch.optim.SGD(leaves, 0.01)

    def loss(self, length: int) -> torch.Tensor:
        x = torch.randint(0, 9, (2, length + 1))
        h = c = torch.zeros(2, 4)
        total = torch.zeros(())
        for t in range(length):
            h, c = self.cell(self.embed(x[:, t]), (h, c))
            total = total + nn.functional.cross_entropy(self.head(h), x[:, t + 1])
        return total / length

    def run(self, lengths: Lengths, late: str = "", batches: Lengths = lambda step: 1) -> Trace:
        with gradscope.watch() as scope:
            for step in range(STEPS):
                broken = late if step >= 28 else ""
                if broken != "no zero_grad":
                    self.opt.zero_grad()
                for _ in range(batches(step)):
                    loss = self.loss(lengths(step))
                    (loss * float("nan") if broken == "nan" else loss).backward()
                self.opt.step()
        return scope.trace


def slept(trace: Trace) -> int:
    """Steps that were not looked at."""
    return sum(s.repeat for s in trace.segments if s.is_step and s.graph is None)


def test_varying_lengths_are_slept_through_and_stored_once() -> None:
    trace = Unrolled().run(varying(3, 14))
    assert slept(trace) > STEPS // 2
    assert 1 <= len(trace.graphs_with_nodes) <= 8
    assert sum(e.count for e in trace.of(Backward)) == trace.summary["passes"] == STEPS
    assert sum(len(trace.graph(id).ops) for id in trace.graphs_with_nodes) < 1_000


Shape = tuple["Shape", "Shape"] | None  # a leaf is None


class Trees:
    """A network that calls itself over trees of which hardly two are alike; `late` begins with step 200."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.draw = torch.Generator().manual_seed(3)
        self.join, self.leaf = nn.Linear(4, 2), nn.Linear(3, 2)
        self.opt = torch.optim.SGD([*self.join.parameters(), *self.leaf.parameters()], 0.01)

    def grow(self, leaves: int) -> Shape:
        if leaves == 1:
            return None
        left = int(torch.randint(1, leaves, (), generator=self.draw))
        return self.grow(left), self.grow(leaves - left)

    def read(self, tree: Shape) -> torch.Tensor:
        if tree is None:
            return self.leaf(torch.ones(3))
        return self.join(torch.cat([self.read(tree[0]), self.read(tree[1])])).tanh()

    def run(self, steps: int, late: str = "") -> Trace:
        lengths = varying(2, 9)
        with gradscope.watch() as scope:
            for step in range(steps):
                if not late or step < 200:
                    self.opt.zero_grad()
                self.read(self.grow(lengths(step))).sum().backward()
                self.opt.step()
        return scope.trace


def test_trees_of_all_shapes_are_slept_through() -> None:
    trace = Trees().run(250)
    assert slept(trace) > 150
    assert len(trace.graphs_with_nodes) < 80


def test_steps_whose_gradients_are_summed_unevenly_are_expected_all_the_same() -> None:
    """The version of a gradient that a pass has summed tells how often: another number in each tree."""
    trace = Trees().run(400)
    repeated = [s.repeat for s in trace.segments if s.is_step and s.repeat > 8]
    assert sum(repeated) > 200


def test_what_begins_late_is_found_in_trees() -> None:
    told = {f.code for f in Trees().run(300, "no zero_grad").findings if f.severity != "note"}
    assert "GS201" in told


def left_out(steps: int, late: str = "") -> Trace:
    """Of eight layers, some are left out in each step, so that their parameters get no gradient."""
    torch.manual_seed(0)
    layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(8))
    opt = torch.optim.SGD(layers.parameters(), 0.01)
    with gradscope.watch() as scope:
        for step in range(steps):
            x = torch.randn(2, 4)
            for kept, layer in zip(torch.rand(8) < 0.5, layers, strict=True):
                x = layer(x).tanh() + x if kept else x
            opt.zero_grad()
            loss = x.pow(2).mean() + layers[0](x).pow(2).mean()
            (loss * float("nan") if late and step >= steps - 20 else loss).backward()
            opt.step()
    return scope.trace


def test_layers_that_are_left_out_at_random_are_slept_through() -> None:
    trace = left_out(200)
    assert slept(trace) > 100
    assert sum(e.count for e in trace.of(Backward)) == 200


def test_what_begins_late_is_found_where_layers_are_left_out() -> None:
    told = {f.code for f in left_out(200, "nan").findings if f.severity == "error"}
    assert told and not {f.code for f in left_out(200).findings if f.severity != "note"}


def test_a_varying_number_of_micro_batches_wakes_nobody() -> None:
    trace = Unrolled().run(lambda step: 5, batches=varying(1, 6))
    asleep = [e for e in trace.of(Backward) if e.data["unlooked"]]
    passes = sum(e.count for e in asleep)
    assert slept(trace) > STEPS // 2 and passes > 1.5 * slept(trace)


@pytest.mark.parametrize("late", ["no zero_grad", "nan"])
def test_what_begins_late_is_found_whatever_the_lengths(late: str) -> None:
    fixed = Unrolled().run(lambda step: 8, late)
    ragged = Unrolled().run(varying(3, 14), late)
    codes = {f.code for f in fixed.findings if f.severity != "note"}
    assert codes and {f.code for f in ragged.findings if f.severity != "note"} == codes


def test_other_structures_are_no_variants_of_a_family() -> None:
    """A branch that a step takes or not is another graph, however often it was repeated."""
    torch.manual_seed(0)
    one, two = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*one.parameters(), *two.parameters()], 0.01)
    lengths = varying(2, 9)
    with gradscope.watch() as scope:
        for step in range(12):
            x = torch.randn(2, 4)
            for _ in range(lengths(step)):
                x = one(x).tanh()
            if step % 4 == 3:
                x = two(x)
            opt.zero_grad()
            x.pow(2).sum().backward()
            opt.step()
    graphs = [scope.trace.graph(s.graph) for s in scope.trace.segments if s.graph is not None]
    used = [{v.parameter for v in g.values if v.parameter is not None} for g in graphs]
    filled = {frozenset(e.data["accumulated"]) for e in scope.trace.of(Backward)}
    assert {len(ids) for ids in used if ids} >= {2, 4} and len(filled) == 2


def test_what_the_report_took_is_told_where_it_is_felt() -> None:
    trace = Unrolled().run(lambda step: 3)
    assert "55.0 s for this report" in text.render(Report(trace, (), seconds=55.0))
    assert "for this report" not in text.render(Report(trace, (), seconds=0.2))


def test_the_cost_counts_the_way_through_the_mode() -> None:
    """Calls that are not recorded cost something too."""
    x = torch.zeros(3)
    with gradscope.watch() as scope:
        for _ in range(20_000):
            x.dim()
    told = scope.trace.meta["summary"]
    assert told["own_seconds"] > 0.005


def test_train_called_at_each_step_keeps_nobody_awake() -> None:
    """As transformers' Trainer does; an evaluation between is looked at all the same."""
    with gradscope.watch() as scope:
        model, bn = nn.Linear(4, 1), nn.BatchNorm1d(4)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            for _ in range(40):
                model.train()
                bn.eval()
                optimizer.zero_grad()
                model(bn(torch.randn(8, 4))).pow(2).mean().backward()
                optimizer.step()
            model.eval()
            model(torch.randn(8, 4))
    assert not scope.faults
    assert sum(e.count for e in scope.trace.of(Backward) if e.unlooked) > 40
    calls = scope.trace.of(ModuleCall)
    last = calls[-1].site.user.location()
    assert sum(e.count for e in calls if e.site.user.location() == last and not e.training) == 3


@pytest.mark.parametrize("lengths", [lambda step: 4, varying(2, 30)], ids=["equal", "varying"])
def test_a_loss_that_is_made_anew_in_each_step_is_one_module(lengths: Lengths) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), 0.01)
    with gradscope.watch() as scope:
        for step in range(STEPS):
            rows = lengths(step)
            opt.zero_grad()
            nn.CrossEntropyLoss()(model(torch.randn(rows, 4)), torch.randint(0, 3, (rows,))).backward()
            opt.step()
    assert slept(scope.trace) > STEPS / 2
    assert [m.cls for m in scope.trace.modules.values()].count("CrossEntropyLoss") == 1


def test_a_slice_of_a_model_is_one_module() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), 0.01)
    with gradscope.watch() as scope:
        for _ in range(STEPS):
            opt.zero_grad()
            model[2:](model[:2](torch.randn(2, 4))).pow(2).mean().backward()
            opt.step()
    assert slept(scope.trace) > STEPS / 2
    assert [m.cls for m in scope.trace.modules.values()].count("Sequential") < 8


def test_losses_that_live_side_by_side_are_not_one_module() -> None:
    torch.manual_seed(0)
    model, losses = nn.Linear(4, 4), [nn.MSELoss(), nn.MSELoss()]
    with gradscope.watch() as scope:
        for loss in losses:
            loss(model(torch.randn(2, 4)), torch.zeros(2, 4)).backward()
    assert [m.cls for m in scope.trace.modules.values()].count("MSELoss") == 2


def test_a_teacher_that_is_asked_at_every_step_does_not_keep_sampling_awake() -> None:
    """An evaluation that comes later is looked at all the same."""
    torch.manual_seed(0)
    model, teacher = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), 0.01)
    with gradscope.watch() as scope:
        for step in range(STEPS):
            x = torch.randn(2, 4)
            with torch.no_grad():
                wanted = teacher(x)
            opt.zero_grad()
            (model(x) - wanted).pow(2).mean().backward()
            opt.step()
            if step == 34:
                with torch.no_grad():
                    model(torch.randn(8, 4))
    trace = scope.trace
    assert slept(trace) > STEPS / 2
    assert any(_rows(trace, call) == 8 for call in trace.of(ModuleCall))


def _rows(trace: Trace, call: ModuleCall) -> int:
    return trace.graph(call.graph).values[call.inputs[0]].shape[0] if call.graph >= 0 and call.inputs else 0


def test_a_pass_that_was_slept_through_is_looked_at_the_next_time() -> None:
    """Seven steps of a critic go before each pass of the learner: the first sleep begins among them."""
    torch.manual_seed(0)
    learner, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    slow, fast = (torch.optim.SGD(model.parameters(), lr=0.01) for model in (learner, critic))
    with gradscope.watch() as scope:
        for _ in range(12):
            for _ in range(7):
                fast.zero_grad()
                critic(torch.randn(8, 4)).pow(2).mean().backward()
                fast.step()
            slow.zero_grad()
            learner(torch.randn(8, 4)).pow(2).mean().backward()
            slow.step()
    ids = {p.id for p in scope.trace.parameters if p.name.startswith("weight") and p.shape == (4, 4)}
    passes = [event for event in scope.trace.of(Backward) if ids & set(event.filled)]
    assert any(event.graph >= 0 for event in passes), "the learner's pass is known"
    assert slept(scope.trace) > 12, "and sampling sleeps on"


def test_a_variable_may_be_called_what_we_call_the_values_of_a_run() -> None:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def ends() -> torch.Tensor:
        value = [0, 1] * 500
        return torch.tensor(value).float()

    with gradscope.watch() as scope:
        for _ in range(3):
            loss = (net(torch.randn(1000, 4)).squeeze(1) - ends()).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net(torch.randn(2, 4))
    assert not scope.faults
