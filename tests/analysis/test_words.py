"""What tensors of no module are called: as the program would write them."""

from __future__ import annotations

import torch
from observed import observed, optimizer
from torch import nn

from gradscope.analysis.words import named_at, parameter_name
from gradscope.answers import why


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
