"""The programs that the rules are tested with: the two of each rule's own file, and those in tests/rules/.

A program is a function `bad…` or `good…`. The lines of a bad one that must be reported carry marks,
`# cause: GS201` and `# effect: GS201`; a good one must be silent under every rule. A bad one whose repair
needs an understanding of it, so that no patch is offered, says so on its first line: `# fix: by hand`.
"""

from __future__ import annotations

import ast
import atexit
import importlib.util
import inspect
import os
import re
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType

import pytest
import torch
from needs import lacking

from gradscope.rules import Rule, all_rules

HERE = Path(__file__).parent / "rules"
_MARK = re.compile(r"#.*?\b(cause|effect): (GS\d{3}(?:, ?GS\d{3})*)")
_KINDS = ("bad", "good")


@dataclass(frozen=True)
class Program:
    """One program of a rule: calling it runs it."""

    rule: Rule
    function: Callable[[], object]

    def __call__(self) -> object:
        return self.function()

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def id(self) -> str:
        return f"{self.rule.code}-{self.name}"

    @property
    def path(self) -> str:
        return inspect.getsourcefile(self.function) or ""

    @property
    def in_rule(self) -> bool:
        """Whether it is one of the two of its rule's own file."""
        return self.name in _KINDS

    @cached_property
    def source(self) -> str:
        return inspect.getsource(self.function)

    @property
    def script(self) -> str:
        """The body of its function as a file of its own."""
        body = self.source[self.source.index("\n") + 1 :]
        return f"import torch\n\ntorch.manual_seed(0)\n{textwrap.dedent(body)}"

    @property
    def needs_cuda(self) -> bool:
        """It says so by its name."""
        return self.name.endswith("_on_cuda")

    @property
    def missing(self) -> str:
        """What this torch or this machine lacks for it; "" where it runs."""
        if self.needs_cuda and not torch.cuda.is_available():
            return "no CUDA device"
        named = (self.function.__globals__.get(name) for name in self.function.__code__.co_names)
        helpers = [helper for helper in named if inspect.isfunction(helper)]
        return next(filter(None, map(lacking, [self.function, *helpers])), "")

    @property
    def runs_here(self) -> bool:
        return not self.missing

    @cached_property
    def by_hand(self) -> bool:
        """Whether its repair is left to whoever understands the program."""
        return "# fix: by hand" in self.source.partition("\n")[0]

    def marked(self, code: str) -> set[tuple[str, int]]:
        """(role, line) of every mark for `code`."""
        lines, first = inspect.getsourcelines(self.function)
        return {
            (role, first + offset)
            for offset, line in enumerate(lines)
            for role, codes in _MARK.findall(line)
            if code in codes
        }

    def shown_as(self, path: str) -> bool:
        """Whether a report means this program's file by `path`."""
        return Path(self.path).parts[-len(Path(path).parts) :] == Path(path).parts or path == self.path


def programs(kind: str, code: str | None = None) -> list[Program]:
    """The "bad" or "good" programs, of one rule or of all, those of the rule's file first; without those that
    need several ranks."""
    return [
        p for p in _all() if p.name.startswith(kind) and code in (None, p.rule.code) and p.rule.across is None
    ]


def of_ranks(kind: str) -> list[Program]:
    """Those that each of two ranks runs."""
    return [p for p in _all() if p.name.startswith(kind) and p.rule.across is not None]


def parameters(kind: str, share: Callable[[Program], float] = lambda program: 0.0) -> list[object]:
    """`programs` for `pytest.mark.parametrize`. share: of those like a program, where it is more than the test's
    `drawn` draws of all."""
    return [_parameter(p, share(p)) for p in programs(kind)]


def parameters_of_ranks(kind: str) -> list[object]:
    """`of_ranks` for `pytest.mark.parametrize`."""
    return [_parameter(p, 0.0) for p in of_ranks(kind)]


def _parameter(program: Program, share: float) -> object:
    missing = program.missing
    marks = [
        *([pytest.mark.skip(reason=missing)] if missing else []),
        *([pytest.mark.drawn(share)] if share else []),
    ]
    return pytest.param(program, id=program.id, marks=marks)


@cache
def _all() -> tuple[Program, ...]:
    return tuple(
        Program(rule, function)
        for rule in all_rules().values()
        for file in _files(rule)
        for name, function in vars(module_of(file)).items()
        if name.startswith(_KINDS) and inspect.isfunction(function)
    )


def _files(rule: Rule) -> Iterator[Path]:
    yield _as_users_file(Path(importlib.import_module(rule.module).__file__ or ""))
    yield from HERE.rglob(f"{rule.code.lower()}_programs.py")


@cache
def _folder() -> Path:
    """Where the examples of rule files lie as a user's programs: code within the package is gradscope's."""
    if given := os.environ.get("RULE_PROGRAMS"):  # the same on several ranks
        return Path(given)
    folder = Path(tempfile.mkdtemp(prefix="rule-programs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _as_users_file(rule_file: Path) -> Path:
    """A file with the examples of a rule file, and what they import from the standard library."""
    text = rule_file.read_text(encoding="utf-8")
    kept = [
        node
        for node in ast.parse(text).body
        if (isinstance(node, ast.FunctionDef) and node.name.startswith(_KINDS))
        or (isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("gradscope"))
    ]
    lines = text.splitlines()
    pieces = ["\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in kept]
    target = _folder() / f"{rule_file.stem}_examples.py"
    target.write_text("\n\n\n".join(pieces) + "\n", encoding="utf-8")
    return target


@cache
def module_of(file: Path) -> ModuleType:
    """A file of programs, imported once and by its place."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
