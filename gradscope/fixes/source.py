"""Changes to the user's source that mend a finding, for rules whose fix is mechanical.

Every function gives the edits, or none where the source is not plain enough: a line with
several statements, a block that returns in the middle, a call that is no plain call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import IntEnum

from gradscope.fixes.patch import changed
from gradscope.model import Edit, Site
from gradscope.source import (
    FUNCTIONS,
    LOOPS,
    SCOPES,
    SourceFile,
    called_name,
    method_name,
    own_name,
    stands_in,
)
from gradscope.store import Trace

Edits = tuple[Edit, ...]
TRAINING = ("backward", "step")
_WRITES = {
    "add_",
    "copy_",
    "lerp_",
    "sub_",
}  # put what they are given first into the tensor that they are called on
_COLLECTIONS = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.GeneratorExp)


class Binds(IntEnum):
    """How closely an expression holds together, by Python's grammar; of a place how closely what stands there must."""

    LOOSELY = 0  # `yield x`, and a place in parentheses
    TUPLE = 1  # without parentheses of its own
    NAMED = 2
    WHOLE = 3  # a lambda, a condition; an argument or element
    OR = 4
    AND = 5
    NOT = 6
    COMPARISON = 7
    BIT_OR = 8
    BIT_XOR = 9
    BIT_AND = 10
    SHIFT = 11
    SUM = 12
    PRODUCT = 13
    SIGN = 14
    POWER = 15
    AWAIT = 16  # and a number, which takes no method
    PRIMARY = 17  # a name, a call, what stands in brackets; what a method is called on


_OPERATORS: dict[type[ast.operator | ast.boolop | ast.unaryop], Binds] = {
    ast.Or: Binds.OR, ast.And: Binds.AND, ast.Not: Binds.NOT, ast.BitOr: Binds.BIT_OR, ast.BitXor: Binds.BIT_XOR,
    ast.BitAnd: Binds.BIT_AND, ast.LShift: Binds.SHIFT, ast.RShift: Binds.SHIFT, ast.Add: Binds.SUM,
    ast.Sub: Binds.SUM, ast.Mult: Binds.PRODUCT, ast.MatMult: Binds.PRODUCT, ast.Div: Binds.PRODUCT,
    ast.FloorDiv: Binds.PRODUCT, ast.Mod: Binds.PRODUCT, ast.UAdd: Binds.SIGN, ast.USub: Binds.SIGN,
    ast.Invert: Binds.SIGN, ast.Pow: Binds.POWER,
}  # fmt: skip
_OTHERS: dict[type[ast.AST], Binds] = {
    ast.Yield: Binds.LOOSELY, ast.YieldFrom: Binds.LOOSELY, ast.NamedExpr: Binds.NAMED, ast.Lambda: Binds.WHOLE,
    ast.IfExp: Binds.WHOLE, ast.Compare: Binds.COMPARISON, ast.Await: Binds.AWAIT,
}  # fmt: skip
_PLACES: dict[type[ast.AST], Binds] = {
    ast.Assign: Binds.LOOSELY, ast.AugAssign: Binds.LOOSELY, ast.AnnAssign: Binds.LOOSELY, ast.Expr: Binds.LOOSELY,
    ast.Return: Binds.TUPLE, ast.For: Binds.TUPLE, ast.AsyncFor: Binds.TUPLE, ast.If: Binds.NAMED,
    ast.While: Binds.NAMED, ast.Compare: Binds.BIT_OR, ast.Starred: Binds.BIT_OR, ast.comprehension: Binds.OR,
    ast.FormattedValue: Binds.OR, ast.Await: Binds.PRIMARY, ast.Attribute: Binds.PRIMARY,
}  # fmt: skip


class Source:
    """One file of the program, to be edited."""

    def __init__(self, trace: Trace, path: str):
        self.path = path
        self.file: SourceFile = trace.source_file(path)

    def before(self, statement: ast.stmt | None, *texts: str) -> Edits:
        """Puts statements, each on a line of its own, before another."""
        if statement is None or not self.alone(statement):
            return ()
        line = _first_line(statement)
        lines = "".join(f"{self._indent(statement)}{text}\n" for text in texts)
        return (Edit(self.path, line, 1, line, 1, lines),)

    def block_before(self, statement: ast.stmt | None, *heads: str) -> Edits:
        """The same with statements of which each is the block of the one before it."""
        return self.before(statement, *(f"{self._unit() * depth}{text}" for depth, text in enumerate(heads)))

    def after(self, statement: ast.stmt | None, text: str, *inner: str) -> Edits:
        """Puts the statement `text` on a line of its own after another and its block; each of `inner` is the one
        statement of the block before it."""
        return self.rows_after(statement, list(enumerate((text, *inner))))

    def rows_after(self, statement: ast.stmt | None, rows: Sequence[tuple[int, str]]) -> Edits:
        """Puts lines after another statement and its block, each so many blocks deep."""
        if statement is None or not self.alone(statement):
            return ()
        _, _, last, _ = self.file.span(statement)
        end = self._line_end(last)  # a comment stays on its line
        indent = self._indent(statement)
        lines = [f"\n{indent}{self._unit() * depth}{line}" for depth, line in rows]
        return (Edit(self.path, last, end, last, end, "".join(lines)),)

    def out_of_else(self, branch: ast.If) -> Edits:
        """Puts the one statement of an `else` of its own line behind the `if`."""
        last, only = branch.body[-1], branch.orelse[0]
        _, _, line, column = self.file.span(last)
        first, _, end, end_column = self.file.span(only)
        between = "".join(self.file.lines[line : first - 1]).strip()
        if self.file.lines[line - 1][column - 1 :].strip() or between != "else:" or first != end:
            return ()
        text = f"\n{self._indent(branch)}{self.file.text(only)}"
        return (Edit(self.path, line, column, end, end_column, text),)

    def replace(self, node: ast.expr | ast.stmt, text: str) -> Edits:
        """Puts `text` in place of a statement or expression: that of an expression gets the parentheses that it
        needs there."""
        if isinstance(node, ast.expr):
            text = _fitting(text, self._room(node))
        return (Edit(self.path, *self.file.span(node), text),)

    def insert(self, node: ast.expr, text: str) -> Edits:
        """Puts `text` before an expression and the parentheses around it."""
        line, column, _, _ = self.file.whole(node)
        return (Edit(self.path, line, column, line, column, text),)

    def append(self, node: ast.expr, text: str) -> Edits:
        """Puts `text` after an expression and the parentheses around it."""
        _, _, line, column = self.file.whole(node)
        return (Edit(self.path, line, column, line, column, text),)

    def around(self, node: ast.expr, before: str, after: str, binds: Binds = Binds.WHOLE) -> Edits:
        """Puts text before and after an expression, which gets parentheses unless it has some or binds as closely as
        what stands there then must. None for `*x`, which is no value."""
        if isinstance(node, ast.Starred):
            return ()
        if self.file.whole(node) == self.file.span(node) and _binds(self.file, node) < binds:
            before, after = f"{before}(", f"){after}"
        return (self.insert(node, before) if before else ()) + (self.append(node, after) if after else ())

    def behind(self, node: ast.expr, text: str) -> Edits:
        """Puts what is called on an expression, such as `.detach()`, after it: an operation gets parentheses."""
        return self.around(node, "", text, Binds.PRIMARY)

    def part(self, node: ast.expr, binds: Binds = Binds.PRIMARY) -> str:
        """The text of an expression for a place in which it must bind so closely: in parentheses where it does not."""
        return _fitting(self.file.text(node), binds)

    def _room(self, node: ast.expr) -> Binds:
        """How closely an expression must bind that comes in place of another."""
        above = self.file.parent.get(id(node))
        if self.file.whole(node) != self.file.span(node) or isinstance(getattr(node, "ctx", None), ast.Store):
            return Binds.LOOSELY
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Pow):
            return Binds.AWAIT if node is above.left else Binds.SIGN
        if isinstance(above, ast.BinOp):
            return Binds(_OPERATORS[type(above.op)] + (node is above.right))
        if isinstance(above, ast.BoolOp):
            return Binds(_OPERATORS[type(above.op)] + 1)
        if isinstance(above, ast.UnaryOp):
            return _OPERATORS[type(above.op)]
        if isinstance(above, ast.IfExp):
            return Binds.WHOLE if node is above.orelse else Binds.OR
        if isinstance(above, ast.Subscript):
            return Binds.PRIMARY if node is above.value else Binds.TUPLE
        if isinstance(above, ast.Call) and node is above.func:
            return Binds.PRIMARY
        return _PLACES.get(type(above), Binds.WHOLE) if above is not None else Binds.WHOLE

    def text_of(self, node: ast.expr | ast.stmt) -> str:
        """A statement or expression of one line as it stands there; "" for a longer one."""
        return self.file.text(node) if node.lineno == node.end_lineno else ""

    def text_with(self, node: ast.expr | ast.stmt, part: ast.expr, text: str) -> str:
        """The same with `text` in place of one of its expressions."""
        return self.text_after(node, self.replace(part, text)) if self.text_of(node) else ""

    def text_after(self, node: ast.expr | ast.stmt, edits: Edits) -> str:
        """A statement or expression, of however many lines, as it stands there once edits within it are made."""
        text, (line, column, _, _) = "\n".join(self.file.lines), self.file.span(node)
        before = sum(len(one) + 1 for one in self.file.lines[: line - 1]) + column - 1
        behind = len(text) - before - len(self.file.text(node))
        new = changed(text, edits)
        return new[before : len(new) - behind]

    def method(self, holder: ast.ClassDef, head: str, *body: str) -> Edits:
        """Puts a method behind the others of a class; `head` is its name with its arguments."""
        last = holder.body[-1]
        if not self.alone(last):
            return ()
        indent = self._indent(last)
        _, _, line, _ = self.file.span(last)
        end = self._line_end(line)
        text = f"\n\n{indent}def {head}:" + "".join(f"\n{indent}{self._unit()}{row}" for row in body)
        return (Edit(self.path, line, end, line, end, text),)

    def remove(self, statement: ast.stmt | None) -> Edits:
        """Takes a statement out; `pass` stays where it was the only one of its block."""
        if statement is None or not self.alone(statement):
            return ()
        line, (_, column, last, end) = _first_line(statement), self.file.span(statement)
        if len(self.file.siblings(statement)) == 1:
            return (Edit(self.path, line, column, last, end, "pass"),)
        return (Edit(self.path, line, 1, last + 1, 1, ""),)

    def move(self, statement: ast.stmt, to: ast.stmt, *, after: bool = False, lines: bool = False) -> Edits:
        """Puts a statement of one line, with the comment behind it, on the line before, or after, another; one of
        several `lines` where it is indented like that."""
        line, column, last, _ = self.file.span(statement)
        alike = lines and self._indent(statement) == self._indent(to) and not has_long_text(statement)
        if statement is to or _first_line(statement) != line or not (line == last or alike):
            return ()
        if not self.alone(statement) or not self.alone(to):
            return ()
        if (self.file.after(to) is statement) if after else (self.file.after(statement) is to):
            return ()  # it stands there
        whole = (line, column, last, self._line_end(last))
        text = self.file.between(whole).rstrip()
        only = len(self.file.siblings(statement)) == 1
        if after and self.file.span(to)[2] == last:  # behind the block that it ends
            if only:
                return (Edit(self.path, *whole, f"pass\n{self._indent(to)}{text}"),)
            return (Edit(self.path, line, 1, last, whole[3], f"{self._indent(to)}{text}"),)
        placed = (self.after if after else self.before)(to, text)
        return (Edit(self.path, *whole, "pass"), *placed) if only else (*self.remove(statement), *placed)

    def under(self, statement: ast.stmt | None, header: str) -> Edits:
        """Moves a statement with its block under `header`, such as `with torch.no_grad():`."""
        return self.together_under([statement], header) if statement is not None else ()

    def together_under(self, statements: list[ast.stmt], header: str) -> Edits:
        """The same for statements that follow one another. Without a header they are only indented."""
        if any(not self.alone(one) or has_long_text(one) for one in statements):
            return ()
        line, last = _first_line(statements[0]), self.file.span(statements[-1])[2]
        indent, unit = self._indent(statements[0]), self._unit()
        rows = (
            Edit(self.path, n, 1, n, 1, unit) for n in range(line, last + 1) if self.file.lines[n - 1].strip()
        )
        return (*([Edit(self.path, line, 1, line, 1, f"{indent}{header}\n")] if header else []), *rows)

    def _unit(self) -> str:
        """What the file indents a block by."""
        for node in self.file.nodes:
            body = getattr(node, "body", None)
            if (
                isinstance(node, ast.stmt)
                and isinstance(body, list)
                and body
                and body[0].lineno > node.lineno
            ):
                inner, outer = self._indent(body[0]), self._indent(node)
                if inner.startswith(outer) and not inner.removeprefix(outer).strip():
                    return inner.removeprefix(outer)
        return "    "

    def without_keyword(self, call: ast.Call, keyword: ast.keyword) -> Edits:
        """Takes a keyword argument out of a call, with the comma that goes before it, or else behind it."""
        if not all(self.file.lines[n - 1].isascii() for n in range(call.lineno, (call.end_lineno or 0) + 1)):
            return ()
        start, end = self._argument(keyword)
        arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        others = [self._argument(one) for one in arguments if one is not keyword]
        before = [last for _, last in others if last < start]
        behind = [first for first, _ in others if first > end]
        _, _, last, column = self.file.span(call)
        if before:
            start = max(before)
        else:
            end = min(behind, default=(last, column - 1))
        between = any("#" in self.file.lines[n - 1] for n in range(start[0], end[0]))
        return () if between else (Edit(self.path, *start, *end, ""),)  # a comment would go with it

    def _argument(self, one: ast.expr | ast.keyword) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where an argument begins and ends, (line, column), on lines of ASCII alone."""
        line, start, last, end = self.file.whole(one.value if isinstance(one, ast.keyword) else one)
        begins = (one.lineno, one.col_offset + 1) if isinstance(one, ast.keyword) else (line, start)
        return begins, (last, end)

    def block(self, site: Site, keep_out: Iterable[Site] = ()) -> ast.stmt | None:
        """The outermost loop around `site`, within its function, in which nothing trains and that
        contains none of `keep_out`; the statement itself where there is no such loop."""
        lines = {other.line for other in keep_out if other.path == self.path}
        found = self.file.statement(site)
        for node in self.file.around(site):
            if isinstance(node, SCOPES):
                break
            if isinstance(node, LOOPS):
                if any(node.lineno <= line <= (node.end_lineno or 0) for line in lines):
                    break
                if not lines and any(method_name(other) in TRAINING for other in ast.walk(node)):
                    break
                found = node
        return found

    def before_line(self, node: ast.expr) -> ast.Module:
        """The statements of the same block that stand before that of a node."""
        statement: ast.AST | None = node
        while statement is not None and not isinstance(statement, ast.stmt):
            statement = self.file.parent.get(id(statement))
        around = self.file.siblings(statement) if isinstance(statement, ast.stmt) else []
        return ast.Module([s for s in around if (s.end_lineno or 0) < node.lineno], [])

    def earlier(self, statement: ast.stmt | None, fits: Callable[[ast.AST], bool]) -> ast.stmt | None:
        """The nearest statement before `statement`, in the same block, that holds a fitting node."""
        if statement is None:
            return None
        siblings = self.file.siblings(statement)
        place = next(i for i, s in enumerate(siblings) if s is statement) if statement in siblings else 0
        for other in reversed(siblings[:place]):
            if any(fits(node) for node in ast.walk(other)):
                return other
        return None

    def alone(self, statement: ast.stmt) -> bool:
        """Whether no other statement shares its first and last line. An `elif` is a part of its `if`."""
        line, column, last, end = self.file.span(statement)
        rest = self.file.lines[last - 1][end - 1 :].strip()
        if self.file.lines[line - 1][column - 1 :].startswith("elif") and isinstance(statement, ast.If):
            return False
        return not self.file.lines[line - 1][: column - 1].strip() and (not rest or rest.startswith("#"))

    def _line_end(self, line: int) -> int:
        return len(self.file.lines[line - 1]) + 1

    def _indent(self, statement: ast.stmt) -> str:
        line, column, _, _ = self.file.span(statement)
        return self.file.lines[line - 1][: column - 1]


def _binds(file: SourceFile, node: ast.expr) -> Binds:
    """How closely an expression binds, without the parentheses around it."""
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.UnaryOp)):
        return _OPERATORS[type(node.op)]
    if isinstance(node, ast.Tuple) and node.elts:
        bare = file.span(node)[:2] == file.whole(node.elts[0])[:2]
        return Binds.TUPLE if bare else Binds.PRIMARY
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex)):
        return Binds.PRIMARY if isinstance(node.value, bool) else Binds.AWAIT
    return _OTHERS.get(type(node), Binds.PRIMARY)


def _fitting(text: str, binds: Binds) -> str:
    """The text of an expression, in parentheses where it does not bind so closely; what is none stays as it is."""
    file = SourceFile(text)
    if (node := _only(file)) is not None:
        closed = file.whole(node) != file.span(node)
        return text if closed or _binds(file, node) >= binds else f"({text})"
    # what goes over several lines may need parentheses to be one expression
    return f"({text})" if text and _only(SourceFile(f"({text})")) is not None else text


def _only(file: SourceFile) -> ast.expr | None:
    """The expression that is all of a text."""
    body = file.tree.body if isinstance(file.tree, ast.Module) else []
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None


def receiver(trace: Trace, site: Site | None, method: str = "") -> str:
    """`opt` of `opt.step()` at `site`, or, without a method, `model` of `model(x)`; "" where the
    source there is no such call on a name."""
    if site is None:
        return ""
    node = trace.source_file(site.path).at(site)
    if not isinstance(node, ast.Call):
        return ""
    called: ast.expr = node.func
    if method:
        if not isinstance(called, ast.Attribute) or called.attr != method:
            return ""
        called = called.value
    return ast.unparse(called) if is_name(called) else ""


def eval_around(
    trace: Trace, site: Site, region: Site | None, training: Site | None, kinds: Sequence[str] = ()
) -> Edits:
    """`model.eval()` before, `model.train()` after the block in which `model(x)` at `site`
    evaluates: the `with` statement at `region`, or the loop around it. Where that block returns,
    `model.train()` goes before the loop around `model(x)` at `training`. `kinds`: only the layers of these classes
    are put in evaluation mode."""
    name, here = receiver(trace, site), Source(trace, site.path)
    block = (
        here.file.statement(region) if region is not None and region.path == site.path else here.block(site)
    )
    if not name or block is None or not stands_in(block, site) or isinstance(block, SCOPES):
        return ()
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(block)):
        return ()
    before, after = here.before(block, f"{name}.eval()"), here.after(block, f"{name}.train()")
    mistaken = put_in_training(trace, site, block)
    if kinds:
        taken = {node.id for node in here.file.nodes if isinstance(node, ast.Name)}
        layer = free_name(("layer", "part", "each_layer"), taken)
        before = () if mistaken else here.block_before(block, *eval_of_layers(name, kinds, layer))
    elif mistaken:
        before = tuple(edit for call in mistaken for edit in here.replace(call, f"{name}.eval()"))
    each_round = put_in_training(trace, site, here.file.loop_of(block))
    if len(each_round) > len(mistaken):  # which begins with it
        return before
    if any(isinstance(node, ast.Return) for node in ast.walk(block)):
        again, there = receiver(trace, training), Source(trace, (training or site).path)
        loop = there.block(training, keep_out=site.stack) if training is not None and again else None
        after = there.before(loop, f"{again}.train()")
    return before + after if before and after else ()


def free_name(names: Sequence[str], taken: Collection[str]) -> str:
    """The first of some names that is not taken; the last one where all are."""
    return next((name for name in names if name not in taken), names[-1])


def eval_of_layers(model: str, kinds: Sequence[str], layer: str) -> tuple[str, str, str]:
    """The lines that put the layers of some classes in evaluation mode, and no other."""
    among = kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})"
    return f"for {layer} in {model}.modules():", f"if isinstance({layer}, {among}):", f"{layer}.eval()"


def put_in_training(trace: Trace, site: Site, block: ast.AST | None) -> list[ast.Call]:
    """The calls `model.train()` above `model(x)` at `site`, in a block around that."""
    name = receiver(trace, site)
    return [
        node
        for node in (ast.walk(block) if block is not None and name else ())
        if isinstance(node, ast.Call)
        and ast.unparse(node) in (f"{name}.train()", f"{name}.train(True)")
        and node.lineno < site.line
    ]


def without_its_graph(trace: Trace, site: Site, *, handed: bool = False) -> Edits:
    """`loss.detach()` where the expression at `site` adds or keeps a loss with its graph, or gives it to a
    method (`handed`). Not `.item()`: what reads it later may ask it for that itself."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    kept: ast.expr | None = None
    target = ""
    if isinstance(node, ast.AugAssign):
        kept, target = node.value, ast.unparse(node.target)
        if isinstance(kept, ast.List) and len(kept.elts) == 1:  # `losses += [loss]`
            kept = kept.elts[0]
    elif isinstance(node, ast.BinOp):
        above = here.file.parent.get(id(node))
        target = ast.unparse(above.targets[0]) if isinstance(above, ast.Assign) else ""
        sides = [side for side in (node.left, node.right) if not _mentions(side, target)]
        kept = sides[0] if len(sides) == 1 else None
    elif method_name(node) in _WRITES and isinstance(node, ast.Call) and node.args:
        kept, target = node.args[0], method_name(node)  # `total.add_(loss)`
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        if node.func.attr == "append":
            kept, target = node.args[0], ast.unparse(node.func.value)
        elif handed and not node.keywords:
            kept, target = node.args[0], node.func.attr
    if kept is None or not target or isinstance(kept, ast.Starred) or holds_several(here.file, site, kept):
        return ()
    return here.replace(kept, f"{here.part(kept)}.detach()")


def holds_several(file: SourceFile, site: Site, node: ast.AST | None, deep: int = 2) -> bool:
    """Whether the text shows that an expression gives a dict, list or tuple, which has no `detach()`: itself, the name
    of one, or a call of a function of this file that returns one."""
    if isinstance(node, _COLLECTIONS):
        return True
    if deep and isinstance(node, ast.Name):
        values = [
            other.value
            for other in ast.walk(file.scope(site))
            if isinstance(other, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == node.id for t in other.targets)
        ]
        return any(holds_several(file, site, value, deep - 1) for value in values)
    if deep and isinstance(node, ast.Call):
        name = called_name(node)
        functions = [f for f in file.nodes if isinstance(f, FUNCTIONS) and f.name == name]
        if isinstance(node.func, ast.Name) and name in ("dict", "list", "tuple"):
            return True
        return any(
            _returns_several(part)
            for function in functions
            for part in ast.walk(function)
            if isinstance(part, ast.Return)
        )
    return False


def _returns_several(node: ast.Return) -> bool:
    return isinstance(node.value, _COLLECTIONS) or (
        isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "dict"
    )


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.expr) and ast.unparse(part) == name for part in ast.walk(node))


def of_torch(trace: Trace, file: SourceFile, function: ast.Attribute) -> bool:
    """Whether `module.f` is a function of torch's, or `x.f` a method of a value, as far as the text and the run tell:
    what the program keeps under that name in a module of its own, `self.f = nn.F()`, is something else."""
    if name := file.imported_name(function):
        return name.startswith("torch.")
    modules = trace.modules.values()
    if isinstance(function.value, ast.Name):
        return function.value.id not in {"self", *(module.variable for module in modules)}
    name = own_name(function.value)
    return not name or name not in {module.path.rpartition(".")[2] for module in modules}


def calls(method: str) -> Callable[[ast.AST], bool]:
    """Whether a node is a call of this method."""
    return lambda node: method_name(node) == method


def is_name(node: ast.expr) -> bool:
    """Whether it is a name, or an attribute of one: `self.rate`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def has_long_text(statement: ast.stmt) -> bool:
    """Whether a string in it goes over several lines: indenting would change it."""
    return any(
        isinstance(node, (ast.Constant, ast.JoinedStr))
        and node.lineno != node.end_lineno
        and not (isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes)))
        for node in ast.walk(statement)
    )


def _first_line(statement: ast.stmt) -> int:
    """The line that a statement begins on, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])
