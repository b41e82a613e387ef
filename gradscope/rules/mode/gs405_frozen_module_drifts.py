"""A frozen layer's running statistics still move.

Why: `requires_grad_(False)` freezes parameters. Batch norm's running mean and variance are
buffers, which every forward in training mode moves: the "frozen" network gives other features
after training than before, and other ones in training than in evaluation.

Fix: put the frozen part into evaluation mode as well (`backbone.eval()`), after every
`model.train()`.

A note where the program puts that very network into training mode, and never into evaluation mode, as for a teacher
that is to work on the statistics of each batch.

Silent on: networks that are frozen for a while (a critic in the generator's step); averaged
copies; layers whose statistics did not move; what a later call was to switch on again (GS261).
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import Calls, calls, is_part_of
from gradscope.analysis.counted import at_least
from gradscope.analysis.networks import updates_nobody_calls
from gradscope.analysis.own_writes import kept_up
from gradscope.analysis.stops import frozen_for_good
from gradscope.analysis.thaws import without_effect
from gradscope.analysis.words import is_known_at, located, named_at, numbers, source
from gradscope.events import Backward, Drift, Mode
from gradscope.fixes.calls import in_method
from gradscope.fixes.source import Source, is_name
from gradscope.fixes.statements import beside
from gradscope.model import Edit, Finding, Module, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad_frozen_backbone() -> None:
    import torch
    from torch import nn

    backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
    head = nn.Linear(8, 2)
    backbone.requires_grad_(False)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        features = backbone(torch.randn(8, 4) + 1)  # cause: GS405
        nn.functional.cross_entropy(head(features), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()


def good_frozen_in_eval() -> None:
    import torch
    from torch import nn

    backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()).eval()
    head = nn.Linear(8, 2)
    backbone.requires_grad_(False)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        head(backbone(torch.randn(8, 4) + 1)).pow(2).mean().backward()
        opt.step()


@rule("GS405", name="frozen-module-drifts", severity="error", needs=Drift)
def frozen_module_drifts(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    if not known.paths.stepping or not trace.of(Drift):
        return
    written = kept_up(trace)
    awaited = {id for thaw in without_effect(trace) for id in thaw.leaves}  # is to be trained again
    # A target that should follow is in training mode as what it follows: that it does not is another mistake.
    copies = {id for one in updates_nobody_calls(trace) for id in one.copy.ids}
    groups: dict[tuple[tuple[str, int], int], list[Drift]] = {}
    for event in trace.of(Drift):
        own = [p for p in trace.parameters if p.module == event.module]
        trained = {p.id for p in own if p.passes or p.steps}
        gone = frozen_for_good(trace, event.site.user.location()) if trained else set()
        if not trained <= gone or any(p.id in written | copies | awaited for p in own):
            continue
        if any(c.used and c.entry.location() == event.site.user.location() for c in known.all):
            groups.setdefault((event.site.user.location(), event.called), []).append(event)
    for events in groups.values():
        yield _finding(trace, known, events)


def _finding(trace: Trace, known: Calls, events: list[Drift]) -> Finding:
    site = events[0].site.user
    frozen = dict.fromkeys([*(e.module for e in events), *_alike(trace, events)])
    layers = known.layers(frozen)
    part = _frozen_part(trace, known, events[0])
    seen = []
    for event in events[:2]:
        module = trace.modules[event.module]
        label = f"{module.path}.{event.name}" if module.path else event.name
        seen.append(f"`{label}` moved from {numbers(event.before)} to {numbers(event.after)}")
    times = sum(c.event.count for c in known.all if c.entry.location() == site.location())
    switched = _switched(trace, events[0])
    trained = any(p.passes or p.steps for p in trace.parameters if p.module in {e.module for e in events})
    held = _held_by_another(trace, known, events[0])
    asked = _asked_for(trace, known, events[0])
    related: tuple[tuple[Site, str], ...] = ()
    if held is not None:
        name, holder, put, edits = held
        related = ((put, "puts it into training mode with all the rest"),)
        message = f"`{name}` is frozen, but its running statistics move: {layers} ran in training mode"
        fix = (
            f"override `train` in `{holder}`, which puts all its parts into training mode: call"
            f" `super().train(mode)`, then `{name}.eval()`, and return `self`; frozen parameters are not enough"
        )
        seen += _dropouts(trace, known, events[0])
    elif frozen.keys() <= known.members(part.id):
        name = _name(trace, part, events[0])
        fix, edits = _back_in_eval(trace, site, switched, name, trained)
        message = f"{name} is frozen, but its running statistics move: {layers} ran in training mode"
    else:
        fix, edits = _each_back_in_eval(trace, site, switched)
        message = f"{layers} are frozen, but their running statistics move: they ran in training mode"
    return Finding(
        message=message,
        cause=site,
        cause_label="called in training mode",
        related=related,
        seen=(
            *seen,
            f"{at_least(trace, times, 'call')} in training mode from this line",
            *(
                (
                    f"{located(trace, asked)} put it into training mode by itself, and nothing put it into evaluation"
                    " mode in this run",
                )
                if asked is not None
                else ()
            ),
        ),
        fix=f"if it is not to work on the statistics of each batch, {fix}" if asked is not None else fix,
        count=times,
        severity="note" if asked is not None else "",
        edits=edits,
        subjects=frozenset({("call", site.location()), *(("layer", e.module) for e in events)}),
    )


def _asked_for(trace: Trace, known: Calls, event: Drift) -> Site | None:
    """The `train()` of the called network itself, which nothing trains any part of and nothing ever put into
    evaluation mode."""
    about = [mode for mode in trace.of(Mode) if is_part_of(trace, event.called, mode.module)]
    own = next((mode for mode in about if mode.training), None)
    if own is None or not all(mode.training and mode.module == own.module for mode in about):
        return None
    return own.site.user if known.trained.isdisjoint(p.id for p in known.parameters_of(own.module)) else None


def _alike(trace: Trace, events: list[Drift]) -> Iterator[int]:
    """The other frozen layers that were called in training mode, of which none has ever trained."""
    trained = {p.module for p in trace.parameters if p.passes or p.steps}
    return (id for event in events for id in event.alike if id not in trained)


def _held_by_another(
    trace: Trace, known: Calls, event: Drift
) -> tuple[str, str, Site, tuple[Edit, ...]] | None:
    """`self.teacher`, the class whose method calls it so, the line that put all of it into training mode, and the
    edits that have that class keep it in evaluation mode: where a `train()` of such a module came last, whose other
    parts are trained. The layers were first called as a part of another model, so that no tree of modules shows them
    there."""
    here, site = Source(trace, event.site.user.path), event.site.user
    call, statement = here.file.at(site), here.file.statement(site)
    target = call.func if isinstance(call, ast.Call) else None
    if statement is None or not isinstance(target, ast.Attribute) or not is_name(target.value):
        return None
    holder = here.file.class_of(statement)
    switched = [mode for mode in trace.of(Mode) if mode.training and mode.segment <= event.segment]
    module = trace.modules[switched[-1].module] if switched else None
    if holder is None or module is None or module.cls != holder.name or not in_method(trace, site):
        return None
    if module.root == trace.modules[event.called].root or ast.unparse(target.value) != "self":
        return None
    ids = {p.id for p in trace.parameters if p.module in known.members(event.called)}
    later = any(ids & set(e.filled) for e in trace.of(Backward) if e.segment >= switched[-1].segment)
    own = any(isinstance(node, ast.FunctionDef) and node.name == "train" for node in holder.body)
    if later or own:
        return None
    name = ast.unparse(target)
    rest = ("super().train(mode)", f"{name}.eval()", "return self")
    return name, holder.name, switched[-1].site.user, here.method(holder, "train(self, mode=True)", *rest)


def _dropouts(trace: Trace, known: Calls, event: Drift) -> list[str]:
    """What else training mode did in these calls."""
    resting = {id for call in known.all for id in call.event.eval_layers if call.event.module == event.called}
    ids = [id for id in known.members(event.called) if trace.modules[id].cls.startswith("Dropout")]
    ids = [id for id in ids if id not in resting]
    return [f"in the same calls in training mode: {known.layers(ids)}"] if ids else []


def _back_in_eval(
    trace: Trace, site: Site, switched: list[Site], name: str, trained: bool
) -> tuple[str, tuple[Edit, ...]]:
    where = switched[-1] if switched else site
    bare, elsewhere = named_at(trace, name.strip("`"), where), name.startswith("the ")
    only = f"not any(p.requires_grad for p in {bare}.parameters())" if trained else ""
    where_to = _where_to(trace, site, switched)
    if trained:
        where_to += " once it is frozen; before that it was trained, and needs training mode"
    if elsewhere:
        return f"call `eval()` on {name} {where_to}: frozen parameters are not enough", ()
    if not is_known_at(trace, bare, where):
        return (
            f"call `{bare}.eval()` where `{bare}` is known, {where_to}: frozen parameters are not enough",
            (),
        )
    condition = f": `if {only}: {bare}.eval()`" if only else ""
    edits = _kept_in_eval(trace, site, switched, bare, only)
    return f"call `{bare}.eval()` {where_to}: frozen parameters are not enough{condition}", edits


def _each_back_in_eval(trace: Trace, site: Site, switched: list[Site]) -> tuple[str, tuple[Edit, ...]]:
    """Layers that lie here and there in a model, of which the rest is trained."""
    call = trace.source_file(switched[-1].path).at(switched[-1]) if switched else None
    owner = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    model = ast.unparse(owner) if owner is not None else "model"
    loop = (
        f"for part in {model}.modules():",
        'if hasattr(part, "running_mean") and not any(p.requires_grad for p in part.parameters()):',
        "part.eval()",
    )
    edits: tuple[Edit, ...] = ()
    if owner is not None:
        here = Source(trace, switched[-1].path)
        edits = tuple(edit for one in switched for edit in here.after(here.file.statement(one), *loop))
    return f"put each of them back {_where_to(trace, site, switched)}: `{' '.join(loop)}`", edits


def _where_to(trace: Trace, site: Site, switched: list[Site]) -> str:
    after = " and ".join(located(trace, one) for one in switched)
    return f"after {after}" if switched else f"before {located(trace, site, 'this call')}"


def _frozen_part(trace: Trace, known: Calls, event: Drift) -> Module:
    """The largest module around this layer that nothing trains in."""
    module = trace.modules[event.module]
    gone = frozen_for_good(trace, event.site.user.location())
    while module.parent is not None:
        above = trace.modules[module.parent]
        members = known.members(above.id)
        if any((p.passes or p.steps) and p.id not in gone for p in trace.parameters if p.module in members):
            break
        module = above
    return module


def _name(trace: Trace, module: Module, event: Drift) -> str:
    root = trace.modules[module.root]
    called = trace.modules[event.called]
    if (
        module.path and called.root != root.id and called.name
    ):  # it was a part of another model when it was first called
        return f"the `{module.cls}` in `{called.name}`"
    if not module.path:
        return f"`{module.name or module.cls}`"
    if module.path.isdigit() and root.name:
        return f"`{root.name}[{module.path}]`"
    return f"`{root.name}.{module.path}`" if root.name else f"`{module.path}`"


def _switched(trace: Trace, event: Drift) -> list[Site]:
    """The user's last `train()` of a model that holds this layer, and the other ones of the same function."""
    roots = {trace.modules[number].root for number in (event.module, event.called)}
    modes = [mode for mode in trace.of(Mode) if mode.training and trace.modules[mode.module].root in roots]
    sites = {mode.site.user.location(): mode.site.user for mode in modes}
    last = modes[-1].site.user if modes else None
    return sorted((site for site in sites.values() if beside(trace, site, last)), key=Site.location)


def _kept_in_eval(trace: Trace, call: Site, switched: list[Site], name: str, only: str) -> tuple[Edit, ...]:
    """`backbone.eval()` after `model.train()`; else before the loop that calls it. `only`: where that holds."""
    held = name.partition("[")[0].partition(".")[0]
    if not beside(trace, call, (switched or [call])[0]) or held not in source(trace, call):
        return ()
    here = Source(trace, call.path)
    lines = (f"if {only}:", f"{name}.eval()") if only else (f"{name}.eval()",)
    if switched:
        return tuple(edit for one in switched for edit in here.after(here.file.statement(one), *lines))
    return here.before(here.file.outermost_loop(call), f"{name}.eval()")
