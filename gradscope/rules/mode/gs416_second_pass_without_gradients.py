"""A module runs under `no_grad` on what another network made, and a loss compares the result with where that came from.

Why: `torch.no_grad()` around a module is meant to leave its parameters out of a loss. It ends the graph, so that the
networks in front of it are left out, too: of the comparison nothing comes back to them, and its gradient goes to the
other side alone.

Fix: run the module with gradients, and its parameters detached: `torch.func.functional_call`.

Measured: the input of the call had a graph and was computed from the other side of the comparison, by parameters that
an optimizer steps and that this comparison reaches in no other way; both sides come from the same module.
Silent on: targets made of data, or of something that is no result of the other side; detached results (`detach()`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gradscope.analysis.cuts import nearest
from gradscope.analysis.ops import COMPARING_LOSSES, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Edit, Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

COMPARING = COMPARING_LOSSES | SUBTRACTIONS | {"cosine_similarity", "pairwise_distance", "kl_div"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, generator = nn.Linear(6, 2), nn.Linear(2, 6)
    opt = torch.optim.SGD([*encoder.parameters(), *generator.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6)
        z = encoder(x)
        made = generator(z)
        with torch.no_grad():
            again = encoder(made)  # cause: GS416
        consistency = nn.functional.mse_loss(again, z)  # effect: GS416
        loss = nn.functional.mse_loss(made, x) + consistency
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, generator = nn.Linear(6, 2), nn.Linear(2, 6)
    opt = torch.optim.SGD([*encoder.parameters(), *generator.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6)
        z = encoder(x)
        made = generator(z)
        frozen = {name: p.detach() for name, p in encoder.named_parameters()}
        again = torch.func.functional_call(encoder, frozen, (made,))
        consistency = nn.functional.mse_loss(again, z)
        loss = nn.functional.mse_loss(made, x) + consistency
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Lost(NamedTuple):
    """A comparison that one side of came from the other, with the graph cut between."""

    compares: Op
    cut: Op
    given: Key  # what the module got
    parameters: frozenset[int]  # that the comparison does not reach


@rule("GS416", name="second-pass-without-gradients", severity="warning")
def second_pass_without_gradients(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls(COMPARING):
        lost = _lost(known, op)
        if lost is not None and lost.cut.site.user.location() not in told:
            told.add(lost.cut.site.user.location())
            yield _finding(trace, known, lost)


def _lost(known: Paths, op: Op) -> _Lost | None:
    graph = known.graph(op.graph)
    if len(op.inputs) < 2 or op.writes:
        return None
    for one, other in (op.inputs[:2], op.inputs[1::-1]):
        if not graph.values[one].requires_grad or graph.values[other].requires_grad:
            continue
        side = (graph.id, one)
        cuts = [cut for cut, _ in nearest(known, (graph.id, other), _ends_a_graph(known))]
        if not cuts or any(cut.cut != "no_grad" or cut.module is None for cut in cuts):
            continue
        own = known.reach([side]).parameters
        for cut in cuts:
            inner = known.parameters_in((cut.graph, i) for i in cut.inputs)
            for given in ((cut.graph, i) for i in cut.inputs):
                if known.parameter_of(given) is not None or not known.value(given).requires_grad:
                    continue
                lost = frozenset(
                    id
                    for id in known.reach([given]).parameters - own
                    if id in known.parameters and known.stepped(known.parameters[id])
                )
                if lost and inner & own and side in known.flow([given]).order:
                    return _Lost(op, cut, given, lost)
    return None


def _ends_a_graph(known: Paths) -> Callable[[Op, Key, list[Key]], bool]:
    """Whether a call was given something with a graph and ended it: parameters that it takes are none of that."""
    return lambda op, _, tracked: any(known.parameter_of(key) is None for key in tracked)


def _finding(trace: Trace, known: Paths, lost: _Lost) -> Finding:
    cause, effect = lost.cut.site.user, lost.compares.site.user
    names = parameter_names(trace, sorted(lost.parameters))
    call = code(trace, cause, "the call")
    text, edits = _with_gradients(trace, lost.cut)
    count = known.times_through(lost.compares.graph, lost.compares.nodes)
    return Finding(
        message=f"{code(trace, effect, 'the comparison')} does not train {names}: {call} runs under `torch.no_grad()`",
        cause=cause,
        cause_label="ends the graph of what it is given",
        effect=effect,
        effect_label="sends a gradient to its other side only",
        seen=(
            f"what {call} is given has a graph, was computed from the other side by {names}, and of this comparison"
            f" no gradient comes back to them in {passes(count)}",
        ),
        fix=f"run {located(trace, cause)} with gradients and leave out its parameters only"
        + (f": `{text}`" if text else ", by `torch.func.functional_call` with detached ones"),
        edits=edits,
        count=count,
        subjects=parameter_subjects(lost.parameters) | {("call", cause.location())},
    )


def _with_gradients(trace: Trace, cut: Op) -> tuple[str, Edits]:
    """The call with detached parameters, outside of the block."""
    site = cut.site.user
    here = Source(trace, site.path)
    call, statement = here.file.at(site), here.file.statement(site)
    block = _block(here, site)
    if not isinstance(call, ast.Call) or call.keywords or block is None or block.body != [statement]:
        return "", ()
    if "torch" not in here.file.imported or statement is None or statement.lineno != statement.end_lineno:
        return "", ()
    module = here.file.text(call.func)
    given = ", ".join(here.file.text(one) for one in call.args)
    detached = f"{{k: p.detach() for k, p in {module}.named_parameters()}}"
    text = f"torch.func.functional_call({module}, {detached}, ({given},))"
    line = here.file.lines[block.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    whole = here.file.text(statement).replace(here.file.text(call), text, 1)
    return text, (Edit(site.path, block.lineno, 1, statement.lineno + 1, 1, f"{indent}{whole}\n"),)


def _block(here: Source, site: Site) -> ast.With | None:
    """The `with torch.no_grad():` around one line."""
    above = next((node for node in here.file.around(site) if isinstance(node, ast.With)), None)
    plain = above is not None and len(above.items) == 1
    return above if plain and above is not None and "no_grad" in ast.unparse(above.items[0]) else None
