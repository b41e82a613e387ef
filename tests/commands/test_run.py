"""A program under `gradscope run` is the program under plain Python."""

from __future__ import annotations

import os
import py_compile
import re
import signal
import subprocess
import sys
import time
import zipapp
from collections.abc import Sequence
from pathlib import Path

import pytest
from forked import Forks
from warm import python

import gradscope
from gradscope.events import Backward

HEADER = "import sys, os\n"
TORCH = "import torch\ntorch.manual_seed(0)\n"

PROGRAMS = {
    "argv_and_path": "print(sys.argv, sys.path[0], __name__, __file__, __spec__, __package__)",
    "main_is_main": "import __main__; print(__main__.HERE)\n",
    "stdin": "print(sys.stdin.read()[::-1])",
    "exit_number": "sys.exit(7)",
    "exit_text": "sys.exit('stopped')",
    "exit_none": "sys.exit()",
    "raises": "def f(x):\n    return torch.nn.functional.relu(x) @ torch.ones(5)\nf(torch.ones(2, 3))",
    "raises_in_module": "net = torch.nn.Sequential(torch.nn.Linear(3, 4))\nnet(torch.ones(2, 5))",
    "raises_in_backward": (
        "x = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.add_(1)\ntry:\n    y.sum().backward()\n"
        "except RuntimeError:\n    import traceback\n    print(traceback.format_exc())\ny.sum().backward()"
    ),
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('later') from error",
    "cause_never_raised": "raise ValueError('later') from KeyError('has no frames')",
    "syntax_error": "x = = 1",
    "warns": (
        "import warnings\nx = torch.ones(2, requires_grad=True)\ny = x * 2\ny.grad\n"
        "torch.nn.functional.softmax(y)\nfor _ in range(2):\n    float(y.sum())"
    ),
    "own_excepthook": "sys.excepthook = lambda *args: print('mine', args[0].__name__)\nraise KeyError('x')",
    "at_exit": "import atexit\natexit.register(lambda: print('bye', torch.ones(2).sum().item()))\nprint('main done')",
    "trains": (
        "net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(), torch.nn.Linear(8, 1))\n"
        "opt = torch.optim.Adam(net.parameters())\nfor _ in range(30):\n    opt.zero_grad()\n"
        "    loss = net(torch.randn(4, 3)).square().mean()\n    loss.backward()\n    opt.step()\n"
        "    print(loss.item().hex())\nprint(torch.get_rng_state().sum())\n"
        "print([p.sum().item().hex() for p in net.parameters()])"
    ),
    "workers": (
        "from torch.utils.data import DataLoader\nif __name__ == '__main__':\n"
        "    data = DataLoader(list(range(6)), batch_size=2, num_workers=2)\n"
        "    print([b.tolist() for b in data])"
    ),
    "threads": (
        "import threading\nout = []\ndef work():\n    x = torch.ones(3, requires_grad=True)\n"
        "    (x * 2).sum().backward()\n    out.append(x.grad.tolist())\n"
        "t = threading.Thread(target=work)\nt.start()\nt.join()\nprint(out)"
    ),
    "seeded_before_an_import": "import random\nrandom.seed(1)\nimport rich.console\nprint(random.random())",
    "no_frames": "import inspect\ndef f():\n    return [s.function for s in inspect.stack()][0]\nprint(f())",
    "recursion": "def f(n):\n    return torch.ones(1) if n == 0 else f(n - 1) + 1\nprint(f(500))",
}  # fmt: skip


ANEW = (
    "trains",
    "argv_and_path",
    "seeded_before_an_import",
)  # in an interpreter that has imported nothing yet


def execute(
    folder: Path, *arguments: str, stdin: str = "hello", started: Sequence[str] = (sys.executable,)
) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "NO_COLOR": "1"}
    return subprocess.run(
        [*started, *arguments],
        cwd=folder,
        input=stdin,
        text=True,
        capture_output=True,
        env=env,
        timeout=120,
    )


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_output_exit_code_and_traceback(name: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    needed = TORCH if "torch." in PROGRAMS[name] else ""
    script.write_text(f"{HEADER}{needed}HERE = 5\n{PROGRAMS[name]}\n")
    started = [sys.executable] if name in ANEW else python()
    plain = execute(tmp_path, "program.py", "--a", "1", "-x", started=started)
    watched = execute(tmp_path, "-m", "gradscope", "run", "program.py", "--a", "1", "-x", started=started)
    assert watched.stdout == plain.stdout
    assert watched.returncode == plain.returncode
    assert _own(watched.stderr).startswith(_own(plain.stderr))
    assert "fault" not in watched.stderr


def _own(stderr: str) -> str:
    """What a program wrote, without what Python's tracker of semaphores and triton's bindings (with torch 2.15) say at
    the end of a process now and then, watched or not."""
    stderr = re.sub(
        r"nanobind: leaked .*?^See https://nanobind[^\n]*\n?", "", stderr, flags=re.DOTALL | re.MULTILINE
    )
    lines = stderr.splitlines(keepends=True)
    return "".join(
        line
        for line, before in zip(lines, ["", *lines], strict=False)
        if "resource_tracker" not in line and not ("resource_tracker" in before and "warnings.warn" in line)
    )


def test_module(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tool.py").write_text(
        "import sys\nfrom . import __name__ as n\nprint(n, sys.argv, __spec__.name)"
    )
    (package / "__main__.py").write_text("import sys\nprint('main', sys.argv, sys.path[0], __package__)")
    for name, started in (("pkg.tool", [sys.executable]), ("pkg", python())):
        plain = execute(tmp_path, "-m", name, "--b", "2", started=started)
        watched = execute(tmp_path, "-m", "gradscope", "run", "-m", name, "--b", "2", started=started)
        assert (watched.stdout, watched.returncode) == (plain.stdout, plain.returncode)
        assert plain.returncode == 0


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize(
    ("text", "given", "typed"),
    [
        ("print(sys.argv)", ["--graph", "x.svg", "--a"], "gradscope run --graph x.svg program.py --a"),
        ("import argparse; argparse.ArgumentParser().parse_args()", ["--full"], "gradscope run --full program.py"),
        ("print(sys.argv)", ["--trace=y", "--", "--full"], "gradscope run --trace=y program.py -- --full"),
        ("import argparse; p = argparse.ArgumentParser(); p.add_argument('--graph'); p.parse_args()",
         ["--graph", "x.svg"], ""),
        ("from options import fail_on; print(sys.argv)", ["--fail-on", "error"], ""),
        ("print(sys.argv)", ["--a", "1", "-m", "x", "--", "--graph"], ""),
    ],
)  # fmt: skip
def test_an_option_behind_a_program_that_has_none_of_its_name_is_told(
    text: str, given: list[str], typed: str, forks: Forks, tmp_path: Path
) -> None:
    (tmp_path / "options.py").write_text("fail_on = None\n")
    (tmp_path / "program.py").write_text("import sys\n" + text)
    plain = execute(tmp_path, "program.py", *given)
    watched = forks.command(tmp_path, "run", "program.py", *given)
    assert (watched.out, watched.status) == (plain.stdout, plain.returncode), "the program got it"
    assert ("went to the program" in watched.err) == bool(typed)
    assert f"as in `{typed}`" in watched.err or not typed


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "missing.py"], ["run", "."], ["run", "-m", "no.such.module"], ["run"], ["run", "--nonsense", "x.py"],
        ["run", "--report", "x.nonsense", "ok.py"], ["run", "--select", "GS999", "ok.py"], ["check", "missing"],
        ["check", "ok.py"], ["nonsense"], ["explain", "GS999"], ["run", "--graph", "x.nonsense", "ok.py"],
        ["run", "--trace", "ok.py", "ok.py"], ["why", "x"], ["graph"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_bad_input_is_one_line_and_code_2(arguments: list[str], forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text("print('must not run')")
    done = forks.command(tmp_path, *arguments)
    assert done.status == 2
    assert len(_own(done.err).strip().splitlines()) == 1, done.err
    assert done.out == ""
    assert (tmp_path / "ok.py").read_text() == "print('must not run')"


LOOP = """
import torch, time, os, sys
x = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([x], lr=0.1)
for step in range(100000):
    opt.zero_grad()
    (x * 2).sum().backward()
    opt.step()
    if step == 50:
        print("going", flush=True)
        if "exit" in sys.argv:
            os._exit(3)
    time.sleep(0.002)
"""


@pytest.mark.parametrize("kind", ["kill", "interrupt", "_exit"])
def test_trace_survives_a_sudden_end(kind: str, tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    arguments = [*python(), "-m", "gradscope", "run", "--trace", "t.gradscope", "loop.py"]
    with subprocess.Popen(
        [*arguments, *(["exit"] if kind == "_exit" else [])],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    ) as run:  # fmt: skip
        assert run.stdout is not None
        assert run.stdout.readline() == "going\n"
        if kind != "_exit":
            time.sleep(0.6)
            assert len(gradscope.open(tmp_path / "t.gradscope").graphs) > 0  # a second reader meanwhile
            run.send_signal(signal.SIGKILL if kind == "kill" else signal.SIGINT)
        run.wait(timeout=60)
    assert run.returncode == {"kill": -signal.SIGKILL, "interrupt": -signal.SIGINT, "_exit": 3}[kind]
    trace = gradscope.open(tmp_path / "t.gradscope")
    assert trace.summary["steps"] >= 40
    assert trace.of(Backward)


SAID = "import sys\nprint(sys.argv, __name__, __package__, type(__spec__), sys.path[0], __file__, sorted(globals()))\n"


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("kind", ["-", "folder", "archive.pyz", "train.pyc"])
def test_what_python_can_run_beside_scripts(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "helper.py").write_text("HERE = 3")
    imports = "import helper\n" if kind in ("folder", "archive.pyz") else ""
    text = HEADER + imports + SAID + "print(sys.stdin.read())\n1 / 0\n"
    (folder / "__main__.py").write_text(text)
    zipapp.create_archive(folder, tmp_path / "archive.pyz")
    py_compile.compile(str(folder / "__main__.py"), cfile=str(tmp_path / "train.pyc"))
    plain = execute(tmp_path, kind, "a", stdin=text)
    watched = execute(tmp_path, "-m", "gradscope", "run", kind, "a", stdin=text)
    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout)
    assert plain.returncode == 1 and plain.stderr.splitlines(True)[-1] in watched.stderr


def test_pytest_warns_of_nothing_under_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert True\n")
    command = [
        *python(),
        "-m",
        "gradscope",
        "run",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_it.py",
    ]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "1 passed in" in ended.stdout, ended.stdout + ended.stderr


def test_what_was_seeded_before_the_program_began_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import random\nrandom.seed(5)\n")
    (tmp_path / "draws.py").write_text("import random\nprint(random.random())\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    plain, watched = (
        subprocess.run(
            [sys.executable, *how, "draws.py"], cwd=tmp_path, env=env, capture_output=True, check=True
        )
        for how in ([], ["-m", "gradscope", "run"])
    )
    assert watched.stdout == plain.stdout
