"""A model is asked for the last tokens of what it is given, at the places where they stand.

Why: a model that gets the question and the answer, and is asked for the answer where it stands, learns to copy it. The
loss falls to nothing; without the answer, on a new question, it knows nothing.

The same of a loop that gives each step, in place of the answer of the step before, the very entry that the step is
asked for: it was to get the entry before.

Fix: hide the answer's tokens in what the model gets (one token that says "masked" in their place), or ask each place
for the next token, with a causal mask.

Measured: in all calls of the loss that were looked at the targets were the last ids of what an embedding looked up, for
each row, and the slice of what came of them begins at the very place of the first of them; from the lookup to the loss
there is a way that leads each place on by itself, by no attention.
Of a loop: all entries of the target that a line took were those of the steps in which it took them, and in other turns
the same call gets the answer of the step before; nothing is drawn between the entry and the step's answer.
Silent on: answers that are hidden in the input, also in part; answers taken one place before their targets, as of the
next token; models whose answers at a place get nothing of its own token but by attention.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import ATTENTION, DRAWS, JOINING, PASSING, PRODUCTS_OF_MATRICES
from gradscope.analysis.words import code, located, plural
from gradscope.events import AnswersInPart, GivenSteps
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._places import keeps_places
from gradscope.store import Trace


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, layer = (
        nn.Embedding(8, 16),
        nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True),
    )
    position, head = nn.Parameter(torch.randn(10, 16)), nn.Linear(16, 7)
    opt = torch.optim.Adam(
        [position, *(p for m in (embedding, layer, head) for p in m.parameters())], lr=0.01
    )
    for _ in range(4):
        question = torch.randint(0, 7, (16, 6))
        tokens = torch.cat([question, question[:, :4].flip(1)], 1)
        hidden = layer(embedding(tokens) + position)  # cause: GS470
        scores = head(hidden[:, 6:])
        loss = nn.functional.cross_entropy(scores.reshape(-1, 7), tokens[:, 6:].reshape(-1))  # effect: GS470
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, layer = (
        nn.Embedding(8, 16),
        nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True),
    )
    position, head = nn.Parameter(torch.randn(10, 16)), nn.Linear(16, 7)
    opt = torch.optim.Adam(
        [position, *(p for m in (embedding, layer, head) for p in m.parameters())], lr=0.01
    )
    for _ in range(4):
        question = torch.randint(0, 7, (16, 6))
        tokens = torch.cat([question, question[:, :4].flip(1)], 1)
        given = tokens.clone()
        given[:, 6:] = 7
        hidden = layer(embedding(given) + position)
        scores = head(hidden[:, 6:])
        loss = nn.functional.cross_entropy(scores.reshape(-1, 7), tokens[:, 6:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule(
    "GS470",
    name="answer-among-the-inputs",
    severity="warning",
    over=("GS778",),
    needs=(AnswersInPart, GivenSteps),
)
def answer_among_the_inputs(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(AnswersInPart):
        for graph in trace.graphs:
            losses = (op for op in graph.called({event.name}) if op.site.id == event.site.id)
            loss = next(losses, None)
            lookup = _reached(graph, loss, event) if loss is not None else None
            if loss is not None and lookup is not None:
                yield _finding(trace, event, loss, lookup)
                break
    for given in trace.of(GivenSteps):
        found = next((one for graph in trace.graphs if (one := _step(trace, graph, given)) is not None), None)
        if found is not None:
            yield _of_a_loop(trace, given, found)


def _reached(graph: Graph, loss: Op, event: AnswersInPart) -> Op | None:
    """The lookup, where a way leads there from the loss's answers that passes the slice and keeps the places apart."""
    todo: list[tuple[int, bool]] = [(loss.inputs[0], False)]
    seen = set(todo)
    while todo:
        value, cut = todo.pop()
        op = graph.maker(value)
        if op is None or op.name in ATTENTION or not graph.values[value].requires_grad:
            continue
        if op.name in PRODUCTS_OF_MATRICES and sum(graph.values[i].requires_grad for i in op.inputs) > 1:
            if not any(graph.values[i].kind == "parameter" for i in op.inputs):
                continue  # attention that is written out
        if op.name == "embedding" and op.site.id == event.embedding:
            if cut:
                return op
            continue
        cut = cut or op.site.id == event.cut
        shape, places = graph.values[op.inputs[0]].shape if op.inputs else (), event.places
        rows = shape[0] if shape else 0
        if cut and op.site.id != event.cut and not keeps_places(graph.values[value].shape, rows, places):
            continue
        new = [(i, cut) for i in op.inputs if (i, cut) not in seen]
        seen.update(new)
        todo += new
    return None


def _finding(trace: Trace, event: AnswersInPart, loss: Op, lookup: Op) -> Finding:
    place, cut = loss.site.user, trace.site(event.cut)
    given = next((f for f in lookup.site.frames_in(place) if f.kind == "user"), lookup.site.user)
    last = event.places - event.first
    argument = _argument(trace, given)
    tokens = f"`{argument}`" if argument else "what the model is given"
    return Finding(
        message=f"the model is given its answers: the targets of {code(trace, place, f'`{event.name}`')} are the last"
        f" {last} tokens of {tokens}, and it learns to copy them",
        cause=given,
        cause_label="gets the answer as part of its input",
        effect=place if place.location() != given.location() else None,
        effect_label="asks for tokens at the places where they went in",
        related=((cut.user, "takes the answers' places"),)
        if cut is not None and cut.user.location() not in (place.location(), given.location())
        else (),
        seen=(
            f"in {plural(event.calls, 'call')} all {event.answers} targets were the last {last} of {event.places} ids"
            f" that {code(trace, lookup.site.user, 'the embedding')} looked up, number by number",
            f"the answers are taken from place {event.first} on, where these ids stand, and each place leads there by"
            " itself",
        ),
        fix=f"hide the last {last} tokens of {tokens} in {located(trace, given)}: in a copy of it, put one token in"
        f" their place that means nothing else (`hidden[:, {event.first}:] = MASK`), as they are unknown when it is"
        " asked",
        count=trace.graph(loss.graph).count,
        severity="note",  # an autoencoder is asked for its input behind a bottleneck
        subjects=frozenset({("targets", *place.location())}),
    )


def _argument(trace: Trace, given: Site) -> str:
    call = trace.source_file(given.path).at(given)
    plain = (
        isinstance(call, ast.Call)
        and len(call.args) == 1
        and isinstance(call.args[0], ast.Name | ast.Attribute)
    )
    return ast.unparse(call.args[0]) if plain and isinstance(call, ast.Call) else ""


# -- a loop over steps -------------------------------------------------------------------------


def _step(trace: Trace, graph: Graph, event: GivenSteps) -> Op | None:
    """The call that gets the entries and, in other turns, the answer of the step before; None where an entry is given
    in another step than its own."""
    taken = [op for op in graph.called({"__getitem__"}) if op.site.id == event.site.id]
    joined = [op for op in graph.called(JOINING) if len(op.inputs) == event.entries]
    if len(taken) != len(event.steps) or len(taken) < 2 or len(joined) != 1:
        return None
    answers = [graph.maker(value) for value in joined[0].inputs]
    made = [op.index for op in answers if op is not None and graph.values[op.outputs[0]].requires_grad]
    if len(made) != event.entries or made != sorted(made):
        return None
    for op, entry in zip(taken, event.steps, strict=True):
        step = sum(index < op.index for index in made)
        if step != entry or step >= len(made):
            return None
        behind = graph.upstream(joined[0].inputs[step], since=op.outputs[0])
        makers = [maker for value in behind if (maker := graph.maker(value)) is not None]
        if op.outputs[0] not in behind or any(maker.name in DRAWS for maker in makers):
            return None
    getting = {reader.site.id for op in taken for reader in graph.consumers.get(op.outputs[0], ())}
    lines = {op.site.id for op in answers if op is not None}
    for other in trace.graphs:
        for op in other.ops:
            if op.site.id in getting:
                before = [other.maker_behind(value, PASSING - JOINING) for value in op.inputs]
                if any(one is not None and one.site.id in lines for one in before):
                    return op
    return None


def _of_a_loop(trace: Trace, event: GivenSteps, reader: Op) -> Finding:
    cause, loss = event.site.user, trace.site(event.loss)
    given = next((f for f in reader.site.frames_in(cause) if f.kind == "user"), reader.site.user)
    fix, edits = _before(trace, cause, event)
    return Finding(
        message=f"each step is given what it is asked for: {code(trace, cause)} is the target of the very step",
        cause=cause,
        cause_label="the target of this step, not of the one before",
        effect=given if given.location() != cause.location() else None,
        effect_label="gets it where the answer of the step before may stand",
        related=((loss.user, "compares the answers with it"),) if loss is not None else (),
        seen=(
            f"before one loss {len(event.steps)} entries of its target were taken, each in the step of its own number"
            f" (of {event.entries})",
            f"in other turns {code(trace, given, 'the same call')} gets the answer of the step before",
        ),
        fix=fix,
        edits=edits,
        count=trace.graph(reader.graph).count,
        subjects=frozenset({("made", cause.location())}),
    )


def _before(trace: Trace, cause: Site, event: GivenSteps) -> tuple[str, Edits]:
    """The entry before, and in the first step what stands there otherwise."""
    here = Source(trace, cause.path)
    node = here.file.at(cause)
    index = node.slice if isinstance(node, ast.Subscript) else None
    index = index.elts[-1] if isinstance(index, ast.Tuple) else index
    if index is None or not isinstance(node, ast.Subscript):
        return f"take the entry of the step before, in {located(trace, cause)}", ()
    text = here.text_with(node, index, f"{here.text_of(index)} - 1")
    fix = (
        f"take the entry of the step before, `{text}`, in {located(trace, cause)}; in the first step there is none:"
        " give what the loop begins with"
    )
    branch = next((one for one in here.file.above(node) if isinstance(one, ast.If)), None)
    inside = branch is not None and any(node in ast.walk(one) for one in branch.body)
    held = isinstance(here.file.statement(cause), ast.Assign)  # in other turns its variable stays as it is
    if branch is None or not inside or not (branch.orelse or held) or not isinstance(index, ast.Name):
        return fix, ()
    first = f"{index.id} > 0 and "
    test = here.text_of(branch.test)
    either = isinstance(branch.test, ast.BoolOp) and isinstance(branch.test.op, ast.Or)
    if either or isinstance(branch.test, ast.IfExp | ast.NamedExpr | ast.Lambda):
        test = f"({test})"
    return (
        f"{fix} (`if {first}{test}`)",
        (*here.replace(branch.test, first + test), *here.replace(index, f"{index.id} - 1")),
    )
