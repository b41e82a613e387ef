"""Two parameters share memory, and each has a gradient of its own.

Why: `a.weight.data = b.weight.data` makes two parameters over one memory. Each gets only its
part of the gradient and its own optimizer state; both updates go into the same numbers. And the
tie breaks silently: `.to(device)`, `load_state_dict` into new memory or a copy of the model part
the two.

Fix: make both names hold one parameter: `decoder.weight = embedding.weight`.

The same after `b.load_state_dict(a.state_dict(), assign=True)`, where both train from then on.

Silent on: parameters that are one object; copies of values (`.data.copy_()`, `.clone()`); memory
shared with a parameter that gets no gradient.
"""

import ast
import re
from collections.abc import Iterator

from gradscope.analysis.loop import in_order
from gradscope.analysis.names import names_of
from gradscope.analysis.words import (
    code,
    located,
    parameter_name,
    parameter_names,
    parameter_subjects,
    plural,
    where,
)
from gradscope.events import Backward, Tied
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Parameter, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

VIEWS = {"T", "mT", "H", "mH"}  # attributes


def bad_data_assigned() -> None:
    import torch
    from torch import nn

    embedding, decoder = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    decoder.weight.data = embedding.weight.data  # cause: GS107
    opt = torch.optim.Adam([*embedding.parameters(), *decoder.parameters()])
    for _ in range(2):
        opt.zero_grad()
        decoder(embedding(torch.tensor([0, 1]))).pow(2).mean().backward()
        opt.step()


def good_one_parameter() -> None:
    import torch
    from torch import nn

    embedding, decoder = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    decoder.weight = embedding.weight
    opt = torch.optim.SGD(embedding.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        decoder(embedding(torch.tensor([0, 1]))).pow(2).mean().backward()
        opt.step()


@rule("GS107", name="tied-by-data", severity="warning", over=("GS102",))
def tied_by_data(trace: Trace) -> Iterator[Finding]:
    yield from _copied_again(trace)
    known = {p.id: p for p in trace.parameters}
    told: set[frozenset[int]] = set()
    yield from _loaded(trace)
    for event in trace.of(Tied):
        if event.how == "load":
            continue
        pair = [known[id] for id in event.parameters if id in known]
        key = frozenset(p.id for p in pair)
        if len(pair) == 2 and all(p.requires_grad and p.passes for p in pair) and key not in told:
            told.add(key)
            first, second = (parameter_name(trace, p.id) for p in pair)
            whole, edits = _of_a_layer(trace, event.site.user) if event.how == "layer" else ("", ())
            yield Finding(
                message=f"`{first}` and `{second}` share memory, but are two parameters",
                cause=event.site.user,
                cause_label="one memory, two parameters from here on",
                seen=tuple(_seen(trace, p) for p in pair),
                fix=whole
                or _of_a_view(trace, event.site.user)
                or _fix(names_of(trace).line(event.site.user) or "", first, second),
                count=event.count,
                edits=edits or _tied(trace, event.site.user),
                subjects=parameter_subjects(p.id for p in pair),
            )


def _copied_again(trace: Trace) -> Iterator[Finding]:
    """A copy into a network that shares its memory already: from the first time on the two never
    differ, where a target network is to stay behind."""
    known = {p.id: p for p in trace.parameters}
    places: dict[Site, list[tuple[Parameter, Parameter]]] = {}
    for event in trace.of(Tied):
        pair = [known[id] for id in event.parameters if id in known]
        if event.again and len(pair) == 2 and pair[0].steps and not pair[1].passes:
            places.setdefault(event.site.user, []).append((pair[0], pair[1]))
    for site, pairs in places.items():
        first, second = (parameter_name(trace, p.id) for p in pairs[0])
        yield Finding(
            message=f"`{second}` is to be a copy of `{first}`, but is the same memory: the two never differ",
            cause=site,
            cause_label="shares the memory, and has done so since the first time",
            seen=(f"{plural(pairs[0][0].steps, 'step')} of `{first}` changed `{second}` at once",),
            fix="copy the values: `.data.copy_(…)` on the left, or `load_state_dict`",
            edits=_copied(trace, site),
            subjects=parameter_subjects(p.id for pair in pairs for p in pair),
        )


def _loaded(trace: Trace) -> Iterator[Finding]:
    """A state whose tensors another module still trains is taken over as it is, and trained there as well."""
    ties: dict[Site, list[Tied]] = {}
    filled: set[int] = set()  # since the first of them
    for _, event in in_order(trace):
        if isinstance(event, Tied) and event.how == "load":
            ties.setdefault(event.site.user, []).append(event)
        elif isinstance(event, Backward) and ties:
            filled.update(event.filled)
    for site, events in ties.items():
        pairs = [event.parameters for event in events if filled.issuperset(event.parameters)]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            continue
        here, call = Source(trace, site.path), trace.source_file(site.path).at(site)
        assign = [k for k in call.keywords if k.arg == "assign"] if isinstance(call, ast.Call) else []
        first, second = (parameter_names(trace, [pair[i] for pair in pairs]) for i in (0, 1))
        yield Finding(
            message=f"{code(trace, site, 'the load')} makes {second} share the memory of {first}",
            cause=site,
            cause_label="takes the tensors of the state themselves, and copies nothing",
            seen=(
                f"{plural(len(pairs), 'pair')} of parameters over one memory each; both got gradients later on",
            ),
            why="a state dict holds the parameters' own memory, and with `assign=True` the module goes on with it: each"
            " of the two gets only its part of the gradient, and every step of the one moves the other",
            fix=f"leave `assign=True` out ({where(site)}): the values are copied then",
            edits=here.without_keyword(call, assign[0]) if assign and isinstance(call, ast.Call) else (),
            subjects=parameter_subjects(id for pair in pairs for id in pair),
        )


def _seen(trace: Trace, p: Parameter) -> str:
    held = f", held by {plural(len(p.optimizers), 'optimizer')}" if p.optimizers else ""
    passes = plural(p.passes, "backward pass")
    return f"`{parameter_name(trace, p.id)}`: a gradient of its own in {passes}{held}"


def _fix(text: str, first: str, second: str) -> str:
    left, sign, right = text.partition("=")
    if sign and ".data" in left:
        holder = right.partition("#")[0].strip().removesuffix(".data")
        target = left.strip().removesuffix(".data")
        return f"assign the parameter itself: `{target} = {holder}`"
    wrapped = re.fullmatch(r"\s*[\w.]*Parameter\(([\w.]+)\)", right.partition("#")[0].rstrip())
    if wrapped:
        return f"assign the parameter itself: `{left.strip()} = {wrapped[1].removesuffix('.data')}`"
    return f"assign the parameter itself, so that `{second}` and `{first}` are one object"


def _of_a_layer(trace: Trace, site: Site) -> tuple[str, tuple[Edit, ...]]:
    """What to do where a layer was made around the other parameter, `a = nn.Embedding(…, _weight=b.weight)`: the one
    that it has made of it gives its place to the other."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    call = statement.value if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    given = [*call.args, *(k.value for k in call.keywords)] if isinstance(call, ast.Call) else []
    weights = [one for one in map(_bare, given) if getattr(one, "attr", "") == "weight"]
    if len(weights) != 1 or not isinstance(statement, ast.Assign):
        return "", ()
    text = f"{here.file.text(statement.targets[0])}.weight = {here.file.text(weights[0])}"
    return (
        f"give the layer the parameter itself, behind {located(trace, site)}: `{text}`",
        here.after(statement, text),
    )


def _of_a_view(trace: Trace, site: Site) -> str:
    """What to do where the one is a view of the other, its transpose perhaps: no parameter can be both."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, whole = _bare(statement.targets[0]), _bare(statement.value)
    if not _is_view(whole):
        return ""
    base = whole
    while isinstance(base, (ast.Call, ast.Subscript)) or (
        isinstance(base, ast.Attribute) and base.attr in {*VIEWS, "data"}
    ):
        inner = base.func if isinstance(base, ast.Call) else base
        if not isinstance(inner, (ast.Attribute, ast.Subscript)):
            return ""
        base = inner.value
    layer = target.value if isinstance(target, ast.Attribute) else target
    view = "".join(ast.unparse(whole).removeprefix(ast.unparse(base)).split(".data"))
    return (
        f"leave this line out, and compute with `{ast.unparse(base)}{view}` in each forward, in place of"
        f" `{ast.unparse(target)}` (for a linear layer `torch.nn.functional.linear(x, {ast.unparse(base)}{view},"
        f" {ast.unparse(layer)}.bias)`), of which only the bias is then needed: a view of a parameter is none itself"
    )


def _bare(node: ast.expr) -> ast.expr:
    """Without `nn.Parameter(…)` around it, and `.data` behind it."""
    if isinstance(node, ast.Call) and called_name(node) == "Parameter" and len(node.args) == 1:
        node = node.args[0]
    return node.value if isinstance(node, ast.Attribute) and node.attr == "data" else node


def _is_view(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in VIEWS
    return isinstance(node, ast.Subscript) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )


def _copied(trace: Trace, site: Site) -> tuple[Edit, ...]:
    """`late.data.copy_(p.data)` in place of `late.data = p.data`."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ()
    target, value = here.file.text(statement.targets[0]), here.file.text(statement.value)
    return here.replace(statement, f"{target}.copy_({value})")


def _tied(trace: Trace, site: Site) -> tuple[Edit, ...]:
    """`decoder.weight = embedding.weight` in place of one with `.data` or a `Parameter` made anew."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ()
    target, value = statement.targets[0], statement.value
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        value = value.args[0]  # nn.Parameter(embedding.weight)
    plain = [node.value if getattr(node, "attr", "") == "data" else node for node in (target, value)]  # type: ignore[attr-defined]
    if not all(isinstance(node, ast.Attribute) and not _is_view(node) for node in plain):
        return ()
    return here.replace(statement, " = ".join(here.file.text(node) for node in plain))
