"""What the report says to do next."""

from __future__ import annotations

import torch
from torch import nn

import gradscope
from gradscope.check import examine
from gradscope.config import Config
from gradscope.render.text import render


def test_why_is_not_suggested_for_a_teacher_that_is_frozen_on_purpose() -> None:
    torch.manual_seed(0)
    teacher, student = nn.Linear(3, 1).requires_grad_(False), nn.Linear(3, 1)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            x = torch.randn(8, 3)
            optimizer.zero_grad()
            (student(x) - teacher(x)).square().mean().backward()
            optimizer.step()
    following = render(examine(scope.trace, Config())).rpartition(" next: ")[2]
    assert "student." in following and "teacher." not in following
