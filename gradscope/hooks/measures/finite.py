"""Whether tensors hold NaN or infinity, and what they hold instead."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch

from gradscope.hooks import _torch as private
from gradscope.hooks._torch import saved_by
from gradscope.hooks.recorder.values import measurable

MAX_ELEMENTS = 50_000_000  # of a tensor that is summed up

# Calls that can make a number that is not finite from finite ones, short of sheer size.
RISKY = {
    "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "pow", "__rpow__", "div",
    "__rdiv__", "reciprocal", "exp", "exp2", "expm1", "norm", "vector_norm", "std", "var",
    "std_mean", "var_mean", "mean", "median", "nanmean", "acos", "arccos", "asin", "arcsin", "atanh", "acosh",
    "erfinv", "logit", "tan", "lgamma", "digamma", "softmax", "log_softmax", "logsumexp", "cross_entropy", "nll_loss",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss", "kl_div",
    "huber_loss", "poisson_nll_loss", "gaussian_nll_loss", "ctc_loss", "scaled_dot_product_attention",
    "multi_head_attention_forward", "layer_norm", "batch_norm", "group_norm", "instance_norm", "normalize",
    "cosine_similarity", "cdist", "inv", "inverse", "pinv", "solve", "cholesky", "svd", "eigh", "logdet", "slogdet",
    "det", "prod", "cumprod", "sinh", "cosh", "square", "remainder", "fmod", "xlogy", "atan2", "hypot", "sum",
    "linalg_norm", "linalg_vector_norm", "linalg_matrix_norm", "linalg_inv", "linalg_pinv", "linalg_solve",
    "linalg_cholesky", "linalg_svd", "linalg_svdvals", "linalg_eigh", "linalg_eigvalsh", "linalg_det",
    "linalg_slogdet", "log_", "sqrt_", "div_", "exp_", "pow_", "reciprocal_", "rsqrt_", "cumsum",
    "kl_divergence",
}  # fmt: skip
# Infinities put there on purpose (masks), and what only carries them on.
ON_PURPOSE = {
    "masked_fill", "masked_fill_", "full", "full_like", "fill_", "tensor", "where", "triu", "tril", "triu_", "tril_",
    "scalar_tensor", "as_tensor", "__setitem__", "zeros", "new_full", "finfo", "generate_square_subsequent_mask",
}  # fmt: skip
# Nodes whose derivative can be infinite or 0/0 although the result is finite or not used.
STEEP_NODES = {
    "Sqrt", "Rsqrt", "Log", "Log2", "Log10", "Log1P", "Acos", "Asin", "Acosh", "Atanh", "Logit", "Erfinv",
}  # fmt: skip
RISKY_NODES = STEEP_NODES | {
    "Pow", "Div", "Reciprocal", "Exp", "Exp2", "Expm1", "Std", "Var", "StdMean", "VarMean", "Atan2",
    "LinalgVectorNorm", "Norm", "Cdist", "Xlogy", "Lgamma", "LinalgSvd", "LinalgEigh", "Hypot", "Prod", "Tan",
    "Softmax", "Logsumexp", "LinalgDet", "LinalgSlogdet", "LinalgInvEx",
}  # fmt: skip


def is_risky(name: str, nodes: set[str] = RISKY_NODES) -> bool:
    """Whether a node of this name ("SqrtBackward0") can have an infinite derivative."""
    return name.partition("Backward")[0] in nodes


def is_mild(node: Any) -> bool:
    """Whether a power has a finite derivative everywhere, as `x ** 2` has, which `x ** 0.5` has not."""
    if private.name_of(node) != "PowBackward0":
        return False
    exponent = getattr(node, "_saved_exponent", None)
    return isinstance(exponent, (int, float)) and exponent >= 1


def own_backward(node: Any) -> dict[str, Any] | None:
    """Of a node whose backward is a Function's of the program's: its name, a line of that backward and the range of the
    first numbers that it saved."""
    cls = private.function_of(node)
    if cls is None:
        return None
    method: Any = getattr(cls, "backward", None)
    while hasattr(method, "__wrapped__"):
        method = method.__wrapped__
    code = getattr(method, "__code__", None)
    try:
        saved = node.saved_tensors or ()
    except RuntimeError:  # one was written to since, or all are freed
        saved = ()
    kept = next((found for t in saved if (found := summary(t)) is not None), {})
    return {"own": cls.__name__, "line": code.co_firstlineno if code is not None else 0, **kept}


def _plain(t: Any, wait: bool) -> Any:
    """The numbers of `t` as a dense tensor outside the graph; None where they cannot be had:
    no numbers, or (unless `wait`) a device that would have to be waited for."""
    if not measurable(t):
        return None
    if not (t.is_floating_point() or t.is_complex()) or t.numel() == 0 or t.is_nested:
        return None
    if t.device.type != "cpu" and not wait:
        return None
    t = t.detach()
    return t.coalesce().values() if t.layout is torch.sparse_coo else t


def finite(t: Any, wait: bool = False) -> bool:
    """False only where a number that is not finite was seen."""
    t = _plain(t, wait)
    if t is None or t.layout is not torch.strided:
        return True
    total = t.sum().item()  # one pass; what is not finite stays so in a sum
    if total == total and abs(total) != math.inf:
        return True
    return bool(torch.isfinite(t).all())


def single_finite(t: Any, wait: bool = False) -> bool:
    """`finite` for a loss, quick enough for every pass; True for what is no single number."""
    if t.numel() != 1 or not (wait or t.is_cpu) or not measurable(t):
        return True
    value = t.item()
    return not isinstance(value, float) or math.isfinite(value)


def has_nan(t: Any) -> bool:
    t = _plain(t, True)
    return t is not None and t.layout is torch.strided and bool(torch.isnan(t).any())


def kind(t: Any) -> str:
    """What `t` holds that is not finite: "nan", "inf" or "-inf"."""
    t = _plain(t, True)
    if t is None or bool(torch.isnan(t).any()):
        return "nan"
    return "inf" if not t.is_complex() and bool((t == math.inf).any()) else "-inf"


def summary(t: Any) -> dict[str, Any] | None:
    """Range of the finite numbers of `t`, and how many are zero or not finite."""
    if isinstance(t, torch.Tensor) and t.is_floating_point() and t.numel() == 0:
        return {"elements": 0}
    t = _plain(t, True)
    if t is None or t.is_complex() or t.layout is not torch.strided or t.numel() > MAX_ELEMENTS:
        return None
    good = t[torch.isfinite(t)]
    data: dict[str, Any] = {"elements": t.numel(), "shape": list(t.shape)}
    if good.numel():
        data |= {"min": good.min().item(), "max": good.max().item(), "zeros": int((good == 0).sum())}
    if good.numel() < t.numel():
        data["not_finite"] = t.numel() - good.numel()
        above = int((t == math.inf).sum())
        if above:
            data["infinite"] = above
        empty = int((t == -math.inf).all(-1).sum()) if t.dim() else 0
        if empty:
            data |= {"masked_rows": empty, "rows": t.numel() // t.shape[-1]}
    return data


def saved(node: Any) -> dict[str, Any]:
    """The tensors that a node saved for its backward, by name ("self", "result")."""
    found: dict[str, Any] = {}
    for name in dir(type(node)):
        if name.startswith("_saved_"):
            try:
                value = saved_by(node, name)
            except RuntimeError:  # freed, or written to since
                continue
            if isinstance(value, torch.Tensor):
                found[name.removeprefix("_saved_")] = value
    return found


def nodes_below(roots: list[Any], limit: int, oldest: int = 0) -> list[Any]:
    """The grad nodes behind these tensors whose number is at least `oldest`, newest first; none
    where there are more than `limit`. A node's inputs are older than it is."""
    todo: list[tuple[int, int, Any]] = []
    met: set[int] = set()

    def meet(node: Any) -> None:
        number = private.sequence_of(node)
        if number >= oldest and id(node) not in met:
            met.add(id(node))
            heapq.heappush(todo, (-number, len(met), node))

    for t in roots:
        node = private.grad_fn_of(t)
        if node is not None:
            meet(node)
    found: list[Any] = []
    while todo:
        node = heapq.heappop(todo)[2]
        found.append(node)
        if len(found) > limit:
            return []
        for target, _ in node.next_functions:
            if target is not None:
                meet(target)
    return found


# Which input of a call a saved tensor is, as the place of its edge.
_PLACES = {
    "self": 0, "input": 0, "other": 1, "target": 1, "mat1": 1, "mat2": 2, "tensor1": 1, "tensor2": 2, "weight": 1,
}  # fmt: skip
_AGAIN: dict[str, Callable[..., torch.Tensor]] = {
    "LogBackward0": torch.log, "Log2Backward0": torch.log2, "Log10Backward0": torch.log10,
    "Log1PBackward0": torch.log1p, "LogitBackward0": torch.logit, "DivBackward0": torch.div,
}  # fmt: skip


def oldest_broken(nodes: list[Any]) -> tuple[str, Any] | None:
    """From what nodes (newest first) have saved, where the first number came up that is not finite:
    ("op", node that made it), ("input", node that read it) or ("parameter", node that read it)."""
    for node in reversed(nodes):
        kept = {name: t for name, t in saved(node).items() if "mask" not in name}
        broken = [name for name, t in kept.items() if not finite(t)]
        if not broken:
            if _gives_broken(node, kept):
                return "op", node
            continue
        inputs = [name for name in broken if name in _PLACES]
        if not inputs:
            return "op", node
        edges = node.next_functions
        place = _PLACES[inputs[0]]
        source = edges[place][0] if place < len(edges) else None
        if source is None:
            return "input", node
        return ("parameter", node) if private.sequence_of(source) < 0 else ("op", source)
    return None


def _gives_broken(node: Any, kept: dict[str, Any]) -> bool:
    """Whether the call of this node, repeated on what it saved, gives what is not finite."""
    call = _AGAIN.get(private.name_of(node))
    if call is torch.div and "self" not in kept and "other" in kept:
        return bool((kept["other"] == 0).any())
    given = [kept[name].detach() for name in ("self", "other") if name in kept]
    if call is None or len(given) != (2 if call is torch.div else 1):
        return False
    try:
        return not finite(call(*given))
    except RuntimeError:
        return False


def divisor(node: Any) -> dict[str, Any] | None:
    """The number that a division by a plain number was given; `whole` where that is an integer."""
    number = (
        saved(node).get("other") if node is not None and private.name_of(node) == "DivBackward0" else None
    )
    if number is None or not measurable(number) or number.dim() or number.is_complex():
        return None
    value = number.item()
    found = {"elements": 1, "of": "divisor", "whole": not number.is_floating_point()}
    return found | (
        {"min": value, "max": value, "zeros": int(value == 0)} if math.isfinite(value) else {"not_finite": 1}
    )


def spectrum(kept: dict[str, Any]) -> dict[str, Any] | None:
    """Of the eigenvalues or singular values that a node saved: how many equal their neighbour up to rounding."""
    values = kept.get("eigenvalues", kept.get("S", kept.get("L")))
    values = _plain(values, True) if values is not None else None
    if values is None or values.dim() == 0 or values.is_complex() or values.shape[-1] < 2:
        return None
    least = 16 * torch.finfo(values.dtype).eps * values.abs().amax(-1, keepdim=True)
    equal = values.sort(-1).values.diff(dim=-1) <= least
    of = "singular values" if "S" in kept else "eigenvalues"
    return {"of": of, "elements": values.shape[-1], "equal": int(equal.sum(-1).max())}


def too_short(node: Any) -> dict[str, Any] | None:
    """Of a CTC loss, or of the mean of one: how many of its targets no path through their input gives, and one of
    them. A target takes a step for each label, and one more between two that are equal (Graves et al. 2006,
    section 3)."""
    for _ in range(4):  # the mean, what it divides by, a clamp
        if node is None or private.name_of(node).startswith("CtcLoss"):
            break
        node = next((target for target, _ in node.next_functions), None)
    if node is None or not private.name_of(node).startswith("CtcLoss"):
        return None
    targets = saved(node).get("targets")
    if targets is None:
        return None
    steps, labels = (
        [int(number) for number in getattr(node, name)]
        for name in ("_saved_input_lengths", "_saved_target_lengths")
    )
    if targets.dim() == 1:
        rows = [row.tolist() for row in targets.split(labels)]
    else:
        rows = [row[:count].tolist() for row, count in zip(targets, labels, strict=True)]
    needed = [len(row) + sum(a == b for a, b in pairwise(row)) for row in rows]
    short = [(need - have, need, have, len(row)) for need, have, row in zip(needed, steps, rows, strict=True)]
    _, need, have, count = max(short)
    unaligned = sum(missing > 0 for missing, *_ in short)
    if not unaligned:
        return None
    return {
        "of": "targets", "elements": len(rows), "unaligned": unaligned, "needed": need, "steps": have, "labels": count,
    }  # fmt: skip


def all_ignored(node: Any) -> dict[str, Any] | None:
    """Of a cross entropy that is the mean over no label: how many there are, all of them the one that is ignored."""
    if not private.name_of(node).startswith(("NllLossBackward", "NllLoss2DBackward")):
        return None
    kept = saved(node)
    labels, counted = kept.get("target"), kept.get("total_weight")
    if labels is None or counted is None or not labels.numel() or bool(counted != 0):
        return None
    ignored = (int(node._saved_ignore_index) + 2**63) % 2**64 - 2**63  # torch shows a negative one unsigned
    return (
        {"of": "labels", "elements": labels.numel(), "ignored": ignored}
        if bool((labels == ignored).all())
        else None
    )


def inputs_of(node: Any) -> list[dict[str, Any]]:
    """The ranges of the inputs that a node saved; of its result where it saved no more (a root); of a decomposition
    which of its values are equal."""
    kept = saved(node)
    if (found := too_short(node) or spectrum(kept)) is not None:
        return [found]
    inputs = [found for name in _PLACES if name in kept and (found := summary(kept[name])) is not None]
    if inputs or "result" not in kept or (result := summary(kept["result"])) is None:
        return inputs
    return [{**result, "of": "result"}]
