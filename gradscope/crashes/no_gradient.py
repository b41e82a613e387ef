"""A gradient that is None where it is used."""

from __future__ import annotations

import ast

from gradscope.analysis.words import code, owner, parameter_name, source
from gradscope.crashes import Crash, Place, Subject, explain
from gradscope.events import Backward, RequiresGrad, ZeroGrad
from gradscope.model import Parameter
from gradscope.source import names_in


def _reads_grad(crash: Crash) -> bool:
    return ".grad" in source(crash.trace, crash.site)


def _holder(crash: Crash) -> str:
    """What `.grad` is taken of in the failing expression."""
    return owner(source(crash.trace, crash.site), "grad")


def _parameter(crash: Crash) -> Parameter | None:
    """The parameter that the tensor without a gradient is, where the run tells."""
    t = crash.subject
    same = [
        p
        for p in crash.trace.parameters
        if t is not None
        and p.site is not None
        and (p.site.id, list(p.shape), p.requires_grad) == (t["site"], t["shape"], t["requires_grad"])
    ]
    return same[0] if len(same) == 1 else None


def _none_since(crash: Crash) -> Place | None:
    """The line that switched it off, or that cleared it after the last pass."""
    found, made = _parameter(crash), crash.made(crash.subject)
    first = (made, "made here") if made is not None else None
    if found is None:
        return first
    off = [e for e in crash.trace.of(RequiresGrad) if e.parameter == found.id and not e.to]
    if off and not found.requires_grad:
        return off[-1].site.user, "requires_grad is switched off here"
    cleared = _cleared(crash, found)
    return (cleared.site.user, "its gradient is cleared here") if cleared is not None else first


def _cleared(crash: Crash, parameter: Parameter) -> ZeroGrad | None:
    """What cleared its gradient, where no pass ran since."""
    clears = [e for e in crash.trace.of(ZeroGrad) if parameter.id in e.parameters]
    passes = crash.trace.of(Backward)
    if not clears or not any(parameter.id in e.filled for e in passes):
        return None
    since = [e for e in passes if (e.segment, e.position) > (clears[-1].segment, clears[-1].position)]
    return None if since else clears[-1]


def _of_no_gradient(crash: Crash) -> dict[str, str]:
    t, trace, found = crash.subject, crash.trace, _parameter(crash)
    name, text = parameter_name(trace, found.id) if found is not None else "", crash.it.strip("`")
    left_out = (
        f"leave out what has none, as torch's own optimizers do: `if {text}.grad is None: continue`"
        if _in_loop(crash)
        else f"use it only `if {text}.grad is not None`"
    )
    why = f"`gradscope why {name or 'NAME'}`"
    if t is not None and not t["is_leaf"]:
        because, todo = "only leaves keep theirs", f"call `retain_grad()` on {crash.it} before `backward()`"
    elif t is not None and not t["requires_grad"]:
        because = "it does not require one"
        todo = f"{left_out}; or set `requires_grad_(True)` before the forward, if it is to be trained"
    elif found is not None and (cleared := _cleared(crash, found)) is not None:
        because = f"{code(trace, cleared.site.user, 'that line')} cleared it after the last backward pass"
        todo = "use it before it is cleared, or call `backward()` first"
    elif trace.of(Backward):
        because = "no backward pass that ran has reached it"
        todo = f"{why} says where its way to the loss ends; where it is to have none, {left_out}"
    else:
        because = "no backward has put one there"
        todo = f"call `backward()` before; {why} says why a tensor gets none"
    one = crash.it if not name or name == text else f"{crash.it} (`{name}`)"
    return {"one": one, "because": because, "todo": todo}


def _in_loop(crash: Crash) -> bool:
    """Whether the failing line is in a loop over the tensors."""
    around = crash.trace.source_file(crash.site.path).around(crash.site)
    return any(isinstance(one, ast.For) and crash.it.strip("`") in names_in(one.target) for one in around)


explain(
    "gradient-is-none",
    r"(?:'NoneType' object has no attribute '(?:zero_|data|norm|detach\w*|clone|mul_|add_|div_|clamp_|abs|mean|sum"
    r"|copy_|fill_|view|flatten|shape|dtype|device|item|cpu|is_sparse)'"
    r"|unsupported operand type\(s\) for [^:]+: .*'NoneType')",
    "the gradient of {one} is None where it is used: {because}",
    why="`.grad` is None until a backward pass reaches the tensor, it is None again after"
    " `zero_grad()`, and it stays None for tensors that require no gradient, that are no leaves or that are not part"
    " of the loss",
    fix="{todo}",
    when=_reads_grad,
    of=Subject(about=_holder),
    cause=_none_since,
    words=_of_no_gradient,
    parameter=_parameter,
)
