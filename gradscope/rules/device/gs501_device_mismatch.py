"""An operation got tensors that are on different devices.

Why: an operation runs where its inputs are, so all of them must be on one device. A model
moved with `.to(device)` takes its registered parameters and buffers along, not the data, and
not tensors or layers that it keeps in plain attributes or lists. `x.to(device)` does not move
`x` either: it returns a copy.

Fix: move the batch (`x = x.to(device)`) before the call, and create new tensors on the device
of those they meet (`torch.zeros(n, device=x.device)`).

Silent on: errors of any other kind; CPU scalars, which torch takes as they are.
"""

import ast
import re
from collections.abc import Iterator

from gradscope.analysis.failures import failure_subject
from gradscope.analysis.ops import TO_DEVICE
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, listed, source, tensor_variable, user, variable, where
from gradscope.events import ErrorRaised
from gradscope.fixes.calls import result_kept
from gradscope.fixes.source import Source
from gradscope.fixes.statements import beside, line_after
from gradscope.model import Edit, Finding, Site, Value
from gradscope.rules import rule
from gradscope.rules.device._origins import shape_words, value_name
from gradscope.rules.device._plainly_held import left_behind
from gradscope.store import Trace


def bad_batch_not_moved() -> None:
    import torch
    from torch import nn

    device = torch.device("meta")  # a second device that every machine has
    model = nn.Linear(4, 1).to(device)
    x = torch.ones(8, 4)  # cause: GS501
    model(x)  # effect: GS501


def good_both_moved() -> None:
    import torch
    from torch import nn

    device = torch.device("meta")
    model = nn.Linear(4, 1).to(device)
    x = torch.ones(8, 4).to(device)
    model(x) * torch.tensor(2.0)


@rule("GS501", name="device-mismatch", severity="error", needs=ErrorRaised)
def device_mismatch(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event in trace.of(ErrorRaised):
        text = event.text
        told = ("device" in text and "device-side" not in text) or "weight type" in text
        if told and event.graph >= 0:
            finding = _explain(trace, known, event)
            if finding is not None:
                yield finding


def _explain(trace: Trace, known: Paths, event: ErrorRaised) -> Finding | None:
    values = known.graph(event.graph).values
    inputs = [values[i] for i in dict.fromkeys(event.inputs) if i < len(values)]
    sized = [value for value in inputs if value.shape] or inputs
    devices = list(dict.fromkeys(value.device for value in sized))
    if len(devices) < 2:
        return None
    if (found := left_behind(trace, event, sized, "device")) is not None:
        return found
    wrong = _wrong(trace, known, event.graph, sized)
    others = [value for value in sized if value.device != wrong.device]
    other = next((value for value in others if _parameter(value)), others[0])
    effect = event.site.user
    origin, came = _came_from(trace, known, (event.graph, wrong.index))
    owned = _parameter(wrong)
    subject, against = (
        value_name(trace, known, (event.graph, wrong.index)),
        value_name(trace, known, (event.graph, other.index)),
    )
    missing = _fix(trace, known, wrong, other, owned, origin)
    met, met_how = _came_from(trace, known, (event.graph, other.index))
    related = ((met, f"{against} is on {other.device} since here ({met_how})"),) if met is not None else ()
    return Finding(
        message=f"{subject} is on {wrong.device}, {against} is on {other.device}: "
        f"`{event.op or 'the operation'}` needs both on one device",
        cause=origin or effect,
        cause_label=f"on {wrong.device} since here ({came})" if origin else f"on {wrong.device}: {came}",
        effect=effect,
        effect_label="both meet here",
        related=tuple(
            (site, label) for site, label in related if site.location() != (origin or effect).location()
        ),
        seen=(
            listed(
                [
                    f"{value_name(trace, known, (event.graph, value.index))} {shape_words(value)} on {value.device}"
                    for value in sized
                ],
                4,
            ),
        ),
        fix=missing,
        count=event.count,
        edits=_moved(trace, subject.strip("`"), user(wrong.site), effect) if not owned else (),
        subjects=frozenset({("device", event.graph, wrong.index), failure_subject(event)}),
    )


def _wrong(trace: Trace, known: Paths, graph: int, sized: list[Value]) -> Value:
    """The input that should be moved: one that was left on the CPU, data rather than parameters."""
    left = [value for value in sized if value.device == "cpu"] or sized
    moved = [value for value in sized if value not in left]
    data = [value for value in left if not _parameter(value)]
    if data:
        return data[0]
    elsewhere = [value for value in moved if not _parameter(value)]
    if not moved and elsewhere:
        return elsewhere[0]
    return left[0]


def _parameter(value: Value) -> bool:
    return value.kind in ("parameter", "buffer")


def _came_from(trace: Trace, known: Paths, key: Key) -> tuple[Site | None, str]:
    """Where a value got to its device: the move, or where the first tensor on it was made."""
    value = known.value(key)
    last = value
    for _ in range(10_000):
        graph = known.graph(key[0])
        value = graph.values[key[1]]
        if _parameter(value) or known.parameter_of(key) is not None:
            if value.device != "cpu":
                return None, "moved with its model"
            return _built(trace, known, key), "never moved"
        last = value
        if value.op is None:
            if value.origin is None or value.origin[1] >= len(known.graph(value.origin[0]).values):
                break
            key = value.origin
            continue
        op = graph.ops[value.op]
        same = [i for i in op.inputs if graph.values[i].device == value.device]
        if op.name in TO_DEVICE and not same:
            return op.site.user, f"by {code(trace, op.site.user, f'`{op.name}`')}"
        if not same:
            return op.site.user, "made there"
        key = (key[0], same[0])
    return user(last.site), "first seen there"


def _built(trace: Trace, known: Paths, key: Key) -> Site | None:
    """The user's line that made a parameter or buffer; for one of a model, where the model was made."""
    value = known.value(key)
    if value.site is None or (value.op is None and value.origin is None):
        return None
    parameter = known.parameter_of(key)
    number = parameter.module if parameter is not None else value.module
    root = trace.modules.get(trace.modules[number].root) if number in trace.modules else None
    frames = list(value.site.stack)
    for place, frame in enumerate(frames):
        outer = frames[place - 1] if place else None
        if root is not None and frame.function == f"{root.cls}.__init__" and outer and outer.kind == "user":
            return outer
    return value.site.user


def _fix(trace: Trace, known: Paths, wrong: Value, other: Value, owned: bool, origin: Site | None) -> str:
    device = _device(trace, user(wrong.site)) or repr(other.device)
    if (
        not owned
        and wrong.is_leaf
        and wrong.requires_grad
        and wrong.site is not None
        and wrong.site.kind == "torch"
    ):
        name = variable(trace, user(wrong.site))
        held = f"`{name}`" if name else "a plain list, dict or attribute"
        return (
            f"hold its layer in an `nn.ModuleList`, `nn.ModuleDict` or module: `model.to({device})` does not reach"
            f" what {held} holds"
        )
    if owned:
        return (
            f"move the model before it is used: `model.to({device})`; layers and tensors in plain lists or "
            f"attributes must be registered to move with it"
        )
    name = tensor_variable(trace, user(wrong.site)) or "x"
    move = f"`{name} = {name}.to({device})`"
    text = source(trace, origin)
    if re.match(r"torch\.(zeros|ones|randn|rand|arange|full|empty|tensor|eye|randint)\b", text):
        return f"make it on the device: `{text[:-1]}, device={device})` ({where(origin)}), or {move}"
    return f"{move} before the call"


def _device(trace: Trace, site: Site | None) -> str:
    """The one variable of the function around `site` that holds a device; "" where there is none."""
    here = Source(trace, site.path) if site is not None else None
    found = {
        ast.unparse(node.targets[0])
        for node in (ast.walk(here.file.scope(site)) if here is not None and site is not None else ())
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "torch.device"
    }
    return found.pop() if len(found) == 1 else ""


def _moved(trace: Trace, name: str, made: Site | None, effect: Site) -> tuple[Edit, ...]:
    """`x = x.to(device)` where the program drops the result of `x.to(device)`, or after it made `x`."""
    if not name.isidentifier():
        return ()
    kept = result_kept(trace, effect, name, ("to", "cuda", "cpu"))
    device = _device(trace, made)
    if kept or not device or tensor_variable(trace, made) != name or not beside(trace, made, effect):
        return kept
    return line_after(trace, made, f"{name} = {name}.to({device})")
