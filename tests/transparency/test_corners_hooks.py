"""Hooks of every kind, checkpoint, anomaly mode and exceptions: unchanged when watched."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from corners import alike, names
from torch import nn
from torch.autograd import graph as autograd_graph
from torch.nn.modules import module as global_hooks
from torch.utils.checkpoint import (
    checkpoint,
    checkpoint_sequential,
)


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def gradients(model: nn.Module) -> list[Any]:
    return [p.grad for p in model.parameters()]


# -- module hooks --------------------------------------------------------------------------


def module_hooks() -> Any:
    model = net()
    log: list[Any] = []
    model[0].register_forward_pre_hook(lambda m, args: log.append("pre") or (args[0] * 2,))  # type: ignore[func-returns-value]
    model[1].register_forward_hook(lambda m, args, out: log.append(out.detach()) or out + 1)  # type: ignore[func-returns-value]
    model[2].register_forward_pre_hook(lambda m, args, kwargs: log.append(sorted(kwargs)), with_kwargs=True)
    model[2].register_forward_hook(lambda m, args, kwargs, out: log.append(len(args)), with_kwargs=True)
    model[1].register_full_backward_hook(lambda m, given, out: log.append((given[0], out[0])))
    model[1].register_full_backward_pre_hook(lambda m, out: (out[0] * 3,))
    handle = model.register_forward_hook(lambda m, args, out: log.append("never"))
    handle.remove()
    model(torch.randn(5, 3)).sum().backward()
    return log, gradients(model)


def _halve(module: nn.Module, given: tuple[torch.Tensor], out: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
    return (given[0] * 0.5,)


def module_hook_in_a_pickle() -> Any:
    model = net()
    model[2].register_full_backward_hook(_halve)
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        each(torch.ones(2, 3)).sum().backward()
    return gradients(model), gradients(copy), [hook is _halve for hook in copy[2]._backward_hooks.values()]


def hooks_always_called() -> Any:
    log: list[str] = []

    class Failing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError("no forward today")

    model = Failing()
    model.register_forward_hook(lambda m, args, out: log.append(f"always {out}"), always_call=True)
    try:
        model(torch.ones(1))
    except ValueError as error:
        log.append(str(error))
    return log


def global_module_hooks() -> Any:
    log: list[Any] = []
    handles = [
        global_hooks.register_module_forward_pre_hook(lambda m, args: log.append(("pre", type(m).__name__))),
        global_hooks.register_module_forward_hook(lambda m, args, out: log.append(out.detach())),
        global_hooks.register_module_full_backward_hook(lambda m, given, out: log.append(out[0])),
        global_hooks.register_module_full_backward_pre_hook(lambda m, out: log.append(type(m).__name__)),
        global_hooks.register_module_parameter_registration_hook(lambda m, name, p: log.append(name)),
        global_hooks.register_module_buffer_registration_hook(lambda m, name, b: log.append(name)),
        global_hooks.register_module_module_registration_hook(lambda m, name, sub: log.append(name)),
    ]
    try:
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        model(torch.randn(5, 3)).square().sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return log, gradients(model)


def state_dict_hooks() -> Any:
    log: list[Any] = []
    model = net()
    model.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(prefix))
    model.register_state_dict_post_hook(lambda m, state, prefix, meta: log.append(sorted(state)))
    model.register_load_state_dict_pre_hook(lambda m, state, *rest: log.append(len(state)))
    model.register_load_state_dict_post_hook(lambda m, wrong: log.append(wrong.missing_keys))
    other = net()
    other.load_state_dict(model.state_dict())
    model.load_state_dict(other.state_dict())
    model.load_state_dict(state_dict=other.state_dict(), strict=True)
    nn.Module.load_state_dict(self=model, state_dict=nn.Module.state_dict(self=other))
    return log, model.state_dict()


def hooks_that_record_a_nested_forward() -> Any:
    side = nn.Linear(4, 4)
    model = net()
    model[1].register_forward_hook(lambda m, args, out: out + side(out))
    model(torch.randn(5, 3)).square().sum().backward()
    return gradients(model), gradients(side)


# -- tensor and node hooks -----------------------------------------------------------------


def tensor_hooks() -> Any:
    log: list[Any] = []
    w = torch.randn(3, requires_grad=True)
    w.register_hook(lambda g: log.append(g) or g * 2)  # type: ignore[func-returns-value]
    mid = w * 2
    handle = mid.register_hook(lambda g: log.append("removed"))
    handle.remove()
    mid.register_hook(lambda g: g.clamp(max=0.5))
    mid.retain_grad()
    w.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.clone()))
    mid.square().sum().backward()
    return log, w.grad, mid.grad


def step_in_the_backward() -> Any:
    """The optimizer is stepped from post-accumulate hooks, and gradients go at once."""
    model = net()
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step(p: torch.Tensor) -> None:
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        model(torch.randn(5, 3)).square().mean().backward()
    return list(model.parameters()), gradients(model)


def node_hooks() -> Any:
    log: list[Any] = []
    w = torch.randn(3, requires_grad=True)
    out = (w.exp() * 2).sum()
    node = out.grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    assert node is not None
    node.register_hook(lambda given, got: log.append((given, got)) or (given[0] * 3, None))  # type: ignore[func-returns-value]
    node.register_prehook(lambda got: (got[0] + 1,))
    node.metadata["mine"] = 7
    out.backward()
    return log, w.grad, node.metadata["mine"], node.name()


def multi_grad_hooks() -> Any:
    log: list[Any] = []
    a, b = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    c, d = a * b, a + b
    handle = autograd_graph.register_multi_grad_hook((a, b, c), lambda grads: log.append(list(grads)))
    other = autograd_graph.register_multi_grad_hook((c, d), lambda g: log.append(g), mode="any")
    (c.sum() + d.sum()).backward()
    handle.remove()
    other.remove()
    return log


def gradient_edges() -> Any:
    w = torch.randn(3, requires_grad=True)
    mid = w.exp()
    edge = autograd_graph.get_gradient_edge(mid)
    out = (mid * 2).sum()
    return torch.autograd.grad(out, [edge, w], retain_graph=True), torch.autograd.grad(out, [edge])


def callbacks_at_the_end_of_a_backward() -> Any:
    log: list[str] = []
    w = torch.randn(3, requires_grad=True)

    def hook(grad: torch.Tensor) -> None:
        torch.autograd.Variable._execution_engine.queue_callback(lambda: log.append("end"))

    w.register_hook(hook)
    (w * 2).sum().backward()
    return log, w.grad


def backward_within_a_backward() -> Any:
    w = torch.randn(3, requires_grad=True)
    inner = torch.randn(3, requires_grad=True)

    def hook(grad: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            (inner * grad.detach()).sum().backward()
        return grad * 2

    w.register_hook(hook)
    (w * 2).sum().backward()
    return w.grad, inner.grad


def retained_gradients() -> Any:
    w = torch.randn(3, requires_grad=True)
    mid = w * 2
    mid.retain_grad()
    mid.mul_(3)
    mid.retain_grad()
    mid.sum().backward()
    return mid.grad, w.grad, mid.retains_grad


# -- what autograd saves ---------------------------------------------------------------------


def saved_tensor_hooks() -> Any:
    log: list[Any] = []
    model = net()
    with autograd_graph.saved_tensors_hooks(lambda t: log.append(t.shape) or t.clone(), lambda t: t):  # type: ignore[func-returns-value]
        loss = model(torch.randn(5, 3)).square().mean()
    loss.backward()
    return [tuple(shape) for shape in log], gradients(model)


def saved_on_cpu() -> Any:
    model = net()
    with autograd_graph.save_on_cpu():
        loss = model(torch.randn(5, 3)).square().mean()
    loss.backward()
    return gradients(model)


def saved_hooks_disabled() -> Any:
    with autograd_graph.disable_saved_tensors_hooks("not here"):
        model = net()
        model(torch.randn(5, 3)).sum().backward()
        with autograd_graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass


def mutation_on_saved_allowed() -> Any:
    with autograd_graph.allow_mutation_on_saved_tensors():
        w = torch.randn(3, requires_grad=True)
        mid = w.clone()
        out = mid.exp()
        out2 = (out * mid).sum()
        mid.mul_(2)
        out2.backward()
        return [w.grad, mid.detach() + 1]


def checkpoints() -> Any:
    model = net()
    drop = nn.Dropout()
    x = torch.randn(5, 3, requires_grad=True)
    for reentrant in (False, True):
        out = checkpoint(lambda v: drop(model(v)), x, use_reentrant=reentrant)
        out.square().sum().backward()
    return x.grad, gradients(model)


def checkpoint_variants() -> Any:
    """Without the random state, with a policy of what to keep, with keywords, and failing inside."""
    model = net()
    drop = nn.Dropout()
    x = torch.randn(5, 3, requires_grad=True)
    seen: list[Any] = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        keep = op is torch.ops.aten.mm.default or op is torch.ops.aten.addmm.default
        policies = torch.utils.checkpoint.CheckpointPolicy
        return policies.MUST_SAVE if keep else policies.PREFER_RECOMPUTE

    def contexts() -> Any:
        return torch.utils.checkpoint.create_selective_checkpoint_contexts(policy)

    def failing(v: torch.Tensor, *, scale: float) -> torch.Tensor:
        seen.append(scale)
        if len(seen) == 2:
            raise ValueError("computed again")
        return model(v) * scale  # type: ignore[no-any-return]

    out = checkpoint(lambda v: drop(model(v)), x, use_reentrant=False, preserve_rng_state=False)
    out.square().sum().backward()
    checkpoint(model, x, use_reentrant=False, context_fn=contexts).square().sum().backward()
    loss = checkpoint(failing, x, use_reentrant=False, scale=2.0).sum()
    try:
        loss.backward()
    except ValueError as error:
        seen.append(str(error))
    return seen, x.grad, gradients(model)


def checkpointed_twice() -> Any:
    model = net()

    def inner(v: torch.Tensor) -> Any:
        return checkpoint(model[0], v, use_reentrant=False)

    out = checkpoint(lambda v: model[2](inner(v).tanh()), torch.randn(5, 3), use_reentrant=False)
    out.square().sum().backward()
    return gradients(model)


def checkpointed_training() -> Any:
    blocks = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(4)])
    optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        checkpoint_sequential(blocks, 2, torch.randn(5, 3), use_reentrant=False).square().mean().backward()
        optimizer.step()
    return list(blocks.parameters())


# -- anomaly mode ----------------------------------------------------------------------------


def anomaly_mode() -> Any:
    model = net()
    with torch.autograd.set_detect_anomaly(True):
        model(torch.randn(5, 3)).square().mean().backward()
    with torch.autograd.detect_anomaly(check_nan=False):
        model(torch.randn(5, 3)).square().mean().backward()
    return gradients(model), torch.is_anomaly_enabled()


PROGRAMS: list[Callable[[], Any]] = [
    module_hooks, module_hook_in_a_pickle, hooks_always_called, global_module_hooks, state_dict_hooks,
    hooks_that_record_a_nested_forward, tensor_hooks, step_in_the_backward, node_hooks,
    multi_grad_hooks, gradient_edges, callbacks_at_the_end_of_a_backward,
    backward_within_a_backward, retained_gradients, saved_tensor_hooks, saved_on_cpu,
    saved_hooks_disabled, mutation_on_saved_allowed, checkpoints, checkpoint_variants, checkpointed_twice,
    checkpointed_training, anomaly_mode,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_same_when_watched(program: Callable[[], Any]) -> None:
    alike(program)


def test_anomaly_mode_names_the_users_line(capfd: pytest.CaptureFixture[str]) -> None:
    def program() -> Any:
        w = torch.zeros(3, requires_grad=True)
        with torch.autograd.set_detect_anomaly(True):
            out = w.sqrt() * 0
            out.sum().backward()

    with pytest.warns(UserWarning) as told:
        scope = alike(program)
    shown = [str(one.message) for one in told if "forward call that caused the error" in str(one.message)]
    assert len(shown) == 2
    assert all(
        "out = w.sqrt() * 0" in text and "gradscope" not in text.split("out = w.sqrt")[1] for text in shown
    )
    assert "sqrt" in names(scope)
