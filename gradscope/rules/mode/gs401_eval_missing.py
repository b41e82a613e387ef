"""The model was evaluated in training mode: dropout and batch norm were still active.

Why: in training mode dropout zeroes part of the activations at random, and batch norm uses
the statistics of the batch at hand and moves its running ones: the result depends on chance
and on the other samples, and evaluation data leaks into the model. `torch.no_grad()` turns
gradients off, not these layers.

Fix: call `model.eval()` before evaluating and `model.train()` before training goes on.

Where a decoder that trains on another network's results is given something else, it draws samples: a warning, and a
note where gradients are on.

A note, with another repair, where the model is asked for its losses, which it gives in training mode alone, as
torchvision's detectors do: put only its dropout and norms in evaluation mode.

Where the dropout is a function that is not told of the mode, `eval()` alone would change nothing: the repair says so.

Layers that are no part of the model (in a plain list, say) are named as such: its `eval()` passes them by.

A note, too, where the same input is evaluated in evaluation mode before the next step: both are compared.

Silent on: models without such layers; dropout left on by choice while the rest is in eval
(Monte Carlo dropout); results that a training loss uses; generators that draw samples;
shape probes and forwards that only refresh running statistics; calibrations, which put the model in training mode
themselves or begin with statistics that were reset, and whose result nothing reads; layers that `forward` makes anew,
which no `eval()` can reach (GS214, GS404).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

from gradscope.analysis.calls import Call, Calls, calls, is_part_of
from gradscope.analysis.intent import milder, says_dropped
from gradscope.analysis.names import buffer_name, short_path
from gradscope.analysis.purposes import (
    bare_layer,
    beside,
    caller,
    callers,
    evaluates_by_turns,
    in_both_modes,
    inside_step,
    kept,
    own_line,
    trained_at,
    trains_at,
)
from gradscope.analysis.text import classes_of_program, methods_named
from gradscope.analysis.unread import module_name
from gradscope.analysis.words import listed, located, named_at, numbers, percent, plural, user
from gradscope.events import Dropout, Mode, ModuleCall
from gradscope.fixes.calls import in_method, with_argument
from gradscope.fixes.source import Edits, eval_around, eval_of_layers, put_in_training
from gradscope.model import Finding, Site, place_of
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

OF_TORCH = {
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "MultiheadAttention",
    "LSTM", "GRU", "RNN",
}  # fmt: skip
BOTH = "the same input was evaluated in evaluation mode, too, with no step between: the two may be compared on purpose"


def bad_validation_in_training_mode() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def evaluate() -> float:
        right = 0.0
        with torch.no_grad():  # effect: GS401
            for _ in range(2):
                scores = model(torch.randn(8, 4))  # cause: GS401
                right += (scores.argmax(dim=1) == 0).sum().item()
        return right

    for _ in range(2):
        for _ in range(2):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long))
            loss.backward()
            opt.step()
        evaluate()


def good_eval_and_no_grad() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()


@rule("GS401", name="eval-missing", severity="error")
def eval_missing(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    if not known.paths.roots:
        return
    told: set[tuple[int, int | None]] = set()
    evaluated: dict[tuple[tuple[str, int] | None, frozenset[int]], int] = {}
    for call in known.all:
        severity = severity_of(known, call)
        if severity is None or _normalises_alone(known, call):
            continue
        if all(known.out_of_reach(call.event, layer) for layer in known.as_in_training(call.event)):
            yield _out_of_reach(trace, known, call, severity)
            continue
        asked = losses_asked(known, call)
        both = severity != "note" and in_both_modes(known, call)
        severity = "note" if both or asked else severity
        if bare_layer(known, call):
            region = known.region(call.event)
            group = (call.event.module, region.id if region is not None else None)
            if group in told:
                continue  # another layer of the same evaluation
            told.add(group)
        found = _finding(trace, known, call, severity, asked)
        line = found.cause.location() if found.cause is not None else None
        ran = line, frozenset(known.as_in_training(call.event))
        if evaluated.setdefault(ran, known.called(call.event)) != known.called(call.event):
            continue  # the same network, by its own name and by that of what holds it
        if both:
            found = replace(found, seen=(*found.seen, BOTH))
        yield milder(found, says_dropped(trace, call.entry)) if severity == "warning" else found


def _normalises_alone(known: Calls, call: Call) -> bool:
    """Whether all that depends on the mode takes each sample by itself: what such a network gives in training mode
    is what it was trained to give."""
    layers = known.as_in_training(call.event)
    return bool(layers) and all(known.trace.modules[n].cls.startswith("InstanceNorm") for n in layers)


def losses_asked(known: Calls, call: Call) -> str:
    """What shows that a model is asked for its losses, and gives them in training mode alone: `forward` asks for the
    mode and gives a dict of single numbers, or another call of the model in evaluation mode gave something else. ""
    where nothing does, or the model's own dropout hangs on its mode."""
    number = known.called(call.event)
    if number in known.as_in_training(call.event):
        return ""
    count = len(call.event.outputs)
    gave = f"nothing but {count} single numbers" if count > 1 else "a single number"
    shown = f"{known.name(call.event)} gave {gave}"
    if keys := [f"`{key}`" for key in call.event.losses]:
        return f"{shown} ({listed(keys)}), and its `forward` asks for `self.training`"
    alike = [c for c in known.all if known.called(c.event) == number]
    if not all(_without_axes(known, c) for c in alike if c.event.training):
        return ""
    other = next((c for c in alike if not c.event.training and not _without_axes(known, c)), None)
    there = f"{shown}, and in evaluation mode something else"
    return f"{there}: {located(known.trace, other.entry)}" if other is not None else ""


def _without_axes(known: Calls, call: Call) -> bool:
    """Whether all that a call gave are numbers, which no size of a batch explains."""
    values = known.paths.graph(call.event.graph).values
    return all(not values[i].shape for _, i in known.outputs(call.event))


def _kinds(trace: Trace, call: Call, train: list[int]) -> tuple[list[str], bool]:
    """The classes of the layers that ran as in training, as its file would name them, and whether it can."""
    imported = trace.source_file(call.entry.path).imported
    own = classes_of_program(trace)
    prefix = "nn." if "nn" in imported else "torch.nn."
    classes = sorted({trace.modules[layer].cls for layer in train if layer in trace.modules})
    torchs = [cls for cls in classes if cls in OF_TORCH and cls not in own]
    named = [f"{prefix}{cls}" if cls in torchs else cls for cls in classes]
    return named, bool(classes) and len(torchs) == len(classes) and not imported.isdisjoint(("nn", "torch"))


def _finding(trace: Trace, known: Calls, call: Call, severity: str, asked: str) -> Finding:
    event = call.event
    train = known.as_in_training(event)
    region = known.region(event)
    name = module_name(trace, event.module) if bare_layer(known, call) else known.name(event)
    effect = region.site.user if region is not None else None
    bare = name.strip("`") if name.startswith("`") else "model"
    if bare == trace.modules[known.called(event)].cls:  # of no name that is known
        bare = "model"
    cause = caller(call.entry) if bare_layer(known, call) else own_line(known, call)
    inner = _below_own_train(trace, known, call)
    bare = named_at(trace, bare, cause) + inner
    put = _put_there(trace, known, call, cause)
    where = _where(trace, call.entry, effect, cause)
    if (
        put
        and not asked
        and effect is not None
        and (effect.path, effect.function) != (cause.path, cause.function)
    ):
        node = trace.source_file(put[0].path).at(put[0])  # who calls this function may have called `eval()`
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            bare, where = ast.unparse(node.func.value), f"in place of {located(trace, put[0])}"
    kinds, nameable = _kinds(trace, call, train) if asked else ([], True)
    fix = f"call `{bare}.eval()` {where}, and `{bare}.train()` before training goes on"
    if asked:
        lines = " ".join(eval_of_layers(bare, kinds, "layer"))
        fix = (
            f"leave `{bare}` in training mode, which its losses need, and put these layers alone in evaluation mode"
            f" {_where(trace, call.entry, effect, cause, beside=True)}: `{lines}`; `{bare}.train()` puts them back"
        )
    untold = _untold(trace, call)
    if untold:
        fix = f"first {_told(trace, untold)}, or `eval()` changes nothing there; then {fix}"
    return Finding(
        message=f"{name} is evaluated in training mode: {known.layers(train)} behaved as in training",
        cause=cause,
        cause_label="called in training mode",
        related=(
            *(((call.entry, "this call ran as in training"),) if cause is not call.entry else ()),
            *((site, "puts it in training mode") for site in put),
        ),
        effect=effect,
        effect_label="turns gradients off, not dropout and batch norm",
        seen=(
            *(
                tuple(measured(trace, event))
                or (f"{plural(event.count, 'call')}: {known.layers(train)} in training mode",)
            ),
            *(
                f"{located(trace, site)} is not told of the mode: it drops in evaluation mode, too"
                for site in untold
            ),
            *([asked] if asked else ()),
        ),
        fix=fix,
        count=event.count,
        severity=severity,
        edits=_edits(trace, known, call, effect, untold, kinds)
        if cause is call.entry and nameable and not inner
        else (),
        subjects=frozenset({("module", known.called(event)), ("call", call.entry.location())})
        | ({("region", region.id)} if region is not None else set()),
    )


def _below_own_train(trace: Trace, known: Calls, call: Call) -> str:
    """The path (".model") to the part of the called module that has all its layers, below classes whose own `train`
    asks for other things than the mode: `eval()` calls that, and fails."""
    called, path = known.called(call.event), ""
    train = set(known.as_in_training(call.event))
    while _asks_for_more(trace, trace.modules[called].cls):
        below = [module for module in trace.modules.values() if module.parent == called]
        part = next((module for module in below if train <= known.members(module.id)), None)
        if part is None:
            break
        called, path = part.id, f"{path}.{part.path.rpartition('.')[2]}"
    return path


def _asks_for_more(trace: Trace, cls: str) -> bool:
    """Whether a class of the program has a `train` that no mode alone can be handed to."""
    for _, method in methods_named(trace, cls, "train"):
        given = method.args
        return len(given.args) - len(given.defaults) > 2 or (len(given.args) < 2 and not given.vararg)
    return False


def _out_of_reach(trace: Trace, known: Calls, call: Call, severity: str) -> Finding:
    """Layers in training mode that are no part of the model, which is in evaluation mode itself."""
    train, name = known.as_in_training(call.event), known.name(call.event)
    layers, one = known.layers(train), len(train) == 1
    first = trace.modules[train[0]]
    ran = user(first.site)
    return Finding(
        message=f"{name} is evaluated with {layers} in training mode: `eval()` does not reach what is no part of it",
        cause=ran,
        cause_label=f"runs as in training, while {name} is in evaluation mode",
        effect=call.entry,
        effect_label="evaluates",
        seen=(
            f"{plural(call.event.count, 'call')} of {name} in evaluation mode, with {layers} in training mode",
            *measured(trace, call.event),
        ),
        fix=f"make {'it a part' if one else 'them parts'} of {name}, as an attribute or in an `nn.ModuleList`, or"
        f" call `eval()` of {'it' if one else 'each'} as well, before {located(trace, call.entry, 'evaluating')}",
        count=call.event.count,
        severity=severity,
        subjects=frozenset({("module", known.called(call.event)), ("call", call.entry.location())}),
    )


def _untold(trace: Trace, call: Call) -> list[Site]:
    """The dropouts that layers in training mode call as a function without a word of the mode: they drop whatever it
    is."""
    sites = {}
    for event in trace.of(Dropout):
        site = event.site.user
        node = trace.source_file(site.path).at(site)
        if event.module not in call.event.train_layers or "dropout" not in event.op:
            continue
        if not isinstance(node, ast.Call) or called_name(node) != event.op:
            continue
        said = len(node.args) > 2 or any(isinstance(given, ast.Starred) for given in node.args)
        if not said and not {keyword.arg for keyword in node.keywords} & {"training", "train", None}:
            sites[site.span()] = site
    return [sites[span] for span in sorted(sites)]


def _told(trace: Trace, untold: list[Site]) -> str:
    """How such dropouts are told of the mode."""
    places = listed([located(trace, site) for site in untold])
    if all(in_method(trace, site) for site in untold):
        return f"pass `training=self.training` to {places}"
    return f"give {places} the model's mode as `training`"


def _edits(
    trace: Trace, known: Calls, call: Call, region: Site | None, untold: list[Site], kinds: list[str]
) -> Edits:
    if trains_at(known, call):
        return ()
    mode = eval_around(trace, call.entry, region, trained_at(known, call), kinds)
    follow = [
        with_argument(trace, site, "training", "self.training", 2) if in_method(trace, site) else ()
        for site in untold
    ]
    return (*mode, *(edit for edits in follow for edit in edits)) if mode and all(follow) else ()


def _put_there(trace: Trace, known: Calls, call: Call, cause: Site) -> list[Site]:
    """The `train()` of the function that evaluates, where it is that which put the module in training mode."""
    called = known.called(call.event)
    before = [
        event
        for event in takewhile(lambda event: event is not call.event, trace.of(Mode, ModuleCall))
        if isinstance(event, Mode) and is_part_of(trace, called, event.module)
    ]
    site = before[-1].site.user if before and before[-1].training else None
    same = site is not None and (site.path, site.function) == (cause.path, cause.function)
    return [site] if site is not None and same and site.line < cause.line else []


def _where(trace: Trace, call: Site, region: Site | None, cause: Site, *, beside: bool = False) -> str:
    """Before the evaluation, or in place of the call of `train()` that stands in it, which stays where the repair
    goes `beside` it."""
    block = trace.source_file(region.path).statement(region) if region is not None else None
    for node in put_in_training(trace, call, block):
        if beside:
            return f"behind `{ast.unparse(node)}` ({place_of(short_path(call.path), node.lineno)})"
        return f"in place of `{ast.unparse(node)}` ({place_of(short_path(call.path), node.lineno)})"
    if (function := _decorated(trace, region)) is not None and region is not None:
        return f"at the start of `{function.name}` ({place_of(short_path(region.path), function.lineno)})"
    return f"before {located(trace, region or cause, 'evaluating')}"


def _decorated(trace: Trace, region: Site | None) -> ast.FunctionDef | None:
    """The function whose decorator opens a block without gradients."""
    for node in trace.source_file(region.path).nodes if region is not None else ():
        if isinstance(node, ast.FunctionDef) and region is not None:
            if any(decorator.lineno == region.line for decorator in node.decorator_list):
                return node
    return None


def severity_of(known: Calls, call: Call) -> str | None:
    """None where the call is no evaluation, or is right as it is."""
    train, other = known.as_in_training(call.event), call.event.eval_layers
    if not train or call.event.site.user.kind != "user":
        return None
    if call.used and not call.event.grad:
        return None
    if (other or not call.event.training) and all(known.dropout(layer) for layer in train):
        return None  # Monte Carlo dropout
    if call.event.grad and inside_step(known, call):
        return None
    mine = {p.id for p in known.parameters(call.event)}
    if bare_layer(known, call):
        if any(not c.event.training for c in beside(known, call)):
            return None  # Monte Carlo dropout, in a method of the model
        mine = {p.id for c in beside(known, call) for p in known.parameters(c.event)}
    if not mine & known.trained:
        return None
    trains = any(callers(c) == callers(call) for c in trains_at(known, call))
    by_turns = call.event.grad and (call.used or trains)
    if by_turns and not evaluates_by_turns(known, call):
        return None  # the training call itself, on a pass that was skipped
    draws = known.called(call.event) in known.generators and not known.feeds_another(call.event)
    if not (known.judged(call.event) if call.event.grad else known.consumed(call.event)):
        if call.event.grad:
            return None
        put = _put_there(known.trace, known, call, call.entry) or _gathered_anew(known, call)
        if put and not kept(known, call):
            return None  # what it is for is done within it: statistics, or ranges that hooks note
        return "warning" if kept(known, call) and not draws else "note"
    samples = known.called(call.event) in known.decoders and not known.takes_another(call.event)
    if draws or (samples and call.event.grad):
        return "note"
    return "warning" if by_turns or samples else "error"


def _gathered_anew(known: Calls, call: Call) -> bool:
    """Whether running means were as after a reset when this line called the model first."""
    here = [c.event for c in known.all if c.entry.location() == call.entry.location()]
    means = [row["before"] for event in here for row in event.stats if row["name"] == "running_mean"]
    return any(not any(mean) for mean in means)


def measured(trace: Trace, call: ModuleCall) -> Iterator[str]:
    """What the call moved or dropped: running statistics, a part of its input."""
    for row in call.stats:
        module = trace.modules.get(row["module"])
        moved = buffer_name(trace, row["module"], row["name"]) if module is not None else row["name"]
        yield f"`{moved}` moved from {numbers(row['before'])} to {numbers(row['after'])}"
    for event in trace.of(Dropout):
        number = event.module
        if number in call.train_layers and event.zeroed is not None:
            module = trace.modules.get(number)
            layer = (
                f"`{module.cls}` `{module.path}`" if module is not None and module.path else "dropout layer"
            )
            yield f"the {layer} set {percent(event.zeroed)} of its input to zero"
            return
