"""The documentation's programs run, their commands print what the pages say, and the site is built without a fault."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import doc_programs as programs  # noqa: E402
from warm import python  # noqa: E402

PAGES = programs.pages()
NUMBER = re.compile(r"\d+\.\d+(?:e-?\d+)?|\d+(?= (?:m?s|steps|minutes)\b)|(?<=×)\d+")
STUBS = {  # what the recipes write to, as far as they do
    "wandb.py": """
        told = []
        class Run:
            def alert(self, title, text): told.append((title, text)); print("alert", title, text)
        def init(project): return Run()
    """,
    "mlflow.py": """
        from contextlib import nullcontext as start_run
        def set_tag(key, value): print("tag", key, value)
    """,
    "boards.py": """
        import sys, types
        board = types.ModuleType("torch.utils.tensorboard")
        class SummaryWriter:
            def add_text(self, tag, text, step): print("text", tag, text, step)
        board.SummaryWriter = SummaryWriter
        sys.modules["torch.utils.tensorboard"] = board
    """,
}  # fmt: skip

TWO_CUTS = """
    import torch
    from torch import nn


    def train():
        torch.manual_seed(0)
        left, right, head = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(8, 1)
        optimizer = torch.optim.SGD([*left.parameters(), *right.parameters(), *head.parameters()], lr=0.01)
        for step in range(60):
            x = torch.randn(16, 4)
            a, b = left(x).relu(), right(x).relu()
            if step >= 20:
                a = a.detach()
                b = b.detach()
            loss = (head(a + b) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""  # two findings of GS301


def name(page: Path) -> str:
    return page.relative_to(ROOT / "docs").as_posix()


def alike(text: str) -> str:
    """Without the figures that differ between machines and versions of torch (also how often sampling looked), and the
    ends of lines that they move."""
    return " ".join(NUMBER.sub("#", text).split())


@pytest.fixture(autouse=True, scope="module")
def _shown_commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the pages call `python` and `gradscope` has imported torch already."""
    folder, plain = tmp_path_factory.mktemp("bin"), programs.environment
    for command, more in (("python", []), ("gradscope", ["-m", "gradscope"])):
        (folder / command).write_text(f'#!/bin/sh\nexec {shlex.join([*python(), *more])} "$@"\n')
        (folder / command).chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        path = f"{folder}{os.pathsep}{plain()['PATH']}"
        patch.setattr(programs, "environment", lambda: {**plain(), "PATH": path})
        yield


@pytest.mark.drawn(0.15)
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_a_page_shows_is_what_is_printed(page: Path) -> None:
    pictures: dict[Path, str] = {}
    written = programs.with_outputs(page, pictures)
    assert alike(written) == alike(page.read_text(encoding="utf-8")), (
        "python tools/doc_programs.py writes it anew"
    )
    for path, drawn in pictures.items():
        assert texts(drawn) == texts(path.read_text(encoding="utf-8"))


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@pytest.mark.drawn(0.5)
@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if programs.programs(page.read_text())], ids=name)
def test_programs_run(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for title, body in [*programs.files(text), *STUBS.items()]:
        (tmp_path / title).write_text(textwrap.dedent(body).lstrip())
    for body in programs.programs(text):
        (tmp_path / "shown.py").write_text(body)
        environment = programs.environment()
        environment["PYTHONPATH"] = f"{tmp_path}:{environment['PYTHONPATH']}"
        ran = subprocess.run(
            [*python(), "-c", "import boards, runpy; runpy.run_path('shown.py', run_name='__main__')"],
            cwd=tmp_path,
            env=environment,
            text=True,
            capture_output=True,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stderr
        assert "GS" in ran.stdout + ran.stderr, "each of them tells a finding"


def test_recipes_keep_two_findings_of_one_rule(tmp_path: Path) -> None:
    """MLflow's tags overwrite each other, and wandb sends one alert of a title a minute."""
    text = (ROOT / "docs/guides/trackers.md").read_text(encoding="utf-8")
    for title, body in [*STUBS.items(), ("training.py", TWO_CUTS)]:
        (tmp_path / title).write_text(textwrap.dedent(body).lstrip())
    told = [body for body in programs.programs(text) if "import wandb" in body or "import mlflow" in body]
    assert len(told) == 2
    for body in told:
        (tmp_path / "shown.py").write_text(body)
        ran = subprocess.run(
            [*python(), "shown.py"],
            cwd=tmp_path,
            env=programs.environment(),
            text=True,
            capture_output=True,
            timeout=300,
        )
        names = re.findall(r"^(?:alert|tag) (GS301 line \d+) ", ran.stdout, re.M)
        assert len(names) == len(set(names)) == 2, ran.stdout + ran.stderr


def test_the_tests_that_are_shown_pass(tmp_path: Path) -> None:
    shown = dict(programs.files((ROOT / "docs/commands.md").read_text(encoding="utf-8")))
    (tmp_path / "test_model.py").write_text(shown["test_model.py"])
    installed = any(entry.name == "gradscope" for entry in metadata.entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "gradscope.pytest_plugin"]
    ran = subprocess.run(
        [*python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, "test_model.py"],
        cwd=tmp_path, env=programs.environment(), text=True, capture_output=True, timeout=300,
    )  # fmt: skip
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr


def test_the_cells_of_the_notebooks_page_run() -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    text = (ROOT / "docs/guides/notebooks.md").read_text(encoding="utf-8")
    cells = re.findall(r"```python title=\"notebook cell\"\n(.*?)```", text, re.DOTALL)
    prelude = """
import torch, gradscope
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss_fn = torch.nn.functional.mse_loss
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(3)]
"""
    asked = re.findall(r"^\| `(scope[^`]*)`", text, re.MULTILINE)
    asked += ["gradscope.show(loss)", "gradscope.table(net)"]
    asked = [line.replace("0.weight", "net.weight") for line in asked if "save" not in line]
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in [prelude, *cells, *asked]]
    )
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    assert "GS201" in str(book.cells[2].outputs)
    assert all(cell.outputs for cell in book.cells[3:])


@pytest.mark.nightly
@pytest.mark.skipif(util.find_spec("material") is None, reason="the extra `docs` is not installed")
def test_the_site_is_built_and_no_link_leads_nowhere(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, env=programs.environment() | {"NO_MKDOCS_2_WARNING": "1"},
        text=True, capture_output=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    page = (tmp_path / "rules" / "GS201.html").read_text(encoding="utf-8")
    assert "stale-gradient-accumulated" in page and "Not reported" in page
    assert "on_finding" in (tmp_path / "api.html").read_text(encoding="utf-8")
