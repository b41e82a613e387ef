"""Watches DataLoader workers for random numbers that they all draw alike, or each one in every epoch.

A forked worker is left alone but for this: when it starts and after its first batch it notes
fingerprints of the states that random numbers come from, in a file beside the trace."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private

ARGUMENTS = ("index_queue", "data_queue", "base_seed", "worker_id")  # of torch's worker
DEPTH = 3  # of objects in objects that are searched for generators
MOST = 200  # objects looked at


class Workers(Hook):
    order = 28

    def install(self) -> None:
        recorder = self.recorder
        self.path = Path(f"{recorder.writer.path}-workers")
        self.loaders: dict[int, tuple[int, int]] = {}  # seed → (site of the loader, site of the loop)
        worker = private.worker_module
        self.patch(worker, "_worker_loop", self._loop(worker._worker_loop))
        recorder.signals.loader_iterated.connect(self._iterated)
        recorder.signals.before_end.connect(self._tell)

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        if iterator._num_workers > 0:
            self.loaders[int(iterator._base_seed)] = (made, loop)

    def _loop(self, real: Any) -> Any:
        path = self.path
        signature = inspect.signature(real)

        @functools.wraps(real)  # a worker that is spawned finds torch's own by its name
        def loop(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            _note(given.arguments, path)
            return real(*given.args, **given.kwargs)

        return loop

    def _tell(self) -> None:
        if not self.path.exists():
            return
        rows = [json.loads(line) for line in self.path.read_text().splitlines()]
        self.path.unlink()
        by_seed: dict[int, dict[int, Any]] = {}  # → worker → its row
        for row in rows:
            by_seed.setdefault(row["seed"], {})[row["worker"]] = row
        rounds: dict[tuple[int, int], list[dict[int, Any]]] = {}  # (loader, loop) → of each time, by worker
        alike: set[tuple[int, str]] = set()
        for seed, (made, loop) in self.loaders.items():
            mine = by_seed.get(seed, {})
            rounds.setdefault((made, loop), []).append(mine)
            for name, workers in _alike(mine):
                alike.add((made, name))
                self.recorder.emit("worker_seeds", made, {"state": name, "workers": workers, "loop": loop})
        for (made, loop), times in rounds.items():
            for name in _repeated(times):
                if (made, name) not in alike:
                    data = {"state": name, "workers": sorted(times[0]), "loop": loop, "rounds": len(times)}
                    self.recorder.emit("worker_seeds", made, data)


def _alike(mine: dict[int, Any]) -> Iterator[tuple[str, list[int]]]:
    """What several workers drew alike, with their numbers."""
    for name in _moved([mine]):
        alike: dict[str, list[int]] = {}
        for number, row in sorted(mine.items()):
            if name in row["moved"]:
                alike.setdefault(_course(row, name), []).append(number)
        workers = max(alike.values(), key=len)
        if len(workers) > 1:
            yield name, workers


def _repeated(times: list[dict[int, Any]]) -> Iterator[str]:
    """What each worker drew alike every time that the loader was gone through, more than once."""
    for name in _moved(times) if len(times) > 1 else ():
        by_worker: dict[int, list[str]] = {}
        for mine in times:
            for number, row in mine.items():
                by_worker.setdefault(number, []).append(_course(row, name) if name in row["moved"] else "")
        if all(len(found) == len(times) and len(set(found)) == 1 for found in by_worker.values()):
            yield name


def _moved(times: list[dict[int, Any]]) -> list[str]:
    return sorted({name for mine in times for row in mine.values() for name in row["moved"]})


def _course(row: dict[str, Any], name: str) -> str:
    """From where to where a state went: what is seeded anew for each sample ends elsewhere."""
    return str(row["start"][name] + row["end"][name])


class Noting:
    """A queue that does something before its first call of `name`, and otherwise is what it was.
    (Functions of the user's are not wrapped: their tracebacks would show it.)"""

    def __init__(self, queue: Any, name: str, first: Callable[[], None]):
        self._queue, self._name, self._first = queue, name, first

    def __getattr__(self, name: str) -> Any:
        if name == self._name:
            self._name = ""
            self._first()
        return getattr(self._queue, name)


def _note(given: dict[str, Any], path: Path) -> None:
    """Changes a worker's arguments so that its start and its first batch are noted in `path`."""
    # Since 2.15 the worker is handed a list, and takes the data set out of it.
    [*held] = given["dataset_holder"] if "dataset_holder" in given else [given.get("dataset")]
    indices, results, seed, worker = (given.get(name) for name in ARGUMENTS)
    if seed is None or worker is None or not held:
        return
    start: dict[str, str] = {}

    def begin() -> None:
        start.update(_states(held[0]))

    def end() -> None:
        _write(path, int(seed), worker, start, _states(held.pop()))

    given["index_queue"] = Noting(indices, "get", begin)
    given["data_queue"] = Noting(results, "put", end)


def _write(path: Path, seed: int, worker: int, start: dict[str, str], now: dict[str, str]) -> None:
    """Which states the first batch drew from. What fails here must not reach the worker."""
    try:
        moved = [name for name, state in start.items() if now.get(name) != state]
        row = {"seed": seed, "worker": worker, "start": start, "end": now, "moved": moved}
        with open(path, "ab", buffering=0) as file:
            file.write(json.dumps(row).encode() + b"\n")
    except Exception:
        return


def _states(dataset: Any) -> dict[str, str]:
    """Name → fingerprint of every state that this worker may draw random numbers from."""
    try:
        found = {
            "torch": _digest(torch.get_rng_state().numpy().tobytes()),
            "random": _digest(random.getstate()),
        }
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None:
            found["numpy.random"] = _digest(numpy.random.get_state()[1].tobytes() + _position(numpy.random))
        _own(dataset, "dataset", found, DEPTH, set())
        return found
    except Exception:
        return {}


def _position(source: Any) -> bytes:
    return repr(source.get_state()[2:]).encode()


def _own(holder: Any, name: str, found: dict[str, str], depth: int, seen: set[int]) -> None:
    """Generators that an object holds itself: every worker gets a copy of them."""
    if id(holder) in seen or len(seen) > MOST:
        return
    seen.add(id(holder))
    numpy: Any = sys.modules.get("numpy")
    if isinstance(holder, random.Random):
        found[name] = _digest(holder.getstate())
    elif isinstance(holder, torch.Generator):
        found[name] = _digest(holder.get_state().numpy().tobytes())
    elif numpy is not None and isinstance(holder, numpy.random.Generator):
        found[name] = _digest(holder.bit_generator.state)
    elif numpy is not None and isinstance(holder, numpy.random.RandomState):
        found[name] = _digest(holder.get_state()[1].tobytes() + _position(holder))
    elif depth and not isinstance(holder, (str, bytes, int, float, torch.Tensor, type)):
        if isinstance(holder, (list, tuple)) and len(holder) <= MOST // 4:
            for place, item in enumerate(holder):
                _own(item, f"{name}[{place}]", found, depth - 1, seen)
        for key, item in list(getattr(holder, "__dict__", {}).items()):
            _own(item, f"{name}.{key}", found, depth - 1, seen)


def _digest(state: Any) -> str:
    return hashlib.sha1(state if isinstance(state, bytes) else repr(state).encode()).hexdigest()[:16]
