"""Changes to lines that set `requires_grad`."""

from __future__ import annotations

import ast

from gradscope.events import RequiresGrad
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside, line_after
from gradscope.model import Event, Site
from gradscope.source import LOOPS
from gradscope.store import Trace


def emptied(trace: Trace, off: Event | None, froze: Site | None) -> tuple[str, Edits]:
    """`p.grad = None` behind `p.requires_grad = False`: the text, and the edits."""
    node = trace.source_file(froze.path).at(froze) if froze is not None else None
    if isinstance(node, ast.Attribute) and node.attr == "requires_grad":
        text = f"{ast.unparse(node.value)}.grad = None"
    elif (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(off, RequiresGrad)
    ):
        of_module = any(frame.kind == "torch" for frame in off.site.stack)
        text = ast.unparse(node.func.value) + (".zero_grad()" if of_module else ".grad = None")
    else:
        return "", ()
    return text, line_after(trace, froze, text)


def set_before(trace: Trace, line: Site, other: Site | None) -> Edits:
    """The line that sets `requires_grad`, with the loop over the parameters that holds nothing else, before the
    statement of `other` in the same block, or the one around it there."""
    if other is None or not beside(trace, line, other):
        return ()
    here = Source(trace, line.path)
    whole = here.file.statement(line)
    if whole is None:
        return ()
    above = here.file.parent.get(id(whole))
    if isinstance(above, LOOPS) and above.body == [whole]:
        whole = above
    around = {id(node) for node in here.file.around(other)}
    block = here.file.siblings(whole)
    to = next((s for s in block[: block.index(whole)] if id(s) in around), None)
    return here.move(whole, to, lines=True) if to is not None else ()
