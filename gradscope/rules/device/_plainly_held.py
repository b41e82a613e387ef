"""Tensors that a module keeps in a plain attribute: what converts or moves the module does not reach them."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.failures import failure_subject
from gradscope.analysis.made import assignments
from gradscope.analysis.words import listed, plural, where
from gradscope.events import ErrorRaised
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Module, Site, Value
from gradscope.store import Trace

FEW = 6  # names that an expression is written with


class Held(NamedTuple):
    """An input of a call that a module keeps as its attribute `name` ("tensor", "list", "tuple", "dict"). had, has: its
    dtype or device ("dtype", "device"), and that of all that the module owns; copies: for each tensor in the attribute
    the module's own that has its values, or ""."""

    value: Value
    module: Module
    name: str
    kind: str
    had: str
    has: str
    copies: list[str]

    @property
    def alone(self) -> bool:
        return self.kind == "tensor"

    @property
    def holder(self) -> str:
        return f"a plain {'attribute' if self.alone else self.kind}"


def left_behind(trace: Trace, event: ErrorRaised, inputs: list[Value], what: str) -> Finding | None:
    """Of the first input whose dtype or device ("dtype", "device") is not the one that all has which its module owns,
    while another input has that."""
    by_index = {value.index: value for value in inputs}
    for one in event.held:
        value, module = by_index.get(one["value"]), trace.modules.get(one["module"])
        owned = {dtype if what == "dtype" else device for dtype, device in one["owned"]}
        if value is None or module is None or len(owned) != 1 or value.kind in ("parameter", "buffer"):
            continue
        had, has = getattr(value, what), owned.pop()
        if had != has and any(getattr(other, what) == has for other in inputs):
            on = "on " if what == "device" else ""
            held = Held(value, module, one["name"], one["kind"], on + had, on + has, one["copies"])
            return _finding(trace, event, held, what)
    return None


def _finding(trace: Trace, event: ErrorRaised, held: Held, what: str) -> Finding:
    path, made = _assigned(trace, held)
    copies = [f"`{name}`" for name in held.copies if name]
    attribute, effect = f"`{held.module.cls}.{held.name}`", event.site.user
    keeps = "is a tensor" if held.alone else f"holds {plural(len(held.copies), 'tensor')}"
    seen = [
        f"{attribute} {keeps}; the call was given {'it' if held.alone else 'one of them'}, {held.had}",
        f"all parameters and buffers of the module are {held.has}",
    ]
    if copies:
        seen.append(f"what it keeps has the values of {listed(copies, FEW)}")
    if copies and len(copies) == len(held.copies):
        fix, edits = _own_ones(trace, held, path, effect)
    else:
        fix, edits = _registered(held, made or effect), ()
    return Finding(
        message=f"{attribute} is still {held.had}, and its module is {held.has}: `.to()` does not reach {held.holder}",
        cause=made or effect,
        cause_label=f"{held.holder}: what it keeps is not converted with the module",
        effect=effect,
        effect_label="both meet here",
        seen=tuple(seen),
        why="`.to()`, `.double()` and `.cuda()` give a module new parameters and buffers. A plain attribute goes on"
        " keeping the tensors that it was given, also those that were registered as well.",
        fix=fix,
        count=event.count,
        edits=edits,
        subjects=frozenset({(what, event.graph, held.value.index), failure_subject(event)}),
    )


def _assigned(trace: Trace, held: Held) -> tuple[str, Site | None]:
    """The file of the module's class, and where its attribute gets its value there."""
    for path, text in trace.sources.items():
        span = assignments(text).get((held.module.cls, held.name))
        if span is not None:
            return path, Site(-1, path, *span, "__init__", "user")
    return "", None


def _own_ones(trace: Trace, held: Held, path: str, effect: Site) -> tuple[str, Edits]:
    """To compute with what the module owns."""
    own = [f"self.{name}" for name in held.copies]
    if held.alone:
        text = own[0]
    elif held.kind in ("list", "tuple") and len(own) <= FEW:
        text = f"[{', '.join(own)}]"
    else:
        return (
            f"compute with {listed([f'`{name}`' for name in own], FEW)}, which the module owns, in place of what"
            f" `self.{held.name}` keeps ({where(effect)})",
            (),
        )
    reads = _reads(trace, held, path)
    edits = tuple(edit for node in reads for edit in Source(trace, path).replace(node, text))
    lines = f"line {listed([str(node.lineno) for node in reads])}" if reads else where(effect)
    return (
        f"compute with what the module owns: write `{text}` in place of `self.{held.name}` ({lines})",
        edits,
    )


def _reads(trace: Trace, held: Held, path: str) -> list[ast.Attribute]:
    """Where the class reads the attribute, outside of `__init__`."""
    file = trace.source_file(path)
    found = [
        node
        for cls in file.nodes
        if isinstance(cls, ast.ClassDef) and cls.name == held.module.cls
        for node in ast.walk(cls)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr == held.name
    ]
    return [
        node
        for node in found
        if ast.unparse(node.value) == "self"
        and (function := file.function_of(node)) is not None
        and function.name != "__init__"
    ]


def _registered(held: Held, made: Site) -> str:
    """To make the module own it."""
    if held.alone:
        return f'register it where it is made: `self.register_buffer("{held.name}", …)` ({where(made)})'
    key, pairs = ("key", "….items()") if held.kind == "dict" else ("i", "enumerate(…)")
    name = f'f"{held.name}_{{{key}}}"'
    return (
        f"register each of them (`for {key}, one in {pairs}: self.register_buffer({name}, one)`, {where(made)}), and"
        f" read it by `getattr(self, {name})`"
    )
