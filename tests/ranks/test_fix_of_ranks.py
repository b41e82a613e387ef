"""`gradscope fix` of a run of several ranks runs them all again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from two_ranks import Start, execute, gradscope
from warm import python

ROOT = Path(__file__).resolve().parents[2]

SUMMED = """
rank = begin()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(1 + rank)
for _ in range(8):
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    optimizer.step()
end()
"""

SPLIT = """
class Copied(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        dist.all_reduce(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        return gradient


rank = begin()
torch.manual_seed(0)
stem, head = nn.Linear(4, 8), nn.Linear(8, 1)
torch.manual_seed(1 + rank)
part = nn.Linear(8, 8, bias=False)
optimizer = torch.optim.SGD([*stem.parameters(), *part.parameters(), *head.parameters()], lr=0.1)
torch.manual_seed(9)
for _ in range(8):
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    hidden = Copied.apply(stem(x).relu())
    loss = nn.functional.mse_loss(head(Summed.apply(part(hidden).relu())), x.sum(1, keepdim=True))
    loss.backward()
    optimizer.step()
print([p.tolist() for p in stem.parameters()])
end()
"""


def test_the_fix_is_tried_on_all_ranks(ranks: Start, tmp_path: Path) -> None:
    ran = ranks(SUMMED)
    assert ran.findings() == [("GS807", "warning", [0, 1])] and "gradscope fix" in ran.told
    tried = execute(tmp_path, [*gradscope(), "fix", "--diff"])
    assert tried.status == 0 and "on 2 ranks" in tried.told and "gone warning[GS807]" in tried.told
    assert "+        p.grad /= dist.get_world_size()" in tried.out


def test_the_gradient_of_a_split_layers_input_is_summed(ranks: Start, tmp_path: Path) -> None:
    ran = ranks(SPLIT)
    assert ran.findings() == [("GS810", "error", [0, 1])] and "Copied.backward" in ran.told
    assert len(set(ran.out.splitlines())) == 2
    applied = execute(tmp_path, [*gradscope(), "fix", "--apply"])
    assert applied.status == 0, applied.out + applied.err
    (script,) = tmp_path.glob("*.py")
    again = ranks(script.read_text().partition("dist.destroy_process_group()")[2], how="plain")
    assert len(set(again.out.splitlines())) == 1


@pytest.mark.nightly  # each rank imports torch anew, four times
def test_a_program_that_spawns_its_ranks_is_run_again_with_the_fix_in_all_of_them(tmp_path: Path) -> None:
    name = "ddp_around_the_wrapper.py"
    shutil.copy(ROOT / "examples" / name, tmp_path)
    assert "gradscope fix" in execute(tmp_path, [*gradscope(), "run", name]).err
    applied = execute(tmp_path, [*gradscope(), "fix", "--apply"])
    assert applied.status == 0 and "gone  error[GS802]" in applied.out, applied.out + applied.err
    assert execute(tmp_path, [*python(), name]).out == "the ranks hold the same model\n"
