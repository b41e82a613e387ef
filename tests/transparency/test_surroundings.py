"""What is wrong around a program (its disk, its streams, its own classes) stays its own business:
it ends watched as it ends plain, and is told once what could not be noted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from forked import HOW, Forks

TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
def train():
    for _ in range(3):
        loss = net(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
    print([p.grad.tolist() for p in net.parameters()], loss.item().hex(), torch.get_rng_state().sum().item())
train()
"""
WATCHED = """
import gradscope.session
watched = gradscope.session.active()
"""
# What happens after the first steps, before `train()` comes again.
LATER: dict[str, str] = {
    "the trace is locked": WATCHED + """
import sqlite3
if watched:
    watched.writer.db.execute("PRAGMA busy_timeout=50")
    other = sqlite3.connect(watched.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
""",
    "no memory for the trace": WATCHED + """
def fail(*a):
    raise MemoryError("no more")
if watched:
    watched.writer._insert = fail
""",
    "the folder is gone": WATCHED + """
import shutil
if watched:
    shutil.rmtree(watched.path.parent)
""",
    "the trace is replaced": WATCHED + """
import os
if watched:
    os.unlink(watched.path)
    open(watched.path, "w").write("x" * 1000)
""",
    "no working directory": """
import os, tempfile
folder = tempfile.mkdtemp(); os.chdir(folder); os.rmdir(folder)
""",
    "no import path": "import sys\nsys.path.clear(); sys.meta_path.clear(); sys.path_importer_cache.clear()\n",
    "our modules are gone": """
import sys
for name in [name for name in sys.modules if name.startswith("gradscope")]:
    del sys.modules[name]
""",
    "files can't be opened": "import builtins\ndef no(*a, **k): raise ValueError('no')\nbuiltins.open = no\n",
    "warnings are errors": "import warnings\nwarnings.simplefilter('error')\n",
    "no garbage collection": "import gc\ngc.disable()\n",
    "what the collector knows": """
import gc
known = {id(thing) for thing in gc.get_objects()}
print(gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), id(nn.Linear) in known, id(vars(torch)) in known)
""",
    "profiled": """
import atexit, sys
seen = []
def profile(frame, event, arg):
    if event == "call" and frame.f_code.co_name == "train": seen.append(event)
sys.setprofile(profile)
atexit.register(lambda: print(seen))
""",
    "stderr is None": "import sys\nsys.stderr = None\n",
    "stderr is closed": "import sys\nsys.stderr.close()\n",
    "stdout is replaced": "import io, sys\nreal, sys.stdout = sys.stdout, io.StringIO()\n",
    "torch functions are replaced": """
import functools
def loudly(owner, name):
    plain = getattr(owner, name)
    @functools.wraps(plain)
    def call(*args, **kwargs):
        print(name)
        return plain(*args, **kwargs) * 2 if name != "backward" else plain(*args, **kwargs)
    setattr(owner, name, call)
for owner, name in ((torch.Tensor, "backward"), (torch.Tensor, "pow"), (nn.functional, "relu")):
    loudly(owner, name)
""",
    "classes that refuse": """
def no(*a, **k): raise ValueError("no")
class T(torch.Tensor):
    __repr__ = __len__ = __bool__ = __eq__ = no
class Refusing(nn.Module):
    __repr__ = __len__ = __bool__ = named_modules = modules = parameters = named_parameters = no
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
    def __getattr__(self, name):
        if name in ("inner", "_parameters"): return super().__getattr__(name)
        raise ValueError("no " + name)
    def forward(self, x): return self.inner(x)
class Function:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): raise ValueError("no " + func.__name__)
for call in (lambda: torch.sin(Function()), lambda: Refusing()(torch.ones(2, 5))):
    try: call()
    except Exception as error: print(type(error), error)
x = torch.ones(3).as_subclass(T).requires_grad_()
(x * 2).sum().backward()
m = Refusing()
m(torch.ones(2, 3)).sum().backward()
print(x.grad.tolist(), m.inner.weight.grad.tolist())
""",
    "an exception without a text": """
class E(Exception):
    def __str__(self): raise ValueError("no text")
train()
raise E("x")
""",
    "a hook for exceptions that raises": "import sys\nsys.excepthook = lambda *a: 1 / 0\ntrain()\nraise ValueError\n",
}  # fmt: skip
TOLD = {
    "the trace is locked": "database is locked",
    "no memory for the trace": "MemoryError: no more",
}
BEFORE: dict[str, dict[str, Any]] = {
    "a disk that is full at once": {"files": 20_000},
    "a disk that fills": {"files": 70_000},
    "a file in place of the folder": {"before": "open('.gradscope', 'w').close()"},
    "stderr is closed at the start": {"stderr": "closed"},
    "stderr is a broken pipe": {"stderr": "broken"},
    "a rule that raises": {
        "before": "import gradscope.rules as r, dataclasses\n"
        "known = r.all_rules()\n"
        "known['GS201'] = dataclasses.replace(known['GS201'], check=lambda trace: [1 / 0])"
    },
    "a report that raises": {"before": "import gradscope.render.text as t\nt.summary = lambda *a: 1 / 0"},
}
TOLD_BEFORE = {
    "a disk that is full at once": "ran unwatched",
    "a disk that fills": "disk I/O error",
    "a rule that raises": "rule GS201 failed",
    "a report that raises": "division by zero",
}
QUICK = {"the trace is locked", "torch functions are replaced", "classes that refuse"}
QUICK |= {"a disk that is full at once", "stderr is a broken pipe", "a rule that raises"}


def cases(names: Any) -> list[Any]:
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in names]


def compare(forks: Forks, code: str, told: str | None, folder: Path, **options: Any) -> None:
    script = folder / "program.py"
    script.write_text(code)
    plain = forks.run("plain", script, **{k: v for k, v in options.items() if k == "stderr"})
    for how in HOW[1:]:
        ended = forks.run(how, script, **options)
        assert (how, ended.out, ended.status) == (how, plain.out, plain.status), ended.err
        if told is not None and (how == "run" or ("rule" not in told and "division" not in told)):
            lines = [line for line in ended.err.splitlines() if told in line]
            assert len(lines) == 1, (how, ended.err)


@pytest.mark.drawn(0.3)
@pytest.mark.parametrize("name", cases(LATER))
def test_what_happens_later_is_the_programs_own(name: str, forks: Forks, tmp_path: Path) -> None:
    compare(forks, TRAIN + LATER[name] + "train()\n", TOLD.get(name), tmp_path)


@pytest.mark.drawn(0.3)
@pytest.mark.parametrize("name", cases(BEFORE))
def test_what_is_wrong_from_the_start_stops_nothing(name: str, forks: Forks, tmp_path: Path) -> None:
    compare(forks, TRAIN + "train()\n" * 12, TOLD_BEFORE.get(name), tmp_path, **BEFORE[name])


@pytest.mark.drawn(0.3)
@pytest.mark.parametrize(
    "place",
    [
        "hooks.probes.backward.Backward._before",
        "hooks.probes.backward.Backward._after",
        "hooks.probes.modules.Modules._begin",
        "hooks.probes.optimizers.Optimizers._records",
    ],
)
def test_ctrl_c_inside_a_probe_reaches_the_program(place: str, forks: Forks, tmp_path: Path) -> None:
    """The program hears of it, and what it does afterwards is recorded as before."""
    module, cls, name = place.rsplit(".", 2)
    script = tmp_path / "program.py"
    script.write_text(f"""{TRAIN}
from gradscope.{module} import {cls} as probe
from gradscope.session import active
recorder = active().recorder
plain = probe.{name}
def interrupt(*args, **kwargs):
    probe.{name} = plain
    raise KeyboardInterrupt
recorder.services.wake()
probe.{name} = interrupt
try:
    train()
except KeyboardInterrupt:
    print("heard")
print(recorder.paused, recorder.depth, recorder.modules.current)
before = recorder.passes
train()
print(recorder.passes - before)
""")
    ended = forks.run("watch", script, args=["--full"])
    lines = ended.out.splitlines()
    assert (ended.status, lines[1:3], lines[-1]) == (0, ["heard", "0 0 -1"], "3"), ended
