"""All entries of a list are one and the same object: what is put into one is in all of them.

Why: `replay.append(episode)` keeps a reference. Where `episode` is a list that is cleared for the next one, or a tensor
that is written in place, all entries are that one object, and what they held before is gone. A batch drawn from them
has the same few samples again and again. And `[[]] * 3` is one empty list at three places: what is appended to the
first is in the others too, and a sum of each is the sum of all.

Fix: begin a new list in place of emptying the old one, or append a copy; `[[] for _ in range(3)]`.

Measured: of the tensors that a call puts together at most half are different ones; the list that they come from holds
one object at all of its places, or tuples or dicts that have it at one of theirs, has grown between two calls, and that
object has changed in between. Of `[[]] * n`, to
whose places the program appends: a line that reads them takes the same tensor several times in one step.
Silent on: samples drawn with replacement, one sample that is repeated on purpose, lists that do not grow.
"""

import ast
from collections import Counter
from collections.abc import Iterator

from gradscope.analysis.text import nodes_of_functions, nodes_that_ran, site_of
from gradscope.analysis.words import code, listed, located, plural
from gradscope.events import SameEntries
from gradscope.fixes.source import Edits, Source
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import random

    import torch
    from torch import nn

    class Memory:
        def __init__(self):  # type: ignore[no-untyped-def]
            self.episode = []
            self.episodes = []

        def play(self):  # type: ignore[no-untyped-def]
            for _ in range(4):
                self.episode.append(torch.randn(3))
            self.episodes.append(self.episode)  # cause: GS783

        def drawn(self):  # type: ignore[no-untyped-def]
            states = [state for _ in range(8) for state in random.choice(self.episodes)]
            batch = torch.stack(states)  # effect: GS783
            self.episode.clear()
            return batch

    torch.manual_seed(0)
    net, memory = nn.Linear(3, 1), Memory()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(20):
        memory.play()
        opt.zero_grad()
        (net(memory.drawn()) - 1).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import random

    import torch
    from torch import nn

    class Memory:
        def __init__(self):  # type: ignore[no-untyped-def]
            self.episode = []
            self.episodes = []

        def play(self):  # type: ignore[no-untyped-def]
            for _ in range(4):
                self.episode.append(torch.randn(3))
            self.episodes.append(self.episode)

        def drawn(self):  # type: ignore[no-untyped-def]
            states = [state for _ in range(8) for state in random.choice(self.episodes)]
            batch = torch.stack(states)
            self.episode = []
            return batch

    torch.manual_seed(0)
    net, memory = nn.Linear(3, 1), Memory()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(20):
        memory.play()
        opt.zero_grad()
        (net(memory.drawn()) - 1).pow(2).mean().backward()
        opt.step()


@rule("GS783", name="entries-are-one-object", severity="warning", over=("GS446",))
def entries_are_one_object(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(SameEntries):
        yield _finding(trace, event)
    for path, function, node in nodes_that_ran(trace, ast.Assign):
        if isinstance(node.value, ast.BinOp) and (times := _repeated(node.value)) is not None:
            yield from _made_as_one(trace, path, function, node, node.value, times)


def _repeated(value: ast.BinOp) -> ast.expr | None:
    """n of `[[]] * n`."""
    for held, times in ((value.left, value.right), (value.right, value.left)):
        if isinstance(value.op, ast.Mult) and isinstance(held, ast.List) and len(held.elts) == 1:
            if isinstance(held.elts[0], ast.List):
                return times
    return None


def _made_as_one(
    trace: Trace, path: str, function: str, node: ast.Assign, value: ast.BinOp, times: ast.expr
) -> Iterator[Finding]:
    """The places of such a list, to which the program appends, as far as a line that reads them takes one tensor
    several times."""
    here, name = Source(trace, path), ast.unparse(node.targets[0])
    added = [
        call
        for where, _, call in nodes_that_ran(trace, ast.Call)
        if where == path
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("append", "extend")
        and isinstance(call.func.value, ast.Subscript)
        and ast.unparse(call.func.value.value) == name
    ]
    read = _taken_several_times(trace, here, name) if added else None
    if read is None:
        return
    site, count = read
    held = here.file.text(value.left if value.right is times else value.right)[1:-1]
    text = f"[{held} for _ in range({here.file.text(times)})]"
    yield Finding(
        message=f"`{here.file.text(value)}` is one list at all places of `{name}`: what is appended to one is in all",
        cause=site_of(path, function, value),
        cause_label="repeats the reference to one list",
        effect=site,
        effect_label=f"takes the same tensor for {count} of the places",
        related=((site_of(path, function, added[0]), "appends to all of them"),),
        seen=(
            f"{code(trace, site)} takes one tensor {count} times in one step, once for each of {count} places",
        ),
        fix=f"make a list for each place: `{name} = {text}` (line {node.lineno})",
        edits=here.replace(value, text),
        subjects=frozenset({("sum", *site.location())}),
    )


def _taken_several_times(trace: Trace, here: Source, name: str) -> tuple[Site, int] | None:
    """The expression of a statement that reads the name which takes one tensor most often in one step."""
    counted: Counter[tuple[Site, int, int]] = Counter(
        (op.site.user, graph.id, value)
        for graph in trace.graphs
        for op in graph.ops
        for value in set(op.inputs)
        if op.site.user.path == here.path
    )
    for (site, _, _), count in counted.most_common():
        statement = here.file.statement(site)
        if count < 2:
            return None
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr)) and any(
            isinstance(part, ast.expr) and ast.unparse(part) == name for part in ast.walk(statement.value)
        ):
            return site, count
    return None


def _finding(trace: Trace, event: SameEntries) -> Finding:
    joined = event.site.user
    added = _added(trace, event)
    cleared, edits = _cleared(trace, added, event)
    container = f"`{event.container}`" if event.container else "the list"
    what = f"list, `{event.entry}`" if event.entry else f"{event.what}"
    tensor = event.what == "tensor"
    if tensor:
        fix = f"append copies, made by `clone()`, to the list that {located(trace, joined)} draws from"
    elif cleared:
        lines = listed([f"{code(trace, site)} (line {site.line})" for site in cleared])
        fix = f"begin a new list in place of {lines}"
    else:
        fix = f"append copies to the list that {located(trace, joined)} draws from"
    return Finding(
        message=f"all {event.entries} entries of {container} {'have' if tensor else 'are'} one and the same {what}:"
        " only the newest is there",
        cause=added or joined,
        cause_label="keeps the object itself, not what it holds now" if added else "draws from it",
        effect=joined if added else None,
        effect_label=f"{event.different} different tensors of {event.parts}",
        related=tuple((site, "empties all entries") for site in cleared),
        seen=(
            f"{container} had {plural(event.before, 'place')} and later {event.entries}, with one {event.what} at"
            " all of them, which held something else by then",
            f"of the {event.parts} tensors that {code(trace, joined, 'the call')} put together {event.different} were"
            " different ones",
        ),
        fix=fix,
        edits=edits,
    )


def _is_named(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (
        isinstance(node, ast.Attribute) and node.attr == name
    )


def _calls(trace: Trace, method: str, count: int) -> Iterator[tuple[str, str, ast.Call, ast.Attribute]]:
    for path, function, node in nodes_of_functions(trace, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == method:
            if len(node.args) == count and not node.keywords:
                yield path, function, node, node.func


def _added(trace: Trace, event: SameEntries) -> Site | None:
    """The call that appends the object, where the text has one."""
    found = [
        site_of(path, function, node)
        for path, function, node, method in (_calls(trace, "append", 1) if event.container else ())
        if _is_named(method.value, event.container)
        and (not event.entry or _is_named(node.args[0], event.entry))
    ]
    near = [one for one in found if one.path == event.site.user.path]
    return min(near or found, key=lambda one: abs(one.line - event.site.user.line), default=None)


def _cleared(trace: Trace, added: Site | None, event: SameEntries) -> tuple[list[Site], Edits]:
    """The statements that empty the entry, and others beside them whose list is appended in the same function; and
    the edits that begin new ones."""
    if added is None or not event.entry:
        return [], ()
    here = Source(trace, added.path)
    kept = [
        ast.unparse(node.args[0])
        for path, function, node, _ in _calls(trace, "append", 1)
        if (path, function) == (added.path, added.function) and isinstance(node.args[0], ast.Attribute)
    ]
    own = [
        (node, method)
        for path, _, node, method in _calls(trace, "clear", 0)
        if path == added.path and _is_named(method.value, event.entry)
    ]
    if len(own) != 1 or ast.unparse(own[0][1].value) not in kept:
        return [site_of(here.path, added.function, node) for node, _ in own], ()
    statement = here.file.parent.get(id(own[0][0]))
    sites: list[Site] = []
    edits: list[Edit] = []
    for one in here.file.siblings(statement) if isinstance(statement, ast.Expr) else ():
        call = one.value if isinstance(one, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "clear":
            text = ast.unparse(call.func.value)
            if text in kept and not call.args:
                sites.append(site_of(here.path, "", call))
                edits += here.replace(call, f"{text} = []")
    return sites, tuple(edits)
