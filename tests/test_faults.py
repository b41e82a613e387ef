"""A fault of gradscope's own never reaches the program: it is told once, at the end."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import gradscope
from gradscope.hooks import _learner, _ledger, _modules, _recorder, _segments, _sites, aliases
from gradscope.store import TraceWriter

PLACES = [
    (_sites.SiteTree, "_add"), (_sites.SiteTree, "current"), (_learner.Learner, "learn"), (_recorder.Recorder, "op"),
    (_recorder.Recorder, "_enter"), (_recorder.Recorder, "emit"), (_recorder.Recorder, "end_segment"),
    (_segments.SegmentStore, "store"), (_segments.SegmentStore, "_write_graph"), (_ledger.Ledger, "before_pass"),
    (_ledger.Ledger, "after_pass"), (_ledger.Ledger, "states"), (_ledger.Ledger, "leaf"), (_ledger.Ledger, "rows"),
    (_modules.ModuleTable, "register_root"), (_modules.ModuleTable, "_register"), (aliases.Aliases, "_keep"),
    (TraceWriter, "commit"), (TraceWriter, "add"),
]  # fmt: skip


def train() -> list[float]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        hidden = net(torch.randn(8, 3))
        loss = (hidden * hidden).mean()
        hidden.data.add_(0)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        losses.append(net(torch.ones(2, 3)).sum().item())
    return losses


@pytest.mark.parametrize(("owner", "name"), PLACES, ids=lambda p: getattr(p, "__name__", p))
def test_program_is_untouched_by_a_fault(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = train()

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise OSError("no space left on device")

    with gradscope.watch() as scope:
        monkeypatch.setattr(owner, name, fail)
        watched = train()
    monkeypatch.undo()
    assert watched == plain
    assert any("no space left" in fault for fault in scope.faults)
    assert torch._C._len_torch_function_stack() == 0
    with gradscope.watch() as again:
        assert train() == plain
    assert not again.faults
