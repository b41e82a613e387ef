"""A model's own answers are mixed into its input where they were given, and not one place later.

Why: the answer at place `t` says what follows the token that stands there; in the input it belongs at `t + 1`. Put
back at `t`, it shows the model what it is asked for at that very place, and takes the start token's place in front: in
training it may copy, and when it goes on by itself it has to do without.

Fix: shift the answers as the targets are shifted for the input: the start token first, the last answer left out.

Measured: `where` with a mask, or a write to one, puts ids in the place of others, which are what the loss asks for one
place before; the new ones are the largest scores (or a draw from them) of the very layer whose scores the loss takes,
place by place, computed from these ids.
Silent on: answers that were cut and joined with a start token before; inputs that stand where their targets do, as with
masked tokens.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import ALIASES, CASTS, JOINING, LARGEST, PARTS, PASSING, SCALES, SOFTMAXES
from gradscope.analysis.words import code, is_known_at, located, plural
from gradscope.events import MixedInPlace
from gradscope.fixes.source import Edits, Source, is_name
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace

CHOOSING = LARGEST | {"multinomial", "sample"}
FORMS = (PASSING - JOINING - PARTS) | ALIASES | CASTS
SCORES = FORMS | SOFTMAXES | SCALES


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        wanted = torch.randint(1, 9, (8, 6))
        given = torch.cat([torch.zeros(8, 1, dtype=torch.long), wanted[:, :-1]], 1)
        with torch.no_grad():
            own = head(rnn(embedding(given))[0]).argmax(-1)  # cause: GS471
        mixed = torch.where(torch.rand(8, 6) < 0.3, own, given)  # effect: GS471
        scores = head(rnn(embedding(mixed))[0])
        loss = nn.functional.cross_entropy(scores.reshape(-1, 9), wanted.reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        wanted = torch.randint(1, 9, (8, 6))
        given = torch.cat([torch.zeros(8, 1, dtype=torch.long), wanted[:, :-1]], 1)
        with torch.no_grad():
            own = head(rnn(embedding(given))[0]).argmax(-1)
            own = torch.cat([given[:, :1], own[:, :-1]], 1)
        mixed = torch.where(torch.rand(8, 6) < 0.3, own, given)
        scores = head(rnn(embedding(mixed))[0])
        loss = nn.functional.cross_entropy(scores.reshape(-1, 9), wanted.reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


Layer = int | tuple[str, int]  # a module, or the line of a call outside of all


@rule("GS471", name="own-answer-not-shifted", severity="warning", needs=MixedInPlace)
def own_answer_not_shifted(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(MixedInPlace):
        asked = {
            _layer(last)
            for graph in trace.graphs
            for loss in graph.called({"cross_entropy", "nll_loss"})
            if loss.site.id == event.loss and (last := graph.maker_behind(loss.inputs[0], SCORES)) is not None
        }
        for graph in trace.graphs:
            mixing = (op for op in graph.called({"where", "__setitem__"}) if op.site.id == event.site.id)
            found = next((one for op in mixing if (one := _own(graph, op, asked)) is not None), None)
            if found is not None:
                yield _finding(trace, event, graph, *found)
                break


def _layer(op: Op) -> Layer:
    return op.module if op.module is not None else op.site.user.location()


def _own(graph: Graph, op: Op, asked: set[Layer]) -> tuple[Op, Op, int] | None:
    """The call that mixes, the one that chose the answers which it puts in, and the value that these replace."""
    if len(op.inputs) != 3:
        return None
    pairs = [(op.inputs[2], op.inputs[0])] if op.name == "__setitem__" else [op.inputs[1:], op.inputs[:0:-1]]
    for own, given in pairs:
        picked = graph.maker(own) if op.name == "__setitem__" else None
        if picked is not None and picked.name == "__getitem__" and picked.inputs[1:] == op.inputs[1:2]:
            own = picked.inputs[0]
        chose = graph.maker_behind(own, FORMS)
        last = graph.maker_behind(chose.inputs[0], SCORES) if chose is not None and chose.inputs else None
        if chose is None or last is None or chose.name not in CHOOSING:
            continue
        if _layer(last) in asked and given in graph.upstream(last.outputs[0]):
            return op, chose, given
    return None


def _finding(trace: Trace, event: MixedInPlace, graph: Graph, op: Op, chose: Op, given: int) -> Finding:
    cause, mixed = chose.site.user, op.site.user
    here = Source(trace, mixed.path)
    node = here.file.at(mixed)
    text = ""
    if isinstance(node, ast.Call) and len(node.args) == 3:
        side = node.args[op.inputs.index(given)]
        text = here.text_of(side) if is_name(side) else ""
    elif isinstance(node, ast.Subscript):
        text = here.text_of(node.value)
    what = f"`{text}`" if text else "the input"
    shape = graph.values[given].shape
    return Finding(
        message=f"the answers {code(trace, cause)} are put into {what} at the places where they were given, not one"
        " later: the model sees what it is asked for",
        cause=cause,
        cause_label="answers that say what comes next",
        effect=mixed if mixed.location() != cause.location() else None,
        effect_label="puts each where it was given",
        seen=(
            f"in {plural(event.calls, 'call')} {what} was what the loss asks for, one place later (of shape"
            f" {tuple(shape)}); the answers come from the layer that the loss asks, unshifted",
            *(
                (f"in {event.first} of {event.rows} rows the token in front was overwritten as well",)
                if event.first
                else ()
            ),
        ),
        fix=f"shift the answers by one place, in {located(trace, cause)}:"
        f" `torch.cat([{text or 'given'}[:, :1], own[:, :-1]], dim=1)`, where `own` are the answers",
        edits=_shifted(trace, chose, text),
        count=graph.count,
        subjects=frozenset({("made", cause.location())}),
    )


def _shifted(trace: Trace, chose: Op, given: str) -> Edits:
    site = chose.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    plain = isinstance(node, ast.Call) and chose.name == "argmax" and "torch" in here.file.imported
    if not given or not plain or not isinstance(node, ast.Call) or not is_known_at(trace, given, site):
        return ()
    return here.replace(node, f"torch.cat([{given}[:, :1], {here.text_of(node)}[:, :-1]], dim=1)")
