"""The terminal UI's main states as text, and what files and terminals it has to bear.

`EXPECTTEST_ACCEPT=1 pytest tests/tui/test_tui_states.py` writes tests/tui/screens/ anew.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from tui_driver import DETACHED, drive, record, screen, settled

from gradscope.tui import inspector
from gradscope.tui.app import Inspector, Work

SCREENS = Path(__file__).parent / "screens"
STATES = {
    "findings": (),
    "graph": ("2", "slash", *"second", "enter", "f"),
    "source": ("3",),
    "parameters": ("4",),
    "why": ("6", "a", *"first.weight", "enter"),
    "help": ("question_mark",),
    "export": ("g",),
}
CLEAN = "import torch\nx = torch.ones(2, requires_grad=True)\nx.sum().backward()\nprint(x.grad)\n"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    seeded = DETACHED.replace("model = Net()", "torch.manual_seed(0)\nmodel = Net()")
    return record(tmp_path_factory.mktemp("states"), seeded)


@pytest.mark.parametrize("state", STATES)
def test_screen_looks_as_it_did(state: str, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trace.parent)
    shown = ""

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        nonlocal shown
        for key in STATES[state]:
            await pilot.press(key)
            await settled(pilot)
        shown = screen(app).replace(str(trace.parent), "FOLDER") + "\n"

    drive(trace, steps, size=(80, 24))
    kept = SCREENS / f"{state}.txt"
    if os.environ.get("EXPECTTEST_ACCEPT"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(shown, encoding="utf-8")
    assert shown == kept.read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", ["textual-light", pytest.param("ansi-light", marks=pytest.mark.nightly)])
def test_other_themes_show_the_same_text(theme: str, trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        before = screen(app)
        app.theme = theme
        await settled(pilot)
        assert screen(app) == before
        await pilot.press("3")
        await settled(pilot)
        assert ".detach())" in screen(app)

    drive(trace, steps)


def test_lines_of_the_tree_have_the_colour_of_text_in_16_colours(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        app.theme = "ansi-dark"
        await pilot.press("2")
        await settled(pilot)
        drawn = app.screen.query_one("#tree").get_component_rich_style("tree--guides")
        assert drawn.color is not None and drawn.color.is_default

    drive(trace, steps)


def test_resizing_lays_the_frames_out_anew(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        for width, height in ((40, 12), (200, 60), (80, 24)):
            await pilot.resize_terminal(width, height)
            await settled(pilot)
            assert all(len(line) <= width for line in screen(app).splitlines())
            assert "GS301" in screen(app)

    drive(trace, steps)


@pytest.mark.nightly
def test_clean_run_says_what_was_watched(tmp_path: Path) -> None:
    trace = record(tmp_path, CLEAN)

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        assert "nothing to report" in screen(app) and "0 steps, 1 backward pass, 1 distinct graph" in screen(
            app
        )
        for key in ("down", "enter", "i", "o", "y", "n", "2", "f", "b", "3", "4", "enter", "5", "c", "enter"):
            await pilot.press(key)
            await settled(pilot)

    drive(trace, steps)


NOT_FINITE = """\
import torch
net = torch.nn.Linear(2, 2)
for x in (1.0, float("nan"), float("inf")):
    net(torch.full((3, 2), x)).sum().backward()
"""


@pytest.mark.nightly
def test_numbers_that_are_not_finite_are_shown(tmp_path: Path) -> None:
    trace = record(tmp_path, NOT_FINITE)

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        for key in (
            "2",
            "slash",
            *"weight",
            "enter",
            "4",
            *["s"] * 8,
            "5",
            "m",
            "down",
            "c",
            "6",
            "a",
            *"weight",
            "enter",
        ):
            await pilot.press(key)
            await settled(pilot)
            assert key != "4" or ("nan" in screen(app) and "!" in screen(app))
        assert "the last gradient measured has norm nan" in screen(app)

    drive(trace, steps)


# -- what it is given, and where it runs -------------------------------------------------


def gradscope(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gradscope", *args], cwd=cwd, capture_output=True, text=True, timeout=120,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_no_terminal_is_one_clear_line(trace: Path, tmp_path: Path) -> None:
    ran = gradscope("view", str(trace), cwd=tmp_path)
    assert ran.returncode == 2 and ran.stderr.startswith("gradscope: the terminal UI needs a terminal")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.nightly
def test_a_dumb_terminal_is_one_clear_line(trace: Path, tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    for command, code in (["view", str(trace)], 2), (["doctor"], 0):
        ran = subprocess.run(
            [sys.executable, "-m", "gradscope", *command], cwd=tmp_path, env={**os.environ, "TERM": "dumb"},
            stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, timeout=120, check=False, text=True,
        )  # fmt: skip
        assert ran.returncode == code
        if command == ["doctor"]:
            assert "cannot draw where TERM is dumb" in " ".join(ran.stdout.split())
        else:
            told = os.read(ours, 4096).decode()
            assert told.startswith("gradscope: the terminal UI cannot draw") and told.count("\n") == 1
    os.close(theirs)
    os.close(ours)


@pytest.mark.nightly
def test_growing_trace_that_breaks_is_told(tmp_path: Path) -> None:
    trace = record(tmp_path, CLEAN)
    trace.write_bytes(trace.read_bytes()[:200])

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        assert "image is malformed" in screen(app)
        for key in ("2", "3", "4", "5", "1", "g", "o", "i"):
            await pilot.press(key)
            await settled(pilot)

    drive(trace, steps)


class Terminal:
    """A tmux window that runs a command."""

    def __init__(self, name: str, command: str, cwd: Path, size: tuple[int, int], env: str = ""):
        self._tmux = ["tmux", "-L", name]
        width, height = size
        paths = f"COLUMNS= LINES= PYTHONPATH={os.pathsep.join(p for p in sys.path if p)} {env}"
        self._do("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd),
                 f"{paths} {sys.executable} -m gradscope {command}; echo ended with $?; sleep 60")  # fmt: skip

    def _do(self, *args: str) -> str:
        return subprocess.run([*self._tmux, *args], capture_output=True, text=True, timeout=30).stdout

    def press(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def wait(self, ready: Callable[[str], bool], scrolled: bool = False) -> str:
        """The screen, once it is as wanted. scrolled: with the lines that have run off its top, which what a program
        prints pushes there before anybody looks."""
        end = time.monotonic() + 90
        shown = last = ""
        while time.monotonic() < end:
            shown = self._do("capture-pane", "-p", *(["-S", "-"] if scrolled else []))
            if ready(shown):
                return shown
            last = shown if shown.strip() else last
            time.sleep(0.1)
        raise AssertionError(f"not seen; the screen is\n{shown}\nbefore that, if empty,\n{last}")

    def close(self) -> None:
        self._do("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    if shutil.which("tmux") is None:
        pytest.skip("no tmux here")
    opened: list[Terminal] = []

    def start(command: str, size: tuple[int, int] = (80, 24), env: str = "") -> Terminal:
        opened.append(Terminal(f"gradscope-{os.getpid()}-{len(opened)}", command, tmp_path, size, env))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.mark.nightly
def test_a_real_terminal_of_16_colours(trace: Path, terminal: Callable[..., Terminal]) -> None:
    window = terminal(f"view {trace}", env="TERM=xterm")
    assert "train.py:11" in window.wait(lambda shown: "GS301" in shown)
    window.press("4")
    window.wait(lambda shown: "4 parameters, 4 trainable" in shown)
    window.press("2")
    window.wait(lambda shown: "model Net ✂1" in shown)
    window.press("?")
    window.wait(lambda shown: "Go where the gradient flows to" in shown)
    window.press("Escape")
    window.wait(lambda shown: "Go where the gradient flows to" not in shown)
    window.press("q")
    window.wait(lambda shown: "ended with 0" in shown)


def test_run_view_watches_a_program_and_keeps_its_exit_code(
    tmp_path: Path, terminal: Callable[..., Terminal]
) -> None:
    enough = tmp_path / "enough"
    slow = DETACHED.replace(
        "for step in range(4):",
        "import os, sys, time\nfor step in range(40):\n"
        f"    while step > 20 and not os.path.exists({str(enough)!r}):\n        time.sleep(0.1)",
    )
    slow = slow.replace("    loss.backward()", "    loss.backward()\n    print('step', step, sys.argv[1])")
    (tmp_path / "train.py").write_text(slow + "sys.exit(7)\n")
    window = terminal("run --view --full train.py --depth", size=(110, 30))
    window.wait(lambda shown: "running" in shown)
    window.press("7")
    window.wait(lambda shown: "step 1 --depth" in shown)
    window.press("4")
    window.wait(lambda shown: "first.weight" in shown and "running" in shown)
    enough.touch()
    window.wait(lambda shown: "exit code 7" in shown)
    window.press("1")
    window.wait(lambda shown: "GS301" in shown)
    window.press("q")
    shown = window.wait(lambda shown: "ended with 7" in shown)
    said = "".join(shown.split())
    assert "exitcode7.Whatitprintedandthereportarein.gradscope/train-" in said
    assert "thetraceisin.gradscope/train-" in said
    assert not list((tmp_path / ".gradscope").glob("*-wal"))
    assert gradscope("check", cwd=tmp_path).returncode == 1


ENDLESS = """\
import os, signal, sys, time
import torch

w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(9000):
    optimizer.zero_grad()
    w.sum().backward()
    optimizer.step()
    print("step", step, flush=True)
    time.sleep(0.02)
    if os.path.exists("enough"):
        break
print("whole", w.sum().item())
"""


@pytest.mark.parametrize(
    "keys", [pytest.param(("q", "i"), marks=pytest.mark.nightly), ("C-c", "i")], ids=["q", "ctrl-c"]
)
def test_leaving_a_run_may_interrupt_the_program(
    keys: tuple[str, ...], tmp_path: Path, terminal: Callable[..., Terminal]
) -> None:
    (tmp_path / "train.py").write_text(ENDLESS)
    window = terminal("run --view train.py")
    window.press("7")
    window.wait(lambda shown: "step 20" in shown)
    window.press(keys[0])
    window.wait(lambda shown: "still runs" in shown)
    window.press("s")
    window.wait(lambda shown: "still runs" not in shown and "step" in shown)
    for key in keys:
        window.press(key)
        time.sleep(0.3)
    window.wait(lambda shown: "ended with 130" in shown)
    assert "KeyboardInterrupt" in (tmp_path / ".gradscope").glob("*.out").__next__().read_text()
    assert "ended by KeyboardInterrupt" in gradscope("check", cwd=tmp_path).stdout


@pytest.mark.nightly
@pytest.mark.parametrize(
    "keys",
    [pytest.param(("q", "r")), pytest.param(("C-q", "r"), marks=pytest.mark.nightly)],
    ids=["q", "ctrl-q"],
)
def test_leaving_a_run_may_let_the_program_run_on(
    keys: tuple[str, ...], tmp_path: Path, terminal: Callable[..., Terminal]
) -> None:
    (tmp_path / "train.py").write_text(ENDLESS)
    window = terminal("run --view train.py", size=(160, 24))
    window.press("7")
    window.wait(lambda shown: "step 20" in shown)
    window.press(keys[0])
    window.wait(lambda shown: "still runs" in shown)
    window.press(keys[1])
    shown = window.wait(lambda shown: "ended with 0" in shown)
    assert "the program runs on, as process" in shown and "it has not ended yet" in " ".join(
        gradscope("check", cwd=tmp_path).stdout.split()
    )
    window.close()  # its terminal goes, and with it all that runs in it
    (tmp_path / "enough").touch()
    (output,) = (tmp_path / ".gradscope").glob("*.out")
    end = time.monotonic() + 90
    while "next:" not in output.read_text() and time.monotonic() < end:
        time.sleep(0.2)
    printed = output.read_text()
    steps = len(re.findall(r"^step \d+$", printed, re.MULTILINE))
    assert f"step {steps - 1}\nwhole" in printed and "found: nothing to report" in printed
    assert f"{steps:,} steps" in gradscope("check", cwd=tmp_path).stdout


@pytest.mark.nightly
def test_who_asked_to_leave_has_left_when_the_program_ends(
    tmp_path: Path, terminal: Callable[..., Terminal]
) -> None:
    (tmp_path / "train.py").write_text(ENDLESS)
    window = terminal("run --view train.py", size=(120, 24))
    window.press("7")
    window.wait(lambda shown: "step 20" in shown)
    window.press("q")
    window.wait(lambda shown: "still runs" in shown)
    (tmp_path / "enough").touch()
    shown = window.wait(lambda shown: "ended with 0" in shown)
    assert "exit code 0. What it printed and the report are in" in " ".join(shown.split())


ASKS = """\
import getpass, sys, torch
torch.ones(3, requires_grad=True).sum().backward()
sys.stdin.readline()
print("hello", input("name? "), sys.stdin.isatty())
print("a secret of", len(getpass.getpass("password: ")))
print("then", repr(sys.stdin.read()))
sys.exit(3)
"""


@pytest.mark.nightly
def test_what_a_program_reads_is_typed_on_the_output_screen(
    tmp_path: Path, terminal: Callable[..., Terminal]
) -> None:
    (tmp_path / "asks.py").write_text(ASKS)
    window = terminal("run --view asks.py", size=(100, 24))
    window.wait(lambda shown: "1 Findings" in shown)
    if Path("/proc/self/syscall").exists():
        window.wait(lambda shown: "asks for input" in shown)
    window.press("7")
    steps = (
        ("nothing printed yet", "anything", "name?"),
        ("name?", "Bob", "hello Bob True"),
        ("password:", "abcdef", "a secret of 6"),
        ("", "more", "more"),
    )
    for ready, typed, said in steps:
        window.wait(lambda shown, ready=ready: ready in shown and "to the program" not in shown)
        window.press("Enter")
        window.wait(lambda shown: "to the program" in shown)
        window.press(typed, "Enter")
        window.wait(lambda shown, said=said: said in shown)
    window.press("d")
    assert "abcdef" not in window.wait(lambda shown: "[exit code 3]" in shown)
    assert "then 'more\\n'" in (tmp_path / ".gradscope").glob("*.out").__next__().read_text()
    window.press("q")
    window.wait(lambda shown: "ended with 3" in shown)


PRINTS = r"""
import sys
print("a" * 70 + "END", "日本" * 30, "\x1b[31mred" + "." * 60, "last", sep="\n")
sys.stdin.readline()
"""


def test_long_lines_of_the_output_are_wrapped(tmp_path: Path) -> None:
    async def session() -> None:
        app = inspector(tmp_path / "none.gradscope", [sys.executable, "-c", PRINTS])
        async with app.run_test(size=(50, 24)) as pilot:
            while "last" not in app.output:
                await pilot.pause(0.1)
            await pilot.press("7")
            await settled_but_for_the_program(pilot)
            rows = screen(app).splitlines()[1:9]
            assert rows[1].endswith("END") and "".join(rows[:2]) == "a" * 70 + "END"
            assert "".join("".join(rows[2:5]).split()) == "日本" * 30
            assert rows[5].startswith("red...") and rows[7] == "last"
            table = app.screen.query_one("#output")
            assert table.cursor == 7
            await pilot.press("slash", *"red", "enter")
            assert table.cursor == 5
            await pilot.resize_terminal(100, 24)
            await settled_but_for_the_program(pilot)
            assert screen(app).splitlines()[1 + table.cursor].startswith("red"), "the same line"
            app.works.append(Work("checking", 0.0, asyncio.current_task()))
            await pilot.press("escape")
            assert not app.works.pop().cancelled, "escape closes what one types here"
            assert app.child is not None
            app.child.kill()

    asyncio.run(session())


async def settled_but_for_the_program(pilot: Pilot[Any]) -> None:
    for _ in range(10):
        await pilot.pause(0.02)


STUBBORN = """\
import time, torch
torch.ones(3, requires_grad=True).sum().backward()
for times in range(10):
    try:
        print("up", times, flush=True)
        time.sleep(1000)
    except KeyboardInterrupt:
        print("told", times, flush=True)
"""


def test_ctrl_c_is_handed_on_and_what_ignores_it_can_be_killed(
    tmp_path: Path, terminal: Callable[..., Terminal]
) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    window = terminal("run --view stubborn.py")
    window.press("7")
    window.wait(lambda shown: "up 0" in shown)
    window.press("x")
    window.wait(lambda shown: "as Ctrl-C does?" in shown)
    window.press("Enter")
    assert "told" not in window.wait(lambda shown: "as Ctrl-C does?" not in shown), "the safe answer"
    for key, sign in (("x", "as Ctrl-C does?"), ("y", "up 1"), ("q", "still runs"), ("i", "up 2")):
        window.press(key)
        window.wait(lambda shown, sign=sign: sign in shown)
    window.press("q")
    window.wait(lambda shown: "was interrupted and has not ended yet" in shown)
    window.press("k")
    shown = window.wait(lambda shown: "ended with 137" in shown)
    assert "exit code 137. What it printed is in" in " ".join(shown.split())


@pytest.mark.nightly
def test_leaving_a_run_that_failed_says_where_its_traceback_is(
    tmp_path: Path, terminal: Callable[..., Terminal]
) -> None:
    (tmp_path / "train.py").write_text("import torch\ntorch.ones(2, requires_grad=True).backward()\n")
    window = terminal("run --view train.py", size=(120, 24))
    window.wait(lambda shown: "exit code 1" in shown)
    window.press("q")
    shown = " ".join(window.wait(lambda shown: "ended with 1" in shown).split())
    assert "exit code 1. What it printed, its traceback and the report are in .gradscope/train-" in shown


def test_a_fault_of_the_ui_leaves_the_program_alone(
    tmp_path: Path, terminal: Callable[..., Terminal]
) -> None:
    (tmp_path / "train.py").write_text(ENDLESS + "sys.exit(7)\n")
    broken = "from gradscope.tui.screens.parameters import ParametersPage as P; P.fill = lambda self: 1 / 0"
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys\nif 'TUI' in __import__('os').environ: {broken}\n"
    )
    window = terminal("run --view train.py", size=(120, 50), env=f"TUI=1 PYTHONPATH={tmp_path}:$PYTHONPATH")
    window.press("7")
    window.wait(lambda shown: "step 20" in shown)
    window.press("4")
    said = "a fault of the terminal UI has ended it. The program runs on"
    window.wait(lambda shown: said in shown, scrolled=True)  # then the program's lines follow at once
    (tmp_path / "enough").touch()
    shown = window.wait(lambda shown: "ended with 7" in shown)
    assert "whole" in shown and "found: nothing to report" in shown


@pytest.mark.nightly
def test_keys_that_come_twice_or_too_early_end_nothing(tmp_path: Path) -> None:
    async def session() -> None:
        app = inspector(tmp_path / "not-there-yet.gradscope")
        async with app.run_test(size=(80, 24)) as pilot:
            for page in "123456":
                await pilot.press(page)
                await settled(pilot)
                for key in (
                    "s",
                    "S",
                    "f",
                    "b",
                    "m",
                    "c",
                    "enter",
                    "w",
                    "o",
                    "y",
                    "slash",
                    "escape",
                    "left",
                    "i",
                ):
                    await pilot.press(key)
            for key in ("question_mark", "ctrl+p"):
                await pilot.press(key)
                await pilot.pause()
                box = app.screen
                assert box is not app.screen_stack[0]
                box.dismiss()
                box.dismiss()
                await settled(pilot)
            await pilot.press("ctrl+p", "pageup", "pagedown", "escape")

    asyncio.run(session())


@pytest.mark.nightly
def test_pages_that_come_and_go_while_the_trace_grows(trace: Path) -> None:
    """Each page is shown for the first time while the application tells all pages of news."""

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        async def news() -> None:
            while True:
                app.edition += 1
                app._show()
                await asyncio.sleep(0)

        task = asyncio.create_task(news())
        for key in "2345126":
            await pilot.press(key)
        assert not task.done(), task.exception()
        task.cancel()
        await settled(pilot)
        assert "never got a gradient" in screen(app)

    drive(trace, steps)
