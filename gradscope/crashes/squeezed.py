"""Errors behind a `squeeze()` that dropped one dimension more than in the calls before."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from gradscope.analysis.words import located
from gradscope.crashes import Crash, Place, explain
from gradscope.model import Graph, Op
from gradscope.source import method_name


class _Squeezed(NamedTuple):
    op: Op
    before: tuple[int, ...]  # the shape that it was given in an earlier call
    now: tuple[int, ...]
    lost: int  # the dimension that was not 1 before
    meant: tuple[int, ...]  # those that were


def _squeezed(crash: Crash) -> _Squeezed | None:
    """The last such call whose result a tensor of the failing line is, or was made from."""
    graphs = crash.trace.graphs
    made = {site.location() for t in crash.tensors if (site := crash.made(t)) is not None}
    if not graphs or not made:
        return None
    last = graphs[-1]
    for op in reversed([op for op in last.called(["squeeze"]) if op.inputs and op.outputs]):
        if _argument(crash, op) is None or made.isdisjoint(_lines_behind(last, op)):
            continue
        now = tuple(last.values[op.inputs[0]].shape)
        for graph in reversed(graphs):
            for other in graph.called(["squeeze"]):
                before = tuple(graph.values[other.inputs[0]].shape) if other.inputs else ()
                if other.site.user != op.site.user or len(before) != len(now):
                    continue
                lost = [i for i, (a, b) in enumerate(zip(before, now, strict=True)) if a > 1 == b]
                meant = tuple(i for i, size in enumerate(before) if size == 1 == now[i])
                if len(lost) == 1 and meant:
                    return _Squeezed(op, before, now, lost[0], meant)
    return None


def _argument(crash: Crash, op: Op) -> ast.expr | None:
    """What the call drops dimensions of, where it does not say which."""
    site = op.site.user
    file = crash.trace.source_file(site.path)
    call = file.at(site)
    if not isinstance(call, ast.Call) or method_name(call) != "squeeze" or call.keywords:
        return None
    if isinstance(call.func, ast.Attribute) and not file.is_imported(call.func):
        return call.func.value if not call.args else None
    return call.args[0] if len(call.args) == 1 else None


def _lines_behind(graph: Graph, op: Op) -> set[tuple[str, int]]:
    """The lines that computed with its result, with its own."""
    reached, lines = set(op.outputs), {op.site.user.location()}
    for other in graph.ops[op.index + 1 :]:
        if not reached.isdisjoint(other.inputs):
            reached.update(other.outputs)
            lines.add(other.site.user.location())
    return lines


def _words(crash: Crash) -> dict[str, str]:
    found = _squeezed(crash)
    assert found is not None
    site, argument = found.op.site.user, _argument(crash, found.op)
    axes = str(found.meant[0]) if len(found.meant) == 1 else str(found.meant)
    file = crash.trace.source_file(site.path)
    call = file.at(site)
    assert isinstance(call, ast.Call) and argument is not None
    head = file.text(call.func)
    text = f"{head}({axes})" if not call.args else f"{head}({file.text(argument)}, {axes})"
    return {
        "call": located(crash.trace, site),
        "text": text,
        "lost": str(found.lost),
        "size": str(found.before[found.lost]),
    }


def _place(crash: Crash) -> Place | None:
    found = _squeezed(crash)
    return (found.op.site.user, f"drops dimension {found.lost}, too") if found is not None else None


def _seen(crash: Crash) -> Iterable[str]:
    found = _squeezed(crash)
    if found is not None:
        kept = tuple(size for size in found.before if size > 1)
        left = tuple(size for size in found.now if size > 1)
        yield (
            f"it was given ({_sizes(found.before)}) before and gave ({_sizes(kept)}); in this call it was"
            f" given ({_sizes(found.now)}) and gave ({_sizes(left)})"
        )


def _sizes(shape: Iterable[int]) -> str:
    return ", ".join(map(str, shape))


explain(
    "squeezed-dimension",
    r"^(?s:.*?)\b(?i:sizes?|shapes?|dim\w*|\d-?D|index\w*|indices|batch\w*)\b",
    "{call} dropped dimension {lost} as well: it holds one entry in this call, and held {size} before",
    why="`squeeze()` drops every dimension of size 1: a batch of one sample, one path or one class loses its own",
    fix="say which dimensions are to go: `{text}` in place of {call}",
    when=lambda crash: _squeezed(crash) is not None,
    cause=_place,
    seen=_seen,
    words=_words,
)
