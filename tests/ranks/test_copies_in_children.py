"""A forked child trains a copy of its parent's model: told where the parent then works with its own, unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
from two_ranks import execute, gradscope, program, python

PROGRAM = """
import multiprocessing

def train(model, queue):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        x = torch.randn(16, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x[:, :2]).backward()
        optimizer.step()
    queue.put({name: t.tolist() for name, t in model.state_dict().items()})

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Linear(6, 2)
    if "shared" in sys.argv:
        model.share_memory()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=train, args=(model, queue))
    child.start()
    state = queue.get()
    child.join()
    if "loaded" in sys.argv:
        model.load_state_dict({name: torch.tensor(rows) for name, rows in state.items()})
    if "another" in sys.argv:
        model = nn.Linear(3, 2)
    with torch.no_grad():
        print(model(torch.ones(1, model.in_features)).tolist(), child.exitcode)
"""


def run(folder: Path, kind: str) -> list[tuple[str, str, list[int]]]:
    (folder / "train.py").write_text(program(PROGRAM), encoding="utf-8")
    plain = execute(folder, [*python(), "train.py", kind])
    ran = execute(folder, [*gradscope(), "run", "train.py", kind])
    assert (ran.status, ran.out) == (0, plain.out), ran.err
    if kind == "wrong":
        assert "child.start()" in ran.told and "share_memory()" in ran.told
    return ran.findings()


def test_the_parent_works_with_what_no_child_has_changed(tmp_path: Path) -> None:
    assert run(tmp_path, "wrong") == [("GS801", "warning", [])]


@pytest.mark.parametrize("kind", ["shared", "loaded", "another"])
def test_what_comes_back_or_is_not_asked_is_right(kind: str, tmp_path: Path) -> None:
    assert run(tmp_path, kind) == []
