"""What an answer holds, and the ways through the source that answers share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gradscope.analysis.cuts import differentiates
from gradscope.analysis.names import names_of, op_name, place, shape_words
from gradscope.analysis.words import code
from gradscope.graph import Flow
from gradscope.model import Parameter, Region, Site

LINE_END = 10_000  # a column behind every line: frames clip it
MAX_STEPS = 8  # places of a way that are shown


class Step(NamedTuple):
    """One place on the way. `main` marks where the answer lies."""

    site: Site
    label: str
    main: bool = False


@dataclass
class Answer:
    """`headline` stands alone; `seen` is what was measured; `steps` lead through the source; `parameter`:
    the one that it is about, where it is about one."""

    subject: str
    headline: str
    seen: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    fix: str = ""
    parameter: Parameter | None = None

    def __str__(self) -> str:
        lines = [self.headline]
        lines += [f"  {place(step.site.user)}: {step.label}" for step in self.steps]
        lines += [f"  seen: {fact}" for fact in self.seen]
        return "\n".join([*lines, *([f"  fix: {self.fix}"] if self.fix else [])])

    def step(self, site: Site | None, label: str, main: bool = False) -> None:
        """Adds a place; steps on one line are one step, with both labels."""
        if site is None:
            return
        user = site.user
        if self.steps and self.steps[-1].site.user.location() == user.location():
            last = self.steps.pop()
            label = _both(last.label, label)
            user, main = (user, True) if main else (last.site, last.main)
        self.steps.append(Step(user, label, main))


def _both(first: str, second: str) -> str:
    parts = first.split("; ")
    if not second or second in parts:
        return first
    lead = "through "
    if parts[-1].startswith(lead) and second.startswith(lead):
        names = parts[-1].removeprefix(lead).split(", ")
        if (name := second.removeprefix(lead)) in names:
            return first
        return f"{first}, {name}"
    return f"{first}; {second}" if first else second


def shortened(answer: Answer) -> Answer:
    """Leaves out the middle of a long way."""
    if len(answer.steps) > MAX_STEPS:
        half = MAX_STEPS // 2
        gone = len(answer.steps) - 2 * half
        kept = [s for s in answer.steps[half:-half] if s.main]
        note = Step(answer.steps[half - 1].site, f"{answer.steps[half - 1].label} (then {gone} more lines)")
        answer.steps = [*answer.steps[: half - 1], note, *kept, *answer.steps[-half:]]
    return answer


def opening(region: Region) -> Site:
    """The `with` line alone: a region's site may span its whole body."""
    site = region.site.user
    return replace(site, end_line=site.line, end_column=LINE_END) if site.end_line > site.line else site


def spoken(flow: Flow, value: int) -> str:
    """A value in a sentence."""
    name = flow.name(value)
    if name is not None:
        return f"`{name}`"
    maker = flow.maker[value]
    if maker is None:
        shape = shape_words(flow.values[value].shape)
        return f"an input ({shape})"
    return f"the result of `{op_name(flow.ops[maker].name)}`"


def region_of(flow: Flow, op: int) -> Region | None:
    """The innermost region around an op that switches gradients off."""
    id = flow.ops[op].region
    seen = set()
    while id is not None and id not in seen and (region := flow.trace.regions.get(id)) is not None:
        seen.add(id)
        if region.kind in ("no_grad", "inference_mode", "set_grad_enabled"):
            return region
        id = region.parent
    return None


def cut_words(flow: Flow, op: int) -> str:
    """Why no gradient passes this op, as the end of a sentence."""
    shown = flow.ops[op]
    name = f"`{op_name(shown.name)}`"
    region = region_of(flow, op)
    if differentiates(shown):
        return "`grad` without `create_graph=True` records no graph"
    if region is not None and region.site.kind == "torch" and shown.cut in ("no_grad", "inference_mode"):
        return f"{code(flow.trace, region.site.user, name)} switches gradients off inside"
    where = f", opened at {names_of(flow.trace).place(region.site.user)}," if region is not None else ""
    return {
        "detach": f"{name} leaves the graph on purpose",
        "data": "`.data` leaves the graph",
        "no_grad": f"`torch.no_grad()`{where} records no graph",
        "inference_mode": f"`torch.inference_mode()`{where} records no graph",
        "numpy": "the value leaves torch for numpy",
        "item": f"{name} gives a plain number, which carries no graph",
        "tolist": "`tolist` gives plain numbers, which carry no graph",
        "rewrap": f"{name} makes a new tensor from the value alone",
        "nondifferentiable": f"{name} has no derivative",
        "custom": f"{name} gives no gradient back",
    }.get(shown.cut or "", f"{name} passes no gradient")
