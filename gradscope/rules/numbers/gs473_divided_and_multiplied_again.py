"""A number is divided by what it is multiplied by right after: `x / n * n` is `x`.

Why: `/` and `*` bind alike and are taken from left to right. `x / n * n` divides by `n` and takes that back: nothing is
divided. `x / 2 * t` is `(x / 2) * t`: a temperature behind it multiplies, where it was to divide with the 2, and a
softmax that was to become sharper becomes flat.

Fix: put parentheses around what divides: `x / (n * n)`, `x / (2 * t)`.

Both calls were seen in the run, on the way to a loss; that both take the same number is read in the program's text. A
note for a temperature that divides the scores of one softmax and multiplies those of another one: its number may be 1.
Silent on: `x // n * n`, numbers that are rounded in between, and products that no division stands before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import place
from gradscope.analysis.ops import DIVISIONS, MULTIPLICATIONS, SOFTMAXES
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import located
from gradscope.events import Backward
from gradscope.fixes.source import Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.source import SourceFile
from gradscope.store import Trace

NEAR = 6  # calls from the scores to the softmax
SOFTENING = SOFTMAXES | {"cross_entropy"}
TURNS = {"T", "t", "transpose", "permute"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    side = 4
    model = nn.Linear(side * side, side * side)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        z = model(torch.randn(8, side * side))
        loss = z.pow(2).mean() - z.tanh().sum(1).mean() / side * side  # cause: GS473
        opt.zero_grad()
        loss.backward()  # effect: GS473
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    side = 4
    model = nn.Linear(side * side, side * side)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        z = model(torch.randn(8, side * side))
        loss = z.pow(2).mean() - z.tanh().sum(1).mean() / (side * side)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS473", name="divided-and-multiplied-again", severity="warning")
def divided_and_multiplied_again(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[int] = set()
    for key, op in known.used_calls(MULTIPLICATIONS):
        file = trace.source_file(op.site.user.path)
        product = file.at(op.site.user)
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult) or id(product) in told:
            continue
        quotient = product.left
        if not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.Div):
            continue
        if ast.dump(quotient.right) == ast.dump(product.right):
            told.add(id(product))
            yield _taken_back(trace, op, product, quotient, known.loss_of(key))
        elif isinstance(quotient.right, ast.Constant) and (other := _divides(known, file, op, product)):
            told.add(id(product))
            yield _temperature(trace, op, product, quotient, other)


def _divides(known: Paths, file: SourceFile, product: Op, node: ast.BinOp) -> Op | None:
    """The call of the same function that divides the scores of a softmax by what this one multiplies those of another
    one with."""
    if not isinstance(node.right, (ast.Name, ast.Attribute)) or not _is_softened(known, product):
        return None
    name, here = ast.unparse(node.right), file.scope(product.site.user)
    for _, op in known.used_calls(DIVISIONS):
        site = op.site.user
        other = file.at(site) if site.path == product.site.user.path else None
        if isinstance(other, ast.BinOp) and ast.unparse(other.right) == name and file.scope(site) is here:
            if _is_softened(known, op):
                return op
    return None


def _is_softened(known: Paths, op: Op) -> bool:
    """Whether a softmax, or a loss that has one, reads it, itself or transposed."""
    keys, seen = [(op.graph, output) for output in op.outputs], 0
    while keys and seen < NEAR:
        seen += 1
        readers = [one for one in known.readers(keys.pop(0)) if one is not None]
        if any(one.name in SOFTENING for one in readers):
            return True
        keys += [(one.graph, value) for one in readers if one.name in TURNS for value in one.outputs]
    return False


def _taken_back(
    trace: Trace, op: Op, product: ast.BinOp, quotient: ast.BinOp, event: Backward | None
) -> Finding:
    here, site = Source(trace, op.site.user.path), op.site.user
    number = here.file.text(product.right)
    first = here.file.text(quotient.left)
    together = f"({number} * {number})"
    return Finding(
        message=f"{located(trace, site)} divides by `{number}` and multiplies by it again: it is `{first}` as it was",
        cause=site,
        cause_label=f"is taken from left to right: by `{number}`, and back",
        effect=event.site.user if event is not None else None,
        effect_label="goes back from what is made of it",
        seen=(_ran(trace, op),),
        fix=f"put parentheses around what divides: `/ {together}` in place of `/ {number} * {number}`"
        f" ({place(site)}); or leave both out",
        edits=here.replace(product, f"{first} / {together}"),
    )


def _ran(trace: Trace, op: Op) -> str:
    shape = trace.graph(op.graph).values[op.inputs[0]].shape
    form = f"a tensor of shape {tuple(shape)}" if shape else "a single number"
    return f"both calls were made on the way to the loss, on {form}"


def _temperature(trace: Trace, op: Op, product: ast.BinOp, quotient: ast.BinOp, other: Op) -> Finding:
    here, site = Source(trace, op.site.user.path), op.site.user
    number, name = here.file.text(quotient.right), here.file.text(product.right)
    first = here.file.text(quotient.left)
    together = f"({number} * {name})"
    return Finding(
        message=f"`{name}` multiplies the scores of one softmax, and divides those of another one",
        cause=site,
        cause_label=f"divides by {number} alone, and multiplies by `{name}`",
        effect=other.site.user,
        effect_label="divides by it",
        seen=(_ran(trace, op),),
        why="`/` and `*` bind alike and are taken from left to right: `x / 2 * t` is `(x / 2) * t`. A temperature below"
        " 1 makes a softmax sharper where it divides, and flatter where it multiplies: two that are to be compared come"
        " apart by its square.",
        fix=f"if both are to have one temperature, put parentheses around what divides: `/ {together}` in place of"
        f" `/ {number} * {name}` ({place(site)})",
        edits=here.replace(product, f"{first} / {together}"),
        severity="note",
    )
