"""Calls that take a boolean mask, and how it is turned round in their text."""

from __future__ import annotations

import ast

from gradscope.analysis.words import quoted
from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.store import Trace

MASKED = {  # → the name of the mask's argument, its place in a function, and in a method
    "scaled_dot_product_attention": ("attn_mask", 3, -1),
    "masked_fill": ("mask", 1, 0),
    "masked_fill_": ("mask", -1, 0),
}


def turned(trace: Trace, function: str, site: Site) -> tuple[str, Edits]:
    """`~mask` for the mask that a call is given: the text, and the edits."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not isinstance(call, ast.Call):
        return "", ()
    name, place, of_method = MASKED[function]
    place = place if here.file.is_imported(call.func) else of_method
    given = [word.value for word in call.keywords if word.arg == name]
    given += call.args[place : place + 1] if place >= 0 else []
    if len(given) != 1:
        return "", ()
    new = f"~{here.file.operand(given[0])}"
    return quoted(new).strip("`"), here.replace(given[0], new)
