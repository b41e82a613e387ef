"""Ties findings to what they are about, and draws the lines and parameters that no op of the picture stands for."""

from __future__ import annotations

from gradscope.graph._leaves import Leaves
from gradscope.graph._making import Making
from gradscope.graph._owners import code_of
from gradscope.graph._pointed import told_of
from gradscope.model import Finding

MAX_ENDS = 3  # boxes of a finding's cause that are tied to each of its effect


class Ties:
    """The findings of one graph."""

    def __init__(self, making: Making, leaves: Leaves):
        self._making, self.flow, self.graph, self.names = making, making.flow, making.graph, making.names
        self._leaves = leaves

    def add(self) -> None:
        """Lines and parameters of findings that no op of the picture stands for, each tied to what it is about."""
        for at, codes in self._making.pointed.places.items():
            where = self.names.place(at.site.user)
            text = code_of(self.names.line(at.site.user)) or where
            self._making.node(
                at.id, "place", text, detail=where, site=at.site, names={where}, **told_of(codes)
            )
        for finding, causes, effects in self._making.pointed.ends:
            left, right = self._making.ids(causes), self._making.ids(effects)
            lone = self._lone_parameters(finding)
            self._tie(finding, left, lone, "")
            without = [leaf for leaf in lone if not self.graph.nodes[leaf]["got_gradient"]]
            self._tie(finding, without, right, "never reached" if finding.code == "GS302" else "no gradient")
            self._tie(finding, lone, right, "")  # what the finding says of the others is something else
            self._tie(finding, left, self._made_at(finding), "")
            apart = any(id.startswith("place:") for id in (*left, *right))
            if apart and not lone:
                self._tie(finding, left, right, "")
            if (right or left) and all(id.startswith("place:") for id in (*left, *right)):
                self._tie(finding, (right or left)[-1:], self._holders(finding), "")
            for id in (*left, *right):
                self._tie(finding, [id], self._making.ids(self._making.pointed.called.get(id, ())[-1:]), "")

    def _holders(self, finding: Finding) -> list[str]:
        """The boxes that alone use parameters of a finding."""
        own = {s[1] for s in finding.subjects if s[0] == "parameter"}
        leaves = {
            self._making.leaf_node[v]
            for v, id in self.flow.parameter_of.items()
            if id in own and v in self._making.leaf_node
        }
        users = [
            {b for _, b, e in self.graph.edges_from(leaf) if e["kind"] == "flow"} for leaf in sorted(leaves)
        ]
        return list(dict.fromkeys(user for found in users if len(found) == 1 for user in found))[:MAX_ENDS]

    def _lone_parameters(self, finding: Finding) -> list[str]:
        """The parameters of a finding that stand alone in the picture."""
        known = {p.id: p for p in self.flow.trace.parameters}
        ids = sorted(s[1] for s in finding.subjects if s[0] == "parameter" and s[1] in known)
        drawn = {known[id].site for id in ids if self._leaves.leaf_of(id) is not None}
        # Of those that a line makes anew at each call the one of this step stands for all.
        ids = [
            id for id in ids if self._leaves.leaf_of(id) is not None or known[id].site not in drawn - {None}
        ]
        return [leaf for id in ids if self.graph.lone(leaf := self._leaves.parameter(id))]

    def _made_at(self, finding: Finding) -> list[str]:
        """The leaves in the picture that a finding is about and its cause makes."""
        if finding.cause is None:
            return []
        at = finding.cause.user.span()
        own = [p for p in self.flow.trace.parameters if ("parameter", p.id) in finding.subjects]
        leaves = [self._leaves.leaf_of(p.id) for p in own if p.site is not None and p.site.user.span() == at]
        return list(dict.fromkeys(leaf for leaf in leaves if leaf is not None))

    def _tie(self, finding: Finding, tails: list[str], heads: list[str], label: str) -> None:
        for tail in tails[:MAX_ENDS] if len(heads) > 1 else tails:
            for head in heads:
                if tail != head and not any(
                    e["kind"] == "finding" for e in self.graph.edges_between(tail, head)
                ):
                    self._making.edge(tail, head, "finding", label=label or finding.code, severed=True)
