"""On a GPU: the same numbers, no wait of ours, and real device mismatches. Skipped without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import Tensor, nn

import gradscope

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

Way = Callable[[], AbstractContextManager[object]]
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy")


@pytest.fixture(autouse=True)
def deterministic(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def program() -> Callable[[], Tensor]:
    """A model with batch norm and dropout on the GPU, and a step of it."""
    torch.manual_seed(0)
    layers = [
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Flatten(),
        nn.LazyLinear(5),
    ]
    model = nn.Sequential(*layers).cuda()
    x, y = torch.randn(16, 3, 8, 8, device="cuda"), torch.randint(5, (16,), device="cuda")
    model(x)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return torch.cat([loss.detach()[None], *(p.detach().flatten() for p in model.parameters())])

    return step


def after(steps: int, way: Way) -> tuple[Tensor, Tensor]:
    with way():
        step = program()
        result = step()
        for _ in range(steps - 1):
            result = step()
    return result.cpu(), torch.cuda.get_rng_state()


def test_training_is_bit_equal() -> None:
    plain, watched = after(12, nullcontext), after(12, lambda: gradscope.watch(sample=False))
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))


def waits(way: Way) -> Counter[str]:
    """What a few steps wait for, the first two left out."""
    from torch.profiler import ProfilerActivity, profile

    with way():
        step = program()
        step(), step()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
            for _ in range(4):
                step()
    return Counter(event.name for event in profiled.events() if event.name.startswith(WAITS))


def test_watching_waits_for_nothing() -> None:
    plain, watched = waits(nullcontext), waits(lambda: gradscope.watch(sample=False))
    assert {name: watched[name] - plain[name] for name in watched if watched[name] > plain[name]} == {}


def test_a_tensor_left_on_the_cpu_is_named() -> None:
    with gradscope.watch() as scope:
        model, x = nn.Linear(3, 1).cuda(), torch.randn(2, 3)
        with pytest.raises(RuntimeError):
            model(x)
    assert [f.code for f in scope.findings] == ["GS501"]


def test_memory_is_freed_as_in_the_plain_program() -> None:
    def held(way: Way) -> int:
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        with way():
            program()()
        return torch.cuda.memory_allocated() - before

    held(nullcontext)  # what the first use of the device keeps
    assert held(lambda: gradscope.watch(sample=False)) <= held(nullcontext)
