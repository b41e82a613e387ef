"""Processes, signals, exits and ways to start a program: under `gradscope run` as under Python."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from corners import run_both

import gradscope
from gradscope.events import Backward

HEADER = """
import atexit, multiprocessing, os, signal, sys, threading, time
import torch
from torch import nn

torch.manual_seed(0)


def train(steps=3, seed=0):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = net(torch.randn(5, 3)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
    return losses


def child(seed, results):
    results.put((seed, train(seed=seed)))

"""

PROGRAMS = {
    "children": """
if __name__ == "__main__":
    print(train())
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        results = context.Queue()
        processes = [context.Process(target=child, args=(seed, results)) for seed in (1,)]
        for process in processes:
            process.start()
        print(sorted(results.get() for _ in processes))
        for process in processes:
            process.join()
            print(process.exitcode)
    print(train())
""",
    "pools": """
from concurrent.futures import ProcessPoolExecutor

if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(pool.map(train, [1, 2]))
    with ProcessPoolExecutor(1) as pool:
        print(list(pool.map(train, [1, 2])))
""",
    "torch_multiprocessing": """
import torch.multiprocessing as mp


def work(rank, shared):
    shared[rank] = float(rank + 1)
    train(seed=rank)


if __name__ == "__main__":
    shared = torch.zeros(2).share_memory_()
    mp.spawn(work, args=(shared,), nprocs=1)
    net = nn.Linear(3, 1).share_memory()
    net(torch.ones(2, 3)).sum().backward()
    print(shared, net.weight.grad)
""",
    "workers": """
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, k):
        w = torch.full((3,), float(k), requires_grad=True)
        (w * w).sum().backward()
        return w.grad + torch.rand(3)


def refuse(grad):
    raise ValueError(grad.tolist())


class Refused(Rows):
    def __getitem__(self, k):
        w = torch.full((3,), float(k), requires_grad=True)
        w.register_hook(refuse)
        (w * w).sum().backward()


class NoOptimizer(Rows):
    def __getitem__(self, k):
        torch.optim.SGD([], lr=0.1)


class Stream(IterableDataset):
    def __iter__(self):
        yield from (torch.full((3,), float(k)) for k in range(4))


if __name__ == "__main__":
    for method in ("fork", "spawn"):
        data = DataLoader(Rows(), batch_size=4, num_workers=1, multiprocessing_context=method, shuffle=True)
        net = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(1):
            for batch in data:
                optimizer.zero_grad()
                loss = net(batch).square().mean()
                loss.backward()
                optimizer.step()
                print(loss.item().hex())
    print([b.tolist() for b in DataLoader(Stream(), batch_size=2, num_workers=1)])
    for method in ("fork", "spawn"):
        for rows in (Refused(), NoOptimizer()):
            try:
                list(DataLoader(rows, num_workers=1, multiprocessing_context=method))
            except Exception as error:
                print(type(error), error)
""",
    "fork": """
print(train(), flush=True)
pid = os.fork()
if pid == 0:
    print("child", train(seed=1), flush=True)
    os._exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
pid = os.fork()
if pid == 0:
    print("child", train(seed=2), flush=True)
    sys.exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(train())
""",
    "daemon_thread": """
def forever():
    while True:
        train()

threading.Thread(target=forever, daemon=True).start()
time.sleep(0.3)
print("over")
""",
    "lasting_thread": """
def later():
    time.sleep(0.3)
    print(train(), flush=True)

threading.Thread(target=later).start()
print("main is over", flush=True)
""",
    "at_exit": """
atexit.register(lambda: print("last", train()))
class Gone:
    def __del__(self):
        print("deleted")
kept = Gone()
print(train())
sys.exit(3)
""",
    "exit_in_training": """
class Stop(nn.Module):
    def forward(self, x):
        raise SystemExit(6)
w = torch.ones(2, requires_grad=True)
w.register_hook(lambda g: print("hook"))
(w * 2).sum().backward()
nn.Sequential(nn.Linear(2, 2), Stop())(torch.ones(1, 2))
""",
    "exit_in_a_backward": """
def hook(grad):
    sys.exit("stopped in a hook")
w = torch.ones(2, requires_grad=True)
w.register_hook(hook)
(w * 2).sum().backward()
""",
    "terminated_with_a_handler": """
def handler(number, frame):
    print("got", number, train())
    sys.exit(9)
signal.signal(signal.SIGTERM, handler)
print(train())
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(5)
""",
    "interrupted_and_caught": """
try:
    while True:
        train()
        signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted", train())
""",
    "alarm_in_the_middle": """
class Late(Exception):
    pass
def handler(number, frame):
    raise Late
signal.signal(signal.SIGALRM, handler)
train(1)  # what torch imports late is imported
for _ in range(5):
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        while True:
            train(1)
    except Late:  # in the middle of `no_grad.__enter__` it leaves the mode off, in plain torch too
        torch.set_grad_enabled(True)
signal.setitimer(signal.ITIMER_REAL, 0)
print(train())
""",
    "exec_and_eval": """
code = "w = torch.ones(2, requires_grad=True)\\n(w * 3).sum().backward()\\nprint(w.grad)"
exec(code)
exec(compile(code, "<string>", "exec"), {"torch": torch})
exec(compile(code, "no/such/file.py", "exec"))
print(eval("torch.ones(2, requires_grad=True).mul(2).sum().grad_fn is None"))
""",
    "looks_at_itself": """
import argparse, inspect, pickle
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=1.0)
parser.add_argument("rest", nargs="*")
print(parser.parse_args(), parser.prog)
print(sys.argv, __file__, __name__, __spec__, __builtins__.__name__, sys.path[0])
print(inspect.getsource(train)[:20], sys.modules["__main__"].train is train)
print(type(pickle.loads(pickle.dumps(train))).__name__, sys.gettrace(), sys.getprofile())
print([name for name in dir() if not name.startswith("_")])
print(inspect.signature(torch.load), inspect.signature(torch.nn.Module.load_state_dict), torch.load.__module__)
print("gradscope" in " ".join(map(str, threading.enumerate())), len(threading.enumerate()))
""",
}  # fmt: skip

EXIT_CODES = {"at_exit": 3, "exit_in_training": 6, "exit_in_a_backward": 1, "terminated_with_a_handler": 9}


ARGUMENTS = {"looks_at_itself": ["--rate", "0.5", "a", "b"]}
# Their children import torch anew.
MARKS = {
    "children": pytest.mark.slow,
    "torch_multiprocessing": pytest.mark.nightly,
    "workers": pytest.mark.nightly,
}


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in PROGRAMS])
def test_same_run(name: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEADER + PROGRAMS[name])
    # A daemon thread may fall into the end of its interpreter, which takes longer the more it has imported.
    started = [sys.executable] if name == "daemon_thread" else []
    code = EXIT_CODES.get(name, 0)
    run_both(tmp_path, "program.py", *ARGUMENTS.get(name, []), returncode=code, started=started)
    runs = list((tmp_path / ".gradscope").glob("program-*"))
    assert len(runs) == 1  # a trace, or the folder of those of children that train
    traces = [runs[0] / "parent.gradscope" if runs[0].is_dir() else runs[0]]
    if name == "children":
        assert gradscope.open(traces[0]).summary["steps"] == 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_killed_by_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        HEADER + f"print(train(), flush=True)\nsignal.raise_signal({int(number)})\n"
    )
    run_both(tmp_path, "program.py", returncode=-number)
    trace = gradscope.open(next((tmp_path / ".gradscope").glob("*.gradscope")))
    assert trace.of(Backward)


def test_packages_and_relative_imports(tmp_path: Path) -> None:
    package = tmp_path / "project" / "training"
    package.mkdir(parents=True)
    (tmp_path / "project" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("RATE = 0.1\n")
    (package / "tools.py").write_text(HEADER)
    (package / "main.py").write_text(
        "import sys\nfrom . import RATE\nfrom .tools import train\nfrom .. import training\n"
        "if __name__ == '__main__':\n"
        "    print(RATE, train(), training.__name__, sys.argv, __package__, __spec__.name, __file__)\n"
    )
    run_both(tmp_path, "-m", "project.training.main", "--epochs", "3")
    trace = gradscope.open(next((tmp_path / ".gradscope").glob("*.gradscope")))
    assert {Path(op.site.user.path).name for op in trace.ops} == {"tools.py"}


def test_a_folder_with_a_main(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "__main__.py").write_text(HEADER + "import extra, sys\nprint(extra.X, train(), sys.path[0])\n")
    (folder / "extra.py").write_text("X = 5\n")
    run_both(tmp_path, "app", "x")
