"""What the program's text says of a `DataLoader`."""

from __future__ import annotations

import ast

from gradscope.model import Site
from gradscope.source import SourceFile


def dataset_given(file: SourceFile, made: Site) -> ast.expr | None:
    """The dataset that the call which makes a loader is given."""
    call = file.at(made)
    if not isinstance(call, ast.Call):
        return None
    named = (keyword.value for keyword in call.keywords if keyword.arg == "dataset")
    given = call.args[0] if call.args else next(named, None)
    return None if isinstance(given, ast.Starred) else given
