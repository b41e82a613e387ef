"""Threads: one at a time is watched, wherever the training runs; what others do is told."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from corners import alike, names
from torch import nn
from torch.utils.data import DataLoader

import gradscope
from gradscope.events import Lane


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def train(model: nn.Module, seed: int = 0, steps: int = 4) -> Any:
    source = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 3, generator=source)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach() for p in model.parameters()]


def in_thread(function: Callable[..., Any], *args: Any) -> Any:
    result: list[Any] = []
    thread = threading.Thread(target=lambda: result.append(function(*args)))
    thread.start()
    thread.join()
    return result[0]


def test_training_in_a_thread_is_recorded() -> None:
    scope = alike(lambda: in_thread(train, net()))
    assert scope.trace.summary["steps"] == 4
    assert {"linear", "tanh", "square"} <= set(names(scope))
    assert sorted(p.name for p in scope.trace.parameters) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert all(p.passes == 4 and p.steps == 4 for p in scope.trace.parameters)
    assert scope.trace.meta["summary"]["unseen_passes"] == 0


def test_findings_are_made_in_a_thread_too() -> None:
    def stale(model: nn.Module) -> Any:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            model(torch.ones(5, 3)).square().mean().backward()
            optimizer.step()
        return list(model.parameters())

    alike(lambda: in_thread(stale, net()), expected=("GS201",))


def test_training_in_one_thread_after_another() -> None:
    def program() -> Any:
        results = [in_thread(train, net(), fold) for fold in range(3)]
        return results, train(net())

    scope = alike(program)
    assert scope.trace.summary["steps"] == 16
    assert scope.trace.meta["summary"]["unseen_passes"] == 0


def test_long_training_in_threads_is_sampled() -> None:
    def program() -> Any:
        return [in_thread(train, net(), fold, 80) for fold in range(2)], train(net(), steps=40)

    scope = alike(program, sample=True)
    assert scope.trace.summary["steps"] == 200


def test_several_threads_at_once_are_told() -> None:
    def program() -> Any:
        models = [net() for _ in range(3)]
        gate = threading.Barrier(3)

        def work(k: int) -> Any:
            gate.wait()
            result = train(models[k], k)
            gate.wait()
            return result

        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(work, range(3)))

    scope = alike(program)
    seen, unseen = scope.trace.summary["passes"], scope.trace.meta["summary"]["unseen_passes"]
    assert seen >= 4
    assert unseen > 0
    assert "other thread" in scope.report()
    lanes = scope.trace.of(Lane)
    assert sum(lane.passes for lane in lanes) == unseen == sum(lane.steps for lane in lanes)
    assert all(len(lane.losses) == lane.passes and not lane.not_finite for lane in lanes)
    assert all("train" in [frame.function for frame in lane.site.stack] for lane in lanes)
    assert f"thread `{lanes[0].thread}`: " in " ".join(scope.report().split())


def test_a_thread_whose_loss_breaks_is_told_first() -> None:
    gate = threading.Barrier(3)

    def work(k: int) -> None:
        weight = torch.ones(3, requires_grad=True)
        for turn in range(300):
            gate.wait()
            (weight * (float("nan") if k == 2 and turn == 5 else 1.0)).sum().backward()
        gate.wait()  # one that ended before the last pass of another would leave the watch to that

    def program() -> None:
        threads = [threading.Thread(target=work, args=(k,), name=f"worker `{k}`\x1b") for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with gradscope.watch() as scope:
        program()
    assert scope.faults == []
    lanes = scope.trace.of(Lane)
    assert len(lanes) == 2
    assert all(lane.passes == 300 and lane.apart == 4 and len(lane.losses) in (74, 75) for lane in lanes)
    told = " ".join(scope.report().split())
    assert "\x1b" not in told
    if broken := [lane for lane in lanes if lane.not_finite]:  # else it is the watched one
        assert [lane.not_finite for lane in broken] == [6]
        assert "thread `worker '2'\\x1b`: 300 passes at" in told
        assert told.index("not finite in pass 6; 0 steps") < told.rindex("thread `worker")


def test_a_thread_beside_the_training_does_not_take_over() -> None:
    def program() -> Any:
        feed: queue.Queue[Any] = queue.Queue(2)

        def produce() -> None:
            source = torch.Generator().manual_seed(1)
            for _ in range(6):
                feed.put(torch.randn(5, 3, generator=source).mul(2).add_(1))
            feed.put(None)

        threading.Thread(target=produce, daemon=True).start()
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        while (x := feed.get()) is not None:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        return list(model.parameters())

    scope = alike(program)
    assert scope.trace.summary["steps"] == 6
    assert all(p.steps == 6 for p in scope.trace.parameters)


def test_backward_in_another_thread_than_the_forward() -> None:
    def program() -> Any:
        model = net()
        loss = model(torch.randn(5, 3)).square().mean()
        in_thread(loss.backward)
        return [p.grad for p in model.parameters()]

    alike(program)


def test_backwards_from_several_threads_into_the_same_leaves() -> None:
    def program() -> Any:
        w = torch.ones(3, requires_grad=True)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda k: (w * k).sum().backward(), range(1, 9)))
        return w.grad

    alike(program)


def test_the_watched_thread_keeps_recording_beside_others_that_clear_gradients() -> None:
    def program() -> Any:
        other = torch.optim.SGD(net().parameters(), lr=0.1)
        stop = threading.Event()

        def clear() -> None:
            while not stop.is_set():
                other.zero_grad()
                torch.optim.SGD([torch.ones(1)], lr=0.1)

        model = net()
        first = train(model, steps=2)
        thread = threading.Thread(target=clear)
        thread.start()
        more = train(model, steps=30)
        stop.set()
        thread.join()
        return first, more

    scope = alike(program)
    assert scope.trace.summary["steps"] == 32


def test_inference_in_threads() -> None:
    def program() -> Any:
        model = net().eval()

        def answer(k: int) -> Any:
            with torch.no_grad():
                return model(torch.full((2, 3), float(k)))

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(answer, range(8)))
        return answers, train(net())

    scope = alike(program)
    assert scope.trace.summary["steps"] == 4


def test_grad_modes_belong_to_their_thread() -> None:
    def program() -> Any:
        model = net()
        with torch.no_grad():
            inside = in_thread(train, model)
            off = torch.is_grad_enabled()
        return inside, off, train(model)

    scope = alike(program)
    assert scope.trace.summary["steps"] == 8


def test_pinned_and_threaded_loading() -> None:
    def program() -> Any:
        data = DataLoader(list(torch.arange(12.0).reshape(4, 3)), batch_size=2)
        model = net()
        for batch in data:
            model(batch).sum().backward()
        return [p.grad for p in model.parameters()]

    alike(program)


def test_a_watch_within_a_thread() -> None:
    def work() -> Any:
        with gradscope.watch(sample=False) as scope:
            result = train(net())
        return result, scope

    torch.manual_seed(0)
    plain = train(net())
    torch.manual_seed(0)
    result, scope = in_thread(work)
    assert result[0] == plain[0]
    assert scope.faults == []
    assert scope.trace.summary["steps"] == 4


def test_a_second_watch_is_a_part_of_the_first_which_goes_on() -> None:
    with gradscope.watch(sample=False) as scope:
        with gradscope.watch():
            pass
        train(net())
    assert scope.faults == []
    assert scope.trace.summary["steps"] == 4


def test_a_watch_in_a_generator_and_in_a_coroutine() -> None:
    scopes = []

    def steps() -> Iterator[Any]:
        with gradscope.watch(sample=False) as scope:
            scopes.append(scope)
            for _ in range(3):
                yield train(net(), steps=1)

    async def later() -> Any:
        with gradscope.watch(sample=False) as scope:
            scopes.append(scope)
            result = train(net(), steps=1)
            await asyncio.sleep(0)
            return result, train(net(), steps=1)

    assert len([train(net(), steps=1) for _ in steps()]) == 3
    asyncio.run(later())
    abandoned = steps()
    next(abandoned)
    abandoned.close()
    assert [scope.faults for scope in scopes] == [[], [], []]
    assert [scope.trace.summary["steps"] for scope in scopes] == [6, 2, 1]
    assert torch._C._len_torch_function_stack() == 0
