"""Where a gradient is lost on the way from a parameter to a loss: the place, its kind, and whose it was."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from observed import Observed, observed, optimizer
from torch import nn
from torch.utils.checkpoint import checkpoint

from gradscope.analysis.cuts import between, cut_words, cuts, nearest_cuts, resting_cuts, waiting
from gradscope.analysis.reach import paths


class Stop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> None:
        return None


def by_no_grad(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return x * 3


def by_inference(x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        y = x * 3
    return y.clone()


def as_a_leaf(x: torch.Tensor) -> torch.Tensor:
    y = x.detach()
    y.requires_grad_()
    return y


def trained(cut: Callable[[torch.Tensor], torch.Tensor], steps: int = 2) -> Observed:
    """A loss whose way to `a` leads through `cut`; that to `b` does not."""
    grads: list[bool] = []

    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b)
        for _ in range(steps):
            opt.zero_grad()
            (cut(a * 2) * b).sum().backward()
            grads.append(a.grad is None and b.grad is not None)
            opt.step()

    run = observed(program)
    assert all(grads), "it does cut"
    return run


CUTS: list[tuple[Callable[[torch.Tensor], torch.Tensor], str, str, str]] = [
    (lambda x: x.detach(), "detach", "x.detach()", "`detach()`"),
    (lambda x: x.data, "data", "x.data", "`.data`"),
    (by_no_grad, "no_grad", "", "`torch.no_grad()`"),
    (by_inference, "inference_mode", "", "`torch.inference_mode()`"),
    (lambda x: torch.from_numpy(x.detach().numpy() * 2), "numpy", "x.detach()", "`numpy()`"),
    (lambda x: torch.tensor([x.sum().item()]), "number", "x.sum().item()", "`item()`"),
    (lambda x: torch.tensor(x.tolist()), "item", "x.tolist()", "`tolist()`"),
    (lambda x: x.argmax().float(), "nondifferentiable", "x.argmax()", "`argmax`, which has no gradient"),
    (lambda x: (x > 1).float(), "nondifferentiable", "x > 1", "`gt`, which has no gradient"),
    (lambda x: as_a_leaf(x), "detach", "x.detach()", "`detach()`"),
]


@pytest.mark.parametrize(("cut", "kind", "text", "words"), CUTS, ids=[f"{c[1]}-{c[2]}" for c in CUTS])
def test_each_kind_of_cut_is_told_at_its_place_in_words_of_the_program(
    cut: Callable[[torch.Tensor], torch.Tensor], kind: str, text: str, words: str
) -> None:
    run = trained(cut)
    (found,) = cuts(run.trace)
    assert (found.kind, {p.name for p in found.parameters}, found.count) == (kind, {"a"}, 2)
    assert found.loss is not None and found.severity(run.trace) == ""
    assert cut_words(found.op, found.kind) == words
    if text:
        assert run.text(found.site) == text
    else:
        region = run.trace.regions[found.region]  # type: ignore[index]
        assert found.site == region.site.user and region.kind == kind


def test_a_gradient_that_comes_by_another_way_is_not_lost() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b)
        h = a * 2
        (h.detach() * b + h).sum().backward()
        opt.step()

    run = observed(program)
    assert run.ops("h.detach()")[0].cut == "detach" and not cuts(run.trace)


def test_what_is_cut_only_for_a_log_is_no_cut_of_a_loss() -> None:
    def program() -> None:
        a = nn.Parameter(torch.ones(3))
        opt = optimizer(a)
        for _ in range(2):
            loss = (a * 2).sum()
            loss.detach().item()
            loss.backward()
            opt.step()

    assert not cuts(observed(program).trace)


def test_what_an_op_gives_back_as_it_was_is_followed_once() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b)
        h = (a * 2).detach()
        h.contiguous()
        (b * 1).sum().backward()  # another graph reads it
        (h * b).sum().backward()
        opt.step()

    assert [{p.name for p in cut.parameters} for cut in cuts(observed(program).trace)] == [{"a"}]


def test_two_parameters_lost_at_one_place_are_one_cut_and_at_two_are_two() -> None:
    def program(together: bool) -> Callable[[], None]:
        def run() -> None:
            a, b, c = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
            opt = optimizer(a, b, c)
            if together:
                (((a * 2) * (b * 2)).detach() * c).sum().backward()
            else:
                first = (a * 2).detach()
                other = (b * 2).exp().detach()
                (first * c).sum().backward()
                (other * c).sum().backward()
            opt.step()

        return run

    one, two = cuts(observed(program(True)).trace), cuts(observed(program(False)).trace)
    assert [{p.name for p in cut.parameters} for cut in one] == [{"a", "b"}]
    assert sorted(p.name for cut in two for p in cut.parameters) == ["a", "b"] and len(two) == 2
    assert two[0].site.line != two[1].site.line


def test_one_block_without_gradients_is_one_cut_for_all_that_it_holds() -> None:
    def program() -> None:
        a, b, c = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b, c)
        with torch.no_grad():
            one = a * 2
            other = b.exp()
        (one * other * c).sum().backward()
        opt.step()

    run = observed(program)
    (found,) = cuts(run.trace)
    assert {p.name for p in found.parameters} == {"a", "b"}
    ends = {run.trace.parameter(id).name: run.text(op.site.user) for id, op in found.ends.items()}
    assert ends == {"a": "a * 2", "b": "b.exp()"}


def test_a_detach_behind_which_another_one_stands_is_told_with_it() -> None:
    """`detach()` twice: that the first one goes would give nothing."""

    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b)
        first = (a * 2).detach()
        other = first.detach()
        (other * b).sum().backward()
        opt.step()

    run = observed(program)
    (found,) = cuts(run.trace)
    assert run.text(found.site) == "(a * 2).detach()"
    assert run.texts(found.also) == ["first.detach()"]


def test_two_cuts_that_meet_in_a_sum_have_to_go_together() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b)
        one = (a * 2).detach()
        other = (a * 3).detach()
        ((one + other) * b).sum().backward()
        opt.step()

    run = observed(program)
    (found,) = cuts(run.trace)
    assert {run.text(op.site.user) for op in (found.op, *found.also)} == {
        "(a * 2).detach()",
        "(a * 3).detach()",
    }


def test_a_tied_parameter_is_lost_only_where_all_of_its_uses_are() -> None:
    def program(both: bool) -> Observed:
        def run() -> None:
            shared, other = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
            tied = nn.Linear(2, 2, bias=False)
            tied.weight = shared.weight
            opt = optimizer(other, shared)
            hidden = shared(torch.ones(1, 2)).detach()
            again = tied(hidden)
            other(again.detach() if both else again).sum().backward()
            opt.step()

        return observed(run)

    lost = [{p.id for p in cut.parameters} for cut in cuts(program(True).trace)]
    assert not cuts(program(False).trace)
    assert len(set().union(*lost)) == 1


def test_a_function_called_twice_of_which_one_result_is_cut_loses_nothing() -> None:
    def program() -> None:
        a = nn.Parameter(torch.ones(3))
        opt = optimizer(a)

        def twice(x: torch.Tensor) -> torch.Tensor:
            return a * x

        for _ in range(2):
            opt.zero_grad()
            (twice(torch.ones(3)).detach() * twice(torch.ones(3))).sum().backward()
            opt.step()

    assert not cuts(observed(program).trace)


def test_the_detach_of_a_gan_s_discriminator_is_no_cut_of_the_generator() -> None:
    def program(trains: bool) -> Observed:
        def run() -> None:
            maker, judge = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
            own, other = optimizer(maker), optimizer(judge)
            for _ in range(2):
                other.zero_grad()
                ((maker * 2).detach() * judge).sum().backward()
                other.step()
                own.zero_grad()
                made = maker * 2 if trains else (maker * 2).exp().detach()
                (made * judge).sum().backward()
                own.step()

        return observed(run)

    assert not cuts(program(True).trace)
    run = program(False)
    (found,) = cuts(run.trace)
    assert run.text(found.site) == "(maker * 2).exp().detach()", "its own pass, not that of the discriminator"
    assert [p.name for p in found.parameters] == ["maker"]


def test_a_cut_that_begins_in_the_middle_of_a_run_says_since_when() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b)
        detached = False
        for i in range(16):
            detached = i >= 8
            opt.zero_grad()
            hidden = a * 2
            if detached:
                hidden = hidden.detach()
            (hidden * b).sum().backward()
            opt.step()

    run = observed(program)
    (found,) = cuts(run.trace)
    assert found.since is not None and found.since.step == 9
    assert found.count == 8
    assert found.severity(run.trace) == "warning", "the text cuts under a condition: it may be meant"


def test_a_hidden_state_that_is_cut_between_steps_loses_nothing_of_the_cell() -> None:
    def program() -> None:
        cell = nn.Linear(2, 2, bias=False)
        opt = optimizer(cell)
        h = torch.ones(1, 2)
        for _ in range(4):
            opt.zero_grad()
            h = cell(h.detach())
            h.sum().backward()
            opt.step()

    assert not cuts(observed(program).trace)


def test_a_checkpoint_cuts_nothing() -> None:
    def program() -> None:
        a, b = nn.Linear(2, 2), nn.Linear(2, 2)
        opt = optimizer(a, b)
        for _ in range(2):
            opt.zero_grad()
            x = torch.ones(1, 2, requires_grad=True)
            b(checkpoint(lambda y: a(y).exp(), x, use_reentrant=True)).sum().backward()
            opt.step()

    assert not cuts(observed(program).trace)


def test_what_only_an_optimizer_at_rest_holds_is_told_apart() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt, idle = optimizer(b), optimizer(a)
        for _ in range(2):
            opt.zero_grad()
            idle.zero_grad()
            ((a * 2).detach() * b).sum().backward()
            opt.step()

    run = observed(program)
    assert not cuts(run.trace)
    (found,) = resting_cuts(run.trace)
    assert [p.name for p in found.parameters] == ["a"] and run.text(found.site) == "(a * 2).detach()"


def test_parameters_whose_own_loss_never_has_a_pass_wait_for_it() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt, own = optimizer(b), optimizer(a)
        for _ in range(2):
            opt.zero_grad()
            hidden = a * 2
            hidden.sum()
            (hidden.detach() * b).sum().backward()
            opt.step()
            own.step()

    run = observed(program)
    assert run.names(waiting(run.trace, paths(run.trace))) == {"a"}
    assert not cuts(run.trace), "what is missing is a pass"


def test_the_ops_between_a_loss_and_a_parameter_are_those_that_cut_its_ways() -> None:
    def program() -> None:
        a, b, c = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        opt = optimizer(a, b, c)
        ((a * 2).detach() * b + (a * 3).round().detach() + c.detach() + c).sum().backward()
        opt.step()

    run = observed(program)
    known = paths(run.trace)
    (root,) = known.roots
    found = between(known, [root], run.leaf("a").id)
    assert set(run.texts(found)) == {"(a * 2).detach()", "(a * 3).round().detach()"}
    assert not between(known, [root], run.leaf("b").id)
    assert not between(known, [root], run.leaf("c").id), "it arrives on one way"


def test_the_nearest_cuts_before_a_value_without_a_graph_are_found() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        value = (a * 2).detach() + b.detach().exp()
        (value * a).sum().backward()

    run = observed(program)
    found = nearest_cuts(paths(run.trace), run.key("(a * 2).detach() + b.detach().exp()"))
    assert [run.text(op.site.user) for op, _ in found] == ["(a * 2).detach()", "b.detach()"]


def test_a_derivative_taken_for_good_is_said_so() -> None:
    def program(create: bool) -> Observed:
        def run() -> None:
            a = nn.Parameter(torch.ones(3))
            opt = optimizer(a)
            x = torch.ones(3, requires_grad=True)
            (g,) = torch.autograd.grad((a * x**2).sum(), x, create_graph=create)
            (g.pow(2).sum() + x.sum()).backward()
            opt.step()

        return observed(run)

    assert not cuts(program(True).trace)
    (found,) = cuts(program(False).trace)
    assert cut_words(found.op, found.kind) == "`autograd.grad` without `create_graph=True`"
    assert [p.name for p in found.parameters] == ["a"]


def test_what_leaves_as_an_array_is_the_way_not_one_number_of_it() -> None:
    def stable(x: torch.Tensor) -> torch.Tensor:
        e = np.exp(x.detach().numpy() - x.max().item())
        return torch.from_numpy(e / e.sum())

    run = trained(stable)
    (found,) = cuts(run.trace)
    assert (found.kind, run.text(found.site)) == ("numpy", "x.detach()")
