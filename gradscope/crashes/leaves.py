"""Errors about what a tensor is: a leaf or computed, of integers, with or without a graph."""

from __future__ import annotations

from gradscope.analysis.failures import opening
from gradscope.analysis.words import code
from gradscope.crashes import Crash, Subject, computed, explain, of_integers, with_gradient, without_gradient
from gradscope.model import Region


def _off(crash: Crash) -> Region | None:
    """The block under which the tensor lost its graph, though what it was computed from requires a gradient."""
    tensor = crash.subject
    if tensor is None or crash.event.graph < 0 or not tensor["site"]:
        return None
    graph = crash.trace.graph(crash.event.graph)
    for made in reversed(graph.values):
        if made.site is not None and made.site.id == tensor["site"] and list(made.shape) == tensor["shape"]:
            for index in graph.upstream(made.index):
                number = graph.values[index].op
                op = graph.ops[number] if number is not None else None
                if op is not None and op.cut in ("no_grad", "inference_mode") and op.region is not None:
                    return crash.trace.regions.get(op.region)
            return None
    return None


explain(
    "gradient-of-integers",
    r"[Oo]nly Tensors of floating point (?:and complex )?dtype can require gradients",
    "{it} holds integers (or booleans): only real and complex numbers can have a gradient",
    why="a gradient is the effect of a tiny change, and integers have none",
    fix="make it of floats (`torch.tensor([1.0, 2.0])`, `dtype=torch.float32`, `.float()`); labels and indices"
    " need no gradient",
    of=Subject(fits=of_integers, any_of=True),
)
explain(
    "data-of-integers",
    "data set to a tensor that requires gradients must be floating point",
    "integers were put into {it}, which requires a gradient",
    why="only real and complex numbers can have a gradient",
    fix="convert what is put there: `.float()`",
    of=Subject(of_receiver=True),
)
explain(
    "requires-grad-of-computed",
    "you can only change requires_grad flags of leaf variables",
    "`requires_grad` of {it} was switched off, but it is computed from what requires a gradient",
    why="whether a computed tensor carries a gradient follows from what it was computed from; the switch is"
    " for leaves",
    fix="take `.detach()` of {it}, compute it inside `with torch.no_grad():`, or freeze the parameters it comes"
    " from",
    of=Subject(made="computed here", fits=computed, of_receiver=True),
)
explain(
    "hook-under-no-grad",
    "cannot register a hook on a tensor that doesn't require gradient",
    "a gradient hook was put on {it}, which was computed while gradients were off: it requires none",
    why="what is computed under `no_grad` or `inference_mode` has no graph, also where parameters that require a"
    " gradient have a part in it; a hook runs when backward computes the tensor's gradient",
    fix="take the forward call out of {block}; `requires_grad_()` on {it} would not bring its graph back",
    of=Subject(fits=without_gradient, of_receiver=True),
    cause=lambda crash: (
        (opening(crash.trace, region.site.user), "gradients are off from here on")
        if (region := _off(crash)) is not None
        else None
    ),
    when=lambda crash: _off(crash) is not None,
    words=lambda crash: (
        {"block": code(crash.trace, opening(crash.trace, region.site.user), "the block")}
        if (region := _off(crash)) is not None
        else {}
    ),
)
explain(
    "hook-without-gradient",
    "cannot register a hook on a tensor that doesn't require gradient",
    "a gradient hook was put on {it}, which requires no gradient: it would never run",
    why="hooks run when backward computes the gradient of this tensor, and it computes none",
    fix="call `requires_grad_()` on it first, or put the hook on a tensor that a parameter is computed into",
    of=Subject(fits=without_gradient, of_receiver=True),
)
explain(
    "post-accumulate-hook-on-computed",
    "post accumulate grad hooks cannot be registered on non-leaf tensors",
    "a post-accumulate hook was put on {it}, which is computed and keeps no gradient",
    why="such hooks run when `.grad` of a leaf was filled",
    fix="use `register_hook` on it, or put this one on the parameter it comes from",
    of=Subject(made="computed here", fits=computed, of_receiver=True),
)
explain(
    "retain-grad-without-gradient",
    "can't retain_grad on Tensor that has requires_grad=False",
    "`retain_grad()` was called on {it}, which requires no gradient",
    why="there will be no gradient to keep: it was not computed from a parameter, or gradients were off",
    fix="compute it from what requires a gradient, or call `requires_grad_()` if it is a leaf",
    of=Subject(fits=without_gradient, of_receiver=True),
)
explain(
    "copy-of-computed",
    r"Only Tensors created explicitly by the user \(graph leaves\) support the deepcopy",
    "{it} has a graph behind it, and was deep-copied",
    why="a copy of a computed tensor would have to copy the graph behind it; most often a module keeps an"
    " activation or a loss as an attribute (`self.last = output`), or old `weight_norm` computes its weight"
    " before each call",
    fix="keep `.detach()` of it instead; copy with `.detach().clone()`; for a module, `load_state_dict` into a new"
    " one, or `nn.utils.parametrizations.weight_norm`",
    of=Subject(made="computed here, and kept", fits=computed, any_of=True),
)
explain(
    "computed-sent-to-process",
    "Cowardly refusing to serialize non-leaf tensor",
    "a tensor with a graph was sent to another process",
    why="a graph lives in one process; the receiver could not go back through it",
    fix="send `.detach()` of it",
    of=Subject(made="computed here", fits=computed, any_of=True),
)
explain(
    "gradient-assigned-of-other-shape",
    r"attempting to assign a gradient of size '\[(.*?)\]' to a tensor of size '\[(.*?)\]'",
    "a gradient of shape [{0}] was assigned to a tensor of shape [{1}]",
    why="`.grad` holds one number for each element of its tensor",
    fix="assign a tensor of shape [{1}]",
)
explain(
    "gradient-assigned-of-other-dtype",
    r"attempting to assign a gradient with dtype '(\w+)' to a tensor with grad_dtype '(\w+)'",
    "a gradient of dtype {0} was assigned to a tensor whose gradient is {1}",
    why="optimizers take a gradient of the parameter's own dtype",
    fix="convert it: `p.grad = g.to(p.dtype)`",
)
explain(
    "gradient-assigned-no-tensor",
    r"assigned grad expected to be a Tensor or None but got grad of type '?(\w+)",
    "a {0} was assigned to `.grad`, which takes a tensor or None",
    why="a gradient has one number for each element of its tensor",
    fix="assign a tensor (`torch.full_like(p, value)`), or None to clear it",
)
explain(
    "detach-in-place-of-view",
    "Can't detach views in-place",
    "`detach_()` was called on {it}, a view: it shares its graph with what it is a view of",
    why="a view cannot leave the graph alone while its base stays in it",
    fix="use `.detach()`, which gives a new tensor on the same memory",
    of=Subject(made="the view is made here", of_receiver=True),
)
explain(
    "resize-with-gradient",
    "cannot resize variables that require grad",
    "{it} requires a gradient and was resized in place",
    why="what autograd saved of it has the old shape",
    fix="make a new tensor (`reshape`, `torch.cat`, `F.pad`), or resize `.detach()` of it",
    of=Subject(fits=with_gradient, of_receiver=True),
)
