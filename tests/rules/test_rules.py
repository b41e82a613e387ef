"""Every rule against the programs of every rule."""

from __future__ import annotations

import ast
import contextlib
import linecache
import random
import re
import textwrap
from collections.abc import Callable

import pytest
import torch
from needs import indexing_seen
from rule_programs import Program, parameters, programs

import gradscope
from gradscope.check import examine
from gradscope.config import Config
from gradscope.model import Finding
from gradscope.rules import Rule, all_rules


def findings(function: Callable[[], object]) -> tuple[Finding, ...]:
    """What all rules say about one run of `function`. An exception of torch's own is part of it."""
    torch.manual_seed(0)
    random.seed(0)
    with gradscope.watch() as scope:
        try:
            function()
        except (RuntimeError, TypeError, ValueError, AttributeError, AssertionError) as error:
            failure: Exception | None = error
        else:
            failure = None
    if failure is not None and not (isinstance(function, Program) and function.name.startswith("bad")):
        raise failure
    off = tuple(code for code, rule in all_rules().items() if not rule.default)
    report = examine(scope.trace, Config(extend_select=off))
    assert not report.faults
    return tuple(report.findings)


def serious(found: tuple[Finding, ...]) -> list[str]:
    return [
        f"{f.severity} {f.code}: {f.message} at {[(place.role, place.line) for place in f.locations]}"
        for f in found
        if f.severity != "note"
    ]


@pytest.mark.drawn(0.06)
@pytest.mark.parametrize("bad", parameters("bad", share=lambda program: 0.7 * program.in_rule))
def test_bad_is_reported(bad: Program) -> None:
    """At its marked lines, by its rule alone, with a fix: all of one run, which is what takes the time."""
    found = findings(bad)
    own = [f for f in found if f.code == bad.rule.code]
    with indexing_seen(bad.function):
        reported_at_its_marks(bad, own)
        assert not serious(tuple(f for f in found if f not in own)), "by its rule alone"
    for finding in found:
        says_what_the_report_shows(finding)
        fix_changes_something(finding)
    for finding in own:
        fix_names_what_is_the_users(bad, finding)


def reported_at_its_marks(bad: Program, own: list[Finding]) -> None:
    expected = bad.marked(bad.rule.code)
    assert expected, f"{bad.name} of {bad.rule.code} marks no line"
    places = [p for f in own for p in f.locations if p.role != "related"]
    assert {(place.role, place.line) for place in places} == expected, serious(tuple(own))
    assert all(bad.shown_as(place.path) for place in places)


def says_what_the_report_shows(finding: Finding) -> None:
    assert finding.message[:1] == finding.message[:1].lower() and not finding.message.endswith(".")
    assert finding.locations and finding.why and finding.fix, finding


def fix_names_what_is_the_users(bad: Program, finding: Finding) -> None:
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", finding.fix))))
    assert words & _own_names(bad) or re.search(r"\.py:\d+", finding.fix), finding.fix
    for called in re.findall(r"`([\w.]+)\.(?:train|eval)\(\)`", finding.fix):
        assert re.search(rf"(?<![\w.]){re.escape(called)}\b", bad.source), (
            f"a name that can be typed there: {finding.fix}"
        )
    assert finding.seen


def fix_changes_something(finding: Finding) -> None:
    for new, old in re.findall(r"`([^`]+)` in place of `([^`]+)`", finding.fix):
        assert new != old, finding.fix
    for edit in finding.edits:
        if edit.line == edit.end_line:
            line = linecache.getline(edit.path, edit.line)
            assert line[edit.column - 1 : edit.end_column - 1] != edit.text or not edit.text


@pytest.mark.drawn(0.03)
@pytest.mark.parametrize("good", parameters("good", share=lambda program: 0.2 * program.in_rule))
def test_good_is_silent_under_every_rule(good: Program) -> None:
    assert not serious(findings(good))


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.code) for rule in all_rules().values()])
def test_rule_file_says_what_why_and_how(rule: Rule) -> None:
    assert rule.title.endswith((".", "!")), "the first line of the docstring is a sentence"
    assert rule.why, "a paragraph `Why: …`"
    assert rule.fix, "a paragraph `Fix: …`"
    assert len(rule.examples("bad")) == 1, "one function bad…() that runs: the others are in tests/rules/"
    assert len(rule.examples("good")) == 1, "one function good…() that runs: the others are in tests/rules/"
    assert rule.module.rpartition(".")[2].startswith(rule.code.lower())


def _own_names(program: Program) -> set[str]:
    """What a program itself gives a name: variables, attributes, arguments, functions, classes."""
    tree = ast.parse(textwrap.dedent(program.source))
    names = {getattr(node, "name", "") for node in ast.walk(tree)} - {program.name, None}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names - {""}


def test_data_of_a_result_is_told_with_the_network_that_returned_it() -> None:
    def program() -> None:
        from torch import nn

        generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
        opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
        opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(4):
            opt_c.zero_grad()
            fake = generator(torch.randn(8, 2))
            (critic(fake).mean() - critic(fake.data + 1).mean()).backward()
            opt_c.step()
            opt_g.zero_grad()
            fake = generator(torch.randn(8, 2))
            (-critic(fake).mean()).backward()
            opt_g.step()
            print(fake.data.mean())

    (note,) = findings(program)
    assert (note.code, note.severity) == ("GS605", "note")
    assert len([place for place in note.locations if ".data" in place.label]) == 2


@pytest.mark.parametrize("good", programs("good", "GS102"), ids=lambda p: p.name)
def test_data_that_no_gradient_misses_is_no_note(good: Program) -> None:
    assert "GS102" not in {finding.code for finding in findings(good)}


def test_weight_that_a_divergence_has_is_told_with_what_it_has_to_become() -> None:
    (program,) = (p for p in programs("bad", "GS755") if p.name == "bad_weight_that_was_set_for_the_mean")
    (note,) = findings(program)
    assert (note.severity, note.edits) == ("note", ())
    assert "the term becomes 12 times as large" in note.fix and "which is 560: with 46.7" in note.fix


def test_what_an_optimizer_holds_for_nothing_is_one_note() -> None:
    def program() -> None:
        from torch import nn

        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.body, self.head, self.deep = nn.Linear(3, 3), nn.Linear(3, 1), False
                self.more = nn.Linear(3, 3)
                self.table = nn.Parameter(torch.ones(3), requires_grad=False)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x = self.body(x) * self.table
                if self.deep:
                    x = self.more(x)
                result: torch.Tensor = self.head(x)
                return result

        model = Net()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()

    (note,) = findings(program)
    assert (note.code, note.severity) == ("GS208", "note")
    assert any("more.weight" in line for line in note.seen)


def test_gradients_that_a_cut_leaves_alone_in_a_pass_are_no_waste() -> None:
    (program,) = (p for p in programs("bad", "GS301") if "generator" in p.name)
    assert {finding.code for finding in findings(program)} == {"GS301"}


def test_loss_without_a_graph_names_the_line_that_froze_what_it_may_train() -> None:
    def program() -> None:
        from torch import nn

        generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
        opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
        opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
        critic.requires_grad_(False)
        opt_g.zero_grad()
        critic(generator(torch.randn(8, 2))).mean().neg().backward()
        opt_g.step()
        opt_c.zero_grad()
        loss = critic(generator(torch.randn(8, 2)).detach()).mean()
        with contextlib.suppress(RuntimeError):
            loss.backward()
        opt_c.step()

    (error,) = [f for f in findings(program) if f.code == "GS303"]
    assert "`detach()`" in error.message and "`critic.requires_grad_(False)`" in error.fix
    assert [p.label for p in error.locations if p.role == "related"][-1].startswith("freezes `critic.")


def test_a_divisor_that_is_zero_is_kept_away_from_it_before_all_its_quotients() -> None:
    def program() -> None:
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            opt.zero_grad()
            mean, spread = model(torch.randn(64, 4)).chunk(2, dim=1)
            spread = torch.relu(spread)
            upper = (mean + 0.5) / spread
            lower = (mean - 0.5) / spread
            half = spread / 2
            (torch.special.ndtr(upper) - torch.special.ndtr(lower) + half).mean().backward()
            opt.step()

    error = next(f for f in findings(program) if f.code == "GS701")
    assert "`(mean + 0.5) / spread`" in error.fix and "`(mean - 0.5) / spread`" in error.fix
    assert "before the first" in error.fix and "spread / 2" not in error.fix


def test_an_evaluation_that_cuts_channels_apart_too_is_told_with_the_training() -> None:
    from rules.numbers import gs736_programs

    (found,) = (one for one in findings(gs736_programs.bad_evaluated_by_the_same_view) if one.code == "GS736")
    assert len({edit.line for edit in found.edits}) == 2
    assert [place.label for place in found.locations].count("cuts them so too") == 1


def test_the_mean_is_told_in_place_of_a_quantile_without_a_gradient() -> None:
    from rules.reach import gs305_programs

    (found,) = findings(gs305_programs.bad_median_of_the_weights_in_the_loss)
    assert "`(weights * places).sum(-1) / weights.sum(-1)`" in found.fix


def test_a_total_that_stands_in_several_places_of_a_sample_is_told_by_their_number() -> None:
    def program() -> None:
        from torch import nn

        encoder, counts = nn.Linear(4, 2), torch.rand(8, 3)
        opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            (encoder(torch.randn(8, 4)).pow(2).sum() * counts).mean().backward()
            opt.step()

    (found,) = (one for one in findings(program) if one.code == "GS735")
    assert "adds up the whole batch, and each of the 24 numbers of `counts`" in found.message
    assert "stands in 24 places" in found.seen[0]


def test_a_statement_that_only_cuts_the_graph_is_told_as_a_whole() -> None:
    def program() -> None:
        from torch import nn

        body, head = nn.Linear(4, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for step in range(3):
            h = body(torch.randn(8, 4))
            if step >= 0:
                h = torch.tensor(h.tolist())
            opt.zero_grad()
            head(h).pow(2).mean().backward()
            opt.step()

    (found,) = (one for one in findings(program) if one.code == "GS304")
    assert found.fix.startswith("take `h = torch.tensor(h.tolist())` (") and found.edits[0].text == "pass"


def test_a_step_behind_a_pass_that_a_cut_keeps_from_it_names_the_cut() -> None:
    from rules.step import gs204_programs

    program = gs204_programs.detached_in_place_of_the_target
    (found,) = (one for one in findings(program) if one.code == "GS204")
    roles = {place.role for place in found.locations}
    assert "`detach()` takes what `opt_critic` holds out of the loss" in found.message
    assert "call `backward()`" not in found.fix and "mse_loss(value, after).backward()" in found.fix
    assert roles == {"cause", "effect", "related"}


def test_the_graph_of_an_evaluation_is_that_of_all_its_layers() -> None:
    from rules.mode import gs402_programs

    (found,) = findings(gs402_programs.bad_method_that_calls_the_layers)
    assert found.count == 20 and found.severity == "warning"
    assert found.seen[0].startswith(
        "at least 20 calls built a graph of 42 nodes each, none was used; one holds"
    )
    assert "at least 23.6 kB" in found.seen[0]


def test_all_calls_of_an_evaluation_are_counted_and_each_place_is_named() -> None:
    def program() -> None:
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)

        def first() -> None:
            for _ in range(80):
                (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()

        def second() -> None:
            for _ in range(2):
                (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()

        for _ in range(3):
            model.train()
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()
            model.eval()
            first()
            second()

    (found,) = findings(program)
    assert found.code == "GS402" and found.count == 240 and not found.at_least
    assert found.seen[0].startswith("240 calls built a graph of 9 nodes each")
    assert found.seen[1].startswith("they took ") and " likewise" in found.fix


def test_calls_of_forward_are_counted_and_not_those_of_the_parts_within() -> None:
    from rules.mode import gs402_programs

    (found,) = findings(gs402_programs.bad_forward_called_past_the_module)
    assert "`model.forward(x)`" in found.message and found.count == 3
    assert found.seen[0].startswith("3 calls built a graph of ")
    assert "calls of modules that were timed" in found.seen[1]


def test_what_is_evaluated_once_by_a_call_of_its_own_is_named_by_its_line() -> None:
    from rules.mode import gs402_programs

    (found,) = findings(gs402_programs.good_one_look_by_a_call_of_its_own)
    assert found.severity == "note" and found.message.startswith("`model(torch.randn(8, 4))` is evaluated")
    assert found.seen[0].startswith("a call built a graph of ")


def test_calls_that_were_slept_through_are_told_as_at_least_so_many() -> None:
    def program() -> None:
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(1500):
            for _ in range(12):
                (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()

    (found,) = (one for one in findings(program) if one.code == "GS402")
    assert found.count < 18_000 and found.at_least
    assert found.seen[0].startswith("at least ")


def test_only_a_turn_that_reads_what_the_one_before_gave_is_told_as_such() -> None:
    from rules.reach import gs302_programs

    for apart in (
        gs302_programs.bad_block_of_each_turn_kept_and_dropped,
        gs302_programs.bad_block_called_in_turns_without_a_break,
        gs302_programs.bad_sum_of_two_in_each_turn,
    ):
        with indexing_seen(apart):
            found = [one for one in findings(apart) if one.code == "GS302"]
            assert [one.cause_label for one in found] == ["the result goes nowhere"]
            assert found[0].seen[1].startswith("no operation read")
    (found,) = (one for one in findings(gs302_programs.bad_state_that_each_turn_reads) if one.code == "GS302")
    assert found.cause_label == "what its last turn gives goes nowhere"
    assert found.seen[1].startswith("each turn of `cell(state)` reads what the one before gave")


def test_what_no_loss_depends_on_is_left_out_of_the_optimizer_that_holds_it() -> None:
    from rules.reach import gs302_programs

    program = gs302_programs.bad_sum_of_two_in_each_turn
    with indexing_seen(program):
        fixes = [one.fix for one in findings(program)]
        assert len(fixes) == 1
        assert "and `mix` out of `torch.optim.Adam([mix, scale], lr=1e-2)`" in fixes[0]
        assert " out of `torch.optim.SGD([*weights" in fixes[0]


def test_a_clip_behind_the_step_is_told_as_such_whatever_has_no_gradient_at_all() -> None:
    from rules.step import gs209_programs

    frozen = findings(gs209_programs.bad_after_the_step_with_a_frozen_layer)
    (found,) = (one for one in frozen if one.code == "GS209")
    assert "comes after the step" in found.message
    assert found.cause_label == "the gradients here were used already"
    (found,) = findings(gs209_programs.bad_before_backward)
    assert found.cause_label == "there is no gradient here yet"


def test_numbers_that_grew_until_they_were_infinite_are_told_of_by_what_let_them_grow() -> None:
    from rules.numbers import gs706_programs
    from rules.step import gs209_programs

    unclipped = findings(gs209_programs.bad_after_the_step_until_the_loss_is_infinite)
    assert [one.code for one in unclipped] == ["GS209"]
    assert "nothing held the gradients to 1" in unclipped[0].seen[1]
    unbounded = findings(gs706_programs.bad_scores_until_they_are_infinite)
    assert [one.code for one in unbounded] == ["GS706"]


def test_whole_batches_that_one_array_is_made_of_are_to_be_joined_once_the_last_is_smaller() -> None:
    from rules.mode import gs412_programs

    found = next(f for f in findings(gs412_programs.bad_one_array_of_whole_batches) if f.code == "GS412")
    assert "`np.concatenate(given)` in place of `np.array(given)`" in found.fix and not found.edits
    plain = next(
        f for f in findings(gs412_programs.bad_one_array_of_a_number_for_each_batch) if f.code == "GS412"
    )
    assert "concatenate" not in plain.fix and plain.edits


def test_sums_that_keep_the_graphs_of_an_evaluation_are_named() -> None:
    from rules.mode import gs402_programs

    (found,) = findings(gs402_programs.bad_losses_summed_with_their_graphs)
    assert [place.label for place in found.locations if place.role == "related"] == [
        "adds it up with its graph, which lives as long as the sum"
    ]
    assert ".item()`" in found.fix


def test_an_adapted_model_is_evaluated_without_gradients_only_where_none_is_asked_for() -> None:
    from rules.mode import gs402_programs

    (found,) = (one for one in findings(gs402_programs.bad_query_of_an_adapted_model) if one.code == "GS402")
    assert "`with torch.set_grad_enabled(model.training):`" in found.fix


def test_a_relu_that_two_inputs_go_through_is_told_once_and_blames_no_step_before_the_first() -> None:
    from rules.numbers import gs720_programs

    (found,) = findings(gs720_programs.bad_relu_that_two_inputs_go_through)
    assert "`move.weight`" in found.message or "6 parameters" in found.seen[0]
    assert "step" not in found.why
    (grown,) = findings(gs720_programs.bad_convolutions)
    assert "A step that is much too long" in grown.why


def test_a_target_with_its_graph_is_told_of_what_it_adds_past_the_end_too() -> None:
    def program() -> None:
        from torch import nn

        model = nn.Linear(4, 2)
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(6):
            ends = torch.tensor([i % 5 == step for i in range(16)], dtype=torch.float32)  # noqa: F841
            ahead = model(torch.randn(16, 4)).max(1)[0]
            loss = nn.functional.mse_loss(model(torch.randn(16, 4))[:, 1], torch.ones(16) + 0.9 * ahead)
            opt.zero_grad()
            loss.backward()
            opt.step()

    both, past = findings(program)
    assert (both.code, past.code) == ("GS314", "GS323") and "by `(1 - ends)`" in past.fix


def test_a_term_that_is_cut_off_beside_another_cut_is_told_with_all_its_cuts() -> None:
    def program() -> None:
        from torch import nn
        from torch.distributions import Normal, kl_divergence

        body, mean, scale, decoder = nn.Linear(6, 16), nn.Linear(16, 2), nn.Linear(16, 2), nn.Linear(2, 6)
        opt = torch.optim.Adam(nn.ModuleList([body, mean, scale, decoder]).parameters(), lr=0.01)
        prior = Normal(torch.zeros(2), torch.ones(2))
        for _ in range(3):
            x = torch.randn(16, 6)
            hidden = torch.relu(body(x))
            where, wide = mean(hidden), nn.functional.softplus(scale(hidden))
            kl = kl_divergence(Normal(where.detach(), wide.detach()), prior).mean()
            loss = nn.functional.mse_loss(decoder(Normal(where, wide).sample()), x) + 0.1 * kl
            opt.zero_grad()
            loss.backward()
            opt.step()

    drawn, term = findings(program)
    assert (drawn.code, term.code) == ("GS301", "GS315")
    assert "`Normal(where, wide).sample()`" in term.seen[0] and "got no gradient" in term.seen[0]
    assert "`where.detach()`" in term.fix and "`wide.detach()`" in term.fix and len(term.edits) == 2


def test_each_side_that_broadcasts_in_a_statement_is_named() -> None:
    from rules.numbers import gs703_programs

    (found,) = findings(gs703_programs.bad_both_halves_of_a_contrastive_loss)
    assert "`.squeeze(1)` on `1 - label`, and on `label` (" in found.fix
