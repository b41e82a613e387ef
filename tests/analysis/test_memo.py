"""What is worked out of a trace goes with the trace."""

from __future__ import annotations

import gc
import weakref

import torch

import gradscope


def test_a_trace_that_was_checked_and_dropped_is_gone() -> None:
    model = torch.nn.Linear(2, 1)
    with gradscope.watch() as scope:
        model(torch.randn(4, 2)).pow(2).mean().backward()
    assert scope.report() is not None
    trace = weakref.ref(scope.trace)
    del scope
    gc.collect()
    assert trace() is None
