"""A gradient is NaN or infinite: where the first such number was made.

Why: one NaN spreads to everything that is computed from it. A step that uses such a gradient
destroys the parameters, so by the time it shows it is everywhere.

Fix: keep the input of that operation where it is defined, before the operation: a small constant
under a root, `clamp(min=…)` before a logarithm, a mean only of what is not empty. `torch.where`
after it does not help: its gradient is multiplied with the infinite derivative all the same.

In half precision a step can make it from finite gradients: an optimizer that divides by the root of an average plus
`eps` divides by 0 where both are 0 in that dtype.

GS705 reports training that diverges until plain arithmetic overflows.

Silent on: infinities in attention masks, NaN that reaches no gradient, steps that a `GradScaler`
skips, cross entropy of labels that are all ignored. A warning where the loss is not finite while
every gradient is.
"""

import ast
from collections.abc import Iterator
from typing import Any

from gradscope.analysis.names import names_of, op_name
from gradscope.analysis.non_finite import (
    LateMask,
    LogOfSum,
    WrongFill,
    empty_sum,
    filled_with_infinity,
    infinite_dividend,
    late_mask,
    left_out_by,
    logarithm_of,
    roots_before,
)
from gradscope.analysis.ops import EXPONENTIALS, LOGARITHMS, QUOTIENTS, ROOTS, STATISTICS
from gradscope.analysis.since import since_segment
from gradscope.analysis.words import (
    code,
    listed,
    located,
    numbers,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
    user,
)
from gradscope.events import NonFinite, Step
from gradscope.fixes.calls import kept_positive, with_argument
from gradscope.fixes.logarithms import with_softmax, with_sum
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._delicate import (
    divide_too,
    exponents,
    idle_guard,
    makers_of,
    quotient_of_gradients,
)
from gradscope.store import Trace

CLAMP = "clamp(max=20)"  # far above what an exponent is in a program that learns, far below an overflow
SHOWN = 4  # of several calls that can have made it


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
        origin = trace.site(event.origin)
        name, where = op_name(str(event.name)), event.where
        if origin is None and where != "unknown" and not name:
            continue
        yield _finding(trace, event, user(origin), name, where)


def _finding(trace: Trace, event: NonFinite, origin: Site | None, name: str, where: str) -> Finding:
    ids = event.parameters
    made = {"nan": "NaN", "inf": "infinity", "-inf": "-infinity"}.get(event.made, "NaN or infinity")
    subject = code(trace, origin, f"`{name}`")
    value = _value(trace, event, 0)
    makers = makers_of(trace, event) if where == "input" else []
    maker = makers[0] if len(makers) == 1 else None
    messages = {
        "forward": f"{subject} makes the first number that is not finite ({made})",
        "backward": f"the derivative of {subject} is not finite: the gradient becomes {made} there",
        "input": f"{value or 'the input'} holds {made} before anything is computed from it",
        "parameter": f"{value or 'a parameter'} holds {made} before this pass",
        "unknown": f"the gradients of {parameter_names(trace, ids)} are not finite",
    }
    messages["gradient"] = f"{messages['forward']}, from which a gradient is made"
    own = quotient_of_gradients(trace, event) if where == "unknown" and origin is None else None
    if own is not None:
        origin, name = own.site.user, op_name(own.name)
        messages[where] += f"; {code(trace, origin)}, with which the program makes them, can be 0 / 0"
    elif where == "unknown" and origin is not None:
        messages[where] += f", most likely by the derivative of {subject}"
    if maker is not None:
        by = code(trace, maker.site.user, f"`{maker.name}`")
        messages[where] = f"{value or 'the input'} holds {made}, which {by} can have made"
    elif makers:
        before = f"one of {len(makers)} calls before it can have made"
        messages[where] = f"{value or 'the input'} holds {made}, which {before}"
    effect = f"the gradients of {parameter_names(trace, ids)} are" if ids else "the loss is"
    labels = {
        "forward": f"gives {made}", "backward": f"its derivative gives {made}", "input": f"reads {made}",
        "parameter": f"reads {made}", "unknown": "its derivative can be infinite", "gradient": f"gives {made}",
    }  # fmt: skip
    if own is not None:
        labels[where] = "is of 0 by 0 where this gradient is zero"
    after = own is not None or where == "gradient"
    if origin is None:
        labels[where] = "leaves gradients that are not finite"
    related: tuple[tuple[Site, str], ...] = ()
    if maker is not None and origin is not None:
        related, origin = ((origin, f"reads {made}"),), maker.site.user
        labels[where] = f"can make {made}"
    elif makers:
        related = tuple((op.site.user, f"can make {made}") for op in makers[:SHOWN])
    told = (str(event.name), where, value) if maker is None else (maker.name, "forward", "")
    told = told if own is None else (own.name, "forward", "")
    late = late_mask(trace, event, origin) if where == "forward" and origin is not None else None
    if late is not None and origin is not None:
        return _of_late_mask(trace, event, late, origin, effect)
    wrong_fill = filled_with_infinity(trace, event) if where == "forward" else None
    if wrong_fill is not None and origin is not None:
        return _of_wrong_fill(trace, event, wrong_fill, origin, effect)
    guard = idle_guard(trace, event) if name in QUOTIENTS else None
    if guard is not None:
        related = (*related, (guard.site.user, "0 where what it guards is 0"))
    cause = origin or event.site.user
    text, edits = (
        ("", ()) if maker is not None or own is not None else _in_place_of(trace, event, name, origin)
    )
    if len(makers) > 1:
        text = _of_several(trace, makers)
    if not text:
        text = _fix(trace, event, origin, *told)
        edits = _edits(trace, event, name, origin) or (
            kept_positive(trace, origin) if maker is None and _touches_zero(event) else ()
        )
    others = [s.user for number in event.too if (s := trace.site(number)) is not None and s.user != cause]
    if others:
        related = (*related, *((site, "gives such numbers too") for site in others))
        text += f"; the same for {listed([located(trace, site) for site in others], SHOWN)}"
    if where == "backward" and name == "sqrt" and maker is None:
        roots = [op.site.user for op in roots_before(trace, event) if op.site.user not in (cause, *others)]
        related = (*related, *((root, "a root before it, of which the same holds at 0") for root in roots))
        if roots:
            places = listed([located(trace, root) for root in roots], SHOWN)
            text += f"; {places} before it needs the same where 0 occurs"
            edits = (*edits, *(edit for root in roots for edit in kept_positive(trace, root)))
    return Finding(
        message=messages[where],
        cause=cause,
        cause_label=labels[where],
        effect=event.site.user if event.site.user != cause else None,
        effect_label="gives the gradients that it is computed with"
        if after
        else f"{effect} not finite from here on",
        related=related,
        severity="" if ids else "warning",
        seen=tuple(_seen(trace, event)),
        fix=text,
        edits=edits,
        count=event.count,
        subjects=parameter_subjects(ids),
        since=since_segment(trace, event.segment),
    )


def _of_late_mask(trace: Trace, event: NonFinite, late: LateMask, reader: Site, effect: str) -> Finding:
    """A mask for scores that is put into the weights."""
    fill, softmax = late.fill.site.user, late.softmax.site.user
    return Finding(
        message=f"{code(trace, fill, '`masked_fill`')} masks weights after their softmax: what it puts in is a weight, "
        f"and {code(trace, reader, f'`{event.name}`')} makes the first number that is not finite of it",
        cause=fill,
        cause_label="writes into the weights",
        effect=event.site.user,
        effect_label=f"{effect} not finite from here on",
        related=((softmax, "makes weights that sum to one"), (reader, "multiplies by them")),
        severity="" if event.parameters else "warning",
        seen=(f"its input is the result of `softmax`; the loss was {event.loss}",),
        fix=f"mask the scores: {located(trace, fill, '`masked_fill`')} belongs before the softmax of "
        f"{located(trace, softmax, '`softmax`')}, which makes weights of 0 of them",
        count=event.count,
        subjects=parameter_subjects(event.parameters),
        since=since_segment(trace, event.segment),
    )


def _of_wrong_fill(trace: Trace, event: NonFinite, fill: WrongFill, reader: Site, effect: str) -> Finding:
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
        effect_label=f"{effect} not finite from here on",
        related=((site, "fills with it"), (reader, "the softmax of +infinity is NaN")),
        severity="" if event.parameters else "warning",
        seen=(*_seen(trace, event),),
        fix=f"fill with `float('-inf')` in place of {value}: a score of -infinity is a weight of 0",
        edits=here.replace(node, "float('-inf')") if isinstance(node, ast.expr) else (),
        count=event.count,
        subjects=parameter_subjects(event.parameters),
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
        subjects=parameter_subjects(event.parameters),
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


def _of_several(trace: Trace, makers: list[Op]) -> str:
    """What to do where several calls can have made the number, and none was looked at when it did."""
    places = listed([located(trace, op.site.user, f"`{op.name}`") for op in makers], SHOWN)
    guard = (
        "keep its divisor away from 0"
        if all(op.name in QUOTIENTS for op in makers)
        else "bound what goes into it"
    )
    return f"see by `isfinite()` which of {places} gives it, and {guard}: `clamp(min=1e-8)`, or a small constant added"


def _in_place_of(
    trace: Trace, event: NonFinite, name: str, origin: Site | None
) -> tuple[str, tuple[Edit, ...]]:
    """Another way to compute the same, where there is one that is finite."""
    name = name.removesuffix("Backward0").lower()
    if name in LOGARITHMS:
        return _logarithm(trace, event, origin)
    if name in QUOTIENTS:
        return _empty(trace, event) or _divided_before(trace, event, located(trace, origin, f"`{name}`"))
    equal = next((data for data in event.inputs if data.get("equal")), None)
    if equal is not None:
        return _equal(trace, event, origin, equal)
    return "", ()


def _empty(trace: Trace, event: NonFinite) -> tuple[str, tuple[Edit, ...]] | None:
    """A count of targets, or of what a mask lets in, that may be 0."""
    count = empty_sum(trace, event)
    if count is None:
        return None
    site = count.site.user
    node = trace.source_file(site.path).at(site)
    edits = Source(trace, site.path).behind(node, ".clamp(min=1)") if isinstance(node, ast.Call) else ()
    return (
        f"{located(trace, site, f'`{count.name}`')} counts nothing in such a batch, and what is divided is not 0"
        " there: a small constant would give a huge number, so let it be 1 at least, `.clamp(min=1)`",
        edits,
    )


def _equal(
    trace: Trace, event: NonFinite, origin: Site | None, data: dict[str, Any]
) -> tuple[str, tuple[Edit, ...]]:
    """A decomposition with equal values, whose vectors have no derivative."""
    whole, size = located(trace, origin, f"`{event.name}`"), data["elements"]
    values = "eigvalsh" if data["of"] == "eigenvalues" else "svdvals"
    node = trace.source_file(origin.path).at(origin) if origin is not None else None
    given = Source(trace, origin.path).file.operand(node.args[0]) if (
        origin is not None and isinstance(node, ast.Call) and node.args
    ) else "A"  # fmt: skip
    split = f"{given} + 1e-4 * torch.diag(torch.arange({size}.0))"
    return (
        f"the derivative of the vectors divides by the differences of the {data['of']}: split those that are equal"
        f" before {whole}, by numbers that differ (`{split}`), decompose the independent blocks apart, or use the"
        f" {data['of']} alone (`torch.linalg.{values}`)"
    ), ()


def _logarithm(trace: Trace, event: NonFinite, origin: Site | None) -> tuple[str, tuple[Edit, ...]]:
    """The one call that stays finite, for the logarithm of a softmax or of a sum of exponentials."""
    found = logarithm_of(trace, event, origin)
    if found is None:
        return "", ()
    log = found.log.site.user
    if isinstance(found, LogOfSum):
        call, edits = with_sum(trace, log)
        instead = f"take `{call}` in place of {located(trace, log)}"
        if not call:
            exponential = located(trace, found.exponential.site.user)
            instead = (
                f"take `torch.logsumexp` of the exponent of {exponential} in place of the exponential, the sum and the"
                f" logarithm in {located(trace, log)}"
            )
        why = "it takes the largest exponent out before it adds, so nothing over- or underflows"
        return f"{instead}: {why}", edits
    softmax = found.softmax.site.user
    text = (
        f"take both in one: `log_softmax` in place of the softmax of {located(trace, softmax)}, and leave the"
        f" logarithm of {located(trace, log)} out; it is finite where the softmax is 0. A `clamp` between"
        " them would pass no gradient where it holds"
    )
    return text, with_softmax(trace, softmax, log) if found.alone else ()


def _divided_before(trace: Trace, event: NonFinite, whole: str) -> tuple[str, tuple[Edit, ...]]:
    """A quotient taken before infinite numbers are put into what is divided, or with large ones in their place."""
    found = infinite_dividend(trace, event)
    if found is None:
        return "", ()
    fill = found.fill
    at = f" before {located(trace, fill.site.user)}" if fill is not None else " before they are put in"
    text = (
        f"{found.entries} entries of what is divided in {whole} are not finite, and the divisor's gradient is"
        f" their own, 0, times infinity: divide{at}, or fill with a large finite number (`-1e9`) in place of -inf"
    )
    if fill is None or fill.name not in ("masked_fill", "masked_fill_"):
        return text, ()
    return text, with_argument(trace, fill.site.user, "value", "-1e9", position=1)


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
        if data.get("of") == "divisor":
            yield f"its divisor was {numbers(data.get('min', 'not finite'))}"
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


def _of_masked_rows(trace: Trace, event: NonFinite, given: str) -> tuple[str, tuple[Edit, ...]]:
    """What to do where a softmax got rows that are -inf throughout, and the edit where a fill put them there."""
    maker = _maker(trace, event)
    keep = "or leave something in each row unmasked"
    if maker is None or maker.name not in ("masked_fill", "masked_fill_"):
        made = f", which {located(trace, maker.site.user)} gave," if maker is not None else ""
        return f"mask {given}{made} with a large finite number (-1e9) in place of -inf, {keep}", ()
    number = "-1e4" if trace.graph(event.graph).values[event.values[0]].dtype == "float16" else "-1e9"
    edits = with_argument(trace, maker.site.user, "value", number, position=1)
    filled = located(trace, maker.site.user)
    return f"fill with a large finite number (`{number}`) in place of -inf in {filled}, {keep}", edits


def _maker(trace: Trace, event: NonFinite) -> Op | None:
    """The call that made the first input."""
    if event.graph < 0 or not event.values:
        return None
    graph = trace.graph(event.graph)
    made = graph.values[event.values[0]].op if event.values[0] < len(graph.values) else None
    return graph.ops[made] if made is not None else None


def _edits(trace: Trace, event: NonFinite, name: str, origin: Site | None) -> tuple[Edit, ...]:
    if name in QUOTIENTS:
        guard = idle_guard(trace, event)
        return _zero_number(trace, event, origin)[1] if guard is None else _of_sign(trace, guard)[1]
    if name in EXPONENTIALS:
        _, made, others = exponents(trace, event)
        here = Source(trace, made.path) if made is not None and others else None
        node = here.file.at(made) if here is not None and made is not None else None
        if here is None or not isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call)):
            return ()
        return here.behind(node, f".{CLAMP}")
    masked = name in ("softmax", "log_softmax") and event.inputs and event.inputs[0].get("masked_rows")
    return _of_masked_rows(trace, event, "")[1] if masked else ()


def _zero_number(trace: Trace, event: NonFinite, origin: Site | None) -> tuple[str, tuple[Edit, ...]]:
    """What to do where a plain number was 0 that something was divided by, and the edit."""
    data = next((data for data in event.inputs if data.get("of") == "divisor"), None)
    if data is None or not data.get("zeros") or origin is None:
        return "", ()
    node = trace.source_file(origin.path).at(origin)
    number = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else None
    if number is None:
        return f"give {located(trace, origin)} a number other than 0, or leave it out where there is none", ()
    here = Source(trace, origin.path)
    text = here.file.text(number)
    bound = f"max({text}, {'1' if data['whole'] else '1e-8'})"
    plain = number.lineno == number.end_lineno and isinstance(number, (ast.Name, ast.Attribute, ast.Call))
    return (
        f"`{text}` is a plain number, and was 0: divide by `{bound}` in {located(trace, origin)}, or skip what there"
        " is nothing of",
        here.replace(number, bound) if plain else (),
    )


def _of_sign(trace: Trace, guard: Op) -> tuple[str, tuple[Edit, ...]]:
    """What to write in place of a sign that adds nothing where its input is 0, and the edit."""
    site = guard.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return "", ()
    given = node.args[0] if node.args else node.func.value
    new = f"torch.where({here.file.operand(given)} >= 0, 1.0, -1.0)"
    return new, here.replace(node, new) if "torch" in here.file.imported else ()


def _chosen_before(trace: Trace, chosen: Site) -> str:
    """What the argument of each branch becomes, where the text of a `torch.where` compares one name with a number."""
    call = trace.source_file(chosen.path).at(chosen)
    test = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 3 else None
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name):
        return ""
    name, text = test.left.id, ast.unparse(test)
    return (
        f": in the first branch `torch.where({text}, {name}, a)`, in the second `torch.where({text}, b, {name})`, in"
        f" place of `{name}`, where `{text}` holds for the number `a` and does not for `b`"
    )


def _divided(trace: Trace, event: NonFinite, place: Site | None, whole: str, before: str) -> str:
    """How to keep a divisor away from 0."""
    chooser, data = left_out_by(trace, event), event.inputs[-1] if event.inputs else {}
    if chooser is not None and before and data.get("not_finite") and not data.get("zeros"):
        chosen = chooser.site.user
        return (
            f"the divisor of {whole} is not 0: {data['not_finite']} of its numbers are not finite, at places that"
            f" {located(trace, chosen, '`where`')} leaves out, and 0 times NaN is NaN in the backward. Give each branch"
            " only numbers of its domain: put another one there before the root or logarithm that makes them"
            f"{_chosen_before(trace, chosen)}"
        )
    number = _zero_number(trace, event, place)[0]
    guard = idle_guard(trace, event)
    if number:
        return number
    if guard is not None:
        new = _of_sign(trace, guard)[0] or "one that is 1 or -1 everywhere"
        return f"{located(trace, guard.site.user)} is 0 where its input is 0, and guards nothing there: take `{new}`"
    if event.inputs and event.inputs[-1].get("min", 0) < 0 < event.inputs[-1].get("max", 0):
        return (
            f"keep the divisor of {whole} away from 0 on both sides, by a small constant with its own sign:"
            " `d + torch.where(d >= 0, 1e-8, -1e-8)`"
        )
    quotients = [located(trace, op.site.user, f"`{op.name}`") for op in divide_too(trace, event)]
    if quotients:
        return (
            f"{listed(quotients, SHOWN)} divide by the same values: keep them away from 0 before the first of these,"
            f" by `clamp(min=1e-8)` or a small constant{before}"
        )
    return f"keep the divisor of {whole} away from 0: `clamp(min=1e-8)`, or add a small constant{before}"


def _touches_zero(event: NonFinite) -> bool:
    """Whether some, but not all, of what was computed from is 0, and the rest above it."""
    data = event.inputs[0] if event.inputs else {}
    return data.get("min") == 0 and data.get("zeros", 0) < data["elements"] and not data.get("not_finite")


def _fix(trace: Trace, event: NonFinite, place: Site | None, name: str, where: str, value: str) -> str:
    name = name.removesuffix("Backward0").removesuffix("Backward1").lower()
    given = value or "the input"
    whole = located(trace, place, f"`{op_name(name)}`")
    inputs = event.inputs or ({},)
    if where == "input":
        return f"clean {given} before it is used: find those rows with `isnan()`"
    if where == "parameter" or not name:
        if (trace.program.get("command") or {}).get("sample", True):
            return "look at every step with `gradscope run --full`, to find the pass in which it begins"
        return "ask `isfinite()` of the parameters after each step, and of what is made of them: where does it begin?"
    if name in STATISTICS and inputs[0].get("elements") == 0:
        return f"leave {whole} out where nothing is selected: the mean of no elements is NaN"
    if name in STATISTICS:
        return f"{whole} needs two elements that differ: add a small constant under its root"
    where_before = (
        "; a `torch.where` must choose before the operation, not after it" if where == "backward" else ""
    )
    if name in LOGARITHMS:
        return (
            f"keep {given} above 0 in {whole}: `clamp(min=1e-8)`, or `log_softmax` and `logsigmoid` on scores"
            + where_before
        )
    overflows = name == "pow" and where == "forward" and event.made == "inf" and not inputs[0].get("zeros")
    if name in ROOTS and not overflows:
        return f"keep {given} above 0 in {whole}: add a small constant (1e-8) before the root" + where_before
    if name in QUOTIENTS:
        return _divided(trace, event, place, whole, where_before)
    if name in ("softmax", "log_softmax") and inputs[0].get("masked_rows"):
        return _of_masked_rows(trace, event, given)[0]
    if name in EXPONENTIALS or overflows:
        base, made, others = exponents(trace, event)
        if others and made is not None:
            also = " and ".join(dict.fromkeys(located(trace, site) for site in others))
            return (
                f"bound {f'`{base}`' if base else 'what goes in'} from above where it is made, "
                f"`{CLAMP}` behind {located(trace, made)}: {also} take{'s' if len(others) == 1 else ''} it too, "
                f"beside {whole}{where_before}"
            )
        return f"bound {given} from above before {whole}, with `clamp(max=…)`" + where_before
    return f"look at the range of what goes into {whole}" + where_before
