"""Operators that torch has under a second name, and what they are recorded as: who asks for `mul` means `multiply` too
(torch's documentation: "Alias for torch.mul")."""

from __future__ import annotations

_SECOND = {
    "absolute": "abs", "arccosh": "acosh", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "divide": "div",
    "fix": "trunc", "ger": "outer", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le",
    "multiply": "mul", "negative": "neg", "not_equal": "ne", "subtract": "sub", "true_divide": "div",
}  # fmt: skip
FIRST = _SECOND | {f"{second}_": f"{first}_" for second, first in _SECOND.items() if second != "ger"}
