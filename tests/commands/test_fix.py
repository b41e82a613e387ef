"""`gradscope fix` on programs as users have them: what it says, what it writes, and what it leaves alone."""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from in_child import Ended, in_child

from gradscope.commands import main

STALE = """\
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for step in range(8):
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
FIXED = STALE + "    optimizer.zero_grad()\n"


def gradscope(folder: Path, *arguments: str, stdin: str = "typed") -> Ended:
    return in_child(lambda: main(arguments), cwd=folder, stdin=stdin, seconds=240)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not {".gradscope", "__pycache__"} & set(path.parts)
    }


def test_tells_what_an_edit_does_and_writes_it_when_asked(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(STALE + "print('at the', 'end')\n")
    ran = gradscope(tmp_path, "run", "train.py")
    assert "next: gradscope fix" in ran.err
    before = files(tmp_path)
    tried = gradscope(tmp_path, "fix")
    assert files(tmp_path) == before
    assert tried.status == 0
    assert "gone  error[GS201]" in tried.out
    assert ": 0.8926 → " in tried.out and "with the fix" in tried.out
    assert "gradient of `0.weight`" in tried.out
    assert "+    optimizer.zero_grad()" in tried.out
    assert "next: gradscope fix --apply" in tried.out
    assert "running `train.py` again" in tried.err
    assert "at the end" not in tried.out + tried.err

    patch = gradscope(tmp_path, "fix", "--diff", "--show-output")
    assert patch.out.startswith("--- train.py\n+++ train.py\n")
    assert "at the end" in patch.err

    applied = gradscope(tmp_path, "fix", "--apply")
    assert applied.status == 0
    assert "written: train.py" in applied.out
    fixed = FIXED + "print('at the', 'end')\n"
    assert (tmp_path / "train.py").read_text() == fixed
    twice = gradscope(tmp_path, "fix", "--apply")
    assert (twice.status, (tmp_path / "train.py").read_text()) == (0, fixed)
    assert "already" in twice.out


PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/loop.py": """\
from .net import Net

def fit(model, optimizer, x, y, steps):
    for _ in range(steps):
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
    return loss
""",
    "pkg/net.py": """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x)
""",
    "pkg/train.py": """\
import os, sys, torch
from .loop import Net, fit

os.makedirs("out", exist_ok=True)
os.chdir("out")
assert sys.argv[1:] == ["--steps", "6"], sys.argv
assert __package__ == "pkg" and __file__.endswith("train.py")
torch.manual_seed(0)
model = Net()
print(fit(model, torch.optim.SGD(model.parameters(), lr=0.05), torch.randn(8, 4), torch.randn(8, 1), int(sys.argv[2])))
""",
}


@pytest.mark.nightly
@pytest.mark.slow
def test_an_edit_in_an_imported_module_of_a_package(tmp_path: Path) -> None:
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert gradscope(tmp_path, "run", "-m", "pkg.train", "--steps", "6").status == 0
    before = files(tmp_path)
    tried = gradscope(tmp_path, "fix")
    assert "gone  error[GS201]" in tried.out, tried.out + tried.err
    assert "running `-m pkg.train --steps 6` again" in tried.err
    assert files(tmp_path) == before
    assert gradscope(tmp_path, "fix", "--apply").status == 0
    after = files(tmp_path)
    assert {name for name in after if after[name] != before[name]} == {"pkg/loop.py"}
    assert b"optimizer.step()\n        optimizer.zero_grad()" in after["pkg/loop.py"]
    assert "GS201" not in gradscope(tmp_path, "run", "-m", "pkg.train", "--steps", "6").err


IN_A_LIST = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.rest = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(depth)]

    def forward(self, x):
        x = self.first(x)
        for layer in self.rest:
            x = layer(x)
        return x


torch.manual_seed(0)
for depth in (1, 3):
    model = Net(depth)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
"""


def test_parameters_that_an_edit_gives_another_name_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(IN_A_LIST)
    ran = " ".join(gradscope(tmp_path, "run", "train.py").err.split())
    assert ran.count("warning[GS214]") == 1 and "its 4 layers are not part of the 2 models" in ran
    tried = gradscope(tmp_path, "fix")
    assert "gone  warning[GS214]" in tried.out
    assert tried.out.count("gradient of `") == 3 and "none with the fix" not in tried.out


@pytest.mark.nightly
def test_an_edit_with_which_the_program_fails_is_not_written(tmp_path: Path) -> None:
    text = STALE + "    if step == 3:\n        assert model[0].weight.grad is not None, 'no gradient'\n"
    (tmp_path / "train.py").write_text(text)
    gradscope(tmp_path, "run", "train.py")
    tried = gradscope(tmp_path, "fix", "--apply")
    assert tried.status == 1
    assert "fails  error[GS201]" in tried.out
    assert "AssertionError (train.py:13): no gradient" in " ".join(tried.out.split())
    assert (tmp_path / "train.py").read_text() == text
    assert tried.out.splitlines()[-2:] == [
        "no file was written: none of the edits works",
        "not made: error[GS201] (train.py:10): the program fails with its edit",
    ]


def test_a_program_that_failed_comes_farther(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("""\
import torch

torch.manual_seed(0)
layer = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
x = torch.randn(3, 4)
for step in range(1_000_000):
    optimizer.zero_grad()
    hidden = layer(x).exp()
    hidden += 1
    hidden.mean().backward()
    optimizer.step()
""")
    assert gradscope(tmp_path, "run", "train.py").status == 1
    tried = gradscope(tmp_path, "fix", "--timeout", "60")
    assert tried.status == 0, tried.out + tried.err
    assert "gone  error[GS" in tried.out
    assert "loss: none before" in tried.out


@pytest.mark.parametrize(
    "what", ["changed", "deleted", "stdin", "a block", "other machines", "a folder that is gone"]
)
def test_what_cannot_be_run_again_is_one_line(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "train.py"
    script.write_text(STALE)
    trace = tmp_path / "run.gradscope"
    here = tmp_path
    if what == "stdin":
        gradscope(tmp_path, "run", "--trace", str(trace), "-", stdin=STALE)
    elif what == "a block":
        body = "".join(f"    {line}\n" for line in STALE.splitlines())
        script.write_text(
            f"import gradscope\nwith gradscope.watch() as scope:\n{body}scope.save({str(trace)!r})\n"
        )
        in_child(lambda: runpy.run_path(str(script)) and None)
    else:
        if what == "other machines":
            for name, value in {"RANK": 1, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1}.items():
                monkeypatch.setenv(name, str(value))
        if what == "a folder that is gone":
            here = tmp_path / "inside"
            here.mkdir()
        gradscope(here, "run", "--trace", str(trace), str(script))
        if what == "changed":
            script.write_text(f"# mine\n{STALE}")
        if what == "deleted":
            script.unlink()
        if what == "a folder that is gone":
            here.rmdir()
    before = files(tmp_path)
    named = [] if what == "other machines" else [str(trace)]  # its trace is in a folder for all ranks
    done = gradscope(tmp_path, "fix", "--apply", *named)
    assert done.status == 2, done.out + done.err
    assert len(done.err.strip().splitlines()) == 1
    assert done.err.startswith("gradscope: ")
    assert files(tmp_path) == before


def test_a_copied_folder_leaves_the_one_that_it_was_copied_from_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    (first / "train.py").write_text(STALE)
    gradscope(first, "run", "train.py")
    shutil.copytree(first, second, symlinks=True)
    done = gradscope(second, "fix", "--apply")
    assert done.status == 2 and str(first) in done.err and len(done.err.strip().splitlines()) == 1
    gradscope(second, "run", "train.py")
    assert "written: train.py" in gradscope(second, "fix", "--apply").out
    assert (first / "train.py").read_text() == STALE != (second / "train.py").read_text()


def test_an_installed_library_is_never_edited(tmp_path: Path) -> None:
    library = tmp_path / "lib" / "site-packages" / "trains"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("")
    (library / "__main__.py").write_text(STALE)
    (tmp_path / "start.py").write_text(
        "import runpy, sys\nsys.path.insert(0, 'lib/site-packages')\nrunpy.run_module('trains', run_name='__main__')\n"
    )
    gradscope(tmp_path, "run", "lib/site-packages/trains")
    before = files(tmp_path)
    tried = gradscope(tmp_path, "fix", "--apply")
    assert tried.status == 2
    assert "not the program's own" in tried.err
    assert files(tmp_path) == before


@pytest.mark.nightly
def test_a_long_run_is_tried_as_far_as_it_takes(tmp_path: Path) -> None:
    text = STALE.replace("range(8)", "range(4000)") + "    print(step)\nopen('end', 'w').close()\n"
    (tmp_path / "train.py").write_text(text)
    gradscope(tmp_path, "run", "train.py")
    (tmp_path / "end").unlink()
    tried = gradscope(tmp_path, "fix", "--steps", "30", "--show-output")
    assert tried.status == 0, tried.out + tried.err
    assert "gone  error[GS201]" in tried.out
    assert "\n28\n" in tried.out and "\n40\n" not in tried.out
    assert not (tmp_path / "end").exists()


@pytest.mark.slow
def test_keeps_the_files_bytes_and_rights(tmp_path: Path) -> None:
    text = STALE.replace("\n", "\r\n").replace(
        "import torch", "# -*- coding: latin-1 -*-\r\n# caf\xe9\r\nimport torch", 1
    )
    (tmp_path / "real.py").write_bytes(text.encode("latin-1"))
    (tmp_path / "real.py").chmod(0o750)
    (tmp_path / "train.py").symlink_to("real.py")
    gradscope(tmp_path, "run", "train.py")
    applied = gradscope(tmp_path, "fix", "--apply")
    assert applied.status == 0, applied.out + applied.err
    assert (tmp_path / "real.py").read_bytes() == (text + "    optimizer.zero_grad()\r\n").encode("latin-1")
    assert (tmp_path / "real.py").stat().st_mode & 0o777 == 0o750
    assert (tmp_path / "train.py").is_symlink()


@pytest.mark.nightly
def test_what_the_program_sees_of_itself(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        STALE
        + """\
import inspect, linecache, sys, traceback
print(sys.argv, __name__, __spec__, sys.path[0], len(linecache.getlines(__file__)), sys.stdin.read() == "")
def fail():
    raise ValueError("mine")
print(len(inspect.getsource(fail).splitlines()))
try:
    fail()
except ValueError:
    print(traceback.format_exc())
"""
    )
    plain = gradscope(tmp_path, "run", "train.py", "a", "-b")
    tried = gradscope(tmp_path, "fix", "--show-output")
    path = str(tmp_path)
    assert plain.out.splitlines()[0].endswith(f"__main__ None {path} 19 False")
    shown = tried.out.splitlines()
    assert (
        shown[0] == f"['train.py', 'a', '-b'] __main__ None {path} 20 True"
    )  # one line more, and empty stdin
    assert shown[1] == "2"
    assert '    raise ValueError("mine")' in shown
    assert "gone  error[GS201]" in tried.out


def test_only_the_findings_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        STALE.replace("import torch", "import torch\nlosses = []", 1) + "    losses.append(loss)\n"
    )
    gradscope(tmp_path, "run", "train.py")
    tried = gradscope(tmp_path, "fix", "--finding", "gs201:11", "--apply")
    assert tried.status == 0, tried.out + tried.err
    text = (tmp_path / "train.py").read_text()
    assert "optimizer.zero_grad()" in text and "losses.append(loss)" in text
    (tmp_path / "train.py").write_text(STALE)
    none = gradscope(tmp_path, "fix", "--finding", "GS999")
    assert none.status == 2 and "GS999" in none.err


SQUARED = """\
import torch

class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, given):
        return given * ctx.saved_tensors[0] ** 2

torch.manual_seed(0)
model = torch.nn.Linear(4, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
x = torch.randn(32, 4)
for step in range(8):
    Squared.apply(model(x)).mean().backward()
    optimizer.step()
"""


def test_a_note_that_another_edit_makes_void_is_left_alone(tmp_path: Path) -> None:
    """The branch that the note is about runs only because of the error."""
    text = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--first-order", type=bool, default=True)
args = parser.parse_args(["--first-order", "False"])
torch.manual_seed(0)
w = torch.nn.Linear(1, 1)
opt = torch.optim.SGD(w.parameters(), lr=0.1)
for _ in range(5):
    x = torch.randn(8, 1)
    loss = (w(x) - 2 * x).pow(2).mean()
    if args.first_order:
        grads = torch.autograd.grad(loss, list(w.parameters()))
    else:
        grads = torch.autograd.grad(loss, list(w.parameters()), create_graph=True)
    fast = [p - 0.1 * g for p, g in zip(w.parameters(), grads)]
    opt.zero_grad()
    (x @ fast[0].T + fast[1] - 2 * x).pow(2).mean().backward()
    opt.step()
"""
    (tmp_path / "maml.py").write_text(text)
    told = gradscope(tmp_path, "run", "maml.py").err
    assert "error[GS904]" in told and "note[GS319]" in told
    assert "gone  note[GS319]" in gradscope(tmp_path, "fix", "--apply").out
    written = (tmp_path / "maml.py").read_text()
    assert "type=bool" not in written
    assert written.count("create_graph=True") == 1


def test_a_terminated_fix_leaves_no_program_behind(tmp_path: Path) -> None:
    slow = "    import os, time\n    if os.environ.get('SLOW'):\n        print(os.getpid(), file=open('pid', 'w'))\n"
    (tmp_path / "train.py").write_text(STALE + slow + "        time.sleep(60)\n")
    assert "error[GS201]" in gradscope(tmp_path, "run", "train.py").err
    process = subprocess.Popen(
        [sys.executable, "-m", "gradscope", "fix"], cwd=tmp_path, env={**os.environ, "SLOW": "1"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    started = tmp_path / "pid"
    for _ in range(1200):
        if started.exists() and started.read_text().strip():
            break
        time.sleep(0.1)
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_what_has_no_edit_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SQUARED)
    gradscope(tmp_path, "run", "train.py")
    tried = gradscope(tmp_path, "fix")
    assert "gone  error[GS201]" in tried.out
    _, _, by_hand = tried.out.partition("by hand  warning[GS341]")
    assert "fix: return the gradient" in by_hand and "gradscope fix --apply" in by_hand
    patch = gradscope(tmp_path, "fix", "--diff")
    assert "by hand" in patch.err and "by hand" not in patch.out
    applied = gradscope(tmp_path, "fix", "--apply")
    assert applied.out.splitlines()[-2:] == [
        "written: train.py, with the edits of GS201",
        "not made: warning[GS341] (train.py:11) has no edit: see its fix above",
    ]


def test_nothing_to_try(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FIXED)
    ran = gradscope(tmp_path, "run", "train.py")
    assert "gradscope fix" not in ran.err
    done = gradscope(tmp_path, "fix")
    assert (done.status, done.err) == (0, "")
    assert done.out == "nothing to fix: nothing was found in the run of `train.py`\n"
