"""A gradient is NaN or infinite: where the first such number was made.

Why: one NaN spreads to everything that is computed from it. A step that uses such a gradient
destroys the parameters, so by the time it shows it is everywhere.

Fix: keep the input of that operation where it is defined, before the operation: a small constant
under a root, `clamp(min=…)` before a logarithm, one inside of -1 and 1 before `acos`, a mean only of
what is not empty. `torch.where` after it does not help: its gradient is multiplied with the infinite
derivative all the same. The same holds for data with NaN: what a mask leaves out of the loss has a gradient of 0, and
0 times NaN is NaN; replace or choose it before it is computed with.

In half precision a step can make it from finite gradients: an optimizer that divides by the root of an average plus
`eps` divides by 0 where both are 0 in that dtype.

Where the `backward` of an `autograd.Function` of the program makes it, that is told by its line: write the derivative
so that it does not overflow.

GS705 reports training that diverges until plain arithmetic overflows.

Silent on: infinities in attention masks, NaN that reaches no gradient, steps that a `GradScaler`
skips. A warning where the loss is not finite while every gradient is; a note where that is a cross
entropy whose labels are all ignored: its step is lost, and the mean of the losses that is shown. Where that is so in
all passes of the run nothing is learned, and it is an error again.
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gradscope.analysis.delicate import idle_guard, makers_of, quotient_of_gradients
from gradscope.analysis.names import names_of, op_name
from gradscope.analysis.non_finite import (
    LateMask,
    LeftOut,
    Unlabelled,
    WrongFill,
    call_like,
    filled_with_infinity,
    late_mask,
    left_out,
    lengths_beside,
    no_probabilities,
    roots_before,
    subjects_of,
    unlabelled,
)
from gradscope.analysis.ops import EXPONENTIALS, QUOTIENTS
from gradscope.analysis.own_functions import definition_of, delicate_in, returned
from gradscope.analysis.since import since_segment
from gradscope.analysis.words import (
    code,
    listed,
    located,
    numbers,
    optimizer_name,
    parameter_names,
    plural,
    user,
)
from gradscope.events import NonFinite, Step, Targets
from gradscope.fixes.calls import kept_positive, with_argument
from gradscope.fixes.finite import FEW, Made, Repair, chosen_before, kept_finite, of_several
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

Places = tuple[tuple[Site, str], ...]


def bad_log() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chance = torch.softmax(500 * model(torch.randn(8, 4)), dim=1)
        loss = -torch.log(chance)[:, 0].mean()  # cause: GS701
        loss.backward()  # effect: GS701
        opt.step()


def good_clamped() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        share = torch.relu(model(torch.randn(8, 4)))
        (-torch.log(share.clamp(min=1e-6)).mean() + torch.sqrt(share + 1e-6).mean()).backward()
        opt.step()


@rule("GS701", name="non-finite-origin", severity="error")
def non_finite_origin(trace: Trace) -> Iterator[Finding]:
    events = trace.of(NonFinite)
    for event in [e for e in events if e.parameters] or events:
        if event.where == "step":
            yield _of_step(trace, event)
            continue
        origin = user(trace.site(event.origin))
        if (labels := next((data for data in event.inputs if "ignored" in data), None)) is not None:
            yield _of_no_label(trace, event, labels, origin)
            continue
        if event.where == "backward" and (own := _of_own_backward(trace, event)) is not None:
            yield own
            continue
        if (late := left_out(trace, event)) is not None:
            yield _of_left_out(trace, event, late)
            continue
        if origin is None and event.where not in ("unknown", "left_out") and not op_name(str(event.name)):
            continue
        reader = origin if event.where == "forward" else None
        if reader is not None and (mask := late_mask(trace, event, reader)) is not None:
            yield _of_late_mask(trace, event, mask, reader)
        elif reader is not None and (fill := filled_with_infinity(trace, event)) is not None:
            yield _of_wrong_fill(trace, event, fill, reader)
        elif reader is not None and no_probabilities(event):
            yield _of_no_probabilities(trace, event, reader)
        else:
            like = call_like(trace, event) if origin is None else None
            made = origin if like is None else like.site.user
            yield _of_call(trace, event, _origin(trace, event, made))


class _Origin(NamedTuple):
    """Where the number was made, and what is told of it."""

    message: str
    made: Made
    label: str  # at its line
    repair: Repair
    related: Places = ()
    of_gradients: bool = False  # the program computes with gradients there: its pass comes before


def _origin(trace: Trace, event: NonFinite, origin: Site | None) -> _Origin:
    if event.where == "input" and (makers := makers_of(trace, event)):
        return _before_the_pass(trace, event, origin, makers)
    if event.where == "unknown" and origin is None:
        quotient = quotient_of_gradients(trace, event)
        if quotient is not None:
            return _after_the_pass(trace, event, quotient)
    if (grown := next(iter(event.grown), None)) is not None and str(event.name) not in EXPONENTIALS:
        return _grown_before(trace, event, origin, grown)
    number, value = _number(event), _value(trace, event, 0)
    subject = code(trace, origin, f"`{op_name(str(event.name))}`")
    makes = f"{subject} makes the first number that is not finite ({number})"
    short = next((data for data in event.inputs if "needed" in data), None)
    if short is not None:
        makes = (
            f"{subject} makes infinity of {short['unaligned']} of {short['elements']} targets: their input has too few"
            " steps for them"
        )
    of = f", most likely by the derivative of {subject}" if origin is not None else ""
    message, label = {
        "forward": (makes, f"gives {number}"),
        "gradient": (f"{makes}, from which a gradient is made", f"gives {number}"),
        "backward": (
            f"the derivative of {subject} is not finite: the gradient becomes {number} there",
            f"its derivative gives {number}",
        ),
        "input": (f"{value or 'the input'} holds {number} before anything is computed from it", f"reads {number}"),
        "parameter": (f"{value or 'a parameter'} holds {number} before this pass", f"reads {number}"),
        "unknown": (f"{_not_finite(trace, event)}{of}", "its derivative can be infinite"),
    }[event.where]  # fmt: skip
    made = Made(str(event.name), origin, event.where, value, tuple(event.inputs))
    guard = idle_guard(trace, event) if made.operation in QUOTIENTS else None
    return _Origin(
        message,
        made,
        label if origin is not None else "leaves gradients that are not finite",
        kept_finite(trace, event, made),
        related=((guard.site.user, "0 where what it guards is 0"),) if guard is not None else (),
        of_gradients=event.where == "gradient",
    )


def _grown_before(trace: Trace, event: NonFinite, breaks: Site | None, grown: Mapping[str, Any]) -> _Origin:
    """An exponential that gave numbers so large that what is computed from them overflows."""
    site = user(trace.site(grown["site"]))
    made, largest = Made(str(grown["name"]), site, "forward"), numbers(grown["largest"])
    subject, broken = code(trace, site), code(trace, breaks, f"`{op_name(str(event.name))}`")
    return _Origin(
        f"{subject} gives numbers of up to {largest}, of which {broken} makes the first that is not finite"
        f" ({_number(event)})",
        made,
        f"gives up to {largest}",
        kept_finite(trace, event, made),
        related=((breaks, f"gives {_number(event)}"),) if breaks is not None else (),
    )


def _before_the_pass(trace: Trace, event: NonFinite, reader: Site | None, makers: list[Op]) -> _Origin:
    """An input of the pass that one of the calls before can have made."""
    number, value = _number(event), _value(trace, event, 0) or "the input"
    if len(makers) > 1:
        return _Origin(
            f"{value} holds {number}, which one of {len(makers)} calls before it can have made",
            Made(str(event.name), reader, "input"),
            f"reads {number}" if reader is not None else "leaves gradients that are not finite",
            of_several(trace, makers),
            related=tuple((op.site.user, f"can make {number}") for op in makers[:FEW]),
        )
    (maker,) = makers
    site = maker.site.user
    made = Made(maker.name, site, "forward", looked_at=False)
    return _Origin(
        f"{value} holds {number}, which {code(trace, site, f'`{maker.name}`')} can have made",
        made,
        f"can make {number}",
        kept_finite(trace, event, made),
        related=((reader, f"reads {number}"),) if reader is not None else (),
    )


def _after_the_pass(trace: Trace, event: NonFinite, quotient: Op) -> _Origin:
    """A quotient that the program itself takes of its gradients."""
    site = quotient.site.user
    made = Made(quotient.name, site, "forward", inputs=tuple(event.inputs), looked_at=False)
    return _Origin(
        f"{_not_finite(trace, event)}; {code(trace, site)}, with which the program makes them, can be 0 / 0",
        made,
        "is of 0 by 0 where this gradient is zero",
        kept_finite(trace, event, made),
        of_gradients=True,
    )


def _of_call(trace: Trace, event: NonFinite, origin: _Origin) -> Finding:
    cause = origin.made.site or event.site.user
    text, edits = origin.repair
    others = [s.user for number in event.too if (s := trace.site(number)) is not None]
    others = [site for site in others if site.span() != cause.span()] if not event.grown else []
    if others:
        text += f"; the same for {listed([located(trace, site) for site in others], FEW)}"
    told = {site.span() for site in (cause, *others)}  # one line may run several times
    roots = [root for root in _roots(trace, event, origin.made) if root.span() not in told]
    if roots:
        places = listed([located(trace, root) for root in roots], FEW)
        text += f"; {places} need{'s' if len(roots) == 1 else ''} the same where 0 occurs"
        edits = (*edits, *(edit for root in roots for edit in kept_positive(trace, root)))
    return Finding(
        message=origin.message,
        cause=cause,
        cause_label=origin.label,
        effect=event.site.user if event.site.user != cause else None,
        effect_label="gives the gradients that it is computed with"
        if origin.of_gradients
        else _effect(trace, event),
        related=(
            *origin.related,
            *((site, "gives such numbers too") for site in others),
            *((root, "another root, of which the same holds at 0") for root in roots),
        ),
        severity="" if event.parameters else "warning",
        seen=tuple(_seen(trace, event)),
        fix=text,
        edits=edits,
        count=event.count,
        subjects=subjects_of(event),
        since=since_segment(trace, event.segment),
    )


def _roots(trace: Trace, event: NonFinite, made: Made) -> list[Site]:
    """Those before a root whose derivative is infinite, and those beside it that are lengths like it."""
    if made.where != "backward" or made.operation != "sqrt":
        return []
    beside = lengths_beside(trace, made.site) if made.site is not None else []
    return list(dict.fromkeys(op.site.user for op in (*roots_before(trace, event), *beside)))


def _number(event: NonFinite) -> str:
    return {"nan": "NaN", "inf": "infinity", "-inf": "-infinity"}.get(event.made, "NaN or infinity")


def _not_finite(trace: Trace, event: NonFinite) -> str:
    return f"the gradients of {parameter_names(trace, event.parameters)} are not finite"


def _effect(trace: Trace, event: NonFinite) -> str:
    ids = event.parameters
    whose = f"the gradients of {parameter_names(trace, ids)} are" if ids else "the loss is"
    return f"{whose} not finite from here on"


def _of_no_label(trace: Trace, event: NonFinite, labels: dict[str, Any], origin: Site | None) -> Finding:
    """A batch of which the loss ignores every label, or all batches of the run."""
    place, ignored = origin or event.site.user, labels["ignored"]
    count = plural(labels["elements"], "label")
    given = f"is given {count}, each of them the {ignored} that it ignores"
    seen = (f"of {count}, {labels['elements']} were {ignored} (`ignore_index`)", f"the loss was {event.loss}")
    found = unlabelled(trace, event, ignored, place)
    if found.mostly and not event.parameters:
        return _of_no_labels(trace, event, found, place, (given, *seen))
    lost = "" if event.parameters else ": the step learned nothing, and means of losses are NaN from here on"
    return Finding(
        message=f"a batch has no label that counts: the loss is the mean of none, which is {_number(event)}",
        cause=place,
        cause_label=given,
        effect=event.site.user if event.site.user != place else None,
        effect_label=_effect(trace, event) if event.parameters else "gives gradients of zero",
        severity="" if event.parameters else "note",
        seen=(*seen[:-1], seen[-1] + lost),
        why="" if event.parameters else NO_LABEL,
        fix=f"leave such a batch out before its pass (`if (labels != {ignored}).any():`), or see why its labels are"
        " gone: an input that fills the whole length, a batch of padding",
        count=event.count,
        subjects=subjects_of(event),
        since=since_segment(trace, event.segment),
    )


NO_LABEL = "a mean over no label is 0 / 0; what counts nothing has a gradient of zero"


def _of_no_labels(
    trace: Trace, event: NonFinite, found: Unlabelled, loss: Site, told: tuple[str, ...]
) -> Finding:
    """The same of all, or nearly all, batches of the run: it is how the labels are made. told: of the labels that the
    loss was given, and what was seen of one batch."""
    given, *seen = told
    places = listed([located(trace, site) for site in found.writes], FEW)
    cause, *others = found.writes or [loss]
    effect = loss if found.writes else event.site.user
    passes = plural(found.of, "pass")
    return Finding(
        message=f"no label counts in {'all' if found.whole else f'{found.passes} of'} {passes}: the loss is the mean"
        f" of none, which is {_number(event)}, and teaches nothing",
        cause=cause,
        cause_label="hides labels from the loss" if found.writes else given,
        effect=effect if effect != cause else None,
        effect_label=given if found.writes else "gives gradients of zero",
        related=tuple((site, "hides labels, too") for site in others),
        severity="" if found.whole else "warning",
        seen=(
            *seen,
            f"in {found.passes} of {passes} no label counted: the loss was not finite, every gradient was",
        ),
        why=NO_LABEL,
        fix=f"see what {places or 'the program'} leaves of the labels of one sample: print them beside its inputs. None"
        " is left where padding on the left is the token behind which all is hidden, where a prompt fills the whole"
        " length, or where what hides them holds everywhere",
        count=found.passes,
        subjects=subjects_of(event),
        since=since_segment(trace, event.segment),
    )


def _of_own_backward(trace: Trace, event: NonFinite) -> Finding | None:
    """The backward of a Function of the program's that makes NaN of finite gradients. None where it is a library's."""
    data = next((one for one in event.inputs if "own" in one), None)
    head = definition_of(trace, data["own"], data["line"]) if data is not None else None
    if data is None or head is None:
        return None
    name, number = data["own"], _number(event)
    found = delicate_in(trace, name, data["line"])
    cause, does = found[0] if found else (returned(trace, name, data["line"], 0) or head, "")
    call = user(trace.site(event.origin))
    by = "can overflow" if does in EXPONENTIALS else f"can give {number}" if found else f"gives {number}"
    saved = f"; the first that it saved: {_range(data)}" if "elements" in data else ""
    return Finding(
        message=f"the backward of `{name}` makes {number} of a gradient that is finite",
        cause=cause,
        cause_label=by,
        effect=event.site.user,
        effect_label=_effect(trace, event),
        related=((call, f"`{name}` is applied here"),) if call is not None else (),
        seen=(
            f"the gradient that it was given was finite, what it returned was not{saved}",
            "the loss was finite",
        ),
        fix=_finite_backward(trace, cause, does),
        count=event.count,
        subjects=subjects_of(event),
        since=since_segment(trace, event.segment),
    )


def _finite_backward(trace: Trace, cause: Site, does: str) -> str:
    """How to write the derivative so that it stays finite."""
    text = located(trace, cause, "what it returns")
    if does in EXPONENTIALS:
        return (
            f"write the derivative without {text}, which overflows (in float32 above 88, and infinity by infinity is"
            " NaN): with `s = torch.sigmoid(k * x)` that of a sigmoid is `k * s * (1 - s)`, with `t = torch.tanh(x)`"
            " that of a tanh is `1 - t * t`; or clamp what it is given"
        )
    if does:
        return f"keep what {text} is given where its result is finite: a small constant under a root or in a divisor"
    return f"look at what {text} is computed from: print its range in `backward`"


def _of_left_out(trace: Trace, event: NonFinite, late: LeftOut) -> Finding:
    """Data with NaN that is masked in the loss, and not before."""
    reader, choice = late.reader.site.user, late.choice.site.user if late.choice is not None else None
    name = names_of(trace).name(late.graph, late.value)
    data = f"`{name}`" if name else "the data"
    text, edits = chosen_before(trace, late)
    others = choice is not None and choice.location() != reader.location()
    return Finding(
        message=f"{data} holds {_number(event)}, and {code(trace, reader, 'a call')} computes with it: to leave the"
        " result out of the loss is too late for the gradient",
        cause=reader,
        cause_label=f"computes with {data}",
        effect=event.site.user,
        effect_label=_effect(trace, event),
        related=((choice, "leaves these out, which makes their gradient 0"),) if choice and others else (),
        severity="" if event.parameters else "warning",
        seen=(
            *(f"{data}: {_range(measured)}" for measured in event.inputs[:1]),
            "the loss was finite, the gradients are not",
        ),
        why="what is left out of a loss has a gradient of 0, and the backward of what was computed before multiplies"
        " it by its own derivative: 0 times NaN is NaN.",
        fix=text,
        edits=edits,
        count=event.count,
        subjects=subjects_of(event),
        since=since_segment(trace, event.segment),
    )


def _of_late_mask(trace: Trace, event: NonFinite, late: LateMask, reader: Site) -> Finding:
    """A mask for scores that is put into the weights."""
    fill, softmax = late.fill.site.user, late.softmax.site.user
    return Finding(
        message=f"{code(trace, fill, '`masked_fill`')} masks weights after their softmax: what it puts in is a weight, "
        f"and {code(trace, reader, f'`{event.name}`')} makes the first number that is not finite of it",
        cause=fill,
        cause_label="writes into the weights",
        effect=event.site.user,
        effect_label=_effect(trace, event),
        related=((softmax, "makes weights that sum to one"), (reader, "multiplies by them")),
        severity="" if event.parameters else "warning",
        seen=(f"its input is the result of `softmax`; the loss was {event.loss}",),
        fix=f"mask the scores: {located(trace, fill, '`masked_fill`')} belongs before the softmax of "
        f"{located(trace, softmax, '`softmax`')}, which makes weights of 0 of them",
        count=event.count,
        subjects=subjects_of(event),
        since=since_segment(trace, event.segment),
    )


def _of_wrong_fill(trace: Trace, event: NonFinite, fill: WrongFill, reader: Site) -> Finding:
    """A mask that puts +infinity before a softmax."""
    site, value = fill.op.site.user, located(trace, fill.value, "the fill value")
    here = Source(trace, fill.value.path)
    node = here.file.at(fill.value)
    return Finding(
        message=f"{code(trace, site, '`masked_fill`')} puts +infinity into the scores, of which"
        f" {code(trace, reader, f'`{event.name}`')} makes NaN: a mask is to fill with -infinity",
        cause=fill.value,
        cause_label="is +infinity",
        effect=event.site.user,
        effect_label=_effect(trace, event),
        related=((site, "fills with it"), (reader, "the softmax of +infinity is NaN")),
        severity="" if event.parameters else "warning",
        seen=tuple(_seen(trace, event)),
        fix=f"fill with `float('-inf')` in place of {value}: a score of -infinity is a weight of 0",
        edits=here.replace(node, "float('-inf')") if isinstance(node, ast.expr) else (),
        count=event.count,
        subjects=subjects_of(event),
        since=since_segment(trace, event.segment),
    )


def _of_no_probabilities(trace: Trace, event: NonFinite, reader: Site) -> Finding:
    """A divergence whose target is no distribution."""
    given, target = event.inputs
    whole = code(trace, reader, "`kl_div`")
    names = [_value(trace, event, 0), _value(trace, event, 1)]
    logs = given["max"] <= 0
    targets = (one for one in trace.of(Targets) if one.name == event.name and one.site.user == reader)
    sums = [
        one.total / (target["elements"] // target["shape"][-1]) for one in targets if one.total is not None
    ]
    return Finding(
        message=f"the target of {whole} has numbers below 0: these are no probabilities, and the divergence takes their"
        f" logarithm ({_number(event)})",
        cause=reader,
        cause_label="is given a target that is no distribution"
        if logs
        else "is given neither log-probabilities nor probabilities",
        effect=event.site.user if event.site.user != reader else None,
        effect_label=_effect(trace, event),
        severity="" if event.parameters else "warning",
        seen=(
            f"its target{f' {names[1]}' if names[1] else ''}: {_range(target)}; probabilities are 0 to 1",
            *(
                f"a row of its target added up to {numbers(total)} on average at its first call; probabilities to 1"
                for total in sums[:1]
            ),
            f"its input{f' {names[0]}' if names[0] else ''}: {_range(given)}; log-probabilities are at most 0",
            *((f"the loss was {event.loss}",) if event.loss is not None else ()),
        ),
        why="`kl_div` (`nn.KLDivLoss`) compares two categorical distributions: its input holds log-probabilities, its"
        " target probabilities. Samples of two distributions, or scores, are neither",
        fix=f"in {located(trace, reader, '`kl_div`')}: where both are samples, take the divergence of the distributions"
        " that they were drawn from, `torch.distributions.kl_divergence(posterior, prior)`; where both are scores, give"
        " it `log_softmax` of one and `softmax` of the other; where the target holds logarithms, `log_target=True`",
        count=event.count,
        subjects=subjects_of(event),
        since=since_segment(trace, event.segment),
    )


def _of_step(trace: Trace, event: NonFinite) -> Finding:
    """Finite gradients, and a step that divides by what is 0 in half precision."""
    (data,) = event.inputs
    number, eps, dtype = data["optimizer"], f"eps={data['eps']:g}", data["dtype"]
    name = optimizer_name(trace, number)
    made = user(trace.optimizers[number].site)
    step = next((e.site.user for e in trace.of(Step) if e.optimizer == number), event.site.user)
    elements = plural(data["zeros"], "element")
    return Finding(
        message=f"the step of {name} makes the first numbers that are not finite: it divides by 0",
        cause=made or step,
        cause_label=f"`{eps}` is 0 in {dtype}",
        effect=step,
        effect_label=f"divides {elements} of the parameters by 0 + 0",
        related=((event.site.user, "goes back through parameters that are not finite"),),
        seen=(
            f"the gradients were finite; {elements} are not, and what {name} keeps to divide them by is 0 there",
        ),
        fix=f"give {located(trace, made, name)} an `eps` that {dtype} can hold, `eps=1e-4`; or keep the parameters in"
        " float32 and let `torch.autocast` compute in half precision",
        edits=_with_eps(trace, made),
        count=event.count,
        subjects=subjects_of(event),
        since=since_segment(trace, event.segment),
    )


def _with_eps(trace: Trace, made: Site | None) -> tuple[Edit, ...]:
    """Another `eps` for the optimizer made there, where that is what its param groups take theirs from."""
    call = trace.source_file(made.path).at(made) if made is not None else None
    if (
        made is None or not isinstance(call, ast.Call) or len(call.args) > 2
    ):  # the parameters, the learning rate
        return ()
    of_groups = [
        node
        for node in trace.source_file(made.path).nodes
        if (isinstance(node, ast.Constant) and node.value == "eps")
        or (isinstance(node, ast.Call) and node is not call and any(k.arg == "eps" for k in node.keywords))
    ]
    return () if of_groups else with_argument(trace, made, "eps", "1e-4")


def _value(trace: Trace, event: NonFinite, place: int) -> str:
    values = event.values
    if event.graph < 0 or place >= len(values) or values[place] >= len(trace.graph(event.graph).values):
        return ""
    name = names_of(trace).name(trace.graph(event.graph), values[place])
    return f"`{name}`" if name else ""


def _seen(trace: Trace, event: NonFinite) -> Iterator[str]:
    for place, data in enumerate(event.inputs):
        if "equal" in data:
            yield f"{data['equal']} of its {data['elements']} {data['of']} equal the one before up to rounding"
            continue
        if "needed" in data:
            twice = data["needed"] - data["labels"]
            yield (
                f"a target of {plural(data['labels'], 'label')}, {twice} of them equal to the one before, needs"
                f" {data['needed']} steps (a blank between equal ones); its input has {data['steps']}"
            )
            continue
        if data.get("of") == "divisor":
            yield f"its divisor was {numbers(data.get('min', 'not finite'))}"
            continue
        if "own" in data:
            continue
        what = data.get("of") or f"input {_value(trace, event, place)}".rstrip()
        yield f"its {what}: {_range(data)}"
    loss = event.loss
    if loss is not None:
        before = (
            "; it may have begun in a pass before that"
            if event.where == "unknown" and event.graph < 0
            else ""
        )
        yield f"the loss was {loss}" + (before if event.parameters else ", the gradients were finite")
    elif event.where == "backward":
        yield "the loss was finite"


def _range(data: dict[str, Any]) -> str:
    elements = data["elements"]
    if not elements:
        return "no elements"
    parts = []
    if "min" in data:
        parts.append(f"{numbers(float(data['min']))} to {numbers(float(data['max']))}")
    if data.get("zeros"):
        parts.append(f"{data['zeros']} of {elements} {'is' if data['zeros'] == 1 else 'are'} 0")
    if data.get("not_finite"):
        parts.append(
            f"{data['not_finite']} of {elements} {'is' if data['not_finite'] == 1 else 'are'} not finite"
        )
    if data.get("infinite"):
        parts.append(f"{data['infinite']} of them +infinity")
    if data.get("masked_rows"):
        parts.append(f"{data['masked_rows']} of {data['rows']} rows are -inf throughout")
    return ", ".join(parts)
