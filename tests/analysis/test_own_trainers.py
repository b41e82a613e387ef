"""A pass and a step that a library makes by itself are told at the program's function that it took the loss from."""

from __future__ import annotations

import os
import subprocess
import textwrap
from pathlib import Path

from warm import python

ROOT = Path(__file__).parents[2]
TRAINER = """
    def fit(model, optimizer, batches):
        for x in batches:
            loss = model.training_step(x)
            if loss is not None:
                (loss / 1).backward()
            optimizer.step()
            optimizer.zero_grad()
"""
PROGRAM = """
    import torch
    from own_trainer import fit
    from torch import nn


    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 1)

        def training_step(self, x):
            loss = self.net(x).pow(2).mean()
            {last}


    model = Model()
    fit(model, torch.optim.SGD(model.parameters(), lr=0.1), [torch.randn(8, 4) for _ in range(4)])
"""


def told(folder: Path, last: str) -> str:
    """What is said of a program whose training_step ends with this statement."""
    library = folder / "site-packages"
    library.mkdir()
    (library / "own_trainer.py").write_text(textwrap.dedent(TRAINER))
    (folder / "train.py").write_text(textwrap.dedent(PROGRAM.format(last=last)))
    ran = subprocess.run(
        [*python(), "-m", "gradscope", "run", "train.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"COLUMNS": "200", "PYTHONPATH": os.pathsep.join((str(ROOT), str(library)))},
    )
    return " ".join((ran.stdout + ran.stderr).split())


def test_detached_loss_is_told_as_training_steps(tmp_path: Path) -> None:
    text = told(tmp_path, "return loss.detach()")
    assert "error[GS303]: the loss of `training_step` has no graph" in text
    assert "or return from `training_step` the value before it" in text
    assert "call `backward()`" not in text


def test_rewrapped_loss_is_used_itself(tmp_path: Path) -> None:
    assert "use `loss` itself in place of `torch.tensor(loss)`" in told(tmp_path, "return torch.tensor(loss)")


def test_loss_that_is_not_returned(tmp_path: Path) -> None:
    text = told(tmp_path, "print(float(loss))")
    assert "no pass goes back from the loss of `training_step`, which returns nothing" in text
    assert "fix: return the loss, with its graph, from `training_step` (train.py:13)" in text


def test_loss_that_one_return_leaves_out(tmp_path: Path) -> None:
    text = told(tmp_path, "return loss if float(loss) < 0 else None")
    assert "from `training_step` (train.py:13)" in text
    assert "call `backward()`" not in text


def test_loss_that_a_return_before_the_last_leaves_out(tmp_path: Path) -> None:
    text = told(
        tmp_path, "if float(loss) > 0: return None\n            if not self: return\n            return loss"
    )
    assert "fix: return the loss, with its graph, from `training_step` (train.py:13)" in text
    assert "train.py:14 and train.py:15 give back nothing" in text
    assert "call `backward()`" not in text


def test_right_twin_is_left_in_peace(tmp_path: Path) -> None:
    text = told(tmp_path, "return loss")
    assert "nothing to report" in text and "4 steps" in text


def test_the_loss_is_called_as_it_was_handed_to_a_librarys_backward(tmp_path: Path) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "helper.py").write_text(
        "class Helper:\n    def backward(self, loss):\n        (loss / 1).backward()\n"
    )
    (tmp_path / "train.py").write_text(
        "import torch\nfrom helper import Helper\n\nhelper = Helper()\nw = torch.ones(3, requires_grad=True)\n"
        "for _ in range(12):\n    loss = (w * 2).sum()\n    helper.backward(loss)\n    w.grad = None\n"
    )
    ran = subprocess.run(
        [*python(), "-m", "gradscope", "run", "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(library)))},
    )
    assert " loss: `loss` 6 " in ran.stderr
