"""gradscope shows the autograd graph that a PyTorch program really built, says what is
wrong with it, and proves it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gradscope.api import Trace
from gradscope.model import Finding, GradscopeError

if TYPE_CHECKING:
    from gradscope.scope import Scope

__version__ = "0.1.0"
__all__ = ["Finding", "GradscopeError", "Trace", "open", "watch"]


def watch(*, sample: bool = True, prove: bool = False) -> Scope:
    """Watches a block: `with gradscope.watch() as scope:`.

    sample: once the same graph has repeated, look only now and then (False: always).
    prove: for a corrupted gradient, also compute the right one, always.
    Inside another watch, or under `gradscope run`, it is a part of that: the scope shows what was
    recorded of its block, and the watch around it goes on.
    """
    from gradscope.scope import Scope

    return Scope(sample=sample, prove=prove)


def open(path: str | os.PathLike[str]) -> Trace:
    """Opens a saved trace. Needs no torch. Raises GradscopeError if it is none."""
    return Trace(path)
