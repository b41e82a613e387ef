"""Errors of `backward()` and `autograd.grad()` themselves."""

from __future__ import annotations

import ast

from gradscope.analysis.branches import constants, zero_with_graph
from gradscope.analysis.words import code, listed, located, quoted, source
from gradscope.crashes import (
    Crash,
    Place,
    Subject,
    Tensor,
    computed,
    explain,
    facts,
    nowhere,
    with_gradient,
    without_gradient,
)
from gradscope.model import Graph, Node, Site

INFINITE = (
    "Sqrt",
    "Rsqrt",
    "Log",
    "Norm",
    "LinalgVectorNorm",
    "Div",
    "Reciprocal",
    "Acos",
    "Asin",
    "Std",
    "Cdist",
)


def _of_constants(crash: Crash) -> dict[str, str]:
    found = constants(crash.trace, crash.site)
    texts = list(dict.fromkeys(code(crash.trace, one.made) for one in found))
    return {
        "names": listed([quoted(name) for name in dict.fromkeys(one.name for one in found)]),
        "instead": f"{'each is' if len(found) > 1 else 'it is'} {listed(texts)}",
        "loss": crash.receiver or "loss",
        "zero": f"`{zero_with_graph(found)}` in place of {listed(texts)}",
    }


def _infinite(crash: Crash) -> Place | None:
    """Where the NaN comes from: the named node, or what passed it an infinite gradient. A product or
    power of finite numbers makes no NaN of a finite gradient."""
    name = crash.match[1]
    for graph in reversed(crash.trace.graphs):
        named = _said(crash, [node for node in graph.nodes if node.name == name and node.site is not None])
        if not named:
            continue
        node = named[-1]
        mild = not name.startswith(INFINITE) and not (name == "PowBackward0" and _is_root(crash, node))
        if mild and (behind := _behind(graph, node)) is not None and behind.site is not None:
            return (
                behind.site.user,
                f"its derivative is infinite at 0 (`{behind.name}`), `{name}` makes NaN of it",
            )
        lines = {each.site.user.location() for each in named if each.site is not None}
        return (node.site.user, f"its forward ran here (`{name}`)") if len(lines) == 1 and node.site else None
    return None


def _said(crash: Crash, nodes: list[Node]) -> list[Node]:
    """Those of the nodes that were made at the line which anomaly mode names, the innermost that has any; where it
    is not known, of powers those that are roots."""
    for line in reversed(crash.event.forward):
        if here := [node for node in nodes if node.site is not None and node.site.user.location() == line]:
            return [node for node in here if _is_root(crash, node)] or here
    return [node for node in nodes if _is_root(crash, node)] or nodes


def _is_root(crash: Crash, node: Node) -> bool:
    """Whether a node is a power whose exponent the text gives as a number below 1: its derivative is infinite
    at 0."""
    if node.name != "PowBackward0" or node.site is None:
        return False
    match crash.trace.source_file(node.site.user.path).at(node.site.user):
        case (
            ast.BinOp(op=ast.Pow(), right=exponent)
            | ast.Call(func=ast.Attribute(attr="pow"), args=[*_, exponent])
        ):
            return _below_one(exponent)
    return False


def _below_one(exponent: ast.expr) -> bool:
    match exponent:
        case ast.UnaryOp(op=ast.USub()):
            return True
        case ast.Constant(value=float(value)):
            return value < 1
        case ast.BinOp(
            op=ast.Div(), left=ast.Constant(value=int(above)), right=ast.Constant(value=int(below))
        ):
            return above < below
    return False


def _behind(graph: Graph, start: Node) -> Node | None:
    """The nearest node between `start` and the loss whose derivative can be infinite."""
    users: dict[int, list[Node]] = {}
    for node in graph.nodes:
        for edge in node.edges:
            users.setdefault(edge.target, []).append(node)
    waiting, seen = [start], {start.index}
    for node in waiting:
        if node.name.startswith(INFINITE):
            return node
        fresh = [user for user in users.get(node.index, ()) if user.index not in seen]
        seen.update(user.index for user in fresh)
        waiting += fresh
    return None


def _derivative(crash: Crash) -> Place | None:
    """Where the op was called that has no (second) derivative."""
    name = (
        (crash.match[1] or crash.match[2]).split("::")[-1].split(":")[0].strip("_").removesuffix("_backward")
    )
    for graph in reversed(crash.trace.graphs):
        for op in reversed(graph.ops):
            if op.name.strip("_") == name or op.name.endswith(f"_{name}"):  # `special_zeta` for `zeta`
                return op.site.user, "called here"
    return None


def _without(crash: Crash) -> list[Tensor]:
    """The tensors of which `autograd.grad` was to give gradients, and that require none: as far as the call names
    them, else all that the line names."""
    call = crash.trace.source_file(crash.site.path).at(crash.site)
    given = call.args[1:2] if isinstance(call, ast.Call) else []
    given += [k.value for k in call.keywords if k.arg == "inputs"] if isinstance(call, ast.Call) else []
    named = {
        ast.unparse(node) for argument in given for node in ast.walk(argument) if isinstance(node, ast.expr)
    }
    return [tensor for tensor in crash.tensors if tensor["name"] in named] or crash.tensors[:1]


def _places_made(crash: Crash) -> list[Place]:
    """Where each of them was made, once a line."""
    found: dict[tuple[str, int], Place] = {}
    for tensor in _without(crash):
        site = crash.made(tensor)
        if site is not None and site.location() != crash.site.location():
            found.setdefault(site.location(), (site, f"{quoted(tensor['name'])} is made here"))
    return list(found.values())


def _asked_for(crash: Crash) -> dict[str, str]:
    tensors = _without(crash)
    made = [crash.made(tensor) for tensor in tensors]
    calls = [crash.trace.source_file(site.path).at(site) if site is not None else None for site in made]
    detached = any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "detach"
        for call in calls
    )
    several = len(tensors) > 1
    return {
        "it": listed([quoted(tensor["name"]) for tensor in tensors], limit=6) if several else crash.it,
        "require": "require" if several else "requires",
        "them": "each of them" if several else "it",
        "those": "them" if several else "it",
        "detached": ", or leave `.detach()` out where it cuts off what it was made of" if detached else "",
    }


def _forward(crash: Crash) -> Site | None:
    """The `forward` of a custom Function in which the error was raised, unless gradients were switched on in it."""
    frames = crash.event.site.stack
    for number, frame in enumerate(frames[:-1]):
        if _applies(crash, frame, frames[number + 1]):
            inner = [one for one in frames[number + 1 :] if one.kind == "user"]
            on = any(_enables(crash, one) for one in inner)
            return inner[0] if inner and inner[0].function.endswith(".forward") and not on else None
    return None


def _applies(crash: Crash, frame: Site, inner: Site) -> bool:
    """Whether a frame is torch's `Function.apply`, or calls it where it has no frame (from torch 2.15 on)."""
    if frame.kind == "torch":
        return frame.function.endswith("Function.apply")
    call = crash.trace.source_file(frame.path).at(frame)
    asked = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "apply"
    return asked and inner.function.endswith(".forward")


def _enables(crash: Crash, site: Site) -> bool:
    """Whether a line stands in a block or function that switches gradients on."""
    for node in crash.trace.source_file(site.path).around(site):
        items = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
        items += node.decorator_list if isinstance(node, ast.FunctionDef) else []
        if any("enable_grad" in ast.unparse(item) for item in items):
            return True
    return False


def _applied(crash: Crash) -> Site | None:
    """The user's call of `apply` whose `forward` raised the error."""
    forward = _forward(crash)
    outer = forward.parent if forward is not None else None
    return outer.user if outer is not None else None


def _within(crash: Crash) -> dict[str, str]:
    forward, it = _forward(crash), crash.it
    made = crash.made(crash.subject)
    near = made is not None and made.location() != crash.site.location()
    output = crash.element(0, 0) if "grad(" in source(crash.trace, crash.site) else ""
    of = crash.element(1, 0) if "grad(" in source(crash.trace, crash.site) else ""
    begin = f" (`{of} = {of}.clone().requires_grad_()`)" if of.isidentifier() else ""
    return {
        "function": forward.function if forward is not None else "forward",
        "computed": located(crash.trace, made)
        if near
        else f"what computes {f'`{output}`' if output else it}",
        "asking": located(crash.trace, crash.site),
        "begin": begin,
    }


explain(
    "backward-of-non-scalar",
    "grad can be implicitly created only for scalar outputs",
    "{it} has more than one element: a gradient of it needs weights for each",
    why="backward starts from one number, the loss; with several numbers torch cannot know how much each"
    " counts",
    fix="make one number of it first (`.sum()` or `.mean()` of {it}), or pass the weights:"
    " `backward(gradient=…)`",
    of=Subject(made="this has several elements", fits=computed, of_receiver=True),
)
explain(
    "backward-of-complex",
    "grad can be implicitly created only for real scalar outputs",
    "{it} is complex: a loss has to be real",
    why="a gradient says how to make a number smaller, and complex numbers have no order",
    fix="take a real number of it (`.abs()`, `.real`), or pass `gradient=…`",
    of=Subject(made="this is complex", of_receiver=True),
)
explain(
    "backward-without-inputs",
    r"[`']inputs[`'] argument to `?backward\(\)`? cannot be empty",
    "`backward(inputs=…)` was given an empty list",
    why="`inputs` names the tensors that get a gradient; often the list is a generator that was used up"
    " before",
    fix="pass the tensors, or leave `inputs` out to reach every leaf",
    cause=nowhere,
)
explain(
    "gradient-of-other-shape",
    r"Mismatch in shape: grad_output\[\d+\] has a shape of torch.Size\(\[(.*?)\]\) and output\[\d+\] has a"
    r" shape of torch.Size\(\[(.*?)\]\)",
    "the gradient passed to backward has shape [{0}], what it belongs to has shape [{1}]",
    why="`gradient` (`grad_outputs`) gives each element of the output its weight, so both have one shape",
    fix="pass a gradient of shape [{1}], as in `torch.ones_like(output)`",
)
explain(
    "gradient-of-other-batch",
    "If `is_grads_batched=True`, we interpret the first dimension",
    "the batched gradient does not have the output's shape behind its first dimension",
    why="with `is_grads_batched=True` the first dimension counts the gradients, the others are the output's",
    fix="stack gradients of the output's shape: `torch.stack([g1, g2])`",
)
explain(
    "gradient-of-other-dtype",
    "Mismatch in dtype: grad_output",
    "the gradient passed to backward is complex where the output is real, or the reverse",
    why="the gradient of a real output is real",
    fix="pass a gradient of the output's dtype",
)
explain(
    "gradients-miscounted",
    r"got (\d+) tensors and (\d+) gradients",
    "backward was given {0} outputs and {1} gradients",
    why="each output needs its own gradient; `None` stands for 1 where the output is a scalar",
    fix="pass as many gradients as outputs (`None` for scalars)",
    cause=nowhere,
)
explain(
    "input-without-gradient",
    "One of the differentiated Tensors does not require grad",
    "a gradient is asked for {it}, which {require} none",
    why="only tensors that required a gradient before the output was computed are part of its graph",
    fix="call `requires_grad_()` on {them} before the output is computed from {those}{detached}",
    of=Subject(fits=without_gradient, any_of=True),
    cause=lambda crash: next(iter(_places_made(crash)), None),
    seen=lambda crash: [facts(tensor) for tensor in _without(crash)],
    words=_asked_for,
    related=lambda crash: _places_made(crash)[1:],
)
explain(
    "backward-within-a-forward",
    "does not require grad and does not have a grad_fn",
    "{it} has no graph to go back through: in `{function}` gradients are off",
    why="`torch.autograd.Function.apply` runs `forward` with gradients switched off, and all that it calls: what is"
    " computed there has no graph, whatever it is computed from",
    fix="switch them on where the derivative is taken: `with torch.enable_grad():` around {computed} and {asking},"
    " and begin with an input that requires a gradient{begin}",
    of=Subject(fits=without_gradient, of_receiver=True),
    when=lambda crash: _forward(crash) is not None,
    cause=lambda crash: (
        (applied, "runs `forward` with gradients off") if (applied := _applied(crash)) else None
    ),
    words=_within,
)
explain(
    "backward-of-constants",
    "does not require grad and does not have a grad_fn",
    "{it} has no graph to go back through this time: {names} must have been new numbers",
    why="earlier passes of this line had a graph, from the lines that compute {names}; where their condition is not"
    " met, {instead}, which depends on no parameter",
    fix="leave the pass out where there is nothing to learn from (`if {loss}.requires_grad:`), or begin with a zero"
    " that has a graph: {zero}",
    of=Subject(fits=without_gradient, of_receiver=True),
    when=lambda crash: bool(constants(crash.trace, crash.site)),
    cause=lambda crash: (constants(crash.trace, crash.site)[0].made, "a new number: it has no graph"),
    words=_of_constants,
    related=lambda crash: [
        *((one.made, "and here") for one in constants(crash.trace, crash.site)[1:]),
        *((one.computed, f"`{one.name}` has a graph here") for one in constants(crash.trace, crash.site)),
    ],
)
explain(
    "backward-without-graph",
    "does not require grad and does not have a grad_fn",
    "{it} has no graph to go back through",
    why="nothing it was computed from requires a gradient, or the graph was cut on the way (`detach()`,"
    " `no_grad()`, a new tensor made of numbers)",
    fix="compute it from parameters that require a gradient, with gradients on",
    of=Subject(fits=without_gradient, of_receiver=True),
)
explain(
    "backward-of-number",
    r"'(float|int)' object has no attribute 'backward'",
    "`backward()` was called on a Python {0}: the graph stayed behind when it was made a number",
    why="`.item()`, `float()` and sums of them give numbers without a graph",
    fix="keep the tensor for `backward()`, and take `.item()` of it only for showing",
)
explain(
    "backward-of-collection",
    r"'(list|tuple|dict)' object has no attribute 'backward'",
    "`backward()` was called on a {0}: it starts from one tensor",
    why="a function that returns several values gives a tuple; losses that were collected stand in a list or dict",
    fix="take the loss out first (`loss, parts = …`), or add them up: `sum(losses).backward()`",
    cause=nowhere,
)
explain(
    "backward-of-none",
    "'NoneType' object has no attribute 'backward'",
    "`backward()` was called on None: what was to give the loss returned nothing",
    why="a function that ends without `return` gives None",
    fix="end the function that computes the loss with `return loss`",
)
explain(
    "no-derivative",
    r"[Tt]he derivative for '([^']+)' is not implemented|derivative for (?:aten::)?(\w+) is not implemented",
    "an operation on the way has no derivative in torch: `{0}{1}`",
    why="torch can compute this operation but not go back through it; for a name that ends in `_backward`"
    " it is the second derivative that is missing (`create_graph=True`)",
    fix="write it with operations that have one, or `detach()` its input where no gradient is needed",
    cause=_derivative,
)
explain(
    "backward-made-nan",
    r"Function '(\w+)' returned nan values in its (\d+)",
    "the gradient of `{0}` is NaN: anomaly mode stops at the first",
    why="its derivative is not finite at these inputs, as sqrt and norm at 0, log of 0, 0/0; a mask"
    " (`torch.where`) after it does not help, since 0 times infinity is NaN",
    fix="keep its input away from that point (`clamp(min=eps)`, `+ eps` inside), or mask before it",
    cause=_infinite,
)
explain(
    "hessian-of-several",
    r"The Tensor returned by the function given to (\w+) should contain a single element",
    "the function given to `{0}` returned more than one number",
    why="second derivatives are those of one number",
    fix="return `.sum()` or `.mean()` of it",
    cause=nowhere,
)
explain(
    "gradcheck-differs",
    "Jacobian mismatch for output (\\d+) with respect to input (\\d+)",
    "the gradient of output {0} for input {1} is not the one that small steps measure",
    why="the backward is wrong, or the function is not deterministic, or its inputs are not float64, or lie at"
    " a kink",
    fix="compare the two Jacobians in the message; where the numerical one is right, the backward is wrong",
)
explain(
    "gradcheck-without-inputs",
    "gradcheck expects at least one input tensor to require gradient",
    "`gradcheck` was given no input that requires a gradient",
    why="it compares gradients, and there is none to compare",
    fix="make the inputs with `requires_grad=True`, in float64",
    of=Subject(fits=without_gradient),
)
explain(
    "output-without-gradient",
    "Output (\\d+) of the user-provided function does not require gradients",
    "output {0} of the function does not depend on its input: strict mode refuses a gradient of zeros",
    why="the graph from input to output is cut, or the output is a constant",
    fix="compute the output from the argument that the function is given, without `detach()` or numbers",
)
explain(
    "clip-of-non-finite",
    "The total norm of order .* for gradients from `parameters` is non-finite",
    "the gradients hold NaN or infinity: their norm cannot be clipped",
    why="one non-finite element makes the norm of all non-finite",
    fix="find what made it (GS701 names the line), or skip the step",
)
explain(
    "numpy-of-graph",
    r"Can't call numpy\(\) on Tensor that requires grad",
    "{it} carries a graph, which numpy would lose silently",
    why="numpy works on the same memory without autograd's knowledge, so torch asks that the cut be written"
    " out",
    fix="take `.detach().numpy()` of {it} where no gradient is to flow through it",
    of=Subject(made="its graph comes from here", fits=with_gradient, any_of=True),
)
