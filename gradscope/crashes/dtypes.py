"""Errors about the type of numbers that have no rule, and of arrays that become tensors."""

from __future__ import annotations

from gradscope.crashes import Subject, explain, nowhere, of_integers

explain(
    "mean-of-integers",
    r"(mean|std|var|softmax|norm)\w*\(\): could not infer output dtype\. Input dtype must be either a floating"
    r" point",
    "`{0}` was taken of {it}, which holds integers or booleans",
    why="its result is no integer",
    fix="convert it before: `.float()`",
    of=Subject(fits=of_integers, of_receiver=True),
)
explain(
    "difference-of-booleans",
    r"Subtraction, the `-` operator, with (?:two|a) bool tensors? is not supported",
    "a boolean tensor was subtracted",
    why="booleans are masks, not numbers",
    fix="turn a mask round with `~mask`; for numbers take `.float()` or `.long()` first",
    cause=nowhere,
)
explain(
    "write-of-other-dtype",
    r"result type (\w+) can't be cast to the desired output type (\w+)",
    "an in-place operation has a result of type {0}, but writes to a tensor of type {1}",
    why="in place, the tensor keeps its type, and this one cannot hold the result",
    fix="write `x = x + y` in place of `x += y`, or make the tensor of floats from the start",
    of=Subject(of_receiver=True),
    cause=nowhere,
)
explain(
    "condition-not-boolean",
    r"where expected condition to be a boolean tensor, but got a tensor with dtype (\w+)",
    "`torch.where` was given a condition of type {0}",
    why="it chooses by true and false",
    fix="give it the comparison itself (`x > 0`), or `.bool()`",
    cause=nowhere,
)
explain(
    "index-dtype",
    r"(\w+)\(\): Expected dtype int(?:32/int)?64 for index",
    "`{0}` was given an index that holds no integers of 64 bits",
    why="an index is a whole number",
    fix="convert it: `index.long()`",
    cause=nowhere,
)
explain(
    "input-and-weight-types",
    r"Input type \((.*?)\) and (weight|bias) type \((.*?)\) should be the same",
    "the input is {0}, the layer's {1} {2}",
    why="a layer computes in one type and on one device",
    fix="convert the input (`.float()`, `.to(weight.dtype)`), images of bytes also to 0 to 1 (`/ 255`); or the"
    " model",
    cause=nowhere,
)
explain(
    "array-of-objects",
    r"can't convert np\.ndarray of type numpy\.(object|str|bytes)_",
    "an array of {0}s was to become a tensor",
    why="numpy makes such an array of rows of different length, of None or of text; a tensor holds numbers alone",
    fix="look at what the array is made of; pad rows to one length, give text numbers",
    cause=nowhere,
)
explain(
    "array-with-negative-stride",
    r"At least one stride in the given numpy array is negative",
    "an array that was turned round (`[::-1]`, `flip`) was to become a tensor",
    why="it is a view that reads its memory backwards, which a tensor cannot",
    fix="copy it first: `array.copy()`",
    cause=nowhere,
)
explain(
    "no-dtype-for",
    r"Could not infer dtype of (\w+)",
    "a {0} was put into `torch.tensor(…)`",
    why="a tensor holds numbers alone",
    fix="take out what is no number; a list of tensors is put together by `torch.stack`",
    cause=nowhere,
)
