"""Errors of calling modules, of schedules, and of `torch.compile` and TorchScript."""

from __future__ import annotations

from gradscope.crashes import explain, nowhere

explain(
    "module-without-forward",
    r'Module \[(\w+)\] is missing the required "forward" function',
    "`{0}` was called and has no `forward`",
    why="the method is missing, misspelt or indented into another; a `ModuleList` or `ModuleDict` only holds"
    " layers",
    fix="define `forward` in the class; go through the layers of a `ModuleList` in turn (`for layer in layers: x ="
    " layer(x)`), or use `nn.Sequential`",
    cause=nowhere,
)
explain(
    "sequence-of-functions",
    r"^(?:[\w.]+) is not a Module subclass$",
    "something else than a module was put into a container of modules",
    why="`nn.Sequential` and `nn.ModuleList` hold modules; a function is none",
    fix="use the module of it (`nn.ReLU()` for `F.relu`), with its parentheses",
    cause=nowhere,
)
explain(
    "optimizer-of-a-module",
    r"^'(\w+)' object is not iterable$",
    "an optimizer was given the module `{0}` itself",
    why="it takes the parameters",
    fix="pass `model.parameters()`",
    cause=nowhere,
    when=lambda crash: crash.event.site.under("optim/optimizer.py"),
)
explain(
    "schedule-of-no-optimizer",
    r"^(\w+) is not an Optimizer$",
    "a schedule was made of a {0}",
    why="it sets the learning rates of an optimizer",
    fix="pass the optimizer",
    cause=nowhere,
)
explain(
    "schedule-stepped-too-often",
    r"Tried to step (\d+) times\. The specified number of total steps is (\d+)",
    "a schedule made for {1} steps was stepped {0} times",
    why="it is stepped after each batch and was made for the epochs, or training goes on beyond its end",
    fix="make it with `total_steps=epochs * len(loader)` (or `epochs=` and `steps_per_epoch=`), and step it"
    " once a batch",
    cause=nowhere,
)
explain(
    "heads-of-attention",
    r"embed_dim must be divisible by num_heads",
    "the width of the attention is no multiple of the number of heads",
    why="each head gets an equal part of it",
    fix="choose `embed_dim` as a multiple of `num_heads`",
    cause=nowhere,
)
explain(
    "compile-cannot-follow",
    r"(?s)^(?!.*fake tensor call).{0,400}?Explanation: (.{10,300}?)(?:\n|$)",
    "`torch.compile` could not take the whole function as one graph: {0}",
    why="with `fullgraph=True` it stops where it would otherwise go back to Python",
    fix="leave `fullgraph=True` out, or take that line out of the compiled function",
    cause=nowhere,
    when=lambda crash: crash.event.type == "Unsupported",
)
explain(
    "compiled-call-failed",
    r"(?s)^RuntimeError when making fake tensor call.*?got (\w+)\([\"'](.{5,300}?)[\"']\)",
    "a call in a compiled function does not fit its tensors: {1}",
    why="`torch.compile` goes through the function with the shapes of its arguments before it runs: without it"
    " the same"
    " call fails",
    fix="run the function without `torch.compile`: the error is then told at its own line",
    cause=nowhere,
)
