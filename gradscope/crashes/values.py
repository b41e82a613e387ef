"""Errors about the numbers in a tensor: out of range, singular, not finite, no probability."""

from __future__ import annotations

from gradscope.crashes import Subject, explain, nowhere, of_integers

explain(
    "index-out-of-bounds",
    r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
    "index {0} was used in dimension {1}, which has {2} entries",
    why="entries are counted from 0 to the size - 1",
    fix="look at what the index is made of: labels that count from 1, padding such as -100 or -1, or a tensor"
    " of another"
    " size",
    of=Subject(fits=of_integers),
    cause=nowhere,
)
explain(
    "dimension-out-of-range",
    r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)",
    "dimension {2} was asked for, and the tensor has dimensions {0} to {1}",
    why="dimensions are counted from 0, or from -1 backwards; a batch of one that was squeezed has lost one",
    fix="name the dimension from the end (`-1`), or say which to squeeze (`squeeze(1)`), so that a batch of one"
    " keeps its"
    " own",
    cause=nowhere,
)
explain(
    "one-hot-of-other-classes",
    r"Class values must be (non-negative|smaller than num_classes)",
    "`one_hot` was given a class outside of those that it knows: they must be {0}",
    why="classes are counted from 0 to `num_classes` - 1",
    fix="count the labels from 0, leave out padding (-1, -100), or pass a larger `num_classes`",
    of=Subject(fits=of_integers),
)
explain(
    "matrix-not-positive-definite",
    r"linalg\.cholesky.*is not positive-definite",
    "a matrix that is not positive-definite was given to `cholesky`",
    why="a covariance has no negative or zero directions; rounding gives it some where columns are nearly equal",
    fix="add a small multiple of the identity: `A + 1e-6 * torch.eye(n)`, and compute in float64",
)
explain(
    "matrix-singular",
    r"linalg\.(\w+): .*(?:the input matrix is singular|is singular)",
    "a singular matrix was given to `{0}`",
    why="rows or columns of it depend on each other, or hold only zeros: it has no inverse",
    fix="add a small multiple of the identity, or use `torch.linalg.lstsq` or `pinv`",
)
explain(
    "matrix-not-finite",
    r"linalg\.(\w+): .*(?:contained non-finite values|failed to converge)",
    "`{0}` was given a matrix that it could not take apart",
    why="it holds NaN or infinity, or is so badly scaled that the algorithm does not come to an end",
    fix="look at `torch.isfinite(A).all()` before it, and where the first such number was made",
)
explain(
    "chances-not-finite",
    r"probability tensor contains either `inf`, `nan` or element < 0",
    "`multinomial` was given chances that are negative, infinite or NaN",
    why="scores are no chances before a softmax; NaN most often comes from weights that are NaN after a step",
    fix="give it `softmax` of the scores; where they are NaN, find the step that made the weights so",
)
explain(
    "parameter-of-a-distribution",
    r"Expected parameter (\w+) .*of distribution (\w+)\(.*to satisfy the constraint (\w+)",
    "`{0}` of the distribution `{1}` is not what it has to be ({2})",
    why="it is negative or zero where it has to be positive, or NaN: most often the network that computes it"
    " has got"
    " weights that are NaN in an earlier step",
    fix="keep a scale positive (`softplus(x) + 1e-6`, `exp`); where it is NaN, find the step that made the"
    " weights so",
    cause=nowhere,
)
explain(
    "value-outside-a-distribution",
    r"Expected value argument .* to be within the support \((\w+)",
    "the chance was asked of a value that the distribution cannot give ({0})",
    why="a value at or beyond the border has chance 0, whose logarithm is infinite",
    fix="keep the value inside (`clamp(eps, 1 - eps)`), or make the distribution without checks"
    " (`validate_args=False`)",
    cause=nowhere,
)
explain(
    "spread-negative",
    r"normal expects (?:all elements of )?std >= 0",
    "`normal` was given a negative standard deviation",
    why="a network's output is any number: as a standard deviation it has to be made positive",
    fix="use `softplus` or `exp` of it",
)
explain(
    "chance-outside-0-to-1",
    r"Expected p_in >= 0 && p_in <= 1 to be true",
    "`bernoulli` was given numbers outside 0 to 1",
    why="it draws 1 with the chance that each number says",
    fix="give it `sigmoid` of the scores",
)
explain(
    "truth-of-several",
    r"Boolean value of Tensor with more than one value is ambiguous",
    "a tensor of several values was used as one truth value (`if`, `and`, `not`, `in`, `==` of lists)",
    why="each element is true or false on its own",
    fix="say what is meant: `.any()`, `.all()`, or `torch.where` for each element; `is None` where it may be"
    " missing",
)
explain(
    "numbers-of-several",
    r"only one element tensors can be converted to Python scalars",
    "tensors of several elements were put into `torch.tensor([…])`",
    why="`torch.tensor` takes numbers; of tensors it would lose the graph, too",
    fix="use `torch.stack` (or `torch.cat`), which keeps the graph",
    cause=nowhere,
)
explain(
    "rows-of-different-length",
    r"expected sequence of length (\d+) at dim (\d+) \(got (\d+)\)",
    "rows of {0} and of {2} numbers were put into one tensor",
    why="each row of a tensor has the same length",
    fix="pad them (`nn.utils.rnn.pad_sequence`), or keep a list of tensors",
    cause=nowhere,
)
