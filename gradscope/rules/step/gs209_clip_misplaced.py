"""Gradients are clipped where it does nothing, or to the wrong size.

Why: clipping changes `.grad` as it stands at that moment. After the step it is too late,
before `backward()` there is nothing yet; between the passes of an accumulation it clips
partial sums; and before `scaler.unscale_()` the gradients are still multiplied by the scale,
so that the limit is thousands of times too low. With two optimizers each clip needs the
parameters of the step that comes after it; where each step comes after the clip of what the other holds, the
optimizers may hold each other's modules. A generator can be clipped once only: after
that it is empty.

Fix: clip once, after the last `backward()` (and `scaler.unscale_(optimizer)`) and before
`optimizer.step()`, and hand over `model.parameters()` anew each time.

Whether the learning rate is too large is not known while no gradient is clipped, so GS757 is not told then.

Silent on: a limit of a million or more, which only measures the norm; per-sample clipping
whose gradients are collected elsewhere; disabled scalers; gradients that are not finite.
"""

import ast
import math
from collections.abc import Iterator

from gradscope.analysis.clips import Clipped, Clips, Exchange, clips
from gradscope.analysis.delicate import grown_until_it_broke
from gradscope.analysis.loop import in_order
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.since import since_stretch
from gradscope.analysis.step_conditions import without_remainder
from gradscope.analysis.terms import terms
from gradscope.analysis.text import site_of
from gradscope.analysis.words import (
    code,
    located,
    method,
    numbers,
    optimizer_name,
    parameter_subjects,
    plural,
    user,
    where,
)
from gradscope.events import Backward, Clip, NonFinite, Scaler, Step
from gradscope.fixes.calls import argument_as, first_argument
from gradscope.fixes.given import listed_once
from gradscope.fixes.source import Edits, Source, receiver
from gradscope.fixes.statements import beside, line_before, moved
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace

SELDOM = 2  # times as many steps as clips, at least


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        opt.step()  # effect: GS209
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause: GS209


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    plain = torch.amp.GradScaler("cpu", enabled=False)
    for _ in range(3):
        opt.zero_grad()
        scaler.scale(model(torch.randn(8, 3)).pow(2).mean()).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
    for _ in range(3):
        opt.zero_grad()
        plain.scale(model(torch.randn(8, 3)).pow(2).mean()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        plain.step(opt)
        plain.update()


@rule(
    "GS209", name="clip-misplaced", severity="warning", over=("GS240", "GS605", "GS701", "GS757"), needs=Clip
)
def clip_misplaced(trace: Trace) -> Iterator[Finding]:
    run = clips(trace)
    exchanged = list(run.exchanges(trace))
    yield from (_exchanged(trace, one) for one in exchanged)
    told = {clip.site for one in exchanged for clip in one.clips}
    for clip in run.clips.values():
        if clip.site in told:
            continue
        step = run.step_of(clip.parameters)
        if step is None:
            if (emptied := _emptied_by(trace, clip)) is not None:
                yield _too_late(trace, clip, emptied)
            continue
        if clip.empty and clip.empty >= clip.times - 1:
            yield _empty(trace, run, clip, step)
        elif clip.times >= 2 and (other := _of_another(run, clip)) is not None:
            yield _others(trace, run, clip, other)
        elif not clip.met and clip.times >= 2 and clip.idle < clip.times:
            yield _in_vain(trace, run, clip, step)
        elif clip.scaled and _by_scaler(trace, step):
            yield _scaled(trace, run, clip, step)
        elif sum(clip.midway.values()) >= 2 and not _broken(trace, clip):
            yield _midway(trace, run, clip, step)
        elif (outside := _steps_outside(trace, clip, step)) is not None:
            yield _seldom(trace, clip, step, *outside)


def _steps_outside(trace: Trace, clip: Clipped, step: Site) -> tuple[ast.If, list[ast.stmt], int] | None:
    """The condition that lets the clip run in each n-th round, the step and what follows from it behind that, and how
    many steps there were."""
    file = trace.source_file(clip.site.path)
    line, own = file.statement(clip.site), file.statement(step) if step.path == clip.site.path else None
    block = file.parent.get(id(line)) if line is not None else None
    if not isinstance(block, ast.If) or line not in block.body or block.orelse or own is None:
        return None
    steps = sum(event.count for event in trace.of(Step) if event.site.user == step)
    if (found := without_remainder(block.test)) is None or not found[1] or steps < SELDOM * clip.times:
        return None
    behind = file.behind(block)
    if not behind or behind[0] is not own:
        return None
    cleared = [
        one for one in behind[1:2] if isinstance(one, ast.Expr) and method_name(one.value) == "zero_grad"
    ]
    return block, [own, *cleared], steps


def _seldom(
    trace: Trace, clip: Clipped, step: Site, block: ast.If, outside: list[ast.stmt], steps: int
) -> Finding:
    here = Source(trace, clip.site.path)
    asked = site_of(clip.site.path, clip.site.function, block.test)
    return Finding(
        message=f"{plural(steps, 'step')} come with {plural(clip.times, 'clip')}: the step stands outside of the"
        " condition that its clipping stands in",
        cause=step,
        cause_label="runs in every round, mostly with gradients that nothing has clipped",
        effect=clip.site,
        effect_label=f"runs in {clip.times} of {steps:,} rounds",
        related=((asked, "lets the clip run"),),
        seen=(f"{plural(clip.times, 'call')} of the clip, {plural(steps, 'step')} of its optimizer",),
        why="a count that is asked for its remainder is how gradients of several batches are added together: clip, step"
        " and clearing belong to each n-th batch. A step outside of it uses each batch's gradients by themselves,"
        " and nothing is added up.",
        fix=f"indent {located(trace, step)}{' and the clearing behind it' if len(outside) > 1 else ''} into the"
        f" condition of {located(trace, asked)}; or, where each batch is to have its step, clip in each of them, too",
        edits=here.together_under(outside, ""),
        subjects=_subjects(trace, clip, held=True),
    )


def _broken(trace: Trace, clip: Clipped) -> bool:
    """Whether the gradients that were clipped are not finite in the end: a program leaves its step out then, and what
    is added to them is another matter."""
    norms = [norm for id in clip.parameters for _, norm in trace.numbers("grad_norm", id)[-1:]]
    return any(not math.isfinite(norm) for norm in norms)


def _by_scaler(trace: Trace, step: Site) -> bool:
    return any(e.call == "step" and e.site.user == step for e in trace.of(Scaler))


def _subjects(trace: Trace, clip: Clipped, *, held: bool = False) -> frozenset[object]:
    """held: what it clips is clipped, if to the wrong size. Numbers that are not finite are another matter then, and
    where they did not get so by growing."""
    explains = not trace.of(NonFinite) if held else grown_until_it_broke(trace)
    return parameter_subjects(clip.parameters) if explains else frozenset()


def _empty(trace: Trace, run: Clips, clip: Clipped, step: Site) -> Finding:
    clipping = code(trace, clip.site, "the clip")
    name, made, as_list = listed_once(trace, clip.site)
    return Finding(
        message=f"{clipping} gets no parameter: nothing is clipped",
        cause=clip.site,
        cause_label="an empty sequence: a generator that was used up before",
        effect=step,
        effect_label="steps with gradients that are not clipped",
        seen=(f"{clip.empty} of {plural(clip.times, 'call')} got no parameter",),
        fix=f"make it a list once: `{name} = list({made})`"
        if made
        else "hand over `.parameters()` itself each time",
        count=clip.empty,
        edits=as_list,
        subjects=_subjects(trace, clip),
        since=since_stretch(trace, clip.first["no parameter"]),
    )


def _emptied_by(trace: Trace, clip: Clipped) -> Backward | None:
    """The pass that went into all these parameters and left none of them a gradient, where that is so of every
    pass and the clip never met one: what runs inside of the pass has used and cleared them."""
    if (
        clip.times < 2
        or set(clip.states) != {"none"}
        or not all(
            trace.parameter(id).optimizers and not trace.parameter(id).passes for id in clip.parameters
        )
    ):
        return None
    known = paths(trace)
    for event in trace.of(Backward):
        if event.call == "backward" and event.graph >= 0 and not event.inputs and not event.filled:
            reached = known.reach([(event.graph, root) for root in event.roots]).parameters
            if clip.parameters and clip.parameters <= reached:
                return event
    return None


def _too_late(trace: Trace, clip: Clipped, emptied: Backward) -> Finding:
    clipping, backward = code(trace, clip.site, "the clip"), located(trace, emptied.site.user, "the pass")
    return Finding(
        message=f"{clipping} finds no gradient: hooks have used and cleared them all while the pass ran",
        cause=clip.site,
        cause_label="every `.grad` is None here, nothing is clipped",
        effect=emptied.site.user,
        effect_label="goes back to all these parameters, and leaves none of them a gradient",
        related=tuple((site, "puts the hook there") for site in _hooks_put(trace)),
        seen=(
            f"0 of {plural(clip.times, 'call')} met a gradient, though {backward} goes back to all"
            f" {plural(len(clip.parameters), 'parameter')}",
        ),
        fix=f"make the steps after {located(trace, clip.site, 'the clip')}, and not in the hook that runs as soon as a"
        " gradient is there: a norm over all parameters is known only when the pass is over. Or clip each gradient by"
        " itself in the hook",
        count=clip.times,
        subjects=_subjects(trace, clip),
        since=since_stretch(trace, clip.first["nothing new"]),
    )


def _hooks_put(trace: Trace) -> list[Site]:
    """The lines that ask to be called when a gradient is there."""
    return [
        Site(-1, path, *file.span(node), "", "user")
        for path in trace.sources
        for file in [trace.source_file(path)]
        for node in file.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "register_post_accumulate_grad_hook"
    ]


def _in_vain(trace: Trace, run: Clips, clip: Clipped, step: Site) -> Finding:
    late = 2 * clip.states["used"] > clip.times  # whatever else has no gradient in any call
    clipping, stepping = code(trace, clip.site, "the clip"), code(trace, step, "the step")
    move = f"move {located(trace, clip.site, 'it')} between `backward()` and {stepping} ({where(step)})"
    return Finding(
        message=f"{clipping} {'comes after the step' if late else 'comes before `backward()`'}:"
        " no step ever uses a clipped gradient",
        cause=clip.site,
        cause_label="the gradients here were used already" if late else "there is no gradient here yet",
        effect=step,
        effect_label="steps with gradients that are not clipped",
        seen=(
            f"0 of {plural(clip.times, 'call')} met a gradient that a step had still to use",
            *_unheld(trace, clip),
        ),
        fix=move,
        count=clip.times,
        edits=moved(trace, clip.site, step, conditional=True),
        subjects=_subjects(trace, clip),
        since=since_stretch(trace, clip.first["nothing new"]),
    )


def _unheld(trace: Trace, clip: Clipped) -> Iterator[str]:
    """How far the loss went, where the numbers of the run grew until they were not finite."""
    losses = [loss for _, loss in trace.numbers("loss")]
    end = next((i for i, loss in enumerate(losses) if not math.isfinite(loss)), 0)
    if end and trace.of(NonFinite) and grown_until_it_broke(trace):
        limit = f" to {clip.limit:g}" if clip.limit is not None else ""
        yield (
            f"the loss went from {numbers(losses[0])} to {numbers(losses[end - 1])}, and was {losses[end]:g} then:"
            f" nothing held the gradients{limit}"
        )


def _of_another(run: Clips, clip: Clipped) -> Site | None:
    """The line of the step that always comes next and uses other gradients, none of them ever clipped, where what
    this clip meets is always cleared, or these parameters have their own clip before their own step."""
    steps = clip.cleared
    if not clip.met:
        owns = any(other.met and other.parameters == clip.parameters for other in run.clips.values())
        steps = clip.others if owns else steps
    if len(steps) != 1:
        return None
    ((step, count),) = steps.items()
    clipped = {id for other in run.clips.values() if other.met for id in other.parameters}
    return step if count >= clip.times - 1 and not clipped & run.steps[step] else None


def _others(trace: Trace, run: Clips, clip: Clipped, step: Site) -> Finding:
    clipping, stepping = code(trace, clip.site, "the clip"), code(trace, step, "the step")
    held = run.holders[step]
    made = trace.optimizers[held].site if held in trace.optimizers else None
    given = first_argument(trace, made, clip.site)
    name = receiver(trace, step, "step") if held in trace.optimizers and not given else ""
    if name and beside(trace, clip.site, step) and len(trace.optimizers[held].groups) == 1:
        given = f'{name}.param_groups[0]["params"]'
    cleared = clip.cleared[step]
    what = "are cleared before a step uses them" if cleared else "were used already"
    met = (
        f"what {cleared} of {plural(clip.times, 'call')} met was cleared before any step used it"
        if cleared
        else f"0 of {plural(clip.times, 'call')} met a gradient that a step had still to use"
    )
    return Finding(
        message=f"{clipping} clips gradients that {what}, and those of {stepping}, which comes next, are never"
        " clipped",
        cause=clip.site,
        cause_label="the parameters of another optimizer" + ("" if cleared else ", which has stepped"),
        effect=step,
        effect_label="steps with gradients that are not clipped",
        related=tuple(
            (other.site, "clips the same parameters, before their own step")
            for other in run.clips.values()
            if other.site.location() != clip.site.location()
            and other.met
            and other.parameters == clip.parameters
        ),
        seen=(f"{met}; {stepping} shares no parameter with them",),
        fix=f"hand over the parameters that {stepping} steps" + (f": `{given}`" if given else ""),
        count=cleared or clip.times,
        edits=argument_as(trace, clip.site, "parameters", 0, given) if given else (),
        subjects=_subjects(trace, clip) | parameter_subjects(run.steps[step]),
        since=since_stretch(trace, clip.first["nothing new" if not clip.met else "new"]),
    )


def _exchanged(trace: Trace, found: Exchange) -> Finding:
    """Either the optimizers hold each other's parameters, or the clips stand in each other's place: the former where
    a term of a loss teaches only what its clip takes, and no other step learns it."""
    unlearnt = _unlearnt(trace, found)
    return _clips_exchanged(trace, found) if unlearnt is None else _held_by_each_other(trace, found, unlearnt)


def _clips_exchanged(trace: Trace, found: Exchange) -> Finding:
    clipping = [code(trace, clip.site, "the clip") for clip in found.clips]
    first, second = (optimizer_name(trace, number) for number in found.optimizers)
    return Finding(
        message=f"{clipping[0]} and {clipping[1]} each clip what the other's step uses: no step uses a clipped"
        " gradient",
        cause=found.clips[0].site,
        cause_label="clips what the other step uses",
        effect=found.steps[0],
        effect_label="steps with gradients that are not clipped",
        related=(
            (found.clips[1].site, "clips what the first one's step uses"),
            (found.steps[1], "steps with gradients that are not clipped, too"),
        ),
        seen=_cleared_unused(trace, found),
        fix=f"let {clipping[0]} and {clipping[1]} change places; or, where it is these that are right, give {first} and"
        f" {second} each other's parameters",
        count=found.clips[0].lost,
        subjects=_of_both(trace, found),
    )


def _held_by_each_other(trace: Trace, found: Exchange, unlearnt: Op) -> Finding:
    first, second = (optimizer_name(trace, number) for number in found.optimizers)
    made = [trace.optimizers[number].site for number in found.optimizers]
    given = [first_argument(trace, site, found.clips[0].site) for site in made]
    stepping = " and ".join(code(trace, step, "the step") for step in found.steps)
    fix = f"give {first} and {second} each other's parameters"
    edits: Edits = ()
    if all(given):
        fix = f"give {first} `{given[1]}`, and {second} `{given[0]}`"
        for site, text in zip(made, reversed(given), strict=True):
            edits += argument_as(trace, user(site), "params", 0, text)
    term = located(trace, unlearnt.site.user, "a term of a loss")
    related = (
        (user(made[1]), "and this one holds what the first one's clip takes"),
        (found.steps[0], "comes next, and uses none of what was clipped"),
        (found.steps[1], "nor does this one"),
    )
    return Finding(
        message=f"{first} and {second} hold each other's parameters: {stepping} use nothing of what was clipped",
        cause=user(made[0]) or found.steps[0],
        cause_label="holds what the other one's clip takes",
        effect=found.clips[0].site,
        effect_label="clips gradients that are cleared before a step uses them",
        related=tuple((site, label) for site, label in related if site is not None),
        seen=(
            *_cleared_unused(trace, found),
            f"{term} has a gradient for nothing that the step behind its pass holds, and no other step learns it",
        ),
        fix=fix,
        count=found.clips[0].lost,
        edits=edits,
        subjects=_of_both(trace, found),
    )


def _cleared_unused(trace: Trace, found: Exchange) -> tuple[str, ...]:
    return tuple(
        f"what {code(trace, clip.site, 'the clip')} met was cleared before any step used it, in {clip.lost} of"
        f" {plural(clip.times, 'call')}"
        for clip in found.clips
    )


def _of_both(trace: Trace, found: Exchange) -> frozenset[object]:
    return parameter_subjects(id for n in found.optimizers for id in trace.optimizers[n].parameters)


def _unlearnt(trace: Trace, found: Exchange) -> Op | None:
    """What made a term of a loss that reaches parameters of the clip before a step, none of the step's, while the pass
    before the other step has no term of that line."""
    known = paths(trace)
    held = [set(trace.optimizers[number].parameters) for number in found.optimizers]
    parts = [_terms_before(trace, known, clip) for clip in found.clips]
    for i, here in enumerate(parts):
        elsewhere = {op.site.user.location() for op, _ in parts[1 - i]}
        for op, reached in here:
            if reached & held[1 - i] and not reached & held[i] and parts[1 - i]:
                if op.site.user.location() not in elsewhere:
                    return op
    return None


def _terms_before(trace: Trace, known: Paths, clip: Clipped) -> list[tuple[Op, frozenset[int]]]:
    """(what made it, the parameters that it teaches) of each term of the loss whose pass comes before a clip."""
    last: list[Key] = []
    for _, event in in_order(trace):
        if isinstance(event, Backward) and event.graph >= 0:
            last = [(event.graph, root) for root in event.roots]
        if isinstance(event, Clip) and event.site.user == clip.site and last:
            break
    parts = [(known.maker(key), key) for root in last for key in terms(known, root)]
    return [(op, known.reach([key]).parameters) for op, key in parts if op is not None]


def _scaled(trace: Trace, run: Clips, clip: Clipped, step: Site) -> Finding:
    clipping = code(trace, clip.site, "the clip")
    late = clip.unscaled.most_common(1)[0][0] if clip.unscaled else None
    dividing = late[1].user if late is not None else step
    scale = f" by {clip.scale:g}" if clip.scale is not None else ""
    seen = [f"{clip.scaled} of {plural(clip.times, 'call')} met scaled gradients"]
    if clip.scale is not None and clip.limit is not None:
        seen.append(
            f"the limit {clip.limit:g} acts as one of {clip.limit / clip.scale:.3g}: {code(trace, dividing)} divides"
            f" what was clipped by the scale {clip.scale:g}"
        )
    fix, edits = _unscaled_sooner(trace, *late) if late else _unscaled_before(trace, run, clip, step)
    return Finding(
        message=f"{clipping} clips gradients that are still multiplied{scale}",
        cause=clip.site,
        cause_label="before the gradients are unscaled",
        effect=dividing,
        effect_label="takes the scale out, after the clip",
        seen=tuple(seen),
        fix=fix,
        count=clip.scaled,
        edits=edits,
        subjects=_subjects(trace, clip, held=True),
        since=since_stretch(trace, clip.first["scaled"]),
    )


def _unscaled_before(trace: Trace, run: Clips, clip: Clipped, step: Site) -> tuple[str, Edits]:
    unscale = method(trace, run.holders.get(step), "step").removesuffix(".step()`").lstrip("`")
    unscaling = f"{_scaler_name(trace, step)}.unscale_({unscale})"
    plain = beside(trace, clip.site, step) and unscale.replace(".", "").isidentifier()
    return (
        f"call `{unscaling}` before {code(trace, clip.site, 'the clip')} ({where(clip.site)})",
        line_before(trace, clip.site, unscaling) if plain else (),
    )


def _unscaled_sooner(trace: Trace, clipped: Site, unscaled: Site) -> tuple[str, Edits]:
    """A second `unscale_` before the step would be an error: the one that is there belongs before the clip."""
    pairs = zip(clipped.stack, unscaled.stack, strict=False)
    clip, unscale = next(((a, b) for a, b in pairs if a.span() != b.span()), (clipped.user, unscaled.user))
    if clip.kind != "user" or unscale.kind != "user":
        clip, unscale = clipped.user, unscaled.user
    return (
        f"move {located(trace, unscale)} before {located(trace, clip)}: the gradients are unscaled once for a step",
        moved(trace, unscale, clip, conditional=True),
    )


def _scaler_name(trace: Trace, step: Site) -> str:
    text = code(trace, step).strip("`")
    return text.partition(".step(")[0] if ".step(" in text else "scaler"


def _midway(trace: Trace, run: Clips, clip: Clipped, step: Site) -> Finding:
    clipping, stepping = code(trace, clip.site, "the clip"), code(trace, step, "the step")
    adding, count = clip.midway.most_common(1)[0]
    return Finding(
        message=f"{clipping} clips partial sums: more passes add to these gradients before the step",
        cause=clip.site,
        cause_label="clips at every backward of an accumulation",
        effect=adding,
        effect_label="adds to gradients that were clipped already",
        seen=(f"{count} passes added to clipped gradients that no step had used",),
        fix=f"clip once, right before {stepping} ({where(step)})",
        count=count,
        edits=moved(trace, clip.site, step, conditional=True),
        subjects=_subjects(trace, clip, held=True),
        since=since_stretch(trace, clip.first["midway"]),
    )
