"""Errors of saving, loading and moving models."""

from __future__ import annotations

from gradscope.crashes import explain, nowhere

explain(
    "load-of-more-than-weights",
    r"Weights only load failed",
    "the file holds more than tensors, and `torch.load` reads only those unless it is told otherwise",
    why="unpickling other objects runs code from the file",
    fix="save `model.state_dict()` and load that; for a file from a source you trust, `torch.load(…,"
    " weights_only=False)`",
    cause=nowhere,
)
explain(
    "state-is-no-dictionary",
    r"Expected state_dict to be dict-like, got <class '([\w.]+)'>",
    "`load_state_dict` was given a {0}",
    why="it takes the dictionary that `state_dict()` gives",
    fix="pass `other.state_dict()`; a file that holds the whole model is the model itself",
    cause=nowhere,
)
explain(
    "copy-out-of-meta",
    "Cannot copy out of meta tensor; no data!",
    "a tensor on the device `meta` was moved to another device",
    why="such a tensor has a shape and no numbers: the model was made empty (`device='meta'`, `init_empty_weights`)"
    " and not all of its weights have been loaded",
    fix="use `model.to_empty(device=…)` and then load or initialise every weight",
    cause=nowhere,
)
explain(
    "cuda-not-there",
    r"Torch not compiled with CUDA enabled|Found no NVIDIA driver|No CUDA GPUs are available",
    "the program asks for a GPU that this torch cannot reach",
    why="torch is installed without CUDA, or there is no GPU or driver on this machine",
    fix="choose the device once: `device = 'cuda' if torch.cuda.is_available() else 'cpu'`",
    cause=nowhere,
)
explain(
    "load-to-missing-cuda",
    r"Attempting to deserialize object on a CUDA device but torch\.cuda\.is_available\(\) is False",
    "the file was saved from a GPU, and there is none here",
    why="tensors are loaded to where they were saved from",
    fix="pass `map_location='cpu'` to `torch.load`",
    cause=nowhere,
)
explain(
    "out-of-memory",
    r"(?:CUDA|MPS|XPU|HIP) (?:error: )?out of memory|DefaultCPUAllocator: (?:can't allocate|not enough) memory",
    "there was not enough memory for a tensor",
    why="what a training holds grows with the batch, and with every graph that is kept: losses or states that"
    " are kept"
    " with their graph (GS602, GS603), evaluation without `no_grad` (GS402)",
    fix="use a smaller batch or accumulate gradients; `gradscope run --view` shows what is kept",
    cause=nowhere,
)
explain(
    "lambda-pickled",
    r"[Cc]an't (?:get local|pickle local|pickle) object '?([\w.<>]+)'?|Can't pickle <(?:function|class)"
    r" '?([\w.<> ]+)",
    "`{0}{1}` was to be pickled, and it has no name that another process or a later one could find",
    why="pickle writes names of functions and classes; those made inside a function have none",
    fix="define it at the top of a file; save `model.state_dict()` in place of the model; `num_workers=0` where"
    " a worker"
    " is to get it",
    cause=nowhere,
)
