"""For the API's page: a line of a docstring that begins with an argument's name becomes an item of a list.

An extension of Griffe, which mkdocs.yml names.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ARGUMENT = re.compile(r"^(\w+): ")


class Arguments(griffe.Extension):
    """Rewrites docstrings for Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Each object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value, set(_names(obj)))


def _names(obj: griffe.Object) -> list[str]:
    members = list(getattr(obj, "members", ()))
    return [*members, *[parameter.name for parameter in getattr(obj, "parameters", ())]]


def as_markdown(text: str, names: set[str]) -> str:
    """The text of a docstring with its arguments as a list."""
    written: list[str] = []
    listed = False
    for line in text.splitlines():
        found = _ARGUMENT.match(line)
        if found is not None and found[1] in names:
            written += [*([] if listed else [""]), f"- `{found[1]}`: {line[found.end() :]}"]
            listed = True
        else:
            written.append(f"  {line}" if listed and line.strip() else line)
            listed = listed and bool(line.strip())
    return "\n".join(written)
