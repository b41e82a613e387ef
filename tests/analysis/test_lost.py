"""Where each leaf without a gradient lost it: the one answer that the report, `why` and the picture give."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from observed import Observed, observed, optimizer
from torch import nn

from gradscope.analysis.cuts import cuts
from gradscope.analysis.lost import behind, end_of, lost, numbers_put_back, refused, shared_with, wrapped_at
from gradscope.analysis.reach import paths


def ends(run: Observed) -> dict[str, str]:
    """Name of a parameter → the call at which its gradient is lost."""
    return {run.trace.parameter(id).name: run.text(end.op.site.user) for id, end in lost(run.trace).items()}


def test_each_parameter_has_the_call_at_which_its_own_way_ends() -> None:
    def program() -> None:
        a, b, c = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b, c)
        for _ in range(2):
            opt.zero_grad()
            with torch.no_grad():
                one, other = a * 2, b * 3
            (one * other * c).sum().backward()
            opt.step()

    run = observed(program)
    assert ends(run) == {"a": "a * 2", "b": "b * 3"}
    assert {end.kind for end in lost(run.trace).values()} == {"no_grad"}


def test_what_is_on_no_way_to_a_loss_is_not_lost() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b)
        (b * 2).detach()
        (a * 2).sum().backward()
        opt.step()

    run = observed(program)
    assert not lost(run.trace)
    assert end_of(run.trace, run.leaf("b")) is None


def test_a_leaf_outside_every_optimizer_is_answered_when_it_is_asked_for() -> None:
    def program() -> None:
        a, x = nn.Parameter(torch.ones(3)), torch.ones(3, requires_grad=True)
        opt = optimizer(a)
        ((x * 2).detach() * a).sum().backward()
        opt.step()

    run = observed(program)
    assert not ends(run)
    asked = [p for p in run.trace.parameters if p.name != "a"]
    found = [end for p in asked if (end := end_of(run.trace, p)) is not None]
    assert run.texts(end.op for end in found) == ["(x * 2).detach()"]


def test_without_any_optimizer_every_leaf_that_lost_its_gradient_is_told() -> None:
    def program() -> None:
        a, x = nn.Parameter(torch.ones(3)), torch.ones(3, requires_grad=True)
        ((x * 2).detach() * a).sum().backward()

    assert list(ends(observed(program)).values()) == ["(x * 2).detach()"]


def test_a_pass_that_torch_refused_names_the_cut_before_it() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        optimizer(a, b)
        loss = ((a * 2).detach() + b.detach()).sum()
        with pytest.raises(RuntimeError, match="does not require grad"):
            loss.backward()

    run = observed(program)
    ((event, root),) = refused(run.trace)
    assert run.text(event.site.user) == "loss.backward()"
    assert root == run.key("((a * 2).detach() + b.detach()).sum()")
    assert ends(run) == {"a": "(a * 2).detach()", "b": "b.detach()"}
    assert run.names(behind(paths(run.trace), run.key("(a * 2).detach()"))) == {"a"}


def test_an_error_that_is_no_refusal_of_a_pass_is_none() -> None:
    def program() -> None:
        a = nn.Parameter(torch.ones(3))
        with pytest.raises(RuntimeError, match="scalar"):
            (a * 2).backward()
        loss = (a * 2).exp().sum()
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()

    run = observed(program)
    assert not list(refused(run.trace)) and not lost(run.trace)


def test_a_loss_made_of_the_numbers_of_another_is_told_with_what_took_them_out() -> None:
    def program() -> None:
        a = nn.Parameter(torch.ones(3))
        opt = optimizer(a)
        for _ in range(2):
            opt.zero_grad()
            number = (a * 2).sum().item()
            loss = torch.tensor(number, requires_grad=True)
            loss.backward()
            opt.step()
        assert a.grad is None

    run = observed(program)
    ((site, parameters, before, event),) = numbers_put_back(paths(run.trace))
    assert run.text(site.user).startswith("torch.tensor(number")
    assert [p.name for p in parameters] == ["a"]
    assert run.texts(before) == ["(a * 2).sum().item()"] and run.text(event.site.user) == "loss.backward()"
    assert ends(run) == {"a": "(a * 2).sum().item()"}


def test_a_tensor_that_holds_only_constants_is_no_number_put_back() -> None:
    def program() -> None:
        a = nn.Parameter(torch.ones(3))
        opt = optimizer(a)
        start = torch.tensor(0.0, requires_grad=True)
        (a.sum() + start).backward()
        opt.step()

    run = observed(program)
    assert not list(numbers_put_back(paths(run.trace))) and not lost(run.trace)


def test_only_a_value_put_into_a_new_tensor_was_wrapped() -> None:
    def trained(cut: Callable[[torch.Tensor], torch.Tensor]) -> Observed:
        def program() -> None:
            a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
            opt = optimizer(a, b)
            (cut(a * 2) * b).sum().backward()
            opt.step()

        return observed(program)

    run = trained(lambda x: x.detach())
    assert [wrapped_at(cut) for cut in cuts(run.trace)] == [None]
    run = trained(lambda x: torch.tensor(x.tolist()))
    (site,) = (wrapped_at(cut) for cut in cuts(run.trace))
    assert site is not None and run.text(site.user) == "torch.tensor(x.tolist())"
    assert lost(run.trace)[run.leaf("a").id].wrapped == site


def test_with_one_optimizer_a_cut_value_is_shared_with_none() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b)
        hidden = (a * 2).detach()
        (hidden * b).sum().backward()
        (hidden * b * 3).sum().backward()
        opt.step()

    (found,) = cuts(observed(program).trace)
    assert shared_with(found) is None


def test_a_second_loss_of_a_value_that_another_optimizer_s_step_uses_is_told_with_the_calls() -> None:
    def program() -> None:
        body, judge, head = (
            nn.Parameter(torch.ones(3)),
            nn.Parameter(torch.ones(3)),
            nn.Parameter(torch.ones(3)),
        )
        opt, other = optimizer(body), optimizer(judge)
        for _ in range(2):
            hidden = (body * 2).detach()
            other.zero_grad()
            (hidden * judge).sum().backward()
            other.step()
            opt.zero_grad()
            (hidden * head).sum().backward()
            opt.step()

    run = observed(program)
    (found,) = cuts(run.trace)
    shared = shared_with(found)
    assert shared is not None
    assert run.text(shared.own.site.user) == "(hidden * head).sum().backward()"
    assert [run.text(site) for site in shared.theirs] == ["hidden * judge"]
    assert lost(run.trace)[run.leaf("body").id].loss == shared.own
