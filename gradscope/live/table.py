"""The parameters of a model in a table, as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from gradscope.analysis.names import shape_words
from gradscope.escape import one_line
from gradscope.hooks._torch import Optimizer
from gradscope.live.reasons import gradient
from gradscope.live.walk import Names

HEADS = ("parameter", "shape", "requires_grad", "grad", "optimizer")


@dataclass(frozen=True)
class Row:
    """One parameter. grad: "None", "all zeros", its norm, or how much of it is not finite; optimizer: whether
    one holds it, None where none was given."""

    name: str
    shape: tuple[int, ...]
    requires_grad: bool
    grad: str
    optimizer: bool | None

    def cells(self) -> tuple[str, ...]:
        held = {True: "yes", False: "no", None: "-"}[self.optimizer]
        shape = shape_words(self.shape)
        return one_line(self.name), shape, "yes" if self.requires_grad else "no", self.grad, held


class Tabular:
    """Printed as text, in a notebook as a table."""

    def lines(self) -> list[tuple[str, ...]]:
        """The cells of each line, the heads first; a note is a line with only a first cell."""
        raise NotImplementedError

    def __str__(self) -> str:
        lines = self.lines()
        wide = [line for line in lines if any(line[1:])]
        widths = [max(len(line[i]) for line in wide) for i in range(len(lines[0]))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._html()}

    def _html(self) -> str:
        heads, *lines = self.lines()
        head = "".join(f"<th>{head}</th>" for head in heads)
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in line) for line in lines)
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


@dataclass(frozen=True, repr=False)
class Table(Tabular):
    """The rows, in the model's order. Printed as text, in a notebook as a table."""

    rows: list[Row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def lines(self) -> list[tuple[str, ...]]:
        return [HEADS, *(row.cells() for row in self.rows)]


def table_of(names: Names, optimizers: list[Optimizer]) -> Table:
    held = {id(p) for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
    return Table([_row(name, p, held if optimizers else None) for name, p in names.parameters.items()])


def _row(name: str, parameter: Any, held: set[int] | None) -> Row:
    return Row(
        name, tuple(parameter.shape), bool(parameter.requires_grad),
        gradient(parameter),
        None if held is None else id(parameter) in held,
    )  # fmt: skip
