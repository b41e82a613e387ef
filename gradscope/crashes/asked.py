"""A gradient asked for a tensor that the output was not computed from, though what it was made of was."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.cuts import constant_derivative
from gradscope.analysis.names import names_of
from gradscope.analysis.reach import paths
from gradscope.analysis.text import own_nodes, site_of
from gradscope.analysis.words import located, quoted
from gradscope.crashes import Crash, Place, Subject, explain, facts
from gradscope.events import ErrorRaised, RequiresGrad
from gradscope.model import Graph, Op, Value
from gradscope.source import FUNCTIONS, called_name, names_in


class Stands(NamedTuple):
    """A tensor whose gradient is asked for, and the leaf that it was made of, on which the output depends;
    that is `proven` where all of the output's graph was seen."""

    graph: Graph
    asked: Value
    leaf: Value
    proven: bool

    @property
    def view(self) -> bool:
        """Whether the one is a part of the other."""
        return self.asked.alias_of is not None


def asked(crash: Crash) -> str:
    """The user's text of the tensor that torch says was not used."""
    if crash.match[1] is None and crash.element(1, 1):  # an older torch does not say which of several
        return ""
    text = crash.element(1, int(crash.match[1] or 0))
    names = [str(t["name"]) for t in crash.tensors]
    first = f"{crash.element(1, 0)}[{crash.match[1] or 0}]"  # of a list that has a name
    return first if text not in names and first in names else text or (first if first in names else "")


def _stands(crash: Crash) -> Stands | None:
    tensor = crash.subject
    errors = [e for e in crash.trace.of(ErrorRaised) if e.text == crash.text and e.graph >= 0]
    if tensor is None or not errors or tensor["is_leaf"]:
        return None
    graph = crash.trace.graph(errors[-1].graph)
    reached = paths(crash.trace).reach([(graph.id, root) for root in errors[-1].roots])
    asked = [
        value
        for value in graph.values
        if value.site is not None
        and value.site.id == tensor["site"]
        and list(value.shape) == list(tensor["shape"])
        and value.requires_grad
    ]
    of = [(value, graph.values[i]) for value in asked for i in graph.upstream(value.index)]
    for value, leaf in of:
        if (graph.id, leaf.index) in reached.leaves:
            return Stands(graph, value, leaf, True)
    for value, leaf in of if not reached.complete else ():
        if value.alias_of == leaf.index and leaf.is_leaf and leaf.requires_grad:
            return Stands(graph, value, leaf, False)
    return None


def _words(crash: Crash) -> dict[str, str]:
    found = _stands(crash)
    if found is None:
        return {}
    leaf = _leaf(crash, found)
    if found.view:
        todo = (
            f"ask for the gradient of {leaf} itself: it has one number for each of its elements, so that the part"
            f" that belongs to {crash.it} can be taken from it; of several outputs, ask for that of their sum"
        )
    elif found.leaf.parameter is not None:
        todo = (
            "let the module compute with the copy: `torch.func.functional_call(model, copies, x)`, with a dict of"
            f" names and tensors, in place of `model(x)`; or ask for the gradient of {leaf}"
        )
    else:
        todo = f"compute the output from {crash.it}, or ask for the gradient of {leaf}"
    kind = "a part of it" if found.view else "which was made of it"
    said = (
        f"the output was computed from {leaf}, and not from {crash.it}, {kind}"
        if found.proven
        else f"the output was not computed from {crash.it}, which is a part of {leaf}"
    )
    return {"said": said, "todo": todo}


def _leaf(crash: Crash, found: Stands) -> str:
    name = _whole(crash, found) if found.view else ""
    made = found.graph.ops[found.leaf.op].site if found.leaf.op is not None else None
    if not name and (made is None or made.kind == "user"):
        name = names_of(crash.trace).name(found.graph, found.leaf.index) or ""
    return quoted(name) if name else "the tensor that it was made of"


def _whole(crash: Crash, found: Stands) -> str:
    """`stacked` of `stacked[0]`, `stacked.unbind()`, `for part in stacked` and of `zip(losses, stacked)`."""
    site = found.asked.site.user if found.asked.site is not None else crash.site
    file = crash.trace.source_file(site.path)
    node = file.at(site)
    loop = file.parent.get(id(node)) if node is not None else None
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value)
    if isinstance(loop, ast.For) and loop.iter is node and isinstance(node, (ast.Name, ast.Attribute)):
        return ast.unparse(node)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and not file.is_imported(node.func)
    ):
        return ast.unparse(node.func.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
        names = loop.target.elts if isinstance(loop, ast.For) and isinstance(loop.target, ast.Tuple) else []
        mine = [i for i, n in enumerate(names) if isinstance(n, ast.Name) and n.id == crash.it.strip("`")]
        if mine and len(names) == len(node.args):
            return ast.unparse(node.args[mine[0]])
    return ""


def _rebound(crash: Crash) -> Iterator[Place]:
    """`p = fast` in a loop over `parameters()`, which gives nothing to the module."""
    site = crash.site
    file = crash.trace.source_file(site.path)
    function = next((n for n in file.around(site) if isinstance(n, (*FUNCTIONS, ast.Module))), None)
    for loop in own_nodes(function) if function is not None else ():
        if not isinstance(loop, ast.For) or not _over_parameters(loop.iter):
            continue
        own = names_in(loop.target)
        for statement in loop.body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if isinstance(target, ast.Name) and target.id in own and isinstance(statement, ast.Assign):
                read = (n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == target.id)
                if not any(isinstance(n.ctx, ast.Load) for n in read):
                    place = site_of(site.path, site.function, target)
                    yield place, f"gives the name `{target.id}` another tensor, and the module nothing"


def _over_parameters(node: ast.expr) -> bool:
    calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    return any(call.attr in ("parameters", "named_parameters") for call in calls)


def _seen(crash: Crash) -> Iterator[str]:
    found = _stands(crash)
    if crash.subject is not None:
        yield facts(crash.subject)
    if found is not None:
        how = "the graph of the output ends at" if found.proven else f"{crash.it} is a view of"
        of = f", of which {crash.it} was made" if found.proven else ""
        yield f"{how} {_leaf(crash, found)}{of}"


def _constant(crash: Crash) -> tuple[Op, Value, Graph] | None:
    """The call of `autograd.grad` that gave the output, as a part of the graph, where that came out as a constant of
    which the program has made a leaf."""
    errors = [e for e in crash.trace.of(ErrorRaised) if e.text == crash.text and e.graph >= 0]
    for root in errors[-1].roots if errors else ():
        graph = crash.trace.graph(errors[-1].graph)
        value = graph.values[root]
        maker = graph.maker(root)
        if maker is not None and value.is_leaf and constant_derivative(maker):
            return maker, value, graph
    return None


def _made_a_leaf(crash: Crash) -> Iterator[Place]:
    found = _constant(crash)
    for event in crash.trace.of(RequiresGrad) if found is not None else ():
        if found is not None and (event.graph, event.value) == (found[2].id, found[1].index) and event.to:
            yield event.site.user, "makes a leaf of it: it still depends on nothing"


def _derived(crash: Crash) -> Place | None:
    found = _constant(crash)
    return (found[0].site.user, "gave a derivative without a graph") if found is not None else None


def _constant_words(crash: Crash) -> dict[str, str]:
    found = _constant(crash)
    site = found[0].site.user if found is not None else crash.site
    return {
        "output": f"`{crash.element(0, 0) or 'it'}`",
        "asking": located(crash.trace, crash.site),
        "derivative": located(crash.trace, site, "the derivative"),
    }


def _derivative(crash: Crash) -> ast.Call | None:
    """The call in the same function that gave the output as a derivative with respect to the very tensor that is
    asked for, as a part of the graph."""
    file = crash.trace.source_file(crash.site.path)
    call = file.at(crash.site)
    function = next((n for n in file.around(crash.site) if isinstance(n, (*FUNCTIONS, ast.Module))), None)
    if not isinstance(call, ast.Call) or function is None or len(call.args) < 2:
        return None
    told, output = ast.unparse(call.args[1]), names_in(call.args[0])
    before = [n for n in own_nodes(function) if isinstance(n, ast.Assign) and n.lineno < call.lineno]
    found = None
    for node in sorted(before, key=lambda node: node.lineno):
        made = {name for target in node.targets for name in names_in(target)}
        if told in made:
            found = None
        elif made & output:
            found = _grad_of(node.value, told)
    return found


def _grad_of(node: ast.expr, told: str) -> ast.Call | None:
    for call in ast.walk(node):
        if called_name(call) == "grad" and isinstance(call, ast.Call) and len(call.args) > 1:
            keeps = any(k.arg == "create_graph" and ast.unparse(k.value) == "True" for k in call.keywords)
            if keeps and ast.unparse(call.args[1]) == told:
                return call
    return None


def _derivative_words(crash: Crash) -> dict[str, str]:
    made = _derivative(crash)
    site = site_of(crash.site.path, crash.site.function, made) if made is not None else crash.site
    return {
        "output": f"`{crash.element(0, 0) or 'it'}`",
        "asking": located(crash.trace, crash.site),
        "derivative": located(crash.trace, site, "the derivative"),
    }


def _gave_derivative(crash: Crash) -> Place | None:
    made = _derivative(crash)
    if made is None:
        return None
    return site_of(crash.site.path, crash.site.function, made), "gave a derivative that does not depend on it"


explain(
    "derivative-is-constant",
    r"[Tt]he differentiated Tensor(?: at index (\d+)|s) appears? to not have been used in the graph",
    "{output} is a derivative that came out constant: it does not depend on {it}, and its own derivative is zero",
    why="the derivative of a linear function is the same everywhere, so that no graph leads from it back to the input;"
    " `requires_grad_()` makes a new leaf of it, which changes nothing about that",
    fix="ask for the zeros: `allow_unused=True, materialize_grads=True` in {asking}",
    cause=_derived,
    of=Subject(about=asked),
    when=lambda crash: _constant(crash) is not None,
    seen=lambda crash: [
        f"{_constant_words(crash)['derivative']} was called with `create_graph=True` and gave a tensor without"
        " a graph"
    ],
    words=_constant_words,
    related=_made_a_leaf,
)
explain(
    "derivative-without-input",
    r"[Tt]he differentiated Tensor(?: at index (\d+)|s) appears? to not have been used in the graph",
    "{output} is made of a derivative that does not depend on {it}: its own derivative is zero",
    why="the derivative of what is linear in its input is made of the weights alone, so that no graph leads from it"
    " back to the input; nothing was cut",
    fix="ask for the zeros: `allow_unused=True, materialize_grads=True` in {asking}; where a second derivative is"
    " meant to be there, what {derivative} is taken of has to bend",
    cause=_gave_derivative,
    of=Subject(about=asked),
    when=lambda crash: _derivative(crash) is not None,
    words=_derivative_words,
)
explain(
    "input-stands-beside-graph",
    r"[Tt]he differentiated Tensor(?: at index (\d+)|s) appears? to not have been used in the graph",
    "{said}",
    why="a copy, a view or a slice is a tensor of its own: what is computed from the one it was made of does"
    " not depend on it",
    fix="{todo}",
    of=Subject(made="made here", about=asked),
    when=lambda crash: _stands(crash) is not None,
    seen=_seen,
    words=_words,
    related=_rebound,
)
explain(
    "input-not-in-graph",
    r"[Tt]he differentiated Tensor(?: at index (\d+)|s) appears? to not have been used in the graph",
    "the output was not computed from {it}, whose gradient is asked for",
    why="the tensor is in the list, but the graph of the output does not hold it: another tensor was used, or"
    " a copy (`.to()`, `.clone()`, a view) made after the output, or the path to it is cut",
    fix="compute the output from this very tensor; where it is right that it has no part in it, pass"
    " `allow_unused=True` (its gradient is then None)",
    of=Subject(about=asked),
)
