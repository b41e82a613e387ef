"""Makes the graph of one level from a Flow and its boxes."""

from __future__ import annotations

from typing import Any

from gradscope.graph._gradients import add_between_boxes, add_grad_fns
from gradscope.graph._leaves import Leaves
from gradscope.graph._making import Making
from gradscope.graph._often import Often
from gradscope.graph._places import Key
from gradscope.graph._said import Sayings
from gradscope.graph._ties import Ties
from gradscope.graph._ways import Ways
from gradscope.graph.arrows import Graph


class Builder(Making):
    """Builds the graph."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._often = Often(self)
        self._sayings = Sayings(self, self._often)

    def build(self) -> Graph:
        for key, ops in self.members.items():
            self.node(self.id(key), **self.told(key, ops))
        leaves = Leaves(self)
        leaves.add()
        Ways(self, self._often).add()
        if self.level == "op":
            add_grad_fns(self)
        else:
            add_between_boxes(self)
        Ties(self, leaves).add()
        return self.graph

    def told(self, key: Key, ops: list[int]) -> dict[str, Any]:
        """The attributes of a box that these ops belong to."""
        return self._sayings.told(key, ops)
