"""A statement looks as if it changed something about gradients, and does nothing.

Why: `x.detach()` gives a new tensor and leaves `x` as it is; without parentheses a method is
named, not called; `requires_grad` of a module is no switch, and Python makes a new attribute of
whatever name it is given (`p.require_grad = False`).

Fix: use the result (`x = x.detach()`), call the method (`h.detach_()`), and freeze a module with
`module.requires_grad_(False)`. Where a `zero_grad` or `backward` that is not called had its effect,
GS201 or GS204 tells of it.

Silent on: results that are used; `detach_()`; attributes of other names; what already is frozen.
"""

import ast
import re
from collections.abc import Iterator

from gradscope.model import Event, Finding, Site
from gradscope.rules import rule
from gradscope.rules._common import parameter_names, parameter_subjects, plural
from gradscope.rules._edits import Source
from gradscope.rules._paths import paths
from gradscope.rules._rewrites import assigned_back
from gradscope.rules._uncalled import parentheses, site_of, uncalled
from gradscope.store import Trace

_METHODS = {"requires_grad_", "detach_", "detach", "zero_grad", "backward", "zero_", "retain_grad"}
_MEANT = "requires_grad"


def bad_detach() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 3)
    h = model(torch.ones(2, 3))
    h.detach()  # cause: GS308
    (h * h).sum().backward()


def bad_detach_of_a_target() -> None:
    import torch
    from torch import nn

    value = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(value.parameters(), lr=0.1)
    for _ in range(3):
        target = torch.ones(4, 1) + 0.9 * value(torch.randn(4, 3))
        target.detach()  # cause: GS308
        opt.zero_grad()
        nn.functional.mse_loss(value(torch.randn(4, 3)), target).backward()
        opt.step()


def bad_detach_before_it_is_kept() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    outputs = []
    for _ in range(2):
        out = model(torch.ones(2, 3))
        out.detach()  # cause: GS308
        outputs.append(out)


def bad_never_called() -> None:
    import torch

    x = torch.ones(3)
    x.requires_grad_  # cause: GS308
    (x * 2).sum()


def bad_frozen_by_attribute() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model[0].requires_grad = False  # type: ignore[assignment]  # cause: GS308
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        opt.step()


def bad_misspelled() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    for p in model[0].parameters():
        p.require_grad = False  # type: ignore[attr-defined]  # cause: GS308
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        opt.step()


def bad_state_detached_to_nobody() -> None:
    import torch
    from torch import nn

    cell, head = nn.GRUCell(2, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    h = torch.zeros(8, 4)
    for _ in range(3):
        h.detach()  # cause: GS308
        for _ in range(2):
            h = cell(torch.randn(8, 2), h)
        opt.zero_grad()
        head(h).pow(2).mean().backward()
        opt.step()


def good_detach_used() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 3)
    h = model(torch.ones(2, 3))
    target = h.detach()
    h2 = model(torch.ones(2, 3))
    (h2 - target).pow(2).sum().backward()


def good_frozen() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        opt.step()


def good_attribute_of_its_own() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, requires_grad: bool = False) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)
            self.requires_grad = requires_grad

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shown: torch.Tensor = self.fc(x)
            return shown if self.requires_grad else shown.detach()

    net, head = Net(), nn.Linear(3, 1)
    net.fc.requires_grad_(False)
    head(net(torch.ones(2, 3))).sum().backward()


def good_step_kept_as_a_name() -> None:
    import torch

    w = torch.ones(3, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    step, clear = opt.step, opt.zero_grad
    for _ in range(2):
        clear()
        (w * w).sum().backward()
        step()


@rule("GS308", name="detach-discarded", severity="warning", over=("GS206", "GS306", "GS314", "GS605"))
def detach_discarded(trace: Trace) -> Iterator[Finding]:
    yield from _discarded(trace)
    yield from _never_called(trace)
    for event in trace.of("misnamed"):
        yield from _misnamed(trace, event)


def _discarded(trace: Trace) -> Iterator[Finding]:
    """`x.detach()` as a statement, where `x` carries a gradient."""
    counts: dict[Site, int] = {}
    needed: set[Site] = set()  # a loss goes on with the tensor as it is
    makers: dict[Site, set[tuple[str, tuple[str, int]]]] = {}  # the lines that made the tensor
    known = paths(trace)
    used = known.used.order
    for graph in trace.graphs:
        for op in graph.ops:
            if op.name == "detach" and op.cut == "detach" and op.site.kind == "user":
                file = trace.source_file(op.site.path)
                node = file.at(op.site)
                if node is not None and isinstance(file.parent.get(id(node)), ast.Expr):
                    counts[op.site] = counts.get(op.site, 0) + max(graph.count, 1)
                    needed |= {op.site} if any((graph.id, i) in used for i in op.inputs) else set()
                    made = (known.maker((graph.id, i)) for i in op.inputs)
                    lines = {("made", m.site.user.location()) for m in made if m is not None}
                    makers.setdefault(op.site, set()).update(lines)
    for site, count in counts.items():
        node = trace.source_file(site.path).at(site)
        text = "the tensor"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            text = ast.unparse(node.func.value)
        yield Finding(
            message=f"the result of `{text}.detach()` is not used: `{text}` keeps its graph",
            cause=site,
            cause_label="gives a new tensor, which is dropped",
            seen=(f"`{text}` required a gradient, also after this line",),
            fix=f"use the result: `{text} = {text}.detach()`"
            + (f" where no gradient is to go through `{text}`; else leave it out" if site in needed else ""),
            count=count,
            edits=assigned_back(trace, site) if site not in needed else (),
            subjects=frozenset(makers[site]),
        )


# -- never called ----------------------------------------------------------------------


def _never_called(trace: Trace) -> Iterator[Finding]:
    for path, function, node in uncalled(trace, _METHODS):
        yield _uncalled(trace, path, function, node)


def _uncalled(trace: Trace, path: str, function: str, node: ast.Attribute) -> Finding:
    text = ast.unparse(node)
    held = node.attr == "zero_grad"
    site = site_of(path, function, node)
    return Finding(
        message=f"`{text}` is named, but not called: nothing happens",
        cause=site,
        cause_label="a method without parentheses",
        seen=(f"it stands in `{function}`, which ran" if function != "<module>" else "the file ran",),
        fix=f"call it: `{text}()`",
        edits=parentheses(site),
        subjects=parameter_subjects(p.id for p in trace.parameters if p.optimizers) if held else frozenset(),
    )


# -- attributes that do nothing ----------------------------------------------------------


def _misnamed(trace: Trace, event: Event) -> Iterator[Finding]:
    name, ids = str(event.data["name"]), list(event.data["parameters"])
    site = next(_assigned(trace, event, name), None)
    if site is None:
        return
    target = trace.source_file(site.path).lines[site.line - 1][site.column - 1 : site.end_column - 1]
    holder = target.rpartition(".")[0]
    names = parameter_names(trace, ids)
    module = event.data["holder"] == "module"
    meant = f"{holder}.requires_grad_(False)" if module else f"{holder}.requires_grad = False"
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    what = f"a new attribute of {'the module' if event.data['holder'] == 'module' else 'the tensor'}"
    yield Finding(
        message=f"`{target} = False` freezes nothing: `{name}` is {what}",
        cause=site,
        cause_label="sets an attribute that torch does not look at",
        seen=(f"{plural(len(ids), 'parameter')} still required a gradient: {names}",),
        fix=f"write `{meant}`",
        edits=here.replace(statement, meant) if statement is not None else (),
        subjects=parameter_subjects(ids),
    )


def _assigned(trace: Trace, event: Event, name: str) -> Iterator[Site]:
    """The user's assignments of False to an attribute of this name, the likeliest first."""
    found: list[tuple[int, Site]] = []
    for path in trace.sources:
        tree = trace.source_file(path).tree
        for node in ast.walk(tree) if tree is not None else ():
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
                continue
            target = node.targets[0]
            off = isinstance(node.value, ast.Constant) and node.value.value is False
            if target.attr != name or not off or ast.unparse(target.value) == "self":
                continue
            rank = 0 if name != _MEANT else _fit(trace, event, ast.unparse(target.value))
            if rank < 2:
                end = target.end_lineno or target.lineno, (target.end_col_offset or 0) + 1
                found.append((rank, Site(-1, path, target.lineno, target.col_offset + 1, *end, "", "user")))
    yield from (site for _, site in sorted(found, key=lambda item: item[0]))


def _fit(trace: Trace, event: Event, text: str) -> int:
    """How well the text names the module: 0 its path, 1 perhaps, 2 not at all."""
    module = trace.modules[event.data["id"]]
    root = trace.modules[module.root]
    own = ".".join(part for part in (root.name, module.path) if part)
    plain = re.sub(r"['\"\]]", "", text.replace("[", ".")).replace("self.", "")
    if plain in (own, module.path):
        return 0
    return 1 if plain.rpartition(".")[2] in (own.rpartition(".")[2], module.path.rpartition(".")[2]) else 2
