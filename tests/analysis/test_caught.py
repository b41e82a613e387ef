"""An exception of torch's that the program has caught is a note, unless it has trained nothing for it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import gradscope


@pytest.mark.parametrize(("trains", "severity"), [(True, "note"), (False, "error")])
def test_caught(trains: bool, severity: str) -> None:
    with gradscope.watch() as scope:
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            loss = model(torch.ones(4, 3)).pow(2).mean()
            optimizer.zero_grad()
            try:
                loss.detach().backward()
            except RuntimeError:
                pass
            if trains:
                loss.backward()
            optimizer.step()
    assert [f.severity for f in scope.findings if f.code == "GS303"] == [severity]
