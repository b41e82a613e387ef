"""A small program that has run under a watch, with its calls and values found by how they are written."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

import gradscope
from gradscope.analysis.reach import Key
from gradscope.model import Op, Parameter, Site
from gradscope.source import SourceFile
from gradscope.store import Trace

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\ntorch.ones(1)\n"


@dataclass(frozen=True)
class Observed:
    """A run, asked by the text of its program."""

    trace: Trace

    def text(self, site: Site) -> str:
        """What the program has at a place."""
        lines = self.trace.lines(site.path)[site.line - 1 : site.end_line]
        if not lines:
            return ""
        lines[-1] = lines[-1][: site.end_column - 1]
        return "\n".join([lines[0][site.column - 1 :], *lines[1:]])

    def ops(self, text: str) -> list[Op]:
        """The calls that are written like this, in the order of their graphs."""
        found = [op for op in self.trace.ops if self.text(op.site.user) == text]
        assert found, f"no call reads `{text}`: {sorted({self.text(op.site.user) for op in self.trace.ops})}"
        return found

    def op(self, text: str, nth: int = 0) -> Op:
        return self.ops(text)[nth]

    def key(self, text: str, nth: int = 0) -> Key:
        """What the call that is written like this gave, or left of what it wrote to."""
        op = self.op(text, nth)
        return op.graph, (*op.outputs, *op.written)[0]

    def texts(self, ops: Iterable[Op | None]) -> list[str]:
        return [self.text(op.site.user) if op is not None else "" for op in ops]

    def leaf(self, name: str) -> Parameter:
        """The only parameter of this name."""
        (found,) = (p for p in self.trace.parameters if p.name == name)
        return found

    def names(self, ids: Iterable[int]) -> set[str]:
        return {self.trace.parameter(id).name for id in ids}

    @property
    def path(self) -> str:
        """The only file of the program's."""
        (path,) = self.trace.sources
        return path

    @property
    def file(self) -> SourceFile:
        return self.trace.source_file(self.path)

    def line(self, part: str, nth: int = 0) -> int:
        """The number of the line that has this in it."""
        return [n for n, line in enumerate(self.trace.lines(self.path), 1) if part in line][nth]

    def site(self, text: str, nth: int = 0) -> Site:
        """The place of an expression or statement of the text, whether it ran or not."""
        nodes = [node for node in self.file.nodes if isinstance(node, (ast.expr, ast.stmt))]
        found = {self.file.span(node): node for node in nodes if self.file.text(node) == text}
        span = sorted(found)[nth]
        function = self.file.function_of(found[span])
        return Site(-1, self.path, *span, function.name if function is not None else "<module>", "user")


def observed(program: Callable[[], object]) -> Observed:
    """A function's run, all of it looked at."""
    torch.manual_seed(0)
    grad = torch.is_grad_enabled()
    try:
        with gradscope.watch(sample=False) as scope:
            program()
    finally:
        torch.set_grad_enabled(grad)
    return Observed(scope.trace)


def written(folder: Path, text: str, head: str = HEAD) -> Observed:
    """The run of a program that is a file of its own, for what the whole of its text tells. It runs in a thread whose
    stack has no line of the test's: the trace knows the text of all files that it met."""
    path = folder / f"train{len(list(folder.glob('*.py')))}.py"
    path.write_text(head + textwrap.dedent(text), encoding="utf-8")
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    torch.manual_seed(0)
    scope = gradscope.watch(sample=False, path=path.with_suffix(".gradscope"))
    with ThreadPoolExecutor(1) as thread:
        thread.submit(scope.__enter__).result()
        try:
            thread.submit(exec, code, {"__name__": "train"}).result()
        finally:
            thread.submit(scope.__exit__, None, None, None).result()
    return Observed(scope.trace)


def optimizer(*held: nn.Module | torch.Tensor, rate: float = 0.1) -> torch.optim.Optimizer:
    leaves = [p for one in held for p in (one.parameters() if isinstance(one, nn.Module) else [one])]
    return torch.optim.SGD(leaves, lr=rate)
