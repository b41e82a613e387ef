"""Kinds of events: what hooks record has a class in gradscope/events.py, and a row in docs/events.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gradscope.events import Field, Kind

ROOT = Path(__file__).parents[2]
KINDS = sorted(Kind.known.items())


@cache
def rows() -> dict[str, tuple[str, str]]:
    """Kind → (class, text) of each row in docs/events.md."""
    text = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    return {
        kind: (cls, said) for kind, cls, said in re.findall(r"^\| `(\w+)` `(\w+)` \| (.*) \|$", text, re.M)
    }


def fields(kind: type[Kind]) -> dict[str, str]:
    """Attribute → key in `Event.data`."""
    return {
        name: field.key
        for cls in kind.__mro__
        for name, field in vars(cls).items()
        if isinstance(field, Field)
    }


def emitted() -> Iterator[tuple[str, str]]:
    """(kind, place) of every call of `emit` in hooks/; the kind is "" where it is no plain text."""
    for path in sorted((ROOT / "gradscope" / "hooks").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "emit"
            ):
                kind = node.args[0]
                said = kind.value if isinstance(kind, ast.Constant) and isinstance(kind.value, str) else ""
                yield said, f"{path.name}:{node.lineno}"


def test_every_kind_that_hooks_record_has_a_class_and_every_class_is_recorded() -> None:
    places = dict(emitted())
    assert {place for kind, place in places.items() if kind not in Kind.known} == set()
    assert set(Kind.known) - set(places) == set()


def test_the_document_has_the_kinds_that_there_are() -> None:
    assert {kind: cls for kind, (cls, _) in rows().items()} == {kind: cls.__name__ for kind, cls in KINDS}


@pytest.mark.parametrize(("kind", "cls"), KINDS)
def test_every_attribute_is_described(kind: str, cls: type[Kind]) -> None:
    said = rows()[kind][1]
    missing = [name for name in fields(cls) if f"`{name}`" not in said]
    assert not missing, f"{kind}: not described"
    for name, key in fields(cls).items():
        if key != name:
            assert f'`{name}` ("{key}":' in said, f"{kind}: {name} is stored as {key}"
