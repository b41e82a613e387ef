"""Errors of in-place writes that have no rule: no place for the result, or shared memory."""

from __future__ import annotations

from gradscope.crashes import Subject, explain, in_function

explain(
    "write-of-other-shape",
    r"output with shape \[(.*?)\] doesn't match the broadcast shape \[(.*?)\]",
    "an in-place operation has a result of shape [{1}], but writes to a tensor of shape [{0}]",
    why="in place, the result has to fit into the tensor that is written; only the other operand is broadcast",
    fix="write `x = x + y` instead of `x += y` (a new tensor of the larger shape), or bring the other operand to"
    " shape [{0}]",
    of=Subject(of_receiver=True),
    when=lambda crash: not in_function(crash, "_functorch/vmap.py"),
)
explain(
    "write-overlaps-input",
    "some elements of the input tensor and the written-to tensor refer to a single memory location",
    "an in-place operation reads and writes the same memory at shifted places",
    why="its result would depend on the order in which elements are written",
    fix="read from a copy: `x[1:] = x[:-1].clone()`",
)
explain(
    "out-with-gradient",
    r"(\w+)\(\): functions with out=\.\.\. arguments don't support automatic differentiation",
    "`{0}(…, out=…)` was called with a tensor that requires a gradient",
    why="`out=` writes to memory that has no place in the graph",
    fix="leave `out=` out and use the result, or call it inside `with torch.no_grad():`",
)
explain(
    "function-writes-leaf",
    "a leaf Variable that requires grad has been used in an in-place operation",
    "a custom Function wrote to {it} in place, a leaf that requires a gradient",
    why="what `mark_dirty` is called with becomes the result of the Function: a leaf that did would be none,"
    " and its gradient would have no place",
    fix="give the Function a copy (`.clone()`), or compute out of place in its `forward`",
    of=Subject(fits=lambda t: bool(t["is_leaf"] and t["requires_grad"]), any_of=True),
)
explain(
    "saved-hook-writes",
    "A saved tensor pack hook is modifying its input in place",
    "a hook of `saved_tensors_hooks` writes to the tensor that it is given to keep",
    why="the tensor is the forward's own: the write would change the result",
    fix="return a new tensor from the pack hook",
)
explain(
    "item-of-several",
    r"a Tensor with (\d+) elements cannot be converted to Scalar",
    "a number was taken of {it}, which has {0} elements",
    why="`.item()`, `float()` and `int()` need exactly one element; a loss made with `reduction='none'` has one"
    " for each sample",
    fix="take `.mean()` or `.sum()` first, or `.tolist()` for all of them",
    of=Subject(of_receiver=True),
)
