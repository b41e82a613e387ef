"""What tensors of no module are called: as the program would write them."""

from __future__ import annotations

from functools import partial

import torch
from observed import observed, optimizer
from torch import nn

from gradscope.analysis.words import is_known_at, method, named_at, parameter_name, percent
from gradscope.answers import why
from gradscope.check import examine


def made_in_several_ways() -> None:
    def apply(p: list[torch.Tensor]) -> torch.Tensor:
        return torch.tanh(torch.ones(2, 3) @ p[0]) @ p[1]

    meta = [torch.randn(3, 4).requires_grad_(), torch.randn(4, 1, requires_grad=True)]
    scales = {"a": torch.zeros(1, requires_grad=True), "b": nn.Parameter(torch.ones(2))}
    rows = [nn.Parameter(torch.randn(2)) for _ in range(3)]
    idle = nn.Parameter(torch.ones(2))
    opt = optimizer(*meta, *scales.values(), *rows, idle)
    apply(meta).sum().backward()
    opt.step()


def test_what_a_list_or_a_dict_holds_is_called_by_its_place() -> None:
    trace = observed(made_in_several_ways).trace
    names = {parameter_name(trace, p.id): p.id for p in trace.parameters}
    assert set(names) == {
        "meta[0]", "meta[1]", "scales['a']", "scales['b']", "rows[0]", "rows[1]", "rows[2]", "idle"
    }  # fmt: skip
    for name, id in names.items():
        about = why(trace, name).parameter
        assert about is not None and about.id == id
    for other, name in (('scales["b"]', "scales['b']"), ("rows", "rows[0]")):
        about = why(trace, other).parameter
        assert about is not None and about.id == names[name]


def test_what_a_loop_makes_anew_has_no_place() -> None:
    def program() -> None:
        for _ in range(2):
            rows = [torch.ones(2, requires_grad=True) for _ in range(2)]
            (rows[0] * rows[1]).sum().backward()

    trace = observed(program).trace
    assert not any(parameter_name(trace, p.id) in ("rows[2]", "rows[3]") for p in trace.parameters)


def test_a_method_writes_a_module_as_its_own_attribute() -> None:
    def program() -> None:
        class Trainer:
            def __init__(self) -> None:
                self.model = nn.Sequential(nn.Linear(2, 2))

            def fit(self) -> None:
                self.model(torch.ones(1, 2)).sum().backward()

        def start() -> None:
            trainer = Trainer()
            trainer.fit()

        start()

    run = observed(program)
    site = run.op("self.model(torch.ones(1, 2)).sum()").site.user
    assert named_at(run.trace, "trainer.model.0", site) == "self.model.0"
    assert named_at(run.trace, "other.net.0", site) == "other.net.0"


def test_only_what_a_scope_binds_is_known_there() -> None:
    def program() -> None:
        class Trainer:
            def __init__(self, backbone: nn.Module) -> None:
                self.backbone = backbone

            def fit(self, x: torch.Tensor) -> None:
                for row in x:
                    self.backbone(row).sum().backward()

        outer = Trainer(nn.Linear(2, 2))
        outer.fit(torch.ones(1, 2))

    run = observed(program)
    site = run.op("self.backbone(row).sum()").site.user
    assert all(
        is_known_at(run.trace, name, site) for name in ("x", "row", "outer.fit", "self.backbone", "torch")
    )
    assert not any(is_known_at(run.trace, name, site) for name in ("backbone", "fit", "self.head", "other.x"))
    assert named_at(run.trace, "backbone", site) == "self.backbone"


def test_an_optimizer_goes_by_the_name_that_the_place_knows() -> None:
    def program() -> None:
        class Training:
            def __init__(self) -> None:
                self.body = nn.Linear(2, 1)
                self.made = self.configured()

            def configured(self) -> torch.optim.Optimizer:
                d = torch.optim.SGD(self.body.parameters(), lr=0.1)
                d.zero_grad()
                return d

            def step(self) -> None:
                opt_d = self.made
                self.body(torch.ones(1, 2)).sum().backward()
                opt_d.step()

            def elsewhere(self) -> torch.Tensor:
                return torch.ones(3)

        one = Training()
        for _ in range(2):
            one.step()
        one.elsewhere().sum()

    run = observed(program)
    inside, outside = (
        run.op(text).site.user for text in ("self.body(torch.ones(1, 2)).sum()", "torch.ones(3)")
    )
    assert method(run.trace, 0, "zero_grad", at=inside) == "`opt_d.zero_grad()`"
    made = "of the optimizer that is made at "
    assert method(run.trace, 0, "zero_grad", at=outside).startswith(f"`zero_grad()` {made}")


def test_a_repair_names_no_schedule_where_it_is_not_known() -> None:
    def program() -> None:
        class Training:
            def __init__(self) -> None:
                self.body = nn.Linear(2, 1)
                self.opts = self.configured()

            def configured(self) -> list[torch.optim.Optimizer]:
                optim_g = torch.optim.SGD(self.body.parameters(), lr=0.1)
                scheduler_g = torch.optim.lr_scheduler.StepLR(optim_g, 1)
                scheduler_g.get_last_lr()
                return [optim_g]

            def learn(self) -> None:
                (optim_g,) = self.opts
                optim_g.zero_grad()
                self.body(torch.ones(1, 2)).sum().backward()
                optim_g.step()

        training = Training()
        for _ in range(3):
            training.learn()

    (found,) = (one for one in examine(observed(program).trace).findings if one.code == "GS210")
    assert "`scheduler_g.step()`" not in found.fix and "after `optim_g.step()`" in found.fix
    assert "`step()` of `scheduler_g`, which has to be handed to the function that steps" in found.fix


def test_a_share_is_not_rounded_to_nothing_or_to_all() -> None:
    assert [percent(share) for share in (0.0, 0.003, 0.59, 0.997, 1.0)] == [
        "0%", "less than 1%", "59%", "more than 99%", "100%"
    ]  # fmt: skip
    assert [percent(share, 1) for share in (0.0004, 0.0124, 3.5)] == ["less than 0.1%", "1.2%", "350.0%"]


def test_a_call_that_takes_numbers_is_named_as_it_is_written() -> None:
    def program(listed: bool) -> None:
        weights, layer = nn.Parameter(torch.ones(1)), nn.Linear(4, 1)
        opt = torch.optim.SGD([weights, *layer.parameters()], lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            loss = layer(torch.randn(8, 4)).pow(2).mean()
            if listed:
                number = torch.Tensor([loss])
                (number * weights.pow(2)).sum().backward()
            else:
                number = float(loss)
                (number * weights.pow(2)).sum().backward()
            opt.step()

    for listed, said in (
        (True, "but `torch.Tensor([loss])`, which takes plain numbers, cuts"),
        (False, "but `float()` cuts"),
    ):
        (found,) = examine(observed(partial(program, listed)).trace).findings
        assert found.code == "GS301" and said in found.message


def test_what_is_to_be_left_out_is_the_function_and_not_what_it_is_given() -> None:
    def program() -> None:
        torch.manual_seed(0)
        first, last = nn.Linear(4, 16), nn.Linear(16, 5)
        opt = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
        for _ in range(3):
            opt.zero_grad()
            scores = torch.relu(last(torch.tanh(first(torch.randn(16, 4)))))
            nn.functional.cross_entropy(scores, torch.randint(0, 5, (16,))).backward()
            opt.step()

    (found,) = (f for f in examine(observed(program).trace).findings if f.code == "GS728")
    assert found.fix.startswith("leave `relu` out of `torch.relu(last(")
