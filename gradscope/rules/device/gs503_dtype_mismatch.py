"""An operation got tensors of dtypes that it does not mix.

Why: layers and matrix products want all their inputs in one dtype, losses on classes and
embeddings want integer indices, other losses want floating point targets. NumPy's default is
float64 and torch's is float32, so data that comes from NumPy meets a model in the other dtype. `.double()` and its
like convert what a module owns, not tensors that it keeps in plain attributes or lists.

Fix: convert where the data enters (`x = x.float()`, `y = y.long()`), or create it in the right
dtype; move the whole model with `.double()` or `.half()` only where that is wanted.

Silent on: errors of any other kind; operations that promote their inputs.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from gradscope.analysis.failures import failure_subject
from gradscope.analysis.names import names_of
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, listed, source, tensor_variable, user, where
from gradscope.events import Crashed, ErrorRaised
from gradscope.fixes.source import Source
from gradscope.fixes.statements import beside, line_after
from gradscope.model import Edit, Finding, Site, Value
from gradscope.rules import rule
from gradscope.rules.device._origins import became, belongs, shape_words, value_name
from gradscope.rules.device._plainly_held import left_behind
from gradscope.source import PRIMARIES
from gradscope.store import Trace

TOLD = re.compile(r"dtype|data ?type|scalar types?|bias type|weight type|result type")
INDICES = re.compile(r"Long or Byte|scalar types: Long|scalar type Long|expected Long")
CHECKED = re.compile(
    r"input dtype \(torch\.(?P<wrong>\w+)\) does not match weight dtype \(torch\.(?P<wanted>\w+)\)"
    r"|input must have the type torch\.(?P<asked>\w+), got type torch\.(?P<got>\w+)"  # before 2.8
)
LATE = re.compile(r"[Ff]ound dtype (\w+) but expected (\w+)")  # of a loss, told by its backward
SCALARS = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16"}
METHODS = {
    "float32": "float()", "float64": "double()", "float16": "half()", "bfloat16": "bfloat16()", "int64": "long()",
    "int32": "int()",
}  # fmt: skip


def bad_numpy_input() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    rows = [[0.0, 1.0, 2.0, 3.0]] * 8
    x = torch.tensor(rows, dtype=torch.float64)  # cause: GS503
    model(x)  # effect: GS503


def good_converted() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    x = torch.tensor([[0.0, 1.0, 2.0, 3.0]] * 8, dtype=torch.float64).float()
    y = torch.zeros(8).long()
    nn.functional.cross_entropy(model(x), y)


@rule("GS503", name="dtype-mismatch", severity="error", needs=(Crashed, ErrorRaised))
def dtype_mismatch(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event in trace.of(ErrorRaised):
        text = event.text
        late = LATE.search(text) if event.where == "backward" else None
        failed = _met_before(known, event, late) if late else event
        if failed.graph >= 0 and failed.where == "op" and TOLD.search(text):
            finding = _explain(trace, known, failed, text)
            if finding is not None:
                yield finding
    for crash in trace.of(Crashed):
        checked = CHECKED.search(crash.text)
        if checked is not None:
            wrong, wanted = checked["wrong"] or checked["got"], checked["wanted"] or checked["asked"]
            yield _of_a_check(trace, crash, wrong, wanted)


def _met_before(known: Paths, event: ErrorRaised, late: re.Match[str]) -> ErrorRaised:
    """The error as if the last call that got both dtypes had raised it; as it is where there is none."""
    mixed = {SCALARS.get(name, name) for name in late.groups()}
    if event.graph < 0:
        return event
    graph = known.graph(event.graph)
    for op in reversed(graph.ops):
        if mixed <= {graph.values[i].dtype for i in op.inputs}:
            data = {**event.data, "where": "op", "op": op.name, "inputs": op.inputs}
            return replace(event, site=op.site, data=data)
    return event


def _of_a_check(trace: Trace, event: Crashed, wrong: str, wanted: str) -> Finding:
    """Of a module that compares dtypes itself, before any operation runs."""
    named = [t for t in event.tensors if t["dtype"] == wrong]
    name = named[0]["name"] if named else "the input"
    made = user(trace.site(named[0].get("site"))) if named else None
    return Finding(
        message=f"`{name}` is {wrong}: the network's weights are {wanted}",
        cause=made or event.site.user,
        cause_label=f"{wrong} here",
        effect=event.site.user,
        effect_label="both meet here",
        seen=(f"{event.type or 'the error'}: input {wrong}, weights {wanted}",),
        fix=f"`{name} = {name}.{METHODS.get(wanted, f'to(torch.{wanted})')}` before the call",
        subjects=frozenset({("dtype", name)}),
    )


def _explain(trace: Trace, known: Paths, event: ErrorRaised, text: str) -> Finding | None:
    values = known.graph(event.graph).values
    inputs = [values[i] for i in dict.fromkeys(event.inputs) if i < len(values)]
    if (found := left_behind(trace, event, inputs, "dtype")) is not None:
        return found
    owned = {v.index for v in inputs if belongs(known, (event.graph, v.index))}
    wrong, wanted = _wrong(inputs, owned, text)
    if wrong is None:
        return None
    effect = event.site.user
    origin, how = became(trace, known, (event.graph, wrong.index))
    subject = value_name(trace, known, (event.graph, wrong.index))
    needs = f"`{event.op or 'the operation'}` needs {wanted}"
    other = next((v for v in inputs if v is not wrong and v.dtype == wanted), None)
    if other is not None:
        needs += f" as {value_name(trace, known, (event.graph, other.index))} is"
    return Finding(
        message=f"{subject} is {wrong.dtype}: {needs}",
        cause=origin or effect,
        cause_label=f"{wrong.dtype} since here ({how})" if origin else f"{wrong.dtype}: {how}",
        effect=effect,
        effect_label="both meet here" if other is not None else "used here",
        seen=(
            listed(
                [
                    f"{value_name(trace, known, (event.graph, v.index))} {shape_words(v)} is {v.dtype}"
                    for v in inputs
                ],
                4,
            ),
        ),
        fix=_fix(trace, (event.graph, wrong.index), wrong, wanted, origin, effect),
        count=event.count,
        edits=_converted(trace, (event.graph, wrong.index), wrong, wanted, effect),
        subjects=frozenset({("dtype", event.graph, wrong.index), failure_subject(event)}),
    )


def _wrong(inputs: list[Value], owned: set[int], text: str) -> tuple[Value | None, str]:
    """The input whose dtype should change, and to what."""
    data = [v for v in inputs if v.index not in owned]
    if INDICES.search(text):
        found = [v for v in data if v.dtype != "int64" and not v.requires_grad]
        return (found[-1] if found else None), "int64"
    floats = [v for v in inputs if v.dtype.startswith(("float", "bfloat"))]
    integers = [v for v in data if v.dtype.startswith(("int", "uint", "bool"))]
    if integers and floats and re.search(r"Long|Int|Bool|Byte|long", text):
        return integers[0], floats[0].dtype
    wanted = next((v.dtype for v in reversed(floats) if v.index in owned), "")
    wrong = [v for v in data if v in floats and v.dtype != wanted]
    if wanted and wrong:
        return wrong[0], wanted
    kinds = list(dict.fromkeys(v.dtype for v in floats))
    if len(kinds) < 2:
        return None, ""
    odd = "float64" if "float64" in kinds else kinds[-1]
    wrong = [v for v in data if v.dtype == odd] or [v for v in floats if v.dtype == odd]
    return wrong[0], next(kind for kind in kinds if kind != odd)


def _fix(trace: Trace, key: Key, wrong: Value, wanted: str, origin: Site | None, effect: Site) -> str:
    made = wrong.site.user if wrong.site is not None else None
    method = METHODS.get(wanted, f"to(torch.{wanted})")
    text = code(trace, origin)
    if made is not None and _within_the_call(trace, key, made, effect) is not None:
        move, text = f"write `{source(trace, made)}.{method}` ({where(made)})", ""
    else:
        name = tensor_variable(trace, made) or names_of(trace).name(trace.graph(key[0]), key[1]) or "x"
        move = f"`{name} = {name}.{method}` before the call"
    if wanted in ("float16", "bfloat16"):
        return f"{move}, or leave the model in {wrong.dtype} and use `torch.autocast`"
    return f"{move}, or where {text} makes it" if text else move


def _within_the_call(trace: Trace, key: Key, made: Site, effect: Site) -> ast.expr | None:
    """The expression that makes a value without a name of its own."""
    node = trace.source_file(made.path).at(made)
    if made == effect or tensor_variable(trace, made) or names_of(trace).name(trace.graph(key[0]), key[1]):
        return None
    return node if isinstance(node, PRIMARIES) else None


def _converted(trace: Trace, key: Key, wrong: Value, wanted: str, effect: Site) -> tuple[Edit, ...]:
    """`x = x.float()` after the line that makes `x`, or `.float()` behind the call that makes it."""
    made = wrong.site.user if wrong.site is not None else None
    name, method = tensor_variable(trace, made), METHODS.get(wanted, f"to(torch.{wanted})")
    if made is None or wrong.requires_grad:
        return ()
    if (node := _within_the_call(trace, key, made, effect)) is not None:
        return Source(trace, made.path).append(node, f".{method}")
    return (
        line_after(trace, made, f"{name} = {name}.{method}") if name and beside(trace, made, effect) else ()
    )
