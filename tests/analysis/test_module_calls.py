"""Which module calls train, which evaluate, and what becomes of their results."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from observed import Observed, observed, optimizer
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from gradscope.analysis.calls import Call, calls, is_part_of


def of_line(run: Observed, text: str) -> Call:
    """The first call that is written like this."""
    return next(call for call in calls(run.trace).all if run.text(call.event.site.user) == text)


def kinds(run: Observed) -> dict[str, tuple[bool, bool]]:
    """Text of a call → (it trains, a loss uses it)."""
    return {run.text(call.entry): (call.trains, call.used) for call in calls(run.trace).all}


def test_a_call_trains_where_a_pass_goes_through_its_result() -> None:
    def program() -> None:
        model, frozen = nn.Linear(2, 2), nn.Linear(2, 2).requires_grad_(False)
        opt = optimizer(model)
        x = torch.ones(1, 2)
        for _ in range(2):
            opt.zero_grad()
            target = frozen(x)
            F.mse_loss(model(x), target).backward()
            opt.step()
        with torch.no_grad():
            model(x * 2)
        model(x * 3).detach()

    assert kinds(observed(program)) == {
        "frozen(x)": (False, True),
        "model(x)": (True, True),
        "model(x * 2)": (False, False),
        "model(x * 3)": (False, False),
    }


def test_a_result_that_is_cut_is_used_and_does_not_train() -> None:
    def program() -> None:
        body, head = nn.Linear(2, 2), nn.Linear(2, 1)
        opt = optimizer(body, head)
        head(body(torch.ones(1, 2)).detach()).sum().backward()
        opt.step()

    run = observed(program)
    assert kinds(run)["body(torch.ones(1, 2))"] == (False, True)
    known = calls(run.trace)
    assert {p.name for p in known.paths.parameters.values() if p.id in known.trained} == {"weight", "bias"}
    assert known.trained == {
        p.id for p in known.parameters(of_line(run, "head(body(torch.ones(1, 2)).detach())").event)
    }


def test_a_call_carried_over_a_step_is_used_by_the_pass_of_a_later_one() -> None:
    def program() -> None:
        base, model = nn.Linear(2, 2), nn.Linear(2, 2)
        opt = optimizer(model)
        x = torch.ones(1, 2)
        with torch.no_grad():
            target = base(x)
        for _ in range(3):
            opt.zero_grad()
            F.mse_loss(model(x), target).backward()
            opt.step()

    assert kinds(observed(program))["base(x)"] == (False, True)


def test_the_same_function_called_for_training_and_for_evaluation_is_told_apart() -> None:
    def program() -> None:
        model = nn.Linear(2, 1)
        opt = optimizer(model)

        def ask() -> torch.Tensor:
            y: torch.Tensor = model(torch.ones(1, 2))
            return y

        for _ in range(2):
            opt.zero_grad()
            ask().sum().backward()
            opt.step()
            with torch.no_grad():
                ask().argmax().item()

    found = calls(observed(program).trace).all
    assert {(call.event.grad, call.trains, call.used) for call in found} == {
        (True, True, True),
        (False, False, False),
    }


def test_a_part_is_known_in_the_whole_at_whatever_depth() -> None:
    def program() -> None:
        model = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Linear(2, 1))
        other = nn.Linear(1, 1)
        other(model(torch.ones(1, 2))).sum().backward()

    run = observed(program)
    known, modules = calls(run.trace), run.trace.modules
    (whole,) = (m.id for m in modules.values() if m.cls == "Sequential" and not m.path)
    inner = {m.path: m.id for m in modules.values() if m.root == whole}
    (other,) = (m.id for m in modules.values() if m.cls == "Linear" and not m.path)
    assert set(inner) >= {"0", "0.0", "1"}
    assert all(is_part_of(run.trace, number, whole) for number in inner.values())
    assert not is_part_of(run.trace, whole, inner["0"])
    assert not is_part_of(run.trace, other, whole) and not is_part_of(run.trace, None, whole)
    assert known.members(whole) == set(inner.values())
    assert known.members(inner["0"]) == {n for path, n in inner.items() if path.split(".")[0] == "0"}
    assert [p.name for p in known.parameters_of(inner["0"])] == ["0.0.weight", "0.0.bias"]
    assert len(known.parameters_of(whole)) == 4
    assert known.members(10_000) == set()


def test_a_module_is_named_by_the_variable_and_its_path() -> None:
    def program() -> None:
        net = nn.ModuleDict({"body": nn.Linear(2, 2)})
        net["body"](torch.ones(1, 2)).sum().backward()
        nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward()

    known = calls(observed(program).trace)
    assert "`Linear`" in {known.name(call.event) for call in known.all}


def test_layers_are_counted_by_their_classes() -> None:
    class Own(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.dropout(x, training=self.training)

    def program() -> None:
        net = nn.Sequential(nn.Dropout(), nn.Dropout(), nn.BatchNorm1d(2), Own())
        net(torch.ones(3, 2, requires_grad=True)).sum().backward()

    run = observed(program)
    known = calls(run.trace)
    ids = {module.cls: id for id, module in run.trace.modules.items()}
    both = [id for id, module in run.trace.modules.items() if module.cls in ("Dropout", "BatchNorm1d")]
    assert known.layers(sorted(both)) == "2 `Dropout` and 1 `BatchNorm1d`"
    assert known.layers([ids["Own"]]) == "the dropout in `Own`"
    assert [known.dropout(ids[cls]) for cls in ("Dropout", "Own", "BatchNorm1d")] == [True, True, False]


@pytest.mark.parametrize(
    ("reads", "consumed", "judged"),
    [
        (lambda y: y.view(-1).cpu(), False, False),
        (lambda y: y.softmax(-1), True, False),
        (lambda y: y.argmax(-1), True, True),
        (lambda y: (y > 0).view(-1), True, True),
        (lambda y: y.view(-1).exp().sum().item(), True, True),
        (lambda y: y.detach().numpy(), True, True),
        (lambda y: F.mse_loss(y, y * 0 + 1), True, False),
    ],
    ids=["views", "probabilities", "class", "threshold", "number", "numpy", "loss"],
)
def test_what_the_program_takes_out_of_a_result(
    reads: Callable[[torch.Tensor], object], consumed: bool, judged: bool
) -> None:
    def program() -> None:
        model = nn.Linear(2, 3)
        model(torch.ones(1, 2)).sum().backward()
        with torch.no_grad():
            reads(model(torch.zeros(1, 2)))

    run = observed(program)
    event = of_line(run, "model(torch.zeros(1, 2))").event
    known = calls(run.trace)
    assert (known.consumed(event), known.judged(event)) == (consumed, judged)


def test_a_result_that_is_read_in_a_later_step_is_read() -> None:
    def program() -> None:
        model = nn.Linear(2, 3)
        opt = optimizer(model)
        with torch.no_grad():
            before = model(torch.zeros(1, 2))
        for _ in range(2):
            opt.zero_grad()
            model(torch.ones(1, 2)).sum().backward()
            opt.step()
        before.argmax().item()

    run = observed(program)
    assert calls(run.trace).judged(of_line(run, "model(torch.zeros(1, 2))").event)


def two_networks(detached: bool) -> Observed:
    def program() -> None:
        maker, judge = nn.Linear(2, 2), nn.Linear(2, 1)
        opt = optimizer(maker, judge)
        made = maker(torch.ones(1, 2)).exp()
        judge(made.detach() if detached else made).sum().backward()
        opt.step()

    return observed(program)


@pytest.mark.parametrize("detached", [False, True])
def test_a_network_whose_result_another_one_takes_makes_for_it(detached: bool) -> None:
    """With a graph or without: what `detach()` cuts is data all the same."""
    run = two_networks(detached)
    known = calls(run.trace)
    maker, judge = (
        of_line(run, "maker(torch.ones(1, 2))"),
        of_line(run, "judge(made.detach() if detached else made)"),
    )
    assert known.feeds_another(maker.event) and not known.feeds_another(judge.event)
    assert known.generators == (set() if detached else {known.called(maker.event)})


def test_what_a_loss_module_takes_is_made_for_no_other_network() -> None:
    def program() -> None:
        model, criterion = nn.Linear(2, 2), nn.MSELoss()
        opt = optimizer(model)
        criterion(model(torch.ones(1, 2)), torch.zeros(1, 2)).backward()
        opt.step()

    run = observed(program)
    known = calls(run.trace)
    assert len(known.all) == 2 and not known.generators
    assert not any(known.feeds_another(call.event) for call in known.all)


def test_the_block_that_a_call_ran_in_is_found() -> None:
    def program() -> None:
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        with torch.no_grad():
            model(torch.zeros(1, 2))
        with torch.inference_mode():
            model(torch.ones(1, 2))
        model(torch.ones(2, 2)).sum().backward()

    run = observed(program)
    known = calls(run.trace)
    regions = [known.region(call.event) for call in known.all]
    assert [region.kind if region is not None else "" for region in regions] == [
        "no_grad",
        "inference_mode",
        "",
    ]
    first = known.first_op(known.all[0].event)
    assert first is not None and first.name == "linear"


def test_a_loss_that_forward_makes_anew_is_no_part_of_what_the_caller_calls() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            loss: torch.Tensor = nn.MSELoss()(self.layer(x), x)
            return loss

    def program() -> None:
        model = Net()
        x = torch.ones(1, 2) * 2
        model(x).backward()

    run = observed(program)
    known = calls(run.trace)
    first = known.first_op(of_line(run, "model(x)").event)
    assert first is not None and first.name == "linear"
    assert len(known.all) == 1


def test_a_call_under_a_checkpoint_trains() -> None:
    def program() -> None:
        model, head = nn.Linear(2, 2), nn.Linear(2, 1)
        opt = optimizer(model, head)
        x = torch.ones(1, 2, requires_grad=True)
        for _ in range(2):
            opt.zero_grad()
            head(checkpoint(model, x, use_reentrant=False)).sum().backward()
            opt.step()

    run = observed(program)
    known = calls(run.trace)
    assert len(known.trained) == 4
    assert {known.name(call.event) for call in known.all if call.trains} >= {"`head`"}


def test_what_several_optimizers_step_is_trained_and_what_none_does_is_not() -> None:
    def program() -> None:
        one, two, three = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)
        first, second = optimizer(one), optimizer(two)
        three(two(one(torch.ones(1, 2)))).sum().backward()
        first.step()
        second.step()

    run = observed(program)
    known = calls(run.trace)
    texts = ("one(torch.ones(1, 2))", "two(one(torch.ones(1, 2)))", "three(two(one(torch.ones(1, 2))))")
    one, two, three = (of_line(run, text).event for text in texts)
    held = [{p.id for p in known.parameters(event)} for event in (one, two, three)]
    assert known.trained == held[0] | held[1] and held[2].isdisjoint(known.trained)


def test_a_decoder_takes_what_its_encoder_made_and_the_encoder_takes_nothing() -> None:
    def program() -> None:
        encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        opt = optimizer(encoder, decoder)
        for _ in range(2):
            x = torch.randn(8, 4)
            opt.zero_grad()
            (decoder(torch.tanh(encoder(x))) - x).pow(2).mean().backward()
            opt.step()

    run = observed(program)
    known = calls(run.trace)
    named = {run.trace.modules[known.called(call.event)].name: call.event for call in known.all}
    assert {name for name, event in named.items() if known.takes_another(event)} == {"decoder"}
    assert {name for name, event in named.items() if known.feeds_another(event)} == {"encoder"}
