"""Sets of torch's own operators, as `Op.name` has them, each once.

A name like `add_` is the same operator in place. Signs and second names (`a * b`, `torch.multiply`) are recorded by the
one name, `mul`; torch names by the sign only what has none: `2 - x` (`__rsub__`), `2 / x` (`__rdiv__`), `2 ** x`
(`__rpow__`), `x == y`, `x // y` and what works on bits.
"""

from __future__ import annotations

# -- arithmetic

ADDITIONS = {"add", "add_"}
SUBTRACTIONS = {"sub", "sub_", "rsub", "__rsub__"}
REVERSED_SUBTRACTIONS = {"rsub", "__rsub__"}  # take their first input from the second
SUMS = ADDITIONS | SUBTRACTIONS
MULTIPLICATIONS = {"mul", "mul_"}
DIVISIONS = {"div", "div_"}
POWERS = {"pow", "square"}
NEGATIONS = {"neg"}
RECIPROCALS = {"rsqrt", "reciprocal"}
CLIPS = {"clamp", "clip", "clamp_min", "clamp_max"}
SCALES = MULTIPLICATIONS | DIVISIONS
PRODUCTS_OF_MATRICES = {"bmm", "mm", "matmul", "einsum"}
PRODUCTS_OF_BATCHES = {"matmul", "bmm", "einsum"}
LAYERS = {"linear", "conv1d", "conv2d", "conv3d"}
RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
RECURRENT_CELLS = {f"{name}_cell" for name in RECURRENT}
ORDERINGS = {"lt", "le", "gt", "ge"}
LOGIC = {
    "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_not", "__and__", "__or__", "__xor__", "__invert__",
}  # fmt: skip
EQUALITIES = {"eq", "__eq__"}
COMPARISONS = ORDERINGS | EQUALITIES | {"ne"}

# -- functions with a delicate gradient

LOGARITHMS = {"log", "log2", "log10", "log1p", "logit", "xlogy", "log_"}
# Defined from -1 to 1; the derivative is infinite at both ends.
INVERSES = {"acos", "arccos", "asin", "arcsin", "atanh", "arctanh"}
NORMS = {"norm", "vector_norm", "linalg_norm", "linalg_vector_norm", "linalg_matrix_norm"}
ROOTS = NORMS | {"sqrt", "rsqrt", "pow", "std", "var", "cdist", "sqrt_", "rsqrt_"}
QUOTIENTS = DIVISIONS | {"reciprocal", "__rdiv__"}
SPREADS = {"std", "var", "std_mean", "var_mean"}
STATISTICS = SPREADS | {"mean", "median", "nanmean"}
EXPONENTIALS = {"exp", "exp2", "expm1", "exp_", "sinh", "cosh"}
PROBABILITIES = {"softmax", "sigmoid", "sigmoid_", "softmax_", "expit"}
SATURATING = PROBABILITIES | {
    "tanh",
    "tanh_",
    "log_softmax",
    "hardsigmoid",
    "softsign",
}  # flat where it is large
SOFTMAXES = {"softmax", "log_softmax"}
SIGMOIDS = {"sigmoid", "sigmoid_", "expit"}
RELUS = {"relu", "relu_", "relu6"}
ATTENTION = {"scaled_dot_product_attention", "multi_head_attention_forward"}
CUTTING_OFF = {
    "relu", "relu_", "relu6", "threshold", "hardtanh", "clamp", "clamp_", "clamp_min", "clamp_max", "clip", "clip_",
}  # flat beyond a bound  # fmt: skip

# -- losses

COMPARING_LOSSES = {"mse_loss", "smooth_l1_loss", "l1_loss", "huber_loss"}  # of two values of one form
POINTWISE_LOSSES = COMPARING_LOSSES | {"soft_margin_loss", "poisson_nll_loss"}
LOG_LOSSES = {"nll_loss", "nll_loss_nd", "ctc_loss", "kl_div"}  # that take logarithms of probabilities
CLASS_LOSSES = {"cross_entropy", "nll_loss", "nll_loss_nd"}  # that take a label for each sample
BINARY_LOSSES = {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
LOSSES = POINTWISE_LOSSES | LOG_LOSSES | BINARY_LOSSES | {"cross_entropy"}
LOSS_FUNCTIONS = LOSSES | {
    "cosine_embedding_loss", "gaussian_nll_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
}  # fmt: skip
MEANS = {"mean", "nanmean"}
SUMS_OF_GROUPS = {
    "index_add", "index_add_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "index_reduce",
    "index_reduce_",
}  # fmt: skip
# They take out a size.
NORMING = {"layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm", "normalize"}
REDUCTIONS = MEANS | {"sum", "norm"}

# -- the same numbers, in another form or place

CASTS = {"to", "double", "float", "half", "bfloat16", "type", "type_as", "cuda", "cpu"}
TO_DEVICE = {"to", "cuda", "cpu", "xpu", "mps", "npu", "_to_copy", "copy_", "new_tensor"}
STACKS = {"stack", "cat", "concat"}  # put several tensors into one
SLICES = {"__getitem__", "select", "narrow"}
TAKING = {"__getitem__", "gather", "take_along_dim", "index_select", "take"}  # entries, at an index
PICKS_OF_ROWS = {"__getitem__", "gather", "take_along_dim"}  # one of each row, by a tensor
PICKS_OF_A_TABLE = {"__getitem__", "index_select", "embedding"}  # rows of it
DIAGONALS = {"diag", "diagonal"}
PARTS = {"__getitem__", "select", "split", "chunk", "unbind", "narrow", "index_select"}
JOINING = {"cat", "concat", "concatenate", "stack", "vstack", "hstack", "column_stack"}
PASSING = CASTS | JOINING | {
    "view", "view_as", "reshape", "reshape_as", "squeeze", "unsqueeze", "flatten", "unflatten", "transpose",
    "permute", "t", "T", "mT", "movedim", "swapaxes", "contiguous", "clone", "__getitem__", "select", "narrow", "split",
    "chunk", "unbind", "expand", "repeat", "clamp", "clamp_", "clip", "clamp_min", "clamp_max", "index_select",
    "masked_select", "identity", "resize", "Resize", "ravel", "swapdims", "moveaxis", "flip", "tile", "squeeze_",
    "unsqueeze_", "_pad_packed_sequence", "_pack_padded_sequence",
}  # fmt: skip
ALIASES = {"data", "detach"}
EXITS = {"item", "tolist", "numpy", "__array__", "__float__"}  # give the numbers away
ARRAYS = ("numpy", "__array__", "tolist")  # those that give several
DISTRIBUTIONS = "distributions"  # the folder of torch's
WAITS = EXITS | {"__int__", "__bool__", "__format__"}  # for the device
MAKERS = {
    "tensor", "as_tensor", "asarray", "scalar_tensor", "new_tensor", "from_numpy", "Tensor", "FloatTensor",
}  # fmt: skip

# -- writes

WRITES_OF_PARTS = {"__setitem__", "copy_", "index_put_", "index_copy_", "scatter_", "masked_scatter_"}
FILLS = {
    "fill_", "zero_", "normal_", "uniform_", "random_", "exponential_", "constant_", "eye_", "orthogonal_",
    "trunc_normal_", "bernoulli_", "kaiming_normal_", "kaiming_uniform_", "xavier_normal_", "xavier_uniform_",
}  # fmt: skip
WITH_TWIN = {
    "masked_fill", "masked_scatter", "index_fill", "index_add", "index_copy", "index_put", "scatter", "scatter_add",
    "clamp", "clip", "clamp_min", "clamp_max", "add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp", "neg", "abs",
    "sqrt", "rsqrt", "pow", "exp", "log", "relu", "sigmoid", "tanh", "round", "floor", "ceil", "tril", "triu",
    "nan_to_num", "renorm", "transpose", "swapaxes", "t", "dropout", "leaky_relu", "elu", "silu", "mish", "selu",
    "celu", "relu6", "hardtanh", "hardswish",
}  # fmt: skip  # give a new tensor, where the same name with `_`, or `inplace=True`, writes to what they are given
MIXED_IN = {"add_", "sub_", "lerp_"}  # write to what they are called on, with something added
LARGEST = {"argmax", "max", "topk"}
SORTS = {"sort", "argsort"}
INVERSIONS = {"__invert__", "logical_not", "bitwise_not"}  # of a mask
MASKING = {"masked_fill", "masked_fill_"}
FILLED_WHERE = MASKING | {"where", "__setitem__"}
BOUNDS = {"clamp_", "clamp_min_", "clamp_max_", "clip_", "renorm_", "abs_", "relu_"}

# -- random numbers and new tensors

FILLED = {"zeros", "ones", "full", "new_zeros", "new_ones", "new_full"}
ZEROS = {"zeros", "zeros_like", "new_zeros"}
LIKE = {"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like"}
SHAPED_AS = {"view_as", "reshape_as", "expand_as", "type_as"}
DRAWS = {
    "rand", "randn", "randint", "randperm", "normal", "multinomial", "bernoulli", "dropout", "rand_like", "randn_like",
    "randint_like", "uniform_", "normal_", "random_", "exponential_", "bernoulli_", "kaiming_uniform_",
    "kaiming_normal_", "xavier_uniform_", "xavier_normal_", "trunc_normal_", "poisson",
}  # fmt: skip

# -- nodes

ZERO_GRADIENT = {
    "RoundBackward0", "RoundBackward1", "SignBackward0", "SgnBackward0", "FloorBackward0", "CeilBackward0",
    "TruncBackward0", "NormalBackward1", "NormalBackward2", "NormalBackward3", "BernoulliBackward0",
    "BernoulliBackward1", "BernoulliBackward2", "PoissonBackward0",
    *(f"DivBackward{kind}[{mode}]" for kind in range(4) for mode in ("floor", "trunc")),
}  # fmt: skip

# -- sizes

BYTES = {
    "float64": 8, "int64": 8, "complex64": 8, "complex128": 16, "float16": 2, "bfloat16": 2, "int16": 2, "bool": 1,
    "uint8": 1, "int8": 1,
}  # fmt: skip
OTHER_BYTES = 4


def bytes_of(dtype: str) -> int:
    """How many bytes an element takes."""
    return BYTES.get(dtype, OTHER_BYTES)
