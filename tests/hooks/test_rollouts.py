"""What is computed without gradients again and again, between the steps: sampling sleeps through most of it."""

from collections.abc import Callable

import torch
from torch import nn

import gradscope
from gradscope.events import Backward, ModuleCall, Rested, Step

ROUNDS, TIMES = 300, 4


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def act(self, seen: torch.Tensor) -> torch.Tensor:
        action: torch.Tensor = self.body(seen)
        return action


def collect_and_learn(between: Callable[[Agent, int], None]) -> list[float]:
    torch.manual_seed(0)
    agent = Agent()
    opt = torch.optim.Adam(agent.parameters(), lr=0.01)
    for time in range(TIMES):
        rows = torch.zeros(ROUNDS, 3)
        for at in range(ROUNDS - 1):
            with torch.no_grad():
                rows[at + 1] = (rows[at] + agent.act(rows[at])).sin() + torch.randn(3)
        between(agent, time)
        for _ in range(3):
            loss = (agent.act(rows) - rows.sum(1, keepdim=True)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    return [float(p.detach().sum()) for p in agent.parameters()]


def nothing(agent: Agent, time: int) -> None:
    pass


def test_later_rollouts_are_slept_through_and_all_that_is_trained_is_seen() -> None:
    plain = collect_and_learn(nothing)
    with gradscope.watch() as scope:
        watched = collect_and_learn(nothing)
    assert watched == plain
    trace = scope.trace
    rounds = [
        s.repeat
        for s in trace.segments
        if not s.is_step and s.graph is not None and not any(e.segment == s.index for e in trace.of(Backward))
    ]
    assert ROUNDS <= sum(rounds) < 2 * ROUNDS  # all of the first time, a few of the others
    assert sum(event.count for event in trace.of(Step)) == 3 * TIMES
    assert all(event.graph >= 0 for event in trace.of(Backward))
    assert not scope.findings
    slept = sum(event.calls for event in trace.of(Rested))
    assert slept + sum(rounds) > TIMES * (ROUNDS - 1) - 5 * TIMES


def test_a_call_from_a_new_place_ends_the_sleep() -> None:
    def ask(agent: Agent, time: int) -> None:
        if time == TIMES - 1:
            agent.body(torch.ones(2, 3))

    with gradscope.watch() as scope:
        collect_and_learn(ask)
    own = [e for e in scope.trace.of(ModuleCall) if e.site.user.line == ask.__code__.co_firstlineno + 2]
    assert [(event.count, event.grad) for event in own] == [(1, True)]
