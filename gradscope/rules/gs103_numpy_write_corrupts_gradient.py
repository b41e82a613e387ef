"""Saved values were overwritten through NumPy or raw storage: backward computes a wrong gradient, silently.

Why: `.numpy()`, `torch.from_numpy`, DLPack and `.untyped_storage()` share memory with a
tensor. A write on their side never reaches autograd's version counter, so backward uses
the new values where the saved ones belong.

Fix: copy at the border: `x.detach().cpu().numpy().copy()`, `torch.tensor(array)`.

Silent on: arrays that are only read, and memory that backward does not read again.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.rules.gs101_data_write_corrupts_gradient import OTHER_LIBRARIES, corruption, corruptions
from gradscope.store import Trace

WRITING_METHODS = {"fill", "sort", "partition", "put", "itemset", "resize", "setfield", "byteswap"}
WRITING_FUNCTIONS = {"copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "put_along_axis"}
MAX_WRITES = 2


def bad() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = b.detach().numpy()  # cause: GS103
    array[:] = 0
    loss.backward()  # effect: GS103


def good_read_only() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    largest = float(b.detach().numpy().max())
    assert largest == 9.0
    loss.backward()


def good_copy() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = b.detach().numpy().copy()
    array[:] = 0
    loss.backward()


def good_written_after_backward() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    array = b.detach().numpy()
    torch.mean(b * b).backward()
    array[:] = 0


@rule("GS103", name="numpy-write-corrupts-gradient", severity="error", over=("GS102",))
def numpy_write_corrupts_gradient(trace: Trace) -> Iterator[Finding]:
    for events in corruptions(trace):
        through = str(events[0].data.get("through"))
        if through in OTHER_LIBRARIES:
            # A write on the other side is no call of torch: the site is where the memory was handed out.
            site = trace.site(events[0].data.get("write"))
            label = "hands out the memory itself: writes on the other side are hidden from autograd's version check"
            fix = "copy at the border: `{name}.detach().numpy().copy()`, `torch.tensor(array)`"
            found = corruption(trace, events, site, through, label, fix)
            yield replace(found, related=(*_writes(trace, found.cause), *found.related))


def _writes(trace: Trace, handed_out: Site | None) -> tuple[tuple[Site, str], ...]:
    """The statements that write into the array, as far as the text of its file tells."""
    file = trace.source_file(handed_out.path) if handed_out is not None else None
    call = file.at(handed_out) if file is not None and handed_out is not None else None
    if file is None or handed_out is None or not isinstance(call, ast.Call):
        return ()
    given = ast.unparse(call.func).endswith("from_numpy") and call.args
    name = ast.unparse(call.args[0]) if given else file.variable(handed_out)
    scope: ast.AST | None = call
    for node in file.around(handed_out):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            scope = node
            if isinstance(node, ast.Module) or (name and "." not in name and _binds(node, name)):
                break
    lines: dict[int, Site] = {}
    for node in ast.walk(scope) if scope is not None and name else ():
        if isinstance(node, (ast.stmt, ast.Call)) and _writes_to(node, str(name)):
            first, column, last, end = file.span(node)
            place = Site(-1, handed_out.path, first, column, last, end, handed_out.function, handed_out.kind)
            lines.setdefault(first, place)
    return tuple((place, f"writes into `{name}`") for place in list(lines.values())[:MAX_WRITES])


def _binds(function: ast.AST, name: str) -> bool:
    """Whether the name is the function's own."""
    return any(
        (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store))
        for node in ast.walk(function)
    )


def _writes_to(node: ast.stmt | ast.Call, name: str) -> bool:
    """Whether this is `a[…] = …`, `a += …`, `a.fill(…)`, `f(…, out=a)` or `np.copyto(a, …)`."""
    if isinstance(node, ast.AugAssign):
        return name in (ast.unparse(node.target), _array(node.target))
    if isinstance(node, ast.Assign):
        return any(_array(target) == name for target in node.targets)
    if not isinstance(node, ast.Call):
        return False
    if any(k.arg == "out" and ast.unparse(k.value) == name for k in node.keywords):
        return True
    if not isinstance(node.func, ast.Attribute):
        return False
    own = node.func.attr in WRITING_METHODS and ast.unparse(node.func.value) == name
    first = node.func.attr in WRITING_FUNCTIONS and node.args and ast.unparse(node.args[0]) == name
    return own or bool(first)


def _array(target: ast.expr) -> str:
    """`a` for the target `a[1:, 0]`."""
    while isinstance(target, ast.Subscript):
        target = target.value
        if not isinstance(target, ast.Subscript):
            return ast.unparse(target)
    return ""
