"""The right answers of one batch are divided by the number of all samples.

Why: an accuracy is right answers over the answers that were asked for. A count that begins anew in each batch has at
most the batch's size; divided by the length of the whole dataset it stays near zero, however well the network answers.

Fix: divide by the batch's own size, or add up the counts of all batches, and divide once, behind the loop.

The count and its divisor are read in the program's text, of loops that ran; that it is the count of one batch, and of
how many samples, was seen in the run, with the number of batches that the loop went through. Silent on: counts that are
added up, shares that are, or may be, and datasets of one batch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.figures import Addition, additions, gone_through, passes_of, quotients
from gradscope.analysis.ops import EXITS
from gradscope.analysis.reach import paths
from gradscope.analysis.text import nodes_that_ran, own_nodes, site_of
from gradscope.analysis.words import code, located
from gradscope.events import LoaderPassed
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.rules.mode._batch_figures import Figure, bare, figure
from gradscope.rules.mode._loaders import dataset_given
from gradscope.source import FUNCTIONS, SourceFile, arguments, called_name, names_in, own_name, stands_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for a, b in loader:
            out = model(a)
            opt.zero_grad()
            nn.functional.cross_entropy(out, b).backward()
            opt.step()
            correct = (out.argmax(1) == b).sum().item()  # effect: GS429
            print(correct / len(loader.dataset))  # type: ignore[arg-type]  # cause: GS429


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for a, b in loader:
            out = model(a)
            opt.zero_grad()
            nn.functional.cross_entropy(out, b).backward()
            opt.step()
            correct = (out.argmax(1) == b).sum().item()
            print(correct / len(b))


@rule("GS429", name="one-batch-over-all-samples", severity="warning")
def one_batch_over_all_samples(trace: Trace) -> Iterator[Finding]:
    for path, function, loop in nodes_that_ran(trace, ast.For):
        data, events = gone_through(loop), passes_of(trace, path, loop)
        batches = max((event.batches for event in events), default=0)
        if data is None or batches < 2:
            continue
        file = trace.source_file(path)
        whole = {f"{ast.unparse(data)}.dataset", f"{ast.unparse(data)}.sampler"} | _datasets(
            file, path, loop, events
        )
        for made, within in (*((node, loop) for node in own_nodes(loop)), *_of_the_last(file, loop)):
            if (
                not isinstance(made, ast.Assign)
                or len(made.targets) != 1
                or not isinstance(made.targets[0], ast.Name)
            ):
                continue
            name = made.targets[0].id
            wrong = [
                q
                for q in quotients(name, within)
                if _is_all_of(file, loop, q.divisor, whole) and not _is_a_part(trace, path, loop, q.node)
            ]
            if not wrong or _added_up(loop, name):
                continue
            counted = _counted(trace, path, made)
            if counted is not None or (within is not loop and _is_count(made.value, names_in(loop.target))):
                assert wrong[0].divisor is not None
                yield _finding(trace, path, function, made, wrong[0].node, wrong[0].divisor, counted, batches)


def _of_the_last(file: SourceFile, loop: ast.For) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """(assignment, statement that may divide what it gives) behind a loop, where the assignment reads what the last
    batch was and what the loop made of it."""
    given = names_in(loop.target)
    made = {name for node in own_nodes(loop) for name in names_in(node, ast.Store)} - given
    behind = file.behind(loop)
    for place, one in enumerate(behind):
        read = names_in(one, ast.Load)
        plain = isinstance(one, ast.Assign)
        if plain and read & given and read & made:
            yield from ((one, later) for later in behind[place + 1 :])
        bound = names_in(one, ast.Store)
        given -= bound
        made = made | bound if plain and read & (given | made) else made - bound


def _datasets(file: SourceFile, path: str, loop: ast.For, events: list[LoaderPassed]) -> set[str]:
    """The name of what the loader of a loop was made of, where the loop's function knows that by the same name, and
    nothing else had it."""
    places = {event.site.user.span(): event.site.user for event in events}
    made = list(places.values())
    given = dataset_given(file, made[0]) if len(made) == 1 and made[0].path == path else None
    names = [given, *_tensors(given)]
    if isinstance(given, ast.Name):
        names += [name for value in file.assigned.get(given.id, []) for name in _tensors(value)]
    here = bool(made) and file.scope(made[0]) in (file.scope_of(loop), file.tree)
    return {
        one.id
        for one in names
        if here
        and isinstance(one, ast.Name)
        and [file.scope_of(setting) for setting in _settings(file, loop, one.id)] == [file.scope(made[0])]
    }


def _tensors(made: ast.AST | None) -> list[ast.expr]:
    """What a `TensorDataset(x, y)` is made of: each holds all samples."""
    return made.args if isinstance(made, ast.Call) and own_name(made.func) == "TensorDataset" else []


def _settings(file: SourceFile, loop: ast.For, name: str) -> list[ast.AST]:
    """What gives a name that the loop reads a value: in its function, else in the file."""
    scope = file.scope_of(loop)
    inner: list[ast.AST] = (
        [one for one in arguments(scope) if one.arg == name] if isinstance(scope, FUNCTIONS) else []
    )
    for around in (scope, file.tree):
        for node in own_nodes(around) if around is not None else ():
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                inner.append(node)
        if inner:
            break
    return inner


def _is_all_of(file: SourceFile, loop: ast.For, divisor: ast.expr | None, whole: set[str]) -> bool:
    """Whether it is `len(loader.dataset)` of the loader that the loop goes through, or of what that was made of, or
    `x.shape[0]`; or a name that is given this alone."""
    divisor = bare(divisor)
    if isinstance(divisor, ast.Name):
        settings = _settings(file, loop, divisor.id)
        statement = file.parent.get(id(settings[0])) if len(settings) == 1 else None
        divisor = bare(statement.value) if isinstance(statement, ast.Assign) else None
    return divisor is not None and ast.unparse(divisor) in {
        length for name in whole for length in (f"len({name})", f"{name}.shape[0]", f"{name}.size(0)")
    }


def _is_a_part(trace: Trace, path: str, loop: ast.For, share: ast.expr | ast.stmt) -> bool:
    """Whether the loop adds the shares of all batches up: each is then its batch's part of the whole. So it may be of
    those that it puts into a list, unless nothing but single ones are taken out of that."""
    file = trace.source_file(path)
    statement = file.statement_of(share)
    names = [ast.unparse(target) for target in getattr(statement, "targets", ())]
    return any(
        one.add is statement or any(ast.unparse(node) in names for node in ast.walk(one.term))
        for one in additions(trace)
        if one.path == path and one.loop is loop and not (one.is_list and _is_read_one_by_one(one))
    )


def _is_read_one_by_one(one: Addition) -> bool:
    """Whether the program takes nothing out of a list but `rows[-1]`, `max(rows)` and the like."""
    added = {id(node) for node in ast.walk(one.add)}
    for node in one.file.nodes:
        if (
            isinstance(node, (ast.Name, ast.Attribute))
            and id(node) not in added
            and ast.unparse(node) == one.name
        ):
            above = one.file.parent.get(id(node))
            single = isinstance(above, ast.Subscript) and not isinstance(above.slice, ast.Slice)
            if (
                isinstance(node.ctx, ast.Load)
                and not single
                and called_name(above) not in ("len", "max", "min")
            ):
                return False
    return True


def _added_up(loop: ast.For, name: str) -> bool:
    """Whether the loop gives it another value from its own old one."""
    return any(
        (isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name)
        or (
            isinstance(node, ast.Assign)
            and [ast.unparse(target) for target in node.targets] == [name]
            and any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node.value))
        )
        for node in own_nodes(loop)
    )


def _counted(trace: Trace, path: str, made: ast.Assign) -> Figure | None:
    """What every call that was seen in the assignment takes out of a batch, or leaves in a tensor: a count of right
    answers."""
    known = paths(trace)
    ops = [
        (graph.id, op)
        for graph in trace.graphs
        for op in graph.called({*EXITS, "sum"})
        if any(frame.path == path and stands_in(made, frame) for frame in op.site.stack)
    ]
    taken = [(graph, value) for graph, op in ops if op.name in EXITS for value in op.inputs]
    left = [(graph, value) for graph, op in ops if op.name == "sum" for value in op.outputs]
    found = [figure(known, key) for key in taken or left]
    hits = [one for one in found if one is not None and one.kind == "hits"]
    return max(hits, key=lambda one: one.size) if hits and len(hits) == len(found) else None


def _is_count(value: ast.expr, given: set[str]) -> bool:
    """Whether it is `(answers == labels).sum()`, of what the last batch has: calls behind the loop are seldom
    recorded."""
    asked = [node for node in ast.walk(value) if isinstance(node, ast.Compare)]
    whole = {called_name(node) for node in ast.walk(value)} & {"sum", "count_nonzero"}
    return bool(whole) and any(names_in(node, ast.Load) & given for node in asked)


def _finding(
    trace: Trace,
    path: str,
    function: str,
    made: ast.Assign,
    quotient: ast.expr | ast.stmt,
    divisor: ast.expr,
    counted: Figure | None,
    batches: int,
) -> Finding:
    """counted: None for what stands behind the loop, of its last batch."""
    site, here = site_of(path, function, quotient), Source(trace, path)
    size = _length(here, made, counted) if counted is not None else _name_of_length(made.value)
    most = f"{counted.size}" if counted is not None else "its own size"
    edits: Edits = here.replace(divisor, size) if size else ()
    return Finding(
        message=f"{code(trace, site, 'the share')} divides the right answers of one batch by the number of all samples",
        cause=site,
        cause_label="counts the samples of all batches",
        effect=site_of(path, function, made),
        effect_label=f"counts anew in each batch, of {counted.size} samples"
        if counted is not None
        else "counts in the last batch alone, behind the loop",
        seen=(f"the loop goes through {batches:,} batches, and each gives a count of {most} at most",),
        fix=f"divide by the size of the batch{f', `{size}`,' if size else ''} in place of"
        f" {located(trace, site_of(path, function, divisor))}; or add the counts up, and divide behind the loop",
        edits=edits,
    )


def _length(here: Source, made: ast.Assign, counted: Figure) -> str:
    """`len(y)` of the labels that the answers are compared with, by their name where the count is given."""
    place = counted.op.site.user
    name = _compared(here.file.at(place)) if place.path == here.path else ""
    scope = here.file.scope(place)
    if name and isinstance(scope, FUNCTIONS) and scope is not here.file.scope_of(made):
        call = made.value
        names = [one.arg for one in arguments(scope)]
        if called_name(call) != scope.name or not isinstance(call, ast.Call) or name not in names:
            return ""
        given = call.args[names.index(name) :][:1]
        starred = any(isinstance(one, ast.Starred) for one in call.args)
        name = given[0].id if given and not starred and isinstance(given[0], ast.Name) else ""
    return f"len({name})" if name else ""


def _name_of_length(count: ast.expr) -> str:
    name = _compared(count)
    return f"len({name})" if name else ""


def _compared(count: ast.AST | None) -> str:
    for node in ast.walk(count) if count is not None else ():
        given: ast.expr | None = None
        if isinstance(node, ast.Compare):
            given = node.comparators[0]
        elif called_name(node) in ("eq", "equal") and isinstance(node, ast.Call) and node.args:
            given = node.args[-1]
        if isinstance(given, ast.Name):
            return given.id
    return ""
