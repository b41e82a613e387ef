"""A module holds layers or trained tensors that it does not own: no optimizer gets them.

Why: `nn.Module` registers what is assigned to an attribute as a module or an `nn.Parameter`. What
stands in a plain list or dict, a plain tensor that requires a gradient, what a function uses that is
kept as an attribute, and layers made anew in `forward` are not registered: `parameters()`, `to()`,
`train()` and `state_dict()` pass them by.

Fix: use `nn.ModuleList`, `nn.ModuleDict` or `nn.Parameter`, and make layers in `__init__`.

Silent on: parts that are trained all the same (handed to an optimizer or updated by hand), parts
that get no gradient, networks that were loaded and serve as they are.
"""

import ast
from collections.abc import Iterable, Iterator

from gradscope.analysis.calls import calls
from gradscope.analysis.loop import idle, short_lived
from gradscope.analysis.made import assignments, within_a_call
from gradscope.analysis.names import shape_words
from gradscope.analysis.reach import paths
from gradscope.analysis.words import (
    MAX_CODE,
    code,
    holds,
    listed,
    parameter_subjects,
    plural,
    quoted,
    source,
    variable,
    where,
)
from gradscope.analysis.writes import loads_state
from gradscope.events import Backward, ModuleCall, Step, Unregistered
from gradscope.fixes.calls import assigned_value, wrapped_value
from gradscope.fixes.made_once import made_once
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside, line_after
from gradscope.model import Finding, Parameter, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, bound_in, called_name, names_in
from gradscope.store import Trace

HOLDERS = {"list": "nn.ModuleList", "tuple": "nn.ModuleList", "set": "nn.ModuleList", "dict": "nn.ModuleDict"}
OF_LEAVES = {"dict": "nn.ParameterDict"}


def bad_list() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(3, 3) for _ in range(2)]  # cause: GS214
            self.head = nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = torch.relu(layer(x))
            y: torch.Tensor = self.head(x)
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS214
        opt.step()


def good_registered() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
            self.scale = nn.Parameter(torch.ones(3))
            self.order = [self.layers[1], self.layers[0]]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.order:
                x = torch.relu(layer(x))
            y: torch.Tensor = nn.ReLU()(x * self.scale)
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


@rule(
    "GS214",
    name="unregistered-parameter",
    severity="warning",
    over=("GS206", "GS302", "GS601", "GS605"),
    needs=Step,
)
def unregistered_parameter(trace: Trace) -> Iterator[Finding]:
    wanted = _wanted(trace)
    known = {p.id: p for p in trace.parameters if p.id not in wanted}
    alike: dict[tuple[str, str], list[tuple[Unregistered, list[Parameter]]]] = {}  # by class and attribute
    for event in trace.of(Unregistered):
        held = [known[p] for p in event.parameters if p in known]
        lost = [p for p in held if _never_trained(trace, p)]
        module = trace.modules.get(event.module)
        if event.holder == "computed" or not lost or module is None or len(lost) < len(held):
            continue
        if not _serves_as_it_is(trace, lost):
            alike.setdefault((module.cls, event.name), []).append((event, lost))
    for (cls, _), events in alike.items():
        if events[0][0].holder == "function":
            yield _in_a_function(trace, cls, events[0][0], [p for _, lost in events for p in lost])
            continue
        yield _finding(trace, cls, events[0][0], [p for _, lost in events for p in lost], len(events))
    yield from _made_in_forward(trace)


def _wanted(trace: Trace) -> set[int | None]:
    """Leaves whose gradient `autograd.grad` was asked for: the points of a physics-informed loss."""
    return {
        trace.graph(event.graph).values[i].parameter
        for event in trace.of(Backward)
        if event.graph >= 0
        for i in event.inputs
    }


def _never_trained(trace: Trace, p: Parameter) -> bool:
    return p.requires_grad and p.passes >= 2 and not p.optimizers and idle(p)


def _serves_as_it_is(trace: Trace, lost: list[Parameter]) -> bool:
    """Whether the run loaded these parameters, or ran their modules in eval mode only: a judge, a
    fixed feature extractor."""
    ids = {p.id for p in lost}
    graphs = paths(trace)
    for graph in trace.graphs:
        for op in graph.ops:
            made = graphs.parameter_of((graph.id, op.writes[0])) if op.writes else None
            if made is not None and made.id in ids:
                if loads_state(op):
                    return True
    return False


def _finding(trace: Trace, cls: str, event: Unregistered, lost: list[Parameter], models: int) -> Finding:
    """Of `models` modules of one class, whose attribute holds the parameters."""
    kind, name = event.holder, event.name
    first = _made(lost)
    made = _assigned(trace, cls, name, first)
    held = f"`{cls}.{name}`"
    layers = len({trace.modules[p.module].root for p in lost if p.module in trace.modules})
    if kind == "tensor":
        message = f"{held} is a plain tensor: it gets gradients, and no optimizer gets it"
        holder = "nn.Parameter"
        label = "a tensor, no `nn.Parameter`: not registered"
    else:
        what = plural(layers, "layer") if layers else plural(len(lost), "tensor")
        one = (layers or len(lost)) == 1
        holder = HOLDERS.get(kind, "nn.ModuleList") if layers else OF_LEAVES.get(kind, "nn.ParameterList")
        message = (
            f"{held} is a plain {kind}: its {what} {'is' if one else 'are'} not part of"
            f" {'the model' if models == 1 else f'the {models} models'}, and no optimizer gets"
            f" {'it' if one else 'them'}"
        )
        label = f"a plain {kind}: what it holds is not registered"
    target = _target(trace, made, name)
    value = assigned_value(trace, made, target)
    fix = f"write `{target} = {holder}({value if len(value) < MAX_CODE else '…'})`"
    edits = wrapped_value(trace, made, target, holder)
    if len(edits) > 1:
        fix += ", and each list in it as well"
    if kind == "dict" and not event.texts:
        add = "add_module" if layers else "register_parameter"
        fix = f"`{holder}` takes texts as keys only: write `for key, one in {target}.items():"
        fix += f' {target.rpartition(".")[0]}.{add}(f"{name}_{{key}}", one)` behind it'
        edits = ()
    return Finding(
        message=message,
        cause=made,
        cause_label=label,
        effect=event.site.user,
        effect_label="fills gradients that nothing uses",
        related=((first, "makes what it holds"),)
        if first is not None and made is not None and first.location() != made.location()
        else (),
        seen=(
            f"{plural(len(lost), 'parameter')} got a gradient in {max(p.passes for p in lost)} passes"
            " and never changed",
        ),
        fix=f"{fix} ({where(made)})",
        edits=edits,
        subjects=parameter_subjects(p.id for p in lost)
        | {("leaf", p.site.user.location()) for p in lost if p.site is not None},  # GS601's
    )


def _in_a_function(trace: Trace, cls: str, event: Unregistered, lost: list[Parameter]) -> Finding:
    """The attribute is a function, which uses a layer or tensor of the function around it."""
    made = _made(lost)
    assigned = _assigned(trace, cls, event.name, made)
    name = variable(trace, made)
    what = f"`{name}`" if name.isidentifier() else code(trace, made, "what it uses")
    own = name.isidentifier() and beside(trace, made, assigned)
    plain = own and not any((cls, name) in assignments(text) for text in trace.sources.values())
    fix = f"`self.{name} = {name}`" if own else "assign it to an attribute of the module"
    return Finding(
        message=f"`{cls}.{event.name}` is a function, and {what}, which it uses, is not part of the model: no optimizer"
        " gets it",
        cause=assigned,
        cause_label="a function: what it uses is not registered",
        effect=event.site.user,
        effect_label="fills gradients that nothing uses",
        related=((made, "makes what it uses"),)
        if made is not None and assigned is not None and made.location() != assigned.location()
        else (),
        seen=(
            f"{plural(len(lost), 'parameter')} got a gradient in {max(p.passes for p in lost)} passes"
            " and never changed",
        ),
        fix=f"let the module own {what}: {fix} ({where(made)})",
        edits=line_after(trace, made, f"self.{name} = {name}") if plain else (),
        subjects=parameter_subjects(p.id for p in lost)
        | {("leaf", p.site.user.location()) for p in lost if p.site is not None},  # GS601's
    )


def _assigned(trace: Trace, cls: str, name: str, made: Site | None) -> Site | None:
    """Where the attribute gets its value in the class's text; else where the parameters were made."""
    for path, text in trace.sources.items():
        span = assignments(text).get((cls, name))
        if span is not None:
            return Site(-1, path, *span, "__init__", "user")
    return made


def _target(trace: Trace, made: Site | None, name: str) -> str:
    """`self.layers`, as the statement there has it."""
    statement = trace.source_file(made.path).statement(made) if made is not None else None
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    named = (ast.unparse(t) for t in targets if isinstance(t, ast.Attribute) and t.attr == name)
    return next(named, f"self.{name}")


def _made(lost: list[Parameter]) -> Site | None:
    """The user's line that made the parameters, in `__init__` where there is one."""
    for p in lost:
        for frame in p.site.stack[::-1] if p.site is not None else ():
            if frame.kind == "user" and frame.function.endswith("__init__"):
                return frame
    return lost[0].site.user if lost[0].site is not None else None


def _made_in_forward(trace: Trace) -> Iterator[Finding]:
    """The lines of a function that make new layers at every call of the module around it."""
    called: dict[int, Site] = {}
    for module in trace.modules.values():
        if module.root == module.id and module.site is not None and within_a_call(module.site):
            called[module.id] = module.site
    by_line: dict[tuple[str, str], dict[Site, list[Parameter]]] = {}
    used: dict[Site, Site] = {}  # a line that makes layers → the call of the first one
    for p in trace.parameters:
        if p.module in trace.modules and trace.modules[p.module].root in called:
            call = called[trace.modules[p.module].root].user
            made = _maker(p) or call
            used.setdefault(made, call)
            lines = by_line.setdefault((made.path, made.function), {})
            lines.setdefault(_as_known(lines, made), []).append(p)
    for lines in by_line.values():
        anew = {made: own for made, own in lines.items() if _made_again(own)}
        if anew:
            yield _made_anew(trace, anew, used[next(iter(anew))])
    leaves: dict[Site, list[Parameter]] = {}
    for p in trace.parameters:
        if not p.registered and p.site is not None and short_lived(p) and within_a_call(p.site):
            leaves.setdefault(p.site, []).append(p)
    methods: dict[tuple[str, str], dict[Site, list[Parameter]]] = {}
    for site, own in leaves.items():
        made = site.user
        if len(own) < 2 or "Parameter(" not in _function_text(trace, made):
            continue
        target, given = _of_itself(trace, made)
        if target is not None and given is not None:
            yield _in_its_own_place(trace, made, own, target, given)
        else:
            lines = methods.setdefault((made.path, made.function), {})
            lines.setdefault(_as_known(lines, made), []).extend(own)
    for lines in methods.values():
        yield _parameters_anew(trace, lines)


def _as_known(lines: Iterable[Site], made: Site) -> Site:
    """The same place, reached by another way, where it is among these."""
    return next((site for site in lines if site.span() == made.span()), made)


def _maker(p: Parameter) -> Site | None:
    """The call that made the layer, in the function that uses it."""
    frames = p.site.stack[::-1] if p.site is not None else ()
    return next((f for f in frames if f.kind == "user" and not f.function.endswith("__init__")), None)


def _made_again(own: list[Parameter]) -> bool:
    """Whether these are of several layers that one pass each went through, but for those of evaluations."""
    trained = [p for p in own if p.passes]
    unused = all(not p.optimizers and idle(p) for p in own)
    return unused and all(map(short_lived, trained)) and len({p.module for p in trained}) >= 2


def _function_text(trace: Trace, site: Site) -> str:
    """The text of the function that `site` is in, up to it."""
    lines = trace.lines(site.path)[: site.line]
    start = max((n for n, line in enumerate(lines) if line.lstrip().startswith("def ")), default=0)
    return "\n".join(lines[start:])


def _made_anew(trace: Trace, anew: dict[Site, list[Parameter]], used: Site) -> Finding:
    """anew: what each line has made. used: the call of one of them."""
    lines = sorted(anew, key=lambda site: site.line)
    ids = [p.id for own in anew.values() for p in own]
    first, others = lines[0], lines[1:]
    what = code(trace, first, "a layer")
    counts = [len({p.module for p in anew[line]}) for line in lines]
    once = made_once(trace, lines)
    it = "them" if others else "it"
    evaluated = tuple(_in_evaluation(trace, {p.module for own in anew.values() for p in own}))
    message = (
        f"{what} and {plural(len(others), 'other layer')} are made anew at every call: they are never trained"
        if others
        else f"{what} is made anew at every call: it is never trained"
    ) + (f", and `eval()` does not reach {it}" if evaluated else "")
    names = [f"`{name}`" for name in once.attributes]
    text = source(trace, first) or "nn.…(…)"
    if once.at is not None:
        fix = f"make {it} once, in `__init__`, as {listed(names)}, and use that here ({where(once.at)})"
    elif len(kinds := _kinds(anew[first])) > 1:
        fix = (
            f"make one for each place that needs it, in `__init__` (they were of {len(kinds)} kinds here, with"
            f" parameters of {listed(kinds)}), as an `nn.ModuleList`, and use the one that belongs here"
            f" ({where(first)})"
        )
    else:
        name = text.partition("(")[0].rpartition(".")[2].lower()
        fix = (
            f"make {it} once, in `__init__` (`self.{name} = {text}`{_sizes(trace, first, anew[first])}), and use"
            f" `self.{name}` here ({where(first)})"
        )
    return Finding(
        message=message,
        cause=first,
        cause_label="makes a new layer each time",
        effect=_filled(trace, set(ids)),
        effect_label="fills gradients of what is thrown away",
        related=(
            *((line, "makes another one") for line in others),
            *(((used, "runs it"),) if not any(holds(used, line) for line in lines) else ()),
        ),
        seen=(
            f"{max(counts)} were made{' by each of these lines' if others else ' here'}; each got"
            f" {'one gradient' if all(p.passes for own in anew.values() for p in own) else 'one gradient at most'} and"
            " no step",
            *evaluated,
        ),
        fix=fix,
        edits=once.edits,
        count=max(counts),
        subjects=parameter_subjects(ids),
    )


def _kinds(own: list[Parameter]) -> list[str]:
    """The sizes of the layers that one line has made, as they are said, each once."""
    layers: dict[int | None, list[str]] = {}
    for p in own:
        layers.setdefault(p.module, []).append(shape_words(p.shape))
    return list(dict.fromkeys(" and ".join(dict.fromkeys(shapes)) for shapes in layers.values()))


def _sizes(trace: Trace, made: Site, own: list[Parameter]) -> str:
    """What stands there in place of what only the function knows: the sizes that this run had."""
    file = trace.source_file(made.path)
    call, function = file.at(made), file.scope(made)
    given = [*call.args, *(k.value for k in call.keywords)] if isinstance(call, ast.Call) else []
    known_here = bound_in(function) if isinstance(function, FUNCTIONS) else set[str]()
    texts = [f"`{file.text(argument)}`" for argument in given if names_in(argument) & known_here]
    shapes = list(dict.fromkeys(shape_words(p.shape) for p in own))
    had = f": its parameters were of {listed(shapes)}" if shapes else ""
    return f" with a number in place of {listed(texts)}{had}" if texts else ""


def _in_evaluation(trace: Trace, made: set[int | None]) -> Iterator[str]:
    """What norms among these layers did where their model was in evaluation mode."""
    known = calls(trace)
    events = [
        e for e in trace.of(ModuleCall) if not e.training and made & known.made_anew & set(e.train_layers)
    ]
    if events:
        number = sum(event.count for event in events)
        layer = trace.modules[next(one for one in events[0].train_layers if one in made)].cls
        yield (
            f"in {plural(number, 'call')} of {known.name(events[0])} in evaluation mode a new `{layer}` ran in training"
            " mode, as each is made: it takes the statistics of its batch, and `eval()` cannot reach it"
        )


def _parameters_anew(trace: Trace, anew: dict[Site, list[Parameter]]) -> Finding:
    """anew: what each line of one method has made."""
    lines = sorted(anew, key=lambda site: site.line)
    first, others = lines[0], lines[1:]
    ids = [p.id for own in anew.values() for p in own]
    what, count = code(trace, first, "a `Parameter`"), max(map(len, anew.values()))
    once, it = made_once(trace, lines), "them" if others else "it"
    text = source(trace, first) or "nn.Parameter(…)"
    given = [f"`{name}`" for name in once.attributes]
    return Finding(
        message=f"{what} and {plural(len(others), 'other parameter')} are made anew at every call: they are never"
        " trained"
        if others
        else f"{what} is made anew at every call: it is never trained",
        cause=first,
        cause_label="makes a new `Parameter` each time",
        effect=_filled(trace, set(ids)),
        effect_label="fills gradients of what is thrown away",
        related=tuple((line, "makes another one") for line in others),
        seen=(
            f"{count} were made{' by each of these lines' if others else ' here'}; each got one gradient and no step",
        ),
        fix=f"make {it} once, in `__init__`, as {listed(given)}, and use {it} here ({where(first)})"
        if given
        else f"make {it} once, in `__init__`, as an attribute, and use {it} here ({where(first)}): `{text}`",
        edits=once.edits,
        count=count,
        subjects=parameter_subjects(ids),
    )


def _in_its_own_place(
    trace: Trace, made: Site, own: list[Parameter], target: ast.Attribute, given: ast.expr
) -> Finding:
    """What is computed of a parameter is put in its place."""
    ids = {p.id for p in own} | _read_within(trace, made)
    fix, edits = _without_parameter(trace, made, target, given)
    return Finding(
        message=f"{code(trace, made, 'a `Parameter`')} takes the place of `{ast.unparse(target)}` at every call: what"
        " the optimizer holds is never trained",
        cause=made,
        cause_label="makes a new `Parameter` each time",
        effect=_filled(trace, ids),
        effect_label="fills gradients of what is thrown away",
        seen=(f"{len(own)} were made here; each got one gradient and no step",),
        fix=fix,
        edits=edits,
        count=len(own),
        subjects=parameter_subjects(ids),
    )


def _read_within(trace: Trace, made: Site) -> set[int]:
    """The parameters that a line reads."""
    keys = [
        (graph.id, i)
        for graph in trace.graphs
        for op in graph.ops
        if holds(made, op.site.user)
        for i in op.inputs
    ]
    return paths(trace).parameters_in(keys)


def _of_itself(trace: Trace, made: Site) -> tuple[ast.Attribute | None, ast.expr | None]:
    """`self.fc.weight` and `f(self.fc.weight)`, where a statement puts `nn.Parameter` of the one into the other."""
    file = trace.source_file(made.path)
    call, statement = file.at(made), file.statement(made)
    if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
        return None, None
    target = statement.targets[0]
    if not isinstance(call, ast.Call) or not isinstance(target, ast.Attribute) or len(call.args) != 1:
        return None, None
    text = ast.unparse(target)
    inside = any(ast.unparse(n) == text for n in ast.walk(call.args[0]) if isinstance(n, ast.Attribute))
    return (target, call.args[0]) if inside else (None, None)


def _without_parameter(trace: Trace, made: Site, target: ast.Attribute, given: ast.expr) -> tuple[str, Edits]:
    """What is computed of the parameter under a name of its own, and the lines after it that use that."""
    here = Source(trace, made.path)
    text, holder, scope = ast.unparse(target), target.value, here.file.scope_of(target)
    value = here.file.text(given)
    for cut in (".data", ".detach()"):
        value = value.replace(f"{text}{cut}", text)
    name = target.attr if scope is not None and target.attr not in names_in(scope) else f"new_{target.attr}"
    fix = f"compute with {quoted(value)} itself, without `nn.Parameter`"
    edits = here.replace(here.file.statement(made) or target, f"{name} = {value}")
    used = []
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.expr) or node.lineno <= made.end_line:
            continue
        new = ""
        if isinstance(node, ast.Attribute) and ast.unparse(node) == text:
            new = name if isinstance(node.ctx, ast.Load) else ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == ast.unparse(holder):
            new = _called_with(here, node, holder, target.attr, name)
            if not new:
                return fix, ()
        if new:
            used.append(f"`{new}`")
            edits += here.replace(node, new)
    return (f"{fix} ({where(made)}): as `{name}`, and {listed(used)} below", edits) if used else (fix, ())


def _called_with(here: Source, call: ast.Call, holder: ast.expr, attribute: str, name: str) -> str:
    """`layer(x)` with another weight."""
    if call.keywords or not call.args or any(isinstance(a, ast.Starred) for a in call.args):
        return ""
    given, layer = ", ".join(here.file.text(a) for a in call.args), here.file.text(holder)
    made = [called_name(one) for one in here.file.assigned.get(layer, ())]
    if made == ["Linear"] and attribute == "weight" and "F" in here.file.imported:
        made_call = here.file.assigned[layer][0]
        words = made_call.keywords if isinstance(made_call, ast.Call) else []
        bare = any(k.arg == "bias" and ast.unparse(k.value) == "False" for k in words)
        return f"F.linear({given}, {name}{'' if bare else f', {layer}.bias'})"
    if "torch" not in here.file.imported:
        return ""
    return f'torch.func.functional_call({layer}, {{"{attribute}": {name}}}, ({given},))'


def _filled(trace: Trace, ids: Iterable[int]) -> Site | None:
    wanted = set(ids)
    passes = trace.of(Backward)
    for event in passes:
        if wanted & set(event.filled):
            return event.site.user
    return next((event.site.user for event in passes if event.leaves), None)
