"""The weights of a softmax are summed over the dimension in which they are 1 together: the result is 1 everywhere.

Why: a softmax over a dimension makes numbers that add up to 1 along it, whatever they were computed from. Their sum
along the same dimension says nothing any more: what is multiplied by it stays as it was, and the layers behind the
softmax get a gradient of zero (of rounding, in practice). So it is with what differs from the softmax by a constant, as
one-hot labels less the softmax, and with what is the same number times each of its weights, as a reward for each row.

Fix: sum over another dimension (what each position is given by all others), or leave the sum out. A loss of what was
chosen: the logarithm of its probability, times the reward.

Measured: the sum took the softmax's own result, or a constant and a multiple of it that is the same all along the
softmax's dimension, and summed over that dimension or took the mean of it, at once or after sums and means over others,
in a pass that a step used.
Of an `einsum`: the letter of that dimension stands at the softmax alone, and not behind the arrow.

Silent on: sums that something is divided by, weights that are read by something else, too, or masked before.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope import equations
from gradscope.analysis.one_hots import one_hot
from gradscope.analysis.ops import CASTS, DIVISIONS, MEANS, REVERSED_SUBTRACTIONS, SCALES, SUBTRACTIONS, SUMS
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural
from gradscope.equations import Equation
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site, Value
from gradscope.rules import rule
from gradscope.source import PRIMARIES
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, head = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(4, 1)
    opt = torch.optim.SGD([*query.parameters(), *key.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 5, 4)
        scores = query(x) @ key(x).transpose(1, 2)
        received = torch.softmax(scores, dim=-1).sum(dim=-1)  # cause: GS780
        opt.zero_grad()
        head((x * received.unsqueeze(2)).mean(1)).pow(2).mean().backward()  # effect: GS780
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, head = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(4, 1)
    opt = torch.optim.SGD([*query.parameters(), *key.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 5, 4)
        scores = query(x) @ key(x).transpose(1, 2)
        received = torch.softmax(scores, dim=-1).sum(dim=1)
        opt.zero_grad()
        head((x * received.unsqueeze(2)).mean(1)).pow(2).mean().backward()
        opt.step()


_SAME = {"neg", "clone", "contiguous"} | CASTS


class _Summed(NamedTuple):
    """A sum, the softmax behind it, and the calls between them, nearest to the sum first."""

    key: Key
    op: Op
    softmax: Op
    between: list[Op]
    dim: int  # of the softmax
    rank: int
    before: list[Op]  # sums and means over other dimensions, between the softmax and this one
    others: list[int]  # dimensions that it could go over instead
    given: str  # the result at each place; "" where more is between


@rule("GS780", name="softmax-summed-away", severity="warning")
def softmax_summed_away(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    lines: dict[tuple[str, int], _Summed] = {}
    for key, op in known.used_calls({"sum"} | MEANS):
        found = _summed(known, key, op)
        if found is not None and not _divides(known, key):
            lines.setdefault(op.site.user.location(), found)
    for found in lines.values():
        yield _finding(trace, known, found)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls({"einsum"}):
        contracted = _contracted(known, op)
        if contracted is not None and op.site.user.location() not in told:
            told.add(op.site.user.location())
            yield _of_einsum(trace, known, op, contracted)


def _summed(known: Paths, key: Key, op: Op) -> _Summed | None:
    graph = known.graph(op.graph)
    if not op.inputs or key[0] != op.graph:
        return None
    value = graph.values[op.inputs[0]]
    shape, rank = value.shape, len(value.shape)
    everything = not graph.values[key[1]].shape and not op.extra.get("dims")
    over = set(range(rank)) if everything else {d % rank for d in op.extra.get("dims", ()) if rank}
    axes = list(range(rank))  # of what the sum takes, as axes of `value`
    between: list[Op] = []
    before: list[Op] = []
    reader = op
    while rank > 1 and _read_by(known, value, reader):
        made = graph.maker(value.index)
        if made is None:
            return None
        if made.name in ("softmax", "log_softmax"):
            along = {d % rank for d in made.extra.get("dims", ())}
            exact = made.name == "softmax" or (between and between[-1].name == "exp")
            fits = exact and len(along) == 1 and along <= {axes[d] for d in over}
            dim = next(iter(along), -1)
            if not fits or shape[dim] < 2 or not all(_keeps(graph.inputs(o), o, dim, rank) for o in between):
                return None
            others = [d for d, axis in enumerate(axes) if d and axis != dim]
            given = "" if between or before else "1" if op.name == "sum" else f"1/{shape[dim]}"
            given = given if over == {axes.index(dim)} else ""
            return _Summed(key, op, made, between, dim, rank, before, others, given)
        if made.name in MEANS | {"sum"} and made.extra.get("dims") and not between:
            value, reader = graph.values[made.inputs[0]], made
            gone = {d % len(value.shape) for d in made.extra["dims"]}
            if len(value.shape) != rank:
                left = [d for d in range(len(value.shape)) if d not in gone]
                axes = [left[axis] for axis in axes]
            shape, rank = value.shape, len(value.shape)
            before.append(made)
            continue
        if made.name not in SUMS | SCALES | _SAME | {"exp"}:
            return None
        behind = [v for v in graph.inputs(made) if v.requires_grad and v.shape == shape]
        if len(behind) != 1 or not made.nodes:
            return None
        between.append(made)
        value, reader = behind[0], made
    return None


class _Contracted(NamedTuple):
    """The softmax that an `einsum` sums away, which of its inputs that is, and the letter of its dimension."""

    softmax: Op
    place: int
    letter: str
    equation: Equation


def _contracted(known: Paths, op: Op) -> _Contracted | None:
    """The softmax whose dimension an `einsum` sums over, with nothing else along it."""
    equation = equations.of(op)
    if equation is None or len(equation.operands) != len(op.inputs):
        return None
    graph = known.graph(op.graph)
    for place, index in enumerate(op.inputs):
        made = graph.maker_behind(index, _SAME | {"dropout"})
        if made is None or made.name != "softmax" or not _read_by(known, graph.values[index], op):
            continue
        rank = len(graph.values[index].shape)
        dims = [d % rank for d in made.extra.get("dims", ()) if rank]
        if len(dims) != 1 or graph.values[index].shape[dims[0]] < 2:
            continue
        letter = next((one for one, at in equation.axes(place, rank).items() if at == dims[0]), "")
        alone = sum(other.count(letter) for other in equation.operands) == 1
        if letter and alone and letter not in equation.result:
            return _Contracted(made, place, letter, equation)
    return None


def _read_by(known: Paths, value: Value, reader: Op) -> bool:
    """Whether nothing else takes a gradient from it: what was drawn from it, or counted, may have read it."""
    readers = known.graph(reader.graph).consumers.get(value.index, ())
    return [op for op in readers if op.nodes] == [reader]


def _keeps(inputs: list[Value], op: Op, dim: int, rank: int) -> bool:
    """Whether the sum stays the same number whatever the softmax gives: a constant was added to it, or all that is
    summed was multiplied by one number."""
    if op.name == "exp":
        return True  # of the logarithm: it is the last, or the softmax is none
    if len(inputs) < 2:
        return True
    if op.name in SUMS:
        return sum(v.requires_grad for v in inputs) == 1
    if op.name in DIVISIONS and not inputs[0].requires_grad:
        return False
    return any(len(v.shape) < rank - dim or v.shape[dim - rank] == 1 for v in inputs)


def _divides(known: Paths, key: Key) -> bool:
    return any(
        op is not None and op.name in DIVISIONS and op.inputs[-1:] == (key[1],)
        for _, op in known.used.feeds.get(key, ())
    )


def _finding(trace: Trace, known: Paths, found: _Summed) -> Finding:
    place, dim, rank = found.op.site.user, found.dim, found.rank
    loss = known.loss_of(found.key)
    behind = sorted(known.parameters_in(known.flow([(found.softmax.graph, found.softmax.outputs[0])]).order))
    names = parameter_names(trace, behind)
    what, takes = ("the sum", "sums") if found.op.name == "sum" else ("the mean", "takes the mean of")
    softmax = located(trace, found.softmax.site.user, "the softmax")
    if found.between:
        message = (
            f"{code(trace, place, what)} is the same whatever the scores are: it {takes} a softmax over the dimension"
            f" ({dim}) in which its weights are 1 together"
        )
        label = "the weights of the softmax fall out of it"
        seen = f"the softmax ({softmax}) goes over dimension {dim} of {rank}, and the sum takes that in; between them"
        seen += " only constants are added, or factors that are the same along it"
        fix, edits = _chosen(trace, known, found)
    else:
        everywhere = (
            f"is {found.given} everywhere" if found.given else "is the same number whatever the scores are"
        )
        message = (
            f"{code(trace, place, what)} {everywhere}: it {takes} a softmax over the dimension ({dim}) in which its"
            " weights are 1 together"
        )
        label = (
            f"is {found.given}, whatever the scores are" if found.given else "has nothing of the scores in it"
        )
        seen = f"the softmax ({softmax}) and {what} both go over dimension {dim} of {rank}"
        if found.before:
            seen += f", {plural(len(found.before), 'call')} between them over other dimensions"
        others = found.others
        edits = _over_another(trace, place, others[0]) if len(others) == 1 and dim else ()
        instead = f"over dimension {others[0]}" if len(others) == 1 and dim else "over another dimension"
        take = "sum" if found.op.name == "sum" else "take the mean"
        fix = f"{take} {instead} in {located(trace, place)}: what each position is given by the others; or leave it out"
    return Finding(
        message=message,
        cause=place,
        cause_label=label,
        effect=loss.site.user if loss is not None else None,
        effect_label=f"gives {names} no gradient by it" if behind else "has no gradient from it",
        seen=(f"{seen}, in {passes(known.alike(loss)) if loss is not None else 'the passes'} of this line",),
        fix=fix,
        edits=edits,
        subjects=parameter_subjects(behind) | {("term", *place.location())},
    )


def _of_einsum(trace: Trace, known: Paths, op: Op, found: _Contracted) -> Finding:
    place, softmax = op.site.user, found.softmax
    loss = known.loss_of((op.graph, op.outputs[0]))
    behind = sorted(known.parameters_in(known.flow([(softmax.graph, softmax.outputs[0])]).order))
    here, equation = Source(trace, place.path), found.equation
    new = _with_the_letter(known.graph(op.graph), op, found)
    call = here.file.at(place)
    written = (
        next((a for a in call.args[:1] if isinstance(a, ast.Constant)), None)
        if isinstance(call, ast.Call)
        else None
    )
    instead = f"`{new}`" if new else f"with `{found.letter}` in what the weights are for, too,"
    return Finding(
        message=f"{code(trace, place, 'the product')} adds the weights of a softmax up alone: they are 1 together"
        f" along `{found.letter}`, and whatever they multiply stays as it was",
        cause=place,
        cause_label=f"sums over `{found.letter}`, which stands at the softmax alone",
        effect=loss.site.user if loss is not None else None,
        effect_label=f"gives {parameter_names(trace, behind)} no gradient by it" if behind else "",
        related=((softmax.site.user, f"goes over `{found.letter}`: 1 in all"),),
        seen=(
            f"of `{equation.text}` the letter `{found.letter}` is in `{equation.operands[found.place]}` only, and not"
            f" behind the arrow, in {passes(known.alike(loss)) if loss is not None else 'the passes'} of this line",
        ),
        fix=f"weigh what the weights are of: {instead} in place of `{equation.text}` in {located(trace, place)}",
        edits=here.replace(written, repr(new).replace("'", '"')) if new and written is not None else (),
        subjects=parameter_subjects(behind) | {("term", *place.location())},
    )


def _with_the_letter(graph: Graph, op: Op, found: _Contracted) -> str:
    """The equation with the letter of the weights in the other term, where one letter there is as long, and the softmax
    has it, too; "" where it is not plain which."""
    terms = list(found.equation.operands)
    if len(terms) != 2:
        return ""
    place = 1 - found.place
    own, other = terms[found.place], terms[place]
    shapes = [graph.values[index].shape for index in op.inputs]
    axes = found.equation.axes(place, len(shapes[place]))
    sizes = {letter: shapes[place][axis] for letter, axis in axes.items()}
    length = shapes[found.place][found.equation.axes(found.place, len(shapes[found.place]))[found.letter]]
    fitting = [
        letter
        for letter, size in sizes.items()
        if size == length and letter in own and other.count(letter) == 1
    ]
    if len(fitting) != 1:
        return ""
    terms[place] = other.replace(fitting[0], found.letter)
    return found.equation._replace(operands=tuple(terms)).text


def _chosen(trace: Trace, known: Paths, found: _Summed) -> tuple[str, Edits]:
    """The logarithm of what was chosen, in place of one-hot choices less the softmax."""
    where = located(trace, found.op.site.user)
    text = (
        f"weigh the places of the softmax before they are summed in {where}: for a choice that was made, the logarithm"
        " of its probability, `-((chosen * probabilities).sum(dim).log() * reward)`, where `chosen` is one-hot"
    )
    for op in found.between:
        if op.name not in SUBTRACTIONS or op.name in REVERSED_SUBTRACTIONS or len(op.inputs) != 2:
            continue
        chosen = op.inputs[0]
        key = op.graph, chosen
        here = Source(trace, op.site.user.path)
        node = here.file.at(op.site.user)
        if one_hot(known, key) is None or known.value(key).requires_grad:
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            one, other = here.file.text(node.left), here.file.text(node.right)
            dim = found.dim - found.rank if found.rank > 2 else found.dim
            instead = f"-({one} * {other}).sum(dim={dim}, keepdim=True).log()"
            if not isinstance(node.left, PRIMARIES) or not isinstance(node.right, PRIMARIES):
                continue
            before = located(trace, op.site.user, "the difference")
            return (
                f"take the logarithm of the probability of what was chosen in place of {before}: `{instead}`",
                here.replace(node, instead),
            )
    return text, ()


def _over_another(trace: Trace, place: Site, dim: int) -> Edits:
    """The sum's `dim` changed, where the call names it."""
    here = Source(trace, place.path)
    call = here.file.at(place)
    given = [k.value for k in call.keywords if k.arg == "dim"] if isinstance(call, ast.Call) else []
    return here.replace(given[0], str(dim)) if len(given) == 1 else ()
