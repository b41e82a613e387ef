"""The ways of data between boxes, what is written past them, and where backward passes start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from gradscope.events import ErrorRaised
from gradscope.graph._making import Making
from gradscope.graph._often import Often
from gradscope.graph._places import Key
from gradscope.graph._pointed import backward_id, told_of
from gradscope.graph._put_back import put_back, taken_out
from gradscope.model import Site


class Ways:
    """The ways of one graph."""

    def __init__(self, making: Making, often: Often):
        self._making, self.flow, self.names, self.boxes = making, making.flow, making.names, making.boxes
        self._often = often

    def add(self) -> None:
        self._flow_edges()
        self._put_back()
        self._alias_edges()
        self._backwards()

    def _flow_edges(self) -> None:
        flow = self.flow
        # way → value → graph that reads it → what that is there: of several rounds of a call one is stored
        found: dict[tuple[str, str, tuple[int, ...], bool], dict[int, dict[int, set[int]]]] = {}
        back: set[tuple[str, str]] = set()
        place_of = {key: i for i, key in enumerate(self._making.members)}
        for op, inputs in enumerate(flow.inputs):
            target = self.boxes.keys[op]
            target_id = self._making.id(target)
            for value in dict.fromkeys(inputs):
                source = self._making.source(value)
                maker = flow.maker[value]
                if source is None or (source == target_id and self._inside(target, maker, op)):
                    continue
                way = (
                    source,
                    target_id,
                    flow.values[value].shape,
                    self._making.trains(value) and not self._is_off(op),
                )
                reader = flow.ops[op]
                read = found.setdefault(way, {}).setdefault(value, {}).setdefault(reader.graph, set())
                read.update(own for own, joined in zip(reader.inputs, inputs, strict=True) if joined == value)
                if maker is not None and place_of[self.boxes.keys[maker]] >= place_of[target]:
                    back.add((source, target_id))
        loops = _closing(back, [way[:2] for way in found])
        for (source, target_id, shape, grad), values in found.items():
            first = next(iter(values))
            self._making.edge(
                source, target_id, "flow", shape=shape, dtype=flow.values[first].dtype, trainable=grad,
                count=self._read(source, target_id, values),
                label=flow.name(first) or "", loop=(source, target_id) in loops,
                severed=self._severed_way(list(values), source),
            )  # fmt: skip

    def _put_back(self) -> None:
        """From what gave numbers to what was made of them."""
        flow = self.flow
        known: dict[tuple[str, str], dict[int, bool]] = {}  # way → value → whether its gradient is lost
        for value, ops in put_back(flow).items():
            for op in ops:
                source, target = self._making.id(self.boxes.keys[op]), self._making.source(value)
                if target is not None and source != target:
                    lost = any(
                        (cut := self._making.marks.get(i)) is not None and cut.severs
                        for i in taken_out(flow, op)
                    )
                    known.setdefault((source, target), {})[value] = lost
        for (source, target), values in known.items():
            first = flow.values[next(iter(values))]
            self._making.edge(
                source, target, "flow", shape=first.shape, dtype=first.dtype, trainable=False,
                count=len(values), label=flow.name(next(iter(values))) or "", severed=any(values.values()),
            )  # fmt: skip

    def _is_off(self, op: int) -> bool:
        """Whether gradients are off where an op runs: what it is given hands no graph on."""
        inside = self.flow.ops[op].region is not None
        return (
            inside
            and op in self._making.marks
            and self._making.marks[op].reason in ("no_grad", "inference_mode")
        )

    def _read(self, source: str, target: str, values: Mapping[int, Mapping[int, set[int]]]) -> int:
        """How many values go from one box to another. values: each with the graphs that read it, and what they read of
        its rounds: a list of what a loop made has all of them. Where a graph ran several times in a row, each round
        after the first read what the one before it made: more is read there than was made, and of its own more made
        than read."""
        count = 0
        lacking, left = Counter[int](), Counter[int]()  # by graph
        for value, graphs in values.items():
            made = self._making.counts.of_values([value])
            home = self.flow.graph_of[value].id
            taken = sum(len(rounds) * self._making.counts.of_graph(id) for id, rounds in graphs.items())
            if home in graphs:
                count += made
                continue
            count += min(made, taken)
            if made > taken:
                left[home] += made - taken
            elif len(graphs) == 1:
                lacking[next(iter(graphs))] += taken - made
        count += (lacking & left).total()
        ran, drawn = self._often.more.get(source, (1, 1))
        return count * ran // drawn if self._often.more.get(target) == (ran, drawn) else count

    def _inside(self, box: Key, maker: int | None, op: int) -> bool:
        """Inside one box: a way from op to op of one round is not drawn, a loop's way back is; nor how data was
        prepared."""
        if maker is None or box[0] == "data":
            return True
        return self._making.level != "op" and self._often.round[maker] == self._often.round[op]

    def _severed_way(self, values: list[int], source: str) -> bool:
        """Whether these values are what is lost: severed leaves, or the result of a harmful cut."""
        if any(v in self._making.severed for v in values):
            return True
        return any(
            (maker := self.flow.maker[v]) is not None
            and bool((cut := self._making.marks.get(maker)) and cut.severs)
            for v in values
        )

    def _alias_edges(self) -> None:
        """A write through shared memory also changes the value it is shared with."""
        flow = self.flow
        for index, op in enumerate(flow.ops):
            for value in op.writes:
                written = flow.joined[op.graph, value]
                base = flow.base(written)
                source = self._making.source(base)
                if (
                    base != written
                    and source is not None
                    and source != self._making.id(self.boxes.keys[index])
                ):
                    self._making.edge(
                        self._making.id(self.boxes.keys[index]),
                        source,
                        "alias",
                        label=flow.name(base) or "",
                    )

    def _backwards(self) -> None:
        """Where backward passes start."""
        flow = self.flow
        passes: dict[tuple[str, int], list[int]] = {}
        sites: dict[tuple[str, int], Site] = {}
        for value, event in flow.roots.items():
            key = event.site.user.location()
            passes.setdefault(key, []).append(value)
            sites.setdefault(key, event.site)
        failed = {e.site.user.location() for e in flow.backwards if isinstance(e, ErrorRaised)}
        for key, values in passes.items():
            site = sites[key]
            text, where = (
                self.names.text(site.user) or "backward()",
                self.names.place(site.user),
            )
            id = self._making.node(
                backward_id(key), "backward", text, site=site, detail=where, names={where},
                severed=key in failed, count=self._passes_from(key), **told_of(self._making.pointed.passes.get(key)),
            )  # fmt: skip
            sources = dict.fromkeys(s for v in values if (s := self._making.source(v)) is not None)
            for source in sources:
                shown = flow.values[values[0]]
                self._making.edge(
                    source, id, "flow", trainable=shown.requires_grad, shape=shown.shape, dtype=shown.dtype
                )

    def _passes_from(self, line: tuple[str, int]) -> int:
        """How many passes the line made in what is shown."""
        own = [event for event in self.flow.backwards if event.site.user.location() == line]
        found: dict[int, int] = {}
        # Of one graph there may be the events of several steps.
        for (graph, _), count in Counter((event.graph, event.segment) for event in own).items():
            found[graph] = max(found.get(graph, 0), count)
        return sum(count * self._making.counts.of_graph(graph) for graph, count in found.items())


def _closing(back: set[tuple[str, str]], ways: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the ways back to a box above that close a circle: of others what they come from was only made later."""
    after: dict[str, set[str]] = {}
    for tail, head in ways:
        after.setdefault(tail, set()).add(head)
    found: set[tuple[str, str]] = set()
    for target in {head for _, head in back}:
        seen = {target}
        todo = [target]
        while todo:
            for head in after.get(todo.pop(), set()) - seen:
                seen.add(head)
                todo.append(head)
        found |= {(tail, head) for tail, head in back if head == target and tail in seen}
    return found
