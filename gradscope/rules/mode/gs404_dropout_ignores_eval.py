"""Dropout stays active in evaluation mode: a function or layer that was not told of the mode.

Why: `model.eval()` reaches modules. `F.dropout(x)` drops by default, whatever the mode, and the
`dropout_p` of attention is a plain number. A layer made in `forward`, or kept in a plain list, is
no part of the model, and `eval()` passes it by. Predictions then depend on chance.

Fix: pass the mode on: `F.dropout(x, p, training=self.training)`,
`dropout_p=self.p if self.training else 0.0`; or make an `nn.Dropout` in `__init__`. A dropout of one's own asks
`if self.training` before it draws.

Silent on: Monte Carlo dropout with dropout modules left in training mode; results that train; masks of one's own
that keep everything in evaluation (`p = self.p if self.training else 1.0`).
A note for: a model that is asked the same thing several times in a row whenever it is asked, or whose answers are
averaged, but not where all it gives is its loss; or `training=True` that is written out: Monte Carlo dropout, or that
of a decoder which goes on from its own answers, may be meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import Call, Calls, calls
from gradscope.analysis.drawn import are_joined, drops
from gradscope.analysis.modes import times_asked
from gradscope.analysis.reach import paths
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, listed, located, percent, plural, where
from gradscope.events import DrawnMask, Dropout
from gradscope.fixes.calls import in_method, with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Edit, Finding, Graph, Op, Site, Span
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, names_in
from gradscope.store import Trace

ATTENTION = "scaled_dot_product_attention"
HEADS = "multi_head_attention_forward"


def bad_functional_dropout() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 32), nn.Linear(32, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = nn.functional.dropout(self.first(x), 0.5)  # cause: GS404
            out: torch.Tensor = self.last(x)
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            scores = model(torch.randn(8, 4))  # effect: GS404
            (scores.argmax(dim=1) == 0).sum().item()


def good_mode_passed_on() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.layer(nn.functional.dropout(x, 0.5, training=self.training))
            return out

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 4)).pow(2).mean().item()


@rule("GS404", name="dropout-ignores-eval", severity="error")
def dropout_ignores_eval(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    told: set[tuple[str, int]] = set()
    for event in trace.of(Dropout):
        module = trace.modules.get(event.module)
        if event.graph < 0 or module is None or event.site.user.location() in told:
            continue
        call = _evaluation(known.all, event)
        if call is None or call.used or call.event.training:
            continue
        layer = event.site.under("nn/modules/dropout.py")
        if not layer or (module.root == module.id and call.event.module != module.id):
            told.add(event.site.user.location())
            yield _finding(trace, known, event, call, layer)
    yield from _written_by_hand(trace)


def _evaluation(found: list[Call], event: Dropout) -> Call | None:
    """The outermost call that this dropout ran in."""
    later = [c for c in found if c.event.graph == event.graph and c.event.segment == event.segment]
    later = [c for c in later if c.event.position >= event.position]
    return min(later, key=lambda c: c.event.position) if later else None


def _finding(trace: Trace, known: Calls, event: Dropout, call: Call, layer: bool) -> Finding:
    cause = event.site.user
    attention = event.op == ATTENTION
    text = code(trace, cause, f"`{event.op}`")
    if event.zeroed is not None:
        seen = f"in evaluation mode it set {percent(event.zeroed)} of its input to zero"
    elif event.moved is not None:
        seen = f"in evaluation mode its result is up to {event.moved:.3g} off the one without dropout"
    else:
        seen = f"it ran in evaluation mode with p={event.p}"
    rate = event.p
    fix = (
        f"make the layer of {located(trace, cause)} once, in `__init__`, as an attribute of the module: `eval()` "
        "reaches it there"
        if layer
        else _told_of_the_mode(attention, _rate(trace, cause, rate), text)
    )
    severity, written = "", False
    if not call.event.outputs:
        severity = "note"
    elif not layer and not _gives_a_number(trace, call) and (asked := asked_again(known, call)):
        severity = "warning" if 1 in asked else "note"
    elif not (layer or attention) and _written_out(trace, cause, event.op):
        severity, written = "note", bool(known.paths.roots)
    return Finding(
        message=f"{text} drops in evaluation mode too: it does not follow `eval()`",
        cause=cause,
        cause_label="active whatever the mode",
        effect=call.entry,
        effect_label="evaluated, with dropout",
        seen=(seen,),
        fix=fix,
        edits=()
        if layer or (severity == "note" and not written)
        else _following(trace, cause, attention, rate),
        count=call.event.count,
        severity=severity,
        subjects=frozenset({("call", call.entry.location())}),
    )


def _gives_a_number(trace: Trace, call: Call) -> bool:
    """Whether all that a model gives is one number, its loss: that is no answer of which several are drawn."""
    graph = trace.graph(call.event.graph)
    return all(graph.values[i].shape == () for i in call.event.outputs)


def _written_by_hand(trace: Trace) -> Iterator[Finding]:
    """Dropouts of the program's own: what is kept by chance is divided by its share, in evaluation too."""
    chance = (event for event in trace.of(DrawnMask) if event.whole < event.evaluated)
    events = {event.site.user.span(): event for event in chance if event.site.user.kind == "user"}
    draws: dict[Span, list[tuple[Graph, Op]]] = {}
    for graph in trace.graphs if events else ():
        for op in graph.called({event.name for event in events.values()}):
            draws.setdefault(op.site.user.span(), []).append((graph, op))
    for span, event in events.items():
        found = draws.get(span, [])
        if any(drops(graph, op) for graph, op in found):
            severity = "note" if are_joined(paths(trace), found) else "warning"
            yield _by_hand(trace, event, [event.site, *(op.site for _, op in found)], severity)


def _by_hand(trace: Trace, event: DrawnMask, sites: list[Site], severity: str) -> Finding:
    """`sites`: of the draws, each with the calls that led to it."""
    drawn = event.site.user
    users = [frame for frame in event.site.stack[::-1] if frame.kind == "user"]
    method = next(
        (n for n, frame in enumerate(users) if in_method(trace, frame)), 0
    )  # it may draw by a helper
    entry = next((frame for frame in users[method:] if not in_method(trace, frame)), drawn)
    new, edits = _under_the_mode(trace, sites)
    return Finding(
        message=f"{code(trace, drawn, f'`{event.name}`')} drops in evaluation mode too: it does not follow `eval()`",
        cause=drawn,
        cause_label="draws what is dropped, whatever the mode",
        effect=entry,
        effect_label="evaluates, with dropout",
        seen=(
            f"a `{event.module}` in evaluation mode, without gradients, drew numbers here in"
            f" {plural(event.evaluated, 'call')} looked at, as in {plural(event.trained, 'call')} of its training;"
            " what is kept is divided by a number, as dropout does",
        ),
        fix=f"leave it out where `self.training` is False{new or _handed_on(trace, users, method)}",
        edits=edits if severity != "note" else (),
        severity=severity,
    )


def _handed_on(trace: Trace, users: list[Site], method: int) -> str:
    """Where a helper draws: the method that knows the mode and calls it."""
    return f": {located(trace, users[method])} is where the mode is known" if method else ""


def _under_the_mode(trace: Trace, sites: list[Site]) -> tuple[str, Edits]:
    """The conditions under which they stand, each with the mode beside it: what to write, and the edits where none of
    them stands under no plain one."""
    here, path = Source(trace, sites[0].user.path), sites[0].user.path
    found = [(site, _condition(trace, site)) for site in sites]
    tests = {
        (test.lineno, test.col_offset): test
        for _, test in found
        if test is not None and not _asks_the_mode(test)
    }
    told: dict[str, list[str]] = {}
    for _, test in sorted(tests.items()):
        place = site_of(path, "", test)
        holds = "if " if isinstance(here.file.parent.get(id(test)), ast.If) else ""
        text = f"`{holds}self.training and {here.file.text(test)}{':' if holds else ''}`"
        told.setdefault(text, []).append(where(place))
    if not tests:
        return "", ()
    bare = [_nearest_method(trace, site) for site, test in found if test is None]
    more = listed(list(dict.fromkeys(located(trace, site) for site in bare if site is not None)))
    edits = [here.replace(test, f"self.training and {here.file.text(test)}") for test in tests.values()]
    return (
        ": "
        + ", and ".join(f"{text} ({listed(at)})" for text, at in told.items())
        + (f"; the same for {more}, which no condition holds back" if more else ""),
        tuple(edit for one in edits for edit in one) if not bare else (),
    )


def _nearest_method(trace: Trace, site: Site) -> Site | None:
    frames = (frame for frame in site.stack[::-1] if frame.kind == "user")
    return next((frame for frame in frames if in_method(trace, frame)), None)


def _asks_the_mode(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "training" for node in ast.walk(test))


def _condition(trace: Trace, site: Site) -> ast.expr | None:
    """The plain condition under which the draw, or a call of the same class that leads to it, stands."""
    for frame in [frame for frame in site.stack[::-1] if frame.kind == "user"][:2]:
        file = trace.source_file(frame.path)
        inner: ast.AST | None = None
        for node in file.around(frame):
            if isinstance(node, FUNCTIONS):
                break
            alone = isinstance(node, ast.If) and not node.orelse
            if (
                alone or (isinstance(node, ast.IfExp) and inner is node.body)
            ) and frame.path == site.user.path:
                test = node.test  # type: ignore[attr-defined]
                plain = not isinstance(test, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr))
                plain = plain and "\n" not in file.text(test)
                return test if plain and in_method(trace, frame) else None
            inner = node
    return None


def _told_of_the_mode(attention: bool, rate: object, text: str) -> str:
    if attention:
        return f"pass `dropout_p={rate} if self.training else 0.0` to {text}"
    return f"pass `training=self.training` to {text}"


def _rate(trace: Trace, site: Site, rate: object) -> object:
    """What the call at `site` says of `dropout_p`, where that is a name or a number; else the number that it was."""
    node = trace.source_file(site.path).at(site)
    given = [k.value for k in node.keywords if k.arg == "dropout_p"] if isinstance(node, ast.Call) else []
    plain = isinstance(given[0], (ast.Name, ast.Attribute, ast.Constant)) if given else False
    return ast.unparse(given[0]) if plain else rate


def _written_out(trace: Trace, site: Site, op: object) -> bool:
    """Whether the call says `True` for its mode, or takes it from something else than the module."""
    node = trace.source_file(site.path).at(site)
    if not isinstance(node, ast.Call):
        return False
    place = 13 if op == HEADS else 2
    given = [k.value for k in node.keywords if k.arg in ("training", "train")] + node.args[place : place + 1]
    return any(not isinstance(a, ast.Attribute) or a.attr != "training" for a in given)


def _following(trace: Trace, site: Site, attention: bool, rate: object) -> tuple[Edit, ...]:
    if not in_method(trace, site):
        return ()
    if attention:
        return with_argument(
            trace, site, "dropout_p", f"{_rate(trace, site, rate)} if self.training else 0.0", 4
        )
    return with_argument(trace, site, "training", "self.training", 2)


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


KEEPING = {
    "to", "cuda", "cpu", "float", "double", "half", "long", "unsqueeze", "squeeze", "view", "reshape", "expand",
    "repeat", "clone", "detach", "flatten", "permute", "transpose", "contiguous", "zeros", "ones", "full", "tensor",
    "zeros_like", "ones_like", "linspace", "arange", "from_numpy", "as_tensor", "stack", "cat",
}  # fmt: skip


def asked_again(known: Calls, call: Call) -> set[int]:
    """How often the model is asked from there in a row, where a loop does so several times without a change of the
    input; nothing where none does."""
    sites = {c.event.site.id for c in known.all if c.entry.location() == call.entry.location() and not c.used}
    asked = set(times_asked(known.trace, sites))
    return asked if max(asked, default=0) > 1 and _in_steady_loop(known.trace, call.entry) else set()


def _in_steady_loop(trace: Trace, entry: Site) -> bool:
    """Whether the innermost loop around a call gives it the same arguments each time."""
    for frame in reversed(list(entry.stack)):
        if frame.kind != "user":
            continue
        around = list(trace.source_file(frame.path).around(frame))
        loop = next((n for n in around if isinstance(n, (ast.For, ast.While, *COMPREHENSIONS))), None)
        if loop is not None:
            asked = list(ast.walk(around[0]))
            given = [n for n in asked if isinstance(n, ast.Call) and n is not around[0]]
            changed = names_in(around[0]) & names_in(loop, ast.Store)
            return not changed and all(_keeps(n.func) for n in given)
    return False


def _keeps(function: ast.expr) -> bool:
    """Whether a call in the arguments gives the same for the same, as far as its name says."""
    return isinstance(function, ast.Attribute) and function.attr in KEEPING
