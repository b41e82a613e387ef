"""Where a call stands."""

from __future__ import annotations

from pathlib import Path

import gradscope
from gradscope.store import Trace

BUILT_IN = """
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.ones(8, 2)), batch_size=4)
w = torch.ones(2, requires_grad=True)
for _ in range(30):
    (x,) = next(iter(loader))
    kept = w.detach()
    (x * w - kept).sum().backward()
"""


def test_a_line_is_one_place_however_often_it_runs(tmp_path: Path) -> None:
    """CPython 3.11 moves the instruction that a frame stands at, once it has specialized a call of what is built in."""
    script = tmp_path / "train.py"
    script.write_text(BUILT_IN)
    path = tmp_path / "run.gradscope"
    with gradscope.watch(path=path):
        exec(compile(BUILT_IN, str(script), "exec"), {"__name__": "__main__"})
    trace = Trace(path)
    own = [site for site in trace.sites if site.path == str(script) and site.function == "<module>"]
    spans = [(site.span(), site.parent.id if site.parent is not None else None) for site in own]
    assert spans
    assert len(spans) == len(set(spans))
