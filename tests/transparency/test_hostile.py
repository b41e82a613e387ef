"""Programs that break what lies around gradscope, or spy on it: they end as they would without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked import HOW, Forks

BASE = """
import atexit, ctypes, gc, os, resource, signal, sys, threading, time, types, weakref
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
def train(n=3):
    for _ in range(n):
        optimizer.zero_grad()
        loss = net(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
    print([p.grad.tolist() for p in net.parameters()], loss.item().hex(), flush=True)
def start_again():
    global net, optimizer
    torch.set_grad_enabled(True); torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def tell(f, *args):
    try: result = f(*args)
    except BaseException as error: print(type(error).__name__, error)
    else: print(result if not isinstance(result, torch.Tensor) else (result.tolist(), result.requires_grad))
"""

PROGRAMS: dict[str, str] = {
    # The trace's descriptors are closed, and their numbers given to files of the program's.
    "descriptors are closed and used again": """
train()
os.closerange(3, 100)
kept = [os.open(f"mine{i}", os.O_RDWR | os.O_CREAT) for i in range(12)]
train(30)
time.sleep(1.1)
train(30)
print([os.fstat(k).st_size for k in kept])
atexit.register(lambda: print([os.path.getsize(f"mine{i}") for i in range(12)]))
""",
    # `signal.getsignal` and `signal.signal` ask the handler that they give back for its repr, and compare it.
    "handlers that are felt when they are looked at": """
class Run:
    def __repr__(self): print("asked"); return "a run"
    def __eq__(self, other): print("compared"); return False
    def answer(self, number, frame): print("answered", number)
    def __call__(self, number, frame): print("called", number)
    __hash__ = None
run = Run()
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGXFSZ):
    signal.signal(number, run.answer)
train()
os.kill(os.getpid(), signal.SIGTERM)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: None)
    signal.signal(number, run)
train(30)
os.kill(os.getpid(), signal.SIGTERM)
""",
    # As a daemon does: the child must not write to what the numbers stand for now.
    "a child closes descriptors and ends by itself": """
child = os.fork()
if not child:
    os.closerange(3, 100)
    kept = [open(f"mine{i}", "w+b") for i in range(12)]
    sys.stdout = kept[0]
    (torch.ones(2, requires_grad=True) * 2).sum().backward()
    gc.collect()
    sys.exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), [os.path.getsize(f"mine{i}") for i in range(12)])
train()
""",
    # A file of ours that grows too large ends nobody, and calls no handler of the program's.
    "a limit of file sizes that kills": """
train()
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, 70_000))
for i in range(60):
    exec(compile("\\n" * i + "train(1)", f"f{i}.py", "exec"))
""",
    "a limit of file sizes that is handled": """
train()
calls = []
signal.signal(signal.SIGXFSZ, lambda *args: calls.append(args[0]))
resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, 70_000))
for i in range(60):
    exec(compile("\\n" * i + "train(1)", f"f{i}.py", "exec"))
try:
    open("mine", "wb", 0).write(b"1" * 70_000 + b"2"), open("mine", "ab", 0).write(b"3")
except OSError as error:
    print(error)
print(len(calls))
""",
    "no descriptors are left": """
train()
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")),) * 2)
tell(open, "x")
train(30)
raise ValueError("end")
""",
    "no memory is left": """
train()
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + 30_000_000,) * 2)
hold = []
for size in (100_000, 1000):
    try:
        while True:
            hold.append(bytearray(size))
    except MemoryError:
        pass
shown, sys.stdout = sys.stdout, None
try:
    train()
except Exception:
    pass
hold.clear()
sys.stdout = shown
start_again()
train()
""",
    # Training within a signal handler, at any point of a probe.
    "a handler that trains": """
@torch.enable_grad()
def handler(*args):
    hits.append(1)
    (w * 2).sum().backward()
    net(torch.ones(2, 3)).sum().backward()
hits = []
w = torch.ones(2, requires_grad=True)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
while len(hits) < 700:
    optimizer.zero_grad()
    loss = net(torch.randn(8, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()
signal.setitimer(signal.ITIMER_REAL, 0)
print(w.grad.tolist() == [2.0 * len(hits)] * 2)
start_again()
train()
""",
    # Another thread sends an exception; it must arrive as often as it is sent, wherever that is. It is
    # asked for in the loop, so that none comes outside; and anew where one was lost in a destructor.
    "exceptions sent by another thread": """
class Stop(Exception): pass
def send():
    while not over:
        time.sleep(0.004)
        if asked:
            asked.clear()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(here), ctypes.py_object(Stop))
here, asked, over, heard = threading.get_ident(), [], [], 0
thread = threading.Thread(target=send, daemon=True)
thread.start()
while heard < 300:
    try:
        torch.set_grad_enabled(True)  # the last one may have come in the middle of `no_grad`
        asked.append(1)
        for count in range(1_000_000):
            if count % 1000 == 999: asked.append(1); torch.set_grad_enabled(True)
            optimizer.zero_grad()
            loss = net(torch.randn(8, 3)).pow(2).mean()
            if loss.requires_grad: loss.backward()
            optimizer.step()
    except Stop:
        heard += 1
over.append(1)
thread.join()
start_again()
train()
""",
    # It ends the process, but not before the report.
    "an alarm that is left behind": """
start_again()
train()
atexit.register(time.sleep, 60)
signal.setitimer(signal.ITIMER_REAL, 0.5)
""",
    # A module that notes what it is asked.
    "a module that is spied upon": """
def spied(name):
    real = getattr(nn.Module, name)
    def method(self, *args, **kwargs):
        print(name)
        return real(self, *args, **kwargs)
    return method
class Spy(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
    def __getattribute__(self, name):
        if name.startswith("_") and name not in ("__dict__", "__class__"): print(name)
        return super().__getattribute__(name)
    def __len__(self): print("len"); return 0
    def __bool__(self): print("bool"); return False
    def __hash__(self): print("hash"); return 7
    def forward(self, x): return self.inner(x)
for name in ("modules", "named_modules", "parameters", "named_parameters", "buffers", "named_buffers", "children",
             "named_children", "state_dict", "extra_repr", "_get_name", "__repr__"):
    setattr(Spy, name, spied(name))
spy = Spy()
for _ in range(3):
    spy(torch.ones(2, 3)).sum().backward()
spy.eval()
with torch.no_grad():
    spy(torch.ones(2, 3))
""",
    "modules that lack what torch gives them": """
class Bare(nn.Module):
    def __init__(self): pass
    def forward(self, x): return x * 2
class Lost(nn.Module):
    def forward(self, x):
        self.__dict__.clear()
        return x * 3
x = torch.ones(2, requires_grad=True)
for cls in (Bare, Lost):
    module = cls()
    for call in (lambda: module(x), module.eval, lambda: module(x), lambda: list(module.parameters())):
        tell(call)
""",
    "a profile": """
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU]) as profiled:
    train(1)
print(sorted((e.key, e.count) for e in profiled.key_averages() if e.key.startswith("aten")))
""",
    "doors that the program has replaced": """
import torch.autograd.graph as graph
def loudly(owner, name):
    real = getattr(owner, name)
    def call(*args, **kwargs):
        print(name)
        return real(*args, **kwargs)
    setattr(owner, name, call)
for owner, name in ((torch.Tensor, "backward"), (torch.autograd, "backward"), (torch.autograd, "grad"),
                    (graph, "_engine_run_backward"), (torch.optim.SGD, "step"), (nn.Module, "__call__"),
                    (nn.Module, "_call_impl"), (torch.optim.Optimizer, "zero_grad")):
    loudly(owner, name)
    train(1)
    x = torch.ones(2, requires_grad=True)
    print(torch.autograd.grad((x * 2).sum(), x))
    torch.autograd.backward((x * 3).sum())
""",
    "names that no file can have": """
space = {}
exec(compile("def f(x):\\n return x * 2", "/none/\\udcff.py", "exec"), space)
code = space["f"].__code__
for changed in (code, code.replace(co_name="\\udcff<b>", co_filename="\\x00\\x1b[31m", co_qualname="q\\udc80"),
                code.replace(co_linetable=b"")):
    x = torch.ones(2, requires_grad=True)
    types.FunctionType(changed, {})(x).sum().backward()
    print(x.grad)
class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter("w\\udcff\\x1b[31m", nn.Parameter(torch.ones(2)))
    def forward(self, x): return x * self._parameters["w\\udcff\\x1b[31m"]
odd = Odd()
odd(torch.ones(2)).sum().backward()
odd(torch.ones(3))
""",
    "stacks that the program looks at": """
import inspect, traceback
class Looking(nn.Module):
    def forward(self, x):
        print([e.name for e in traceback.extract_stack()][-5:], [e.function for e in inspect.stack()][:5])
        return x * 2
net.append(Looking())
net(torch.ones(2, 3)).sum().backward()
""",
    "an exception that ends whoever reads it": """
class Silent(BaseException):
    def __str__(self): raise SystemExit(3)
    __repr__ = __str__
raise Silent
""",
}
TOLD = {
    "a limit of file sizes that kills": "disk I/O error",
    "a limit of file sizes that is handled": "disk I/O error",
}
QUICK = {
    "descriptors are closed and used again",
    "a child closes descriptors and ends by itself",
    "a profile",
}
QUICK |= {
    "a module that is spied upon",
    "modules that lack what torch gives them",
    "names that no file can have",
}


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in PROGRAMS]
)
def test_it_ends_as_without_us(name: str, forks: Forks, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(BASE + PROGRAMS[name])
    plain = forks.run("plain", script)
    for how in HOW[1:]:
        ended = forks.run(how, script)
        assert (how, ended.out, ended.status) == (how, plain.out, plain.status), ended.err
        lines = [line for line in ended.err.splitlines() if line.startswith(("gradscope:", "fault:"))]
        assert len(lines) == (name in TOLD), ended.err
        assert TOLD.get(name, "") in "".join(lines)
        assert how != "run" or "alarm" not in name or "found: nothing" in ended.err
