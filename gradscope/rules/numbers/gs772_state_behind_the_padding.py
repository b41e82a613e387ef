"""The last state of a recurrent layer is taken at the end of the padding, not at the end of the sequence.

Why: rows of different lengths are filled up with one token. `output[:, -1]`, and the state that the layer gives, are
what is left after it has read all of the filling: up to dozens of steps that wash out what the sequence said.

Fix: `output[torch.arange(len(output)), lengths - 1]`, or `pack_padded_sequence(x, lengths, …)` before the layer.

A note where the padding is less than two fifths of the places, or the layer goes both ways: one of its states has read
the sequence last, then.

Measured: the tokens at the embedding's first call, or the zeros behind sequences of numbers at the layer's own, where
they stand nowhere else; and that nothing else of the layer's output is used. Silent on: packed sequences, padding on
the left, outputs that are used at other places, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.axes import places_of, time_axis
from gradscope.analysis.ops import CASTS, PASSING, RECURRENT
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, percent
from gradscope.events import Tails
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS
from gradscope.store import Trace

KEPT = PASSING | CASTS | {"dropout", "layer_norm"}
DEEP = 12  # calls between an embedding and a recurrent layer
SOME, MUCH = 0.2, 0.4  # of the places: a note from the one on, a warning from the other on


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    lengths = torch.randint(2, 13, (32,))
    tokens = torch.randint(1, 10, (32, 12)) * (torch.arange(12) < lengths[:, None])
    target = torch.randn(32, 1)
    words, layer, head = nn.Embedding(10, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*words.parameters(), *layer.parameters(), *head.parameters()])
    for _ in range(3):
        output, _ = layer(words(tokens))  # effect: GS772
        loss = nn.functional.mse_loss(head(output[:, -1]), target)  # cause: GS772
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    lengths = torch.randint(2, 13, (32,))
    tokens = torch.randint(1, 10, (32, 12)) * (torch.arange(12) < lengths[:, None])
    target = torch.randn(32, 1)
    words, layer, head = nn.Embedding(10, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*words.parameters(), *layer.parameters(), *head.parameters()])
    for _ in range(3):
        output, _ = layer(words(tokens))
        loss = nn.functional.mse_loss(head(output[torch.arange(32), lengths - 1]), target)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS772", name="state-behind-the-padding", severity="warning", needs=Tails)
def state_behind_the_padding(trace: Trace) -> Iterator[Finding]:
    tails = {event.parameter: event for event in trace.of(Tails) if event.mean >= SOME * event.places}
    if not tails:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls(RECURRENT):
        place = op.site.user.location()
        event = _padded(known, op, tails) if place not in told else None
        taken = _last(trace, known, op) if event is not None else None
        if event is not None and taken is not None:
            told.add(place)
            numbers = event.parameter in _weights(known, op)
            yield _finding(trace, op, taken, event, _goes_both_ways(known, op), numbers)


def _padded(known: Paths, op: Op, tails: dict[int, Tails]) -> Tails | None:
    """The tokens that a layer reads, where they are padded and the layer goes through all their places."""
    key = (op.graph, op.inputs[0])
    shape = known.value(key).shape
    own = next((event for weight in _weights(known, op) if (event := tails.get(weight)) is not None), None)
    if own is not None:
        return own if places_of(op, shape) == own.places else None
    for _ in range(DEEP):
        maker = known.maker(key)
        if maker is None or not maker.inputs or maker.name == "_pack_padded_sequence":
            return None
        if maker.name == "embedding":
            weight = known.parameter_of((maker.graph, maker.inputs[-1]))
            found = tails.get(weight.id) if weight is not None else None
            return found if found is not None and places_of(op, shape) == found.places else None
        if maker.name not in KEPT:
            return None
        key = (maker.graph, maker.inputs[0])
    return None


def _weights(known: Paths, op: Op) -> list[int]:
    return [p for index in op.inputs if (p := known.graph(op.graph).values[index].parameter) is not None]


def _last(trace: Trace, known: Paths, op: Op) -> Op | None:
    """The call that takes the layer's last state, where nothing reads anything else of what the layer gives."""
    graph = known.graph(op.graph)
    outputs, states = (graph.consumers.get(value, []) for value in op.outputs[:2])
    if outputs and not states:
        time = time_axis(op)
        return outputs[0] if all(_is_last(trace, reader, time) for reader in outputs) else None
    if states and not outputs and all(reader.name not in RECURRENT for reader in states):
        return op
    return None


def _is_last(trace: Trace, op: Op, time: int) -> bool:
    """Whether it takes the last place of this axis: `x[:, -1]` of the second one."""
    if op.name == "__getitem__":
        node = trace.source_file(op.site.user.path).at(op.site.user)
        index = node.slice if isinstance(node, ast.Subscript) else None
        each = index.elts if isinstance(index, ast.Tuple) else [index]
        return len(each) > time and ast.unparse(each[time] or ast.Constant(0)) == "-1"
    return False


def _goes_both_ways(known: Paths, op: Op) -> bool:
    """Whether its output is as wide as two of its states."""
    values = known.graph(op.graph).values
    return values[op.outputs[0]].shape[-1:] != values[op.outputs[1]].shape[-1:]


def _finding(trace: Trace, op: Op, taken: Op, event: Tails, both_ways: bool, numbers: bool) -> Finding:
    cause = taken.site.user
    how, edits = _at_the_end(trace, cause) if taken is not op else ("", ())
    packed = "`pack_padded_sequence(…, lengths, …)` around what " + located(trace, op.site.user) + " is given"
    ending = "places where all is 0, as nowhere before" if numbers else f"the token {event.token}"
    return Finding(
        message=f"{code(trace, cause, 'the last state')} is the state at the end of the padding, not at the end of each"
        " sequence",
        cause=cause,
        cause_label="what is left after the padding was read",
        effect=op.site.user if op.site.user.location() != cause.location() else None,
        effect_label="reads it as it reads all else" if numbers else "reads it as it reads the tokens",
        seen=(
            f"{percent(event.ends)} of the rows that were given first end with {ending}: with"
            f" {event.mean:.1f} of them on average, {event.most} at most, of {event.places} places",
        ),
        fix=f"take each row's own last state: {how}; or {packed}" if how else packed,
        edits=edits,
        severity="" if event.mean >= MUCH * event.places and not both_ways else "note",
        subjects=frozenset({("state", *cause.location())}),
    )


def _at_the_end(trace: Trace, site: Site) -> tuple[str, Edits]:
    """The state at the last token of each row, and the edit where the function is given one thing that it never reads:
    the lengths."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return "", ()
    base, lengths = here.file.text(node.value), _unread(here.file.scope(site))
    new = f"{base}[torch.arange(len({base})), {lengths or 'lengths'} - 1]"
    known = bool(lengths) and "torch" in here.file.imported
    return f"`{new}` in place of {located(trace, site)}", here.replace(node, new) if known else ()


def _unread(scope: ast.AST) -> str:
    """The only argument of a function that nothing in it reads."""
    if not isinstance(scope, FUNCTIONS):
        return ""
    read = {node.id for node in ast.walk(scope) if isinstance(node, ast.Name)}
    left = [one.arg for one in scope.args.args if one.arg not in read and one.arg != "self"]
    return left[0] if len(left) == 1 else ""
