"""Where a value got what it has (its device, its dtype), and what the user calls it."""

from __future__ import annotations

from gradscope.analysis.names import names_of
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.words import code, parameter_names, tensor_variable, user
from gradscope.model import Site, Value
from gradscope.store import Trace

MAX_HOPS = 10_000


def belongs(known: Paths, key: Key) -> bool:
    """Whether the value is a module's: one of its parameters or buffers."""
    if known.value(key).kind in ("parameter", "buffer"):
        return True
    parameter = known.parameter_of(key)
    return parameter is not None and parameter.registered


def value_name(trace: Trace, known: Paths, key: Key) -> str:
    """How a sentence names a value: "`fc.weight`", "a buffer of `bn`", "`x`", "a tensor"."""
    value = known.value(key)
    parameter = known.parameter_of(key)
    if parameter is not None and parameter.name:
        return parameter_names(trace, [parameter.id])
    module = trace.modules.get(value.module) if value.module is not None else None
    if module is not None:
        return f"a buffer of `{module.path or module.cls}`"
    name = tensor_variable(trace, user(value.site)) or names_of(trace).name(known.graph(key[0]), key[1])
    return f"`{name}`" if name else code(trace, user(value.site), "a tensor")


def shape_words(value: Value) -> str:
    return f"({'×'.join(map(str, value.shape))})" if value.shape else "(a number)"


def became(trace: Trace, known: Paths, key: Key) -> tuple[Site | None, str]:
    """The user's line from which on a value has its dtype, and how: by a conversion, or where the
    first tensor of that dtype was made. (None, …) for what belongs to a module."""
    value = known.value(key)
    dtype = value.dtype
    for _ in range(MAX_HOPS):
        graph = known.graph(key[0])
        value = graph.values[key[1]]
        if belongs(known, key):
            return None, "as its module has it"
        if value.op is None:
            if value.origin is None or value.origin[1] >= len(known.graph(value.origin[0]).values):
                return user(value.site), "first seen there"
            key = value.origin
            continue
        op = graph.ops[value.op]
        same = [i for i in op.inputs if graph.values[i].dtype == dtype]
        if not same:
            how = f"by {code(trace, op.site.user, f'`{op.name}`')}" if op.inputs else "made there"
            return op.site.user, how
        data = [i for i in same if not belongs(known, (key[0], i))]
        key = (key[0], (data or same)[0])
    return user(value.site), "first seen there"
