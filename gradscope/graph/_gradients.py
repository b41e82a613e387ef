"""The ways of gradients: between grad_fn nodes of their own at op level, else between boxes."""

from __future__ import annotations

from gradscope.graph._making import Making


def add_grad_fns(making: Making) -> None:
    flow = making.flow
    where: dict[int, str] = {}
    counts: dict[str, int] = {}
    for index, node in enumerate(flow.nodes):
        op = flow.node_op[index]
        if index in flow.leaf_of:
            leaf = flow.leaf_of[index]
            if (id := making.source(leaf)) is not None and (flow.maker[leaf] is None or id in making.graph):
                where[index] = id
            continue
        if op is None:
            continue
        place_in_op = (
            index - flow.joined_nodes[node.graph, flow.ops[op].nodes[0]] if flow.ops[op].nodes else 0
        )
        id = f"grad:{making.group_first[op]}:{place_in_op}"
        where[index] = id
        counts[id] = counts.get(id, 0) + 1
        if id not in making.graph:
            making.node(
                id, "grad_fn", node.name, site=node.site, region=flow.ops[op].region, trainable=True,
                got_gradient=index in flow.reached, names={node.name},
            )  # fmt: skip
            making.edge(making.id(making.boxes.keys[op]), id, "made")
        making.graph.nodes[id]["count"] = counts[id]
    _between(making, where)


def add_between_boxes(making: Making) -> None:
    """Ways of gradients between the boxes themselves."""
    flow = making.flow
    where: dict[int, str] = {}
    for index in range(len(flow.nodes)):
        op = flow.node_op[index]
        if index in flow.leaf_of:
            if (id := making.source(flow.leaf_of[index])) is not None:
                where[index] = id
        elif op is not None:
            where[index] = making.id(making.boxes.keys[op])
    _between(making, where)


def _between(making: Making, where: dict[int, str]) -> None:
    flow = making.flow
    found: dict[tuple[str, str], list[int]] = {}
    for node, targets in enumerate(flow.edges):
        for target in targets:
            a, b = where.get(node), where.get(target)
            if a is not None and b is not None and (a != b or making.level == "op"):
                found.setdefault((a, b), []).append(node)
    for (a, b), sources in found.items():
        making.edge(a, b, "grad", count=len(sources), trainable=any(n in flow.reached for n in sources))
