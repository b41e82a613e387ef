"""The mechanical fixes that put statements elsewhere, add one, or take one out.

Each gives no edits where the source is not plain enough for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from gradscope.fixes.source import Edits, Source, has_long_text
from gradscope.model import Edit, Site
from gradscope.source import LOOPS, SCOPES, names_in
from gradscope.store import Trace

_SCOPES = (*SCOPES, ast.ClassDef)


def line_before(trace: Trace, site: Site | None, text: str) -> Edits:
    """The statement `text` on a line of its own before the one at `site`."""
    return (here := Source(trace, site.path)).before(here.file.statement(site), text) if site else ()


def line_after(trace: Trace, site: Site | None, text: str) -> Edits:
    """The statement `text` on a line of its own after the one at `site`."""
    return (here := Source(trace, site.path)).after(here.file.statement(site), text) if site else ()


def beside(trace: Trace, site: Site | None, other: Site | None) -> bool:
    """Whether both stand in the same function, so that the names of one are known at the other."""
    if site is None or other is None or site.path != other.path:
        return False
    file = trace.source_file(site.path)
    scopes = [[node for node in file.around(s) if isinstance(node, _SCOPES)][:1] for s in (site, other)]
    return file.tree is not None and scopes[0] == scopes[1]


def under_no_grad(trace: Trace, site: Site | None) -> Edits:
    """The statement at `site`, which gives names their values, under `with torch.no_grad():`."""
    if site is None:
        return ()
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    plain = isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr))
    return here.under(statement, "with torch.no_grad():") if plain and "torch" in here.file.imported else ()


def moved(
    trace: Trace, site: Site | None, target: Site | None, *, after: bool = False, conditional: bool = False
) -> Edits:
    """The call at `site`, which is a statement, to the line right before or after that of `target`; a
    `conditional` one with the `if` around it.

    Not where a loop stands around one of them alone: it would run more often, or less."""
    if site is None or target is None or not beside(trace, site, target):
        return ()
    here = Source(trace, site.path)
    statement, to = here.file.statement(site), here.file.statement(target)
    if not isinstance(statement, ast.Expr) or to is None or not _as_often(here, statement, to):
        return ()
    whole = _with_condition(here, statement, to) if conditional else statement
    if whole is not statement:
        to = next((near for near in here.file.siblings(whole) if _holds(near, to)), to)
    return here.move(whole, to, after=after, lines=conditional)


def _with_condition(here: Source, statement: ast.stmt, to: ast.stmt) -> ast.stmt:
    """The `if` around a statement that is all it decides on, where `to` stands outside of it."""
    above = here.file.parent.get(id(statement))
    while (
        isinstance(above, ast.If) and above.body == [statement] and not above.orelse and not _holds(above, to)
    ):
        statement, above = above, here.file.parent.get(id(above))
    return statement


def taken_away(trace: Trace, site: Site) -> Edits:
    """Takes the call at `site` out, where it is a statement."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    return here.remove(statement) if isinstance(statement, ast.Expr) else ()


def moved_behind(trace: Trace, site: Site | None, target: Site | None) -> Edits:
    """The call at `site`, which is a statement, behind that of `target`, and behind the loop or
    condition that `target` stands in and `site` does not; with the `if` around it where `target` stands outside."""
    if site is None or target is None or not beside(trace, site, target):
        return ()
    here = Source(trace, site.path)
    statement, to = here.file.statement(site), here.file.statement(target)
    if not isinstance(statement, ast.Expr) or to is None:
        return ()
    around = next((s for s in here.file.siblings(statement) if _holds(s, to)), None)
    if around is None:
        whole = _with_condition(here, statement, to)
        around = next((s for s in here.file.siblings(whole) if _holds(s, to)), None)
        once = around is not None and not isinstance(around, LOOPS)
        return here.move(whole, around, after=True, lines=True) if around is not None and once else ()
    test = condition_within(here, to, around) if isinstance(around, LOOPS) else ""
    if test:
        removed = here.remove(statement)
        return (
            (*removed, *here.rows_after(around, [(0, f"if {test}:"), (1, here.text_of(statement))]))
            if removed
            else ()
        )
    return here.move(statement, around, after=True)


def condition_within(here: Source, statement: ast.stmt, around: ast.stmt) -> str:
    """The condition under which a statement within another one runs, where it is the same throughout that: none of its
    names is given a value in it. "" where there is none."""
    given = names_in(around, ast.Store)
    above, inner = here.file.parent.get(id(statement)), statement
    while above is not None and inner is not around:
        if isinstance(above, ast.If) and inner in above.body:
            names = {part.id for part in ast.walk(above.test) if isinstance(part, ast.Name)}
            if names and not names & given:
                return here.file.text(above.test)
        if isinstance(above, ast.stmt):
            inner = above
        above = here.file.parent.get(id(above))
    return ""


def behind_their_loop(trace: Trace, sites: list[Site], around: int = 2) -> tuple[int, Edits]:
    """The calls at `sites`, which are statements of one loop, behind that loop, where so many, with itself, stand
    around them: the line of the loop, and the edits."""
    here = Source(trace, sites[0].path)
    loops = []
    for node in here.file.around(sites[0]):
        if isinstance(node, _SCOPES):
            break
        if isinstance(node, LOOPS):
            loops.append(node)
    statements = sorted(
        (s for site in sites if (s := here.file.statement(site)) is not None), key=lambda s: s.lineno
    )
    if len(loops) < around or not all(s in loops[0].body and isinstance(s, ast.Expr) for s in statements):
        return 0, ()
    loop = loops[0]
    if loop.body[-len(statements) :] == statements and len(loop.body) > len(statements) and not loop.orelse:
        return loop.lineno, out_of(here, statements, loop)
    if loop.body[-1] in statements:
        return loop.lineno, ()
    return loop.lineno, tuple(e for s in statements for e in here.move(s, loop, after=True))


def out_of(here: Source, last: Sequence[ast.stmt], block: ast.stmt) -> Edits:
    """The last statements of a block's body behind the block: as far to the left as it stands."""
    if any(has_long_text(s) for s in last):
        return ()
    more = last[0].col_offset - block.col_offset
    return tuple(Edit(here.path, n, 1, n, 1 + more, "") for n in _lines(last))


def _lines(statements: Iterable[ast.stmt]) -> list[int]:
    return [n for s in statements for n in range(s.lineno, (s.end_lineno or s.lineno) + 1)]


def into_the_loop(trace: Trace, loop: ast.stmt, last: Site) -> Edits:
    """The calls that follow a loop, up to that at `last`, at the end of its body."""
    here = Source(trace, last.path)
    end = here.file.statement(last)
    after = [s for s in here.file.siblings(loop) if s.lineno > (loop.end_lineno or loop.lineno)]
    if end not in after or not isinstance(loop, LOOPS) or loop.orelse:
        return ()
    moved = after[: after.index(end) + 1]
    if not all(isinstance(s, ast.Expr) and not has_long_text(s) for s in moved):
        return ()
    indent = here.file.lines[loop.body[0].lineno - 1][loop.col_offset : loop.body[0].col_offset]
    return tuple(Edit(here.path, n, 1, n, 1, indent) for n in _lines(moved))


def _holds(statement: ast.stmt, other: ast.stmt) -> bool:
    return any(node is other for node in ast.walk(statement))


def _as_often(here: Source, statement: ast.stmt, to: ast.stmt) -> bool:
    """Whether the same loops stand around both."""
    loops: list[list[int]] = []
    for node in (statement, to):
        found: list[int] = []
        above: ast.AST | None = here.file.parent.get(id(node))
        while above is not None and not isinstance(above, _SCOPES):
            found += [id(above)] if isinstance(above, LOOPS) else []
            above = here.file.parent.get(id(above))
        loops.append(found)
    return loops[0] == loops[1]
