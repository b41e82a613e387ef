"""Makes docs/reading/gallery.md and its pictures (`make gallery`).

    python tools/gallery

What torchview and torchviz draw of the same programs is measured where both can be imported, laid out by the same
engine; else the figures of last time stay.
"""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gradscope.render._layout import lay_out

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PICTURES = ROOT / "docs" / "img" / "gallery"
PEERS = PICTURES / "peers.json"
MODELS = ("resnet18", "gpt", "lstm", "gan", "unet")
EXAMPLES = (
    "detach_between_layers", "backward_twice", "stale_gradient", "data_write", "unused_parameter", "fine_tuning",
    "nonleaf_grad",
)  # fmt: skip
_SIZE = re.compile(rb'<svg width="([\d.]+)pt" height="([\d.]+)pt"')


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    peers = measured() or json.loads(PEERS.read_text(encoding="utf-8"))
    PEERS.write_text(json.dumps(peers, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    parts = [HEAD]
    for name in MODELS:
        program = HERE / f"{name}.py"
        size = drawn(program, PICTURES / f"{name}.svg")
        ours = f"gradscope: {size[0]:,} × {size[1]:,} points."
        parts.append(
            f"## {about(program)}\n\n![{name}](../img/gallery/{name}.svg)\n\n{ours} {told(peers[name])}\n\n"
            f"The program: `tools/gallery/{name}.py`."
        )
    parts.append(EXAMPLES_HEAD)
    rows = []
    for name in EXAMPLES:
        program = ROOT / "examples" / f"{name}.py"
        width, height = drawn(program, PICTURES / f"{name}.svg")
        rows.append(
            f"| [`{name}.py`](../img/gallery/{name}.svg) | {width:,} × {height:,} | {about(program)} |"
        )
    parts.append("| program | points | what it does |\n|---|---|---|\n" + "\n".join(rows))
    (ROOT / "docs" / "reading" / "gallery.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def about(program: Path) -> str:
    """The first sentence of its docstring."""
    text = program.read_text(encoding="utf-8")
    said = re.match(r'(?:#[^\n]*\n|\s)*"""(.+?)(?:"""|\n\n)', text, re.S)
    sentence = " ".join(said[1].split()) if said else ""
    return sentence.rstrip(".") or program.stem.replace("_", " ")


def drawn(program: Path, target: Path) -> tuple[int, int]:
    """Runs a program and draws it; how large that is, in points."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "run.gradscope"
        command = [sys.executable, "-m", "gradscope"]
        subprocess.run([*command, "run", "--trace", str(trace), program.name], cwd=program.parent,
                       capture_output=True, check=False)  # fmt: skip
        subprocess.run([*command, "graph", str(trace), "-o", str(target)], capture_output=True, check=True)
    return size_of(target.read_bytes())


def size_of(svg: bytes) -> tuple[int, int]:
    found = _SIZE.search(svg)
    assert found is not None
    return round(float(found[1])), round(float(found[2]))


def measured() -> dict[str, Any]:
    """Boxes and size of what torchview and torchviz draw; nothing where one of them is not here."""
    try:
        from torchview import draw_graph
        from torchviz import make_dot
    except ImportError:
        return {}
    found = {}
    for name in MODELS:
        made = runpy.run_path(str(HERE / f"{name}.py"))
        model, x = made["model"], made["x"]
        found[name] = {
            "torchview": _size(draw_graph(model, input_data=x, device="cpu").visual_graph.source),
            "torchviz": _size(make_dot(made["loss"], params=dict(model.named_parameters())).source),
        }
    return found


def _size(dot: str) -> list[int]:
    """[boxes, width, height]"""
    svg = lay_out(dot, "svg")
    return [svg.count(b'class="node"'), *size_of(svg)]


def told(peers: dict[str, list[int]]) -> str:
    view, viz = peers["torchview"], peers["torchviz"]
    return (
        f"torchview: {view[0]:,} boxes on {view[1]:,} × {view[2]:,}, the forward alone."
        f" torchviz: {viz[0]:,} boxes on {viz[1]:,} × {viz[2]:,}, the `grad_fn` nodes that the loss has."
    )


HEAD = """# Gallery

What `gradscope graph` draws of a program when it is asked for nothing in particular, and how large that is beside what
torchview 0.2.7 and torchviz 0.0.3 make of the same model and loss, laid out by the same engine. `make gallery` draws
these anew. torchview calls the model itself and draws its modules and tensors: neither a loss, nor a backward pass,
nor an optimizer is in it, so that nothing of what follows a cut differs from what does not. torchviz draws the graph
that a loss holds on to: what was cut off is not in it, nor where, and repeated blocks stand one below the other."""

EXAMPLES_HEAD = """## Programs that go wrong

Of these torchview draws the same boxes as of their repaired twins, since the mistake is not in the forward of a module.
torchviz draws what is left of the graph: of a parameter that is cut off nothing, of a stale gradient or a second
backward the same as before."""

if __name__ == "__main__":
    main()
