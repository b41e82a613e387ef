"""Every optimizer, optimizer hooks, parametrizations and what goes through pickle: unchanged when watched."""

from __future__ import annotations

import copy
import io
import pickle
import pickletools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from corners import alike
from needs import skip_where_lacking
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune
from torch.optim import swa_utils

import gradscope


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def loop(model: nn.Module, optimizer: Any, steps: int = 4) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 3)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "sgd_foreach": lambda p: torch.optim.SGD(p, lr=0.1, foreach=True),
    "sgd_fused": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "sgd_maximize": lambda p: torch.optim.SGD(p, lr=0.1, maximize=True, weight_decay=0.1),
    "adam": lambda p: torch.optim.Adam(p, amsgrad=True),
    "adam_foreach": lambda p: torch.optim.Adam(p, foreach=True),
    "adam_fused": lambda p: torch.optim.Adam(p, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, fused=True),
    "adamax": torch.optim.Adamax,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "rmsprop": lambda p: torch.optim.RMSprop(p, centered=True, momentum=0.9),
    "rprop": torch.optim.Rprop,
    "adagrad": lambda p: torch.optim.Adagrad(p, fused=True),
    "adadelta": torch.optim.Adadelta,
    "asgd": torch.optim.ASGD,
    "adafactor": lambda p: torch.optim.Adafactor(p),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer(name: str) -> None:
    def program() -> Any:
        model = net()
        optimizer = OPTIMIZERS[name](model.parameters())
        losses = loop(model, optimizer)
        return losses, list(model.parameters()), optimizer.state_dict()

    skip_where_lacking("torch.optim.Adafactor" if name == "adafactor" else "")
    scope = alike(program)
    assert [o.steps for o in scope.trace.optimizers.values()] == [4]
    assert all(p.steps == 4 and p.changed for p in scope.trace.parameters)


def muon() -> Any:
    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.Linear(4, 1, bias=False))
    return loop(model, torch.optim.Muon(model.parameters())), list(model.parameters())


def lbfgs() -> Any:
    model = net()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe")
    x = torch.randn(5, 3)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    return [optimizer.step(closure) for _ in range(3)], list(model.parameters())


def closure_by_keyword() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = model(torch.randn(5, 3)).square().mean()
        loss.backward()
        return loss.item()

    return [optimizer.step(closure=closure) for _ in range(3)], list(model.parameters())


def closure_that_fails() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def closure() -> float:
        raise ValueError("closure")

    seen = []
    try:
        optimizer.step(closure)
    except ValueError as error:
        seen.append(str(error))
    return seen, loop(model, optimizer), list(model.parameters())


def sparse_adam() -> Any:
    table = nn.Embedding(5, 2, sparse=True)
    optimizer = torch.optim.SparseAdam(list(table.parameters()))
    for _ in range(3):
        optimizer.zero_grad()
        table(torch.tensor([1, 2])).square().sum().backward()
        optimizer.step()
    return table.weight


def by_hand() -> Any:
    model = net()
    for _ in range(4):
        loss = model(torch.randn(5, 3)).square().mean()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                assert p.grad is not None
                p -= 0.1 * p.grad
                p.grad = None
    return list(model.parameters())


class Signs(torch.optim.Optimizer):
    """An optimizer of the user's own."""

    def __init__(self, params: Any, lr: float = 0.1):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    state["count"] = state.get("count", 0) + 1
                    p.add_(p.grad.sign(), alpha=-group["lr"])
        return loss


class Lookahead:
    """Wraps an optimizer without being one."""

    def __init__(self, inner: Any):
        self.inner = inner
        self.slow = [p.detach().clone() for g in inner.param_groups for p in g["params"]]

    def zero_grad(self) -> None:
        self.inner.zero_grad()

    def step(self) -> None:
        self.inner.step()
        with torch.no_grad():
            for slow, p in zip(
                self.slow, (p for g in self.inner.param_groups for p in g["params"]), strict=True
            ):
                slow.lerp_(p, 0.5)
                p.copy_(slow)


def own_optimizer() -> Any:
    model = net()
    return loop(model, Signs(model.parameters())), list(model.parameters())


def wrapped_optimizer() -> Any:
    model = net()
    return loop(model, Lookahead(torch.optim.Adam(model.parameters()))), list(model.parameters())


def optimizer_hooks() -> Any:
    log: list[Any] = []
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: log.append(("pre", len(args), sorted(kwargs))))
    optimizer.register_step_post_hook(lambda o, args, kwargs: log.append("post"))
    optimizer.register_state_dict_post_hook(lambda o, state: log.append(sorted(state)))
    optimizer.register_load_state_dict_pre_hook(lambda o, state: log.append("load"))
    loop(model, optimizer)
    optimizer.load_state_dict(optimizer.state_dict())
    return log, list(model.parameters())


def global_optimizer_hooks() -> Any:
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    log: list[Any] = []
    model = net()
    handles = [
        register_optimizer_step_pre_hook(lambda o, args, kwargs: log.append(len(args))),
        register_optimizer_step_post_hook(lambda o, args, kwargs: log.append(type(o).__name__)),
    ]
    loop(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for handle in handles:
        handle.remove()
    return log, list(model.parameters())


def schedulers() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=6)
    rates = []
    for _ in range(5):
        loop(model, optimizer, 1)
        scheduler.step()
        rates.append(scheduler.get_last_lr())
    return rates, list(model.parameters())


def averaged_model() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    mean = swa_utils.AveragedModel(model)
    for _ in range(3):
        loop(model, optimizer, 1)
        mean.update_parameters(model)
    return list(mean.parameters()), mean.n_averaged


def groups_and_late_parameters() -> Any:
    model = net()
    optimizer = torch.optim.SGD([{"params": model[0].parameters(), "lr": 0.1}], lr=0.01)
    loop(model[0], optimizer, 1)
    optimizer.add_param_group({"params": model[2].parameters()})
    return loop(model, optimizer), list(model.parameters())


# -- parametrizations ------------------------------------------------------------------------


class Symmetric(nn.Module):
    def forward(self, w: torch.Tensor) -> torch.Tensor:
        return w.triu() + w.triu(1).mT

    def right_inverse(self, w: torch.Tensor) -> torch.Tensor:
        return w.triu()


def parametrized() -> Any:
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    losses = loop(layer, optimizer)
    with parametrize.cached():
        losses += loop(layer, optimizer, 1)
    layer.weight = torch.eye(3)
    parametrize.remove_parametrizations(layer, "weight")
    return losses, list(layer.parameters())


def normed_weights() -> Any:
    layers = [
        parametrizations.weight_norm(nn.Linear(3, 3)), parametrizations.spectral_norm(nn.Linear(3, 3)),
        parametrizations.orthogonal(nn.Linear(3, 3)),
    ]  # fmt: skip
    model = nn.Sequential(*layers)
    return loop(model, torch.optim.SGD(model.parameters(), lr=0.1)), model.state_dict()


def old_normed_weights() -> Any:
    model = nn.Sequential(nn.utils.weight_norm(nn.Linear(3, 3)), nn.utils.spectral_norm(nn.Linear(3, 3)))
    return loop(model, torch.optim.SGD(model.parameters(), lr=0.1)), model.state_dict()


def pruned() -> Any:
    layer = nn.Linear(3, 3)
    prune.l1_unstructured(layer, "weight", amount=0.3)
    losses = loop(layer, torch.optim.SGD(layer.parameters(), lr=0.1))
    prune.remove(layer, "weight")
    return losses, layer.weight


class Averaging(torch.optim.Optimizer):
    """Keeps more in its state than what belongs to a parameter."""

    def __init__(self, params: Any, base: Any):
        super().__init__(params, {})
        self.state["base"], self.state["steps"] = base, 0

    def step(self, closure: Any = None) -> None:
        self.state["base"].step()
        self.state["steps"] += 1


def own_entries_in_the_state() -> Any:
    model = net()
    optimizer = Averaging(model.parameters(), torch.optim.Adam(model.parameters()))
    losses = loop(model, optimizer)
    again = Averaging(model.parameters(), torch.optim.Adam(model.parameters()))
    again.load_state_dict(optimizer.state_dict())
    return losses, loop(model, again), again.state["steps"]


def lazy_modules() -> Any:
    model = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.Linear(4, 1))
    model(torch.randn(5, 3))
    return loop(model, torch.optim.SGD(model.parameters(), lr=0.1)), list(model.parameters())


PROGRAMS: list[Callable[[], Any]] = [
    muon, lbfgs, closure_by_keyword, closure_that_fails, sparse_adam, by_hand, own_optimizer, wrapped_optimizer,
    optimizer_hooks, global_optimizer_hooks, schedulers, averaged_model, groups_and_late_parameters, parametrized,
    normed_weights, old_normed_weights, pruned, own_entries_in_the_state, lazy_modules,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
def test_same_when_watched(program: Callable[[], Any]) -> None:
    alike(program)


# -- copies, pickles -------------------------------------------------------------------------


def trained() -> tuple[nn.Module, Any]:
    torch.manual_seed(0)
    model = net()
    optimizer = torch.optim.Adam(model.parameters())
    loop(model, optimizer)
    return model, optimizer


def saved(thing: Any) -> bytes:
    file = io.BytesIO()
    torch.save(thing, file)
    return file.getvalue()


def everything() -> dict[str, Any]:
    model, optimizer = trained()
    w = torch.randn(3, requires_grad=True)
    out = copy.deepcopy(model)(torch.randn(2, 3))
    return {
        "model": model, "state": model.state_dict(), "optimizer": optimizer, "settings": optimizer.state_dict(),
        "copy": copy.deepcopy(model), "copied optimizer": copy.deepcopy(optimizer), "leaf": w, "out": out.detach(),
        "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 2), "gradient": model[0].weight.grad,  # type: ignore[index]
    }  # fmt: skip


def steps(pickled: bytes) -> list[tuple[str, str]]:
    """What a pickle does, without the addresses that name its storages."""
    return [(op.name, re.sub(r"\d{6,}", "", repr(arg))) for op, arg, _ in pickletools.genops(pickled)]


def test_pickles_are_the_same_with_nothing_of_ours() -> None:
    plain = {name: pickle.dumps(thing) for name, thing in everything().items()}
    with gradscope.watch(sample=False) as scope:
        things = everything()
        watched = {name: pickle.dumps(thing) for name, thing in things.items()}
        within = {name: saved(thing) for name, thing in things.items()}
    assert scope.faults == []
    for name, content in watched.items():
        assert b"gradscope" not in content
        assert b"gradscope" not in within[name]
        assert steps(content) == steps(plain[name]), name


def noted(grad: torch.Tensor) -> torch.Tensor:
    return grad * 2


def copies() -> Any:
    """Copies of what hooks, graphs and errors have touched."""
    model, optimizer = trained()
    model[0].weight.register_hook(noted)  # type: ignore[index, union-attr]
    model.register_forward_hook(len_of_output)
    seen: list[Any] = []
    out = model(torch.ones(2, 3))
    for thing in (out, model, optimizer, model[0].weight, {"all": [model, out.detach()]}):  # type: ignore[index]
        try:
            again = copy.deepcopy(thing)
            seen.append(type(again).__name__)
        except RuntimeError as error:
            seen.append(str(error))
        try:
            seen.append(len(saved(thing)))
        except Exception as error:
            seen.append(str(error))
    twin = copy.deepcopy(model)
    twin(torch.ones(2, 3)).sum().backward()
    out.sum().backward()
    try:
        model(torch.ones(2, 4))
    except RuntimeError as error:
        seen.append(pickle.loads(pickle.dumps(error)))
    return seen, [p.grad for p in [*twin.parameters(), *model.parameters()]], copy.copy(model)[0].weight  # type: ignore[index]


def len_of_output(module: Any, args: Any, out: torch.Tensor) -> torch.Tensor:
    return out + len(out)


@pytest.mark.filterwarnings("ignore:backward hook")
def test_copies_do_what_they_would() -> None:
    alike(copies)


def test_what_was_saved_loads_where_gradscope_is_not(tmp_path: Path) -> None:
    with gradscope.watch(sample=False):
        torch.save(everything(), tmp_path / "all.pt")
    script = (
        "import sys; sys.modules['gradscope'] = None; import torch\n"
        "found = torch.load('all.pt', weights_only=False)\n"
        "print(found['copy'](torch.ones(1, 3)).item(), sorted(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "settings" in done.stdout


def test_a_model_pickled_while_watched_keeps_nothing_alive_or_bound() -> None:
    with gradscope.watch(sample=False):
        model, _ = trained()
        model.eval()
        again = pickle.loads(pickle.dumps(model))
    assert set(vars(model)) == set(vars(net()))
    x = torch.randn(2, 3)
    assert torch.equal(again(x), model(x))
