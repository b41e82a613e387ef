"""From one op of a graph to its neighbours, without loading the graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.analysis.gradients import how_received
from gradscope.analysis.names import (
    module_title,
    names_apart,
    names_of,
    op_name,
    relative,
    shape_words,
    short_path,
    shown_path,
)
from gradscope.analysis.words import counted
from gradscope.events import ModuleCall
from gradscope.model import Node, Op, Parameter, Site, Value, place_of
from gradscope.store import Pages, Trace
from gradscope.store.pages import WINDOW

NAMED = 3000  # ops; in a larger graph only parameters have names
_READERS = 8
_CALLS = 200  # ops of a module of which equal ones are told as one

Thing = tuple[str, int, int]  # ("op", graph, index), ("parameter", graph, id), ("module", graph, id)


@dataclass(frozen=True)
class Fact:
    """One row of the detail: where enter leads is a Thing or a place in the source."""

    label: str
    text: str
    to: Thing | None = None
    site: Site | None = None
    style: str = ""


class Walk:
    """Describes things of one graph and finds what is next to them."""

    def __init__(self, trace: Trace, pages: Pages, graph: int, size: int):
        self.trace, self.pages, self.graph = trace, pages, graph
        self._named = size <= NAMED

    # -- what things are called ----------------------------------------------------------

    def title(self, thing: Thing) -> str:
        """A few words, for the breadcrumb."""
        kind, graph, index = thing
        if kind == "op":
            op = self.pages.op(graph, index)
            return op_name(op.name) if op is not None else f"op {index}"
        if kind == "parameter":
            return names_apart(self.trace)[index]
        return module_title(self.trace, self.trace.modules[index])

    def value(self, value: Value) -> str:
        """A value's name, else where it came from."""
        if value.parameter is not None:
            return f"`{names_apart(self.trace)[value.parameter]}`"
        if self._named:
            name = names_of(self.trace).name(self.trace.graph(self.graph), value.index)
            if name is not None:
                return f"`{name}`"
        maker = self.pages.op(self.graph, value.op) if value.op is not None else None
        return (
            f"output of `{op_name(maker.name)}`, {self.where(maker.site)},"
            if maker is not None
            else value.kind
        )

    def where(self, site: Site) -> str:
        """A place, as short as it is clear."""
        user = site.user
        main = (self.trace.program["argv"] or [""])[0]
        names = names_of(self.trace)
        return f"line {user.line}" if short_path(main) == names.short_path(user.path) else names.place(user)

    def asked(self, thing: Thing) -> str:
        """What `why` is asked to explain a thing: of a module a parameter in it, one without a gradient where there is
        one; "" where nothing that is asked of would be this thing."""
        kind, graph, index = thing
        if kind == "parameter":
            return names_apart(self.trace)[index]
        if kind == "op":
            return f"op {index} of graph {graph}"
        held = [p for p in self.trace.parameters if index in self._holders(p)]
        silent = [p for p in held if p.requires_grad and not how_received(self.trace, p)]
        if held:
            return names_apart(self.trace)[(silent or held)[0].id]
        return max(shown_path(self.trace, self.trace.modules[index]), key=len, default="")

    def _holders(self, parameter: Parameter) -> Iterator[int]:
        """The modules that a parameter is in, from the innermost on."""
        at = parameter.module
        while at is not None and at in self.trace.modules:
            yield at
            at = self.trace.modules[at].parent

    # -- neighbours ------------------------------------------------------------------------

    def backward(self, op: Op) -> int | None:
        """The op that the gradient of this one flows to first."""
        for node in self._nodes(op):
            for edge in node.edges:
                target = self.pages.node(self.graph, edge.target)
                if target is not None and target.op is not None and target.op != op.index:
                    return target.op
        makers = [v.op for v in self.pages.values(self.graph, op.inputs) if v.op is not None]
        return makers[0] if makers else None

    def forward(self, op: Op) -> int | None:
        """The first op that reads what this one made."""
        for value in self.pages.values(self.graph, op.outputs):
            if readers := self.pages.readers(self.graph, value, 1):
                return readers[0].index
        return None

    def users(self, parameter: Parameter) -> list[Op]:
        """Ops of the parameter's module that read it."""
        found = []
        for op in self.pages.ops_of_module(self.graph, parameter.module, 0, 50):
            if any(v.parameter == parameter.id for v in self.pages.values(self.graph, op.inputs)):
                found.append(op)
        return found[:_READERS]

    def _nodes(self, op: Op) -> list[Node]:
        return [n for i in reversed(op.nodes) if (n := self.pages.node(self.graph, i)) is not None]

    # -- details ---------------------------------------------------------------------------

    def facts(self, thing: Thing) -> list[Fact]:
        """The rows that describe a thing."""
        kind, _, index = thing
        if kind == "parameter":
            return list(self._parameter(self.trace.parameter(index)))
        if kind == "module":
            return list(self._module(index))
        op = self.pages.op(self.graph, index)
        return list(self._op(op)) if op is not None else []

    def _op(self, op: Op) -> Iterator[Fact]:
        yield Fact("op", f"`{op_name(op.name)}`  number {op.index} of graph {self.graph}", style="bold")
        yield self._place(op.site)
        if op.module is not None and op.module in self.trace.modules:
            to: Thing = ("module", self.graph, op.module)
            yield Fact("module", f"{self.title(to)} ({self.trace.modules[op.module].cls})", to)
        if op.cut is not None:
            yield Fact("✂ cut", f"no gradient passes: {op.cut}", style="bold magenta")
        region = self.trace.regions.get(op.region) if op.region is not None else None
        if region is not None:
            yield Fact(
                "region", f"`{region.kind}` opened at {self.where(region.site)}", site=region.site.user
            )
        for value in self.pages.values(self.graph, op.inputs):
            yield self._value("from", value)
        for value in self.pages.values(self.graph, op.outputs):
            yield Fact("makes", f"{self.value(value)}  {_kind(value)}")
            yield from self._readers(value)
        if op.writes:
            yield Fact("✎ writes", f"{len(op.writes)} of its inputs in place", style="yellow")
        for node in self._nodes(op):
            yield from self._node(node)

    def _place(self, site: Site) -> Fact:
        user = site.user
        line = self.trace.lines(user.path)[user.line - 1 : user.line]
        return Fact("at", f"{self.where(user)}  {line[0].strip() if line else ''}", site=user)

    def _value(self, label: str, value: Value) -> Fact:
        to: Thing | None = None
        if value.parameter is not None:
            to = ("parameter", self.graph, value.parameter)
        elif value.op is not None:
            to = ("op", self.graph, value.op)
        return Fact(label, f"{self.value(value)}  {_kind(value)}", to)

    def _readers(self, value: Value) -> Iterator[Fact]:
        readers = self.pages.readers(self.graph, value, _READERS + 1)
        for op in readers[:_READERS]:
            yield Fact(
                "read by", f"`{op_name(op.name)}` at {self.where(op.site)}", ("op", self.graph, op.index)
            )
        if len(readers) > _READERS:
            yield Fact("", "and others")
        if not readers:
            yield Fact(
                "read by", "nothing" if self._named else f"nothing in the next {WINDOW:,} ops", style="dim"
            )

    def _node(self, node: Node) -> Iterator[Fact]:
        yield Fact("grad_fn", node.name, style="green")
        for edge in node.edges:
            target = self.pages.node(self.graph, edge.target)
            if target is None:
                continue
            to: Thing | None = None
            if target.op is not None:
                to = ("op", self.graph, target.op)
            elif target.parameter is not None:
                to = ("parameter", self.graph, target.parameter)
            name = f" of `{self.title(to)}`" if to is not None and to[0] == "parameter" else ""
            yield Fact("→ grad to", f"{target.name}{name}", to)

    def _parameter(self, p: Parameter) -> Iterator[Fact]:
        yield Fact("parameter", f"`{names_apart(self.trace)[p.id]}`", style="bold")
        shape = shape_words(p.shape)
        yield Fact("is", f"{shape} {p.dtype} on {p.device}")
        if p.site is not None:
            yield self._place(p.site)
        held = [self.trace.optimizers[id].cls for id in p.optimizers if id in self.trace.optimizers]
        yield Fact(
            "trained",
            f"requires grad, by {', '.join(held) or 'no optimizer'}" if p.requires_grad else "frozen",
        )
        never = p.requires_grad and not p.passes
        text = "never got a gradient" if not p.passes else f"got one in {counted(p.passes, 'backward pass')}"
        yield Fact("gradient", text, style="bold red" if never else "")
        if p.grad_norm is not None:
            yield Fact("norm", f"{p.grad_norm:.4g} at the end")
        if p.module is not None and p.module in self.trace.modules:
            to: Thing = ("module", self.graph, p.module)
            yield Fact("module", self.title(to), to)
        for op in self.users(p):
            yield Fact(
                "read by", f"`{op_name(op.name)}` at {self.where(op.site)}", ("op", self.graph, op.index)
            )

    def _called_at(self, id: int) -> Site | None:
        """Where the program called a module, or one around it, in this graph."""
        around: set[int | None] = set()
        at: int | None = id
        while at is not None and at not in around:
            around.add(at)
            at = self.trace.modules[at].parent if at in self.trace.modules else None
        calls = (event for event in self.trace.of(ModuleCall) if event.graph == self.graph)
        return next((call.site for call in calls if call.module in around), None)

    def _module(self, id: int) -> Iterator[Fact]:
        module = self.trace.modules[id]
        yield Fact("module", f"{module_title(self.trace, module)} ({module.cls})", style="bold")
        if (called := self._called_at(id) or module.site) is not None:
            yield self._place(called)
        if module.parent is not None:
            yield Fact(
                "inside",
                self.title(("module", self.graph, module.parent)),
                ("module", self.graph, module.parent),
            )
        for p in self.trace.parameters:
            if p.module == id:
                state = (
                    "frozen"
                    if not p.requires_grad
                    else f"gradient ×{p.passes:,}"
                    if p.passes
                    else "no gradient"
                )
                yield Fact("parameter", f"`{p.name}`  {state}", ("parameter", self.graph, p.id))
        calls: dict[str, list[int]] = {}
        for op in self.pages.ops_of_module(self.graph, id, 0, _CALLS):
            calls.setdefault(f"`{op_name(op.name)}` at {self.where(op.site)}", []).append(op.index)
        for text, ops in list(calls.items())[:_READERS]:
            times = f" ×{len(ops)}" if len(ops) > 1 else ""
            yield Fact("runs", f"{text}{times}", ("op", self.graph, ops[0]))


def asked_place(trace: Trace, path: str, line: int) -> str:
    """A place as `why` takes it, below the folder that the program ran in."""
    return place_of(relative(path, trace.program.get("cwd") or ""), line)


def _kind(value: Value) -> str:
    shape = shape_words(value.shape)
    return f"{shape} {value.dtype}{', requires grad' if value.requires_grad else ''}"
