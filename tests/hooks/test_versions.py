"""Other set-ups than the usual: an old torch, none, a broken one, no terminal, no layout engine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn.utils import clip_grad_norm_
from torch.utils.checkpoint import checkpoint

import gradscope
from gradscope.events import Clip
from gradscope.hooks._torch import TensorRef

ROOT = Path(gradscope.__file__).parents[1]
PROGRAM = "print('ran')\n"


def with_torch(folder: Path, text: str, *args: str) -> subprocess.CompletedProcess[str]:
    """gradscope's command, where `import torch` finds a package with this text."""
    package = folder / "elsewhere" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(text)
    (folder / "program.py").write_text(PROGRAM)
    path = os.pathsep.join([str(package.parent), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "gradscope", *args],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


NO_TORCH = "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
NO_LIBRARY = "raise OSError('libcudart.so.12: cannot open shared object file')\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('__version__ = "1.13.1"\n', "torch 1.13.1 is too old: gradscope needs torch 2.2 or newer"),
        ('__version__ = "2.1.2+cpu"\n', "torch 2.1.2+cpu is too old: gradscope needs torch 2.2 or newer"),
        ("", "torch of no version is too old: gradscope needs torch 2.2 or newer"),
        (NO_TORCH, "torch is not installed here: `run` and `fix` need it (the other commands do not)"),
        (NO_LIBRARY, "torch cannot be used here: libcudart.so.12: cannot open shared object file"),
        ("import torch._missing\n", "torch cannot be used here: No module named 'torch._missing'"),
    ],
)
def test_a_torch_that_cannot_be_watched_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    done = with_torch(tmp_path, text, "run", "program.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gradscope: {said}\n"


@pytest.mark.nightly
def test_fix_without_torch_says_so(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\no = torch.optim.SGD([w], lr=0.1)\n"
        "for _ in range(3):\n    (w * w).sum().backward()\n    o.step()\n"
    )
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "gradscope", "run", "train.py"]
    subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, timeout=120, check=True)
    done = with_torch(tmp_path, NO_TORCH, "fix")
    assert done.returncode == 2
    assert done.stderr.splitlines()[1:] == ["gradscope: torch is not installed here: `fix` needs it"]


@pytest.mark.parametrize(
    ("text", "call", "said"),
    [
        (
            '__version__ = "1.13.1"\n',
            "watch().start()",
            "torch 1.13.1 is too old: gradscope needs torch 2.2 or newer\n",
        ),
        (NO_TORCH, "watch().start()", "torch is not installed here: `gradscope.watch()` needs it\n"),
        (NO_TORCH, "why(1)", "torch is not installed here: `gradscope.why()` needs it\n"),
    ],
)
def test_watch_says_it_too(text: str, call: str, said: str, tmp_path: Path) -> None:
    with_torch(tmp_path, text, "doctor")
    (tmp_path / "program.py").write_text(
        f"import gradscope\ntry: gradscope.{call}\nexcept gradscope.GradscopeError as error: print(error)\n"
    )
    path = os.pathsep.join([str(tmp_path / "elsewhere"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout == said, done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('__version__ = "1.13.1"\n', "torch 1.13.1 is too old"),
        (NO_TORCH, "not installed: `gradscope run`, `gradscope fix` and `gradscope.watch()` need it"),
        (NO_LIBRARY, "torch does not work here: OSError: libcudart.so.12"),
    ],
)
def test_doctor_without_a_torch_to_watch(text: str, said: str, tmp_path: Path) -> None:
    done = with_torch(tmp_path, text, "doctor")
    told = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert said in told and "off: capture" in told and gradscope.__version__ in told
    assert "graphviz" in told and "stdin is not one" in told


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize(
    ("missing", "command", "said"),
    [
        ("rich", "doctor", "`rich` is missing here, which this command needs: `pip install gradscope-torch`"),
        ("networkx", "graph -o graph.json", "`networkx` is missing here"),
        (
            "graphviz",
            "doctor",
            "the layout engine does not work here: ModuleNotFoundError: No module named 'graphviz'",
        ),
    ],
)
def test_a_library_that_is_missing(missing: str, command: str, said: str, tmp_path: Path) -> None:
    (tmp_path / missing).mkdir()
    (tmp_path / missing / "__init__.py").write_text(
        f"raise ModuleNotFoundError(\"No module named '{missing}'\", name='{missing}')\n"
    )
    with gradscope.watch(path=tmp_path / "kept.gradscope"):
        pass
    given = [*command.split(), *(["kept.gradscope"] if command != "doctor" else [])]
    done = subprocess.run(
        [sys.executable, "-m", "gradscope", *given], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert said in " ".join((done.stdout + done.stderr).split()) and "Traceback" not in done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("text", "torch_says", "numpy_says"),
    [
        pytest.param(
            "raise RuntimeError('another ABI')\n", "does not work", "does not work here: RuntimeError: another ABI",
            marks=pytest.mark.nightly,
        ),
        ("raise ImportError('read this\\n\\nOriginal error: no umath')\n", "does not work", "Original error: no umath"),
        ("raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n", torch.__version__, "not installed"),
    ],
)  # fmt: skip
def test_a_broken_numpy_is_told_by_name(text: str, torch_says: str, numpy_says: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "numpy").mkdir(parents=True)
    (tmp_path / "elsewhere" / "numpy" / "__init__.py").write_text(text)
    (tmp_path / "program.py").write_text(PROGRAM)
    path = os.pathsep.join([str(tmp_path / "elsewhere"), str(ROOT)])
    doctor, run = (
        subprocess.run(
            [sys.executable, "-m", "gradscope", *args], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )
        for args in (["doctor"], ["run", "program.py"])
    )  # fmt: skip
    told = " ".join(doctor.stdout.split())
    assert doctor.returncode == 0
    assert torch_says in told.partition(" torch: ")[2] and numpy_says in told.partition(" numpy: ")[2]
    if torch_says == "does not work":
        assert run.returncode == 2
        assert run.stderr.startswith(
            "gradscope: torch cannot be used here: numpy, which it loads, does not work: "
        )
    else:
        assert (run.returncode, run.stdout) == (0, "ran\n")


def test_run_with_a_view_and_no_terminal_leaves_the_traces_as_they_are(tmp_path: Path) -> None:
    with gradscope.watch(path=tmp_path / "kept.gradscope"):
        pass
    (tmp_path / "program.py").write_text(PROGRAM)
    for given in ([], ["--trace", "kept.gradscope"]):
        done = subprocess.run(
            [sys.executable, "-m", "gradscope", "run", "--view", *given, "program.py"], cwd=tmp_path, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode == 2 and "needs a terminal" in done.stderr
    assert gradscope.open(tmp_path / "kept.gradscope").findings == []
    assert not list(tmp_path.glob(".gradscope/*"))


@pytest.mark.nightly
def test_doctor_where_the_folder_is_gone_and_the_engine_fails(tmp_path: Path) -> None:
    (tmp_path / "dot").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "dot").chmod(0o755)
    (tmp_path / "gone").mkdir()
    shell = f"cd gone && rmdir ../gone && exec {sys.executable} -m gradscope doctor"
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["/bin/sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, env=surroundings,
                          timeout=120, check=False)  # fmt: skip
    told = "".join(done.stdout.split())  # a long path is broken anywhere
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        f"thelayoutengine{tmp_path / 'dot'}failed" in told
        and "gone,wherethisruns,isgone" in told
        and "asmallstepwaswatched" in told
    )


def test_doctor_tells_of_this_torch(tmp_path: Path) -> None:
    """Also with no layout engine, no size of a window, no folder to write in, and stdout closed."""
    os.chmod(tmp_path, 0o755)
    surroundings = {"PATH": "", "TERM": "dumb", "PYTHONPATH": str(ROOT), "LC_ALL": "C"}
    command = [sys.executable, "-m", "gradscope", "doctor"]
    done = subprocess.run(
        command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=120, check=False
    )
    told = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert torch.__version__ in told and sys.version.split()[0] in told and "TERM=dumb" in told
    assert "a small step was watched" in told and "fault" not in told
    shell = f"exec {' '.join(command)} >&-"
    closed = subprocess.run(["/bin/sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, env=surroundings,
                            timeout=120, check=False)  # fmt: skip
    assert (closed.returncode, closed.stderr) == (0, "")


def test_a_clip_is_seen_by_the_name_that_it_was_imported_by_and_is_itself_again() -> None:
    code = clip_grad_norm_.__code__
    p = torch.ones(3, requires_grad=True)
    with gradscope.watch() as scope:
        clip_grad_norm_((q for q in [p]), 1.0)
        (p * p).sum().backward()
        clip_grad_norm_(iter([p]), max_norm=1.0)
        norm = clip_grad_norm_(p, 1.0, 2.0)
        torch.optim.SGD([p], lr=0.1).step()
    assert clip_grad_norm_.__code__ is code and abs(norm.item() - 1) < 1e-4
    assert not scope.faults
    given = [(e.data["given"], e.data["limit"], list(e.data["states"])) for e in scope.trace.of(Clip)]
    assert given == [(1, 1.0, ["none"]), (1, 1.0, ["fresh"]), (1, 1.0, ["fresh"])]


def test_hooks_on_what_is_saved_run_as_often_as_without_a_watch() -> None:
    def program() -> list[str]:
        """Checkpoints and hooks of the program's own, around a stretch, in another, and before."""
        calls: list[str] = []

        def pack(t: torch.Tensor) -> torch.Tensor:
            calls.append("pack")
            return t

        def unpack(t: torch.Tensor) -> torch.Tensor:
            calls.append("unpack")
            return t

        x = torch.randn(3, requires_grad=True)
        for _ in range(3):
            y = x * x
            with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
                y = y * y.exp()
                with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
                    y = y * y
            y = checkpoint(lambda t: (calls.append("block"), t * t.tanh())[1], y, use_reentrant=False) * x
            y.sum().backward()
            calls.append(str(x.grad))
        return calls

    torch.manual_seed(0)
    plain = program()
    torch.manual_seed(0)
    with gradscope.watch(sample=False) as scope:
        watched = program()
    assert watched == plain and not scope.faults


def test_a_tensor_that_its_graph_alone_held_lives_while_it_is_looked_at() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    reference = TensorRef(y)
    del y
    found = reference()
    del z
    assert found is None or found.tolist() == [2, 2, 2]


def test_tensors_without_dimensions_are_put_together_as_ever() -> None:
    parts = [torch.tensor(1.0), torch.tensor(2.0)]
    with gradscope.watch():
        assert torch.tensor(parts).tolist() == [1, 2]
    assert torch.tensor(parts).tolist() == [1, 2]
