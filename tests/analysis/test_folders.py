"""A report is the same wherever the program lies, whatever its folders are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from forked import Forks

PARTS = """
import torch
from torch import nn
from torch.overrides import handle_torch_function, has_torch_function
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.spare = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 4)
    def forward(self, x):
        h = torch.tanh(self.first(x))
        y = self.second(h)
        h.data.mul_(0.5)
        return y
def scaled(x, by):
    if has_torch_function((x,)):
        return handle_torch_function(scaled, (x,), x, by)
    return torch.mul(x, by)
"""
TRAIN = """
import torch
from {parts} import Net, scaled
torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = scaled(net(torch.randn(8, 4)), 2.0).mean()
    loss.backward()
    opt.step()
def cross_entropy_by_hand(a, b):
    c = a * b
    c.data.zero_()
    c.pow(2).sum().backward()
cross_entropy_by_hand(torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True))
scaled(torch.ones(3), torch.ones(4))
"""
FOLDERS = (
    "gradscope", "gradscope/gradscope/hooks", "lib/gradscope/rules", "torch", "torch/nn/modules",
    "site-packages/project", "x/dist-packages/gradscope_utils", ".venv/tests/examples",
)  # fmt: skip
ORDINARY = ("gradscope/gradscope/hooks", "torch/nn/modules", "site-packages/project")


def reported(forks: Forks, folder: Path, parts: str = "parts", before: str = "") -> tuple[Any, str]:
    """What is found in the program when it lies there, and the traceback that it ends with."""
    folder.mkdir(parents=True)
    files = {f"{parts}.py": PARTS, "train.py": TRAIN.format(parts=parts)}
    for name, text in files.items():
        (folder / name).write_text(text)
    report = folder / "report.json"
    ended = forks.run(
        "run", folder / "train.py", before=f"import os; os.chdir({str(folder)!r}); {before}",
        args=["--report", str(report)],
    )  # fmt: skip
    assert report.exists(), ended.err
    found = json.loads(report.read_text().replace(str(folder), "FOLDER").replace(parts, "parts"))["findings"]
    text = ended.err.replace(str(folder), "FOLDER").replace(parts, "parts")
    told = text[text.index("Traceback") :].splitlines()  # up to its last line, which is not indented
    return found, "\n".join(told[: 2 + next(i for i, line in enumerate(told[1:]) if line[:1] != " ")])


@pytest.fixture(scope="module")
def elsewhere(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    found, text = reported(forks, tmp_path_factory.mktemp("elsewhere") / "project")
    assert {"GS101", "GS201", "GS302"} <= {f["code"] for f in found}
    assert "leaf 0" not in str(found) and text.count("in scaled") == 1
    return found, text


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize(
    "folder", [f if f in ORDINARY else pytest.param(f, marks=pytest.mark.nightly) for f in FOLDERS]
)
def test_a_folders_name_changes_nothing(
    folder: str, forks: Forks, elsewhere: tuple[Any, str], tmp_path: Path
) -> None:
    assert reported(forks, tmp_path / folder) == elsewhere


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("parts", ["overrides", "gradscope_utils", "rules"])
def test_a_modules_name_changes_nothing(
    parts: str, forks: Forks, elsewhere: tuple[Any, str], tmp_path: Path
) -> None:
    assert reported(forks, tmp_path / "torch", parts) == elsewhere


def test_what_is_installed_is_no_code_of_the_users(forks: Forks, tmp_path: Path) -> None:
    """Packages that were put into a folder which imports search, as with `pip install --target`."""
    packages = tmp_path / "other" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "parts.py").write_text(PARTS)
    folder = tmp_path / "project"
    code = f"import sys; sys.path.insert(0, {str(packages)!r}); sys.path.insert(0, {str(folder)!r})"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN.format(parts="parts"))
    report = folder / "report.json"
    forks.run(
        "run", folder / "train.py", before=f"import os; os.chdir({str(folder)!r}); {code}",
        args=["--report", str(report)],
    )  # fmt: skip
    unused = [f for f in json.loads(report.read_text())["findings"] if f["code"] == "GS302"]
    assert [f["severity"] for f in unused] == ["note"]
