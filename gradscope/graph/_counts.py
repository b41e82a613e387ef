"""How often the line or the module of a box ran, by the ops that it left."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from gradscope.analysis.flow import Flow
from gradscope.model import Op, Site

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
COMPREHENDED = {"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"}
HOLDERS = {"ModuleList", "ModuleDict"}  # modules that are not called
LOOPS = (*COMPREHENSIONS, ast.For, ast.AsyncFor, ast.While)
Frames = tuple[tuple[str, int, int, str], ...]  # path, line, column, function of each
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Way(NamedTuple):
    """Part of a line that need not run once each time: a branch, or the body of a loop."""

    node: int  # the expression or statement that decides it
    branch: str  # which of two; "" where there is only one
    comprehended: bool = (
        False  # it is a comprehension, one run of which may go both ways of what stands in it
    )


class Counts:
    """Runs of lines and calls of modules in a flow. times: graph → how often it ran, where that was not once."""

    def __init__(self, flow: Flow, times: Mapping[int, int] | None = None):
        self.flow = flow
        self._times = times or {}
        self._depths: dict[tuple[int, int], int] = {}  # op's site, line → modules between
        self._called: dict[tuple[int, int, int | None], list[int]] = {}  # op's site, line, module → modules
        self._below: dict[int, int] = {}  # site → the number of its frames
        self._numbers: dict[Frames, int] = {}
        self._loops: dict[int, bool] = {}
        self._lines: dict[tuple[int, tuple[str, int]], bool] = {}  # op's site, line → whether it led there

    def of_lines(self, ops: list[int]) -> int:
        """How often the rarest of the lines ran that these ops stand at."""
        by_line: dict[tuple[str, int], list[int]] = {}
        for i in self._with_inputs(ops):
            by_line.setdefault(self.flow.ops[i].site.user.location(), []).append(i)
        return min(self._of_line(members) for members in by_line.values())

    def of_modules(self, ops: list[int], depth: int) -> int:
        """How often the modules were called that lie at this depth around these ops."""
        calls: dict[int | None, Counter[Hashable]] = {}
        own: dict[Hashable, list[Op]] = {}
        for i in self._with_inputs(ops):
            own.setdefault(_alike(self.flow.ops[i]), []).append(self.flow.ops[i])
        for what, same in own.items():
            op = same[0]
            called = self.at_depth(op.module, depth)
            found = calls.setdefault(called, Counter())
            # The last call may have left something that nothing reads, which is not shown.
            times = self._ran[what] if len(same) == self._shown[what] else len(same)
            found[op.module, self.below(op.site), op.name] += times * self.of_graph(op.graph)
        return sum(min(counts.values()) for counts in calls.values())

    @cached_property
    def _shown(self) -> Counter[Hashable]:
        """How often each call of an op stands in the flow."""
        return Counter(_alike(op) for op in self.flow.ops)

    @cached_property
    def _ran(self) -> Counter[Hashable]:
        """How often it ran in the flow's graphs, also where that is left out."""
        graphs = dict.fromkeys(op.graph for op in self.flow.ops)
        return Counter(_alike(op) for id in graphs for op in self.flow.trace.graph(id).ops)

    def of_ops(self, ops: Iterable[int]) -> int:
        """How often these ops ran."""
        return sum(self._times.get(self.flow.ops[op].graph, 1) for op in ops)

    def of_graph(self, id: int) -> int:
        """How often a graph ran."""
        return self._times.get(id, 1)

    def of_values(self, values: Iterable[int]) -> int:
        """How many values these are."""
        return sum(self._times.get(self.flow.graph_of[value].id, 1) for value in values)

    def around(self, module: int) -> list[int]:
        """The modules that a module lies in."""
        return self._chain(module)[1:]

    def at_depth(self, module: int | None, depth: int) -> int | None:
        """The module around this one, or itself, that so many lie around; the innermost where there is none so deep."""
        chain = self._chain(module)
        return chain[max(len(chain) - 1 - depth, 0)] if chain else None

    def _with_inputs(self, ops: list[int]) -> list[int]:
        return [i for i in ops if self.flow.inputs[i]] or ops

    # -- lines -------------------------------------------------------------------

    def _of_line(self, ops: list[int]) -> int:
        runs: Counter[Site] = Counter()
        latest: dict[Site, tuple[list[int], Counter[Hashable]]] = {}
        last: dict[Site, int] = {}
        first: dict[Site, list[int]] = {}  # of a comprehension: what it called first
        for i in ops:
            op = self.flow.ops[i]
            place = op.site.user
            called, seen = latest.get(place, ([], Counter()))
            module, what = self.called(op), (op.site.id, op.name, op.module)
            again = seen[what] >= self.turns(place) and not self.looped_within(op.site, place)
            again = again or called != module
            if place in latest and self.within_comprehension(place):
                again = self._left(place, last[place], i) or (module == first[place] and module != called)
            elif again and place in latest and self.adds_up(i, last[place], place):
                again = self._left(place, last[place], i)
            if place not in latest or again:
                runs[place] += self.of_graph(op.graph)
                seen, first[place] = Counter(), module
            seen[what] += 1
            latest[place], last[place] = (module, seen), i
        by_span: Counter[Site] = Counter()
        for place, count in runs.items():  # however it was reached
            by_span[_without_callers(place)] += count
        return _rounds([(self._ways(place), count) for place, count in by_span.items()])

    def _left(self, place: Site, before: int, op: int) -> bool:
        """Whether something else than a line and what it calls ran between two ops of it."""
        at = place.location()
        return not all(self._through(self.flow.ops[i].site, at) for i in range(before + 1, op))

    def _through(self, site: Site, at: tuple[str, int]) -> bool:
        key = site.id, at
        found = self._lines.get(key)
        if found is None:
            found = self._lines[key] = any(frame.location() == at for frame in site.stack)
        return found

    def hidden(self, op: Op) -> int:
        """How many modules the user's line went through to this op."""
        return self._depth(op, op.site.user)

    def called(self, op: Op, frame: Site | None = None) -> list[int]:
        """The module that a line called for this op (`self.net` for a layer of it), and the one whose code the line
        is; none where the line called a function, which may call many. frame: the line, where it is not the
        innermost of the user's."""
        frame = frame or op.site.user
        key = op.site.id, frame.id, op.module
        found = self._called.get(key)
        if found is None:
            depth, modules = self._depth(op, frame), self.flow.trace.modules
            chain = [id for id in self._chain(op.module) if modules[id].cls not in HOLDERS]
            direct = not through_function(op.site, frame)
            found = self._called[key] = chain[max(depth - 1, 0) : depth + 1] if direct else []
        return found

    def _depth(self, op: Op, frame: Site) -> int:
        depth = self._depths.get((op.site.id, frame.id))
        if depth is None:
            inner = op.site.stack[len(frame.stack) :]
            depth = self._depths[op.site.id, frame.id] = sum(_is_forward(frame) for frame in inner)
        return depth

    def looped_within(self, site: Site, frame: Site) -> bool:
        """Whether what a line called may have come to `site` several times: a loop of the user's lies between, or a
        comprehension of a library, whose text is not known."""
        inner = site.stack[len(frame.stack) :]
        return any(
            self._in_loop(between) if between.kind == frame.kind else _name(between) in COMPREHENDED
            for between in inner
        )

    def _in_loop(self, site: Site) -> bool:
        """Whether an expression stands in a loop of its function."""
        if site.id not in self._loops:
            file = self.flow.trace.source_file(site.path)
            node = file.at(site)
            found = False
            while node is not None and not isinstance(node, FUNCTIONS) and not found:
                above = file.parent.get(id(node))
                found = isinstance(above, LOOPS) and node is not getattr(above, "iter", None)
                node = above
            self._loops[site.id] = found
        return self._loops[site.id]

    def within_comprehension(self, site: Site) -> bool:
        """Whether an expression runs several times in one run of its line."""
        file = self.flow.trace.source_file(site.path)
        node = file.at(site)
        while node is not None and not isinstance(node, ast.stmt):
            above = file.parent.get(id(node))
            if isinstance(above, ast.comprehension) and node is above.iter:
                holder = file.parent.get(id(above))
                if isinstance(holder, COMPREHENSIONS) and holder.generators[0] is above:
                    node, above = above, holder  # the first iterable is evaluated outside the loop
            elif isinstance(above, (*COMPREHENSIONS, ast.comprehension)):
                return True
            node = above
        return False

    def chosen(self, site: Site) -> dict[int, str]:
        """Conditional expression around an expression → which of its two sides that stands in: one run of the line
        takes only one of them."""
        file = self.flow.trace.source_file(site.path)
        found: dict[int, str] = {}
        node = file.at(site)
        while node is not None and not isinstance(node, ast.stmt):
            above = file.parent.get(id(node))
            if isinstance(above, ast.IfExp) and (side := _branch(above, node)) is not None:
                found[id(above)] = side
            node = above
        return found

    def turns(self, site: Site) -> int:
        """How often an expression comes in one run of its line: the targets of `a, b = map(f, xs)`, at which each of
        them is made, once for each; any other one once."""
        node = self.flow.trace.source_file(site.path).at(site)
        if isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Store):
            return len(node.elts)
        return 1

    def on_several_lines(self, site: Site) -> bool:
        """Whether the statement of an expression goes over several lines, other than a block."""
        statement = self.flow.trace.source_file(site.path).statement(site)
        return (
            statement is not None
            and not hasattr(statement, "body")
            and statement.end_lineno != statement.lineno
        )

    def precedes(self, site: Site, other: Site) -> bool:
        """Whether an expression is evaluated before another one of its line each time that the line runs."""
        node = self.flow.trace.source_file(site.path).at(site)
        if node is None or isinstance(
            getattr(node, "ctx", None), ast.Store
        ):  # what is assigned to comes last
            return False
        return site.within(other) or (site.end_line, site.end_column) <= (other.line, other.column)

    def takes_from_generator(self, site: Site) -> bool:
        """Whether it is a call such as `sum(f(x) for x in xs)`, during which what it is given runs."""
        node = self.flow.trace.source_file(site.path).at(site)
        return isinstance(node, ast.Call) and any(isinstance(arg, ast.GeneratorExp) for arg in node.args)

    def adds_up(self, op: int, before: int, site: Site) -> bool:
        """Whether an op is of the same call as one before it at its place, if the line was not left between: it goes on
        with what that gave."""
        taken = set(self.flow.inputs[op]).intersection(self.flow.outputs[before])
        return bool(taken) and self.takes_from_generator(site)

    def _ways(self, site: Site) -> list[Way]:
        """What decides whether and how often an expression runs when its line does, outermost first."""
        file = self.flow.trace.source_file(site.path)
        found: list[Way] = []
        node = file.at(site)
        while node is not None and not isinstance(node, FUNCTIONS):
            above = file.parent.get(id(node))
            if isinstance(above, ast.stmt) and isinstance(node, ast.stmt) and above.lineno != site.line:
                break
            if above is not None and (branch := _branch(above, node)) is not None:
                found.append(Way(id(above), branch, isinstance(above, COMPREHENSIONS)))
            if isinstance(above, ast.comprehension) and node is above.iter:
                holder = file.parent.get(id(above))
                if isinstance(holder, COMPREHENSIONS) and holder.generators[0] is above:
                    node, above = above, holder  # the first iterable is evaluated outside the loop
            node = above
        return found[::-1]

    # -- modules -----------------------------------------------------------------

    @cached_property
    def _chains(self) -> dict[int, list[int]]:
        """Module → itself and those around it."""
        modules = self.flow.trace.modules
        found: dict[int, list[int]] = {}
        for id in modules:
            chain = [id]
            while (
                (above := modules[chain[-1]].parent) is not None and above in modules and above not in chain
            ):
                chain.append(above)
            found[id] = chain
        return found

    def _chain(self, module: int | None) -> list[int]:
        return self._chains.get(module, []) if module is not None else []

    def below(self, site: Site) -> int:
        """A number for `below_forward`."""
        number = self._below.get(site.id)
        if number is None:
            number = self._numbers.setdefault(below_forward(site), len(self._numbers))
            self._below[site.id] = number
        return number


def through_function(site: Site, frame: Site) -> bool:
    """Whether a line called a function or method of the user's, which is no `forward`, on the way to a call."""
    inner = site.stack[len(frame.stack) : len(frame.stack) + 1]
    return any(
        f.kind == frame.kind == "user" and not _is_forward(f) and _name(f) not in COMPREHENDED for f in inner
    )


def below_forward(site: Site) -> Frames:
    """The frames from the innermost `forward` on, wherever that was called from."""
    frames = []
    for frame in reversed(site.stack):
        frames.append((frame.path, frame.line, frame.column, frame.function))
        if _is_forward(frame):
            break
    return tuple(frames)


def _is_forward(frame: Site) -> bool:
    return _name(frame) == "forward"


def _name(frame: Site) -> str:
    return frame.function.rpartition(".")[2]


def _alike(op: Op) -> Hashable:
    return op.graph, op.site.id, op.name, op.module


def _without_callers(site: Site) -> Site:
    return Site(0, site.path, site.line, site.column, site.end_line, site.end_column, "", site.kind)


def _branch(above: ast.AST, node: ast.AST) -> str | None:
    """Which way through `above` the part `node` stands in; None where it always runs once."""
    if isinstance(above, ast.IfExp):
        return None if node is above.test else "body" if node is above.body else "orelse"
    if isinstance(above, (ast.If, ast.Try)) and isinstance(node, ast.stmt):
        return "body" if node in above.body else "orelse"
    if isinstance(above, ast.BoolOp):
        return None if node is above.values[0] else ""
    inner = isinstance(above, (ast.For, ast.AsyncFor, ast.While)) and isinstance(node, ast.stmt)
    return "" if inner or isinstance(above, (*COMPREHENSIONS, ast.Lambda)) else None


def _rounds(found: Iterable[tuple[list[Way], int]], comprehended: bool = False) -> int:
    """How often a line ran of which these parts ran so often. comprehended: they are parts of a comprehension, of which
    was counted how often it ran."""
    by_node: dict[int, dict[str, list[tuple[list[Way], int]]]] = {}
    inner: dict[int, bool] = {}
    always = 0
    for ways, count in found:
        if ways:
            by_node.setdefault(ways[0].node, {}).setdefault(ways[0].branch, []).append((ways[1:], count))
            inner[ways[0].node] = comprehended or ways[0].comprehended
        always = max(always, count) if not ways else always
    both = max if comprehended else sum
    return always or max(
        both(_rounds(held, inner[node]) for held in branches.values()) for node, branches in by_node.items()
    )
