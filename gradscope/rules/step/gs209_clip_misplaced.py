"""Gradients are clipped where it does nothing, or to the wrong size.

Why: clipping changes `.grad` as it stands at that moment. After the step it is too late,
before `backward()` there is nothing yet; between the passes of an accumulation it clips
partial sums; and before `scaler.unscale_()` the gradients are still multiplied by the scale,
so that the limit is thousands of times too low. A generator can be clipped once only: after
that it is empty.

Fix: clip once, after the last `backward()` (and `scaler.unscale_(optimizer)`) and before
`optimizer.step()`, and hand over `model.parameters()` anew each time.

Silent on: a limit of a million or more, which only measures the norm; per-sample clipping
whose gradients are collected elsewhere; disabled scalers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gradscope.analysis.loop import timeline
from gradscope.analysis.scales import Scales
from gradscope.analysis.since import since_stretch
from gradscope.analysis.words import code, located, method, parameter_subjects, plural, where
from gradscope.events import Backward, Clip, Scaler, Step, ZeroGrad
from gradscope.fixes.calls import beside, line_before, listed_once, moved
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

MEASURES = 1e6  # a limit that only wants to know the norm


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


@dataclass
class _Clip:
    """What one line that clips met."""

    site: Site
    times: int = 0
    met: int = 0  # times that it found a new gradient which a step can use
    empty: int = 0  # times without any parameter
    states: Counter[str] = field(default_factory=Counter)
    parameters: set[int] = field(default_factory=set)
    midway: Counter[Site] = field(default_factory=Counter)  # passes that then added to it
    scaled: int = 0
    first: dict[str, int] = field(default_factory=dict)  # what it met → the first stretch in which it did
    scale: float | None = None
    limit: float | None = None


class _Run:
    """Walks the run once."""

    def __init__(self, trace: Trace):
        self.clips: dict[Site, _Clip] = {}
        self.steps: dict[Site, set[int]] = {}  # line of a step → parameters whose new gradient it used
        self.holders: dict[Site, int] = {}
        self.pending: dict[int, _Clip] = {}  # parameter → the clip of the gradient that waits for a step
        self.scales = Scales(trace)
        self.stepped = {p.id for p in trace.parameters if p.steps}
        for self.stretch, (repeat, events) in enumerate(timeline(trace)):
            for event in events:
                if isinstance(event, Backward):
                    self._backward(event, repeat)
                elif isinstance(event, Clip):
                    self._clip(event, repeat)
                elif isinstance(event, Step):
                    self._step(event)
                elif isinstance(event, ZeroGrad):
                    self._gone(event.parameters)
                self.scales.follow(event)

    def _backward(self, event: Backward, repeat: int) -> None:
        for parameter in event.filled:
            clip = self.pending.pop(parameter, None)
            if clip is not None:
                clip.midway[event.site.user] += repeat if parameter == min(clip.parameters) else 0
                clip.first.setdefault("midway", self.stretch)

    def _clip(self, event: Clip, repeat: int) -> None:
        limit = event.limit
        if limit is not None and float(limit) >= MEASURES:  # infinity is stored as its name
            return
        clip = self.clips.setdefault(event.site.user, _Clip(event.site.user))
        new = event.fresh & self.stepped
        clip.times += repeat
        clip.limit = limit
        clip.met += repeat if new else 0
        clip.first.setdefault("new" if new else "nothing new", self.stretch)
        if not event.given and event.call == "norm":
            clip.empty += repeat
            clip.first.setdefault("no parameter", self.stretch)
        for state, ids in event.states.items():
            clip.states[state] += repeat
            clip.parameters.update(ids)
        self.pending.update(dict.fromkeys(new, clip))
        if new & self.scales.scaled.keys():
            clip.scaled += repeat
            clip.first.setdefault("scaled", self.stretch)
            clip.scale = self.scales.scale

    def _step(self, event: Step) -> None:
        new = event.fresh
        if new:
            self.steps.setdefault(event.site.user, set()).update(new)
            self.holders[event.site.user] = event.optimizer
        self._gone(new)

    def _gone(self, ids: Iterable[int]) -> None:
        for parameter in ids:
            self.pending.pop(parameter, None)

    def step_of(self, ids: set[int]) -> Site | None:
        """The line that steps these parameters (any, where `ids` is empty)."""
        return next((site for site, used in self.steps.items() if not ids or ids & used), None)


@rule("GS209", name="clip-misplaced", severity="warning")
def clip_misplaced(trace: Trace) -> Iterator[Finding]:
    if not trace.of(Clip):
        return
    run = _Run(trace)
    for clip in run.clips.values():
        step = run.step_of(clip.parameters)
        if step is None:
            continue
        if clip.empty and clip.empty >= clip.times - 1:
            yield _empty(trace, run, clip, step)
        elif not clip.met and clip.times >= 2:
            yield _in_vain(trace, run, clip, step)
        elif clip.scaled and _by_scaler(trace, step):
            yield _scaled(trace, run, clip, step)
        elif sum(clip.midway.values()) >= 2:
            yield _midway(trace, run, clip, step)


def _by_scaler(trace: Trace, step: Site) -> bool:
    return any(e.call == "step" and e.site.user == step for e in trace.of(Scaler))


def _subjects(clip: _Clip) -> frozenset[object]:
    return parameter_subjects(clip.parameters)


def _empty(trace: Trace, run: _Run, clip: _Clip, step: Site) -> Finding:
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
        subjects=_subjects(clip),
        since=since_stretch(trace, clip.first["no parameter"]),
    )


def _in_vain(trace: Trace, run: _Run, clip: _Clip, step: Site) -> Finding:
    late = clip.states["used"] > clip.states["none"] + clip.states["zero"]
    clipping, stepping = code(trace, clip.site, "the clip"), code(trace, step, "the step")
    move = f"move {located(trace, clip.site, 'it')} between `backward()` and {stepping} ({where(step)})"
    return Finding(
        message=f"{clipping} {'comes after the step' if late else 'comes before `backward()`'}:"
        " no step ever uses a clipped gradient",
        cause=clip.site,
        cause_label="the gradients here were used already" if late else "there is no gradient here yet",
        effect=step,
        effect_label="steps with gradients that are not clipped",
        seen=(f"0 of {plural(clip.times, 'call')} met a gradient that a step had still to use",),
        fix=move,
        count=clip.times,
        edits=moved(trace, clip.site, step),
        subjects=_subjects(clip),
        since=since_stretch(trace, clip.first["nothing new"]),
    )


def _scaled(trace: Trace, run: _Run, clip: _Clip, step: Site) -> Finding:
    clipping, stepping = code(trace, clip.site, "the clip"), code(trace, step, "the step")
    scale = f" by {clip.scale:g}" if clip.scale is not None else ""
    seen = [f"{clip.scaled} of {plural(clip.times, 'call')} met scaled gradients"]
    if clip.scale is not None and clip.limit is not None:
        seen.append(
            f"the limit {clip.limit:g} acts as one of {clip.limit / clip.scale:.3g}: {stepping} divides what was"
            f" clipped by the scale {clip.scale:g}"
        )
    unscale = method(trace, run.holders.get(step), "step").removesuffix(".step()`").lstrip("`")
    unscaling = f"{_scaler_name(trace, step)}.unscale_({unscale})"
    return Finding(
        message=f"{clipping} clips gradients that are still multiplied{scale}",
        cause=clip.site,
        cause_label="before the gradients are unscaled",
        effect=step,
        effect_label="takes the scale out, after the clip",
        seen=tuple(seen),
        fix=f"call `{unscaling}` before {clipping} ({where(clip.site)})",
        count=clip.scaled,
        edits=line_before(trace, clip.site, unscaling)
        if beside(trace, clip.site, step) and unscale.isidentifier()
        else (),
        subjects=_subjects(clip),
        since=since_stretch(trace, clip.first["scaled"]),
    )


def _scaler_name(trace: Trace, step: Site) -> str:
    text = code(trace, step).strip("`")
    return text.partition(".step(")[0] if ".step(" in text else "scaler"


def _midway(trace: Trace, run: _Run, clip: _Clip, step: Site) -> Finding:
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
        edits=moved(trace, clip.site, step),
        subjects=_subjects(clip),
        since=since_stretch(trace, clip.first["midway"]),
    )
