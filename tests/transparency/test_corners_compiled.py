"""torch.compile, TorchScript and torch.export: same numbers, shown as one op with its parameters."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from corners import alike, names
from torch import nn

import gradscope
from gradscope.events import Backward
from gradscope.scope import Scope

BACKENDS: list[Any] = ["eager", "aot_eager"]
if shutil.which("gcc") or shutil.which("clang"):
    BACKENDS.append(pytest.param("inductor", marks=pytest.mark.nightly))  # it compiles for most of a minute


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def train(call: Callable[..., Any], model: nn.Module, steps: int = 3) -> Any:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = call(torch.randn(5, 3)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, list(model.parameters())


def reached(scope: Scope) -> set[str]:
    """Parameters that the first backward reaches in the captured graph."""
    event = scope.trace.of(Backward)[0]
    graph = scope.trace.graph(event.graph)
    root = graph.values[event.data["roots"][0]].node
    assert root is not None
    found = {graph.nodes[n].parameter for n in graph.reachable(root)}
    return {p.name for p in scope.trace.parameters if p.id in found}


ALL = {"0.weight", "0.bias", "2.weight", "2.bias"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_module(backend: str) -> None:
    def program() -> Any:
        model = net()
        return train(torch.compile(model, backend=backend), model)

    scope = alike(program)
    op = next(op for op in scope.trace.ops if op.name == "Sequential")
    graph = scope.trace.graph(op.graph)
    assert reached(scope) == ALL
    assert {p.name for p in scope.trace.parameters if p.registered} == ALL
    shown = {scope.trace.parameter(v.parameter).name for v in graph.inputs(op) if v.parameter is not None}
    assert shown == ALL
    assert "linear" not in names(scope)


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_function(backend: str) -> None:
    def program() -> Any:
        model = net()

        @torch.compile(backend=backend)
        def call(x: torch.Tensor) -> Any:
            return model(x) * 2

        return train(call, model)

    scope = alike(program)
    assert "call" in names(scope)
    assert len({p.name for p in scope.trace.parameters if p.passes == 3}) == 4


def test_compiled_within_compiled() -> None:
    def program() -> Any:
        model = net()
        inner = torch.compile(model, backend="aot_eager")
        half = torch.compile(lambda x: x / 2, backend="aot_eager")

        @torch.compile(backend="aot_eager", fullgraph=True)
        def call(x: torch.Tensor) -> Any:
            return half(inner(x))

        return train(call, model)

    alike(program)


def test_what_was_compiled_in_the_watch_works_after_it() -> None:
    model = net()
    with gradscope.watch(sample=False) as scope:
        call = torch.compile(lambda x: model(x).tanh(), backend="aot_eager")
        call(torch.ones(2, 3))
        model.compile(backend="aot_eager")
        model(torch.ones(2, 3))
    again = call(torch.ones(2, 3))
    again.sum().backward()
    assert torch.equal(again, model(torch.ones(2, 3)).tanh())
    assert scope.faults == []
    alike(lambda: call(torch.ones(2, 3)))


def test_compiled_over_a_run_that_is_sampled() -> None:
    def program() -> Any:
        model = net()
        return train(torch.compile(model, backend="eager"), model, steps=120), train(model, model, steps=60)

    scope = alike(program, sample=True)
    assert scope.trace.summary["steps"] == 180


def test_compiled_in_place() -> None:
    def program() -> Any:
        model = net()
        model.compile(backend="aot_eager")
        return train(model, model)

    scope = alike(program)
    assert reached(scope) == ALL
    assert "linear" not in names(scope)


def test_a_compiled_part_of_a_plain_module() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fast = torch.compile(nn.Linear(3, 4), backend="aot_eager")
            self.slow = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> Any:
            return self.slow(self.fast(x).tanh())

    def program() -> Any:
        model = Mixed()
        return train(model, model)

    scope = alike(program)
    assert {"Linear", "tanh", "linear"} <= set(names(scope))
    assert all(p.passes == 3 and p.steps == 3 for p in scope.trace.parameters)


def test_compiled_before_the_watch() -> None:
    torch.manual_seed(0)
    model = net()
    call = torch.compile(model, backend="aot_eager")
    free = torch.compile(lambda x: model(x).tanh(), backend="aot_eager")
    call(torch.randn(5, 3)), free(torch.randn(5, 3))
    state = {k: v.clone() for k, v in model.state_dict().items()}

    def program() -> Any:
        model.load_state_dict(state)
        for p in model.parameters():
            p.grad = None
        return train(call, model), train(free, model)

    alike(program)


@pytest.mark.nightly
def test_the_compiler_asked_by_its_own_functions() -> None:
    import torch._dynamo as dynamo  # here: what is loaded before the watch is another case

    def program() -> Any:
        model = net()
        torch.compile(model, backend="eager")(torch.randn(5, 3))
        model(torch.randn(5, 3)).sum().backward()  # after a compiled call the watch goes on
        optimized = dynamo.optimize("eager")(lambda x: model(x).square())
        losses = train(optimized, model)
        explained = dynamo.explain(lambda x: x.sin() * 2)(torch.randn(4))
        return losses, explained.graph_count, explained.graph_break_count

    scope = alike(program)
    assert len(scope.trace.of(Backward)) >= 2


def test_graph_breaks_and_recompilation() -> None:
    def program() -> Any:
        model = net()
        seen = []

        @torch.compile(backend="aot_eager")
        def call(x: torch.Tensor) -> Any:
            out = model(x)
            if out.sum() > 0:
                out = out * 2
            torch._dynamo.graph_break()
            seen.append(len(x))
            return out + 1

        results = [call(torch.randn(n, 3)) for n in (5, 6, 7)]
        sum(r.sum() for r in results).backward()
        return results, seen, [p.grad for p in model.parameters()]

    alike(program)


def test_an_exception_in_compiled_code() -> None:
    def program() -> Any:
        model = net()
        call = torch.compile(model, backend="eager")
        seen = []
        for width in (3, 4, 3):
            try:
                seen.append(call(torch.randn(5, width)).sum())
            except Exception as error:
                seen.append(type(error).__name__)
        return seen

    alike(program)


def test_disabled_and_evaluated() -> None:
    def program() -> Any:
        model = net().eval()
        call = torch.compile(model, backend="aot_eager")
        off = torch.compile(net(), disable=True)
        with torch.no_grad():
            out = call(torch.randn(5, 3))
        with torch.inference_mode():
            more = call(torch.randn(5, 3))
        return out, more, off(torch.randn(5, 3)), torch.compiler.is_compiling()

    alike(program)


def test_compiled_optimizer_step() -> None:
    def program() -> Any:
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        step = torch.compile(optimizer.step, backend="eager")
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(5, 3)).square().mean().backward()
            step()
        return list(model.parameters())

    scope = alike(program)
    assert [o.steps for o in scope.trace.optimizers.values()] == [3]


def test_compiled_training_step() -> None:
    def program() -> Any:
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        @torch.compile(backend="eager")
        def step(x: torch.Tensor) -> Any:
            loss = model(x).square().mean()
            loss.backward()
            return loss.detach()

        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            losses.append(step(torch.randn(5, 3)))
            optimizer.step()
        return losses, list(model.parameters())

    alike(program)


# -- TorchScript -----------------------------------------------------------------------------


def scripted(x: torch.Tensor) -> torch.Tensor:
    if bool(x.sum() > 0):
        return x.relu() * 2
    return x.tanh()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript() -> None:
    def program() -> Any:
        function = torch.jit.script(scripted)
        w = torch.randn(3, requires_grad=True)
        function(w).sum().backward()
        model = net()
        traced = torch.jit.trace(model, torch.ones(1, 3))
        script = torch.jit.script(net())
        return w.grad, train(traced, model), train(script, script), str(traced.graph).count("aten")

    scope = alike(program)
    assert "Sequential" in names(scope)
    assert all(p.passes == 3 and p.steps == 3 for p in scope.trace.parameters if p.registered)


def scripted_without_gradients(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        scale = x.sum()
    return x * scale


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_with_a_grad_mode() -> None:
    def program() -> Any:
        function = torch.jit.script(scripted_without_gradients)
        w = torch.ones(3, requires_grad=True)
        function(w).sum().backward()
        return w.grad

    alike(program)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_that_was_saved(tmp_path: Any) -> None:
    def program() -> Any:
        path = str(tmp_path / "model.pt")
        torch.jit.save(torch.jit.trace(net(), torch.ones(1, 3)), path)
        loaded = torch.jit.load(path)
        return train(loaded, loaded), torch.jit.freeze(loaded.eval())(torch.ones(1, 3))

    alike(program)


# -- export and fx ---------------------------------------------------------------------------


def test_export() -> None:
    def program() -> Any:
        exported = torch.export.export(net(), (torch.randn(5, 3),))
        module = exported.module()
        lowered = exported.run_decompositions()
        return train(module, module), lowered.module()(torch.ones(5, 3)), len(list(exported.graph.nodes))

    scope = alike(program)
    assert all(p.passes == 3 for p in scope.trace.parameters if p.steps)


def test_export_with_sizes_left_open() -> None:
    def program() -> Any:
        many = torch.export.Dim("many")
        exported = torch.export.export(net(), (torch.randn(5, 3),), dynamic_shapes=({0: many},))
        flat = torch.fx.experimental.proxy_tensor.make_fx(
            lambda x: x.sin() * x.shape[0], tracing_mode="symbolic"
        )
        return exported.module()(torch.ones(7, 3)), str(exported), flat(torch.ones(2, 3)).code

    alike(program)


def test_symbolic_trace_and_make_fx() -> None:
    def program() -> Any:
        model = net()
        graph = torch.fx.symbolic_trace(model)
        flat = torch.fx.experimental.proxy_tensor.make_fx(lambda x: model(x).sin())(torch.randn(2, 3))
        return train(graph, graph), flat(torch.ones(2, 3)), graph.code, flat.code

    alike(program)


def test_export_of_a_model_that_trained() -> None:
    def program() -> Any:
        model = net()
        result = train(model, model)
        exported = torch.export.export(model.eval(), (torch.randn(5, 3),))
        return result, exported.module()(torch.ones(5, 3))

    alike(program)


def test_steps_are_seen_once_the_compiler_is_there() -> None:
    """torch 2.2 takes the hooks off the steps of all its optimizers when the compiler is first asked for."""

    def program() -> Any:
        model = nn.Linear(2, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for turn in range(4):
            optimizer.zero_grad()
            model(torch.ones(3, 2)).square().sum().backward()
            optimizer.step()
            if turn == 1:
                torch.compile(model, backend="eager")
        return list(model.parameters())

    assert alike(program).trace.summary["steps"] == 4
