"""The user's source as syntax: which expression stands at a site, what a block spans."""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import token
import tokenize
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TypeVar, cast

from gradscope.model import Site

Span = tuple[int, int, int, int]
# Methods of a module that give it back.
CHAINED = {
    "apply", "bfloat16", "cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "share_memory", "to",
    "train", "type",
}  # fmt: skip
LOOPS = (ast.For, ast.AsyncFor, ast.While)
REPEATS = (*LOOPS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
N = TypeVar("N", bound=ast.AST)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (*FUNCTIONS, ast.Lambda)
_NOTHING = (tokenize.NL, tokenize.COMMENT)  # tokens within an expression that are no part of it
PRIMARIES = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)  # that bind closer than any operator
Block = ast.For | ast.AsyncFor | ast.With | ast.AsyncWith


def names_in(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """The names in it; of a context those that are read (`ast.Load`) or bound (`ast.Store`)."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def bound_in(scope: ast.AST) -> set[str]:
    """The names that a function binds itself: its arguments and what it assigns to."""
    return names_in(scope, ast.Store) | {n.arg for n in ast.walk(scope) if isinstance(n, ast.arg)}


def _bound_by(node: ast.AST) -> list[str]:
    """The names that a node itself binds, in the scope that it stands in."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Global):
        return node.names
    if isinstance(node, ast.ExceptHandler):
        return [node.name] if node.name else []
    if isinstance(node, ast.arg):
        return [node.arg]
    return [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []


def own_name(node: ast.AST) -> str:
    """What a name or an attribute is called: "opt" of `opt`, "step" of `opt.step`; "" for anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def called_name(node: ast.AST | None) -> str:
    """What a call calls, without what that belongs to: "step" of `opt.step()`, "len" of `len(x)`; "" for anything
    else."""
    return own_name(node.func) if isinstance(node, ast.Call) else ""


def method_name(node: ast.AST | None) -> str:
    """The method that a call calls: "step" of `opt.step()`; "" for anything else."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def sides_of(node: ast.AST | None) -> tuple[ast.expr, ast.expr] | None:
    """Both sides of `a + b` and of `a += b`, whatever the operator."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    return (node.target, node.value) if isinstance(node, ast.AugAssign) else None


def terms_of(node: ast.expr, *operators: type[ast.operator]) -> list[ast.expr]:
    """The parts of `a + b + c`, for operators such as `ast.Add`; of another expression itself."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, operators):
        return [*terms_of(node.left, *operators), *terms_of(node.right, *operators)]
    return [node]


def one_less(node: ast.AST | None) -> ast.expr | None:
    """`x` of `1 - x`, or of `torch.rsub(x, 1)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        less, rest = node.left, node.right
    elif called_name(node) == "rsub" and isinstance(node, ast.Call) and len(node.args) == 2:
        rest, less = node.args
    else:
        return None
    return rest if isinstance(less, ast.Constant) and less.value == 1 else None


def arguments(function: Function | ast.Lambda) -> list[ast.arg]:
    """What a function is given by name or place."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def stands_in(statement: ast.stmt, site: Site) -> bool:
    """Whether the line of `site`, in the same file, is one of the statement's."""
    return statement.lineno <= site.line <= (statement.end_lineno or statement.lineno)


@lru_cache(maxsize=16)  # who looks at a growing trace reads the same files again and again
def parsed(text: str) -> SourceFile:
    """The file with this text. Nobody changes what comes back."""
    return SourceFile(text)


def lines_of(text: str, *, keep_ends: bool = False) -> list[str]:
    """The lines that Python counts: a form feed, say, ends none, as it does for `str.splitlines`."""
    lines = io.StringIO(text, newline="").readlines()
    return lines if keep_ends else [line.rstrip("\r\n") for line in lines]


def _ends_value(one: tokenize.TokenInfo) -> bool:
    """Whether a parenthesis behind this token is one of a call, a class or a function."""
    named = one.type == token.NAME and (
        not keyword.iskeyword(one.string) or one.string in ("None", "True", "False")
    )
    return named or one.type in (token.NUMBER, token.STRING) or one.string in (")", "]", "}")


class SourceFile:
    """Expressions of one source file by their exact span."""

    def __init__(self, text: str):
        self.lines = lines_of(text)
        self.by_span: dict[Span, ast.AST] = {}
        self.parent: dict[int, ast.AST] = {}
        self.nodes: list[ast.AST] = []  # all of them; none where the text can't be parsed
        self._origins: dict[str, str] = {}  # of a name that an import gives: "F" → "torch.nn.functional"
        self.imported = self._origins.keys()
        self._children: dict[int, list[ast.AST]] = {}
        self._blocks: dict[Span, Block] = {}
        self._of: dict[tuple[type[ast.AST], ...], list[tuple[str, ast.AST]]] = {}
        try:
            self.tree: ast.AST | None = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.tree = None
            return
        self.nodes.append(self.tree)
        for node in self.nodes:  # grows on the way, as in `ast.walk`
            children = self._children[id(node)] = list(ast.iter_child_nodes(node))
            self.nodes += children
            for child in children:
                self.parent[id(child)] = node
            if isinstance(node, ast.Import):
                for alias in node.names:
                    first = alias.name.partition(".")[0]  # `import torch.nn` gives `torch`
                    self._origins[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(node, ast.ImportFrom):
                origin = f"{'.' * node.level}{node.module or ''}"
                self._origins |= {a.asname or a.name: f"{origin}.{a.name}" for a in node.names}
            if isinstance(node, (ast.expr, ast.AugAssign)) and (span := self._span(node)) is not None:
                self.by_span[span] = node
            elif isinstance(node, Block) and (span := self._span(node)) is not None:
                self._blocks[span] = node

    def of(self, *kinds: type[N]) -> list[tuple[str, N]]:
        """(name of the function it stands in, node) of all nodes of these classes of `ast`, or of `ast.AST` for all."""
        found = self._of.get(kinds)
        if found is None:
            found = self._of[kinds] = [one for one in self._by_function if isinstance(one[1], kinds)]
        return cast("list[tuple[str, N]]", found)

    @cached_property
    def _by_function(self) -> list[tuple[str, ast.AST]]:
        todo: list[tuple[str, ast.AST]] = [("<module>", self.tree)] if self.tree is not None else []
        found = []
        while todo:
            function, node = todo.pop()
            found.append((function, node))
            inner = node.name if isinstance(node, FUNCTIONS) else function
            todo += [(inner, child) for child in self._children[id(node)]]
        return found

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """What is called, as of `called_name`, → the calls."""
        found: dict[str, list[ast.Call]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Call):
                found.setdefault(called_name(node), []).append(node)
        return found

    @cached_property
    def assigned(self) -> dict[str, list[ast.expr]]:
        """A name or an attribute, as text, → what statements give it as the only one."""
        found: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                found.setdefault(ast.unparse(node.targets[0]), []).append(node.value)
        return found

    def _span(self, node: ast.expr | ast.stmt) -> Span | None:
        if node.end_lineno is None or node.end_col_offset is None:
            return None
        return (
            node.lineno,
            self._column(node.lineno, node.col_offset),
            node.end_lineno,
            self._column(node.end_lineno, node.end_col_offset),
        )

    def _column(self, line: int, offset: int) -> int:
        """Byte offset from 0 → column from 1, in characters."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return (offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))) + 1

    def at(self, site: Site) -> ast.AST | None:
        return self.by_span.get((site.line, site.column, site.end_line, site.end_column))

    def head(self, site: Site) -> Site:
        """Without the block below it, where the site is all of a `for` or a `with`."""
        block = self._blocks.get((site.line, site.column, site.end_line, site.end_column))
        if block is None:
            return site
        if isinstance(block, (ast.With, ast.AsyncWith)):
            last = block.items[-1].optional_vars or block.items[-1].context_expr
        else:
            last = block.iter
        _, _, line, column = self.span(last)
        return replace(site, end_line=line, end_column=column)

    def text(self, node: ast.expr | ast.stmt) -> str:
        """The source of a node, as it stands there."""
        return self.between(self.span(node))

    def between(self, span: Span) -> str:
        """The source of a span."""
        first, column, last, end = span
        if first == last:
            return self.lines[first - 1][column - 1 : end - 1]
        middle = self.lines[first : last - 1]
        return "\n".join([self.lines[first - 1][column - 1 :], *middle, self.lines[last - 1][: end - 1]])

    def operand(self, node: ast.expr) -> str:
        """The same as a part of a larger expression: in parentheses, but for a name, a call and the like."""
        return self.text(node) if isinstance(node, PRIMARIES) else f"({self.text(node)})"

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Line, column, end line and end column (exclusive), from 1."""
        found = self._span(node)
        assert found is not None, "ast.parse gives every expression and statement its end"
        return found

    def whole(self, node: ast.expr | ast.stmt) -> Span:
        """The span with all parentheses that stand around an expression, which are no part of its node; those of a
        call are not its argument's."""
        span = self.span(node)
        while (outer := self._parentheses.get(span)) is not None:
            span = outer
        return span

    @cached_property
    def _parentheses(self) -> dict[Span, Span]:
        """What stands in parentheses that only group → the same with these."""
        found: dict[Span, Span] = {}
        opened: list[tuple[int, bool]] = []  # the token, and whether it only groups
        text = io.StringIO("\n".join(self.lines))
        try:
            tokens = [t for t in tokenize.generate_tokens(text.readline) if t.type not in _NOTHING]
        except (tokenize.TokenError, SyntaxError):
            return found
        for place, one in enumerate(tokens):
            if one.type == token.OP and one.string in "([{":
                called = place > 0 and _ends_value(tokens[place - 1])
                opened.append((place, one.string == "(" and not called))
            elif one.type == token.OP and one.string in ")]}" and opened:
                first, groups = opened.pop()
                if groups and place > first + 1:
                    (line, column), (last, end) = tokens[first + 1].start, tokens[place - 1].end
                    (above, left), (below, right) = tokens[first].start, one.end
                    found[line, column + 1, last, end + 1] = (above, left + 1, below, right + 1)
        return found

    def statement(self, site: Site) -> ast.stmt | None:
        """The innermost statement around `site`."""
        return next((node for node in self.around(site) if isinstance(node, ast.stmt)), None)

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that a node stands in: of a statement the one around it."""
        return next((above for above in self.above(node) if isinstance(above, ast.stmt)), None)

    def siblings(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements of the block that a statement stands in, with itself."""
        above = self.parent.get(id(statement))
        for name in ("body", "orelse", "finalbody"):
            found = getattr(above, name, None)
            if isinstance(found, list) and any(s is statement for s in found):
                return found
        return [statement]

    def behind(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements behind it in its block."""
        siblings = self.siblings(statement)
        return siblings[next(i for i, one in enumerate(siblings) if one is statement) + 1 :]

    def after(self, statement: ast.stmt) -> ast.stmt | None:
        """The statement right behind it in its block."""
        return next(iter(self.behind(statement)), None)

    def around(self, site: Site) -> Iterator[ast.AST]:
        """What stands at `site` and everything that it stands in, innermost first."""
        node = self.at(site) or self._statement_at(site.line)
        if node is not None:
            yield node
            yield from self.above(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node of the file stands in, innermost first."""
        above = self.parent.get(id(node))
        while above is not None:
            yield above
            above = self.parent.get(id(above))

    def function_of(self, node: ast.AST) -> Function | None:
        """The function that a node stands in."""
        return next((above for above in self.above(node) if isinstance(above, FUNCTIONS)), None)

    def loop_of(self, node: ast.AST) -> ast.For | ast.AsyncFor | ast.While | None:
        """The innermost loop around a node, within its function."""
        around = (above for above in self.above(node) if isinstance(above, (*LOOPS, *SCOPES)))
        found = next(around, None)
        return found if isinstance(found, LOOPS) else None

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The class that a node stands in."""
        return next((above for above in self.above(node) if isinstance(above, ast.ClassDef)), None)

    def written_between(self, site: Site, one: ast.expr, other: ast.expr) -> bool:
        """Whether the function around `site` gives a name or an attribute that an expression reads another value
        between two places of that expression."""
        read = names_in(one) | {n.attr for n in ast.walk(one) if isinstance(n, ast.Attribute)}
        low, high = sorted((one.lineno, other.lineno))
        return any(
            own_name(node) in read
            and isinstance(getattr(node, "ctx", None), ast.Store)
            and low <= getattr(node, "lineno", 0) <= high
            for node in ast.walk(self.scope(site))
        )

    def scope_of(self, node: ast.AST) -> ast.AST | None:
        """The function or lambda that a node stands in; the file where there is none."""
        return next((above for above in self.above(node) if isinstance(above, SCOPES)), self.tree)

    def scope(self, site: Site) -> ast.AST:
        """The function around `site`; the file where there is none."""
        around = (node for node in self.around(site) if isinstance(node, SCOPES))
        return next(around, self.tree or ast.Module([], []))

    def binds(self, site: Site, name: str) -> bool:
        """Whether a name has a meaning at `site`: one of the functions around it, the file, another cell of the
        notebook or Python gives it one."""
        scopes = (node for node in self.around(site) if isinstance(node, (*SCOPES, ast.Module)))
        known = self._bound.get(id(self.tree), set())
        return (
            "*" in known
            or hasattr(builtins, name)
            or any(name in self._bound.get(id(s), ()) for s in scopes)
            or name in self._free
        )

    @cached_property
    def _bound(self) -> dict[int, set[str]]:
        """A function, a class or the file → the names that its own statements bind."""
        found: dict[int, set[str]] = {}
        for node in self.nodes:
            names = _bound_by(node)
            if names:
                above = (one for one in self.above(node) if isinstance(one, (*SCOPES, ast.ClassDef)))
                scope = self.tree if isinstance(node, ast.Global) else next(above, self.tree)
                found.setdefault(id(scope), set()).update(names)
        return found

    @cached_property
    def _free(self) -> set[str]:
        """Names that are read and bound nowhere in the file: who runs it has put them there."""
        read = {
            node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        return read.difference(*self._bound.values())

    def outermost_loop(self, site: Site) -> ast.stmt | None:
        """The outermost loop around `site`, within its function; its statement where there is none."""
        found = self.statement(site)
        for node in self.around(site):
            if isinstance(node, SCOPES):
                break
            found = node if isinstance(node, LOOPS) else found
        return found

    def _statement_at(self, line: int) -> ast.AST | None:
        found = None
        for node in self.nodes:
            if isinstance(node, ast.stmt) and node.lineno == line:
                found = node
        return found

    def asked_of(self, call: ast.AST | None) -> ast.expr | None:
        """What a function or method of torch's is called for: `x` of `torch.sum(x, 1)` and of `x.sum(1)`."""
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return None
        if not self.is_imported(call.func):
            return call.func.value
        return call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None

    def is_imported(self, node: ast.expr) -> bool:
        return bool(self.imported_name(node))

    def imported_name(self, node: ast.expr) -> str:
        """What a name or attribute stands for: "torch.nn.functional.relu" of `F.relu`; "" where it begins with no
        import."""
        behind = ""
        while isinstance(node, ast.Attribute):
            behind = f".{node.attr}{behind}"
            node = node.value
        known = self._origins.get(node.id) if isinstance(node, ast.Name) else None
        return f"{known}{behind}" if known is not None else ""

    def variable(self, site: Site) -> str | None:
        """The variable that a chain of calls beginning at `site` is assigned to:
        `w` in `w = torch.randn(3).requires_grad_()`."""
        node = self.at(site)
        while node is not None:
            above = self.parent.get(id(node))
            if isinstance(above, ast.Assign) and above.value is node and len(above.targets) == 1:
                several = isinstance(above.targets[0], (ast.Tuple, ast.List))
                return None if several else ast.unparse(above.targets[0])
            if isinstance(above, ast.AnnAssign) and above.value is node:
                return ast.unparse(above.target)
            if isinstance(above, ast.Tuple):
                return self._in_tuple(above, node)
            if not isinstance(above, (ast.Attribute, ast.Call)):
                return None
            node = above
        return None

    def element(self, site: Site) -> str | None:
        """How an entry of a list or dict that a statement gives a name is read: `opts["enc"]` for what is made at
        `site` in `opts = {"enc": Adam(…)}`."""
        node = self.at(site)
        above = self.parent.get(id(node))
        index = None
        if isinstance(above, ast.Dict):
            keys = [key for key, value in zip(above.keys, above.values, strict=True) if value is node]
            index = self.text(keys[0]) if keys and isinstance(keys[0], ast.Constant) else None
        elif isinstance(above, (ast.List, ast.Tuple)) and not any(
            isinstance(e, ast.Starred) for e in above.elts
        ):
            index = next((str(i) for i, value in enumerate(above.elts) if value is node), None)
        statement = self.parent.get(id(above))
        plain = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and statement.value is above
        if index is None or not plain or not isinstance(statement, ast.Assign):
            return None
        target = statement.targets[0]
        return f"{ast.unparse(target)}[{index}]" if isinstance(target, (ast.Name, ast.Attribute)) else None

    def variable_of_module(self, site: Site) -> str | None:
        """The variable for a module that one of its methods at `site` gives back: `net` in `net = Net().to(device)`."""
        node = self.at(site)
        made = node
        while (
            isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in CHAINED
        ):
            made = made.func.value
        if made is node or not isinstance(made, ast.Call):
            return None
        while isinstance(method := self.parent.get(id(node)), ast.Attribute) and method.attr in CHAINED:
            node = self.parent.get(id(method))
        above = self.parent.get(id(node))
        ends = isinstance(above, (ast.Assign, ast.AnnAssign, ast.Tuple))
        return self.variable(site) if ends else None

    def _in_tuple(self, values: ast.Tuple, node: ast.AST) -> str | None:
        """`b` for the second value of `a, b = f(), g()`."""
        above = self.parent.get(id(values))
        if isinstance(above, ast.Assign) and above.value is values and len(above.targets) == 1:
            names = above.targets[0]
            if isinstance(names, (ast.Tuple, ast.List)) and len(names.elts) == len(values.elts):
                return ast.unparse(names.elts[next(i for i, v in enumerate(values.elts) if v is node)])
        return None

    def block_end(self, line: int) -> int | None:
        """The last line of the `with` statement that opens at `line`, or of the function
        whose decorators or `def` stand there."""
        return next((node.end_lineno for first, last, node in self._openings if first <= line <= last), None)

    @cached_property
    def _openings(self) -> list[tuple[int, int, ast.stmt]]:
        """First and last line of the heads of `with` statements and of decorated functions, and the statement."""
        found: list[tuple[int, int, ast.stmt]] = []
        for node in self.nodes:
            if isinstance(node, (ast.With, ast.AsyncWith)):
                found.append((node.lineno, node.body[0].lineno - 1, node))
            elif isinstance(node, FUNCTIONS) and node.decorator_list:
                found.append((node.decorator_list[0].lineno, node.lineno, node))
        return found
