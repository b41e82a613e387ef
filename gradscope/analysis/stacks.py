"""Where the stacks of two calls part."""

from __future__ import annotations

from gradscope.model import Site


def where_parted(one: Site, other: Site) -> tuple[Site, Site]:
    """The calls, in the function that leads to both, by which two stacks differ."""
    pairs = zip(one.stack, other.stack, strict=False)
    return next(((a, b) for a, b in pairs if a.location() != b.location()), (one, other))


def beside_each_other(one: Site, other: Site) -> tuple[Site, Site]:
    """The lines of one function of the program's that led to each, where there is such a function; else the program's
    lines of the two themselves."""
    a, b = where_parted(one, other)
    same = (a.path, a.function) == (b.path, b.function) and a.kind == b.kind == "user"
    return (a, b) if same else (one.user, other.user)
