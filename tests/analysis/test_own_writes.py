"""What the program writes to parameters by itself excuses a missing gradient, or a missing optimizer, only
where it is written while they are in use: not before the first pass, nor after the last."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import gradscope


class Net(nn.Module):
    def __init__(self, cut: bool = True) -> None:
        super().__init__()
        self.cut = cut
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.body(x)
        result: torch.Tensor = self.head(hidden.detach() if self.cut else hidden)
        return result


def train(model: Net, opt: torch.optim.Optimizer, steps: int = 4, between: Any = lambda model: None) -> None:
    for _ in range(steps):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        between(model)


def load_best(model: Net) -> None:
    best = copy.deepcopy(model.state_dict())
    model.load_state_dict(best)


def load_best_body(model: Net) -> None:
    saved = {name: value + 0.1 for name, value in model.body.state_dict().items()}
    model.body.load_state_dict(saved)


def write_by_hand(model: Net) -> None:
    with torch.no_grad():
        for p in model.body.parameters():
            p.copy_(torch.ones_like(p))


def put_anew(model: Net) -> None:
    for p in model.body.parameters():
        p.data = p.data.clone()


def by_numpy(model: Net) -> None:
    for p in model.body.parameters():
        p.detach().numpy()[:] = 0.5


ENDS = [
    load_best,
    load_best_body,
    write_by_hand,
    put_anew,
    by_numpy,
    nn.Module.cpu,
    nn.Module.double,
    nn.Module.half,
]


def log_gradients(model: Net) -> None:
    for p in model.parameters():
        if p.grad is not None:
            p.grad.norm().item()


def told(scope: gradscope.Scope) -> list[tuple[str, str]]:
    return [(f.code, f.severity) for f in scope.findings if f.severity != "note"]


@pytest.mark.parametrize("between", [lambda model: None, log_gradients], ids=["", "logged"])
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_what_is_written_after_the_last_step(end: Any, between: Any) -> None:
    with gradscope.watch() as scope:
        model = Net()
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), between=between)
        end(model)
    assert told(scope) == [("GS301", "error")]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_what_no_optimizer_holds_is_told_whatever_the_end(end: Any) -> None:
    with gradscope.watch() as scope:
        model = Net(cut=False)
        train(model, torch.optim.SGD(model.head.parameters(), lr=0.1))
        end(model)
    assert told(scope) == [("GS206", "warning")]


@pytest.mark.parametrize("between", [load_best, nn.Module.cpu], ids=["restored", "moved"])
def test_what_is_done_to_the_whole_model_between_passes_trains_no_part_of_it(between: Any) -> None:
    with gradscope.watch() as scope:
        model = Net()
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), between=between)
        other = Net(cut=False)
        train(other, torch.optim.SGD(other.head.parameters(), lr=0.1), between=between)
    assert told(scope) == [("GS301", "error"), ("GS206", "warning")]


@pytest.mark.parametrize("begin", [lambda model: None, load_best_body, write_by_hand, put_anew])
def test_a_second_model_is_initialised_as_the_first(begin: Any) -> None:
    with gradscope.watch() as scope:
        first = Net(cut=False)
        train(first, torch.optim.SGD(first.parameters(), lr=0.1))
        second, third = Net(), Net(cut=False)
        begin(second)
        begin(third)
        train(second, torch.optim.SGD(second.parameters(), lr=0.1))
        train(third, torch.optim.SGD(third.head.parameters(), lr=0.1))
    assert told(scope) == [("GS301", "error"), ("GS206", "warning")]


@pytest.mark.parametrize("when", ["at every step", "at the end"])
def test_a_target_that_follows_is_meant(when: str) -> None:
    class Agent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.online, self.target = nn.Linear(4, 2), nn.Linear(4, 2)

    with gradscope.watch() as scope:
        agent = Agent()
        opt = torch.optim.SGD(agent.parameters(), lr=0.1)
        for _ in range(4):
            with torch.no_grad():
                goal = 1 + 0.9 * agent.target(torch.randn(8, 4))
            opt.zero_grad()
            (agent.online(torch.randn(8, 4)) - goal).pow(2).mean().backward()
            opt.step()
            if when == "at every step":
                agent.target.load_state_dict(agent.online.state_dict())
        agent.target.load_state_dict(agent.online.state_dict())
    assert not told(scope)


def test_an_average_and_an_update_by_hand_stay_silent() -> None:
    with gradscope.watch() as scope:
        model = Net(cut=False)
        opt = torch.optim.SGD(model.head.parameters(), lr=0.1)

        def by_hand(model: Net) -> None:
            with torch.no_grad():
                for p in model.body.parameters():
                    p -= 0.1 * p.grad  # type: ignore[operator]
                    p.grad = None

        train(model, opt, between=by_hand)
    assert not told(scope)
