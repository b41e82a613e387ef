"""A forward that is computed a second time, since the weights of the first one have changed meanwhile."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradscope.analysis.text import own_nodes
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Site
from gradscope.source import names_in
from gradscope.store import Trace


def forward_again(trace: Trace, calls: Iterable[Site], update: Site, effect: Site) -> tuple[str, Edits]:
    """The new code for the pass at `effect`, and the edits: what `calls` gave is computed again after `update`. All
    of them are sites of one function. A result that is read once takes the call in its place, others are assigned
    anew. ("", ()) where the source is not plain enough."""
    here = Source(trace, effect.path)
    found = {id(one): one for site in calls if (one := here.file.statement(site)) is not None}
    chain = sorted(found.values(), key=lambda one: one.lineno)
    between, last = here.file.statement(update), here.file.statement(effect)
    if not chain or between is None or last is None or not _plain(here, chain):
        return "", ()
    if not (chain[-1].end_lineno or 0) < between.lineno <= (between.end_lineno or 0) < last.lineno:
        return "", ()  # a loop runs them in another order than they stand in
    if here.file.loop_of(chain[0]) is not here.file.loop_of(last):
        return "", ()
    made = {name for one in chain for name in names_in(one, ast.Store)}
    reads: list[ast.Name] = []
    for node in own_nodes(here.file.scope(effect)):
        if not isinstance(node, ast.Name) or not chain[-1].lineno < node.lineno <= (last.end_lineno or 0):
            continue
        if isinstance(node.ctx, ast.Store) and any(node.id in names_in(one) for one in chain):
            return "", ()  # the same text would compute something else
        if node.id in made and node.lineno > (between.end_lineno or 0):
            reads.append(node)
    if not reads:
        return "", ()
    first = min(reads, key=lambda one: (one.lineno, one.col_offset))
    reader, only = here.file.statement_of(first), chain[-1]
    if (
        len(reads) == 1 == len(chain)
        and isinstance(only, ast.Assign)
        and isinstance(only.targets[0], ast.Name)
    ):
        value, taker = here.part(only.value, Binds.WHOLE), here.file.parent.get(id(first))
        if isinstance(taker, ast.Call) and first in taker.args and reader is not None and "\n" not in value:
            new = here.text_with(reader, first, value)
            return new, here.replace(first, value) if new else ()
    texts = [here.file.text(one) for one in chain]
    apart = reader is None or here.file.loop_of(reader) is not here.file.loop_of(last)
    if reader is None or apart or any("\n" in text for text in texts):
        return "", ()
    indent = here.file.lines[reader.lineno - 1][: reader.col_offset]
    return "; ".join(texts), here.before(reader, f"\n{indent}".join(texts))


def _plain(here: Source, chain: list[ast.stmt]) -> bool:
    """Whether they are assignments to variables, in one block."""
    block = here.file.siblings(chain[0])
    return all(
        isinstance(one, ast.Assign)
        and len(one.targets) == 1
        and isinstance(one.targets[0], (ast.Name, ast.Tuple))
        and any(one is other for other in block)
        for one in chain
    )
