"""Runs a program plain and watched, and holds that nothing but the watching differs, and that the
graph below every root of a backward pass is captured as it is."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from needs import skip_where_lacking
from programs import compare_graphs
from warm import python
from witness import Check, graph_below

import gradscope
from gradscope.hooks._torch import backward_doors
from gradscope.scope import Scope

Program = Callable[[], Any]


def fingerprint(thing: Any) -> Any:
    """What a program's result is made of, comparable bit by bit."""
    if isinstance(thing, torch.Tensor):
        with torch._C.DisableTorchFunction():
            return _tensor(thing)
    if isinstance(thing, dict):
        return {key: fingerprint(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [type(thing).__name__, *map(fingerprint, thing)]
    if isinstance(thing, BaseException):
        return [type(thing).__name__, str(thing)]
    return thing


def _tensor(t: torch.Tensor) -> Any:
    facts = [type(t).__name__, str(t.dtype), str(t.device), str(t.layout), t.requires_grad]
    facts.append(type(t.grad_fn).__name__)
    if t.is_nested:
        return [*facts, [_tensor(part) for part in t.detach().unbind()]]
    facts.append(tuple(t.shape))
    if t.device.type == "meta" or type(t).__name__ == "FakeTensor":
        return facts
    plain = t.detach()
    if t.layout is not torch.strided:
        plain = plain.to_dense()
    return [*facts, plain.resolve_conj().contiguous().cpu().view(torch.uint8).flatten().tolist()
            if plain.numel() and plain.dim() else str(plain.tolist())]  # fmt: skip


def outcome(program: Program) -> Any:
    """Result or exception of a run from the same seed, with the state it leaves behind."""
    torch.manual_seed(0)
    random.seed(0)
    try:
        result = fingerprint(program())
    except Exception as error:
        result = fingerprint(error)
    state = torch.get_rng_state().tolist()
    return result, state, random.random(), torch.is_grad_enabled(), torch._C._len_torch_function_stack()


@contextmanager
def checked(scope: Scope) -> Iterator[list[Check]]:
    """Gathers the true graph below the roots of each pass that the watched thread starts."""
    checks: list[Check] = []
    assert scope._session is not None
    recorder = scope._session.recorder

    def note(roots: Any) -> None:
        busy = recorder.thread != threading.get_ident() or recorder.paused or recorder.depth
        if busy or not recorder.segment.looked:
            return
        with torch._C.DisableTorchFunction():
            for root in [t for t in roots if isinstance(t, torch.Tensor) and t.grad_fn is not None]:
                entry = recorder.live.find(root)
                if entry is not None and entry.serial >= 0:
                    text = f"pass {recorder.passes + 1}"
                    checks.append(Check(graph_below(root.grad_fn), entry.serial, entry.index, text))

    doors = backward_doors()
    stood = [getattr(owner, name) for owner, name, _, _ in doors]

    def door_of(engine: Any) -> Any:
        def _engine_run_backward(roots: Any, *args: Any, **kwargs: Any) -> Any:
            note(roots)
            return engine(roots, *args, **kwargs)

        return _engine_run_backward

    for owner, name, engine, put in doors:
        setattr(owner, name, put(door_of(engine)))
    try:
        yield checks
    finally:
        for (owner, name, _, _), engine in zip(doors, stood, strict=True):
            setattr(owner, name, engine)


def alike(
    program: Program,
    *,
    around: Callable[[], AbstractContextManager[Any]] = nullcontext,
    expected: tuple[str, ...] = (),
    sample: bool = False,
) -> Scope:
    """Asserts that `program` does the same when watched, without a fault of ours and
    without a finding that matters other than the `expected` codes.

    around: a mode that is already on when the watch begins.
    """
    skip_where_lacking(program)
    with around():
        plain = outcome(program)
    with around():
        modes = torch._C._len_torch_function_stack()
        with gradscope.watch(sample=sample) as scope, checked(scope) as checks:
            watched = outcome(program)
        assert torch._C._len_torch_function_stack() == modes
    assert watched[:4] == plain[:4]
    assert scope.faults == []
    assert compare_graphs(checks, scope) == ""
    told = [f"{f.code} {f.message}" for f in scope.findings if f.severity != "note"]
    assert [text[:5] for text in told] == list(expected), told
    return scope


def names(scope: Scope) -> list[str]:
    """The ops that were captured, in program order."""
    return [op.name for graph in scope.trace.graphs for op in graph.ops]


def run_both(
    folder: Path, *arguments: str, returncode: int | None = 0, started: Sequence[str] = ()
) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
    """Runs `python ARGUMENTS` and `gradscope run ARGUMENTS` in `folder`: same output, same
    exit code, no fault, no finding that matters. started: another Python."""
    found = []
    path = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    for prefix in ([], ["-m", "gradscope", "run", "--full"]):
        found.append(
            subprocess.run(
                [*(started or python()), *prefix, *arguments],
                cwd=folder, text=True, capture_output=True, env=env, timeout=240,
            )
        )  # fmt: skip
    plain, watched = found
    assert plain.returncode == returncode or returncode is None, plain.stderr
    assert watched.stdout == plain.stdout, watched.stderr
    assert watched.returncode == plain.returncode, watched.stderr
    assert "fault" not in watched.stderr, watched.stderr
    assert "warning[" not in watched.stderr and "error[" not in watched.stderr, watched.stderr
    return plain, watched
