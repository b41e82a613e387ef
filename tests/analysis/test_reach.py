"""What feeds a loss and what its gradient reaches: on real graphs, with what torch itself computes as the measure."""

from __future__ import annotations

import pytest
import torch
from observed import Observed, observed, optimizer
from torch import nn
from torch.utils.checkpoint import checkpoint

from gradscope.analysis.reach import late_paths, passes, paths
from gradscope.events import Backward


def reached(run: Observed, nth: int = 0) -> set[str]:
    """The leaves that the `nth` kind of pass of the run reaches."""
    known = paths(run.trace)
    event = known.backwards[nth]
    return run.names(known.reach((event.graph, root) for root in event.roots).parameters)


# -- dataflow and autograd ----------------------------------------------------------------


def test_a_detached_part_feeds_the_loss_and_is_not_reached() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
        opt = optimizer(a, b)
        loss = ((a * 2).detach() * b).sum()
        loss.backward()
        opt.step()
        assert a.grad is None and b.grad is not None

    run = observed(program)
    known = paths(run.trace)
    assert run.names(known.feeding) == {"a", "b"}
    assert reached(run) == run.names(known.reached.parameters) == {"b"}
    assert {p.name for p in known.silent()} == {p.name for p in known.expected()} == {"a"}
    assert not known.has_gradient(run.leaf("a")) and known.has_gradient(run.leaf("b"))
    assert run.names(known.fed_by(run.key("a * 2"))) == run.names(known.behind(run.key("a * 2"))) == {"a"}
    assert run.names(known.fed_by(run.key("(a * 2).detach()"))) == {"a"}
    assert not known.behind(run.key("(a * 2).detach()"))


def test_every_leaf_that_torch_fills_is_reached_and_no_other() -> None:
    """Views, writes in place, a branch under no_grad, and a leaf that nothing reads."""
    got: dict[str, bool] = {}

    def program() -> None:
        viewed, written = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(4))
        cut, unused, row = (
            nn.Parameter(torch.ones(4)),
            nn.Parameter(torch.ones(4)),
            nn.Parameter(torch.ones(4)),
        )
        opt = optimizer(viewed, written, cut, unused, row)
        x = torch.zeros(2, 4)
        x[0] = row
        x.mul_(written.view(1, 4))
        with torch.no_grad():
            factor = cut.exp()
        loss = (x[:, 1:].sum() + viewed.view(2, 2).t()[0].sum()) * factor.sum()
        loss.backward()
        opt.step()
        for name in ("viewed", "written", "cut", "unused", "row"):
            got[name] = locals()[name].grad is not None

    run = observed(program)
    assert reached(run) == {name for name, has in got.items() if has} == {"viewed", "written", "row"}
    assert run.names(paths(run.trace).feeding) == {"viewed", "written", "row", "cut"}


def test_tied_parameters_are_one_leaf_and_both_of_its_uses_are_found() -> None:
    def program() -> None:
        model = nn.ModuleDict({"first": nn.Linear(3, 3, bias=False), "last": nn.Linear(3, 3, bias=False)})
        model["last"].weight = model["first"].weight
        opt = optimizer(model)
        model["last"](model["first"](torch.ones(1, 3)).detach()).sum().backward()
        opt.step()

    run = observed(program)
    known = paths(run.trace)
    (shared,) = known.feeding
    assert known.reached.parameters == {shared} and not known.expected()
    assert len(known.uses(shared)) == 2


def test_the_second_pass_of_a_graph_is_a_pass_of_its_own() -> None:
    def program() -> None:
        a, b, c = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
        opt = optimizer(a, b, c)
        shared = a * 2
        one, other = (shared * b).sum(), (shared * c).sum()
        one.backward(retain_graph=True)
        other.backward()
        opt.step()

    run = observed(program)
    assert (reached(run, 0), reached(run, 1)) == ({"a", "b"}, {"a", "c"})
    known = paths(run.trace)
    assert known.passes == 2
    own = known.loss_of(run.key("shared * c"))
    assert own is not None and own.site.line == known.backwards[1].site.line
    assert known.loss_of(run.key("shared * c"), lambda event: event.site.line < own.site.line) is None
    assert known.times_through(own.graph, run.op("a * 2").nodes) == 2
    assert known.times_through(own.graph, run.op("shared * c").nodes) == 1


def test_a_pass_does_not_go_past_the_nodes_that_it_is_to_stop_at() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
        ((a * 2).exp() * b).sum().backward()

    run = observed(program)
    known, root = paths(run.trace), run.key("((a * 2).exp() * b).sum()")
    assert run.names(known.reach([root]).parameters) == {"a", "b"}
    assert run.names(known.reach([root], without={"ExpBackward0"}).parameters) == {"b"}
    exp = run.op("(a * 2).exp()")
    stopped = known.reach([root], stop={(exp.graph, node) for node in exp.nodes})
    assert run.names(stopped.parameters) == {"b"}
    assert stopped.nodes < known.reach([root]).nodes


def test_a_value_carried_over_a_step_is_followed_back_into_its_graph() -> None:
    """Its pass goes through the graph of the step before, which torch was told to keep."""

    def program() -> None:
        cell, start = nn.Linear(2, 2, bias=False), nn.Parameter(torch.ones(1, 2))
        other = nn.Parameter(torch.ones(1))
        opt = optimizer(other)
        h = cell(start).exp()
        (h.sum() * other).backward(retain_graph=True)
        opt.step()
        opt.zero_grad()
        (h * 3).sum().backward()
        opt.step()

    run = observed(program)
    known = paths(run.trace)
    late = run.key("(h * 3).sum()")
    assert known.value(run.key("h * 3")).origin is None
    assert late[0] != known.made((late[0], run.op("h * 3").inputs[0]))[0], "two graphs"
    assert run.names(known.behind(late)) == {"weight", "start"}
    assert run.names(known.fed_by(late)) == {"weight", "start"}
    maker = known.maker((late[0], run.op("h * 3").inputs[0]))
    assert maker is not None and run.text(maker.site.user) == "cell(start).exp()"


def test_a_hidden_state_detached_between_steps_leads_no_further_back() -> None:
    def program() -> None:
        cell, first = nn.Linear(2, 2, bias=False), nn.Parameter(torch.ones(1, 2))
        opt = optimizer(cell, first)
        h = first * 1
        for _ in range(3):
            opt.zero_grad()
            h = cell(h)
            h.sum().backward()
            opt.step()
            h = h.detach()

    run = observed(program)
    known = paths(run.trace)
    assert [reached(run, n) for n in range(len(known.backwards))][-1] == {"weight"}
    assert reached(run, 0) == {"weight", "first"}


def test_a_checkpointed_function_reaches_its_parameters() -> None:
    def program() -> None:
        layer = nn.Linear(2, 2, bias=False)
        opt = optimizer(layer)
        x = torch.ones(1, 2, requires_grad=True)
        checkpoint(lambda y: layer(y).exp(), x, use_reentrant=False).sum().backward()
        opt.step()
        assert layer.weight.grad is not None

    run = observed(program)
    assert "weight" in reached(run)
    assert not paths(run.trace).silent()


def test_what_a_list_was_filled_with_in_a_loop_all_feeds_the_loss() -> None:
    def program() -> None:
        leaves = nn.ParameterList([torch.ones(1) for _ in range(4)])
        opt = optimizer(leaves)
        out = torch.zeros(4)
        for i, one in enumerate(leaves):
            out[i] = one[0] * 2
        out.sum().backward()
        opt.step()

    run = observed(program)
    known = paths(run.trace)
    assert len(known.reached.parameters) == len(known.feeding) == 4


def test_a_leaf_that_is_written_to_stays_that_leaf() -> None:
    def program() -> None:
        p = nn.Parameter(torch.ones(3))
        with torch.no_grad():
            p.mul_(2)
            p[0] = 5
        (p * 3).sum().backward()

    run = observed(program)
    known = paths(run.trace)
    used = (run.op("p * 3").graph, run.op("p * 3").inputs[0])
    assert known.parameter_of(used) == run.leaf("p")
    assert known.parameter_of(run.key("p * 3")) is None
    first, last = run.op("p.mul_(2)"), run.op("p[0]")
    assert known.parameter_of((last.graph, last.written[0])) == run.leaf("p")
    assert known.memory(last.graph, last.written[0]) == known.memory(first.graph, first.writes[0])


def test_what_data_shares_memory_with_is_told_from_what_was_copied() -> None:
    def program() -> None:
        p = nn.Parameter(torch.ones(4))
        same, other = p.data.view(2, 2), p.detach().clone()
        (p.sum() + same.sum() + other.sum()).backward()

    run = observed(program)
    known = paths(run.trace)
    leaf, view, copy = (
        (op.graph, op.inputs[0]) for op in map(run.op, ("p.sum()", "same.sum()", "other.sum()"))
    )
    assert known.memory_made(view) == known.memory_made(leaf) != known.memory_made(copy)
    assert known.made(view) == run.key("p.data.view(2, 2)") != known.memory_made(view)


# -- who reads what ------------------------------------------------------------------------


def test_only_calls_on_the_way_to_a_loss_are_readers() -> None:
    def program() -> None:
        a = nn.Parameter(torch.ones(2))
        h = a * 2
        (h + 1).mean()
        (h.exp() * h).sum().backward()

    run = observed(program)
    known = paths(run.trace)
    assert set(run.texts(known.readers(run.key("a * 2")))) == {"h.exp()", "h.exp() * h"}
    assert [run.text(op.site.user) for _, op in known.used_calls({"exp", "mean"})] == ["h.exp()"]
    assert run.key("h + 1") not in known.used.order
    assert run.key("h.exp()") in known.used.order


def test_the_maker_is_found_behind_views() -> None:
    def program() -> None:
        a = nn.Parameter(torch.ones(4))
        a.exp().view(2, 2).t().sum().backward()

    run = observed(program)
    known, key = paths(run.trace), run.key("a.exp().view(2, 2).t()")
    maker = known.maker_behind(key, {"view", "t"})
    assert maker is not None and maker.name == "exp"
    between = known.maker_behind(key, {"t"})
    assert between is not None and between.name == "view"


def test_the_nearest_value_of_some_nodes_is_the_last_of_them() -> None:
    def program() -> None:
        a = nn.Parameter(torch.ones(4))
        (a * 2).exp().sum().backward()

    run = observed(program)
    known, root = paths(run.trace), run.key("(a * 2).exp().sum()")
    both = [
        (op.graph, node) for text in ("a * 2", "(a * 2).exp()") for op in run.ops(text) for node in op.nodes
    ]
    assert known.nearest(root, both) == run.key("(a * 2).exp()")
    assert known.nearest(root, both[:1]) == run.key("a * 2")
    assert known.nearest(run.key("a * 2"), both[1:]) is None


# -- whose gradient is missed ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "silent", "frozen"),
    [("first", set(), {"body"}), ("second", set(), {"body"}), ("after", {"body"}, set())],
)
def test_frozen_parameters_are_not_missed_and_those_frozen_after_the_last_step_are(
    when: str, silent: set[str], frozen: set[str]
) -> None:
    def program() -> None:
        body, head = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
        opt = optimizer(body, head)
        for turn in ("first", "second", "third", "after"):
            if turn == when:
                body.requires_grad_(False)
            if turn == "after":
                break
            opt.zero_grad()
            ((body * 2).detach() * head).sum().backward()
            opt.step()

    known = paths(observed(program).trace)
    by_id = {id: p.name for id, p in known.parameters.items()}
    assert {p.name for p in known.silent()} == silent
    assert {by_id[id] for id in known.frozen} == frozen


def test_of_two_optimizers_only_what_a_stepping_one_holds_is_expected() -> None:
    def program() -> None:
        a, b, c = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
        opt, idle = optimizer(a, b), optimizer(c)
        for _ in range(2):
            opt.zero_grad()
            idle.zero_grad()
            (a * (b * c).detach()).sum().backward()
            opt.step()

    known = paths(observed(program).trace)
    assert {p.name for p in known.silent()} == {"b", "c"}
    assert [p.name for p in known.expected()] == ["b"]
    assert [p.name for p in known.resting()] == ["c"]
    assert [known.stepped(p) for p in known.silent()] == [True, False]


def test_passes_that_stood_for_others_are_counted() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
        opt, other = optimizer(a), optimizer(b)
        for i in range(7):
            opt.zero_grad()
            (a * 2).sum().backward()
            opt.step()
            if i % 3 == 0:
                other.zero_grad()
                (b * 3).sum().backward()
                other.step()

    run = observed(program)
    known = paths(run.trace)
    counts = {}
    for event in known.backwards:
        counts[tuple(run.names(event.filled))] = known.alike(event)
    assert counts == {("a",): 7, ("b",): 3}
    assert known.passes == 10 == sum(event.count for event in run.trace.of(Backward))
    assert [known.passes_beside([run.leaf(name)]) for name in "ab"] == [7, 3]


def test_paths_from_where_gradients_stopped_know_only_later_passes() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
        opt = optimizer(a, b)
        for i in range(16):
            opt.zero_grad()
            hidden = a * 2 if i < 8 else (a * 2).detach()
            (hidden * b).sum().backward()
            opt.step()

    run = observed(program)
    (late,) = late_paths(run.trace)
    assert late.stop is not None and late.stop.step == 9
    assert {p.name for p in late.expected()} == {"a"}
    assert run.names(late.reached.parameters) == {"b"}
    assert run.names(paths(run.trace).reached.parameters) == {"a", "b"}
    assert not paths(run.trace).expected()


def test_a_tensor_that_a_statement_made_require_a_gradient_is_known_by_it() -> None:
    def program() -> None:
        a = nn.Parameter(torch.ones(2))
        x = (a * 2).detach()
        x.requires_grad_()
        (x * 3).sum().backward()

    run = observed(program)
    known = paths(run.trace)
    site = known.required((run.op("x * 3").graph, run.op("x * 3").inputs[0]))
    assert site is not None and run.text(site.user) == "x.requires_grad_()"
    assert known.required(run.key("x * 3")) is None


def test_numbers_of_passes_are_said_in_words() -> None:
    assert (passes(1), passes(2)) == ("1 backward pass", "2 backward passes")
