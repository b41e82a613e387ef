"""The plain data of a trace: what hooks record, rules read and renderers show.

Standard library only, but for how a finding looks in a notebook. Indices (`Op.index`,
`Value.index`, `Node.index`) count within one `Graph`; ids of sites, modules, parameters and optimizers count
within the trace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from gradscope import cards
from gradscope.escape import one_line

SEVERITIES = ("error", "warning", "note")
FAIL_ON = (*SEVERITIES, "never")  # from which severity on a run fails
_CELL = re.compile(r"In \[\d+\]")


def place_of(path: str, line: int, column: int | None = None) -> str:
    """`train.py:31`, `train.py:31:5`; a cell of a notebook as its user sees it: `In [3], line 2`."""
    if _CELL.fullmatch(path):
        return f"{path}, line {line}"
    return f"{path}:{line}" if column is None else f"{path}:{line}:{column}"


class GradscopeError(Exception):
    """Bad input from the user: shown as one line, ends the command with `exit_code`."""

    exit_code = 2


class FindingsError(GradscopeError):
    """What `watch(fail_on=…)` raises at the end of its block: `findings`, its text the report."""

    exit_code = 1

    def __init__(self, text: str, findings: Sequence[Finding]):
        super().__init__(text)
        self.findings = list(findings)


class FindingWarning(UserWarning):
    """What `watch(on_finding="warn")` issues: a finding, at its line."""


class NoPlaceError(GradscopeError):
    """Nowhere, not even in the temporary directory, can a trace be written."""


Span = tuple[str, int, int, int, int]


@dataclass(frozen=True)
class Site:
    """One call in the program: exact source span and the stack that led to it.

    Lines and columns count from 1, `end_column` is exclusive (as in SARIF).
    `kind` is "user", "library" (site-packages, standard library) or "torch".
    """

    id: int
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str
    kind: str
    parent: Site | None = field(default=None, repr=False)

    @cached_property
    def stack(self) -> tuple[Site, ...]:
        """The frames from the outermost to this one."""
        frames: list[Site] = []
        site: Site | None = self
        while site is not None:
            frames.append(site)
            site = site.parent
        return tuple(frames[::-1])

    def __hash__(self) -> int:  # without the stack: a few hundred sites stand for millions of calls
        return hash((self.id, self.path, self.line, self.column))

    @cached_property
    def user(self) -> Site:
        """The innermost frame in the user's own code; else outside torch; else this one."""
        frames = self.stack[::-1]
        for kind in ("user", "library"):
            for frame in frames:
                if frame.kind == kind:
                    return frame
        return self

    @cached_property
    def entry(self) -> Site:
        """The user's outermost call into torch on this stack: `model(x)` in the training
        function rather than the line of `forward` that training and evaluation share."""
        frames = self.stack
        for outer, inner in pairwise(frames):
            if outer.kind == "user" and inner.kind == "torch":
                return outer
        return self.user

    def frames_in(self, other: Site) -> Iterator[Site]:
        """The frames of this stack that stand in the function of another site, the outermost first."""
        return (f for f in self.stack if (f.path, f.function) == (other.path, other.function))

    def under(self, *files: str) -> bool:
        """Whether one of the stack's frames is in one of these files, by the ends of their paths ("torch/x.py")."""
        return any(frame.path.replace("\\", "/").endswith(files) for frame in self.stack)

    def location(self) -> tuple[str, int]:
        return self.path, self.line

    def span(self) -> Span:
        """The expression: path, line and column of its start, line and column of its end."""
        return self.path, self.line, self.column, self.end_line, self.end_column

    def within(self, other: Site) -> bool:
        """Whether it is a part of another expression."""
        begins = (other.line, other.column) <= (self.line, self.column)
        ends = (self.end_line, self.end_column) <= (other.end_line, other.end_column)
        return self.path == other.path and begins and ends and self.span() != other.span()


@dataclass(frozen=True, slots=True)
class Module:
    """An `nn.Module`: `path` is its dotted name below its root ("" for the root)."""

    id: int
    path: str
    cls: str
    root: int
    parent: int | None
    name: str = ""  # the variable that held the root, where known ("model")
    site: Site | None = None  # first call
    variable: str = ""  # the same, where `name` tells it from others that variable held (`nets[1]`)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A leaf that is trained or could be, with what happened to it over the whole run.

    `name` is the dotted name within its root module ("layer1.weight"), or the
    user's variable for a parameter outside any module. Counts are events.
    """

    id: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    requires_grad: bool
    is_leaf: bool = True
    module: int | None = None  # id of the module that owns it
    registered: bool = True  # is an nn.Parameter in a module that was called
    declared: bool = False  # is an nn.Parameter, wherever it is held
    sharded: bool = False  # is a distributed tensor: of each rank a part, or a copy that torch keeps the same
    optimizers: tuple[int, ...] = ()  # optimizers that hold it
    passes: int = 0  # backward passes that put a gradient into it
    steps: int = 0  # optimizer steps that used a gradient of it
    updates: int = 0  # in-place writes by the program itself, with a pass after them
    changed: bool = False  # its version had moved when a pass or a step last looked
    reads: int = 0  # times the user's code read `.grad`
    read_at: tuple[tuple[str, int, int], ...] = ()  # (path, line, column) of some of these
    taken: int = 0  # gradients whose values went on, into another tensor's memory or graph
    taken_at: tuple[tuple[str, int, int], ...] = ()  # (path, line, column) of some places where they did
    handed: int = 0  # gradients whose values left torch as numbers
    grad: str = "none"  # state at the end: none, fresh, used, stale, zero
    grad_norm: float | None = None  # of the last gradient measured
    site: Site | None = None  # where it was first seen


@dataclass(frozen=True, slots=True)
class Optimizer:
    """`groups` holds one dict per parameter group: "parameters" (ids) and plain settings."""

    id: int
    cls: str
    groups: tuple[dict[str, Any], ...]
    site: Site | None = None  # where it was made, or first met
    steps: int = 0
    highest: float = 0.0  # the largest rate of a group at the steps that were looked at, and at the end
    made: bool = True  # at `site`: else before it was watched

    @property
    def parameters(self) -> list[int]:
        return [p for group in self.groups for p in group["parameters"]]

    @property
    def rate(self) -> float | None:
        """The learning rate of all groups; None where they differ, or it is no number."""
        rates = {group.get("lr") for group in self.groups}
        rate = rates.pop() if len(rates) == 1 else None
        return rate if isinstance(rate, int | float) else None


class Value(NamedTuple):
    """A tensor (one state of it: an in-place write makes a new value).

    kind: "parameter", "buffer", "input" (a tensor without known producer in this
    graph), "carried" (has a grad_fn made in an earlier segment), "intermediate".
    """

    index: int  # type: ignore[assignment]  # in place of the tuple's method
    kind: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    requires_grad: bool
    is_leaf: bool
    op: int | None  # index of the op that made it, in this graph
    position: int  # which output of the op
    alias_of: int | None  # value whose memory it shares
    hidden: bool  # shares memory without sharing the version counter (.data, numpy)
    node: int | None  # index of its grad_fn
    parameter: int | None  # id
    module: int | None  # id of the module that owns the buffer
    origin: tuple[int, int] | None  # (graph id, value index) it came from
    site: Site | None  # where it was made (or first seen)


class Edge(NamedTuple):
    """To the node that a node's gradient flows to (`next_functions`), and which of that one's inputs it is."""

    target: int
    input_nr: int


class Node(NamedTuple):
    """A grad_fn. `name` as torch gives it ("MulBackward0")."""

    index: int  # type: ignore[assignment]  # in place of the tuple's method
    name: str
    op: int | None  # index of the op that built it
    edges: tuple[Edge, ...]
    site: Site | None
    leaf: int | None  # AccumulateGrad: index of its leaf's value
    graph: int
    parameter: int | None


class Op(NamedTuple):
    """One call as the user wrote it.

    cut: why no gradient passes although an input requires one: "detach", "data",
    "no_grad", "inference_mode", "numpy", "item", "tolist", "rewrap",
    "nondifferentiable", "custom", or None. `writes` are values written in place
    (indices before the write, and the same positions' new values in `written`).
    `extra` may hold "reduction" (a loss's), "dims" (axes given by number), "at" (an
    index: i a number, : a slice, n None, . an ellipsis, t other), "batch_first", "equation" (of `einsum`),
    "create_graph" (of `autograd.grad`), "causal" (attention told so) and "custom".
    """

    index: int  # type: ignore[assignment]  # in place of the tuple's method
    name: str
    site: Site
    module: int | None
    region: int | None
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    nodes: tuple[int, ...]
    cut: str | None
    writes: tuple[int, ...]
    written: tuple[int, ...]
    graph: int
    extra: dict[str, Any]

    def __repr__(self) -> str:
        return f"<op {self.index}: {self.name} at {place_of(self.site.user.path, self.site.user.line)}>"


GRADIENTS_OFF = (
    "no_grad",
    "inference_mode",
    "set_grad_enabled",
)  # kinds of `Region` in which no graph is recorded


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch under a grad mode: "no_grad", "enable_grad", "inference_mode",
    "set_grad_enabled", "checkpoint", "autocast". `site` is where it opens (the
    `with` statement or the decorated function's call); `end_line` closes it."""

    id: int
    kind: str
    site: Site
    parent: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened between ops. What `data` holds for each `kind` is
    listed in docs/events.md. `count` repeats over the run (identical segments are
    stored once); `position` is the index of the op it came after."""

    kind: str
    site: Site
    data: dict[str, Any]
    graph: int
    position: int
    segment: int  # index of the first segment it was in
    count: int = 1


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the run stored as one unit, up to an optimizer step, a new
    forward after a backward, or the next evaluation batch. `graph` is None for a
    stretch that was not looked at (sampling)."""

    index: int
    graph: int | None
    events: int | None  # id of its event list
    started: float  # seconds since the run began
    duration: float  # seconds
    is_step: bool  # closed by an optimizer step
    repeat: int = 1  # consecutive identical segments folded into this row


@dataclass(frozen=True)
class Graph:
    """One distinct graph: ops in program order with their values and grad nodes."""

    id: int
    ops: tuple[Op, ...]
    values: tuple[Value, ...]
    nodes: tuple[Node, ...]
    count: int = 1

    def inputs(self, op: Op) -> list[Value]:
        return [self.values[i] for i in op.inputs]

    def outputs(self, op: Op) -> list[Value]:
        return [self.values[i] for i in op.outputs]

    def maker(self, value: int) -> Op | None:
        """The op that gave a value; None of what comes from outside."""
        op = self.values[value].op
        return self.ops[op] if op is not None else None

    def maker_behind(self, value: int, names: Collection[str]) -> Op | None:
        """The op that gave a value, or what that came from through ops of these names, by their first input."""
        op = self.maker(value)
        while op is not None and op.name in names and op.inputs:
            op = self.maker(op.inputs[0])
        return op

    def readers_behind(
        self, values: Iterable[int], through: Callable[[Op], bool]
    ) -> Iterator[tuple[int, Op]]:
        """Each op that takes one of the values, or what came of one through ops of which `through` is true, with the
        value that it takes; the nearest first. What came of an op are its outputs and what it wrote."""
        todo = list(dict.fromkeys(values))
        seen = set(todo)
        for value in todo:  # grows while it is walked
            for op in self.consumers.get(value, ()):
                yield value, op
                if through(op):
                    new = [made for made in dict.fromkeys((*op.outputs, *op.written)) if made not in seen]
                    seen.update(new)
                    todo += new

    @cached_property
    def _by_name(self) -> dict[str, list[Op]]:
        found: dict[str, list[Op]] = {}
        for op in self.ops:
            found.setdefault(op.name, []).append(op)
        return found

    def called(self, names: Iterable[str]) -> list[Op]:
        """The ops of these names, in program order. Of a million ops a rule is about a few."""
        found = [self._by_name[name] for name in dict.fromkeys(names) if name in self._by_name]
        return found[0] if len(found) == 1 else sorted((op for ops in found for op in ops), key=itemgetter(0))

    @cached_property
    def cuts(self) -> list[Op]:
        """The ops with a `cut`, in program order."""
        return [op for op in self.ops if op.cut is not None]

    @cached_property
    def writing(self) -> list[Op]:
        """The ops that write in place, in program order."""
        return [op for op in self.ops if op.writes]

    @cached_property
    def sites(self) -> list[Site]:
        """Where its ops were called, each place once, in the order in which they came first."""
        return list({id(op.site): op.site for op in self.ops}.values())

    @cached_property
    def consumers(self) -> dict[int, list[Op]]:
        """Value index → the ops that read it."""
        found: dict[int, list[Op]] = {}
        for op in self.ops:
            for value in dict.fromkeys(op.inputs):
                found.setdefault(value, []).append(op)
        return found

    def upstream(self, value: int, since: int = 0, most: int | None = None) -> list[int]:
        """Indices of all values that `value` was computed from, itself first
        (dataflow: passes through cuts). `since`: of those with this index or a larger one, which is where all lie that
        were made of the value with this index. `most`: no more than this number of them."""
        seen = {value: None}
        todo = [value]
        while todo and (most is None or len(seen) < most):
            current = self.values[todo.pop()]
            sources: list[int] = []
            if current.op is not None:
                op = self.ops[current.op]
                sources += op.inputs
                sources += [w for w, new in zip(op.writes, op.written, strict=False) if new == current.index]
            for source in sources:
                if source not in seen and source >= since:
                    seen[source] = None
                    todo.append(source)
        return list(seen)[:most]

    def reachable(self, node: int) -> list[int]:
        """Indices of all nodes a backward from `node` visits, itself first."""
        seen = {node: None}
        todo = [node]
        while todo:
            for edge in self.nodes[todo.pop()].edges:
                if edge.target not in seen:
                    seen[edge.target] = None
                    todo.append(edge.target)
        return list(seen)


@dataclass(frozen=True, slots=True)
class Location:
    """Where a finding points. Lines and columns from 1, `end_column` exclusive."""

    role: str  # cause, effect, related
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str
    label: str = ""
    source: str = ""  # its lines, as they ran

    def __str__(self) -> str:
        return place_of(self.path, self.line)


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to the user's source that mends a finding: `text` takes the place of a span
    (an empty one to insert). Lines and columns from 1, `end_column` exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Since:
    """The program's step, from 1, in which a finding was first seen. `asleep`: sampling slept in the
    steps before, so that it may have been there already. `called`: what the program calls it (`gradscope.mark`)."""

    step: int
    asleep: bool = False
    called: str = ""

    def __str__(self) -> str:
        called = f" ({one_line(self.called)})" if self.called else ""
        return f"since step {self.step:,}{called}{' at the latest' if self.asleep else ''}"


class Mark(NamedTuple):
    """What the program calls the steps from here on. steps: those that were over; counter, value: a number of the
    program's own for the next step, which goes up with each ("" and 0: none)."""

    steps: int
    text: str
    counter: str = ""
    value: int = 0

    def of(self, step: int) -> str:
        """The name of a step, counted from 1."""
        number = f"{self.counter} {self.value + step - 1 - self.steps:,}" if self.counter else ""
        return ", ".join(filter(None, (self.text, number)))


@dataclass(frozen=True, slots=True)
class Ranks:
    """On which of several processes that train together a finding was made. `of`: how many there are, 0 where
    they are known by name alone."""

    numbers: tuple[int, ...] = ()
    of: int = 0
    names: tuple[str, ...] = ()  # of processes that have no rank

    def __str__(self) -> str:
        if not self.numbers:
            return f"in {listed_ranks(self.names)}" if self.names else ""
        if len(self.numbers) == self.of:
            return f"on all {self.of:,} ranks" if self.of > 1 else "on the only rank"
        if len(self.numbers) == 1:
            return f"on rank {self.numbers[0]:,} of {self.of:,}"
        if len(self.numbers) > _NAMED:
            return f"on {len(self.numbers):,} of {self.of:,} ranks, the first is {self.numbers[0]:,}"
        return f"on ranks {listed_ranks([f'{n:,}' for n in self.numbers])} of {self.of:,}"


_NAMED = 8  # ranks that are told one by one


def listed_ranks(words: Sequence[str]) -> str:
    """ "0, 3 and 5": ranks or processes one by one, and how many more there are."""
    if len(words) > _NAMED:
        words = (*words[: _NAMED - 1], f"{len(words) - _NAMED + 1:,} more")
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule reports. Rules give `message`, the sites and the proof; check.py
    fills in code, name and severity from the rule and turns sites into locations."""

    message: str
    cause: Site | None = None
    effect: Site | None = None
    related: tuple[tuple[Site, str], ...] = ()  # more places, each with its label
    cause_label: str = ""
    effect_label: str = ""
    seen: tuple[str, ...] = ()
    why: str = ""
    fix: str = ""
    count: int = 1
    at_least: bool = False  # of the count: only some of the passes were looked at (sampling)
    severity: str = ""  # lower than the rule's own, where this case is milder
    symptom: bool = False  # its rule tells what the training came to, and guesses at the cause
    code: str = ""
    name: str = ""
    locations: tuple[Location, ...] = ()
    edits: tuple[Edit, ...] = ()  # the fix, where it can be made without understanding the program
    subjects: frozenset[Any] = frozenset()  # what it is about, for one cause, one finding
    since: Since | None = None  # where a rule gives none, its places tell (analysis/since.py)
    ranks: Ranks | None = None  # of a run of several processes

    def __repr__(self) -> str:
        place = f" at {self.locations[0]}" if self.locations else ""
        return f"<{self.severity} {self.code}{place}: {self.message}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": cards.finding(self)}

    @property
    def extent(self) -> str:
        """How often, where that is more than once, since when, and on which ranks."""
        times = f"×{self.count}{' or more' if self.at_least else ''}"
        return ", ".join([*[times] * (self.count > 1), *self.besides])

    @property
    def besides(self) -> list[str]:
        """Since when and on which ranks, where there is something to say of it."""
        return [text for text in (self.late, str(self.ranks or "")) if text]

    @property
    def late(self) -> str:
        """Since when, where that is not from the first step on."""
        return str(self.since) if self.since is not None and self.since.step > 1 else ""
