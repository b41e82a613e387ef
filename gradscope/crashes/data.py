"""Errors of `DataLoader`, its workers and data sets."""

from __future__ import annotations

from gradscope.crashes import explain, nowhere

explain(
    "worker-cannot-stack-graphs",
    r"(?s)^Caught RuntimeError in DataLoader worker process (\d+)\..*"
    r"(?:stack|cat)\(\): functions with out=\.\.\. arguments don't support automatic differentiation",
    "the data set returns tensors that require a gradient, which worker {0} cannot put into a batch",
    why="a worker writes the batch into shared memory, where a graph has no place",
    fix="return `.detach()` of what the data set computes, or compute it under `torch.no_grad()`",
    cause=nowhere,
)
explain(
    "worker-cannot-send-graphs",
    r"(?s)^Caught RuntimeError in DataLoader worker process (\d+)\..*Cowardly refusing to serialize non-leaf",
    "the data set returns tensors with a graph, which worker {0} cannot send to the main process",
    why="a graph lives in one process",
    fix="return `.detach()` of what the data set computes, or compute it under `torch.no_grad()`",
    cause=nowhere,
)
explain(
    "worker-failed",
    r"(?s)^Caught (\w+) in DataLoader worker process (\d+)\..*?\n(\w[\w.]*(?:Error|Exception)[^\n]*)\s*$",
    "the data set failed in worker {1}: {2}",
    why="the error was raised in the worker's process; the traceback above ends with the line that did",
    fix="with `num_workers=0` the same error comes in this process, where a debugger reaches it",
    cause=nowhere,
)
explain(
    "worker-died",
    r"DataLoader worker \(pid\(?s?\)? (\d[\d, ]*)\) (?:exited unexpectedly|is killed by signal: (\w+))",
    "a worker of the `DataLoader` died ({0}{1})",
    why="the process was ended from outside, for want of memory or shared memory (`/dev/shm`), or by a fault in"
    " C code",
    fix="try `num_workers=0` to see an error of its own; else use fewer workers or smaller batches, or enlarge"
    " shared"
    " memory (docker: `--shm-size`)",
    cause=nowhere,
)
explain(
    "samples-of-different-size",
    r"stack expects each tensor to be equal size, but got \[(.*?)\] at entry 0 and \[(.*?)\] at entry (\d+)",
    "tensors of different shapes were stacked: [{0}] and [{1}] (number {2})",
    why="a batch is one tensor: all that it is made of have one shape",
    fix="bring them to one size (crop, resize, `nn.utils.rnn.pad_sequence`); in a `DataLoader` by `collate_fn`",
    cause=nowhere,
)
explain(
    "samples-that-make-no-batch",
    r"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class '([\w.]+)'>",
    "the data set returned something that makes no batch: a {0}",
    why="the `DataLoader` stacks tensors, arrays and numbers, also inside of tuples and dicts",
    fix="return tensors or numbers from `__getitem__` (None: a sample was not found, or `return` is missing),"
    " or pass a"
    " `collate_fn`",
    cause=nowhere,
)
explain(
    "data-set-is-empty",
    r"num_samples should be a positive integer value, but got num_samples=0",
    "a `DataLoader` that shuffles was given an empty data set",
    why="there is nothing to draw from: most often the path or the filter found no file",
    fix="look at `len(dataset)` where it is made",
    cause=nowhere,
)
explain(
    "data-of-different-length",
    r"^Size mismatch between tensors$",
    "`TensorDataset` was given tensors of different lengths",
    why="sample number i is made of row i of each",
    fix="give all tensors the same first size",
    cause=nowhere,
)
explain(
    "parts-that-make-no-whole",
    "Sum of input lengths does not equal the length of the input dataset",
    "the lengths given to `random_split` do not add up to the data set's",
    why="each sample belongs to one part",
    fix="compute the last length from the others (`len(dataset) - first`), or pass shares: `[0.8, 0.2]`",
    cause=nowhere,
)
