"""A small program that is run under `gradscope.watch()`, and its text after the edits of a fix."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import gradscope
from gradscope.fixes.patch import patched
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Site
from gradscope.source import SourceFile
from gradscope.store import Trace


@dataclass(frozen=True)
class Program:
    """A program that has run, and the trace of that run."""

    trace: Trace
    path: str

    @property
    def text(self) -> str:
        """The program as the trace holds it."""
        return self.trace.sources[self.path]

    @property
    def file(self) -> SourceFile:
        return self.trace.source_file(self.path)

    @property
    def source(self) -> Source:
        return Source(self.trace, self.path)

    def site(self, code: str, nth: int = 0) -> Site:
        """The place of the `nth` expression or statement that reads like this."""
        found = {self.file.span(node): node for node in self._nodes(code)}
        span = sorted(found)[nth]
        function = self.file.function_of(found[span])
        return Site(-1, self.path, *span, function.name if function is not None else "<module>", "user")

    def node(self, code: str) -> ast.expr:
        """The first expression that reads like this."""
        return next(node for node in self._nodes(code) if isinstance(node, ast.expr))

    def statement(self, code: str) -> ast.stmt:
        """The statement whose first line begins like this."""
        found = [node for node in self.file.nodes if isinstance(node, ast.stmt)]
        return next(node for node in found if self.file.text(node).startswith(code))

    def _nodes(self, code: str) -> list[ast.expr | ast.stmt]:
        nodes = [node for node in self.file.nodes if isinstance(node, (ast.expr, ast.stmt))]
        found = [node for node in nodes if self.file.text(node) == code]
        assert found, f"nothing in the program reads `{code}`"
        return found

    def shown(self, site: Site) -> str:
        """The program's text at a place."""
        node = self.file.at(site)
        return self.file.text(node) if isinstance(node, (ast.expr, ast.stmt)) else ""

    def after(self, edits: Iterable[Edit]) -> str:
        """The program with these edits made, which is still Python."""
        site = Site(-1, self.path, 1, 1, 1, 1, "", "user")
        finding = Finding("the program is to be changed", cause=site, edits=tuple(edits))
        assert finding.edits, "no edit is offered"
        patch = patched({self.path: self.text}, [finding])
        assert patch.made == [finding], f"not to be made in the program: {finding.edits}"
        compile(patch.texts[self.path], self.path, "exec")
        return patch.texts[self.path]

    def body_after(self, edits: Iterable[Edit]) -> str:
        """The same without the imports that `read` puts before a text."""
        return self.after(edits).removeprefix(HEAD)


HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\ntorch.ones(1)\n"


def read(folder: Path, text: str, *, head: str = HEAD, newline: str = "\n") -> Program:
    """A program of which only the text matters: what stands in its functions is not run."""
    return watched(folder, (head + textwrap.dedent(text)).replace("\n", newline))


def watched(folder: Path, text: str, *, stops: bool = False) -> Program:
    """Runs a program under a watch. The one that `stops` ends in an error of torch's."""
    path = folder / f"train{len(list(folder.glob('train*.py')))}.py"
    path.write_text(text, encoding="utf-8", newline="")
    torch.manual_seed(0)
    raised: Exception | None = None
    with gradscope.watch(path=path.with_suffix(".gradscope")) as scope:
        try:
            run(text, str(path))
        except RuntimeError as error:
            raised = error
    if raised is not None and not stops:
        raise raised
    assert stops == (raised is not None), "the program did not stop"
    return Program(scope.trace, str(path))


def run(text: str, path: str = "edited.py") -> dict[str, Any]:
    """Runs a program's text, and gives what its names stand for then."""
    space: dict[str, Any] = {"__name__": "train"}
    grad = torch.is_grad_enabled()
    try:
        exec(compile(text, path, "exec"), space)
    finally:
        torch.set_grad_enabled(grad)
    return space
