"""A fault of gradscope's own never reaches the program: it is told once, at the end."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import itertools
import os
import pkgutil
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradscope
from gradscope import hooks, session
from gradscope.store import writer

# Every call of the program's goes through these, or the end of the watch is in their hands.
DOORS = {"__torch_function__", "_guarded", "_rates", "fault", "here", "mine", "pause", "uninstall"}
CATCHING = {"fault", "_guarded"}  # who calls these catches what it calls, which has its own turn
FAULTS = [OSError(28, "No space left on device"), RecursionError("too deep"), MemoryError("no more")]


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 2


def train() -> list[Any]:
    """A program that comes by as many probes as fit."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    seen: list[Any] = []
    kept = []
    for _ in range(4):
        optimizer.zero_grad()
        hidden = checkpoint(net, torch.randn(8, 3), use_reentrant=False)
        loss = Double.apply(hidden * hidden).mean()
        hidden.data.add_(0)
        hidden.detach().numpy()
        loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        kept.append(loss)
        seen.append(loss.item())
    total: Any = 0
    for step in range(4):
        total = total + (net[4].weight * step).sum()
    try:
        loss.backward()
        loss.backward()
    except RuntimeError as error:
        seen.append(str(error))
    try:
        torch.ones(2, 3) @ net[0].weight
    except RuntimeError as error:
        seen.append(str(error))
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    y[:2].mul_(3)
    x.register_hook(lambda g: g * 2)
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    seen += [gradient.tolist(), x.grad, net[0].weight.grad.tolist(), torch.autograd.Variable(x).tolist()]
    net.eval()
    with torch.no_grad(), torch.inference_mode():
        seen.append(net(torch.ones(2, 3)).sum().item())
    return [*seen, torch.get_rng_state().sum().item()]


def functions() -> Iterator[tuple[Any, str, Any]]:
    """(owner, name, as it is) of every function and method that runs beside the program."""
    modules = [
        importlib.import_module(m.name) for m in pkgutil.walk_packages(hooks.__path__, f"{hooks.__name__}.")
    ]
    for module in [*modules, session, writer]:
        classes = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
        for owner in [module, *classes]:
            for name, value in list(vars(owner).items()):
                plain = value.__func__ if isinstance(value, staticmethod) else value
                if (
                    not isinstance(plain, FunctionType)
                    or plain.__module__ != module.__name__
                    or name in DOORS
                ):
                    continue
                if not CATCHING & set(plain.__code__.co_names):
                    yield owner, name, value


def wrapped(value: Any, before: Callable[[], None]) -> Any:
    plain = value.__func__ if isinstance(value, staticmethod) else value

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        before()
        return plain(*args, **kwargs)

    return staticmethod(call) if isinstance(value, staticmethod) else call


def calls_in_a_run() -> Counter[int]:
    """How often each of `functions()` is called by `train()`, from the start of the watch on."""
    counts: Counter[int] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        watch = gradscope.watch()
        with watch:
            for number, (owner, name, value) in enumerate(functions()):
                patch.setattr(owner, name, wrapped(value, functools.partial(counts.update, [number])))
            train()
    return counts


def drawn(share: float) -> list[tuple[int, int, int]]:
    """(turn, function, how often it is called in a run) of a part of `functions()`."""
    counts = calls_in_a_run()
    assert len(counts) > 100
    rows = [(turn, *row) for turn, row in enumerate(sorted(counts.items()))]
    seed = os.environ.get("GRADSCOPE_SEED", "12")
    return sorted(random.Random(seed).sample(rows, round(share * len(rows))))


SHARES = [0.08, pytest.param(1.0, marks=pytest.mark.nightly)]


@pytest.mark.drawn(0.6)
@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("error", FAULTS, ids=lambda e: type(e).__name__)
def test_no_probe_can_harm_the_program(error: BaseException, share: float) -> None:
    """Each function in turn raises at its first call, or at one in the middle."""
    plain = train()
    places = list(functions())
    harmed = []
    for turn, number, count in drawn(share):
        owner, name, value = places[number]
        left = [count // 2 if turn % 2 else 0]

        def fail(left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise type(error)(*error.args)

        try:
            with pytest.MonkeyPatch.context() as patch, gradscope.watch() as scope:
                patch.setattr(owner, name, wrapped(value, fail))
                unharmed = train() == plain
            unharmed = unharmed and len(scope.faults) <= 20 and not torch._C._len_torch_function_stack()
        except Exception:
            unharmed = False
        if not unharmed:
            while torch._C._len_torch_function_stack():
                torch._C._pop_torch_function_stack()
            torch.set_grad_enabled(True)
            harmed.append(f"{getattr(owner, '__name__', owner)}.{name}")
    assert not harmed
    with gradscope.watch() as again:
        assert train() == plain
    assert not again.faults


def interrupted(owner: Any, name: str, value: Any, left: int) -> str:
    """Watches `train()` with a Ctrl-C in the call of this function after `left` others. Returns
    what is wrong after it."""
    clean = nn.Module.__call__, torch.autograd.graph._engine_run_backward
    places = [left]

    def interrupt() -> None:
        places[0] -= 1
        if places[0] == -1:
            raise KeyboardInterrupt

    wrong = ""
    with pytest.MonkeyPatch.context() as patch:
        try:
            with gradscope.watch() as scope:
                patch.setattr(owner, name, wrapped(value, interrupt))
                train()
            wrong = "not heard" if places[0] < 0 else ""
        except KeyboardInterrupt:
            pass
    if torch._C._len_torch_function_stack() or not torch.is_grad_enabled() or session.active():
        wrong += " the watch goes on"
    if clean != (nn.Module.__call__, torch.autograd.graph._engine_run_backward):
        wrong += " a patch stays"
    if not scope._session or scope._session.running:
        wrong += " the trace is open"
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
def test_ctrl_c_in_any_probe_reaches_the_program(share: float) -> None:
    places = list(functions())
    harmed = []
    for turn, number, count in drawn(share):
        owner, name, value = places[number]
        wrong = interrupted(owner, name, value, count // 2 if turn % 2 else 0)
        if wrong:
            harmed.append(f"{getattr(owner, '__name__', owner)}.{name}: {wrong}")
            break
    assert not harmed


@pytest.mark.parametrize("place", ["measures.growth.Growth._find_kept", "probes.ties.Ties.install"])
def test_ctrl_c_while_the_watch_begins_or_ends_leaves_nothing(place: str) -> None:
    module, cls, name = place.rsplit(".", 2)
    owner = getattr(importlib.import_module(f"gradscope.hooks.{module}"), cls)
    value = vars(owner)[name]
    clean = nn.Module.__call__

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, wrapped(value, interrupt))
        with pytest.raises(KeyboardInterrupt), gradscope.watch():
            train()
    assert nn.Module.__call__ is clean and session.active() is None
    assert not torch._C._len_torch_function_stack()


class Interrupting:
    """Raises KeyboardInterrupt in the block, before the line with this number of those that note what happens."""

    FILES = frozenset(f"{hooks.__path__[0]}/recorder/{name}.py" for name in ("segments", "state", "values"))

    def __init__(self, at: int):
        self.left = at

    def __enter__(self) -> None:
        sys.settrace(lambda frame, *_: self.line if frame.f_code.co_filename in self.FILES else None)

    def __exit__(self, kind: type | None, *_: object) -> bool:
        sys.settrace(None)
        return kind is KeyboardInterrupt

    def line(self, frame: FrameType, event: str, _: Any) -> Any:
        self.left -= event == "line"
        if not self.left:
            sys.settrace(None)
            raise KeyboardInterrupt
        return self.line


@pytest.mark.drawn(0.2)
@pytest.mark.parametrize("begin", range(1, 46, 9))
def test_ctrl_c_in_the_middle_of_a_note_leaves_no_half_of_it(begin: int) -> None:
    """The program catches it and goes on."""
    for at in itertools.count(begin, 45):
        second = Interrupting(at)
        with gradscope.watch() as scope:
            model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(4):
                with second if step == 1 else contextlib.nullcontext():
                    model(torch.ones(2, 4)).sum().backward()  # no zero_grad
                    optimizer.step()
        assert scope.faults == [] and "GS201" in {finding.code for finding in scope.findings}, at
        if second.left > 0:
            break
    assert at > 100, "it came in time"


@pytest.mark.parametrize("name", ["commit", "add", "set_meta"])
def test_a_writer_that_fails_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = train()
    with gradscope.watch() as scope:
        monkeypatch.setattr(writer.TraceWriter, name, lambda *a: 1 / 0)
        watched = train()
    assert watched == plain
    assert any("division by zero" in fault for fault in scope.faults)
