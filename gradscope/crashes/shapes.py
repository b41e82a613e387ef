"""Errors about what a call was given: sizes that do not fit, indices out of range, the wrong kind."""

from __future__ import annotations

import ast

from gradscope.crashes import Crash, Subject, explain, nowhere, of_integers


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
    fix="make the layer for {1} features (`in_features`; `embed_dim` or `kdim` of attention), or bring its"
    " input to {2}"
    " (a `flatten(1)`, or the size of the layer before)",
    cause=nowhere,
)
explain(
    "sizes-of-batched-products",
    r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), (\d+)\]",
    "batches of matrices do not fit: the second has {2} matrices with {3} rows, {0} with {1} are needed",
    why="in `a @ b` the last size of `a` has to be the last but one of `b`",
    fix="give both the same number of matrices, and the second as many rows as the first has columns; scores of"
    " attention"
    " are `q @ k.transpose(-2, -1)`, of queries and keys of one width",
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
    why="the first size of both counts the samples; a prediction that was flattened with the batch in it counts"
    " more",
    fix="keep the batch when flattening (`flatten(1)`, `view(x.size(0), -1)`), and flatten both for a loss per"
    " step",
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
    of=Subject(fits=of_integers),
)
explain(
    "class-out-of-range",
    r"Target (-?\d+) is out of bounds",
    "class {0} is among the targets, and the prediction has no score for it",
    why="targets are counted from 0 to the number of scores - 1",
    fix="make the last layer as wide as there are classes, or count the labels from 0; `ignore_index={0}` leaves"
    " these out",
    of=Subject(fits=of_integers),
)
explain(
    "target-of-two-dimensions",
    "0D or 1D target tensor expected, multi-target not supported",
    "the targets have a dimension too many for class numbers",
    why="class numbers are one integer a sample; `cross_entropy` takes rows of probabilities, too, as floats of the"
    " prediction's own shape",
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
    of=Subject(fits=lambda t: not of_integers(t), about=_index),
)
explain(
    "view-of-scattered-memory",
    "view size is not compatible with input tensor's size and stride",
    "`view` cannot show {it} in this shape without copying it",
    why="after `permute` or `transpose` neighbours in the shape are no neighbours in memory",
    fix="use `reshape`, which copies where it has to",
    of=Subject(made="made here", of_receiver=True),
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
explain(
    "sizes-put-together",
    r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+) for tensor"
    r" number"
    r" (\d+) in the list",
    "`cat` was given tensors that differ outside of dimension {0}: {1} and {2} (number {3})",
    why="they are put behind one another along dimension {0}: all other sizes have to be equal",
    fix="name the dimension that is meant (`dim=`), or bring them to one size; skip connections lose a row"
    " where a size"
    " is odd (pad, crop or `interpolate` to the other's size)",
    cause=nowhere,
)
explain(
    "dimensions-put-together",
    r"Tensors must have same number of dimensions: got (\d+) and (\d+)",
    "`cat` was given tensors of {0} and of {1} dimensions",
    why="they are put behind one another along a dimension that each has",
    fix="`unsqueeze` the smaller one, or use `torch.stack` for tensors of one shape",
    cause=nowhere,
)
explain(
    "elements-for-a-shape",
    r"shape '\[(.*?)\]' is invalid for input of size (\d+)",
    "a tensor of {1} elements was to get the shape [{0}]",
    why="`view` and `reshape` keep every element: the sizes have to multiply to {1}",
    fix="let one size be worked out: keep the batch and flatten the rest (`x.flatten(1)`, `x.view(x.size(0),"
    " -1)`); where"
    " the input's size has changed, so has what is left of it here",
    cause=nowhere,
)
explain(
    "expanded-to-another-size",
    r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at non-singleton"
    r" dimension (\d+)",
    "a tensor of {1} entries in dimension {2} was to be spread over {0}",
    why="only a dimension of one entry can be repeated; a write to a part needs a value of that part's shape",
    fix="bring both to one size, or `unsqueeze` the dimension that is meant to be repeated",
    cause=nowhere,
)
explain(
    "sizes-with-a-vector",
    r"size mismatch, got input \((\d+)\), mat \((\d+)x(\d+)\), vec \((\d+)\)",
    "a matrix with {2} columns was multiplied with a vector of {3} numbers",
    why="each row of the matrix meets the vector, number by number",
    fix="bring both to one length, or turn the matrix (`.T`)",
    cause=nowhere,
)
explain(
    "dimensions-of-an-input",
    r"[Ee]xpected (\dD)(?: \(unbatched\))?(?: or (\dD)(?: \(batched\))?)? input (?:to \w+, but got input of"
    r" size: \[(.*?)\]|"
    r"\(got (\dD) input\))|(\w+): Expected input to be (\dD) or (\dD), got (\dD) instead",
    "the layer was given an input with another number of dimensions than it is made for",
    why="images are (batch, channels, height, width), sequences (batch, channels, length) for convolutions and"
    " (length, batch, features) for recurrent layers",
    fix="add the missing dimension (`unsqueeze(0)` for a batch of one, `unsqueeze(1)` for one channel), or fold"
    " one away"
    " (`flatten`)",
    cause=nowhere,
)
explain(
    "image-smaller-than-kernel",
    r"Calculated padded input size per channel: \((.*?)\)\. Kernel size: \((.*?)\)|"
    r"Given input size: \((.*?)\)\. Calculated output size: \((.*?)\)\. Output size is too small",
    "what is left of the input is smaller than the window of this layer",
    why="each pooling or stride before has made it smaller",
    fix="use larger inputs, fewer poolings, or `padding=`; `nn.AdaptiveAvgPool2d` takes any size",
    cause=nowhere,
)
explain(
    "features-of-a-norm",
    r"running_mean should contain (\d+) elements not (\d+)|Expected weight to be a vector of size equal to the"
    r" number of"
    r" channels",
    "batch norm is made for another number of features than it was given",
    why="features stand in dimension 1, behind the batch",
    fix="make it with as many features as the layer before gives; where features stand last, turn them to"
    " dimension 1",
    cause=nowhere,
)
explain(
    "shape-of-a-norm",
    r"Given normalized_shape=\[(.*?)\], expected input with shape \[.*?\], but got input of size\[(.*?)\]",
    "layer norm is made for [{0}] and was given a tensor of size [{1}]",
    why="it goes over the last dimensions",
    fix="make it for the input's last size, or `permute` the features to the end",
    cause=nowhere,
)
explain(
    "groups-of-a-norm",
    r"num_channels \((\d+)\) must be divisible by num_groups \((\d+)\)",
    "{0} channels cannot be put into {1} equal groups",
    why="each group is normalised on its own",
    fix="choose a number of groups that divides {0}",
    cause=nowhere,
)
explain(
    "width-of-a-recurrent-input",
    r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)",
    "a recurrent layer for {0} features was given {1}",
    why="features stand last in its input, in (length, batch, features) or, with `batch_first=True`, (batch,"
    " length,"
    " features)",
    fix="make it with `input_size={1}`, or turn the features to the end",
    cause=nowhere,
)
explain(
    "size-of-a-target",
    r"(?:Using a target size|Target size) \(torch\.Size\(\[(.*?)\]\)\) (?:that is different to|must be the same"
    r" as) the input"
    r" size \(torch\.Size\(\[(.*?)\]\)\)|Target size \(torch\.Size\(\[(.*?)\]\)\) must be the same as input size"
    r" \(torch\.Size\(\[(.*?)\]\)\)",
    "the targets have size ({0}{2}), the predictions ({1}{3})",
    why="each prediction meets its own target: both have one shape",
    fix="`.squeeze(1)` the predictions or `.unsqueeze(1)` the targets",
    cause=nowhere,
)
explain(
    "target-of-an-image",
    r"only batches of spatial targets supported \(3D tensors\) but got targets of (?:size|dimension): :?(.*)",
    "the targets of a segmentation have another number of dimensions than (batch, height, width)",
    why="each pixel has one class number; a channel of size 1, or colours, do not belong to it",
    fix="`.squeeze(1)` where the size is (N, 1, H, W)",
    cause=nowhere,
)
explain(
    "mask-of-another-shape",
    r"The shape of the mask \[(.*?)\] at index (\d+) does not match the shape of the indexed tensor \[(.*?)\]",
    "a mask of shape [{0}] was used on a tensor of shape [{2}]",
    why="a mask has a true or false for each element, or for each row",
    fix="make the mask of the tensor itself (`x > 0`), or `expand_as` it",
    cause=nowhere,
)
explain(
    "too-many-indices",
    r"too many indices for tensor of dimension (\d+)",
    "a tensor of {0} dimensions was indexed with more",
    why="each index between the brackets takes one dimension",
    fix="leave one out, or find where the dimension was lost (`squeeze`, a batch of one, an index before)",
    cause=nowhere,
)
explain(
    "dimensions-of-an-index",
    r"Index tensor must have the same number of dimensions as (\w+) tensor",
    "`gather` or `scatter` was given an index with another number of dimensions",
    why="the index says for each place of the result where it comes from",
    fix="`index.unsqueeze(1)`, and `.squeeze(1)` on the result",
    cause=nowhere,
)
explain(
    "parts-of-a-split",
    r"split_with_sizes expects split_sizes to sum exactly to (\d+) .*but got split_sizes=\[(.*?)\]",
    "parts of [{1}] do not add up to {0}",
    why="each element goes into one part",
    fix="give parts that add up to {0}, or one size for all: `split(n)`",
    cause=nowhere,
)
explain(
    "sizes-of-an-einsum",
    r"einsum\(\): subscript (\w) has size (\d+) for operand (\d+) which does not broadcast with previously seen"
    r" size (\d+)",
    "`{0}` stands for {3} in an earlier operand of the `einsum`, and for {1} in operand {2}",
    why="a letter is one size in all operands",
    fix="give that dimension a letter of its own, or bring the sizes together",
    cause=nowhere,
)
explain(
    "shape-of-an-attention-mask",
    r"The shape of the (\dD) attn_mask is torch\.Size\(\[(.*?)\]\), but should be \((.*?)\)",
    "the attention mask has shape ({1}), and ({2}) is needed",
    why="it says for each query (row) which keys (columns) it may see",
    fix="make it of the sequence's own length; without `batch_first=True` the length is dimension 0",
    cause=nowhere,
)
explain(
    "lengths-not-sorted",
    r"`lengths` array must be sorted in decreasing order",
    "`pack_padded_sequence` was given lengths that are not sorted",
    why="sorted sequences need no index to be put back in order",
    fix="pass `enforce_sorted=False`",
    cause=nowhere,
)
explain(
    "length-of-nothing",
    r"Length of all samples has to be greater than 0",
    "`pack_padded_sequence` was given a sequence of length 0",
    why="a recurrent layer has no state for it",
    fix="leave empty samples out, or give them a length of 1 with padding",
    cause=nowhere,
)
