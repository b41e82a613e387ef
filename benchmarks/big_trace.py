"""Writes a trace of a million grad nodes, to measure what must stay quick on large runs.

    python benchmarks/big_trace.py big.gradscope [--nodes 1000000]

One step of an unrolled network: layers of `linear` and `relu`, all in one graph, and a
second, small graph that repeats.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gradscope.store import TraceWriter, pack, pack_numbers

LAYERS = 200
SOURCE = """import torch

class Cell(torch.nn.Module):
    def forward(self, x):
        x = self.linear(x)
        return torch.relu(x)

model = Net()
for step in range(100):
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    args = parser.parse_args()
    write(args.path, args.nodes)
    print(f"wrote {args.path}, {args.path.stat().st_size / 1e6:.0f} MB")


def write(path: Path, nodes: int) -> None:
    """A trace whose first graph has about `nodes` grad nodes."""
    writer = TraceWriter(path)
    cwd = str(path.parent.absolute())
    writer.set_meta("program", {"argv": ["train.py"], "cwd": cwd, "exit_code": 0, "exception": None})
    writer.set_meta("summary", {"passes": 100, "distinct_graphs": 2, "overhead": 1.01})
    writer.add("file", 0, f"{cwd}/train.py", "user", SOURCE)
    call, linear, relu, backward, step = range(5)
    writer.add("site", call, None, 0, 10, 12, 10, 20, "<module>")
    writer.add("site", linear, call, 0, 5, 13, 5, 27, "Cell.forward")
    writer.add("site", relu, call, 0, 6, 16, 6, 29, "Cell.forward")
    writer.add("site", backward, None, 0, 11, 5, 11, 20, "<module>")
    writer.add("site", step, None, 0, 12, 5, 12, 21, "<module>")
    _write_modules(writer, call)
    _write_graph(writer, 0, nodes)
    _write_graph(writer, 1, 2 * LAYERS)
    for graph in (0, 1):
        roots = {"call": "backward", "roots": [], "pass": graph + 1, "accumulated": []}
        writer.add("event", graph, 0, "backward", backward, 10, pack(roots))
        writer.add("event", graph, 1, "step", step, 10, pack({"optimizer": 0, "states": {}}))
        writer.add("segment", graph, graph, graph, float(graph), 1.0, True, 1 + 98 * graph)
    writer.close()


def _write_modules(writer: TraceWriter, site: int) -> None:
    writer.add("module", 0, "", "Net", 0, None, "model", site)
    for layer in range(LAYERS):
        writer.add("module", layer + 1, f"cells.{layer}", "Cell", 0, 0, "", site)
        facts = {
            "name": f"cells.{layer}.weight", "shape": [64, 64], "dtype": "float32", "device": "cpu",
            "requires_grad": True, "module": layer + 1, "optimizers": [0], "passes": 100, "steps": 100,
            "changed": True, "grad": "used", "grad_norm": 0.5,
        }  # fmt: skip
        writer.add("parameter", layer, pack(facts))
    held = {"cls": "SGD", "groups": [{"parameters": list(range(LAYERS)), "lr": 0.1}], "steps": 100}
    writer.add("optimizer", 0, pack(held))


def _write_graph(writer: TraceWriter, graph: int, nodes: int) -> None:
    """Ops in pairs: a `linear` with a parameter, a `relu`. The first values are the parameters."""
    tensor = ("[8,64]", "float32", "cpu")
    for layer in range(LAYERS):
        writer.add("value", graph, layer, "parameter", "[64,64]", "float32", "cpu", 1, 1, None, 0, None, 0,
                   layer, layer, layer + 1, None, None)  # fmt: skip
        writer.add("node", graph, layer, "AccumulateGrad", None, "[]", None, layer, layer)
    writer.add("value", graph, LAYERS, "input", *tensor, 0, 1, None, 0, None, 0, None, None, None, None, 0)
    ops = max(nodes - LAYERS, 2)
    for op in range(ops):
        value, node, linear = LAYERS + 1 + op, LAYERS + op, op % 2 == 0
        layer = op // 2 * LAYERS // (ops // 2 + 1)
        inputs = [value - 1, layer] if linear else [value - 1]
        targets = ([[node - 1, 0]] if op else []) + ([[layer, 0]] if linear else [])
        site, name = (1, "linear") if linear else (2, "relu")
        writer.add("op", graph, op, name, site, layer + 1, None, pack_numbers(inputs), f"[{value}]", f"[{node}]",
                   None, None, None, None)  # fmt: skip
        writer.add(
            "value", graph, value, "intermediate", *tensor, 1, 0, op, 0, None, 0, node, None, None, None, site
        )
        writer.add("node", graph, node, "AddmmBackward0" if linear else "ReluBackward0", op,
                   pack(targets), site, None, None)  # fmt: skip
        if op % 50_000 == 0:
            writer.commit()
    writer.add("graph", graph, ops, ops + LAYERS)


if __name__ == "__main__":
    main()
