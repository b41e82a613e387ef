"""The loss, or a divergence in it, has the wrong sign: the steps make the network worse.

Why: an optimizer makes the loss smaller. A cross entropy with a minus before it, a log-probability of the right class
(or a log-likelihood as a CRF gives it) without one, or an overlap (Dice, IoU) that is to be large is made smaller all
the same: the numbers fall, often below zero without end, and the network learns to be wrong. A divergence is never
below 0; with a minus before it the loss rewards a posterior that is far from its prior. The squared difference between
what is predicted and the data, alone or in the logarithm of a density, is to be small too.

Fix: `-log_probability.mean()`, `1 - dice`, and no minus before what `nn.functional` gives.

Measured: the way from the loss to what it is made of, of which nothing else is a part, and which parameters the step
changes. Silent on: other terms beside others, scores that another network is to be misled by (all parameters that the
loss comes from are stepped with it), weights and advantages that may be negative, optimizers with `maximize=True`,
losses that another line trains the same parameters for.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.gradients import Trained, Turn, gradients, trained_alone
from gradscope.analysis.ops import (
    DIVISIONS,
    LOSSES,
    MULTIPLICATIONS,
    NEGATIONS,
    PASSING,
    REDUCTIONS,
    REVERSED_SUBTRACTIONS,
    SCALES,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.schedules import goes_down
from gradscope.analysis.senses import (
    DEEP,
    Divergence,
    Part,
    Term,
    divergences,
    is_square,
    plain_factor,
    senses,
    signed,
    site_in,
    sole_part,
)
from gradscope.analysis.words import code, located, numbers, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 3  # steps
SIZES = {"abs"}
POSITIVE = {"exp", "softplus", "sigmoid"}
NEAR = 6  # calls between a term and the error in it
# What does not grow without an end, or not in proportion: behind these a loss may be meant to fall with a distance.
BOUNDING = {
    "relu",
    "leaky_relu",
    "softplus",
    "sigmoid",
    "tanh",
    "exp",
    "log",
    "log1p",
    "clamp",
    "log_softmax",
}
LOG_SIGMOID = "log_sigmoid"
TAKING = {"__getitem__", "gather", "index_select", "take_along_dim"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x[:, :3].argmax(1)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        loss = -nn.functional.cross_entropy(model(x), y)  # cause: GS765
        loss.backward()  # effect: GS765
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x[:, :3].argmax(1)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()


@rule("GS765", name="loss-upside-down", severity="warning")
def loss_upside_down(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for one in trained_alone(trace):
        event = one.event
        if (
            event is None
            or one.steps < ENOUGH
            or not _alone(trace, one)
            or not goes_down(trace, (turn.step for turn in one.turns))
        ):
            continue
        part = _part(known, event)
        wrong = _wrong(known, part, _losses(trace, event)) if part is not None else ""
        if not _steps_all(known, event, one.turns[0]):
            continue
        if part is not None and wrong:
            yield _finding(trace, event, part, wrong)
            continue
        if part is not None and part.op.name in LOSSES:
            continue
        if (error := _error_enlarged(known, event)) is not None:
            yield _of_error(trace, known, event, *error)
            continue
        density = part is not None and part.sign > 0 and _is_density_of_data(known, part.op)
        if part is not None and density and _weighed_plainly(known, event, part):
            yield _finding(trace, event, part, "the log-probability of the data is made smaller")
            continue
        for term in divergences(known, event):
            if term.sign < 0:
                yield _of_divergence(trace, event, term)


def _alone(trace: Trace, one: Trained) -> bool:
    """Whether nothing else trains these parameters."""
    used = one.used
    return not any(fill.line != one.line and used & fill.used for fill in gradients(trace).fills)


def _steps_all(known: Paths, event: Backward, turn: Turn) -> bool:
    """Whether the step changes all that the loss comes from, but for what nothing ever changes: no other network is
    misled."""
    used = {id for ids in turn.fills.values() for id in ids}
    flow = known.flow((event.graph, root) for root in event.roots)
    behind = {
        p.id for key in flow.order if (p := known.parameter_of(key)) is not None and (p.steps or p.passes)
    }
    return bool(used) and behind <= used


def _part(known: Paths, event: Backward) -> Part | None:
    def ends(op: Op) -> bool:
        by_name = op.name in LOSSES | TAKING | {LOG_SIGMOID} or _of_a_density(op)
        return by_name or _is_overlap(known, op) or _is_share(known, op)

    return sole_part(known, event, ends)


def _of_a_density(op: Op) -> bool:
    """Whether it is a part of what one of torch's distributions does for `log_prob()`."""
    return any(frame.kind == "torch" and frame.function.endswith(".log_prob") for frame in op.site.stack)


def _is_density_of_data(known: Paths, op: Op) -> bool:
    """Whether it ends the `log_prob()` of numbers that no parameter has made: not of what the network has drawn."""
    if not _of_a_density(op):
        return False
    graph, place = known.graph(op.graph), op.site.user.span()
    inside = [one for one in graph.ops if one.site.user.span() == place and _of_a_density(one)]
    made = {index for one in inside for index in one.outputs if index not in one.inputs}
    given = {index for one in inside for index in one.inputs} - made
    others = [(graph.id, i) for i in given if not graph.values[i].requires_grad and graph.values[i].shape]
    return bool(others) and not known.fed_by(*others)


def _weighed_plainly(known: Paths, event: Backward, part: Part) -> bool:
    """Whether nothing multiplies it, up to the loss, but numbers that are written there: no reward or cost."""
    key = (event.graph, event.roots[0])
    for _ in range(DEEP):
        sources, op = known.sources(key)
        if op is part.op:
            return True
        tracked = [s for s in sources if known.value(s).requires_grad]
        weighed = op is not None and op.name in MULTIPLICATIONS and plain_factor(known.trace, op) is None
        if weighed or len(tracked) != 1:
            return False
        key = tracked[0]
    return False


def _error_enlarged(known: Paths, event: Backward) -> tuple[Op, Term] | None:
    """The squared or absolute difference of what is trained and data that a loss falls with, without an end: through
    sums and logarithms of sums of exponentials only, and with no other error that it rises with."""
    found: tuple[Op, Term] | None = None
    for term in signed(known, event, _ends):
        sources, op = known.sources(term.key)
        tracked = [source for source in sources if known.value(source).requires_grad]
        if op is None or not tracked or op.name == "log_softmax":  # which is never above 0
            continue
        error, sign = _error_in(known, op, term.sign)
        if error is not None and sign < 0:
            found = found or ((error, term) if _from_data(known, error) else None)
        elif error is not None or (_ends(op) and term.sign > 0):
            return None
        elif not _ends(op) and senses(known.trace, op, tracked) is None:
            return None
        elif op.name in MULTIPLICATIONS and plain_factor(known.trace, op) is None:
            return None  # by a number that may be a reward or a cost
    return found


def _error_in(known: Paths, op: Op, sign: int) -> tuple[Op | None, int]:
    """The square or the size that a call gives, divided by a width perhaps, and which way the loss goes with it."""
    for _ in range(NEAR):
        if is_square(op) or op.name in SIZES:
            return op, sign
        if op.name in NEGATIONS:
            sign = -sign
        elif op.name in DIVISIONS and len(op.inputs) == 2:
            width = known.maker_behind((op.graph, op.inputs[1]), SCALES | PASSING)
            if width is None or not (width.name in POSITIVE or is_square(width)):
                return None, sign
        elif op.name not in PASSING:
            return None, sign
        made = known.maker((op.graph, op.inputs[0]))
        if made is None or not made.inputs:
            return None, sign
        op = made
    return None, sign


def _ends(op: Op) -> bool:
    return is_square(op) or op.name in SIZES | BOUNDING | LOSSES | TAKING | {LOG_SIGMOID}


def _from_data(known: Paths, op: Op) -> bool:
    """Whether it is taken of a difference between what is trained and what no parameter has made."""
    key = (op.graph, op.inputs[0])
    for _ in range(DEEP):
        sources, made = known.sources(key)
        tracked = [s for s in sources if known.value(s).requires_grad]
        if made is not None and made.name in SUBTRACTIONS and len(made.inputs) == 2 and len(sources) == 2:
            others = [s for s in sources if s not in tracked]
            return len(others) == 1 and bool(known.value(others[0]).shape) and not known.fed_by(*others)
        if made is not None and made.name not in SCALES | PASSING:
            return False
        if made is not None and len(tracked) > 1:  # a difference that is divided by a width
            first = (made.graph, made.inputs[0])
            tracked = [first] if first in tracked else tracked[:1]
        if len(tracked) != 1:
            return False
        key = tracked[0]
    return False


def _losses(trace: Trace, event: Backward) -> list[float]:
    return [loss for _, loss in trace.numbers("loss", sites={event.site.id})]


def _wrong(known: Paths, part: Part, losses: list[float]) -> str:
    """What is wrong with its sign; "" where nothing is."""
    if part.op.name in LOSSES and part.sign < 0:
        return f"`{part.op.name}` is made larger"
    if part.sign > 0 and part.op.name == LOG_SIGMOID:
        return "the logarithm of a probability is made smaller"
    if part.sign > 0 and _of_log_softmax(known, part.op):
        return "the log-probability of the targets is made smaller"
    if part.sign > 0 and _is_overlap(known, part.op):
        return "the overlap is made smaller"
    if part.sign > 0 and max(losses, default=0) < 0 and _is_share(known, _averaged(known, part.op)):
        return "the log-likelihood, which is never above 0, is made smaller"
    return ""


def _averaged(known: Paths, op: Op) -> Op:
    """What is summed up in a value that is divided by a number of places."""
    while op.name in DIVISIONS | REDUCTIONS | PASSING and op.inputs:
        maker = known.maker((op.graph, op.inputs[0]))
        if maker is None:
            break
        op = maker
    return op


def _is_share(known: Paths, op: Op) -> bool:
    """Whether the logarithm of a sum of exponentials is taken from a score that is made of single entries of what is
    summed there, as the score of one path from those of all."""
    if op.name not in SUBTRACTIONS - REVERSED_SUBTRACTIONS or len(op.inputs) != 2:
        return False
    values = known.graph(op.graph).values
    whole = known.maker_behind((op.graph, op.inputs[1]), PASSING | {"where"})
    if whole is None or whole.name != "logsumexp" or not all(values[i].requires_grad for i in op.inputs):
        return False
    summed = known.flow([(whole.graph, whole.inputs[0])]).order
    taken = [
        maker
        for key in known.flow([(op.graph, op.inputs[0])]).order
        if (maker := known.maker(key)) is not None and maker.name in TAKING and len(maker.inputs) > 1
        if known.graph(maker.graph).values[maker.inputs[0]].requires_grad
    ]
    return bool(taken) and all((maker.graph, maker.inputs[0]) in summed for maker in taken)


def _of_log_softmax(known: Paths, op: Op) -> bool:
    """Whether it takes single entries out of log-probabilities: those of the targets."""
    if op.name not in TAKING or len(op.inputs) < 2:
        return False
    maker = known.maker((op.graph, op.inputs[0]))
    return maker is not None and maker.name == "log_softmax"


def _is_overlap(known: Paths, op: Op) -> bool:
    """Whether it divides a sum of products of prediction and target by a sum of both: Dice or IoU. (A masked mean
    has the mask alone below.)"""
    if op.name not in DIVISIONS or len(op.inputs) != 2:
        return False
    graph = known.graph(op.graph)
    top, bottom = ((graph.id, i) for i in op.inputs)
    product = _summed(known, top)
    if product is None or product.name not in MULTIPLICATIONS or len(product.inputs) != 2:
        return False
    values = known.graph(product.graph).values
    tracked = [index for index in product.inputs if values[index].requires_grad]
    if len(tracked) != 1 or not known.graph(graph.id).values[bottom[1]].requires_grad:
        return False
    below = known.flow([bottom])
    return all((product.graph, index) in below.order for index in product.inputs) and any(
        known.graph(graph).values[index].requires_grad
        for (graph, index), op in below.feeds.get((product.graph, tracked[0]), ())
        if op is not product
    )


def _summed(known: Paths, key: Key) -> Op | None:
    """What is summed in a value, behind factors and constants that are added."""
    for _ in range(DEEP):
        sources, op = known.sources(key)
        tracked = [s for s in sources if known.value(s).requires_grad]
        if len(tracked) != 1:
            return None
        key = tracked[0]
        if op is not None and op.name == "sum":
            return known.maker(key)
    return None


def _finding(trace: Trace, event: Backward, part: Part, wrong: str) -> Finding:
    own = part.op.site.user
    cause = part.turned.site.user if part.turned is not None and part.sign < 0 else own
    losses = _losses(trace, event)
    fix, edits = _turned(trace, event, part)
    return Finding(
        message=f"the loss has the wrong sign: {wrong} by every step",
        cause=cause,
        cause_label="turns it round" if part.sign < 0 else "is to be large, and is made smaller",
        effect=event.site.user,
        effect_label="goes down this loss",
        related=((own, "is to be small"),) if own.span() != cause.span() and part.sign < 0 else (),
        seen=(
            f"the loss is made of {code(trace, own, f'`{part.op.name}`')} alone and"
            f" {'falls' if part.sign < 0 else 'rises'} with it"
            + (f"; it went from {numbers(losses[0])} to {numbers(losses[-1])}" if losses else ""),
        ),
        fix=fix,
        edits=edits,
        count=event.count,
        subjects=parameter_subjects(event.filled),
    )


def _of_error(trace: Trace, known: Paths, event: Backward, op: Op, term: Term) -> Finding:
    root = known.maker((event.graph, event.roots[0]))
    own, losses = op.site.user, _losses(trace, event)
    site = root.site.user if root is not None else own
    if term.turned is not None and term.turned.name in NEGATIONS:
        minus = term.turned.site.user
        site = minus if isinstance(trace.source_file(minus.path).at(minus), ast.UnaryOp) else site
    here = Source(trace, site.path)
    node = here.file.at(site)
    fix = f"turn the sign of {located(trace, site)}"
    edits: Edits = ()
    if isinstance(node, ast.UnaryOp):
        fix, edits = (
            f"leave the minus of {located(trace, site)} out",
            here.replace(node, here.file.text(node.operand)),
        )
    elif isinstance(node, ast.expr) and site.function == event.site.user.function:
        text = f"-{here.file.operand(node)}"
        fix = f"write `{' '.join(text.split())}` in place of {located(trace, site)}"
        edits = here.replace(node, text)
    what = "square" if is_square(op) else "size"
    return Finding(
        message=f"the loss has the wrong sign: the {what} of the difference to the data is made larger by every step",
        cause=site,
        cause_label="falls as the difference grows",
        effect=event.site.user,
        effect_label="goes down this loss",
        related=((own, "takes the difference to the data"),) if own.span() != site.span() else (),
        seen=(
            f"the loss falls with the {what} in {code(trace, own, f'`{op.name}`')}, of a difference to data, and has"
            " no term that rises with one"
            + (f"; it went from {numbers(losses[0])} to {numbers(losses[-1])}" if losses else ""),
        ),
        fix=fix,
        edits=edits,
        count=event.count,
        subjects=parameter_subjects(event.filled),
    )


def _of_divergence(trace: Trace, event: Backward, term: Divergence) -> Finding:
    own = term.op.site.user
    cause = term.turned.site.user if term.turned is not None else own
    here = Source(trace, cause.path)
    node = here.file.at(cause)
    fix = f"turn the sign of the divergence in {located(trace, cause)}"
    edits: Edits = ()
    if isinstance(node, ast.UnaryOp) and term.turned is not None and term.turned.name in NEGATIONS:
        fix = f"leave the minus of {located(trace, cause)} out"
        edits = here.replace(node, here.file.text(node.operand))
    return Finding(
        message=f"the loss falls with the divergence of {term.form}, which is to be small: every step makes it larger",
        cause=cause,
        cause_label="turns the divergence round",
        effect=event.site.user,
        effect_label="goes down this loss",
        related=((own, "part of the divergence"),) if own.location() != cause.location() else (),
        seen=(
            f"the divergence of {term.form} is never below 0, and the loss falls with it: its part"
            f" {code(trace, own, f'`{term.op.name}`')} goes into the loss that way round",
        ),
        fix=fix,
        edits=edits,
        count=event.count,
        subjects=parameter_subjects(event.filled),
    )


def _turned(trace: Trace, event: Backward, part: Part) -> tuple[str, Edits]:
    """What to write, and the edits."""
    if part.sign < 0:
        site = part.turned.site.user if part.turned is not None else part.op.site.user
        here = Source(trace, site.path)
        node = here.file.at(site)
        where = located(trace, site, "this")
        if isinstance(node, ast.UnaryOp) and part.turned is not None and part.turned.name in NEGATIONS:
            text = here.file.text(node.operand)
            return f"leave the minus of {where} out", here.replace(node, text)
        return f"leave out what turns it round in {where}", ()
    own = site_in(part, event)  # a function that gives it may be a metric elsewhere
    here = Source(trace, own.path)
    node = here.file.at(own)
    before = "1 - " if _is_overlap(paths(trace), part.op) else "-"
    statement = here.file.parent.get(id(node))
    if isinstance(statement, ast.Assign) and any(isinstance(one, ast.Tuple) for one in statement.targets):
        own = event.site.user  # it is one of several: turned where the pass begins
        here = Source(trace, own.path)
        call = here.file.at(own)
        method = call.func if isinstance(call, ast.Call) else None
        node = method.value if isinstance(method, ast.Attribute) and method.attr == "backward" else None
        if isinstance(node, ast.expr):
            text = f"({before}{here.file.operand(node)})"
            return f"write `{text}.backward()` in {located(trace, own)}", here.replace(node, text)
    if not isinstance(node, ast.expr):
        return f"turn the sign of {located(trace, own)}", ()
    text = f"{before}{here.file.operand(node)}"
    return f"write `{' '.join(text.split())}` in place of {located(trace, own)}", here.replace(node, text)
