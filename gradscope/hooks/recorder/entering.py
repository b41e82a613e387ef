"""Tensors as values of a segment: each is entered once, with where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from gradscope.hooks._torch import grad_fn_of, name_of, sequence_of
from gradscope.hooks._torch import is_leaf as leafness
from gradscope.hooks.recorder.segments import External
from gradscope.hooks.recorder.values import Live

if TYPE_CHECKING:
    from gradscope.hooks.recorder.ledger import Ledger
    from gradscope.hooks.recorder.modules import ModuleTable
    from gradscope.hooks.recorder.state import State


class Entering:
    """Gives tensors their place in the segment that is open."""

    def __init__(self, state: State, ledger: Ledger, modules: ModuleTable):
        self.state = state
        self.ledger = ledger
        self.modules = modules

    def value(self, t: Any, site: int, first: int | None = None) -> Live:
        """The entry of `t` with its index in the current segment. first: number of the first node
        that the call which was given it has made."""
        entry = self.state.live.get(id(t))
        if entry is not None and entry() is t:
            if entry.serial == self.state.segment.serial:
                return entry
        else:
            entry = self.state.live.make(t)
        return self.enter(entry, t, site, first)

    def _gained(self, entry: Live, t: Any, first: int) -> bool:
        """Whether it has its node from the call that wrote to it, and had none before."""
        if not t.requires_grad or self.state.metas.table[entry.meta].requires_grad:
            return False
        node = grad_fn_of(t)
        return node is not None and sequence_of(node) >= first

    def enter(self, entry: Live, t: Any, site: int, first: int | None = None) -> Live:
        """Makes a tensor from outside the segment one of its values."""
        segment = self.state.segment
        requires_grad = t.requires_grad
        is_leaf = leafness(t)
        origin = (entry.serial, entry.index) if entry.serial >= 0 else None
        entry.site = entry.site or site
        name: str | None = None  # of its node
        outside: int | None = None
        parameter: int | None = None
        module: int | None = None
        written = first is not None and entry.meta >= 0 and self._gained(entry, t, first)
        if written:
            kind = "input"
        elif requires_grad and not is_leaf:
            kind = "carried"
            grad_fn = _before_the_call(grad_fn_of(t), first)
            number = sequence_of(grad_fn) if grad_fn is not None else -1
            name = name_of(grad_fn) if grad_fn is not None else "unknown"
            outside = segment.from_outside(number, name, entry.site)
        elif (requires_grad or type(t) is torch.nn.Parameter) and (entry.leaf or not _shows_a_graph(t)):
            if entry.leaf is None:
                entry.leaf = self.modules.whole_of(t) or self.ledger.leaf(t, entry.site, entry.root)
            parameter = entry.leaf.id
            kind = "parameter" if entry.leaf.registered or entry.leaf.optimizers else "input"
        else:
            module = self.modules.buffer_owner(t)
            kind = "buffer" if module is not None else "input"
        entry.meta = entry.meta if written else self.state.metas.of(t, is_leaf)
        entry.serial = segment.serial
        entry.index = index = segment.new_value(entry.meta, -1, entry.root)
        # Where it came from is told, but two graphs that differ in nothing else are one, as long as
        # the same modules are in evaluation mode: what is carried may be made in another.
        if kind == "carried":
            segment.carried[index] = (entry.written or entry.site,)
            segment.hash = hash((segment.hash, self.state.in_eval))
        segment.externals[index] = External(kind, parameter, module, origin, entry.site, outside)
        segment.hash = hash(
            (
                segment.hash,
                index,
                kind,
                parameter,
                module,
                name,
                outside,
                self.state.metas.structs[entry.meta],
            )
        )
        return entry


def _shows_a_graph(t: Any) -> bool:
    """Whether it is a view, made where gradients were off by a call that was not seen, of what requires one: torch
    says of the view, too, that it does, and that it is a leaf."""
    base = t._base if t._is_view() else None
    return base is not None and base.requires_grad


def _before_the_call(node: Any, first: int | None) -> Any:
    """The node that a tensor had before the call that gave it this one by writing to it; `first` is the number
    of the call's first node."""
    if node is None or first is None or sequence_of(node) < first:
        return node
    earlier = [n for n, _ in node.next_functions if n is not None and 0 <= sequence_of(n) < first]
    return earlier[0] if len(earlier) == 1 else node
