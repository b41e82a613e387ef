"""The calls of modules: which of them take what another network made."""

from __future__ import annotations

import torch
from observed import observed, optimizer
from torch import nn

from gradscope.analysis.calls import calls


def test_a_decoder_takes_what_its_encoder_made_and_the_encoder_takes_nothing() -> None:
    def program() -> None:
        encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        opt = optimizer(encoder, decoder)
        for _ in range(2):
            x = torch.randn(8, 4)
            opt.zero_grad()
            (decoder(torch.tanh(encoder(x))) - x).pow(2).mean().backward()
            opt.step()

    run = observed(program)
    known = calls(run.trace)
    named = {run.trace.modules[known.called(call.event)].name: call.event for call in known.all}
    assert {name for name, event in named.items() if known.takes_another(event)} == {"decoder"}
    assert {name for name, event in named.items() if known.feeds_another(event)} == {"encoder"}
