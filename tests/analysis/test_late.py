"""Gradients that stop in the middle of a run, and since when a finding holds."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import gradscope
from gradscope.analysis.since import since_step
from gradscope.check import Report, examine
from gradscope.events import Backward
from gradscope.model import Finding, Since
from gradscope.render import renderers

Program = Callable[[int], object]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.mid, self.head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor, how: str = "") -> torch.Tensor:
        h = torch.tanh(self.body(x))
        if how != "skip":
            h = torch.tanh(self.mid(h))
        if how == "detach":
            h = h.detach()
        if how == "data":
            h = h.data
        if how == "argmax":
            h = nn.functional.one_hot(h.argmax(1), 8).float()
        return self.head(h)  # type: ignore[no-any-return]


def trained(
    steps: int, how: Callable[[int], str], change: Callable[[int, Net], object] = lambda step, net: None,
    *, to_none: bool = True, passes: int = 1,
) -> None:  # fmt: skip
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), 1e-2)
    for step in range(steps):
        change(step, net)
        opt.zero_grad(set_to_none=to_none)
        for _ in range(passes):
            net(torch.randn(4, 8), how(step)).pow(2).mean().backward()
        opt.step()


def from_40_percent(how: str, **more: object) -> Program:
    return lambda steps: trained(steps, lambda step: how if step >= 0.4 * steps else "", **more)  # type: ignore[arg-type]


def flickering(steps: int) -> None:
    trained(steps, lambda step: "detach" if step % 2 else "")


def flickering_first(steps: int) -> None:
    trained(steps, lambda step: "detach" if step % 2 or step >= 0.4 * steps else "")


def in_long_turns(steps: int) -> None:
    trained(steps, lambda step: "detach" if step % 10 >= 4 else "")


def frozen(steps: int) -> None:
    def freeze(step: int, net: Net) -> None:
        if step == 0.4 * steps:
            for p in net.body.parameters():
                p.requires_grad = False

    trained(steps, lambda step: "", freeze)


def frozen_with_zeros_left(steps: int) -> None:
    def freeze(step: int, net: Net) -> None:
        if step == 0.4 * steps:
            for p in net.body.parameters():
                p.requires_grad = False

    trained(steps, lambda step: "", freeze, to_none=False)


def frozen_and_thawed_when_done(steps: int) -> None:
    nets = []

    def freeze(step: int, net: Net) -> None:
        nets.append(net)
        if step == 0.4 * steps:
            net.body.requires_grad_(False)

    trained(steps, lambda step: "", freeze)
    nets[0].requires_grad_(True)


def generator_cut_off(steps: int) -> None:
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g, opt_c = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
    for step in range(steps):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        if step >= 0.4 * steps:
            fake = fake.detach()
        (-critic(fake).mean()).backward()
        opt_g.step()


def cut_by_number(steps: int) -> None:
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), 1e-2)
    for step in range(steps):
        h = torch.tanh(net.mid(torch.tanh(net.body(torch.randn(4, 8)))))
        if step >= 0.4 * steps:
            h = h.detach()
        opt.zero_grad()
        net.head(h).pow(2).mean().backward()
        opt.step()


def pulled_by_hand(steps: int) -> None:
    def pull(step: int, net: Net) -> None:
        if step > 0.4 * steps:
            with torch.no_grad():
                for p in [*net.body.parameters(), *net.mid.parameters()]:
                    p.mul_(0.999)

    trained(steps, lambda step: "detach" if step >= 0.4 * steps else "", pull)


def through_another_function(steps: int) -> None:
    """The cut itself stands under no condition."""
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), 1e-2)

    def whole(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(net.mid(torch.tanh(net.body(x))))

    def features(x: torch.Tensor) -> torch.Tensor:
        return whole(x).detach()

    for step in range(steps):
        hidden = (whole, features)[step >= 0.4 * steps](torch.randn(4, 8))
        opt.zero_grad()
        net.head(hidden).pow(2).mean().backward()
        opt.step()


def nightly(run: tuple[int, bool]) -> Any:
    """A shorter run, or one in which every step is looked at: what the longest one shows, mostly."""
    return pytest.param(*run, marks=pytest.mark.nightly)


STOPS = {
    "through_another_function": (through_another_function, "error", "GS301"),
    "detach": (from_40_percent("detach"), "warning", "GS301"),
    "by_number": (cut_by_number, "warning", "GS301"),
    "pulled_by_hand": (pulled_by_hand, "warning", "GS301"),
    "frozen_with_zeros_left": (frozen_with_zeros_left, "warning", "GS218"),
    "zeroed": (from_40_percent("detach", to_none=False), "warning", "GS301"),
    "accumulated": (from_40_percent("detach", passes=3), "warning", "GS301"),
    "data": (from_40_percent("data"), "warning", "GS102"),
    "argmax": (from_40_percent("argmax"), "warning", "GS305"),
    "skipped": (from_40_percent("skip"), "note", "GS302"),
    "flickering_first": (flickering_first, "warning", "GS301"),
    "frozen": (frozen, "note", "GS208"),
    "frozen_and_thawed_when_done": (frozen_and_thawed_when_done, "note", "GS208"),
}


def report(program: Program, steps: int, sample: bool) -> Report:
    torch.manual_seed(0)
    random.seed(0)
    with gradscope.watch(sample=sample) as scope:
        program(steps)
    found = examine(scope.trace)
    assert not found.faults
    return found


def found(program: Program, steps: int, sample: bool) -> list[Finding]:
    return [f for f in report(program, steps, sample).findings if f.code not in ("GS216", "GS803")]


@pytest.mark.drawn(0.25)
@pytest.mark.parametrize(("steps", "sample"), [*map(nightly, [(100, True), (100, False)]), (600, True)])
@pytest.mark.parametrize("name", STOPS)
def test_a_gradient_that_stops_is_told_with_its_step(name: str, steps: int, sample: bool) -> None:
    program, severity, code = STOPS[name]
    (finding,) = found(program, steps, sample)
    assert (finding.severity, finding.code) == (severity, code)
    assert finding.since is not None
    assert finding.since.step == 0.4 * steps + (name != "flickering_first"), "the first that went without"


@pytest.mark.nightly
def test_2000_short_steps_tell_as_well() -> None:
    (finding,) = found(from_40_percent("detach"), 2000, True)
    assert finding.late == "since step 801"
    assert "the last 1,200, from step 801 on, found none" in finding.seen[0]


def test_a_generator_that_is_cut_off_is_told_at_that_line() -> None:
    (finding,) = found(generator_cut_off, 100, True)
    assert finding.code == "GS301"
    assert finding.cause is not None and "fake = fake.detach()" in _line(finding)


def _line(finding: Finding) -> str:
    with open(finding.locations[0].path) as file:
        return file.read().splitlines()[finding.locations[0].line - 1]


def head_alone_in_a_second_loop(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for _ in range(steps // 2):
        opt.zero_grad()
        net(torch.randn(4, 8)).pow(2).mean().backward()
        opt.step()
    for _ in range(steps // 2):
        features = net.mid(net.body(torch.randn(4, 8))).detach()
        opt.zero_grad()
        net.head(features).pow(2).mean().backward()
        opt.step()


def head_alone_under_no_grad(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        with torch.set_grad_enabled(step < steps / 2):
            features = net.mid(net.body(torch.randn(4, 8)))
        opt.zero_grad()
        net.head(features).pow(2).mean().backward()
        opt.step()


def another_optimizer(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        if step == steps // 2:
            opt = torch.optim.SGD(net.head.parameters(), 1e-2)
        opt.zero_grad()
        net(torch.randn(4, 8), "detach" if step >= steps // 2 else "").pow(2).mean().backward()
        opt.step()


def layer_by_layer(steps: int) -> None:
    layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
    heads = nn.ModuleList([nn.Linear(8, 2) for _ in range(3)])
    opt = torch.optim.SGD([*layers.parameters(), *heads.parameters()], 1e-2)
    for k in range(3):
        for _ in range(steps // 3):
            h = torch.randn(4, 8)
            for layer in layers[:k]:
                h = torch.tanh(layer(h))
            opt.zero_grad()
            heads[k](torch.tanh(layers[k](h.detach()))).pow(2).mean().backward()
            opt.step()


def unfreezing(steps: int) -> None:
    def thaw(step: int, net: Net) -> None:
        net.body.requires_grad_(step >= steps * 2 // 3)
        net.mid.requires_grad_(step >= steps // 3)

    trained(steps, lambda step: "", thaw)


def alternating(steps: int) -> None:
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt = torch.optim.Adam([*generator.parameters(), *critic.parameters()])
    for step in range(steps):
        opt.zero_grad()
        if step // (steps // 4) % 2 == 0:
            (critic(generator(torch.randn(4, 2)).detach()) - critic(torch.randn(4, 2))).mean().backward()
        else:
            critic.requires_grad_(False)
            (-critic(generator(torch.randn(4, 2))).mean()).backward()
            critic.requires_grad_(True)
        opt.step()


def stochastic_depth(steps: int) -> None:
    layers, head = nn.ModuleList([nn.Linear(8, 8) for _ in range(6)]), nn.Linear(8, 2)
    opt = torch.optim.SGD([*layers.parameters(), *head.parameters()], 1e-2)
    for _ in range(steps):
        h = torch.randn(4, 8)
        for layer in layers:
            if random.random() > 0.3:
                h = h + torch.tanh(layer(h))
        opt.zero_grad()
        head(h).pow(2).mean().backward()
        opt.step()


def experts_of_which_some_are_left(steps: int) -> None:
    experts, gate = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)]), nn.Linear(8, 4)
    opt = torch.optim.SGD([*experts.parameters(), *gate.parameters()], 1e-2)
    for step in range(steps):
        x = torch.randn(64, 8)
        shares = gate(x).softmax(1)
        if step > steps // 2:
            shares = shares * torch.tensor([1.0, 0, 0, 0])
        chosen = shares.argmax(1)
        out = [shares[chosen == i, i, None] * experts[i](x[chosen == i]) for i in chosen.unique().tolist()]
        opt.zero_grad()
        torch.cat(out).pow(2).mean().backward()
        opt.step()


def auxiliary_head_for_a_while(steps: int) -> None:
    net, extra = Net(), nn.Linear(8, 2)
    opt = torch.optim.SGD([*net.parameters(), *extra.parameters()], 1e-2)
    for step in range(steps):
        x = torch.randn(4, 8)
        loss = net(x).pow(2).mean()
        if step < steps // 2:
            loss = loss + 0.3 * extra(net.body(x)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def delayed_actor(steps: int) -> None:
    actor, critic = nn.Linear(4, 2), nn.Linear(6, 1)
    target = copy.deepcopy(critic)
    opt_a, opt_c = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())
    for step in range(steps):
        s, a = torch.randn(8, 4), torch.randn(8, 2)
        with torch.no_grad():
            goal = 1 + 0.9 * target(torch.cat([s, actor(s)], 1))
        opt_c.zero_grad()
        (critic(torch.cat([s, a], 1)) - goal).pow(2).mean().backward()
        opt_c.step()
        if step % 3 == 0:
            opt_a.zero_grad()
            (-critic(torch.cat([s, actor(s)], 1)).mean()).backward()
            opt_a.step()


PHASES = [
    head_alone_in_a_second_loop, head_alone_under_no_grad, another_optimizer, layer_by_layer, unfreezing,
    alternating, stochastic_depth, experts_of_which_some_are_left, auxiliary_head_for_a_while, delayed_actor,
    flickering, in_long_turns,
]  # fmt: skip


@pytest.mark.drawn(0.25)
@pytest.mark.parametrize(("steps", "sample"), [*map(nightly, [(120, True), (120, False)]), (600, True)])
@pytest.mark.parametrize("program", PHASES)
def test_phases_of_a_program_are_a_note_at_most(program: Program, steps: int, sample: bool) -> None:
    assert [f.message for f in found(program, steps, sample) if f.severity != "note"] == []


@pytest.mark.drawn(0.25)
@pytest.mark.parametrize(
    "program", [another_optimizer, layer_by_layer, unfreezing, alternating, stochastic_depth, flickering]
)
def test_a_change_of_what_is_trained_is_silent(program: Program) -> None:
    assert found(program, 120, True) == []


def test_every_output_says_since_when() -> None:
    told = report(from_40_percent("detach"), 100, True)
    texts = {format: renderer.render(told) for format, renderer in renderers().items()}
    assert json.loads(texts.pop("json"))["findings"][0]["since"] == 41
    del texts["diff"]  # the patch alone
    assert [format for format, text in texts.items() if "since step 41" not in text] == []


def test_what_was_so_from_the_first_step_on_says_nothing_of_it() -> None:
    told = report(lambda steps: trained(steps, lambda step: "detach"), 20, True)
    assert [(f.code, f.late) for f in told.findings if f.code != "GS803"] == [("GS301", "")]
    rendered = {name: renderer.render(told) for name, renderer in renderers().items() if name != "html"}
    assert not [
        name for name, text in rendered.items() if "since step" in text
    ]  # the page has a script that says so


def test_steps_without_a_pass_are_told_since_the_first_of_them() -> None:
    def program(steps: int) -> None:
        net = Net()
        opt = torch.optim.SGD(net.parameters(), 1e-2)
        for step in range(steps):
            opt.zero_grad()
            loss = net(torch.randn(4, 8)).pow(2).mean()
            if step < 20:
                loss.backward()
            opt.step()

    (finding,) = found(program, 60, False)
    assert (finding.code, finding.late) == ("GS204", "since step 21")


def never_cleared_from_40_percent(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        if step < 0.4 * steps:
            opt.zero_grad()
        net(torch.randn(4, 8)).pow(2).mean().backward()
        opt.step()


def left_behind_from_40_percent(steps: int) -> None:
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g, opt_c = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
    for step in range(steps):
        fake = generator(torch.randn(4, 2))
        if step < 0.4 * steps:
            opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        opt_c.zero_grad()
        opt_g.zero_grad()
        (-critic(fake).mean()).backward()
        opt_g.step()


def cleared_too_late_from_40_percent(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)

    def clear() -> None:
        opt.zero_grad()

    for step in range(steps):
        late = step >= 0.4 * steps
        if not late:
            clear()
        net(torch.randn(4, 8)).pow(2).mean().backward()
        if late:
            clear()
        opt.step()


def another_model_that_never_steps_from_40_percent(steps: int) -> None:
    net, other = Net(), Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    idle = torch.optim.SGD(other.parameters(), 1e-2)
    for step in range(steps):
        for model in (net, other) if step >= 0.4 * steps else (net,):
            for optimizer in (opt, idle):
                if optimizer.param_groups[0]["params"][0] is next(model.parameters()):
                    optimizer.zero_grad()
            model(torch.randn(4, 8)).pow(2).mean().backward()
        opt.step()


def clipped_midway_from_40_percent(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        opt.zero_grad()
        for part in range(2):
            (net(torch.randn(4, 8)).pow(2).mean() / 2).backward()
            if part or step >= 0.4 * steps:
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()


def accumulation_dropped_from_40_percent(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        for part in range(4):
            if part == 0 or step >= 0.4 * steps:
                opt.zero_grad()
            (net(torch.randn(4, 8)).pow(2).mean() / 4).backward()
            if part % 4 == 3:
                opt.step()


def losses_kept_from_40_percent(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    total = torch.zeros(())
    for step in range(steps):
        opt.zero_grad()
        loss = net(torch.randn(4, 8)).pow(2).mean()
        loss.backward()
        opt.step()
        total = total + (loss if step >= 0.4 * steps else loss.detach())


def losses_listed_from_40_percent(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    losses = []
    for step in range(steps):
        opt.zero_grad()
        loss = net(torch.randn(4, 8)).pow(2).mean()
        loss.backward()
        opt.step()
        losses.append(loss if step >= 0.4 * steps else loss.item())


def not_a_number_from_40_percent(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        opt.zero_grad()
        (net(torch.randn(4, 8)).sigmoid() - int(step >= 0.4 * steps)).log().mean().backward()
        opt.step()


def cleared_in_between_without_a_clear_before_from_40_percent(steps: int) -> None:
    """The first of these passes adds to what the step before has used."""
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        late = step >= 0.4 * steps
        if not late:
            opt.zero_grad()
        net(torch.randn(4, 8)).pow(2).mean().backward()
        if late:
            opt.zero_grad()
        opt.step()


def no_step_any_more_from_40_percent(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        opt.zero_grad()
        net(torch.randn(4, 8)).pow(2).mean().backward()
        if step < 0.4 * steps:
            opt.step()


def graph_kept_from_40_percent(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        opt.zero_grad()
        net(torch.randn(4, 8)).pow(2).mean().backward(retain_graph=step >= 0.4 * steps)
        opt.step()


def other_shape_from_40_percent(steps: int) -> None:
    net = nn.Linear(8, 1)
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        target = torch.randn(4) if step >= 0.4 * steps else torch.randn(4, 1)
        opt.zero_grad()
        (net(torch.randn(4, 8)) - target).pow(2).mean().backward()
        opt.step()


def evaluation_mode_from_40_percent(steps: int) -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        net.train(step < 0.4 * steps)
        opt.zero_grad()
        net(torch.randn(4, 8)).pow(2).mean().backward()
        opt.step()


def softmax_in_a_lambda_from_40_percent(steps: int) -> None:
    """Both of its expressions stand on one line."""
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        out = net(torch.randn(4, 8))
        out = (lambda: out.softmax(1))() if step >= 0.4 * steps else out
        opt.zero_grad()
        nn.functional.cross_entropy(out, torch.tensor([0, 1, 1, 0])).backward()
        opt.step()


def flat_from_40_percent(steps: int) -> None:
    net, last = Net(), nn.Linear(2, 2)
    opt = torch.optim.SGD([*net.parameters(), *last.parameters()], 1e-2)
    for step in range(steps):
        if step == 0.4 * steps:
            with torch.no_grad():
                last.bias.fill_(-1e4)
        opt.zero_grad()
        out = torch.relu(last(net(torch.randn(4, 8))))
        nn.functional.cross_entropy(out, torch.tensor([0, 1, 1, 0])).backward()
        opt.step()


def off_from_40_percent(steps: int) -> None:
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    try:
        for step in range(steps):
            opt.zero_grad()
            loss = net(torch.randn(4, 8)).pow(2).mean()
            if loss.requires_grad:
                loss.backward()
            opt.step()
            if step == 0.4 * steps:
                torch.set_grad_enabled(False)
                net(torch.randn(4, 8))
    finally:
        torch.set_grad_enabled(True)


LATE = {
    never_cleared_from_40_percent: "GS201",
    left_behind_from_40_percent: "GS201",  # two steps a round
    cleared_too_late_from_40_percent: "GS202",
    another_model_that_never_steps_from_40_percent: "GS205",
    clipped_midway_from_40_percent: "GS209",
    accumulation_dropped_from_40_percent: "GS215",
    losses_kept_from_40_percent: "GS602",
    losses_listed_from_40_percent: "GS602",
    not_a_number_from_40_percent: "GS701",
    cleared_in_between_without_a_clear_before_from_40_percent: "GS202",
    no_step_any_more_from_40_percent: "GS215",
    graph_kept_from_40_percent: "GS604",
    other_shape_from_40_percent: "GS703",
    evaluation_mode_from_40_percent: "GS403",
    softmax_in_a_lambda_from_40_percent: "GS702",
    flat_from_40_percent: "GS707",
    off_from_40_percent: "GS313",
}
# What begins while sampling sleeps, and no pass or step shows, is seen when it wakes.
ASLEEP = {losses_kept_from_40_percent, other_shape_from_40_percent, softmax_in_a_lambda_from_40_percent}


@pytest.mark.drawn(0.25)
@pytest.mark.parametrize(
    ("program", "sample"),
    # What begins while sampling sleeps is seen when it wakes.
    [(p, p not in ASLEEP) for p in LATE]
    + [pytest.param(p, False, marks=pytest.mark.nightly) for p in LATE if p not in ASLEEP],
)
def test_a_line_that_was_right_at_first_is_told_since_it_went_wrong(program: Program, sample: bool) -> None:
    """Its lines have run from the first step on."""
    told = {f.code: f for f in found(program, 100, sample)}
    steps = 2 if program is left_behind_from_40_percent else 1  # of a round
    since, first = told[LATE[program]].since, 40 * steps + 1
    assert since is not None and first <= since.step, "not before"
    assert since.step <= first + steps or since.asleep, "in the first round, or the one after"


def left_in_evaluation_mode(steps: int) -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for step in range(steps):
        opt.zero_grad()
        net(torch.randn(4, 8)).pow(2).mean().backward()
        opt.step()
        if step % 20 == 9:
            net.eval()
            with torch.no_grad():
                net(torch.randn(4, 8)).argmax().item()
        if step % 60 == 59:
            net.train()


@pytest.mark.parametrize("sample", [True, False])
def test_all_steps_in_evaluation_mode_are_counted(sample: bool) -> None:
    """Those that nobody looked at as well: 50 of 60."""
    told = {f.code: f for f in found(left_in_evaluation_mode, 300, sample)}["GS403"]
    assert told.count == 250, told.seen
    assert "epoch" not in told.fix


def test_a_step_in_the_middle_of_what_sampling_slept_through_is_known_at_the_latest() -> None:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with gradscope.watch() as scope:
        for _ in range(400):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
    trace = scope.trace
    slept = {event.segment for event in trace.of(Backward) if event.unlooked}
    before = 0
    for segment in trace.segments:
        if segment.index in slept and segment.repeat > 2:
            break
        before += segment.repeat * segment.is_step
    assert [since_step(trace, step) for step in (1, before + 3)] == [Since(1), Since(before + 3, asleep=True)]
    assert since_step(trace, before + 3, always=True) == Since(before + 3)
