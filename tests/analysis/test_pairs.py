"""One mistake hides no other: two of them in one program are both told."""

from __future__ import annotations

import itertools
import os
import random

import pytest
from sweeps import pairs

SEED = int(os.environ.get("GRADSCOPE_SEED", "1"))
DRAWN = 80

# One model, one loss, one `backward()` and one optimizer, with a slot for each place of a mistake.
PROGRAM = """
def both():
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 1)
            {layers}

        def forward(self, x):
            y = self.body(x)
            {forward}
            return y

    torch.manual_seed(0)
    model = Net()
    {before}
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    {after}
    for step in range(5):
        opt.zero_grad()
        x, target = torch.randn(8, 3), torch.randn(8)
        out = model(x)
        loss = (out - target.unsqueeze(1)).pow(2).mean()
        {loss}
        loss.backward()
        opt.step()
        {stepped}
"""

# The mistakes, each by what it puts into the slots.
MISTAKES: dict[str, dict[str, str]] = {
    "GS301": {
        "layers": "self.cut = nn.Linear(3, 3)",
        "forward": "y = y + self.cut(x).detach().mean(1, keepdim=True)",
    },
    "GS302": {"layers": "self.unused = nn.Linear(3, 3)"},
    "GS305": {
        "layers": "self.gate = nn.Linear(3, 1)",
        "forward": "y = y * (self.gate(x) > 0).float()",
    },
    "GS206": {"forward": "y = y + self.late(x)", "after": "model.late = nn.Linear(3, 1)"},
    "GS214": {"layers": "self.plain = [nn.Linear(3, 1)]", "forward": "y = y + self.plain[0](x)"},
    "GS213": {
        "layers": "self.scale = nn.Parameter(torch.ones(1)).to(torch.float64)",
        "forward": "y = y * self.scale",
    },
    "GS605": {
        "before": "teacher = nn.Linear(3, 1)",
        "loss": "loss = loss + (out - teacher(x)).pow(2).mean()",
    },
    "GS703": {"loss": "loss = loss + nn.functional.mse_loss(out, target.to(out.dtype))"},
    "GS602": {"after": "total = 0.0", "stepped": "total = total + loss"},
    "GS209": {"stepped": "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"},
    "GS304": {"loss": "loss = loss + torch.tensor(out.abs().mean().item(), requires_grad=True)"},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("first", "second"), itertools.combinations(MISTAKES, 2))
def test_two_mistakes_of_one_model_are_both_told(first: str, second: str) -> None:
    slots = dict.fromkeys(("layers", "forward", "before", "after", "loss", "stepped"), "")
    for code in (first, second):
        for slot, text in MISTAKES[code].items():
            indent = "\n" + " " * {"layers": 12, "forward": 12, "loss": 8, "stepped": 8}.get(slot, 4)
            slots[slot] = f"{slots[slot]}{indent if slots[slot] else ''}{text}"
    found, failure = pairs.findings(pairs.of_text(PROGRAM.format(**slots)))
    assert failure is None
    assert {first, second} <= pairs.serious(found)


@pytest.mark.filterwarnings("ignore")
def test_two_wrong_programs_in_one_loop_tell_both() -> None:
    every = list(itertools.combinations(pairs.programs(), 2))
    lost = {
        (first[0], second[0]): missed
        for first, second in random.Random(SEED).sample(every, DRAWN)
        if (missed := pairs.missed(first, second))
    }
    assert not lost, f"GRADSCOPE_SEED={SEED}"
