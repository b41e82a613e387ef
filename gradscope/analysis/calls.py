"""Which module calls train, which evaluate, and what their layers are."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from gradscope.analysis.memo import once
from gradscope.analysis.ops import EXITS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.events import Called, InnerCall, Mode, ModuleCall
from gradscope.model import Module, Op, Parameter, Region, Site
from gradscope.source import called_name
from gradscope.store import Trace

VIEWS = {
    "view", "reshape", "flatten", "permute", "transpose", "t", "T", "squeeze", "unsqueeze", "detach", "cpu", "to",
    "contiguous", "__getitem__", "size", "data", "clone", "view_as", "expand", "cuda", "float", "shape",
}  # fmt: skip

LISTENING = ("Drop", "Norm", "Attention", "LSTM", "GRU", "RNN", "layer")  # in the names of torch's classes


def is_part_of(trace: Trace, module: int | None, whole: int) -> bool:
    """Whether a module is another one or stands below it, at whatever depth."""
    while module is not None and module != whole:
        module = trace.modules[module].parent if module in trace.modules else None
    return module is not None


def _is_made_where_called(trace: Trace, module: Module) -> bool:
    """Whether a method of another module makes the one that it calls: `nn.ReLU()(x)`, or `act = nn.ReLU()` before
    `act(x)`."""
    if module.site is None or not module.site.user.under("torch/nn/modules/module.py"):
        return False
    site = module.site.user
    file = trace.source_file(site.path)
    node = file.at(site)
    if not isinstance(node, ast.Call):
        return False
    made: list[ast.expr] = [node.func]
    function = file.function_of(node)
    for other in ast.walk(function) if function is not None else ():
        if isinstance(other, ast.Assign) and ast.unparse(node.func) in map(ast.unparse, other.targets):
            made.append(other.value)
    return any(called_name(part) == module.cls for value in made for part in ast.walk(value))


@dataclass(frozen=True, eq=False)
class Call:
    """One outermost module call; `entry` is the user's line that made it."""

    event: ModuleCall
    entry: Site
    trains: bool  # a backward pass goes through its outputs
    used: bool  # a loss depends on its outputs, with or without a gradient
    itself: bool = False  # not only one of its kind does


class Calls:
    """The module calls of one trace (see `calls`)."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.paths: Paths = paths(trace)
        self._asked: dict[tuple[int, tuple[int, ...]], frozenset[Key]] = {}
        self.all = self._same([self._call(event) for event in trace.of(ModuleCall) if event.graph >= 0])
        self.inner = [event for event in trace.of(InnerCall) if event.graph >= 0]

    def _call(self, event: ModuleCall) -> Call:
        outputs = self.outputs(event)
        known = self.paths
        graph = known.graph(event.graph)
        reached = known.reached
        trains = any(
            (event.graph, graph.values[i].node) in reached.nodes
            for _, i in outputs
            if graph.values[i].node is not None
        )
        used = trains or any(key in known.used.order for key in outputs)
        return Call(event, event.site.user, trains, used, used)

    @staticmethod
    def _same(found: list[Call]) -> list[Call]:
        """Calls from the same place in the same mode are of one kind: a trace stores where
        a value came from for the first of equal graphs only."""

        def kind(call: Call) -> tuple[object, ...]:
            return call.event.site.id, call.event.called, call.event.grad, call.event.training

        used = {kind(call) for call in found if call.used}
        return [replace(call, used=kind(call) in used) for call in found]

    def outputs(self, event: Called) -> list[Key]:
        size = len(self.paths.graph(event.graph).values)
        return [(event.graph, i) for i in event.outputs if i < size]

    # -- modules ---------------------------------------------------------------------

    @cached_property
    def _members(self) -> dict[int, set[int]]:
        """Module → itself and everything below it."""
        found: dict[int, set[int]] = {id: {id} for id in self.trace.modules}
        for module in self.trace.modules.values():
            parent, steps = module.parent, 0
            while parent is not None and parent in found and steps < 100:
                found[parent].add(module.id)
                parent, steps = self.trace.modules[parent].parent, steps + 1
        for module in self.trace.modules.values():
            if module.path == "" and module.root == module.id:
                found[module.id] |= {m.id for m in self.trace.modules.values() if m.root == module.id}
        return found

    def members(self, module: int) -> set[int]:
        """The ids of a module and of everything below it."""
        return self._members.get(module, set())

    def called(self, event: Called) -> int:
        return event.called

    def parameters(self, event: Called) -> list[Parameter]:
        return self.parameters_of(self.called(event))

    def parameters_of(self, module: int) -> list[Parameter]:
        """Those of a module and of everything below it, by id."""
        held = [p for member in self.members(module) for p in self._held.get(member, ())]
        return sorted(held, key=lambda parameter: parameter.id)

    @cached_property
    def _held(self) -> dict[int | None, list[Parameter]]:
        """Module → the parameters that are its own."""
        found: dict[int | None, list[Parameter]] = {}
        for parameter in self.paths.parameters.values():
            found.setdefault(parameter.module, []).append(parameter)
        return found

    @cached_property
    def made_anew(self) -> set[int]:
        """Layers of modules that belong to no model and ran in one call each, of which one line calls several: it
        makes a new one each time. Those without parameters are one module in a trace, and only the text says so."""
        modules, ran = self.trace.modules, Counter[int]()
        for event in self.trace.of(ModuleCall):
            for layer in (*event.train_layers, *event.eval_layers):
                ran[layer] += event.count if self._apart(event, layer) else 2
        places: dict[object, set[int]] = {}
        for layer, times in ran.items():
            if times == 1 and (root := modules[modules[layer].root]).site is not None:
                places.setdefault((root.cls, root.site.user.span()), set()).add(layer)
        several = (found for found in places.values() if len({modules[layer].root for layer in found}) > 1)
        apart = {n for e in self.trace.of(ModuleCall) for n in e.train_layers if self._apart(e, n)}
        written = {n for n in apart if _is_made_where_called(self.trace, modules[modules[n].root])}
        return {layer for found in several for layer in found} | written

    def _apart(self, event: ModuleCall, layer: int) -> bool:
        """Whether a layer that ran in this call belongs to another model than the module that was called."""
        modules = self.trace.modules
        return layer in modules and modules[layer].root != modules[self.called(event)].root

    @cached_property
    def _put_in_training(self) -> set[int]:
        """The modules that `train()` was called of."""
        return {event.module for event in self.trace.of(Mode) if event.training}

    def as_in_training(self, event: ModuleCall) -> list[int]:
        """The layers that ran as in training and that might have been put in evaluation mode before."""
        return [layer for layer in event.train_layers if layer not in self.made_anew]

    def out_of_reach(self, event: ModuleCall, layer: int) -> bool:
        """Whether a layer that ran as in training in a call in evaluation mode is no part of the called module, whose
        `eval()` passes it by: nor has the program put it in training mode."""
        put = (module for module in self._put_in_training if is_part_of(self.trace, layer, module))
        return not event.training and self._apart(event, layer) and next(put, None) is None

    def name(self, event: Called) -> str:
        """How a sentence names the module that was called."""
        return self.name_of(self.called(event))

    def name_of(self, number: int) -> str:
        module = self.trace.modules.get(number)
        if module is None:
            return "the model"
        root = self.trace.modules.get(module.root)
        if module.path:
            return f"`{root.name}.{module.path}`" if root is not None and root.name else f"`{module.path}`"
        return f"`{module.name or module.cls}`"

    def layers(self, ids: Iterable[int]) -> str:
        """ "2 `Dropout` and 1 `BatchNorm2d`", "the dropout in `Net`"."""
        counts: dict[str, int] = {}
        for number in ids:
            module = self.trace.modules.get(number)
            cls = module.cls if module is not None else "layer"
            counts[cls] = counts.get(cls, 0) + 1
        return " and ".join(
            f"{count} `{cls}`" if any(part in cls for part in LISTENING) else f"the dropout in `{cls}`"
            for cls, count in counts.items()
        )

    def dropout(self, number: int) -> bool:
        module = self.trace.modules.get(number)
        return module is not None and "BatchNorm" not in module.cls and "InstanceNorm" not in module.cls

    # -- what happens to a call's result ------------------------------------------------

    def consumed(self, event: ModuleCall, outputs: Collection[Key] | None = None) -> bool:
        """Whether the program computes with the result, or with these parts of it: a metric, a loss, a comparison."""
        return any(op.name not in VIEWS or op.cut in EXITS for op in self._readers(event, outputs))

    def judged(self, event: ModuleCall) -> bool:
        """Whether the program takes numbers or decisions out of the result, as a metric does."""
        return any(op.cut in EXITS or op.name in EXITS or self._decides(op) for op in self._readers(event))

    def _decides(self, op: Op) -> bool:
        values = self.paths.graph(op.graph).values
        kinds = [values[i].dtype for i in op.outputs]
        return bool(kinds) and not any(kind.startswith(("float", "bfloat", "complex")) for kind in kinds)

    def _readers(self, event: ModuleCall, outputs: Collection[Key] | None = None) -> Iterator[Op]:
        """The ops that the result of a call, or these parts of it, flow into, also in later segments."""
        todo = list(self.outputs(event) if outputs is None else outputs)
        seen = set(todo)
        while todo:
            key = todo.pop()
            following = list(self._carried_on.get(key, ()))
            for op in self.paths.graph(key[0]).consumers.get(key[1], ()):
                if key[0] == event.graph and op.index <= event.position:
                    continue
                yield op
                following += [(key[0], i) for i in op.outputs]
            for key in following:
                if key not in seen:
                    seen.add(key)
                    todo.append(key)

    @cached_property
    def _carried_on(self) -> dict[Key, list[Key]]:
        """Value → itself as it entered other graphs."""
        found: dict[Key, list[Key]] = {}
        for number in self.paths.graph_ids:
            for value in self.paths.graph(number).values:
                if value.origin is not None and value.kind != "parameter":
                    found.setdefault(value.origin, []).append((number, value.index))
        return found

    def feeds_another(self, event: ModuleCall) -> bool:
        """Whether another network's outermost call takes the result (a generator's does); a loss
        module is none."""
        return any(self._makes_for(event, other.event) for other in self.all if self.parameters(other.event))

    def takes_another(self, event: ModuleCall) -> bool:
        """Whether what goes in was computed by another network's outermost call (an encoder's)."""
        return any(self._makes_for(other.event, event) for other in self.all if self.parameters(other.event))

    def _makes_for(self, maker: ModuleCall, taker: ModuleCall) -> bool:
        """Whether the result of one network's call is among what the inputs of another one's were computed from."""
        if maker.graph != taker.graph or self._root(maker) == self._root(taker):
            return False
        return not self._behind(taker).isdisjoint(self.outputs(maker))

    def _behind(self, event: ModuleCall) -> frozenset[Key]:
        """All that the inputs of a call were computed from."""
        asked = event.graph, event.inputs
        if asked not in self._asked:
            self._asked[asked] = frozenset(self.paths.flow((event.graph, i) for i in event.inputs).order)
        return self._asked[asked]

    def _root(self, event: ModuleCall) -> int:
        number: int = event.module
        return number

    @cached_property
    def generators(self) -> set[int]:
        """Modules whose results another module takes while training."""
        return {self.called(c.event) for c in self.all if c.trains and self.feeds_another(c.event)}

    @cached_property
    def decoders(self) -> set[int]:
        """Modules that take another module's result while training."""
        return {self.called(c.event) for c in self.all if c.trains and self.takes_another(c.event)}

    @cached_property
    def trained(self) -> set[int]:
        """Ids of parameters that this run trains."""
        known = self.paths
        return {
            p.id
            for p in known.parameters.values()
            if p.requires_grad
            and (p.steps or (known.has_gradient(p) and (known.stepped(p) or p.updates or p.changed)))
        }

    def first_op(self, event: ModuleCall) -> Op | None:
        """The first op that this call ran."""
        members = self._members.get(self.called(event), set())
        graph = self.paths.graph(event.graph)
        found = None
        for op in reversed(graph.ops[: event.position + 1]):
            # A loss that `forward` makes anew, `CrossEntropyLoss()(…)`, is no part of the model.
            if op.module not in members and all(frame.id != event.site.id for frame in op.site.stack):
                break
            found = op
        return found

    def region(self, event: ModuleCall) -> Region | None:
        """The grad mode block that this call ran in."""
        op = self.first_op(event)
        return self.trace.regions.get(op.region) if op is not None and op.region is not None else None


@once
def calls(trace: Trace) -> Calls:
    """The module calls of `trace`, found once."""
    return Calls(trace)
