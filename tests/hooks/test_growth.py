"""Losses that a long run begins to keep: told of while it goes on."""

from __future__ import annotations

from collections import deque

import pytest
import torch
from torch import nn

import gradscope
from gradscope.events import KeepsGraph
from gradscope.session import active
from gradscope.store import Trace


@pytest.mark.parametrize(("most", "told"), [(None, 1), (8, 0)])
def test_kept_losses_are_told_within_twenty_steps(most: int | None, told: int) -> None:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    kept: deque[torch.Tensor] = deque(maxlen=most)
    with gradscope.watch() as scope:
        for step in range(190):
            optimizer.zero_grad()
            loss = net(torch.randn(8, 4)).square().mean()
            loss.backward()
            optimizer.step()
            if step >= 120:
                kept.append(loss)
            if step == 139:
                session = active()
                assert session is not None
                session.write_down()
                early = Trace(session.path).of(KeepsGraph)
    assert [event.step for event in early] == [121] * told
    assert [f.code for f in scope.findings if f.severity != "note"] == ["GS602"] * told
    assert [str(f.since) for f in scope.findings if f.code == "GS602"] == ["since step 121"] * told


@pytest.mark.parametrize("most", [12, 20, 40])
@pytest.mark.parametrize("steps", [80, 230])
def test_a_list_of_a_fixed_length_does_not_grow(most: int, steps: int) -> None:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    kept: deque[torch.Tensor] = deque(maxlen=most)
    with gradscope.watch() as scope:
        for _ in range(steps):
            optimizer.zero_grad()
            loss = net(torch.randn(8, 4)).square().mean()
            loss.backward()
            optimizer.step()
            kept.append(loss)
    (found,) = (f for f in scope.findings if f.code == "GS602")
    assert (
        found.severity == "note" and f"the last {most} steps" in found.message and "no further" in found.why
    )


def test_losses_that_a_later_pass_goes_through_are_not_told() -> None:
    w = torch.ones(3, requires_grad=True)
    with gradscope.watch() as scope:
        losses = []
        for _ in range(60):
            losses.append((w * torch.randn(3)).square().sum())
            losses[-1].backward(retain_graph=True)
        torch.stack(losses).sum().backward()
    assert scope.trace.of(KeepsGraph) == [] and [f for f in scope.findings if f.code == "GS602"] == []


def test_a_sum_that_begins_anew_is_told_with_what_it_held_at_the_most() -> None:
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01)
    with gradscope.watch(sample=False) as scope:
        for _ in range(3):
            total = torch.zeros(())
            for _ in range(7):
                optimizer.zero_grad()
                loss = (w * torch.randn(3)).square().sum()
                loss.backward()
                optimizer.step()
                total = total + loss
        total = torch.zeros(())
    (found,) = [finding for finding in scope.findings if finding.code == "GS602"]
    # Each step adds four nodes: mul, pow, sum, add; all end in the one of the leaf.
    assert found.seen[0].startswith("it held up to 25 nodes of their graphs")


@pytest.mark.parametrize(("freed", "told"), [(True, 1), (False, 0)])
def test_a_running_sum_is_told_before_the_end_where_no_pass_can_use_it(freed: bool, told: int) -> None:
    net, other = nn.Linear(4, 1), nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    total = torch.zeros(())
    with gradscope.watch(sample=False) as scope:
        for step in range(50):
            optimizer.zero_grad()
            loss = net(torch.randn(8, 4)).square().mean()
            loss.backward()
            if step >= 20:  # of the other network: a pass through the sum is still to come
                total = total + (loss if freed else other(torch.randn(8, 4)).square().mean())
            optimizer.step()
        session = active()
        assert session is not None
        session.write_down()
        early = Trace(session.path).of(KeepsGraph)
        if not freed:
            total.backward()
    assert {event.step for event in early} == ({21} if told else set())
    assert [f.code for f in scope.findings if f.code == "GS602"] == ["GS602"] * told


@pytest.mark.parametrize("kept", ["sum", "sum in place", "metric", "number"])
def test_a_sum_that_begins_while_nobody_looks_is_told_within_twenty_steps(kept: str) -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    total: torch.Tensor | float = 0.0
    early = []
    with gradscope.watch() as scope:
        for step in range(230):
            optimizer.zero_grad()
            output = net(torch.randn(8, 4))
            loss = output.square().mean()
            if step >= 200 and kept == "sum":
                total = total + loss
            elif step >= 200 and kept == "metric":
                total = total + output.abs().max()
            loss.backward()
            optimizer.step()
            if step >= 200 and kept == "sum in place":
                total += loss
            elif kept == "number":
                total = total + loss.item()
            if step == 219:
                session = active()
                assert session is not None
                session.write_down()
                early = Trace(session.path).of(KeepsGraph)
    found = [f for f in scope.findings if f.code == "GS602"]
    assert len(found) == (kept != "number")
    if found:
        assert early and found[0].since is not None
        assert 200 < found[0].since.step <= 217 and found[0].since.asleep


def test_the_steps_that_were_asked_for_are_looked_at_and_no_other_for_a_sum() -> None:
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01)
    total: torch.Tensor | float = 0.0
    with gradscope.watch(steps=range(3)) as scope:
        for step in range(60):
            optimizer.zero_grad()
            loss = (w * torch.randn(3)).square().sum()
            loss.backward()
            optimizer.step()
            if step > 10:
                total = total + loss
    assert scope.faults == [] and scope.trace.of(KeepsGraph) == []


def test_values_that_were_kept_and_are_let_go_are_no_fault() -> None:
    agent = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(agent.parameters(), lr=0.001)
    actions: list[torch.Tensor] = []
    with gradscope.watch(sample=False) as scope:
        for step in range(130):
            actions.append(nn.functional.softmax(agent(torch.randn(8, 4)), 1))
            if step == 30:
                actions.clear()
            optimizer.zero_grad()
            (agent(torch.randn(8, 4)) - 1).square().mean().backward()
            optimizer.step()
    assert scope.faults == []
