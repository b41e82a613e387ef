"""Runs every operator that torch can name, plain and watched, and compares.

    python tests/sweeps/ops.py [--dtype float32] [--op REGEX] [--shard 1/4] [--seed 0]

The operators and their sample inputs are torch's own table (`op_db`). For each sample, with the
same random seed: outputs, gradients, versions and random state are equal to the bit, exceptions
are the same, and the captured nodes and edges are those of a walk over `grad_fn`. All samples of
an operator run at the same call site, in one watch, so that what was learned from one is used for
the next. "unsteady" counts samples whose plain results are not the same bits when their memory
lies elsewhere (LAPACK rounds by alignment). Exit code 1 if anything differs that EXCEPTIONS does not list.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map_only

import gradscope
from gradscope.session import active

# torch.testing freezes the flags of torch.backends: other tests in this process set them.
torch.backends.flags_frozen.__globals__["__allow_nonbracketed_mutation_flag"] = True

DTYPES = {"float32": torch.float32, "float64": torch.float64, "complex64": torch.complex64}
VARIANTS = ("function", "method", "inplace")
BATCH = 100  # samples in one watch
SHOWN = 2  # differences told of one operator
TRIES = 1000  # runs of a plain sample, before its bits are said to be always the same

# (operator, variant or "", dtype or "") → why it is left out. Nothing at present.
EXCEPTIONS: dict[tuple[str, str, str], str] = {}

COLUMNS = ("operators", "samples", "nodes", "raise", "left out", "unsteady", "differ")

Graph = list[tuple[str, list[tuple[int, int]]]]


@dataclass
class Outcome:
    """What one sample did, in plain numbers."""

    error: str | None
    values: list[Any]  # outputs, inputs afterwards, gradients
    versions: list[int]
    random: Any
    graph: Graph
    place: tuple[int, list[int]] | None = None  # graph and values in the trace, when watched


@dataclass
class Tally:
    ops: int = 0
    samples: int = 0
    nodes: int = 0
    raised: int = 0
    excepted: int = 0
    unsteady: int = 0
    differences: list[str] = field(default_factory=list)

    def row(self) -> tuple[int, ...]:
        """What stands under COLUMNS."""
        return (
            self.ops, self.samples, self.nodes, self.raised, self.excepted, self.unsteady, len(self.differences),
        )  # fmt: skip


def seeded(seed: int) -> None:
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def walked(roots: list[Any]) -> Graph:
    """(name, edges) of the nodes below `roots`, in the order of a walk over next_functions."""
    index: dict[Any, int] = {}
    order: list[Any] = []
    rows = []
    for root in roots:
        if root not in index:
            index[root] = len(order)
            order.append(root)
    for node in order:
        edges = []
        for target, input_nr in node.next_functions:
            if target is None:
                continue
            if target not in index:
                index[target] = len(order)
                order.append(target)
            edges.append((index[target], input_nr))
        rows.append((node.name().rpartition("::")[2], edges))
    return rows


def captured(graph: Any, values: list[int]) -> Graph:
    """The same of a graph in a trace."""
    index: dict[int, int] = {}
    order: list[int] = []
    rows = []
    for value in values:
        node = graph.values[value].node
        if node is None:
            return [("nothing captured", [])]
        if node not in index:
            index[node] = len(order)
            order.append(node)
    for node in order:
        edges = []
        for edge in graph.nodes[node].edges:
            if edge.target not in index:
                index[edge.target] = len(order)
                order.append(edge.target)
            edges.append((index[edge.target], edge.input_nr))
        rows.append((graph.nodes[node].name, edges))
    return rows


def tensors_in(tree: Any) -> list[torch.Tensor]:
    return [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor)]


def call(op: Callable[..., Any], sample: Any, seed: int) -> Outcome:
    """Runs one sample forwards and backwards."""
    seeded(seed)
    given = tensors_in((sample.input, sample.args, sample.kwargs))
    outs: list[torch.Tensor] = []
    error = None
    graph: Graph = []
    place = None
    try:
        outs = [t for t in tensors_in(op(sample)) if t.requires_grad]
        roots = [t for t in outs if t.grad_fn is not None]
        graph = walked([t.grad_fn for t in roots])
        place = where(roots)
        torch.autograd.backward(outs, [torch.ones_like(t) for t in outs])
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    close_segment(place)
    leaves = [t for t in given if t.is_leaf and t.grad is not None]
    values = [*outs, *given, *(t.grad for t in leaves)]
    return Outcome(
        error, [bits(t) for t in values], [t._version for t in values], torch.get_rng_state(), graph, place
    )


def where(tensors: list[torch.Tensor]) -> tuple[int, list[int]] | None:
    """Number of the segment being recorded, and which of its values these are; None if plain."""
    session = active()
    if session is None or not tensors:
        return None
    found = [session.recorder.live.find(t) for t in tensors]
    serial = session.recorder.segment.serial
    return serial, [e.index if e is not None and e.serial == serial else -1 for e in found]


def close_segment(place: Any) -> None:
    session = active()
    if session is not None:
        session.recorder.end_segment(False)


def bits(t: torch.Tensor) -> Any:
    """What can be compared of a tensor, down to the payload of a NaN."""
    t = t.detach()
    if t.is_nested:
        return [bits(part) for part in t.unbind()]
    if t.layout is not torch.strided:
        return (str(t.layout), bits(t.to_dense()))
    flat = torch.empty(t.numel(), dtype=t.dtype).copy_(t.resolve_conj().resolve_neg().reshape(-1))
    return (str(t.dtype), tuple(t.shape), flat.view(torch.uint8).numpy().tobytes())


def variant(op: Any, name: str) -> Callable[..., Any] | None:
    """A function of one SampleInput, or None if the operator has no such form."""
    if name == "function":
        return lambda s: op(s.input, *s.args, **s.kwargs)
    if name == "method":
        method = op.method_variant
        return method and (lambda s: method(s.input, *s.args, **s.kwargs))
    inplace = op.inplace_variant
    return inplace and (lambda s: inplace(copied(s.input), *s.args, **s.kwargs))


def copied(tree: Any) -> Any:
    """A leaf may not be written to."""
    return tree_map_only(torch.Tensor, torch.clone, tree)


def samples_of(op: Any, dtype: torch.dtype, seed: int, most: int | None) -> list[Any]:
    seeded(seed)
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=True))
    if most is not None and len(samples) > most:
        samples = [samples[i] for i in sorted(random.Random(seed).sample(range(len(samples)), most))]
    return samples


def compare(op: Any, dtype: torch.dtype, name: str, seed: int, tally: Tally, most: int | None = None) -> None:
    """Adds one form of one operator to the tally."""
    form = variant(op, name)
    if form is None:
        return
    plain = [call(form, sample, seed) for sample in samples_of(op, dtype, seed, most)]
    label = f"{op.formatted_name} {str(dtype).removeprefix('torch.')} {name}"
    again = samples_of(op, dtype, seed, most)
    for start in range(0, len(again), BATCH):
        for row, what, difference in watched(form, again[start : start + BATCH], plain[start:], seed):
            if what == "values" and not steady(op, dtype, form, seed, most, start + row, plain):
                tally.unsteady += 1
            else:
                tally.differences.append(f"{label} sample {start + row}: {what}: {difference}")
    tally.ops += 1
    tally.samples += len(plain)
    tally.nodes += sum(len(one.graph) for one in plain)
    tally.raised += sum(one.error is not None for one in plain)


def steady(op: Any, dtype: torch.dtype, form: Any, seed: int, most: int | None, row: int, plain: Any) -> bool:
    """Whether the plain operator gives the same bits again when its memory lies elsewhere: some
    kernels read what nobody wrote, or round by how their inputs are aligned. linalg.lstsq gives
    other bits in one run of fifteen, so that a few tries do not tell."""
    drawn = random.Random(seed)
    for _ in range(TRIES):
        kept = [torch.rand(drawn.randrange(1, 3000)) for _ in range(drawn.randrange(1, 60))]
        del kept[::2]
        again = call(form, samples_of(op, dtype, seed, most)[row], seed)
        if again.values != plain[row].values:
            return False
    return True


def watched(form: Any, samples: list[Any], plain: list[Outcome], seed: int) -> Iterator[tuple[int, str, str]]:
    """(sample, what differs, how) under gradscope."""
    outcomes = []
    graphs = {}
    with gradscope.watch(sample=False) as scope:
        session = active()
        assert session is not None
        for sample in samples:
            outcomes.append(call(form, sample, seed))
            if (place := outcomes[-1].place) is not None:
                graphs[place[0]] = session.recorder.store.graph_of.get(place[0])
    if scope.faults:
        yield 0, "faults", str(scope.faults)
    by_id = {graph.id: graph for graph in scope.trace.graphs}
    for row, (was, now) in enumerate(zip(plain, outcomes, strict=False)):
        for what in ("error", "values", "versions", "graph"):
            if getattr(was, what) != getattr(now, what):
                yield row, what, f"{shown(getattr(was, what))} plain, {shown(getattr(now, what))} watched"
        if not torch.equal(was.random, now.random):
            yield row, "random state", "not the same"
        if now.place is not None:
            graph = by_id.get(graphs[now.place[0]])
            got = (
                captured(graph, now.place[1]) if graph and -1 not in now.place[1] else "an output is unknown"
            )
            if got != now.graph:
                yield row, "capture", f"captured {shown(got)}, built {shown(now.graph)}"


def shown(what: Any) -> str:
    text = str(what)
    return text if len(text) < 400 else text[:400] + " …"


def sweep(ops: list[Any], dtype_name: str, name: str, seed: int, most: int | None) -> Tally:
    """Compares one form of these operators and tells what differs."""
    tally = Tally()
    for op in ops:
        if {(op.formatted_name, v, d) for v in ("", name) for d in ("", dtype_name)} & EXCEPTIONS.keys():
            tally.excepted += 1
            continue
        before = len(tally.differences)
        compare(op, DTYPES[dtype_name], name, seed, tally, most)
        for line in tally.differences[before:][:SHOWN]:
            print("  " + line, flush=True)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dtype", action="append", choices=DTYPES, help="by default all")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="by default all")
    parser.add_argument("--op", default="", help="only operators whose name matches this expression")
    parser.add_argument("--shard", default="1/1", help="2/4: the second of four parts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--most", type=int, help="samples of each operator, drawn by the seed; by default all"
    )
    given = parser.parse_args()
    part, parts = map(int, given.shard.split("/"))
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    chosen = [op for op in op_db if op.supports_autograd and re.search(given.op, op.formatted_name)]
    failed = False
    print(" ".join(f"{word:>9}" for word in ("dtype", "variant", *COLUMNS, "seconds")))
    for dtype_name in given.dtype or DTYPES:
        dtype = DTYPES[dtype_name]
        ops = [op for op in chosen if dtype in op.supported_backward_dtypes("cpu")][part - 1 :: parts]
        for name in given.variant or VARIANTS:
            began = time.perf_counter()
            tally = sweep(ops, dtype_name, name, given.seed, given.most)
            failed = failed or bool(tally.differences)
            row = (dtype_name, name, *tally.row(), round(time.perf_counter() - began))
            print(" ".join(f"{word:>9}" for word in row), flush=True)
    for key, reason in EXCEPTIONS.items():
        print(f"left out: {' '.join(filter(None, key))}: {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
