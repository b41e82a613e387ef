"""A model that reads a sequence in order is asked at each place for what it is given at that place.

Why: where the output of a place has seen the token of the same place, the lowest loss is to copy it. The loss falls to
nothing and the accuracy is perfect, until the model has to go on by itself.

Fix: shift by one: the model gets all but the last token, the loss is told all but the first.

Measured: the ids that an embedding looked up and the targets of the loss were the same numbers, place by place, in
each call that was compared, and the way from the one to the other goes through a causal layer and keeps the places
apart; of a binary loss, whose targets are looked up as 0 and 1, also that nearly all its answers are right.
Silent on: autoencoders, whose way loses the places; denoising and masked tokens, whose ids differ; models without a
layer that goes one way, and those that look up other ids of the same form as well, as a decoder beside an encoder.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import ADDITIONS, BINARY_LOSSES, RECURRENT
from gradscope.analysis.words import code, holds, located, plural
from gradscope.events import OwnAnswers
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._places import compared, keeps_places
from gradscope.source import called_name
from gradscope.store import Trace

MASKED = {
    "multi_head_attention_forward",
    "scaled_dot_product_attention",
    "masked_fill",
    "masked_fill_",
    "where",
}
NEARLY_ALL = 0.99  # answers that are right: a mask may hide each place from itself
FORMS = ("view", "reshape", "flatten", "transpose", "permute", "contiguous")


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (6, 5))
        scores = head(rnn(embedding(words))[0])  # effect: GS750
        loss = nn.functional.cross_entropy(scores.reshape(-1, 9), words.reshape(-1))  # cause: GS750
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (6, 5))
        scores = head(rnn(embedding(words[:, :-1]))[0])
        loss = nn.functional.cross_entropy(scores.reshape(-1, 9), words[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


class Way(NamedTuple):
    """How the targets reach the loss as inputs."""

    graph: Graph
    loss: Op
    lookup: Op
    causal: Op  # a layer on the way that looks at no later place


@rule("GS750", name="answer-in-the-input", severity="warning", over=("GS746",), needs=OwnAnswers)
def answer_in_the_input(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(OwnAnswers):
        place = event.site.user.location()
        silent = event.beside or place in told or (event.name in BINARY_LOSSES and event.right < NEARLY_ALL)
        way = None if silent else _way(trace, event)
        if way is not None:
            told.add(place)
            yield _finding(trace, event, way)


def _way(trace: Trace, event: OwnAnswers) -> Way | None:
    found = compared(trace, event)
    if found is None:
        return None
    graph, loss, lookups = found
    causal = _causal(graph, loss, lookups[0])
    return Way(graph, loss, lookups[0], causal) if causal is not None else None


def _causal(graph: Graph, loss: Op, lookup: Op) -> Op | None:
    """A layer that goes one way, between the lookup and the loss, where the way keeps the places apart: each value on
    it has one number or more for each place."""
    batch, places = graph.values[lookup.inputs[0]].shape[:2]
    packed = _packed(graph, loss, batch * places)
    todo, seen, found, arrived = [loss.inputs[0]], {loss.inputs[0]}, None, False
    while todo:
        value = todo.pop()
        op = graph.maker(value)
        shape = graph.values[value].shape
        if op is None or not (keeps_places(shape, batch, places) or (packed and shape[:1] == (packed,))):
            continue
        if op.name in RECURRENT and graph.values[value].position:
            continue  # its last state
        if op.index == lookup.index:
            arrived = True
            continue
        if _one_way(graph, op, places):
            found = op
        elif op.name in RECURRENT:
            return None  # both ways
        new = [i for i in op.inputs if i not in seen and graph.values[i].requires_grad]
        seen.update(new)
        todo += new
    return found if arrived else None


def _packed(graph: Graph, loss: Op, places: int) -> int:
    """How many places there are of sequences that were packed; 0 where they were not."""
    target = graph.values[loss.inputs[1]].shape if len(loss.inputs) > 1 else ()
    return target[0] if len(target) == 1 and 0 < target[0] < places else 0


def _one_way(graph: Graph, op: Op, places: int) -> bool:
    """Whether the op lets a place see none after it: a recurrent layer of one direction, attention with a mask."""
    if op.name in RECURRENT:
        out, state = (graph.values[i].shape for i in op.outputs[:2])
        return bool(out and state) and out[-1] == state[-1]
    if op.extra.get("causal"):
        return True
    masks = (graph.values[i] for i in op.inputs if not graph.values[i].requires_grad)
    if op.name not in MASKED | ADDITIONS:
        return False
    return any(mask.kind != "parameter" and mask.shape[-2:] == (places, places) for mask in masks)


def _finding(trace: Trace, event: OwnAnswers, way: Way) -> Finding:
    place, lookup = way.loss.site.user, way.lookup.site
    scores, target = _arguments(trace, place)
    text = code(trace, place, f"`{event.name}`")
    words = f"`{_stem(target)}`" if target is not None else "the targets"
    given = _called(trace, lookup, place)
    binary = event.name in BINARY_LOSSES
    fix, edits = _begun(trace, way) if binary else _next(trace, way, place, scores, target, words)
    return Finding(
        message=f"the targets of {text} are what the model is given: it learns to copy its input",
        cause=place,
        cause_label=f"asks at each place for {'what' if binary else 'the token that'} went in at that place",
        effect=given,
        effect_label="gets the targets as its input",
        related=((lookup.user, "looks them up"),) if lookup.user.location() != given.location() else (),
        seen=(
            f"in {plural(event.calls, 'call')} the ids of {code(trace, lookup.user, 'the embedding')} were {words},"
            " number by number, without a shift",
            f"between them {code(trace, way.causal.site.user, 'a layer')} lets each place see itself and those before",
            *(
                (f"{100 * event.right:.1f} % of the answers were right in the last call looked at",)
                if binary
                else ()
            ),
        ),
        fix=fix,
        edits=edits,
        count=way.graph.count,
        subjects=frozenset({("targets", *place.location())}),
    )


def _next(
    trace: Trace, way: Way, place: Site, scores: ast.expr | None, target: ast.expr | None, words: str
) -> tuple[str, tuple[Edit, ...]]:
    """How the loss asks for the next token."""
    edits = _shifted(trace, way, place, scores, target)
    batch, places = way.graph.values[way.lookup.inputs[0]].shape[:2]
    if _packed(way.graph, way.loss, batch * places):
        return (
            f"let each place be asked for the next token, in {located(trace, place)}: give the model all but the last"
            f" token of each sequence, and pack all but the first for the loss ({words}), each with its length less one"
        ), ()
    how = (
        f"`[:, :-1]` behind the scores, `[:, 1:]` behind {words}"
        if edits
        else "give the model all but the last token, and the loss all but the first"
    )
    return f"let each place be asked for the next token, in {located(trace, place)}: {how}", edits


def _begun(trace: Trace, way: Way) -> tuple[str, tuple[Edit, ...]]:
    """How the lookup gets the answers before each place: after a start token, where the table has a row for it."""
    place = way.lookup.site.user
    here = Source(trace, place.path)
    call = here.file.at(place)
    rows = way.graph.values[way.lookup.inputs[1]].shape[0] if len(way.lookup.inputs) > 1 else 0
    how = f"let each place look up the answer before it, in {located(trace, place)}"
    if rows < 3 or len(way.graph.values[way.lookup.inputs[0]].shape) != 2:
        return f"{how}: after a start token, for which the table needs a third row", ()
    given = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
    if not isinstance(given, (ast.Name, ast.Attribute)):
        return f"{how}, after a start token: {rows - 1}, a row of the table's own", ()
    x = here.file.text(given)
    new = f"torch.cat([torch.full_like({x}[:, :1], {rows - 1}), {x}[:, :-1]], dim=1)"
    return f"{how}: `{new}` in place of `{x}`", here.replace(
        given, new
    ) if "torch" in here.file.imported else ()


def _stem(node: ast.expr) -> str:
    """`x` of `x.reshape(-1)`."""
    while called_name(node) in FORMS and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return ast.unparse(node)


def _called(trace: Trace, lookup: Site, place: Site) -> Site:
    """The call of the model in the function that computes the loss."""
    return next((f for f in lookup.frames_in(place) if f.kind == "user"), lookup.user)


def _arguments(trace: Trace, place: Site) -> tuple[ast.expr | None, ast.expr | None]:
    call = trace.source_file(place.path).at(place)
    if (
        not isinstance(call, ast.Call)
        or len(call.args) < 2
        or any(isinstance(a, ast.Starred) for a in call.args)
    ):
        return None, None
    return call.args[0], call.args[1]


def _shifted(
    trace: Trace, way: Way, place: Site, scores: ast.expr | None, target: ast.expr | None
) -> tuple[Edit, ...]:
    """`scores[:, :-1]` and `target[:, 1:]`, before they are brought into another form."""
    here, edits = Source(trace, place.path), []
    batch, places = way.graph.values[way.lookup.inputs[0]].shape[:2]
    for node, value, cut in ((scores, way.loss.inputs[0], ":-1"), (target, way.loss.inputs[1], "1:")):
        while (
            called_name(node) in FORMS and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        ):
            maker = way.graph.maker(value)
            if maker is None or not holds(place, maker.site.user):
                return ()
            if node.func.attr == "view":  # a part of it no longer lies in one piece
                _, _, line, column = here.file.span(node.func)
                edits.append(Edit(place.path, line, column - len("view"), line, column, "reshape"))
            node, value = node.func.value, maker.inputs[0]
        shape = way.graph.values[value].shape
        classes_first = node is scores and len(shape) == 3  # as the loss takes them
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return ()
        if shape[:2] == (batch, places) and not classes_first:
            edits += here.append(node, f"[:, {cut}]")
        elif len(shape) == 3 and (shape[0], shape[2]) == (batch, places):
            edits += here.append(node, f"[:, :, {cut}]")
        else:
            return ()
    return tuple(edits)
