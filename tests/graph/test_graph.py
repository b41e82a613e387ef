"""The three levels of a graph: what they hold, how they fold, when they give way."""

import inspect

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import gradscope
from gradscope.api import picture
from gradscope.graph import READABLE, size
from gradscope.graph._fold import fold
from gradscope.graph._owners import joined_name
from gradscope.model import GradscopeError
from gradscope.render._style import look_of


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer1 = nn.Linear(4, 8)
        self.layer2 = nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.layer1(x))
        h = h.detach()
        return self.layer2(h)


@pytest.fixture(scope="module")
def detached():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            x = torch.randn(16, 4)
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
    return scope


@pytest.fixture(scope="module")
def blocks():
    model = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(12)])
    with gradscope.watch() as scope:
        model(torch.randn(2, 4)).sum().backward()
    return scope


def kinds(graph, kind):
    return {data["label"]: data for _, data in graph.nodes.items() if data["kind"] == kind}


@pytest.mark.parametrize("level", ["op", "line", "module"])
def test_cut_and_what_it_severs(detached, level):
    shown = picture(detached.trace, level).view
    assert shown.level == level
    (cut,) = kinds(shown.graph, "cut").values()
    assert cut["cut"] == "detach"
    assert set(cut["severs"]) == {"layer1.weight", "layer1.bias"}
    parameters = kinds(shown.graph, "parameter")
    assert {name: data["severed"] for name, data in parameters.items()} == {
        "layer1.weight": True, "layer1.bias": True, "layer2.weight": False, "layer2.bias": False,
    }  # fmt: skip
    assert parameters["layer2.weight"]["got_gradient"]
    assert not parameters["layer1.weight"]["got_gradient"]
    assert kinds(shown.graph, "backward").keys() == {"loss.backward()"}


def test_op_level_has_grad_nodes_and_their_edges(detached):
    graph = picture(detached.trace, "op").graph
    names = [d["label"] for _, d in graph.nodes.items() if d["kind"] == "grad_fn"]
    assert {"AddmmBackward0", "ReluBackward0", "PowBackward0", "MeanBackward0"} <= set(names)
    to_leaf = {
        graph.nodes[b]["label"]
        for _, b, edge in graph.edges(data=True)
        if edge["kind"] == "grad" and graph.nodes[b]["kind"] == "parameter"
    }
    assert {"layer1.bias", "layer2.bias"} <= to_leaf
    assert {d["kind"] for _, _, d in graph.edges(data=True)} == {"flow", "grad", "made"}


def test_a_detach_for_the_log_severs_nothing():
    model = nn.Linear(3, 1)
    with gradscope.watch() as scope:
        loss = model(torch.ones(2, 3)).mean()
        loss.detach()
        loss.backward()
    (cut,) = kinds(picture(scope.trace, "op").graph, "cut").values()
    assert cut["severs"] == ()


def test_the_other_networks_step_is_no_cut():
    """A GAN's discriminator step detaches the generator, which another loss trains."""
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (generator, critic)]
    with gradscope.watch() as scope:
        for _ in range(2):
            fake = generator(torch.randn(4, 2))
            optimizers[0].zero_grad()
            critic(fake).mean().backward()
            optimizers[0].step()
            optimizers[1].zero_grad()
            critic(fake.detach()).mean().backward()
            optimizers[1].step()
    for step in (1, 2, 3, 4):
        for _, data in picture(scope.trace, "op", step=step).graph.nodes.items():
            assert not data["severs"] and not data["severed"]


@pytest.mark.parametrize("critic_first", [True, False])
@pytest.mark.parametrize("level", ["op", "line", "module"])
def test_the_cut_that_takes_the_gradient_is_marked(level, critic_first):
    """Both steps of a GAN detach the generator: right in the critic's, wrong in its own, whichever comes last."""
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    of_generator, of_critic = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (generator, critic))

    def train_critic():
        of_critic.zero_grad()
        fake = generator(torch.randn(4, 2))
        critic(fake.detach()).mean().backward()  # right
        of_critic.step()

    def train_generator():
        of_generator.zero_grad()
        fake = generator(torch.randn(4, 2))
        (-critic(fake.detach()).mean()).backward()  # wrong
        of_generator.step()

    with gradscope.watch() as scope:
        for _ in range(2):
            for train in (train_critic, train_generator)[:: 1 if critic_first else -1]:
                train()
    lines = inspect.getsource(inspect.getmodule(kinds)).splitlines()
    for step in (None, 0):
        nodes = [data for _, data in picture(scope.trace, level, step=step).graph.nodes.items()]
        severing = [data for data in nodes if data["severs"]]
        assert {lines[data["site"].user.line - 1].strip()[-7:] for data in severing} == {"# wrong"}
        assert {name for data in severing for name in data["severs"]} == {
            "generator.weight",
            "generator.bias",
        }
        assert {data["label"] for data in nodes if data["severed"]} == {"generator.weight", "generator.bias"}


def test_equal_blocks_are_folded(blocks):
    modules = kinds(picture(blocks.trace, "module").graph, "module")
    assert {name: data["count"] for name, data in modules.items()} == {"0–11.0": 12, "0–11.1": 12}
    parameters = kinds(picture(blocks.trace, "op").graph, "parameter")
    assert {name: data["count"] for name, data in parameters.items()} == {
        "0–11.0.weight": 12,
        "0–11.0.bias": 12,
    }


def test_a_loop_is_rolled_up():
    cell = nn.RNNCell(2, 3)
    with gradscope.watch() as scope:
        h = torch.zeros(1, 3)
        for _ in range(50):
            h = cell(torch.ones(1, 2), h)
        h.sum().backward()
    graph = picture(scope.trace, "line").graph
    line = kinds(graph, "line")["h = cell(torch.ones(1, 2), h)"]
    assert line["count"] == 50
    loops = [d for a, b, d in graph.edges(data=True) if a == b and d["kind"] == "flow"]
    assert [d["count"] for d in loops] == [49]


def test_too_large_gives_way_to_a_coarser_level():
    model = nn.Linear(3, 3)
    with gradscope.watch() as scope:
        x = torch.randn(2, 3)
        for k in range(100):  # no two rounds alike
            x = model(x)[:, :3].reshape(-1, 3).repeat(1 if k % 7 else 2, 1) + float(k)
            x = torch.sin(x) if k % 3 else x
        x.sum().backward()
    shown = picture(scope.trace, "op").view
    assert shown.level != "op" and size(shown.graph) <= READABLE
    assert "too many to read" in shown.notes[0]
    near = picture(scope.trace, "op", around="weight", depth=0).view
    assert near.level == "op" and len(near.graph) == 1


def test_unknown_things_are_one_error(detached):
    with pytest.raises(GradscopeError, match="no level"):
        picture(detached.trace, "ops")
    with pytest.raises(GradscopeError, match="steps 1 to 3"):
        picture(detached.trace, step=4)
    with pytest.raises(GradscopeError, match=r"did you mean `layer1\.weight`"):
        picture(detached.trace, around="layer1.weigth")


def test_regions_and_frozen_parts_of_a_step():
    trunk, head = nn.Linear(4, 4), nn.Linear(4, 1)
    trunk.requires_grad_(False)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            x = torch.randn(2, 4)
            with torch.no_grad():
                target = head(x) * 0
            optimizer.zero_grad()
            (head(trunk(x)) - target).pow(2).mean().backward()
            optimizer.step()
    parameters = kinds(picture(scope.trace, "op").graph, "parameter")
    assert not parameters["trunk.weight"]["trainable"] and parameters["head.weight"]["trainable"]
    regions = {d["region"] for _, d in picture(scope.trace, "op").graph.nodes.items()} - {None}
    assert [scope.trace.regions[r].kind for r in regions] == ["no_grad"]


@pytest.mark.parametrize(("level", "form"), [("op", "op"), ("line", "line"), ("module", "module")])
def test_what_runs_without_gradients_keeps_its_form_and_is_given_no_graph(level, form):
    teacher, student = nn.Linear(4, 4), nn.Linear(4, 4)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            x = torch.randn(2, 4)
            optimizer.zero_grad()
            with torch.no_grad():
                target = teacher(x)
            (student(x) - target).pow(2).mean().backward()
            optimizer.step()
    graph = picture(scope.trace, level).graph
    (inside,) = [id for id, d in graph.nodes.items() if d["region"] is not None]
    assert look_of(graph.nodes[inside]) == form
    for weight, trained in (("teacher.weight", False), ("student.weight", True)):
        arrows = [
            d
            for tail, _, d in graph.edges(data=True)
            if graph.nodes[tail]["label"] == weight and d["kind"] == "flow"
        ]
        assert [d["trainable"] for d in arrows] == [trained]


def test_frozen_is_what_is_frozen_in_the_step_that_is_drawn():
    """Also where the step begins with what is left of the one before, in which others were."""
    made, judge = nn.Linear(4, 3), nn.Linear(3, 1)
    makes, judges = (torch.optim.SGD(net.parameters(), lr=0.01) for net in (made, judge))
    with gradscope.watch() as scope:
        for _ in range(4):
            made.requires_grad_(False)
            judge.requires_grad_(True)
            judges.zero_grad()
            right = torch.nn.functional.softplus(-judge(torch.randn(8, 3))).mean()
            wrong = torch.nn.functional.softplus(judge(made(torch.randn(8, 4)))).mean()
            right.backward()
            wrong.backward()
            judges.step()
            assert (right + wrong).item() > 0
            made.requires_grad_(True)
            judge.requires_grad_(False)
            makes.zero_grad()
            torch.nn.functional.softplus(-judge(made(torch.randn(8, 4)))).mean().backward()
            makes.step()
    for step, trained in ((7, "judge"), (8, "made")):
        shown = kinds(picture(scope.trace, "op", step=step).graph, "parameter")
        assert {name.partition(".")[0] for name, data in shown.items() if data["trainable"]} == {trained}


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("abc", [[0], [1], [2]]),
        ("aaaa", [[0, 1, 2, 3]]),
        ("xababab", [[0], [1, 3, 5], [2, 4, 6]]),
        ("abab", [[0], [1], [2], [3]]),  # twice is no loop
        ("aaabaaabaaab", [[0, 1, 2, 4, 5, 6, 8, 9, 10], [3, 7, 11]]),
    ],
)
def test_fold(text, groups):
    assert fold(text) == groups


def test_two_large_blocks_fold_but_not_two_rounds():
    parts = ["a1", "b1", "c1", "d1", "e1", "a2", "b2", "c2", "d2", "e2"]
    assert fold("abcdeabcde", parts) == [[0, 5], [1, 6], [2, 7], [3, 8], [4, 9]]
    assert fold("abcdeabcde", parts[:5] * 2) == [[i] for i in range(10)]
    assert fold("abcabc", ["a1", "b1", "c1", "a2", "b2", "c2"]) == [[i] for i in range(6)]


def test_two_equal_blocks_of_a_model_fold():
    def block():
        return nn.Sequential(
            nn.Linear(4, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 4), nn.Tanh(), nn.GELU()
        )

    model = nn.Sequential(block(), block())
    with gradscope.watch() as scope:
        model(torch.randn(2, 4)).sum().backward()
    boxes = kinds(picture(scope.trace, "module").graph, "module")
    assert len(boxes) == 6
    assert all(data["count"] == 2 for data in boxes.values())


def test_islands_are_left_out_but_a_lost_part_is_not():
    model, aside = nn.Linear(3, 1), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *aside.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            x = torch.randn(4, 3)
            loss = model(x).pow(2).mean()
            lost = aside(x)
            loss.backward()
            with torch.no_grad():
                total = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
            optimizer.step()
    assert lost is not None and total is not None
    shown = picture(scope.trace, "op", findings=[]).view
    ops = {data["label"] for _, data in shown.graph.nodes.items() if data["kind"] in ("op", "cut")}
    assert not any("norm" in label or "stack" in label for label in ops)
    assert "left out" in shown.notes[0]
    assert len([label for label in ops if "linear" in label]) == 2
    assert any(
        "norm" in str(d["names"]) for _, d in picture(scope.trace, "op", around="total").graph.nodes.items()
    )


def test_nothing_is_left_out_without_a_backward():
    with gradscope.watch() as scope:
        nn.Linear(3, 1)(torch.randn(4, 3)).mean()
        torch.ones(3).sum()
    shown = picture(scope.trace, "op", findings=[]).view
    assert shown.notes == []
    assert any(data["label"].endswith("sum") for _, data in shown.graph.nodes.items())


def test_data_preparation_is_one_box():
    model = nn.Linear(3, 1)
    rows = [torch.randn(3).numpy() for _ in range(8)]
    with gradscope.watch() as scope:
        loss = model(torch.ones(2, 3)).mean()
        x = torch.stack([torch.from_numpy(row) for row in rows]).mul(2)
        (loss + model(x).mean()).backward()
    graph = picture(scope.trace, "module", findings=[]).graph
    (box,) = (data for label, data in kinds(graph, "input").items() if label.startswith("data"))
    assert box["label"] == "data x" and box["shape"] == (8, 3)
    assert not any(data["shape"] == (3,) for data in kinds(graph, "input").values())


def test_a_module_without_state_called_at_two_places_is_two_boxes():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.act = nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()

        def forward(self, x):
            x = self.act(self.first(x))
            return self.act(self.second(x))

    with gradscope.watch() as scope:
        Twice()(torch.randn(2, 2)).sum().backward()
    graph = picture(scope.trace, "module").graph
    labels = [data["label"] for _, data in graph.nodes.items() if data["kind"] == "module"]
    assert sorted(labels) == ["act", "act", "first", "second"]
    assert not any(data["loop"] for _, _, data in graph.edges(data=True))


def test_joined_name():
    assert joined_name(["b.0.w", "b.1.w", "b.2.w"]) == "b.0–2.w"
    assert joined_name(["0.w", "2.w", "4.w", "6.w"]) == "0,2…6.w"
    assert joined_name(["b.5.gate.w", "b.5.in.w", "b.5.out.w"]) == "b.5.gate … out.w"
    assert joined_name(["b.5.ln.w", "b.5.mlp.fc.w"]) == "b.5.ln.w … mlp.fc.w"
    assert joined_name(["weight", "bias"]) == "weight … bias" and joined_name(["a", "a.b"]) == "a … a.b"
    assert joined_name(["same", "same"]) == "same"


def test_names_of_values():
    with gradscope.watch() as scope:
        images, labels = torch.randn(2, 3), torch.ones(2)
        left, right = images.chunk(2, dim=1)
        left += 1
        total = sum_of(left)
        total = [total + labels.sum(), right][0]
    assert total is not None
    from gradscope.graph import flow_of

    flow = flow_of(scope.trace)
    names = {flow.ops[op].name: flow.name(v) for v, op in enumerate(flow.maker) if op is not None}
    assert names["randn"] == "images" and names["ones"] == "labels"
    assert names["add_"] == "left"
    assert {flow.name(v) for v, op in enumerate(flow.maker) if op and flow.ops[op].name == "chunk"} == {
        "left",
        "right",
    }
    assert names["prod"] == "total"  # returned by a function, assigned by its caller
    assert names["add"] is None


def sum_of(x):
    y = x * 2
    return y.prod()


def twice(x):
    return x.mean(0) * 2


def test_what_is_made_as_it_is_unpacked_has_the_name_of_its_target():
    pairs = [(torch.randn(1, 3), torch.ones(1)) for _ in range(4)]
    with gradscope.watch() as scope:
        for _ in range(2):
            states, rewards = map(torch.cat, zip(*pairs, strict=True))
            doubled, halved = map(twice, (states, states))
        low, high = torch.stack([doubled, halved])
    assert low is not None and high is not None and rewards is not None
    from gradscope.graph import flow_of

    flow = flow_of(scope.trace)
    names = {}
    for value, op in enumerate(flow.maker):
        if op is not None:
            names.setdefault(flow.ops[op].name, []).append(flow.name(value))
    assert names["cat"] == ["states", "rewards"] * 2
    assert names["mul"] == ["doubled", "halved"] * 2
    assert names["unbind"] == ["low", "high"]


class Scored(nn.Module):
    def __init__(self):
        super().__init__()
        self.pair, self.out = nn.Bilinear(3, 3, 4), nn.Linear(4, 2)

    def forward(self, left, right):
        return self.out(self.pair(left, right))


def test_data_is_named_however_it_is_handed_over():
    """Moved or cast on the way, in a dict or a list, to a function of torch's, out of a nested target."""
    model, other, single = Scored(), nn.Bilinear(3, 3, 2), nn.Linear(3, 2)
    both = [torch.randn(5, 3), torch.randn(5, 3)]
    pairs = [((torch.randn(5, 3), torch.randn(5, 3)), torch.randn(5, 2))]
    batch, labels = {"label": torch.arange(5) % 2}, torch.arange(5) % 2
    samples = torch.randn(5, 3)
    with gradscope.watch() as scope:
        loss = F.cross_entropy(model(*both), batch["label"])
        loss = loss + F.cross_entropy(single(samples.to("cpu").float()), labels.to("cpu"))
        for (first, second), target in pairs:
            loss = loss + F.mse_loss(other(first, second), target)
        loss.backward()
    known = {data["label"] for _, data in picture(scope.trace, "op").graph.nodes.items()}
    assert {"left", "right", "batch['label']", "samples", "labels", "first", "second", "target"} <= known
    assert "input" not in known
