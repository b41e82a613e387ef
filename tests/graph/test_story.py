"""What a picture has to show beyond one step: where its values come from, and all that findings are about."""

from __future__ import annotations

import runpy
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import gradscope
from gradscope.analysis.names import place
from gradscope.answers import why
from gradscope.api import picture
from gradscope.graph import size, view
from gradscope.render.mermaid import mermaid
from gradscope.render.picture import dot_text, screens

LEVELS = ["op", "line", "module"]


def gan(detached: bool) -> Any:
    generator, critic = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2)), nn.Linear(2, 1)
    of_generator, of_critic = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (generator, critic))
    with gradscope.watch() as scope:
        for _ in range(2):
            fake = generator(torch.randn(4, 2))
            of_critic.zero_grad()
            critic(fake.detach()).mean().backward()
            of_critic.step()
            of_generator.zero_grad()
            taken = fake.detach() if detached else fake
            (-critic(taken).mean()).backward()
            of_generator.step()
    return scope


def nodes(graph: Any) -> list[dict[str, Any]]:
    return [data for _, data in graph.nodes.items()]


def before(graph: Any, id: str) -> set[str]:
    """What a node is made from, as labels."""
    found = {id}
    todo = [id]
    while todo:
        for tail, _, data in graph.in_edges(todo.pop(), data=True):
            if data["kind"] == "flow" and tail not in found:
                found.add(tail)
                todo.append(tail)
    return {graph.nodes[n]["label"] for n in found}


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_a_value_of_an_earlier_pass_has_its_producer_and_its_parameters(level: str, detached: bool) -> None:
    graph = picture(gan(detached).trace, level, step=4).graph
    (start,) = [id for id, data in graph.nodes.items() if data["kind"] == "backward"]
    assert {"generator.0.weight", "generator.2.weight", "critic.weight"} <= before(graph, start)
    earlier = [data for data in nodes(graph) if data["earlier"]]
    assert earlier and not any(data["kind"] == "parameter" for data in earlier)
    assert all(data["label"] != "fake" for data in nodes(graph))  # no nameless input in its place
    assert any(not data["earlier"] and data["kind"] in ("op", "line", "module") for data in nodes(graph))


@pytest.mark.parametrize("level", LEVELS)
def test_steps_that_take_turns_are_drawn_together(level: str) -> None:
    shown = picture(gan(detached=False).trace, level)
    assert "steps 3 and 4 of 4" in shown.view.title
    assert sum(data["kind"] == "backward" for data in nodes(shown.graph)) == 2
    assert not any(data["earlier"] for data in nodes(shown.graph))


@pytest.mark.parametrize("logged", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_a_pass_after_the_step_of_another_optimizer_is_drawn(level: str, logged: bool) -> None:
    actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
    of_actor, of_critic = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (actor, critic))
    with gradscope.watch() as scope:
        for _ in range(3):
            state = torch.randn(8, 4)
            advantage = 1 - critic(state)
            actor_loss = (actor(state) * advantage.detach()).mean()
            critic_loss = advantage.pow(2).mean()
            of_actor.zero_grad()
            actor_loss.backward()
            of_actor.step()
            if logged:
                assert float(critic_loss.detach() * 2) > 0
            of_critic.zero_grad()
            critic_loss.backward()
            of_critic.step()
    together, alone = picture(scope.trace, level), picture(scope.trace, level, step=6)
    assert "steps 5 and 6 of 6" in together.view.title
    for shown, passes in ((together, 2), (alone, 1)):
        starts = [id for id, data in shown.graph.nodes.items() if data["kind"] == "backward"]
        assert len(starts) == passes
        assert any("critic.weight" in before(shown.graph, start) for start in starts)
    assert "a backward pass went through it" in why(scope.trace, "critic_loss").seen
    assert "not captured in full" not in why(scope.trace, "critic.weight").headline


@pytest.mark.parametrize("sample", [False, True])
def test_rounds_of_an_inner_loop_hang_together_in_every_step(sample: bool) -> None:
    net = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 1))
    outer = torch.optim.SGD(net.parameters(), lr=0.1)
    call = torch.func.functional_call
    with gradscope.watch(sample=sample) as scope:
        for _ in range(4):
            total = torch.zeros(())
            for _ in range(3):
                fast = dict(net.named_parameters())
                x = torch.rand(8, 1) - 0.5
                y = x.sin()
                for _ in range(2):
                    error = F.mse_loss(call(net, fast, (x,)), y)
                    grads = torch.autograd.grad(error, list(fast.values()))
                    pairs = zip(fast.items(), grads, strict=True)
                    fast = {k: (p - 0.1 * g).detach().requires_grad_() for (k, p), g in pairs}
                total = total + F.mse_loss(call(net, fast, (x,)), y)
            outer.zero_grad()
            total.backward()
            outer.step()
    shown = nodes(picture(scope.trace, "line", step=4).graph)
    counts = {data["label"]: data["count"] for data in shown if data["kind"] in ("line", "cut")}
    assert counts["total = total + F.mse_loss(call(net, fast, (x,)), y)"] == 3
    assert counts["error = F.mse_loss(call(net, fast, (x,)), y)"] == 6
    assert [data["label"] for data in shown if data["kind"] == "input" or data["earlier"]] == ["total"]


def test_one_training_after_another_is_no_turn() -> None:
    one, two = nn.Linear(2, 2), nn.Linear(2, 2)
    with gradscope.watch() as scope:
        for model in (one, two):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                model(torch.randn(4, 2)).pow(2).mean().backward()
                optimizer.step()
    shown = picture(scope.trace, "line")
    assert "step 6 of 6" in shown.view.title
    assert sum(data["kind"] == "backward" for data in nodes(shown.graph)) == 1


@pytest.mark.parametrize("level", LEVELS)
def test_a_parameter_of_no_module_and_no_optimizer_is_a_parameter(level: str) -> None:
    model, scale, mask = nn.Linear(3, 2), nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        (model(torch.randn(4, 3)) * scale * mask).sum().backward()
        optimizer.step()
    kinds = {data["label"]: data["kind"] for data in nodes(picture(scope.trace, level).graph)}
    assert (kinds["scale"], kinds["mask"]) == ("parameter", "input")


@pytest.mark.parametrize("level", LEVELS)
def test_data_has_the_name_that_it_was_given_in_every_step(level: str) -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def error(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return (prediction - target).pow(2).mean()

    with gradscope.watch(sample=False) as scope:
        x = torch.randn(4, 3)
        labels = x.sum(1, keepdim=True)
        for step in range(4):
            optimizer.zero_grad()
            loss = error(model(x), labels)
            (loss if step % 2 else loss * 2).backward()
            optimizer.step()
    for step in (1, 2, 3, 4):
        shown = nodes(picture(scope.trace, level, step=step).graph)
        assert {d["label"] for d in shown if d["kind"] == "input"} <= {"x", "labels"}, step


@pytest.mark.parametrize("level", LEVELS)
def test_an_earlier_round_of_the_same_code_is_one_box(level: str) -> None:
    bias = nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.SGD([bias], lr=0.1)
    with gradscope.watch(sample=False) as scope:
        state = torch.ones(3)
        for _ in range(3):
            optimizer.zero_grad()
            state = torch.tanh(state * 0.5 + bias)
            state.sum().backward(retain_graph=True)
            optimizer.step()
    graph = picture(scope.trace, level, step=2).graph
    (earlier,) = [id for id, data in graph.nodes.items() if data["earlier"]]
    assert "bias" in before(graph, earlier)


@pytest.mark.parametrize("level", LEVELS)
def test_a_repeated_step_is_drawn_with_what_it_took_over_itself(level: str) -> None:
    """Its graph is stored of the first step, in which the state was zeros."""
    cell = nn.GRUCell(2, 3)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        state = torch.zeros(4, 3)
        for _ in range(4):
            rows = torch.randn(5, 4, 2)
            state = state.detach()
            for t in range(5):
                state = cell(rows[t], state)
            optimizer.zero_grad()
            state.sum().backward()
            optimizer.step()
    first = picture(scope.trace, level, step=1).graph
    assert not any(data["earlier"] or data["cut"] for data in nodes(first))
    for step in (3, None):
        graph = picture(scope.trace, level, step=step).graph
        (earlier,) = [id for id, data in graph.nodes.items() if data["earlier"]]
        (cut,) = [id for id, data in graph.nodes.items() if data["cut"] == "detach"]
        assert cut in graph.successors(earlier) and "weight_ih" in str(before(graph, earlier))
        assert "rows" in [data["label"] for data in nodes(graph)]


@pytest.mark.parametrize("at_the_end", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_a_state_that_goes_on_is_drawn_with_the_pass_that_made_it(level: str, at_the_end: bool) -> None:
    """Also beside data that was made once, before all steps, and where the first state came out of another call."""
    cell = nn.GRUCell(2, 3)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    rows = torch.randn(20, 4, 2)
    with gradscope.watch() as scope:
        rows = rows.clone()
        state = torch.zeros(4, 3)
        for start in range(0, 20, 5):
            state = state if at_the_end else state.detach()
            for t in range(start, start + 5):
                state = cell(rows[t], state)
            optimizer.zero_grad()
            state.sum().backward()
            optimizer.step()
            state = state.detach() if at_the_end else state
    assert not any(data["earlier"] for data in nodes(picture(scope.trace, level, step=1).graph))
    for step in (2, 3, None):
        graph = picture(scope.trace, level, step=step).graph
        (earlier,) = [id for id, data in graph.nodes.items() if data["earlier"]]
        (cut,) = [id for id, data in graph.nodes.items() if data["cut"] == "detach"]
        assert cut in graph.successors(earlier) and "weight_ih" in str(before(graph, earlier))
        assert [data["label"] for data in nodes(graph) if data["kind"] == "input"] == ["rows"]


@pytest.mark.parametrize("level", LEVELS)
def test_what_a_call_does_before_its_first_parameter_is_drawn(level: str) -> None:
    """Also in the first round of a loop, which has nothing of it in the graph."""
    message, update = nn.Linear(4, 3), nn.GRUCell(3, 2)

    def rounds(h: torch.Tensor, src: torch.Tensor, dst: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            m = message(torch.cat([h[src], h[dst]], dim=1))
            h = update(torch.zeros(5, 3).index_add(0, dst, m), h)
        return h

    optimizer = torch.optim.SGD([*message.parameters(), *update.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            start = torch.randn(5, 2)
            src, dst = torch.randint(0, 5, (2, 7))
            loss = rounds(start, src, dst).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    graph = picture(scope.trace, level).graph
    assert {d["label"] for d in nodes(graph) if d["kind"] == "input"} >= {"start", "src", "dst"}
    assert not [d for d in nodes(graph) if d["label"] == "input"]
    if level != "op":
        (one,) = [
            d
            for d in nodes(graph)
            if d["label"] in ("m = message(torch.cat([h[src], h[dst]], dim=1))", "message")
        ]
        assert one["count"] == 3


def test_two_calls_of_a_function_are_drawn_alike() -> None:
    """The first one prepares its data before there is a graph, the second one after it."""
    one, two = nn.Linear(3, 1), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)

    def render(net: nn.Module, at: torch.Tensor) -> torch.Tensor:
        scaled = at * 2
        return net(scaled + 1).sum()

    with gradscope.watch() as scope:
        for _ in range(3):
            at = torch.randn(4, 3)
            first = render(one, at)
            second = render(two, at)
            optimizer.zero_grad()
            (first + second).backward()
            optimizer.step()
    labels = Counter(d["label"] for d in nodes(picture(scope.trace, "line").graph))
    assert labels["scaled = at * 2"] == 2 and labels["at"] == 1


@pytest.mark.parametrize("level", LEVELS)
def test_parameters_that_no_pass_reaches_are_in_the_picture(level: str) -> None:
    model = nn.ModuleDict({"body": nn.Linear(3, 1), "aside": nn.Linear(3, 2)})
    model.forward = lambda x: model["body"](x)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 3)).mean().backward()
            optimizer.step()
    assert [finding.code for finding in scope.trace.findings] == ["GS302"]
    graph = picture(scope.trace, level).graph
    lost = {data["label"]: data for data in nodes(graph) if "GS302" in data["effects"]}
    assert lost.keys() >= {"aside.weight", "aside.bias"}
    assert not lost.keys() & {"body.weight", "body.bias"}
    assert any("GS302" in data["causes"] for data in nodes(graph))
    assert all(graph.degree(id) for id in graph)


@pytest.mark.parametrize("level", ["op", "module"])
def test_a_neighbour_on_the_line_is_not_blamed(level: str) -> None:
    one, two = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizer = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(two(one(torch.randn(4, 2)).detach()), torch.ones(4, 1))
            loss.backward()
            optimizer.step()
    shown = nodes(picture(scope.trace, level).graph)
    assert {data["kind"] for data in shown if data["causes"]} == {"cut"}
    assert {data["label"] for data in shown if data["kind"] == "parameter" and data["effects"]} == {
        "one.weight",
        "one.bias",
    }


@pytest.mark.parametrize("level", LEVELS)
def test_a_line_without_tensors_that_a_finding_names_is_there(level: str) -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(4):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    assert "GS201" in [finding.code for finding in scope.trace.findings]
    graph = picture(scope.trace, level).graph
    ((step, data),) = [(id, data) for id, data in graph.nodes.items() if data["kind"] == "place"]
    assert "GS201" in data["causes"] and data["label"] == "optimizer.step()"
    assert any(graph.nodes[b]["kind"] == "backward" for b in graph.successors(step))


def test_the_step_of_the_worst_finding_is_shown() -> None:
    """The first optimizer's steps are wrong; the run ends with the other's."""
    one, two = nn.Linear(2, 1), nn.Linear(3, 1)
    first, second = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (one, two))
    with gradscope.watch() as scope:
        for _ in range(3):
            one(torch.ones(1, 2)).sum().backward()
            first.step()
        for _ in range(3):
            second.zero_grad()
            two(torch.ones(1, 3)).sum().backward()
            second.step()
    shown = picture(scope.trace)
    assert any("GS201" in data["effects"] for data in nodes(shown.graph) if data["kind"] == "backward")
    assert {d["label"] for d in nodes(shown.graph) if d["kind"] == "parameter"} == {"one.weight", "one.bias"}
    assert "step 3 of 6" in shown.view.title and "step 3 of 6 is drawn, for GS201" in shown.notes


def test_a_step_is_shown_rather_than_an_evaluation_that_runs_the_same_lines() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(2, 8), nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.one(x)
            bent = torch.relu(hidden)  # noqa: F841
            shown: torch.Tensor = self.two(hidden)
            return shown

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            optimizer.zero_grad()
            (model(torch.randn(8, 2)) - 1).pow(2).mean().backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(64, 2)).mean()
    assert [finding.code for finding in scope.trace.findings] == ["GS466"]
    shown = picture(scope.trace)
    assert "step 3 of 3" in shown.view.title
    assert any(data["kind"] == "backward" for data in nodes(shown.graph))


def test_a_step_that_is_not_the_last_is_drawn_with_its_reason() -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(40):
            optimizer.zero_grad()
            model(torch.randn(3, 2)).sum().backward()
            optimizer.step()
    (note,) = picture(scope.trace, findings=()).notes
    assert note.endswith("of 40 is drawn, the last that was looked at")
    assert picture(scope.trace, step=2).notes == []


def test_the_step_that_suffers_is_shown_with_what_an_earlier_one_did_to_it() -> None:
    """The samples are detached before the critic's step, and missed in the generator's."""
    generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
    of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            x = generator(torch.randn(4, 2)).detach()
            of_critic.zero_grad()
            (critic(x).mean() - critic(torch.randn(4, 3)).mean()).backward()
            of_critic.step()
            of_generator.zero_grad()
            (-critic(x).mean()).backward()
            of_generator.step()
    finding = scope.findings[0]
    assert finding.code == "GS301" and finding.effect is not None
    shown = picture(scope.trace, "line")
    (cause,) = [data for data in nodes(shown.graph) if "GS301" in data["causes"]]
    (effect,) = [data for data in nodes(shown.graph) if data["kind"] == "backward"]
    assert cause["severs"] and cause["earlier"]
    assert effect["effects"] == ["GS301"] and effect["site"].user.line == finding.effect.user.line


@pytest.mark.parametrize("level", LEVELS)
def test_a_write_has_an_arrow_to_what_it_changes(level: str) -> None:
    weight = torch.ones(3, requires_grad=True)
    with gradscope.watch() as scope:
        kept = weight * 2
        product = kept * kept
        kept.data.zero_()
        product.sum().backward()
    graph = picture(scope.trace, level).graph
    arrows = [(a, b) for a, b, data in graph.edges(data=True) if data["kind"] == "alias"]
    if level != "module":  # there all of it is one box
        ((tail, head),) = arrows
        assert graph.nodes[tail]["writes"] and "kept" in graph.nodes[head]["names"]


def test_a_picture_of_a_deep_model_fits_a_screen_and_opens_on_request() -> None:
    class Block(nn.Module):
        def __init__(self, wide: int) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(4, wide), nn.Linear(wide, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = torch.relu(self.one(x))
            return self.two(hidden) + x

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.third, self.last = (Block(n) for n in (3, 5, 6, 7))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            a = self.first(x)
            b = self.second(a)
            c = self.third(b)
            return self.last(torch.tanh(c + torch.sin(b)))

    model = Model()
    with gradscope.watch() as scope:
        total = torch.zeros(())
        total = total + model(torch.ones(2, 4)).sum()
        total = total * 2
        total = total / 3
        total = total.exp()
        total = total.log()
        total = total.sin()
        total = total.tanh()
        total = total.cos()
        (total * total).backward()
    closed, opened = picture(scope.trace), picture(scope.trace, depth=2)
    lines = {data["label"] for data in nodes(closed.graph)}
    assert {"a = self.first(x)", "b = self.second(a)", "c = self.third(b)"} <= lines
    assert any("`--depth 2`" in note for note in closed.notes), (closed.notes, sorted(lines))
    inner = [data["label"] for data in nodes(opened.graph)]
    assert inner.count("hidden = torch.relu(self.one(x))") == 4


def test_a_picture_a_little_too_large_is_better_than_one_box() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> Any:
            x = torch.relu(self.one(x))
            return self.two(x)

    model = Model()
    with gradscope.watch() as scope:
        loss = model(torch.ones(2, 4)).sum()
        loss.backward()
    for high, level, depth in ((1.1, "line", 1), (1.5, "module", 0)):
        shown = view(scope.trace, extent=lambda shown, large=high: large)
        assert (shown.level, shown.depth) == (level, depth)


def test_what_repeats_before_a_pass_is_counted_in_all_its_rounds() -> None:
    """Equal rounds are stored once; what they made goes on into one that is stored by itself."""
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            seen, rewards = [], []
            for _ in range(12):
                with torch.no_grad():
                    seen.append(model(torch.randn(4)).squeeze(-1))
                rewards.append(torch.randn(()))
            wanted = torch.zeros(12)
            for at in range(12):
                wanted[at] = rewards[at] - seen[at]
            optimizer.zero_grad()
            (model(torch.randn(12, 4)).squeeze(-1) - wanted).square().mean().backward()
            optimizer.step()
    graph = picture(scope.trace, "line").graph
    data = [data for data in nodes(graph) if data["kind"] == "input" and data["shape"] == ()]
    assert 1 <= len(data) <= 2 and sum(d["count"] for d in data) == 12
    lines = {data["label"]: data["count"] for data in nodes(graph) if data["kind"] in ("line", "cut")}
    assert [lines[line] for line in lines if line.startswith(("seen.append", "wanted[at]"))] == [12, 12]


@pytest.mark.parametrize("level", LEVELS)
def test_the_layers_that_a_finding_is_about_are_outlined(level: str) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.stem(x)
            return self.body(hidden)

    net = Net()
    net.stem.requires_grad_(False)
    optimizer = torch.optim.SGD(net.body.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
    assert [finding.code for finding in scope.findings] == ["GS405"]
    graph = picture(scope.trace, level).graph
    (data,) = [data for data in nodes(graph) if "GS405" in data["effects"]]
    assert {"op": "batch_norm", "line": "hidden = self.stem(x)", "module": "stem.1"}[level] in data["label"]


@pytest.mark.parametrize("level", LEVELS)
def test_what_takes_the_result_of_a_called_model_is_not_blamed(level: str) -> None:
    """The finding stands at `model(x)`, a part of the line of the loss."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.norm, self.head = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> Any:
            x = self.norm(self.body(x))
            return self.head(x)

    model = Net()
    model.body.requires_grad_(False)
    model.norm.requires_grad_(False)
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            loss = nn.functional.cross_entropy(model(torch.randn(4, 4)), torch.tensor([0, 1, 0, 1]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert "GS405" in [finding.code for finding in scope.trace.findings]
    shown = picture(scope.trace, level)
    blamed = [data for data in nodes(shown.graph) if "GS405" in data["causes"]]
    groups = [group for group, codes in shown.view.told.items() if "GS405" in codes.causes]
    assert len(blamed) + len(groups) == 1
    assert not any(data["label"].endswith("cross_entropy") for data in blamed)
    if level == "op":  # there is no box around all that a call did
        ties = [
            shown.graph.nodes[b]["label"]
            for _, b, d in shown.graph.edges(data=True)
            if d["kind"] == "finding"
        ]
        assert blamed[0]["kind"] == "place" and ties == ["linear"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_backward_on_the_line_of_a_finding_is_not_marked_in_its_place(level: str) -> None:
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(4):
            x, y = torch.randn(8, 4), torch.randn(8, 4)
            optimizer.zero_grad()
            out = torch.relu(model(x))
            loss = nn.functional.mse_loss(out, y); loss.backward()  # noqa: E702  # fmt: skip
            optimizer.step()
    assert "GS708" in [finding.code for finding in scope.trace.findings]
    marked = [data["kind"] for data in nodes(picture(scope.trace, level).graph) if data["effects"]]
    assert marked and "backward" not in marked


@pytest.mark.parametrize("level", LEVELS)
def test_what_a_call_of_a_finding_checks_on_the_way_is_left_out(level: str) -> None:
    mean = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(mean.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            optimizer.zero_grad()
            drawn = torch.distributions.Normal(mean(torch.ones(2, 4)), torch.ones(2, 4)).sample()
            (drawn * mean.bias).mean().backward()
            optimizer.step()
    assert "GS301" in [finding.code for finding in scope.trace.findings]
    graph = picture(scope.trace, level).graph
    assert any("GS301" in data["causes"] for data in nodes(graph))
    assert not any(data["dtype"] == "bool" for data in nodes(graph))


def test_what_is_summed_up_when_a_run_ends_is_no_step_to_be_drawn() -> None:
    net, target = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch(sample=False) as scope:
        for _ in range(12):
            wanted = target(torch.randn(4, 2))
            loss = (net(torch.randn(4, 2)) - wanted).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
    assert "GS605" in [finding.code for finding in scope.trace.findings]
    shown = picture(scope.trace)
    assert "after the last step" not in shown.view.title
    assert any(data["kind"] == "backward" for data in nodes(shown.graph))


@pytest.mark.parametrize("level", ["line", "module"])
def test_a_finding_about_a_call_stands_in_the_box_around_it(level: str) -> None:
    """An evaluation with gradients on, before the last step and after it."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.norm, self.head = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> Any:
            x = torch.relu(self.norm(self.body(x)))
            return self.head(x)

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def evaluate() -> float:
        model.eval()
        out = model(torch.randn(4, 4))
        model.train()
        return out.argmax(1).float().mean().item()

    with gradscope.watch() as scope:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 4)).pow(2).mean().backward()
            optimizer.step()
            evaluate()
    (finding,) = [f for f in scope.trace.findings if f.code == "GS402"]
    shown = picture(scope.trace, level)
    assert not any(data["kind"] == "place" for data in nodes(shown.graph))
    ((group, codes),) = shown.view.told.items()
    assert (
        finding.cause
        and group.site.location() == finding.cause.location()
        and list(codes.causes) == ["GS402"]
    )
    drawn = dot_text(shown.view)
    where = f" at {place(finding.cause.user)}" if level == "module" else ""
    assert f"▲ GS402{where}" in drawn and "cause of a finding" in drawn


@pytest.mark.parametrize("level", ["line", "module"])
def test_what_a_run_without_optimizer_did_is_counted(level: str) -> None:
    """Its graphs repeat, and each is stored once."""
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    with gradscope.watch() as scope:
        for _ in range(10):
            x = torch.randn(5, 4, requires_grad=True)
            y = net(x).sum()
            y.backward()
    graph = picture(scope.trace, level).graph
    kinds = ("line", "module", "op", "input")
    counts = {data["label"]: data["count"] for data in nodes(graph) if data["kind"] in kinds}
    assert counts and set(counts.values()) == {10}
    (made,) = [id for id, data in graph.nodes.items() if "randn" in data["label"] or data["label"] == "x"]
    assert [data["count"] for _, _, data in graph.out_edges(made, data=True)] == [10]


@pytest.mark.parametrize("level", LEVELS)
def test_a_mode_that_changes_nothing_has_no_frame(level: str) -> None:
    """torch's distributions switch gradients on for what they work out late."""
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            dist = torch.distributions.Categorical(logits=net(torch.randn(5, 4)))
            loss = -(dist.log_prob(dist.sample()) + dist.entropy()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert any(region.kind == "enable_grad" for region in scope.trace.regions.values())
    assert not any(data["region"] is not None for data in nodes(picture(scope.trace, level).graph))


def test_what_was_made_for_a_second_call_is_no_round_of_a_loop() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    with gradscope.watch() as scope:
        one = net(torch.randn(5, 4) * 2)
        other = net(torch.randn(5, 4) * 2)
        (one - other).pow(2).sum().backward()
    graph = picture(scope.trace, "module").graph
    assert [data["count"] for data in nodes(graph) if data["detail"] == "Linear"] == [2, 2]
    assert not any(data["loop"] for _, _, data in graph.edges(data=True))


def test_data_that_is_filled_in_place_has_no_arrow_to_itself() -> None:
    net = nn.Embedding(9, 3)
    with gradscope.watch() as scope:
        net.weight.sum().backward()
        tokens = torch.zeros(4, 6, dtype=torch.long)
        for row in range(4):
            tokens[row, : row + 1] = torch.randint(1, 9, (row + 1,))
        net(tokens).sum().backward()
    graph = picture(scope.trace, "module").graph
    assert any(data["kind"] == "input" for data in nodes(graph))
    assert not any(a == b for a, b in graph.edges())


@pytest.mark.parametrize("level", ["line", "module"])
def test_a_cut_that_the_gradient_goes_past_is_told_inside_its_box(level: str) -> None:
    class Straight(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x + (x.round() - x).detach()

    net = nn.Sequential(nn.Linear(4, 4), Straight(), nn.Linear(4, 2))
    with gradscope.watch() as scope:
        net(torch.randn(5, 4)).sum().backward()
    shown = picture(scope.trace, level)
    (data,) = [data for data in nodes(shown.graph) if data["cut"]]
    assert data["kind"] == level
    drawn = dot_text(shown.view)
    assert "✂ detach inside" in drawn and "no gradient passes" not in drawn and "gradient goes past" in drawn
    assert "✂ detach inside" in mermaid(shown.view)


def test_a_cut_in_a_box_that_something_else_has_a_way_through_says_what_it_keeps_back() -> None:
    tower, predictor = nn.Linear(4, 3), nn.Linear(3, 3)
    with gradscope.watch() as scope:
        one, two = tower(torch.randn(5, 4)), tower(torch.randn(5, 4))
        first, second = predictor(one), predictor(two)
        loss = (first - two.detach()).pow(2).mean() + (second - one.detach()).pow(2).mean()
        loss.backward()
    shown = picture(scope.trace, "line")
    (data,) = [data for data in nodes(shown.graph) if data["cut"]]
    assert data["kind"] == "cut" and sorted(data["kept_from"]) == ["one", "two"]
    for drawn in (dot_text(shown.view), mermaid(shown.view)):
        assert "detach: no gradient for two, one" in drawn and "no gradient passes" not in drawn


def test_what_is_read_for_its_shape_alone_is_no_cut() -> None:
    net = nn.Linear(4, 4)
    with gradscope.watch() as scope:
        x = net(torch.randn(6, 4))
        rows = torch.arange(6)[:, None].expand_as(x) // 2
        torch.zeros(3, 4).scatter_add(0, rows, x).sum().backward()
    assert not any(data["cut"] for data in nodes(picture(scope.trace, "op").graph))


@pytest.mark.parametrize("level", ["line", "module"])
def test_lines_of_a_finding_are_tied_to_its_parameters(level: str) -> None:
    """Nothing else in the picture stands for the line that froze them, or for the one that made the optimizer."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    with gradscope.watch() as scope:
        for parameter in net[0].parameters():
            parameter.requires_grad_(False)
        optimizer = torch.optim.SGD(
            [{"params": net[0].parameters()}, {"params": net[2].parameters(), "lr": 0.1}], 0.2
        )
        for _ in range(3):
            optimizer.zero_grad()
            hidden = torch.tanh(net[0](torch.randn(5, 4)))
            net[2](hidden).pow(2).sum().backward()
            optimizer.step()
    assert [finding.code for finding in scope.trace.findings] == ["GS208"]
    graph = picture(scope.trace, level).graph
    places = [id for id, data in graph.nodes.items() if data["kind"] == "place"]
    ends = [b for a in places for _, b, data in graph.out_edges(a, data=True) if b not in places]
    users = {b for a, b in graph.edges() if graph.nodes[a]["label"] in ("0.weight", "0.bias")}
    assert places and set(ends) == users and len(users) == 1


def test_buffers_have_the_names_of_their_modules() -> None:
    class Shift(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("offset", torch.ones(4))

        def forward(self, x: torch.Tensor) -> Any:
            return x - self.offset

    net = nn.Sequential(Shift(), nn.Linear(4, 4), Shift())
    with gradscope.watch() as scope:
        net(torch.randn(5, 4)).sum().backward()
    graph = picture(scope.trace, "op").graph
    assert {data["label"] for data in nodes(graph) if data["kind"] == "buffer"} == {"0.offset", "2.offset"}


def test_a_buffer_that_was_made_in_the_first_graph_of_the_picture_is_a_buffer() -> None:
    with gradscope.watch() as scope:
        made = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        critic = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(3):
            real, fake = torch.randn(4, 2) + 3, made(torch.randn(4, 3)).detach()
            loss = critic(fake).mean() - critic(real).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    graph = picture(scope.trace, "line").graph
    found = {data["label"] for data in nodes(graph) if data["kind"] == "buffer"}
    assert {"made.1.running_mean", "made.1.running_var"} <= found


def test_a_batch_norm_that_is_made_in_the_step_that_is_drawn_has_buffers() -> None:
    """A teacher that is called once, in the graph in which it was made."""
    with gradscope.watch() as scope:
        teacher = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).requires_grad_(False)
        teacher.eval()
        head = nn.Linear(2, 1)
        head(teacher(torch.randn(4, 3))).mean().backward()
    graph = picture(scope.trace, "line").graph
    found = {data["label"] for data in nodes(graph) if data["kind"] == "buffer"}
    assert found == {"teacher.1.running_mean", "teacher.1.running_var"}


def test_buffers_of_several_models_have_the_names_that_tell_them_apart() -> None:
    online = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    target = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    norm = nn.BatchNorm1d(3)
    with gradscope.watch() as scope:
        x = torch.randn(4, 3)
        (norm(online(x)) - target(x).detach()).square().mean().backward()
    graph = picture(scope.trace, "line").graph
    found = {data["label"] for data in nodes(graph) if data["kind"] == "buffer"}
    assert {"online.1.running_mean", "target.1.running_mean", "norm.running_mean"} <= found


def test_equal_blocks_feed_each_other_once_a_block() -> None:
    """What a block does several times within itself is no way from one to the next."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(8, 24)

        def forward(self, x: torch.Tensor) -> Any:
            one, two, three = (part.view(2, 2, 4).tanh() for part in self.inner(x).chunk(3, 1))
            return x + (one * two * three).view(2, 8)

    net = nn.Sequential(*[Block() for _ in range(6)])
    with gradscope.watch() as scope:
        net(torch.randn(2, 8)).sum().backward()
    graph = picture(scope.trace, "module", depth=1).graph
    (block,) = [id for id, data in graph.nodes.items() if data["detail"] == "Block"]
    assert graph.nodes[block]["count"] == 6
    assert [data["count"] for a, b, data in graph.edges(data=True) if a == b] == [5]


def test_a_level_that_is_asked_for_opens_as_far_as_fits() -> None:
    class Block(nn.Module):
        def __init__(self, width: int, after: int) -> None:
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 16), nn.Linear(16, after)

        def forward(self, x: torch.Tensor) -> Any:
            return self.down(torch.relu(self.up(self.norm(x))))

    net = nn.Sequential(*[Block(4 + n, 5 + n) for n in range(11)])
    with gradscope.watch() as scope:
        net(torch.randn(3, 4)).sum().backward()
    whole = view(scope.trace, "module")
    assert screens(whole) > 1
    fitting = view(scope.trace, "module", extent=screens)
    assert screens(fitting) <= 1 and fitting.level == "module" and size(fitting.graph) > 10
    assert any("opens more" in note for note in fitting.notes)
    assert len(view(scope.trace, "module", extent=screens, depth=2).graph) == len(whole.graph)


def test_what_was_evaluated_after_the_last_step_is_one_box_a_line() -> None:
    """Data of the first round was made before what is shown begins, and the last round is followed by nothing."""
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(5, 4)).sum().backward()
            optimizer.step()
        net.eval()
        right = 0.0
        for _ in range(4):
            x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
            out = net(x)
            right += (out.argmax(1) == y).sum().item()
    assert [finding.code for finding in scope.trace.findings] == ["GS402"]
    graph = picture(scope.trace, "module").graph
    kinds = ("op", "cut", "line", "module", "input")
    counts = [data["count"] for data in nodes(graph) if data["kind"] in kinds]
    assert len(counts) == 6 and set(counts) == {4}


@pytest.mark.parametrize("level", LEVELS)
def test_a_derivative_without_graph_is_marked_where_it_cuts(level: str) -> None:
    """Its call begins a pass too, which is not to blame."""
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            real = torch.randn(6, 4, requires_grad=True)
            (slope,) = torch.autograd.grad(critic(real).sum(), real)
            loss = critic(torch.randn(6, 4)).mean() + 10 * (slope.norm(2, 1) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert [finding.code for finding in scope.trace.findings] == ["GS305"]
    blamed = [data for data in nodes(picture(scope.trace, level).graph) if "GS305" in data["causes"]]
    assert [data["cut"] for data in blamed] == ["grad without create_graph"]


def test_a_list_of_what_a_loop_made_has_all_its_rounds() -> None:
    """The rounds are stored once: of them a stack reads each, the loss of a step only its own."""
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            seen = []
            for _ in range(12):
                with torch.no_grad():
                    seen.append(model(torch.randn(4)).squeeze(-1))
            wanted = torch.stack(seen)
            optimizer.zero_grad()
            (model(torch.randn(12, 4)).squeeze(-1) - wanted).square().mean().backward()
            optimizer.step()
    graph = picture(scope.trace, "line").graph
    (stack,) = [id for id, data in graph.nodes.items() if data["label"].startswith("wanted")]
    assert graph.nodes[stack]["count"] == 1
    assert [data["count"] for _, _, data in graph.in_edges(stack, data=True) if data["kind"] == "flow"] == [
        12
    ]


@pytest.mark.parametrize("folded", [False, True])
def test_what_a_loop_made_and_another_one_takes_goes_there_once_a_round(folded: bool) -> None:
    actor = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(actor.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            states, rewards, returns = [], [], []
            state, total = torch.randn(4), torch.zeros(()) if folded else 0.0
            for _ in range(20):
                with torch.no_grad():
                    act = actor(state)
                states.append(state)
                rewards.append(0.1 * act.squeeze())  # made
                state = 0.9 * state
            for reward in reversed(rewards):
                total = reward + 0.99 * total  # taken
                returns.append(total)
            for _ in range(3):
                value = actor(torch.stack(states)).squeeze(-1)
                optimizer.zero_grad()
                (value - torch.stack(returns)).pow(2).mean().backward()
                optimizer.step()
    graph = picture(scope.trace, "line").graph
    assert not any(data["earlier"] for data in nodes(graph))  # of the first step of a rollout, which has it
    assert sum(data["count"] for data in nodes(graph) if data["label"] == "state") == 20
    made, *_ = [id for id, data in graph.nodes.items() if data["label"].startswith("rewards.append")]
    taken = [id for id, data in graph.nodes.items() if data["label"].startswith("total = reward")]
    ways = [data["count"] for to in taken for tail, _, data in graph.in_edges(to, data=True) if tail == made]
    assert sum(ways) == 20


@pytest.mark.parametrize("level", LEVELS)
def test_how_parameters_were_initialised_is_no_part_of_an_earlier_pass(level: str) -> None:
    with gradscope.watch() as scope:
        model, critic = nn.Linear(4, 1), nn.Linear(4, 1)
        ours, theirs = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, critic))
        with torch.no_grad():
            wanted = model(torch.randn(8, 4))
        for network, optimizer in ((model, ours), (critic, theirs)):
            optimizer.zero_grad()
            (network(torch.randn(8, 4)) - wanted).pow(2).mean().backward()
            optimizer.step()
    graph = picture(scope.trace, level, step=2).graph
    assert any(data["earlier"] for data in nodes(graph))
    assert not any(data["writes"] or "uniform" in data["label"] for data in nodes(graph))


def test_data_without_a_name_is_called_by_what_made_it() -> None:
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.from_numpy(np.ones((5, 3), dtype="float32"))).pow(2).mean().backward()
            optimizer.step()
    (data,) = [data["label"] for data in nodes(picture(scope.trace, "line").graph) if data["kind"] == "input"]
    assert data == 'torch.from_numpy(np.ones((5, 3), dtype="float32"))'


def test_a_loop_that_goes_another_way_by_chance_is_one_box_a_line() -> None:
    embed, cell, out = nn.Embedding(5, 4), nn.GRUCell(4, 4), nn.Linear(4, 5)
    with gradscope.watch() as scope:
        hidden, token, losses = torch.zeros(2, 4), torch.tensor([1, 2]), []
        for given in (True, True, False, True, False, False, True, False):
            hidden = cell(embed(token), hidden)
            scores = out(hidden)
            losses.append(scores.logsumexp(1).mean())
            token = torch.tensor([3, 4]) if given else scores.argmax(1)
        torch.stack(losses).sum().backward()
    drawn = [data for data in nodes(picture(scope.trace, "line").graph) if data["kind"] in ("line", "cut")]
    told = {data["label"]: data["count"] for data in drawn}
    assert len(told) == len(drawn)
    assert told["hidden = cell(embed(token), hidden)"] == told["scores = out(hidden)"] == 8


def test_a_loop_of_different_layers_stays_a_row_of_them() -> None:
    layers = nn.ModuleList(nn.Linear(n, n + 1) for n in range(2, 6))
    with gradscope.watch() as scope:
        x = torch.randn(3, 2)
        for layer in layers:
            x = layer(x)
            x = torch.relu(x)
        x.sum().backward()
    drawn = nodes(picture(scope.trace, "line").graph)
    assert [d["count"] for d in drawn if d["label"] == "x = layer(x)"] == [1] * 4


class Noisy(nn.Module):
    """Between two of its parts it prepares what the one takes and what the other does."""

    def __init__(self) -> None:
        super().__init__()
        self.code, self.embed, self.join = nn.Linear(4, 4), nn.Embedding(9, 4), nn.Bilinear(4, 4, 1)

    def forward(self, x: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        code = self.code(x)
        code = code.unsqueeze(1).expand(2, 3, 4)
        kept = words.clone()
        kept[torch.rand(2, 3) < 0.5] = 0
        out: torch.Tensor = self.join(code, self.embed(kept))
        return out.mean()


def test_what_shares_no_data_is_no_box_together() -> None:
    model = Noisy()
    with gradscope.watch() as scope:
        model(torch.randn(2, 4), torch.ones(2, 3, dtype=torch.int64)).backward()
    graph = picture(scope.trace, "module").graph
    code, words = (
        next(id for id, d in graph.nodes.items() if d["label"] == name) for name in ("code", "embed")
    )
    assert "code" not in before(graph, words) and "embed" not in before(graph, code)
    assert not any(data["loop"] for *_, data in graph.edges(data=True))


def test_lines_outside_a_deep_model_are_drawn_as_the_program_has_them() -> None:
    layers: list[nn.Module] = [layer for _ in range(5) for layer in (nn.Linear(2, 2), nn.Tanh())]
    model = nn.Sequential(nn.Sequential(*layers), nn.Linear(2, 1))
    with gradscope.watch() as scope:
        x = torch.randn(4, 2, requires_grad=True)
        y = model(x)
        slope = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
        fit = (y - 1).square().mean()
        loss = fit + slope.square().mean()
        loss.backward()
    shown = view(scope.trace, extent=screens)
    labels = {data["label"] for _, data in shown.graph.nodes.items()}
    assert shown.level == "module"
    assert {"fit = (y - 1).square().mean()", "loss = fit + slope.square().mean()"} <= labels


@pytest.mark.parametrize("level", LEVELS)
def test_a_parameter_made_anew_at_each_call_is_drawn_once_and_tied_to_what_makes_it(level: str) -> None:
    class Hyper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(2, 9)

        def forward(self, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            w, b = self.net(z).split([6, 3])
            return nn.Parameter(w.view(3, 2)), b

    hyper = Hyper()
    optimizer = torch.optim.SGD(hyper.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(4):
            weight, bias = hyper(torch.randn(2))
            loss = nn.functional.linear(torch.randn(5, 2), weight, bias).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    (finding,) = [f for f in scope.findings if f.code == "GS214"]
    assert len([s for s in finding.subjects if s[0] == "parameter"]) == 4
    graph = picture(scope.trace, level).graph
    (made,) = [
        id for id, data in graph.nodes.items() if "GS214" in data["effects"] and data["label"] == "weight"
    ]
    (cause,) = [id for id, data in graph.nodes.items() if "GS214" in data["causes"]]
    ties = [data for _, _, data in graph.edges(data=True) if data["kind"] == "finding"]
    assert graph.has_edge(cause, made) and not any("no gradient" in data["label"] for data in ties)


def test_a_write_of_what_has_no_name_is_told_only_by_itself() -> None:
    one = nn.Linear(3, 3)
    with gradscope.watch() as scope:
        out = torch.zeros(4, 3)
        out[torch.tensor([0, 2])] += one(torch.randn(2, 3))
        out.sum().backward()
    (written,) = [d for d in nodes(picture(scope.trace, "line").graph) if d["writes"]]
    assert written["writes"] == ["out"]


def test_lines_between_calls_of_a_closed_list_are_one_box() -> None:
    """Else they stand around it like a star: the skips of a U-Net whose blocks differ in size."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = [3, 5, 7, 9]
            self.downs = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
            self.ups = nn.ModuleList(nn.Linear(2 * b, a) for a, b in pairwise(sizes))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            skips = []
            for down in self.downs:
                x = down(x)
                skips.append(x)
            for up in reversed(self.ups):
                x = up(torch.cat([x, skips.pop()], dim=1))
            return x

    net = Net()
    with gradscope.watch() as scope:
        net(torch.randn(2, 3)).sum().backward()
    closed = picture(scope.trace, "module", depth=1).graph
    (joined,) = [data for data in nodes(closed) if data["label"] == "cat"]
    assert joined["count"] == 3
    opened = picture(scope.trace, "module", depth=2).graph
    assert sum(data["count"] for data in nodes(opened) if data["label"] == "cat") == 3
    assert len([data for data in nodes(opened) if data["label"] == "cat"]) == 3  # each between other modules


def test_what_a_box_writes_into_its_own_memory_is_no_write_that_others_see() -> None:
    """`nn.ReLU(inplace=True)` after a layer of the same line, and what `pack_padded_sequence` does in itself."""
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True))
    with gradscope.watch() as scope:
        y = net(torch.randn(2, 4, 3))
        packed = nn.utils.rnn.pack_padded_sequence(y, torch.tensor([2, 4]), True, enforce_sorted=False)
        z = packed.data.cos()
        z += 1
        z.sum().backward()
    line = picture(scope.trace, "line").graph
    assert [(data["label"], data["writes"]) for data in nodes(line) if data["writes"]] == [("z += 1", ["z"])]
    op = picture(scope.trace, "op").graph
    assert {data["label"] for data in nodes(op) if data["writes"]} >= {"relu", "add_"}


def test_several_networks_that_fit_no_screen_in_parts_are_drawn_with_a_box_for_each() -> None:
    def network() -> nn.Module:
        return nn.Sequential(*[nn.Sequential(nn.Linear(2 + n, 3 + n), nn.Tanh()) for n in range(12)])

    one, two, three = network(), network(), network()
    with gradscope.watch() as scope:
        x = torch.randn(4, 2)
        (one(x).sum() + two(x).sum() + three(x).sum()).backward()
    shown = view(scope.trace, extent=screens)
    assert {"one", "two", "three"} <= {data["label"] for data in nodes(shown.graph)}
    assert screens(shown) <= 1 and any("--depth 1" in note for note in shown.notes)


def test_modules_are_shown_where_lines_would_show_a_model_in_one_box(tmp_path: Path) -> None:
    layers = "".join(f"        x = self.p{n}[{k}](x)\n" for n in range(10) for k in range(3))
    made = "".join(f"        self.p{n} = block({n})\n" for n in range(10))
    program = tmp_path / "inception.py"
    program.write_text(
        "import torch\nfrom torch import nn\n"
        "def block(n): return nn.Sequential(nn.Linear(2 + n, 3 + n), nn.Tanh(), nn.LayerNorm(3 + n))\n"
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{made}"
        f"    def _forward(self, x):\n{layers}        return x\n"
        "    def forward(self, x):\n        x = self._forward(x)\n        return x * 2\n"
        "net = Net()\nnet(torch.randn(4, 2)).sum().backward()\n"
    )
    with gradscope.watch() as scope:
        runpy.run_path(str(program))
    closed = view(scope.trace, "line", depth=1).graph
    assert {data["count"] for data in nodes(closed) if data["label"] == "x = self._forward(x)"} == {1}
    assert view(scope.trace, extent=screens).level == "module"
    assert view(scope.trace, extent=screens, depth=2).level == "module"  # "`--depth 2` opens more"


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    made: dict[str, Any] = {}
    for folder, call in (("first", "weight.exp()"), ("second", "weight.detach() * 2")):
        path = tmp_path / folder / "layer.py"
        path.parent.mkdir()
        path.write_text(f"def {folder}(weight):\n    return {call}\n")
        exec(compile(path.read_text(), str(path), "exec"), made)
    weight = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with gradscope.watch() as scope:
        (made["second"](made["first"](weight)) * nn.Parameter(torch.ones(2))).sum().backward()
        optimizer.step()
    details = {data["detail"] for data in nodes(picture(scope.trace, "line").graph)}
    assert {"first/layer.py:2 in first", "second/layer.py:2 in second"} <= details
    assert any("test_story.py:" in detail and "/" not in detail for detail in details)
    assert "cut off at second/layer.py:2" in why(scope.trace, "weight").headline
    (finding,) = [f for f in scope.findings if f.code == "GS301"]
    assert "(second/layer.py:2)" in finding.fix


def test_a_long_line_that_calls_a_model_keeps_the_call_in_its_title() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = torch.tanh(self.one(x))
            return self.two(hidden)

    first_network_of_all, second = Net(), Net()
    x, y = torch.randn(2, 4), torch.tensor([0, 1])
    with gradscope.watch() as scope:
        loss = nn.functional.cross_entropy(
            first_network_of_all(x[:, :]).unsqueeze(-1).squeeze(-1), y, label_smoothing=0.1
        )
        more = nn.functional.cross_entropy(x[:, :3].mul(1.0).add(0.0).squeeze(-1) + second(x).squeeze(-1), y)
        (loss + more).backward()
        near = second(x.mul(1.0).add(0.0).sub(0.0).unsqueeze(-1).squeeze(-1).reshape(2, 4)).square().sum()
        near.backward()
    titles = list(view(scope.trace, "line", step=0, depth=2).clusters.values())
    assert any("first_network_of_all(x[:, :])" in title for title in titles)
    assert any("second(x)" in title and title.startswith("more = nn.fun") for title in titles)
    assert any(title.startswith("near = second(x.mul(1.0).add(") for title in titles)  # nothing twice
    assert all(len(title) <= 60 for title in titles)


def test_a_list_of_modules_that_others_run_between_has_no_frame() -> None:
    class Net(nn.Module):
        def __init__(self, between: bool) -> None:
            super().__init__()
            self.downs = nn.ModuleList([nn.Linear(8, 4), nn.Linear(4, 2)])
            self.norms = nn.ModuleList([nn.LayerNorm(4), nn.LayerNorm(2)])
            self.between = between

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for down, norm in zip(self.downs, self.norms, strict=True):
                x = norm(down(x)) if self.between else down(x)
            return x

    for between, frames in ((True, set()), (False, {"downs"})):
        net = Net(between)
        with gradscope.watch() as scope:
            net(torch.randn(3, 8)).sum().backward()
        shown = view(scope.trace, "module", depth=2)
        around = {id for data in nodes(shown.graph) for id in data["cluster"]}
        assert {shown.clusters[id] for id in around} & {"downs", "norms"} == frames
        assert any(data["label"] == "downs.0" for data in nodes(shown.graph))


@pytest.mark.parametrize("alike", [True, False])
def test_a_box_tells_no_shape_that_only_some_of_its_rounds_gave(alike: bool) -> None:
    sizes = [8] * 31 if alike else range(8, 39)
    parts = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    with gradscope.watch() as scope:
        x = torch.randn(2, 8)
        for part in parts:
            x = F.relu(part(x))
        x.sum().backward()
    boxes = [data for data in nodes(picture(scope.trace, "line").graph) if "part(x)" in data["label"]]
    assert [(data["count"], data["shape"]) for data in boxes] == [(30, (2, 8) if alike else None)]


def test_numbers_that_come_back_in_one_expression_keep_what_gave_them() -> None:
    cell, out = nn.GRUCell(4, 4), nn.Linear(4, 1)
    x = torch.randn(3, 2, 4)
    with gradscope.watch() as scope:
        h = torch.zeros(2, 4)
        states = []
        for t in range(3):
            h = cell(x[t], h)
            states.append(h)
        states[-1] = torch.tensor(states[-1].tolist())
        loss = out(torch.stack(states)).mean()
        loss.backward()
    graph = view(scope.trace, "line", scope.findings).graph
    labels = {id: data["label"] for id, data in graph.nodes.items()}
    (cut,) = [id for id, label in labels.items() if label.startswith("states[-1] = ")]
    assert graph.nodes[cut]["kind"] == "cut" and graph.nodes[cut]["cut"] == "tolist"
    assert [labels[tail] for tail in graph.predecessors(cut)] == ["h = cell(x[t], h)"]
    assert sum(data["count"] for _, data in graph.nodes.items() if data["label"] == "h = cell(x[t], h)") == 3


def test_what_numpy_gives_back_in_one_expression_keeps_what_it_was_given() -> None:
    time, out = nn.Linear(4, 4), nn.Linear(4, 1)

    def told(t: torch.Tensor) -> Any:
        return out(t + 0.0)

    with gradscope.watch() as scope:
        emb = torch.from_numpy(time(torch.randn(2, 4)).detach().numpy())
        print(float(out.weight.sum().detach()))
        loss = told(emb).mean()
        loss.backward()
    graph = view(scope.trace, "line", scope.findings).graph
    (given,) = [id for id, data in graph.nodes.items() if data["kind"] == "input" and data["label"] == "emb"]
    (way,) = graph.edges_to(given)
    assert graph.nodes[way[0]]["kind"] == "cut" and way[2]["severed"] and not way[2]["trainable"]


def test_of_a_line_with_a_box_for_each_round_the_one_that_a_finding_is_about_is_marked() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.out = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            z = torch.tanh(self.gate(x))
            return x + self.out(z), z

    blocks = nn.ModuleList(Block() for _ in range(4))
    skips = [nn.Linear(4, 4) for _ in blocks]
    step = torch.optim.SGD(blocks.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            x, total = torch.randn(2, 4), torch.zeros(2, 4)
            for block, skip in zip(blocks, skips, strict=True):
                x, z = block(x)
                total = total + skip(z)
            step.zero_grad()
            total.square().mean().backward()
            step.step()
    graph = view(scope.trace, "line", scope.findings, depth=0).graph
    at_block = [d for _, d in graph.nodes.items() if d["label"].startswith("x, z = block(x)")]
    assert len(at_block) > 1 and not any(d["kind"] == "place" for d in at_block)
    assert sum("GS302" in d["causes"] for d in at_block) == 1
