"""Finds the op whose result is the first, in forward, that is not finite.

Ops that can make a NaN or an infinity are checked while they are looked at, and from the first on
every op after them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from gradscope.hooks import _torch as private
from gradscope.hooks.measures import finite as numbers
from gradscope.hooks.measures.finite import finite, has_nan, is_risky, kind, summary
from gradscope.hooks.recorder.recorder import Recorder
from gradscope.hooks.recorder.segments import External, Row

MAX_EARLIER = 10_000  # values of earlier segments that are not finite: the first are what is asked for


@dataclass
class Origin:
    """Where the first number that is not finite came from."""

    where: str  # forward, backward, input, parameter, step, unknown
    name: str = ""  # of the op, or of the node
    made: str = ""  # "nan", "inf", "-inf", where known
    site: int = 0
    serial: int = -1  # of the segment that `values` and `op` stand in
    op: int | None = None
    values: list[int] = field(default_factory=list)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    too: list[int] = field(default_factory=list)  # sites of others that what follows was computed from
    grown: list[dict[str, Any]] = field(default_factory=list)  # an exponential that its numbers had grown by


class BrokenValues:
    """The values of the segment that are not finite, each with the origin of its numbers."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.serial = -1
        self.bad: dict[int, Origin] = {}
        self.earlier: dict[tuple[int, int], Origin] = {}  # (segment, value): of segments that are over
        self.suspect = False  # seen without an origin: wait for devices, check every node
        # number of the oldest node in the graph whose derivative can be infinite
        self.risky: int | None = None
        self.risky_templates: dict[int, bool] = {}

    def origin_of(self, value: int, t: Any) -> Origin:
        """Where the numbers of a value that is not finite came from."""
        return self.bad.get(value) or self._came_in(value, t)

    def look(self, row: Row, tensors: list[Any], outs: list[Any]) -> None:
        """Checks what an op gave, where it can make such a number or one was seen before."""
        recorder = self.recorder
        if recorder.segment.serial != self.serial:
            if len(self.earlier) < MAX_EARLIER:
                self.earlier.update({(self.serial, value): origin for value, origin in self.bad.items()})
            self.serial = recorder.segment.serial
            self.bad = {}
            self.risky = None
        template = recorder.templates[row.template]
        if self.risky is None and self._can_break(row.template):
            self.risky = row.first
        if not self.bad and not self.suspect and template.name not in numbers.RISKY:
            return
        if private.profiling():
            return
        with private.aside():
            for value, t in zip(row.outs, outs, strict=True):
                if not finite(t, self.suspect):
                    self._note(row, template.name, value, t, tensors)
            for value, place in zip(row.written, template.writes, strict=False):
                if value not in self.bad and not finite(tensors[place], self.suspect):
                    self._note(row, template.name, value, tensors[place], tensors)

    def left_out(self) -> Origin | None:
        """What came into this segment and is not finite, where the loss that was computed with it is: of the numbers
        that were made of it none is left in there."""
        if self.serial != self.recorder.segment.serial:
            return None
        for origin in self.bad.values():
            if origin.where == "input" and origin.values:
                return replace(origin, where="left_out")
            if origin.where == "forward" and origin.op is not None and origin.name not in numbers.RISKY:
                return replace(origin, where="left_out", values=[], inputs=[])  # it was not alive any more
        return None

    def _can_break(self, template: int) -> bool:
        known = self.risky_templates.get(template)
        if known is None:
            made = self.recorder.templates[template]
            custom = '"custom":true' in made.extra  # its backward can do anything
            known = self.risky_templates[template] = custom or any(is_risky(node[0]) for node in made.nodes)
        return known

    def _note(self, row: Row, name: str, value: int, t: Any, tensors: list[Any]) -> None:
        origins = [self.bad[source] for source in row.ins if source in self.bad]
        if origins:
            first = self.bad[value] = origins[0]
            first.too += [o.site for o in origins[1:] if o.site not in (first.site, *first.too)]
            return
        inputs = list(zip(row.ins, tensors, strict=False))
        if name in numbers.ON_PURPOSE and not has_nan(t):
            return
        unknown = [(i, x) for i, x in inputs if i not in row.written and not finite(x, self.suspect)]
        for index, _ in unknown:
            if (known := self._known(self.recorder.segment.externals.get(index))) is not None:
                self.bad[index] = self.bad[value] = known
                return
        if unknown and not has_nan(t):
            return  # infinities handed on, from a mask
        for index, x in unknown:
            if has_nan(x):
                self.bad[index] = self.bad[value] = self._came_in(index, x)
                return
        self.bad[value] = Origin(
            "forward", name, kind(t), row.site, self.serial, len(self.recorder.segment.ops) - 1,
            *_described(inputs),
        )  # fmt: skip
        if name == "ctc_loss":
            short = numbers.too_short(private.grad_fn_of(t))
            self.bad[value].inputs += [short] if short is not None else []
        number = numbers.divisor(private.grad_fn_of(t)) if len(inputs) == 1 else None
        if number is not None:
            self.bad[value].inputs.append(number)

    def _came_in(self, index: int, x: Any) -> Origin:
        """The origin of what no checked op made: the first value alive that is not finite."""
        recorder = self.recorder
        segment = recorder.segment
        alive = {
            entry.index: t
            for entry in list(recorder.live.values())
            if entry.serial == segment.serial and entry.index <= index and (t := entry()) is not None
        }
        alive[index] = x
        first = next((i for i in sorted(alive) if self._is_broken(i, alive[i])), index)
        maker = segment.makers[first]
        if maker < 0:
            external = segment.externals.get(first)
            known = self._known(external)
            if known is not None:
                return known
            read = next((row.site for row in segment.ops if first in row.ins), 0)
            where = "parameter" if external is not None and external.parameter is not None else "input"
            return Origin(
                where, "", kind(alive[first]), read, segment.serial, None,
                *_described([(first, alive[first])]),
            )  # fmt: skip
        row = segment.ops[maker]
        ins = [(i, alive[i]) for i in row.ins if i in alive]
        name = recorder.templates[row.template].name
        if name in numbers.ON_PURPOSE:
            return Origin("input", name, kind(alive[first]), row.site, segment.serial, None, [first])
        return Origin("forward", name, kind(alive[first]), row.site, segment.serial, maker, *_described(ins))

    def _known(self, external: External | None) -> Origin | None:
        """The op that made the numbers of a value in an earlier segment."""
        made = external.origin if external is not None else None
        if made is None:
            return None
        # of the last one, where this one has given nothing that was looked at
        origin = self.bad.get(made[1]) if made[0] == self.serial else self.earlier.get(made)
        return origin if origin is not None and origin.name in numbers.RISKY else None

    def _is_broken(self, value: int, t: Any) -> bool:
        """Whether it holds NaN, or infinities that nobody put there on purpose."""
        if finite(t, self.suspect):
            return False
        segment = self.recorder.segment
        maker = segment.makers[value]
        name = self.recorder.templates[segment.ops[maker].template].name if maker >= 0 else ""
        if maker < 0 and self._known(segment.externals.get(value)) is not None:
            return True
        return has_nan(t) or (maker >= 0 and name not in numbers.ON_PURPOSE)


def _described(inputs: list[tuple[int, Any]]) -> tuple[list[int], list[dict[str, Any]]]:
    """(values, their ranges) of an op's inputs that hold numbers."""
    found = [(i, data) for i, t in inputs[:4] if (data := summary(t)) is not None]
    return [i for i, _ in found], [data for _, data in found]
