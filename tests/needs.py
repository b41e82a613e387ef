"""Skips what needs a name that this torch lacks, by the table that `gradscope doctor` tells from."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from gradscope.hooks._torch import FEATURES

SHARDS_HERE = hasattr(
    torch.cpu.Stream, "record_event"
)  # not in torch 2.6, where plain `fully_shard` ends by it


def lacking(program: str | Callable[..., Any]) -> str:
    """The first name in a program's text that this torch lacks; "" where it has them all."""
    lacked = [(name, feature) for name, feature in FEATURES.items() if not feature.here]
    text = program if isinstance(program, str) or not lacked else _source(program)
    for name, feature in lacked:
        head, _, tail = name.rpartition(".")
        if re.search(rf"\b{re.escape(name)}\b|\bfrom {re.escape(head)} import .*\b{tail}\b", str(text)):
            return f"{name} is of torch {feature.since}"
    if not SHARDS_HERE and "fully_shard" in str(program if isinstance(program, str) else _source(program)):
        return "fully_shard needs a GPU with this torch: its streams of the CPU record no event"
    return ""


def _source(program: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(inspect.unwrap(program))
    except (OSError, TypeError):  # a method of an object, what was made without a file
        return ""


@contextmanager
def indexing_seen(program: Callable[..., Any]) -> Iterator[None]:
    """Where this torch does not show indexing: a wrong program that indexes may be missed, or told at another line,
    and the graph of any ends there."""
    try:
        yield
    except AssertionError:
        feature = FEATURES["x[…]"]
        indexed = any(
            isinstance(n, ast.Subscript) for n in ast.walk(ast.parse(textwrap.dedent(_source(program))))
        )
        if feature.here or not indexed:
            raise
        pytest.skip(f"{feature.name} is of torch {feature.since}")


def skip_where_lacking(program: str | Callable[..., Any]) -> None:
    if reason := lacking(program):
        pytest.skip(reason)
