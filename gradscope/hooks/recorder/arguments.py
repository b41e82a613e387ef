"""Which axes a call works on, as the JSON that is kept with its op: {"dims": [0, 1]}, {"at": ":i"},
{"batch_first": true}, {"equation": "ij,jk->ik"}, {"create_graph": true}, {"causal": true}; and the sign of a number
that it multiplies with or divides by: {"sign": -1}; and whether nothing below 0 is left: {"low": 0}.

Only what is the same in every step is kept: graphs that differ in it are different graphs. So the numbers in an
index are left out, and sizes are what the values' shapes tell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from string import ascii_letters
from typing import Any

Told = Callable[[Any, Any], str]
MAX_INDEX = 16  # entries of an index that are told
MAX_EQUATION = 80


def by_name(names: tuple[str, ...], args: Any, kwargs: Any) -> dict[str, Any]:
    """What a call was given, by the names of its parameters, which are in the order of `names`."""
    return dict(zip(names, args, strict=False)) | (kwargs or {})


def _dims(position: int, *names: str) -> Told:
    """The numbers of the axes that stand at `position`, or by one of these names."""

    def told(args: Any, kwargs: Any) -> str:
        given = (
            args[position:] if len(args) > position else [kwargs[n] for n in names if kwargs and n in kwargs]
        )
        return _numbers(given)

    return told


def _dim(position: int, *names: str) -> Told:
    """The same of one argument, which may be a tuple."""

    def told(args: Any, kwargs: Any) -> str:
        if len(args) > position:
            return _numbers(args[position : position + 1])
        return _numbers([kwargs[n] for n in names if n in kwargs]) if kwargs else ""

    return told


def _numbers(given: Any) -> str:
    if len(given) == 1 and type(given[0]) in (tuple, list):
        given = given[0]
    key = tuple(given)
    if not key or any(type(n) is not int for n in key):
        return ""
    return _written(key)


@lru_cache(maxsize=1024)
def _written(given: tuple[int, ...]) -> str:
    return f'{{"dims":[{",".join(map(str, given))}]}}'


def _causal(args: Any, kwargs: Any) -> str:
    """Whether attention is told to let each place see none after it."""
    told = args[5] if len(args) > 5 else (kwargs or {}).get("is_causal")
    return '{"causal":true}' if told is True else ""


def _index(args: Any, kwargs: Any) -> str:
    """A letter for each entry of an index: `i` a number, `:` a slice, `n` None, `.` an ellipsis, `t` any other."""
    if len(args) < 2:
        return ""
    index = args[1] if type(args[1]) is tuple else (args[1],)
    if len(index) > MAX_INDEX:
        return ""
    return f'{{"at":"{"".join([_ENTRIES.get(type(entry), "t") for entry in index])}"}}'


_ENTRIES: dict[type, str] = {int: "i", slice: ":", type(None): "n", type(...): "."}


def _recurrent(args: Any, kwargs: Any) -> str:
    """An RNN's layout; nothing for packed sequences, whose weights stand one place later."""
    if len(args) != 9 or type(args[2]) not in (list, tuple) or type(args[8]) is not bool:
        return ""
    return f'{{"batch_first":{"true" if args[8] else "false"}}}'


def _equation(args: Any, kwargs: Any) -> str:
    """The letters of an `einsum`, where they are given as a text."""
    text = args[0] if args else None
    if type(text) is not str or len(text) > MAX_EQUATION or not set(text) <= _LETTERS:
        return ""
    return f'{{"equation":"{text.replace(" ", "")}"}}'


_LETTERS = set(ascii_letters) | set(",->. ")


def _differentiated(args: Any, kwargs: Any) -> str:
    """Whether a call of `autograd.grad` was to make its gradients a part of the graph."""
    given = args[4] if len(args) > 4 else kwargs.get("create_graph") if kwargs else None
    return '{"create_graph":true}' if given is True else ""


def _sign(args: Any, kwargs: Any) -> str:
    """That of the plain number that a tensor is scaled by."""
    number = args[1] if len(args) > 1 else None
    if type(number) is not float and type(number) is not int:
        return ""
    return '{"sign":1}' if number > 0 else '{"sign":-1}' if number < 0 else ""


def _low(args: Any, kwargs: Any) -> str:
    """Whether the lower bound is the plain number 0."""
    low = args[1] if len(args) > 1 else (kwargs or {}).get("min")
    return '{"low":0}' if type(low) in (float, int) and low == 0 else ""


_ONE = _dim(1, "dim", "axis")
_TWO = _dims(1, "dim0", "axis0", "dim1", "axis1")
AXES: dict[str, Told] = {
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), _TWO),
    "permute": _dims(1, "dims"),
    **dict.fromkeys(("movedim", "moveaxis"), _dims(1, "source", "destination")),
    **dict.fromkeys(
        (
            "sum", "mean", "amax", "amin", "max", "min", "prod", "std", "var", "logsumexp", "softmax", "log_softmax",
            "argmax", "argmin", "median", "gather", "any", "all", "unbind", "select", "index_select", "narrow", "cat",
            "concat", "concatenate", "stack", "nanmean", "sort", "argsort",
        ),
        _ONE,
    ),
    **dict.fromkeys(("split", "chunk", "norm", "normalize", "cosine_similarity", "topk"), _dim(2, "dim")),
    **dict.fromkeys(("vector_norm", "linalg_vector_norm", "linalg_norm"), _dim(2, "dim")),
    "__getitem__": _index,
    **dict.fromkeys(("mul", "div"), _sign),
    **dict.fromkeys(("clamp", "clamp_", "clip", "clip_", "clamp_min", "clamp_min_"), _low),
    "einsum": _equation,
    "grad": _differentiated,
    "scaled_dot_product_attention": _causal,
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), _recurrent),
}  # fmt: skip
