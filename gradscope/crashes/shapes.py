"""Errors about what a call was given: sizes that do not fit, indices out of range, the wrong kind."""

from __future__ import annotations

import ast

from gradscope.crashes import Crash, explain, nowhere, of_integers


def _index(crash: Crash) -> str:
    """What stands between the brackets of the failing `x[…]`."""
    node = crash.trace.source_file(crash.site.path).at(crash.site)
    return ast.unparse(node.slice) if isinstance(node, ast.Subscript) else ""


explain(
    "one-value-per-channel",
    "Expected more than 1 value per channel when training",
    "batch norm in training mode got a single value per channel",
    why="in training mode it divides by the spread over the batch, and one value has none",
    fix="drop a last batch of one sample (`DataLoader(…, drop_last=True)`); when evaluating, call `.eval()` first",
    cause=nowhere,
)
explain(
    "sizes-of-a-product",
    r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
    "a matrix with {1} columns was multiplied with one of {2} rows",
    why="each row of the input ({0} of them, {1} wide) meets the weights, which are made for {2} numbers",
    fix="give the layer `in_features={1}`, or bring its input to {2} features (a `flatten(1)`, or the size of the"
    " layer before)",
    cause=nowhere,
)
explain(
    "sizes-of-batched-products",
    r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), (\d+)\]",
    "batches of matrices do not fit: the second has {2} matrices with {3} rows, {0} with {1} are needed",
    why="in `a @ b` the last size of `a` has to be the last but one of `b`",
    fix="in attention, turn the keys: `q @ k.transpose(-2, -1)`",
    cause=nowhere,
)
explain(
    "sizes-side-by-side",
    r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
    "tensors of {0} and {1} elements in dimension {2} meet",
    why="sizes are compared from the last dimension on: each pair has to be equal, or one of them 1",
    fix="bring both to one shape where they are made",
    cause=nowhere,
)
explain(
    "batches-of-different-size",
    r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)",
    "the loss was given {0} predictions and {1} targets",
    why="the first size of both counts the samples; a prediction that was flattened with the batch in it counts more",
    fix="keep the batch when flattening (`flatten(1)`, `view(x.size(0), -1)`), and flatten both for a loss per step",
    cause=nowhere,
)
explain(
    "channels",
    r"expected input\[(.*?)\] to have (\d+) channels, but got (\d+) channels instead",
    "the layer is made for {1} channels and was given {2}",
    why="the input's size is {0}, and channels stand after the batch",
    fix="make the layer with `in_channels={2}`; where the channels stand last, `permute` them first",
    cause=nowhere,
)
explain(
    "size-of-a-state",
    r"Expected hidden(?:\[\d\])? size \((.*?)\), got \[(.*?)\]",
    "the state has size ({1}), this input needs ({0})",
    why="a recurrent network's state has one column a sample: it cannot go on with a batch of another size",
    fix="make a new state for each batch (`x.size(0)` wide), or leave out a last, smaller batch (`drop_last=True`)",
    cause=nowhere,
)
explain(
    "index-without-row",
    "index out of range in self",
    "{it} holds an index that the embedding has no row for",
    why="indices go from 0 to `num_embeddings` - 1",
    fix="make the embedding as large as the vocabulary (largest index + 1), special tokens included",
    fits=of_integers,
)
explain(
    "class-out-of-range",
    r"Target (-?\d+) is out of bounds",
    "class {0} is among the targets, and the prediction has no score for it",
    why="targets are counted from 0 to the number of scores - 1",
    fix="make the last layer as wide as there are classes, or count the labels from 0; `ignore_index={0}` leaves"
    " these out",
    fits=of_integers,
)
explain(
    "target-of-two-dimensions",
    "0D or 1D target tensor expected, multi-target not supported",
    "the targets have a dimension too many for class numbers",
    why="class numbers are one integer a sample; as probabilities (one row a sample) targets have to be floats",
    fix="`.squeeze(1)` where the size is (N, 1); `.argmax(1)` or `.float()` where each row is one-hot",
    cause=nowhere,
)
explain(
    "no-probability",
    r"all elements of (input|target) should be between 0 and 1",
    "`binary_cross_entropy` was given numbers outside 0 to 1 as its {0}",
    why="it takes the logarithm of probabilities; a layer's output is not one before a sigmoid",
    fix="use `binary_cross_entropy_with_logits` on the scores; targets are 0, 1 or between",
    cause=nowhere,
)
explain(
    "index-of-floats",
    "tensors used as indices must be long, int, byte or bool",
    "{it} is a tensor of floats, and was used as an index or mask",
    why="an index is a whole number, a mask is true or false",
    fix="use the comparison itself as the mask, without `.float()`; `.long()` for indices",
    fits=lambda t: not of_integers(t),
    about=_index,
)
explain(
    "view-of-scattered-memory",
    "view size is not compatible with input tensor's size and stride",
    "`view` cannot show {it} in this shape without copying it",
    why="after `permute` or `transpose` neighbours in the shape are no neighbours in memory",
    fix="use `reshape`, which copies where it has to",
    made="made here",
    of_receiver=True,
)
explain(
    "weights-of-another-size",
    r"size mismatch for (\S+): copying a param with shape torch\.Size\(\[(.*?)\]\) from checkpoint, "
    r"the shape in current model is torch\.Size\(\[(.*?)\]\)",
    "`{0}` was saved with size ({1}), and the model has ({2})",
    why="the model was not made with the arguments it was saved with",
    fix="make it with the same ones; for a new head, leave the old one's entries out of the state and load with"
    " `strict=False`",
    cause=nowhere,
)
explain(
    "weights-by-other-names",
    r"Error\(s\) in loading state_dict for (\w+):\s+(?:Missing|Unexpected) key",
    "the names in the saved state are not those of `{0}`",
    why="a state is matched by names: they differ where the model was saved inside a wrapper (`module.`,"
    " `_orig_mod.`), as part of a larger checkpoint, or built otherwise",
    fix="pass the part of the checkpoint that holds the weights, and take the wrapper's prefix off the names",
    cause=nowhere,
)
explain(
    "tuple-for-tensor",
    r"argument '(\w+)' \(position \d+\) must be Tensor, not (tuple|list|NoneType)",
    "a {1} was given where a tensor is needed (`{0}`)",
    why="recurrent layers return `(output, state)`, attention `(output, weights)`;"
    " a forward without `return` gives None",
    fix="take the output out first: `out, _ = layer(x)`; for lists, `torch.stack`",
    cause=nowhere,
)
