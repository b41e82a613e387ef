"""The program's networks: which parameters belong together, which are stepped, written by hand, or never changed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gradscope.analysis.loop import one_after_the_other
from gradscope.analysis.memo import once
from gradscope.analysis.ops import DRAWS
from gradscope.analysis.text import has_run, mentions, nodes_of_functions, nodes_that_ran
from gradscope.analysis.words import root_of
from gradscope.events import Step, Still
from gradscope.model import Optimizer, Parameter
from gradscope.source import FUNCTIONS, Function, called_name, own_name
from gradscope.store import Trace

WRITING = {"load_state_dict", "copy_", "lerp_", "mul_", "add_", "set_", "soft_update", "hard_update"}
OFTEN = 3  # networks that are thrown away
ENOUGH = 10  # steps of the network that the copy is one of


@dataclass
class Network:
    """A module with its parameters, by their names in it. `kept`: those of all that have kept their numbers."""

    module: int
    parameters: dict[str, Parameter]
    kept: frozenset[int]

    @property
    def ids(self) -> set[int]:
        return {p.id for p in self.parameters.values()}

    @property
    def form(self) -> dict[str, tuple[int, ...]]:
        return {name: p.shape for name, p in self.parameters.items()}

    @property
    def stepped(self) -> bool:
        return all(p.steps >= ENOUGH for p in self.parameters.values())

    @property
    def still(self) -> bool:
        """Whether nothing has written to it since the first steps."""
        return self.ids <= self.kept and not any(p.steps or p.updates for p in self.parameters.values())

    @property
    def follows(self) -> bool:
        return all(p.updates and not p.steps for p in self.parameters.values())


def alike(trace: Trace, one: Network, other: Network) -> bool:
    """Whether both are of one class."""
    return trace.modules[one.module].cls == trace.modules[other.module].cls


def networks(trace: Trace) -> list[Network]:
    """The program's networks: its root modules, or their parts where not all of one is trained alike."""
    roots: dict[int, list[Parameter]] = {}
    for p in trace.parameters:
        root = root_of(trace, p)
        if p.registered and root is not None:
            roots.setdefault(root, []).append(p)
    kept = frozenset(id for event in trace.of(Still) for id in event.parameters)
    found: list[Network] = []
    for root, held in roots.items():
        whole = Network(root, {p.name: p for p in held}, kept)
        if whole.stepped or whole.still or whole.follows:
            found.append(whole)
            continue
        parts: dict[str, dict[str, Parameter]] = {}
        for p in held:
            first, _, rest = p.name.partition(".")
            parts.setdefault(first, {})[rest] = p
        children = {m.path: m.id for m in trace.modules.values() if m.root == root}
        found += [Network(children[name], part, kept) for name, part in parts.items() if name in children]
    return found


class Uncalled(NamedTuple):
    """A copy of a trained network that a function of the program would bring up to date, which nothing calls."""

    copy: Network
    trained: Network
    path: str
    function: Function


@once
def updates_nobody_calls(trace: Trace) -> list[Uncalled]:
    found = networks(trace) if trace.optimizers else []
    pairs = [
        (copy, trained)
        for copy in found
        for trained in found
        if copy.still and trained.stepped and copy.form == trained.form and alike(trace, copy, trained)
    ]
    return [
        Uncalled(copy, trained, path, function)
        for copy, trained in pairs
        for path, _, function in nodes_of_functions(trace, *FUNCTIONS)
        if isinstance(function, FUNCTIONS)
        and _names(function, trace.modules[copy.module].path or trace.modules[copy.module].name)
        and any(map(writes_weights, ast.walk(function)))
        and not has_run(trace, path, function)
        and _was_defined(trace, path, function)
        and not any(mentions(trace, function.name))
    ]


def writes_weights(node: ast.AST) -> bool:
    """Whether it may write to a network's weights: a call that does, or `p.data = …`."""
    data = isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Store)
    return data or called_name(node) in WRITING


def _names(function: Function, name: str) -> bool:
    """Whether it reads what has this name, and does not give the name itself."""
    last = name.rpartition(".")[2]
    found = [
        node.ctx
        for node in ast.walk(function)
        if isinstance(node, ast.Name | ast.Attribute) and own_name(node) == last
    ]
    return bool(last and found) and all(isinstance(context, ast.Load) for context in found)


def _was_defined(trace: Trace, path: str, function: Function) -> bool:
    """Whether what it stands in has run: another method of its class, or the function around it."""
    around = next(trace.source_file(path).above(function), None)
    if isinstance(around, ast.ClassDef):
        return any(has_run(trace, path, part) for part in around.body if isinstance(part, FUNCTIONS))
    return not isinstance(around, FUNCTIONS) or has_run(trace, path, around)


def read_after_its_steps(trace: Trace, optimizers: Iterable[Optimizer]) -> bool:
    """Whether something reads a parameter of one of these, other than a module that is called, after its last step:
    the weights are what the training was for."""
    holder = {id: optimizer.id for optimizer in optimizers for id in optimizer.parameters}
    last = dict.fromkeys(holder.values(), -1)
    for event in trace.of(Step):
        stepped = trace.segments[event.segment].graph
        if event.optimizer in last and stepped is not None:
            last[event.optimizer] = max(last[event.optimizer], stepped)
    for graph in trace.graphs:
        for op in graph.ops:
            for value in op.inputs if op.module is None and not op.writes and op.name not in DRAWS else ():
                number = holder.get(-1 if (p := graph.values[value].parameter) is None else p)
                if number is not None and graph.id > last[number]:
                    return True
    return False


def thrown_away(trace: Trace) -> Iterator[list[Optimizer]]:
    """The optimizers that one line makes for one network after the other, of which nothing reads a parameter after its
    last step, other than a module that is called; none where the program saves something."""
    alike: dict[object, list[Optimizer]] = {}
    for optimizer in trace.optimizers.values():
        if optimizer.site is not None and optimizer.steps >= 2:
            settings = [{k: v for k, v in group.items() if k != "parameters"} for group in optimizer.groups]
            key = (optimizer.site.user.location(), optimizer.cls, repr(settings), len(optimizer.parameters))
            alike.setdefault(key, []).append(optimizer)
    for made in alike.values():
        ids = [id for optimizer in made for id in optimizer.parameters]
        apart = len(set(ids)) == len(ids)
        if len(made) >= OFTEN and apart and one_after_the_other(trace, {o.id for o in made}):
            if not read_after_its_steps(trace, made) and not _saves(trace):
                yield made


def _saves(trace: Trace) -> bool:
    """Whether the program's text saves something: what `torch.save(model)` writes is no op."""
    return any(
        called_name(node) in ("save", "dump", "dumps") for _, _, node in nodes_that_ran(trace, ast.Call)
    )
