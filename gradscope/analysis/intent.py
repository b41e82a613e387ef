"""What the names, comments and lines of a program say that its author meant.

This is the only place where they count, and they prove nothing: a finding that stands without them may get milder by
them, and says so in `seen`. Nothing is found because of a name, and nothing but a note is left out because of one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gradscope.analysis.memo import once
from gradscope.analysis.stops import set_at
from gradscope.analysis.text import nodes_of_program, nodes_that_ran
from gradscope.analysis.words import where
from gradscope.events import Flipped
from gradscope.model import Finding, Site
from gradscope.source import called_name, own_name
from gradscope.store import Trace

ABOVE = 3  # lines over a statement whose comment speaks of it


def milder(finding: Finding, said: str) -> Finding:
    """The finding as a note that tells what was `said`; unchanged where nothing was."""
    return replace(finding, severity="note", seen=(*finding.seen, said)) if said else finding


def says_residual(site: Site) -> str:
    """Of a loss: that gradients through both of its sides are meant (residual gradients)."""
    for kind, name in (("function", site.function), ("file", site.path.rpartition("/")[2])):
        if "residual" in name.lower():
            return f"the {kind} is called `{name}`: a residual gradient goes through both sides"
    return ""


def says_stop(trace: Trace, name: str, definition: Site | None) -> str:
    """Of a custom Function: that it is to stop the gradient."""
    if _stops(name):
        return f"its name, `{name}`, says that no gradient is meant"
    lines = trace.lines(definition.path) if definition is not None else []
    first = definition.line if definition is not None else 0
    for number, line in enumerate(lines[first - 1 : first + 14], first):
        comment = line.partition("#")[2].strip()
        if _stops(comment) and definition is not None:
            return f"the comment in line {number} says that no gradient is meant: `{comment}`"
    return ""


def _stops(text: str) -> bool:
    return any(word in text.lower() for word in ("stop", "block", "detach", "no grad"))


def says_fixed_divisor(trace: Trace, site: Site) -> str:
    """Of a mean over masked places: that it is to divide by the same number whatever the mask lets in."""
    lines = trace.lines(site.path)
    for number in range(max(site.line - ABOVE, 1), site.end_line + 1):
        comment = lines[number - 1].partition("#")[2].strip() if number <= len(lines) else ""
        text = comment.lower()
        fixed = any(
            word in text for word in ("fixed", "constant", "same for all", "maximum length", "max length")
        )
        divides = any(word in text for word in ("divi", "denominator", "normali", "length"))
        if (fixed and divides) or "dr. grpo" in text or "dr grpo" in text:
            return f"the comment in line {number} says that the divisor is to be fixed: `{comment}`"
    return ""


def says_dropped(trace: Trace, site: Site) -> str:
    """Of a call: that its result is not used."""
    statement = trace.source_file(site.path).statement(site)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(target, ast.Name) and target.id.startswith("_"):
        return f"its result is called `{target.id}`: a name for what is not used"
    return ""


def says_unused(argument: str) -> bool:
    """Of an argument of a function that nothing reads: that this is meant, by Python's convention."""
    return argument.startswith("_")


def says_unfreeze(trace: Trace) -> str:
    """Of frozen parameters: that a line which did not run asks for their gradients again."""
    ran = {site.location() for site in trace.sites}
    flips = [event for event in trace.of(Flipped) if event.to]  # while nobody looked
    ran |= {line.location() for event in flips if (line := set_at(trace, event)) is not None}
    come = "was not seen to come" if flips else "has not come"
    for path in trace.sources:
        for node in trace.source_file(path).nodes:
            if isinstance(node, ast.stmt) and (path, node.lineno) not in ran and _unfreezes(node):
                place = where(Site(-1, path, node.lineno, 1, node.lineno, 1, "", "user"))
                return f"{place} would make parameters require a gradient again; the run {come} to it"
    return ""


def _unfreezes(statement: ast.stmt) -> bool:
    """`p.requires_grad = True`, `p.requires_grad_()`, or a call of what is named `unfreeze`."""
    if isinstance(statement, ast.Assign):
        target, value = statement.targets[0], statement.value
        off = isinstance(value, ast.Constant) and not value.value
        return isinstance(target, ast.Attribute) and target.attr == "requires_grad" and not off
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    name = called_name(call)
    given = [*call.args, *(word.value for word in call.keywords)]
    off = any(isinstance(value, ast.Constant) and value.value is False for value in given)
    return not off and (name == "requires_grad_" or "unfreeze" in name)


def says_scaled_by_size(trace: Trace, sites: Iterable[Site]) -> str:
    """Of a mean: that it is multiplied at one of these places by a size, as that of the classes."""
    for site in sites:
        node = trace.source_file(site.path).at(site)
        if isinstance(node, ast.BinOp) and (size := next(filter(None, map(_size, ast.walk(node))), "")):
            return f"the text scales it by a size: `{size}`"
    return ""


def _size(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and called_name(node) in ("size", "len", "numel"):
        return ast.unparse(node)
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "shape"
    ):
        return ast.unparse(node)
    name = own_name(node)
    return name if "classes" in name.lower() or "vocab" in name.lower() else ""


def skipped_by_name(trace: Trace, names: Iterable[str]) -> str:
    """Of parameters that no optimizer holds: that each one's name contains a text that the program tests names for
    in order to leave them out: `if "layer4" in name: continue`, or `[p for n, p in … if "head" not in n]`."""
    found = dict[str, int]()
    for name in names:
        word = next((word for word in _tested(trace) if word in name), None)
        if word is None:
            return ""
        found[word] = _tested(trace)[word]
    words = " and ".join(f'`"{word}"` (line {line})' for word, line in found.items())
    return f"the program tests names for {words}, as if to leave these out" if found else ""


def says_head_of_loaded(trace: Trace, site: Site | None) -> str:
    """Of an optimizer: that it was made of one part of a model which was loaded before (`model.load_state_dict(…)`,
    `SGD(model.head.parameters())`): the rest may be meant to stay."""
    node = trace.source_file(site.user.path).at(site.user) if site is not None else None
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if site is None or not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute):
        return ""
    part = ast.unparse(given.func.value)
    here = site.user.path, site.user.function.split(".")[-1]
    for path, function, call in nodes_that_ran(trace, ast.Call):
        earlier = (path, function) == here and call.lineno < site.user.line
        if not earlier or not isinstance(call.func, ast.Attribute):
            continue
        model = ast.unparse(call.func.value)
        if call.func.attr == "load_state_dict" and part.startswith((f"{model}.", f"{model}[")):
            return (
                f"`{model}` was loaded (line {call.lineno}), and the optimizer made of `{part}` alone, as if to leave"
                " the rest"
            )
    return ""


@once
def _tested(trace: Trace) -> dict[str, int]:
    """Texts that names are tested for, each with its line."""
    found: dict[str, int] = {}
    for node in nodes_of_program(trace):
        if isinstance(node, ast.If):
            left = ast.In if isinstance(node.body[-1], ast.Continue) else ast.NotIn
            found |= dict(_words(node.test, left))
        elif isinstance(node, ast.comprehension):
            found |= {word: line for test in node.ifs for word, line in _words(test, ast.NotIn)}
    return found


def _words(test: ast.expr, operator: type[ast.cmpop]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], operator):
            if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str) and node.left.value:
                yield node.left.value, node.lineno
