"""An evaluation counts the batches of one loader and goes through another one, which is that of the training.

Why: what is called the validation's loss or accuracy is then that of samples that the network was trained on. It rises
with every epoch, keeps the wrong epoch for the best one, and says nothing of new samples.

Fix: go through the loader whose batches are counted.

Told of a loader that nobody went through in the whole run, though its length was asked for in the function that goes
through the training's, or the block which does so without gradients asks for it by its name (`if held is not None:`).
Or that function asks for its samples alone (`len(held.dataset)`), and so does the whole program.
Or its function does not mention it again, of the other loaders made there only the training's is gone through, and one
loop of that function does so without gradients.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, located, user
from gradscope.events import Loader, LoaderLeft
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, SourceFile, names_in, own_name, stands_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    trained = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
    held = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def evaluate() -> float:
        total = 0.0
        with torch.no_grad():
            for x, y in trained:  # cause: GS418
                total += nn.functional.mse_loss(model(x), y).item()
        return total / len(held)  # effect: GS418

    for x, y in trained:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    print(evaluate())


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    trained = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
    held = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def evaluate() -> float:
        total = 0.0
        with torch.no_grad():
            for x, y in held:
                total += nn.functional.mse_loss(model(x), y).item()
        return total / len(held)

    for x, y in trained:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    print(evaluate())


@rule("GS418", name="goes-through-another-loader", severity="warning", needs=LoaderLeft)
def goes_through_another_loader(trace: Trace) -> Iterator[Finding]:
    loops: dict[Site, list[Site]] = {}  # where a loader is made → what goes through it
    for event in trace.of(Loader):
        if (loop := user(trace.site(event.loop))) is not None:
            loops.setdefault(event.site.user, []).append(loop)
    told: set[tuple[str, int]] = set()
    for left in trace.of(LoaderLeft):
        asked = user(trace.site(left.asked))
        if asked is None:
            continue
        for made, through in loops.items():
            function = asked.path, asked.function
            here = {loop.location(): loop for loop in through if (loop.path, loop.function) == function}
            elsewhere = [loop for loop in through if (loop.path, loop.function) != function]
            if len(here) == 1 and elsewhere and made != left.site.user:
                loop, name = next(iter(here.values())), _counted(trace, asked)
                told.add(loop.location())
                yield _finding(trace, left.site.user, name, asked, loop, elsewhere[0])
    for left in trace.of(LoaderLeft):
        made = left.site.user
        for block, loop, training in _about(trace, made, loops):
            if loop.location() not in told:
                told.add(loop.location())
                name = trace.source_file(made.path).variable(made) or ""
                yield _finding(trace, made, name, block, loop, training)
        if (found := _unmentioned(trace, made)) is not None and found[0].location() not in told:
            told.add(found[0].location())
            yield _finding(trace, made, trace.source_file(made.path).variable(made) or "", None, *found)
    lefts = trace.of(LoaderLeft)
    for name, asked, loop, training in _of_its_samples(trace) if len(lefts) == 1 else ():
        if loop.location() not in told:
            told.add(loop.location())
            yield _finding(trace, lefts[0].site.user, name, asked, loop, training)


def _of_its_samples(trace: Trace) -> Iterator[tuple[str, Site, Site, Site]]:
    """Where a loop without gradients goes through the training's loader in a function that asks for the samples of
    another one, `held.dataset`, which the program does not read anywhere else: what that is called, where it is asked
    for, the loop, and that of the training."""
    passes = [(e, loop) for e in trace.of(Loader) if (loop := user(trace.site(e.loop))) is not None]
    for event, loop in passes:
        training = next((o for e, o in passes if e.grad and e.site.user == event.site.user), None)
        if event.grad or training is None:
            continue
        file = trace.source_file(loop.path)
        for node in ast.walk(file.scope(loop)):
            if not isinstance(node, ast.Attribute) or node.attr != "dataset":
                continue
            held = node.value
            if isinstance(held, (ast.Name, ast.Attribute)) and _is_read_for_samples_alone(
                trace, own_name(held)
            ):
                yield ast.unparse(held), site_of(loop.path, loop.function, node), loop, training


def _is_read_for_samples_alone(trace: Trace, name: str) -> bool:
    for path in trace.sources:
        file = trace.source_file(path)
        for node in file.nodes:
            if isinstance(node, (ast.Name, ast.Attribute)) and own_name(node) == name:
                above = file.parent.get(id(node))
                samples = isinstance(above, ast.Attribute) and above.attr == "dataset"
                if (
                    isinstance(node.ctx, ast.Load)
                    and not samples
                    and not _is_handed_on(trace, file, node, name)
                ):
                    return False
    return True


def _is_handed_on(trace: Trace, file: SourceFile, node: ast.expr, name: str) -> bool:
    """Whether it is only put into what has the same name: `self.held = held`, a parameter `held`."""
    above = file.parent.get(id(node))
    if isinstance(above, ast.keyword):
        return above.arg == name
    if (
        isinstance(above, ast.Call)
        and node in above.args
        and isinstance(above.func, (ast.Name, ast.Attribute))
    ):
        called = own_name(above.func)
        return any(
            name in {argument.arg for argument in function.args.args}
            for path in trace.sources
            for function in _functions_of(trace.source_file(path), called)
        )
    statement = above
    place: int | None = None
    if isinstance(above, ast.Tuple):
        statement, place = file.parent.get(id(above)), above.elts.index(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target: ast.expr | None = statement.targets[0]
    if place is not None:
        fits = isinstance(target, ast.Tuple) and place < len(target.elts)
        target = target.elts[place] if isinstance(target, ast.Tuple) and fits else None
    return isinstance(target, (ast.Name, ast.Attribute)) and own_name(target) == name


def _functions_of(file: SourceFile, name: str) -> Iterator[ast.FunctionDef]:
    """The functions of a name, and what makes the objects of a class of that name."""
    for node in file.nodes:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            yield node
        if isinstance(node, ast.ClassDef) and node.name == name:
            yield from (m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__init__")


def _about(trace: Trace, made: Site, loops: dict[Site, list[Site]]) -> Iterator[tuple[Site, Site, Site]]:
    """The blocks without gradients that ask for a loader by its name and go through another one, with their loop and
    one of the training that goes through that as well."""
    file = trace.source_file(made.path)
    name = file.variable(made)
    off = [r.site.user for r in trace.regions.values() if r.kind in ("no_grad", "inference_mode")]
    for other, through in loops.items():
        for loop in through if name and other != made else ():
            if (loop.path, loop.function) != (made.path, made.function):
                continue
            around = (node for node in file.around(loop) if isinstance(node, (ast.If, *FUNCTIONS)))
            block = next(around, None)
            if not isinstance(block, ast.If) or name not in names_in(block, ast.Load):
                continue
            within = [site for site in through if not (site.path == made.path and stands_in(block, site))]
            if within and any(site.path == made.path and stands_in(block, site) for site in off):
                yield site_of(made.path, made.function, block.test), loop, within[0]


def _unmentioned(trace: Trace, made: Site) -> tuple[Site, Site] | None:
    """Of a loader that its function never mentions again, and of which all others that are made there and gone through
    are one: the only loop of that function that goes through it without gradients, and the one of the training."""
    file = trace.source_file(made.path)
    scope, name = file.scope(made), file.variable(made)
    if not name or "." in name or name in names_in(scope, ast.Load):
        return None
    passes = [
        (event, loop)
        for event in trace.of(Loader)
        if (loop := user(trace.site(event.loop))) is not None
        if event.site.user.path == made.path and file.scope(event.site.user) is scope
    ]
    evaluations = {loop.location(): loop for event, loop in passes if not event.grad}
    if len(evaluations) != 1 or len({event.site.user for event, _ in passes} | {made}) != 2:
        return None
    loop = next(iter(evaluations.values()))
    inside = loop.path == made.path and file.scope(loop) is scope
    is_loop = any(isinstance(node, ast.For) and node.lineno == loop.line for node in file.around(loop))
    first, training = passes[0]
    return (loop, training) if inside and is_loop and first.grad else None


def _finding(trace: Trace, made: Site, name: str, asked: Site | None, loop: Site, training: Site) -> Finding:
    """`asked`: where the program asks for the other loader; None where its function does not mention it again."""
    other = f"`{name}`" if name else f"the loader of {located(trace, made)}"
    counted = asked is not None and isinstance(trace.source_file(asked.path).at(asked), ast.Call)
    what = f"where the batches of {other} are counted" if counted else f"where the block is about {other}"
    label = f"counts those of {other}" if counted else f"asks for {other}"
    if asked is None:
        what, label = f"and nobody goes through {other}", "nobody goes through this one"
    unread = asked is None and "; its function does not mention it again"
    return Finding(
        message=f"{code(trace, loop, 'this loop')} goes through the training's loader, {what}",
        cause=loop,
        cause_label="takes its batches from the training's loader",
        effect=asked or made,
        effect_label=label,
        related=(
            (training, "the training goes through it here"),
            *([(made, "nobody goes through this one")] if asked is not None else []),
        ),
        seen=(
            f"nobody went through {other} in the whole run"
            + ("; its length was asked for" if counted else unread or ""),
            *(
                ["no other loader that is made there was gone through but the training's"]
                if asked is None
                else []
            ),
        ),
        fix=f"go through {other} in {located(trace, loop)}",
        edits=_instead(trace, loop, name) if name else (),
    )


def _counted(trace: Trace, asked: Site) -> str:
    """`loader` of `len(loader)`."""
    node = trace.source_file(asked.path).at(asked)
    given = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else None
    return ast.unparse(given) if isinstance(given, (ast.Name, ast.Attribute)) else ""


def _instead(trace: Trace, loop: Site, name: str) -> Edits:
    here = Source(trace, loop.path)
    node = here.file.at(loop) or here.file.statement(loop)
    if isinstance(node, ast.For):
        node = node.iter
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]  # `iter(loader)`, `enumerate(loader)`
    return here.replace(node, name) if isinstance(node, (ast.Name, ast.Attribute)) else ()
