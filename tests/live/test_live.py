"""`gradscope.why`, `show` and `table` on live tensors: what a person at a prompt asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from in_child import in_child
from torch import nn

import gradscope
from gradscope import session
from gradscope.live.walk import walk
from gradscope.scope import Scope


class Cut(nn.Module):
    """Its first layer is cut off from the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).detach())


@pytest.fixture(autouse=True)
def no_watch_before() -> Iterator[None]:
    session._ended.clear()
    yield
    session._ended.clear()


def test_a_parameter_that_the_loss_does_not_reach() -> None:
    model = Cut()
    loss = model(torch.randn(5, 3)).mean()
    told = gradscope.why(model.first.weight)
    assert "`model.first.weight` has no gradient" in told.headline
    assert any("`loss` does not depend on it" in fact for fact in told.seen)
    assert "detach" in told.fix
    assert str(told) == repr(told) and loss.grad_fn is not None


def test_a_parameter_that_only_waits_for_backward() -> None:
    model = Cut()
    loss = model(torch.randn(5, 3)).mean()
    told = gradscope.why(model.second.weight)
    assert "`loss.backward()` would fill it" in told.fix
    loss.backward()
    norm = model.second.weight.grad.norm().item()
    assert f"norm {norm:.4g}" in gradscope.why(model.second.weight).headline


def test_a_loss_says_which_parameters_are_behind_it() -> None:
    model = Cut()
    loss = model(torch.randn(5, 3)).mean()
    seen = " ".join(gradscope.why(loss).seen)
    assert "not behind it: `model.first.weight` and `model.first.bias`" in seen
    assert gradscope.why(loss, params=model.second).fix == "", "all that was asked about is behind it"


@pytest.mark.parametrize(
    ("tensor", "said"),
    [
        (torch.ones(2), "does not require one"),
        (torch.ones(2, dtype=torch.long), "torch computes none"),
        (torch.ones(2, requires_grad=True), "no backward pass has filled it"),
    ],
)
def test_what_has_no_gradient(tensor: torch.Tensor, said: str) -> None:
    assert said in gradscope.why(tensor).headline


def test_a_gradient_that_is_not_finite() -> None:
    w = torch.zeros(2, requires_grad=True)
    w.sqrt().sum().backward()
    assert "2 of 2 elements are not finite" in gradscope.why(w).headline


def test_where_there_is_no_tensor() -> None:
    with pytest.raises(gradscope.GradscopeError, match="not a str"):
        gradscope.why("layer1")  # type: ignore[arg-type]
    with pytest.raises(gradscope.GradscopeError, match="of which tensor"):
        gradscope.show()


def test_the_graph_has_what_a_walk_of_grad_fn_has() -> None:
    model = Cut()
    loss = model(torch.randn(5, 3)).mean()
    graph = gradscope.show(loss, params=model).graph
    kinds = {data["label"]: data["kind"] for _, data in graph.nodes(data=True)}
    assert kinds["MeanBackward0"] == "grad_fn" and kinds["loss"] == "backward"
    reached = {data["label"] for _, data in graph.nodes(data=True) if data["got_gradient"]}
    assert {"second.weight", "second.bias"} <= reached and "first.weight" not in reached
    assert {"first.weight", "first.bias"} <= set(kinds)


def test_a_graph_deeper_than_the_stack(tmp_path: Path) -> None:
    x = torch.ones(3, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y * 1.0
    picture = gradscope.show(y.sum())
    assert any("of 5,002" in note for note in picture.notes)
    assert picture.render(tmp_path / "deep.svg").read_text().count("MulBackward0") > 100


def test_names_from_a_program_are_escaped(tmp_path: Path) -> None:
    w = torch.ones(2, requires_grad=True)
    text = gradscope.show(w.sum(), params={"<script>": w}).render(tmp_path / "x.svg").read_text()
    assert "<script>" not in text
    assert "<script>" not in gradscope.table({"<script>": w})._repr_mimebundle_()["text/html"]


def test_the_table_of_a_model() -> None:
    model = Cut()
    model.second.bias.requires_grad_(False)
    optimizer = torch.optim.SGD([model.second.weight], lr=0.1)
    model(torch.randn(5, 3)).mean().backward()
    rows = {row.name: row for row in gradscope.table(model)}
    assert rows["first.weight"].grad == "None" and rows["first.weight"].optimizer is False
    assert rows["second.weight"].grad.startswith("norm ") and rows["second.weight"].optimizer is True
    assert rows["second.bias"].requires_grad is False
    assert {row.optimizer for row in gradscope.table(model, [])} == {None}, "none was given"
    assert optimizer.param_groups


class Trainer:
    """Where most programs keep what is asked about: in attributes."""

    def __init__(self) -> None:
        self.model = Cut()
        self.optimizer = torch.optim.SGD(self.model.second.parameters(), lr=0.1)
        self.asked = 0

    @property
    def whole(self) -> bool:
        self.asked += 1
        return True

    def step(self) -> Any:
        self.loss = self.model(torch.randn(5, 3)).mean()
        answers = (
            gradscope.why(self.model.first.weight),
            gradscope.why(self.loss),
            gradscope.table(self.model),
        )
        return *answers, gradscope.show(self.loss)


def test_attributes_and_entries_have_names_and_no_property_is_asked() -> None:
    trainer = Trainer()
    parameter, loss, table, shown = trainer.step()
    assert "`self.model.first.weight` has no gradient" in parameter.headline
    assert any("`self.loss` does not depend on it" in seen for seen in parameter.seen)
    assert "`self.model.second.weight`" in str(loss) and "`self.model.first.bias`" in str(loss)
    assert [row.optimizer for row in table] == [False, False, True, True]
    assert repr(shown).startswith("grad_fn level of self.loss: ") and "object at" not in repr(shown)
    assert trainer.asked == 0
    del trainer.loss
    losses = {"first": trainer.model(torch.randn(5, 3)).mean()}
    assert gradscope.why(losses["first"]).headline.startswith("`losses['first']` has a graph")


def test_a_table_of_more_than_a_model() -> None:
    model = Cut()
    assert [row.name for row in gradscope.table(model.parameters())] == ["0", "1", "2", "3"]
    assert [row.name for row in gradscope.table({"G": model.first, "D": model.second})] == [
        "G.weight", "G.bias", "D.weight", "D.bias",
    ]  # fmt: skip
    for wrong in (3, torch.ones(2), [1, 2], {"lr": 0.1}):
        with pytest.raises(gradscope.GradscopeError):
            gradscope.table(wrong)


def steps(model: nn.Module, asks: bool) -> Scope:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(0)
    with gradscope.watch() as scope:
        for _ in range(4):
            optimizer.zero_grad()
            loss = model(torch.randn(5, 3)).mean()
            if asks:
                gradscope.why(loss), gradscope.show(loss), gradscope.table(model)
            loss.backward()
            if asks:
                assert gradscope.why(model.get_parameter("first.weight")).trace is not None
            optimizer.step()
    return scope


def test_within_and_after_a_watch_the_answer_has_the_lines() -> None:
    model = Cut()
    scope = steps(model, asks=True)
    told = gradscope.why(model.first.weight)
    assert "detach())" in str(told) and "cut off at" in told.headline
    assert str(scope.trace.why("first.weight")) == str(told).rpartition("\n")[0], "but for what is so now"


def test_within_a_watch_nothing_is_said_of_its_end() -> None:
    model = Cut()
    with gradscope.watch() as scope:
        model(torch.randn(5, 3)).mean().backward()
        within = str(gradscope.why(model.first.weight))
    assert "at the end" not in within and "now `.grad` is None" in within
    assert "at the end `.grad` is None" in str(scope.why("first.weight"))


def test_what_was_made_after_a_watch_is_not_told_as_its_namesake_in_it() -> None:
    model = Cut()
    with gradscope.watch() as scope:
        loss = model(torch.randn(5, 3)).mean()
        cut = loss.detach()
        loss.backward()
        seen = gradscope.why(loss), gradscope.why(cut)
    after = gradscope.why(loss), gradscope.why(cut)
    assert all(told.trace is not None for told in (*seen, *after)) and scope
    loss = model(torch.randn(5, 3)).mean()
    cut = torch.ones(3)
    for told in (gradscope.why(loss), gradscope.why(cut), gradscope.why(model.first.weight, loss)):
        assert told.trace is None, told
        assert "backward pass went through it" not in str(told) and "lost at" not in str(told)


def test_between_a_parameter_and_a_loss_a_watch_knows_the_call_that_cuts() -> None:
    model = Cut()
    spare = nn.Linear(3, 3)
    with gradscope.watch():
        spare(torch.ones(3))
        loss = model(torch.randn(5, 3)).mean()
        told = gradscope.why(model.first.weight, loss)
        assert "lost at `detach` (" in told.seen[-1] and "take the value before it" in told.fix
        assert "nothing that was recorded leads from it" in gradscope.why(spare.weight, loss).fix
        assert gradscope.why(model.second.weight, loss).fix == "`loss.backward()` would fill it"


def test_within_and_after_a_watch_nodes_have_their_lines() -> None:
    model = Cut()
    with gradscope.watch() as scope:
        loss = model(torch.randn(5, 3)).mean()
        shown = [gradscope.show(loss)]
    shown.append(gradscope.show(loss))
    later = model(torch.randn(5, 3)).mean()
    for picture in shown:
        places = {data["label"]: data["detail"] for _, data in picture.graph.nodes(data=True)}
        assert places["MeanBackward0"].startswith("test_live.py:") and scope
    unknown = gradscope.show(later)
    assert {data["detail"] for _, data in unknown.graph.nodes(data=True)} == {""}
    assert any("are known to `gradscope run`" in note for note in unknown.notes)


def test_asking_changes_neither_results_nor_findings() -> None:
    torch.manual_seed(1)
    plain, asked = Cut(), Cut()
    asked.load_state_dict(plain.state_dict())
    found = [
        [(f.code, f.severity, f.message) for f in steps(m, a).findings]
        for m, a in ((plain, False), (asked, True))
    ]
    assert found[0] == found[1] and found[0]
    for one, other in zip(plain.parameters(), asked.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_deep_graph_can_be_let_go_of_after_it_was_looked_at() -> None:
    def program() -> int:
        x = torch.ones(1, requires_grad=True)
        y = x
        for _ in range(60_000):
            y = y * 1.0
        told = gradscope.why(x, y)
        gradscope.show(y)
        y.backward()
        del y
        assert any("is not known" in fact for fact in told.seen), told
        return 0

    ended = in_child(program)
    assert ended.status == 0, ended


class Kept(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.variable = x
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2


def test_what_a_custom_function_keeps_is_no_leaf() -> None:
    w = torch.ones(2, requires_grad=True)
    y = Kept.apply(w * 3)
    assert [node.name for node in walk([y]).nodes] == ["KeptBackward", "MulBackward0", "AccumulateGrad"]


def test_saved_bytes_by_line() -> None:
    """What stands in memory between forward and backward: the lines of a watch, else the kinds of nodes."""
    model, x = nn.Linear(8, 16), torch.randn(4, 8)

    def forward() -> torch.Tensor:
        hidden = model(x)
        twice = hidden.relu() + 2
        return twice.exp().mean()

    loss = forward()
    unwatched = gradscope.saved(loss)
    assert {row.place: row.bytes for row in unwatched.rows} == {
        "AddmmBackward0": 4 * 8 * 4, "ReluBackward0": 4 * 16 * 4, "ExpBackward0": 4 * 16 * 4,
    }, "no parameter is counted, nor what `+ 2` makes"  # fmt: skip
    with gradscope.watch() as scope:
        loss = forward()
        watched = gradscope.saved(loss)
        loss.backward()
    first = forward.__code__.co_firstlineno
    lines = {int(row.place.rpartition(":")[2]) - first: row.bytes for row in watched.rows}
    assert lines == {1: 128, 2: 256, 3: 256} and watched.bytes == unwatched.bytes == 640
    assert "together" in str(watched) and not watched.notes and not scope.faults
    gone = gradscope.saved(loss)
    assert gone.bytes == 0 and "freed" in str(gone)
    with pytest.raises(gradscope.GradscopeError):
        gradscope.saved()


def test_saved_bytes_behind_hooks_are_not_unpacked() -> None:
    """To look must not run a checkpoint again."""
    runs = []

    def stretch(x: torch.Tensor) -> torch.Tensor:
        runs.append(x)
        return x.exp()

    x = torch.randn(3, requires_grad=True)
    loss = torch.utils.checkpoint.checkpoint(stretch, x * 1, use_reentrant=False).sum()
    assert any("checkpoint" in note for note in gradscope.saved(loss).notes) and len(runs) == 1
