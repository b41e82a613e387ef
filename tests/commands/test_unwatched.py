"""A run in which nothing was seen to train never looks like a good one: every output says so, and how
to watch what trained elsewhere. What is said to be typed works."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from textual.pilot import Pilot
from tui_driver import drive, screen, settled
from warm import python

from gradscope.tui.app import Inspector

TRAIN = """
import torch

def train():
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):  # no zero_grad
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
"""
BIN = str(Path(sys.executable).parent)
ENV = {
    **os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1",
    "COLUMNS": "200", "PATH": BIN + os.pathsep + os.environ["PATH"],
}  # fmt: skip
NOTHING = "nothing, but no backward pass was seen either"


def execute(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=ENV, text=True, capture_output=True, timeout=240)


def watched(folder: Path, *arguments: str) -> str:
    """The report on `gradscope run ARGUMENTS`, in one line."""
    ran = execute(folder, *python(), "-m", "gradscope", "run", *arguments)
    assert ran.returncode == 0, ran.stderr
    return " ".join(ran.stderr.split())


@pytest.mark.nightly
def test_a_run_without_a_pass_says_so_in_every_output(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN + "train()\n")
    (tmp_path / "launch.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'train.py'], check=True)\n"
    )
    outputs = ["--report", "a.txt", "--report", "a.md", "--report", "a.json", "--report", "a.sarif"]
    told = watched(tmp_path, *outputs, "launch.py")
    assert f"found: {NOTHING}" in told and "nothing to report" not in told
    assert "the programs that it started" in told and "`python -m gradscope run` in place of" in told
    texts = {suffix: (tmp_path / f"a.{suffix}").read_text() for suffix in ("txt", "md", "json", "sarif")}
    for form in ("concise", "github"):
        command = [*python(), "-m", "gradscope", "check", "--output-format", form]
        texts[form] = execute(tmp_path, *command).stdout
    for form, text in texts.items():
        assert "no backward pass was seen in this process" in text, form
        assert "othing to report" not in text, form
    assert json.loads(texts["json"])["unwatched"]

    async def look(app: Inspector, pilot: Pilot[None]) -> None:
        await settled(pilot, lambda: "checking" not in screen(app))
        assert NOTHING in screen(app) and "in place of `python`" in " ".join(screen(app).split())

    drive((tmp_path / ".gradscope" / "last").resolve(), look)


def test_processes_that_train_are_watched_as_a_watch_within_them_is(tmp_path: Path) -> None:
    body = """
import multiprocessing
import gradscope

def work():
BODY

if __name__ == "__main__":
    processes = [multiprocessing.get_context("fork").Process(target=work) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
"""
    within = "    with gradscope.watch() as scope:\n        train()\n    print(scope.report())"
    (tmp_path / "within.py").write_text(TRAIN + body.replace("BODY", within))
    ran = execute(tmp_path, *python(), "-m", "gradscope", "run", "within.py")
    assert ran.stdout.count("error[GS201]") == 2
    assert ran.stderr.count("error[GS201]") == 1 and "in process 1 and process 2" in " ".join(
        ran.stderr.split()
    )


def test_a_run_that_trains_beside_its_workers_is_told_as_ever(tmp_path: Path) -> None:
    loader = "list(torch.utils.data.DataLoader(range(4), num_workers=1))\n"
    (tmp_path / "train.py").write_text(
        TRAIN.replace("5):", "5):\n        optimizer.zero_grad()") + loader + "train()\n"
    )
    told = watched(tmp_path, "train.py")
    assert "found: nothing to report" in told and "no backward pass" not in told and "gradscope graph" in told


@pytest.mark.parametrize("trained", [False, True])
def test_a_program_that_puts_another_in_its_place_says_so(trained: bool, tmp_path: Path) -> None:
    begin = """
import os, sys

try:
    os.execvp("no-such-program", ["no-such-program"])
except FileNotFoundError as error:
    print(error.strerror, flush=True)
"""
    again = "os.execlp(sys.executable, sys.executable, '-c', 'print(2)')\n"
    (tmp_path / "train.py").write_text(TRAIN + begin + "train()\n" * trained + again)
    command = [*python(), "-m", "gradscope", "run", "train.py"]
    ran = execute(tmp_path, *command)
    assert (ran.returncode, ran.stdout) == (0, "No such file or directory\n2\n")
    assert ran.stderr.count("runs unwatched") == 1 and "with gradscope.watch()" in ran.stderr
    assert ("`gradscope check` tells" in ran.stderr) == trained
    if trained:
        assert "error[GS201]" in execute(tmp_path, *python(), "-m", "gradscope", "check").stdout


@pytest.mark.nightly
def test_the_command_that_is_advised_watches_the_training(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    command = ["-m", "pytest", "-n", "2", "-q", "test_it.py"]
    (tmp_path / "test_it.py").write_text(TRAIN + "def test_it():\n    train()\n")
    told = watched(tmp_path, *command)
    assert NOTHING in told
    advised = told.rpartition("next: ")[2]
    ran = execute(tmp_path, *shlex.split(advised))
    assert ran.returncode == 0 and "error[GS201]" in ran.stderr, (advised, ran.stderr)


def test_a_child_that_trains_nothing_leaves_the_runs_own_trace_the_newest(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        TRAIN
        + "from multiprocessing import Process\n\ndef idle():\n    pass\n\nif __name__ == '__main__':\n"
        + "    child = Process(target=idle)\n    child.start()\n    train()\n    child.join()\n"
    )
    watched(tmp_path, "train.py")
    asked = execute(tmp_path, *python(), "-m", "gradscope", "check")
    assert "GS201" in asked.stdout + asked.stderr
