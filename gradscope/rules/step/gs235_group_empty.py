"""A group of parameters that an optimizer is made with is empty: its settings are those of no parameter.

Why: parameters are put into groups by a condition on their names. Where it is never true, as that a whole name stands
in a list of parts of names, one group is empty and another has got all: with the weight decay that was meant for
matrices biases and the gains of norms are drawn to zero, too.

Fix: test each part against the name: `any(part in name for part in parts)`.

A note where other trainable parameters of the model are in no group, or where the settings are not those of weight
decay: such a group may be empty on purpose, as that of a part that is frozen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradscope.analysis.loop import parameters_of
from gradscope.analysis.text import site_of
from gradscope.analysis.words import counted, located, optimizer_name, parameter_names, root_of
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Optimizer, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1))
    named, parts = list(model.named_parameters()), ["bias", "norm"]
    groups = [
        {"params": [p for n, p in named if n not in parts], "weight_decay": 0.1},
        {"params": [p for n, p in named if n in parts], "weight_decay": 0.0},  # cause: GS235
    ]
    opt = torch.optim.AdamW(groups, lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1))
    named, parts = list(model.named_parameters()), ["bias", "norm"]
    groups = [
        {"params": [p for n, p in named if not any(part in n for part in parts)], "weight_decay": 0.1},
        {"params": [p for n, p in named if any(part in n for part in parts)], "weight_decay": 0.0},
    ]
    opt = torch.optim.AdamW(groups, lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


@rule("GS235", name="group-empty", severity="warning")
def group_empty(trace: Trace) -> Iterator[Finding]:
    for optimizer in trace.optimizers.values():
        for place, group in enumerate(optimizer.groups):
            others = [other for other in optimizer.groups if other["parameters"]]
            differs = {name for other in others for name in _differing(group, other)}
            if not group["parameters"] and others and differs and optimizer.steps:
                yield _finding(trace, optimizer, place, sorted(differs))


def _differing(group: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """The settings in which two groups differ."""
    names = (set(group) | set(other)) - {"parameters", "initial_lr"}
    return {name for name in names if group.get(name) != other.get(name)}


def _decayed(trace: Trace, optimizer: Optimizer, group: dict[str, Any]) -> list[Parameter]:
    """Biases and gains that get the weight decay of another group, where this one was made to have none, the models
    that they are of are in groups as a whole, and matrices stand beside them."""
    held = parameters_of(trace, optimizer.parameters)
    roots = {root_of(trace, p) for p in held}
    of_models = {p.id for p in trace.parameters if p.registered and root_of(trace, p) in roots}
    if group.get("weight_decay") != 0 or None in roots or not of_models <= set(optimizer.parameters):
        return []
    decaying = [id for other in optimizer.groups if other.get("weight_decay") for id in other["parameters"]]
    found = parameters_of(trace, decaying)
    flat = [p for p in found if len(p.shape) < 2]
    return flat if len(flat) < len(found) else []


def _finding(trace: Trace, optimizer: Optimizer, place: int, differs: list[str]) -> Finding:
    group, name = optimizer.groups[place], optimizer_name(trace, optimizer.id)
    decayed = _decayed(trace, optimizer, group)
    made = optimizer.site.user if optimizer.site is not None else None
    written = _written(trace, made)
    site = written[place] if place < len(written) else made
    full = [(n, other) for n, other in enumerate(optimizer.groups) if other["parameters"]]
    settings = ", ".join(f"{key}={group[key]}" for key in differs if key in group)
    flat = parameter_names(trace, [p.id for p in decayed])
    verb = "gets" if len(decayed) == 1 else "get"
    rates = sorted({other["weight_decay"] for _, other in full if other.get("weight_decay")})
    with_decay = " and ".join(f"{rate:g}" for rate in rates)
    fix, edits = _fix(trace, site, [written[n] for n, _ in full if n < len(written)])
    return Finding(
        message=f"the {_nth(place)} group of {name} (`{settings}`) has no parameter"
        + (f": {flat} {verb} a weight decay of {with_decay}" if decayed else ""),
        cause=site,
        cause_label="selects no parameter",
        related=tuple(
            (written[n], "selects all of them") for n, _ in full if len(full) == 1 and n < len(written)
        )
        + (((made, "made with the empty group"),) if made is not None and site is not made else ()),
        seen=(
            f"{name} was made with {counted(len(optimizer.groups), 'group')}: "
            + ", ".join(f"{len(g['parameters'])} in the {_nth(n)}" for n, g in enumerate(optimizer.groups)),
            *(
                (
                    f"{counted(len(decayed), 'parameter')} of one dimension (biases, gains) decay like matrices",
                )
                if decayed
                else ()
            ),
        ),
        fix=fix,
        severity="warning" if decayed else "note",
        edits=edits,
        subjects=frozenset({("group", (optimizer.id, place))}),
    )


def _nth(place: int) -> str:
    return ("first", "second", "third", "fourth", "fifth")[place] if place < 5 else f"{place + 1}th"


def _written(trace: Trace, made: Site | None) -> list[Site]:
    """Where the parameters of each group are chosen, in the text: what stands for "params" in a list of dictionaries
    that the optimizer is made of, or that a variable of the same function has."""
    if made is None:
        return []
    here = Source(trace, made.path)
    call = here.file.at(made)
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if isinstance(given, ast.Name):
        assigned = [
            node.value
            for node in ast.walk(here.file.scope(made))
            if isinstance(node, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == given.id for target in node.targets)
        ]
        given = assigned[0] if len(assigned) == 1 else None
    rows = given.elts if isinstance(given, ast.List) else []
    found = [_value(row) for row in rows]
    return [
        site_of(made.path, made.function, node)
        for node in found
        if node is not None and len(found) == len(rows)
    ]


def _value(row: ast.expr) -> ast.expr | None:
    pairs = zip(row.keys, row.values, strict=True) if isinstance(row, ast.Dict) else ()
    return next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "params"), None)


def _fix(trace: Trace, site: Site | None, others: list[Site]) -> tuple[str, Edits]:
    """The conditions `name in parts` as `any(part in name for part in parts)`, where both groups have it."""
    tests = [_test(trace, one) for one in (site, *others) if one is not None]
    general = f"look at what chooses the parameters in {located(trace, site, 'the group')}: it chose none"
    parts = {ast.unparse(test.comparators[0]) for test in tests if test is not None}
    if site is None or None in tests or len(tests) != 2 or len(parts) != 1:
        return general, ()
    here, shown = Source(trace, site.path), []
    edits: Edits = ()
    for test in tests:
        assert test is not None
        name, within = ast.unparse(test.left), ast.unparse(test.comparators[0])
        negation = "not " if isinstance(test.ops[0], ast.NotIn) else ""
        shown.append((f"{negation}any(part in {name} for part in {within})", ast.unparse(test)))
        edits += here.replace(test, shown[-1][0])
    told = " and ".join(f"`{new}` in place of `{old}`" for new, old in shown)
    return f"compare with parts of the names: {told} ({site.path.rpartition('/')[2]}:{site.line})", edits


def _test(trace: Trace, site: Site) -> ast.Compare | None:
    """The one condition `name in parts` of a comprehension."""
    node = trace.source_file(site.path).at(site)
    loops = node.generators if isinstance(node, (ast.ListComp, ast.GeneratorExp)) else []
    test = loops[0].ifs[0] if len(loops) == 1 and len(loops[0].ifs) == 1 else None
    plain = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name)
    if not isinstance(test, ast.Compare) or not plain or not isinstance(test.ops[0], (ast.In, ast.NotIn)):
        return None
    return test if isinstance(test.comparators[0], (ast.Name, ast.Attribute)) else None
