"""A program with other names and without comments: what it does is the same, what its author called it is gone."""

from __future__ import annotations

import ast
import builtins
import difflib
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from typing import TypeVar

import torch
from torch import nn
from torch.nn import functional
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Dataset

T = TypeVar("T", bound=ast.AST)
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
# What has a meaning for torch or Python keeps its name.
KEPT = {
    name
    for holder in (
        torch, nn, functional, torch.Tensor, nn.Module, nn.Parameter, torch.optim.Optimizer, torch.optim.SGD,
        LRScheduler, Dataset, DataLoader, torch.autograd.Function, nn.Linear(1, 1), nn.Embedding(1, 1),
        nn.BatchNorm1d(1), nn.Dropout(), nn.LSTM(1, 1), builtins, list, dict, str, set, tuple, int, float,
    )
    for name in dir(holder)
} | {
    "backward", "forward", "vjp", "jvp", "vmap", "setup_context", "generate_vmap_rule", "self", "cls", "ctx",
    "benchmark", "deterministic", "last_epoch",
}  # fmt: skip


def renamed(source: str) -> str:
    """The same lines with other names for the program's own variables, attributes, functions and arguments, and
    with no comment."""
    tree = ast.parse(source)
    imported = {(a.asname or a.name).partition(".")[0] for a in _all(tree, ast.alias)}
    names = sorted(_names(tree) - imported - KEPT)
    attributes = sorted(_attributes(tree) - KEPT - set(names)) + [n for n in names if n in _attributes(tree)]
    arguments = {a.arg for a in _all(tree, ast.arg)}
    fresh = {old: f"v{number}" for number, old in enumerate([*names, *sorted(set(attributes) - set(names))])}
    keywords = {
        (k.lineno, k.col_offset)
        for call in _all(tree, ast.Call)
        for k in call.keywords
        if k.arg in arguments and k.arg in fresh and not _of_torch(call.func, imported)
    }
    known = {(k.lineno, k.col_offset) for k in _all(tree, ast.keyword)}
    methods = {
        (f.lineno, f.name) for c in _all(tree, ast.ClassDef) for f in c.body if isinstance(f, FUNCTION)
    }
    lines = source.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(source).readline))):
        (row, column), (last, end) = token.start, token.end
        line = lines[row - 1] if row <= len(lines) else ""
        if token.type == tokenize.COMMENT:
            new = ""
        elif token.type == tokenize.STRING and row == last:
            new = _text(token.string, fresh, set(attributes))
        elif token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            at = row, len(line[:column].encode())
            attribute = line[:column].rstrip().endswith(".") or (row, token.string) in methods
            wanted = (
                token.string in attributes
                if attribute
                else at in keywords
                if at in known
                else token.string in names
            )
            new = fresh[token.string] if wanted else token.string
        else:
            continue
        lines[row - 1] = line[:column] + new + line[end:]
    return "".join(line.rstrip() + "\n" for line in lines)


def _all(tree: ast.AST, kind: type[T]) -> Iterator[T]:
    return (node for node in ast.walk(tree) if isinstance(node, kind))


def _misspelled(name: str) -> bool:
    """Whether it is meant to be a name of torch's: `require_grad`."""
    return bool(difflib.get_close_matches(name, ["requires_grad"], cutoff=0.85))


def _names(tree: ast.AST) -> set[str]:
    """Variables, arguments, functions and classes that the program names."""
    methods = {id(f) for c in _all(tree, ast.ClassDef) for f in c.body}
    found = {node.id for node in _all(tree, ast.Name) if isinstance(node.ctx, ast.Store)}
    found |= {node.arg for node in _all(tree, ast.arg)}
    found |= {node.name for node in ast.walk(tree) if isinstance(node, FUNCTION) and id(node) not in methods}
    found |= {node.name for node in _all(tree, ast.ClassDef)}
    return {name for name in found if not name.startswith("__")}


def _attributes(tree: ast.AST) -> set[str]:
    """Attributes that it sets, and methods that it defines."""
    found = {node.attr for node in _all(tree, ast.Attribute) if isinstance(node.ctx, ast.Store)}
    for cls in _all(tree, ast.ClassDef):
        found |= {node.name for node in cls.body if isinstance(node, FUNCTION)}
        found |= {t.id for node in cls.body if isinstance(node, ast.Assign) for t in _all(node, ast.Name)}
        found |= {
            node.target.id
            for node in cls.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
    for call in _all(tree, ast.Call):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method in ("register_buffer", "register_parameter", "add_module") and call.args:
            if isinstance(call.args[0], ast.Constant):
                found.add(str(call.args[0].value))
    return {name for name in found if not name.startswith("__") and not _misspelled(name)}


def _of_torch(function: ast.expr, imported: set[str]) -> bool:
    """Whether what is called is no name of the program's: `nn.Linear`, `tensor.sum`."""
    root = function
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in imported:
        return True
    return isinstance(function, ast.Attribute) and function.attr in KEPT


def _text(text: str, fresh: dict[str, str], attributes: set[str]) -> str:
    """A string in which the program names its attributes, or shows its variables."""
    if re.match(r"[rb]*f", text, re.IGNORECASE):
        return re.sub(
            r"\{[^{}]*",
            lambda found: re.sub(r"(?<![.\w])[A-Za-z_]\w*", lambda n: fresh.get(n[0], n[0]), found[0]),
            text,
        )
    quote = text[-1]
    inner = text.strip(quote)
    parts = inner.split(".")
    if text.count(quote) == 2 and text[0] == quote and any(part in attributes for part in parts):
        return quote + ".".join(fresh.get(p, p) if p in attributes else p for p in parts) + quote
    return text
