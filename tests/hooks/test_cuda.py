"""On a GPU: the same numbers, no wait of ours, no memory of ours, and real device mismatches. Skipped without one."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import gradscope

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

Way = Callable[[], AbstractContextManager[object]]
Step = Callable[[], Tensor]
# What waits for the device: calls, and a copy to memory of the host that is not pinned.
WAITS = (
    "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "Memcpy DtoH (Device -> Pageable)",
)  # fmt: skip


@pytest.fixture(autouse=True)
def deterministic(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def full() -> AbstractContextManager[object]:
    return gradscope.watch(sample=False)


# -- programs: each a step that returns all that it has computed ---------------------


def network() -> nn.Module:
    """With batch norm and dropout."""
    layers = [
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(), nn.Linear(288, 5),
    ]  # fmt: skip
    return nn.Sequential(*layers).cuda()


def batch() -> tuple[Tensor, Tensor]:
    return torch.randn(16, 3, 8, 8, device="cuda"), torch.randint(5, (16,), device="cuda")


def all_of(model: nn.Module, loss: Tensor) -> Tensor:
    return torch.cat([loss.detach().float()[None], *(p.detach().flatten() for p in model.parameters())])


def clipped() -> Step:
    model, (x, y) = network(), batch()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return all_of(model, loss)

    return step


def scaled() -> Step:
    """Mixed precision with a gradient scaler, whose scale starts so high that steps are skipped."""
    model, (x, y) = network(), batch()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**22)

    def step() -> Tensor:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return all_of(model, loss)

    return step


def fused() -> Step:
    model, (x, y) = network().to(memory_format=torch.channels_last), batch()
    x = x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def step() -> Tensor:
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return all_of(model, loss)

    return step


def streamed() -> Step:
    """Batches come from pinned memory on a stream of their own, one ahead."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batches = [
        (torch.randn(16, 3, 8, 8).pin_memory(), torch.randint(5, (16,)).pin_memory()) for _ in range(3)
    ]
    side = torch.cuda.Stream()
    taken = 0

    def ahead() -> tuple[Tensor, Tensor]:
        nonlocal taken
        x, y = batches[taken % len(batches)]
        taken += 1
        with torch.cuda.stream(side):
            return x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)

    coming = ahead()

    def step() -> Tensor:
        nonlocal coming
        torch.cuda.current_stream().wait_stream(side)
        x, y = coming
        x.record_stream(torch.cuda.current_stream())
        y.record_stream(torch.cuda.current_stream())
        coming = ahead()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return all_of(model, loss)

    return step


def graphed() -> Step:
    """`make_graphed_callables` of a part, with a part that is not captured."""
    body = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 24)).cuda()
    head = nn.Linear(24, 5).cuda()
    x, y = torch.randn(16, 12, device="cuda"), torch.randint(5, (16,), device="cuda")
    captured = torch.cuda.make_graphed_callables(body, (x.clone(),))
    model = nn.ModuleList([body, head])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(head(captured(x)), y)
        loss.backward()
        optimizer.step()
        return all_of(model, loss)

    return step


def captured_whole() -> Step:
    """Forward, backward and step in one CUDA graph that is replayed."""
    model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 5)).cuda()
    x, y = torch.randn(16, 12, device="cuda"), torch.randint(5, (16,), device="cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True)

    def work() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_loss = work()

    def step() -> Tensor:
        x.normal_()
        y.random_(5)
        graph.replay()
        return all_of(model, static_loss)

    return step


PROGRAMS = [clipped, scaled, fused, streamed, graphed, captured_whole]


def after(program: Callable[[], Step], steps: int, way: Way) -> tuple[Tensor, Tensor]:
    with way():
        torch.manual_seed(0)
        step = program()
        result = step()
        for _ in range(steps - 1):
            result = step()
    return result.cpu(), torch.cuda.get_rng_state()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("way", [full, gradscope.watch], ids=["full", "sampled"])
def test_training_is_bit_equal(program: Callable[[], Step], way: Way) -> None:
    plain, watched = after(program, 12, nullcontext), after(program, 12, way)
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_right_training_raises_no_warning_and_no_fault(program: Callable[[], Step]) -> None:
    with gradscope.watch(sample=False) as scope:
        torch.manual_seed(0)
        step = program()
        for _ in range(6):
            step()
    assert not scope.faults
    assert [f"{f.code} {f.message}" for f in scope.findings if f.severity != "note"] == []


def waits(program: Callable[[], Step], way: Way) -> Counter[str]:
    """What a few steps wait for, the first two left out."""
    from torch.profiler import ProfilerActivity, profile

    with way():
        torch.manual_seed(0)
        step = program()
        step(), step()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
            for _ in range(4):
                step()
    return Counter(event.name for event in profiled.events() if event.name.startswith(WAITS))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("way", [full, gradscope.watch], ids=["full", "sampled"])
def test_watching_waits_for_nothing(
    program: Callable[[], Step], way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, module in list(sys.modules.items()):  # under a profile of the user's nothing is measured
        if name.startswith("gradscope.") and hasattr(module, "profiling"):
            monkeypatch.setattr(module, "profiling", lambda: False)
    plain, watched = waits(program, nullcontext), waits(program, way)
    assert {name: watched[name] - plain[name] for name in watched if watched[name] > plain[name]} == {}


def test_a_tensor_left_on_the_cpu_is_named() -> None:
    with gradscope.watch() as scope:
        model, x = nn.Linear(3, 1).cuda(), torch.randn(2, 3)
        with pytest.raises(RuntimeError):
            model(x)
    assert [f.code for f in scope.findings] == ["GS501"]


@pytest.mark.parametrize("call", ["labels", "tokens"])
def test_an_index_that_a_kernel_refuses_is_told_with_its_line(call: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "from torch import nn\n"
        "table, head = nn.Embedding(10, 8).cuda(), nn.Linear(8, 3).cuda()\n"
        "optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)\n"
        "for turn in range(3):\n"
        f"    tokens = torch.randint({'10 + turn' if call == 'tokens' else 10}, (64,), device='cuda')\n"
        f"    labels = torch.randint({'3 + turn' if call == 'labels' else 3}, (64,), device='cuda')\n"
        "    optimizer.zero_grad()\n"
        "    features = table(tokens)\n"
        "    loss = nn.functional.cross_entropy(head(features), labels)\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "print(loss.item())\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "gradscope", "run", str(script)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1 and "device-side assert" in done.stderr
    assert f"train.py:{9 if call == 'tokens' else 10}" in done.stderr.partition("found:")[0], done.stderr
    assert "0 to 9" in done.stderr if call == "tokens" else "0 to 2" in done.stderr, done.stderr
    assert "fault" not in done.stderr


def test_memory_is_freed_as_in_the_plain_program() -> None:
    def held(way: Way) -> int:
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        with way():
            clipped()()
        return torch.cuda.memory_allocated() - before

    held(nullcontext)  # what the first use of the device keeps
    assert held(full) <= held(nullcontext)


def test_the_peak_of_memory_is_that_of_the_plain_program() -> None:
    def peak(way: Way) -> int:
        model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(4))).cuda()
        x = torch.randn(512, 1024, device="cuda")
        optimizer = torch.optim.Adam(model.parameters())
        with way():
            for turn in range(4):
                if turn == 2:
                    torch.cuda.reset_peak_memory_stats()
                optimizer.zero_grad()
                model(x).pow(2).mean().backward()
                optimizer.step()
        return torch.cuda.max_memory_allocated()

    peak(nullcontext)
    assert peak(full) <= 1.01 * peak(nullcontext)
