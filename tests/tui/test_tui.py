"""The terminal UI: each screen and key, over traces of real runs."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot
from tui_driver import DETACHED, drive, record, screen, settled, told
from warm import python

from gradscope.store import Pages, Trace
from gradscope.tui import inspector
from gradscope.tui.app import Inspector
from gradscope.tui.screens.graph import GraphPage
from gradscope.tui.walk import Walk


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("detached"), DETACHED)


def test_findings_show_the_source_with_cause_and_effect(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        shown = screen(app)
        assert "GS301" in shown and "train.py:11" in shown
        assert "return self.second(self.first(x).detach())" in shown
        assert "^^^" in shown and "seen:" in shown and "fix:" in shown
        assert "enter Source" in shown.splitlines()[-1]
        (listed,) = [line for line in shown.splitlines() if "✗ error" in line]
        assert "return" not in listed
        await pilot.resize_terminal(160, 40)
        await settled(pilot)
        beside = screen(app).splitlines()
        assert "✗ error" in beside[2] and "detach" in beside[2].partition("│")[2], "beside each other"

    drive(trace, steps, size=(100, 40))


def test_numbers_and_clicks_turn_the_screens(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        signs = {
            "1": "train.py:11", "2": "grad nodes", "3": "train.py 1 of 1", "4": "4 parameters, 4 trainable",
            "5": "ms each", "6": "never got a gradient",
        }  # fmt: skip
        for key, sign in signs.items():
            await pilot.press(key)
            await settled(pilot)
            assert sign in screen(app), key
        await pilot.click("PageBar", offset=(14, 0))
        await settled(pilot)
        assert "grad nodes" in screen(app)

    drive(trace, steps)


def test_parameters_are_sorted_filtered_and_explained(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await settled(pilot)
        rows = screen(app)
        assert "2 of them never got a gradient" in rows
        names = ["first.weight", "first.bias", "second.weight", "second.bias"]
        assert sorted(names, key=rows.index) == names
        assert "×4" in rows and "never" in rows and "SGD" in rows and "█" in rows
        await pilot.press("s")
        assert sorted(names, key=screen(app).index) == sorted(names)
        await pilot.press("S")
        assert sorted(names, key=screen(app).index) == sorted(names)[::-1]
        await pilot.press("f", *"never", "enter")
        assert "second.weight" not in screen(app) and "first.weight" in screen(app)
        await pilot.press("home", "enter")
        await settled(pilot)
        assert "has no gradient: on its way to the loss it is cut off" in screen(app)
        assert "the graph ends here" in screen(app)

    drive(trace, steps, size=(110, 36))


NESTED = """\
import torch
model = torch.nn.Sequential()
model.add_module("encoder", torch.nn.Sequential())
for name in ("first", "second"):
    model.encoder.add_module(f"experts_of_the_{name}", torch.nn.Linear(2, 2))
model(torch.ones(1, 2)).sum().backward()
"""


def test_what_tells_long_names_apart_is_seen_on_a_narrow_terminal(tmp_path: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await settled(pilot)
        names = [
            line.split()[0] for line in screen(app).splitlines() if "first." in line or "second." in line
        ]
        assert len(set(names)) == 4 and all(name.endswith((".weight", ".bias")) for name in names)
        assert all(name.startswith("encoder") for name in names) and "over the run" not in screen(app)
        await pilot.press("f", *"second.bias", "enter")
        assert "only rows with `second.bias`: 1 of 4 parameters" in screen(app)
        await pilot.press(*["s"] * 7)
        assert "▲" not in screen(app) and "▼" not in screen(app), "no order of a column that is left out"
        await pilot.resize_terminal(100, 24)
        await settled(pilot)
        assert "encoder.experts_of_the_second.bias" in screen(app) and "over the run" in screen(app)

    drive(record(tmp_path, NESTED), steps, size=(80, 24))


def test_escape_leaves_the_filter_as_it_was(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("4", "f", *"bias", "enter", "f", "question_mark")
        await settled(pilot)
        assert "no parameter has that in its row" in screen(app)
        await pilot.press("escape")
        await settled(pilot)
        shown = screen(app)
        assert (
            "only rows with `bias`: 2 of 4" in shown and "first.bias" in shown and "first.weight" not in shown
        )

    drive(trace, steps, size=(110, 36))


def test_the_column_that_rows_are_sorted_by_is_marked(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        for column in ("parameter", "shape", "grad?", "optimizer", "gradient", "norm", "over the run"):
            await pilot.press("s")
            await settled(pilot)
            assert f"{column}▲" in screen(app)

    drive(trace, steps, size=(110, 36))


CLEARED_LAST = """\
import torch
a = torch.ones(1, requires_grad=True)
b = torch.ones(1, requires_grad=True)
c = torch.ones(1, requires_grad=True)
d = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([a, b, c, d], lr=0.1)
for step in range(4):
    (3e-7 * a + 20 * b + 1 * c).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
(5 * c).sum().backward()
"""


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("column", ["norm", "over the run"])
def test_parameters_are_in_the_order_of_the_norms_shown(column: str, tmp_path: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await settled(pilot)
        while f"{column}▲" not in screen(app):
            await pilot.press("s")
        rows = [line.split() for line in screen(app).splitlines() if " SGD " in line]
        assert [row[0] for row in rows] == ["d", "a", "c", "b"]
        norms = [float(row[-2]) for row in rows[1:]]
        assert norms == [3e-07, 5.0, 20.0], "those that were cleared are still known"
        await pilot.press("S")
        rows = [line.split() for line in screen(app).splitlines() if " SGD " in line]
        assert [row[0] for row in rows] == ["b", "c", "a", "d"]

    drive(record(tmp_path, CLEARED_LAST), steps, size=(110, 36))


def test_head_of_a_column_is_clicked_to_sort(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await settled(pilot)
        await pilot.click("#parameters", offset=(2, 0))
        await pilot.pause()
        assert "parameter▲" in screen(app)
        await pilot.click("#parameters", offset=(2, 0))
        await pilot.pause()
        assert "parameter▼" in screen(app)

    drive(trace, steps)


def test_graph_is_walked_with_a_way_back(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await settled(pilot)
        tree = screen(app)
        assert "model Net ✂1" in tree and "first Linear no gradient" in tree and "detach line 11" in tree
        await pilot.press("slash", *"second", "enter", "f")
        assert "`linear`" in screen(app) and "requires grad" in screen(app)
        await pilot.press("f")
        assert "second › linear › square" in screen(app)
        await pilot.press("b")
        assert "square › linear" in screen(app)
        await pilot.press("backspace", "backspace", "backspace")
        assert "second.weight" in screen(app) and "`square`" not in screen(app)
        await pilot.press("f", "s")
        await settled(pilot)
        assert "train.py 1 of 1" in screen(app)

    drive(trace, steps)


def test_graph_draws_what_surrounds_the_cursor_and_tree_and_walk_stay_in_step(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await settled(pilot)

        def tree() -> list[str]:
            return [line[:35].strip() for line in screen(app).splitlines()[2:-1]]

        def cursor() -> Any:
            return app.screen.query_one("#tree").cursor_node.data

        order = [
            next(n for n, line in enumerate(tree()) if word in line) for word in ("first", "detach", "second")
        ]
        assert order == sorted(order), "in the order they ran"
        await pilot.press("slash", *"detach", "enter")
        drawn = [line.partition("│")[2] for line in screen(app).splitlines()]
        rows = [
            next(n for n, line in enumerate(drawn) if sign in line)
            for sign in ("● linear", "◆ detach", "● linear 2×1")
        ]
        assert rows == sorted(rows) and "✂ detach" in drawn[rows[1]]
        here = cursor()
        assert here[0] == "op" and "detach" in app.screen.query_one("#tree").cursor_node.label.plain
        await pilot.press("f")
        assert "linear" in app.screen.query_one("#tree").cursor_node.label.plain and cursor() != here
        assert any("◆ linear" in line for line in screen(app).splitlines())
        assert any("◇ second.weight" in line for line in screen(app).splitlines())
        await pilot.press("backspace")
        assert cursor() == here
        await pilot.press("left")
        assert cursor()[0] == "module" and "model Net" in screen(app)
        await pilot.press("left")
        assert not any("second" in line for line in tree())
        await pilot.press("right", "right")
        assert any("second" in line for line in tree()) and cursor() != here
        await pilot.press("slash", *"linear", "enter")
        found = [cursor()]
        for key in ("n", "n", "n", "N"):
            await pilot.press(key)
            found.append(cursor())
        assert {thing[0] for thing in found} == {"module", "op"} and found[2] == found[4]

    drive(trace, steps, size=(110, 34))


LONG = """\
import torch
w = torch.ones(2, requires_grad=True)
x = w
for i in range(350):
    x = x * 1.01 if i != 333 else torch.tanh(x)
x.sum().backward()
"""


@pytest.mark.nightly
def test_a_long_branch_opens_at_the_op_that_was_found(tmp_path: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await settled(pilot)
        tree = app.screen.query_one("#tree")
        assert "mul line 5" in screen(app), "the only branch is open"
        await pilot.press("slash", *"tanh", "enter")
        assert tree.cursor_node.data == ("op", 0, 333) or "tanh" in tree.cursor_node.label.plain
        first = tree.cursor_node.parent.children[0]
        assert "300 before" in first.label.plain
        tree.move_cursor(first)
        await pilot.press("enter")
        assert "200 before" in tree.cursor_node.parent.children[0].label.plain
        assert "more" in tree.cursor_node.parent.children[-1].label.plain

    drive(record(tmp_path, LONG), steps)


@pytest.mark.nightly
def test_detail_leads_to_neighbours_and_to_the_source(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await settled(pilot)
        await pilot.press("slash", *"first", "enter", "f", "tab", *["down"] * 3, "enter")
        assert "x" in screen(app)
        await pilot.press("w")
        await settled(pilot)
        assert isinstance(app.screen, type(app.screen)) and "6 Why" in screen(app)

    drive(trace, steps)


def test_source_has_cuts_and_findings_in_its_gutter(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("3")
        await settled(pilot)
        lines = screen(app).splitlines()
        cut = next(line for line in lines if ".detach())" in line)
        assert "✗" in cut and "✂" in cut
        assert any("no grad" in line or "GS301" in line for line in lines[-8:])
        region = next(line for line in lines if line.startswith("21"))
        assert "┃" in region
        await pilot.press("enter")
        await settled(pilot)
        assert "line 11" in screen(app)

    drive(trace, steps, size=(100, 40))


@pytest.mark.nightly
def test_steps_tell_events_and_are_compared(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("5")
        await settled(pilot)
        titles = [line[2:18].strip() for line in screen(app).splitlines()[2:]]
        assert titles[:2] == ["set-up", "step 1"] and "step 4" in titles and "evaluation" in titles
        assert "call_time" not in screen(app) and "no_effect" not in screen(app)
        assert "backward" in screen(app) and "loss.backward()" not in screen(app)
        await pilot.press("down")
        assert "loss.backward()" in screen(app)
        await pilot.press("m", "up", "c")
        assert "their graphs differ in" in screen(app) and "`linear`" in screen(app)
        await pilot.press("end", "enter")
        await settled(pilot)
        assert "grad nodes" in screen(app)

    drive(trace, steps, size=(100, 40))


def test_why_answers_names_and_says_what_it_does_not_know(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("6")
        await settled(pilot)
        await pilot.press("a", *"loss", "enter")
        await settled(pilot)
        assert "`loss`" in screen(app) and "train.py:18" in screen(app)
        await pilot.press("a", *"nonsense", "enter")
        await settled(pilot)
        assert "no answer" in screen(app) and "called `nonsense`" in told(app)

    drive(trace, steps)


def test_why_starts_with_those_without_a_gradient_completes_names_and_is_left(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        for page in "46":
            await pilot.press(page)
            await settled(pilot)
        rows = [line.split() for line in screen(app).splitlines() if "never got a gradient" in line]
        assert [(row[0], row[-1]) for row in rows] == [("first.weight", "GS301"), ("first.bias", "GS301")]
        await pilot.press("down", "enter")
        await settled(pilot)
        assert "`first.bias`" in screen(app) and "the graph ends here" in screen(app)
        await pilot.press("escape")
        assert "GS301" in screen(app), "the names again"
        await pilot.press("a", *"sec", "tab")
        assert "second." in screen(app) and "first.bias" not in screen(app)
        await pilot.press("w", "tab", "enter")
        await settled(pilot)
        assert "`second.weight`" in screen(app)
        await pilot.press("a", "ctrl+u", *"los", "down", "enter")
        await settled(pilot)
        assert "`loss`" in screen(app)
        await pilot.press("escape", "escape")
        await settled(pilot)
        assert "4 trainable" in screen(app), "where one came from"

    drive(trace, steps)


def test_letters_that_are_no_keys_begin_a_name_on_the_list_and_after_an_answer(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("6", *"sec")
        await settled(pilot)
        assert app.screen.query_one("#why-name").value == "sec"
        assert "second.weight" in screen(app) and "first.bias" not in screen(app)
        await pilot.press("down", "enter")
        await settled(pilot)
        assert "`second.weight`" in screen(app)
        await pilot.press(*"fir")
        await settled(pilot)
        assert app.screen.query_one("#why-name").value == "fir"
        assert "first.bias" in screen(app) and "second.weight" not in screen(app)

    drive(trace, steps)


def test_a_graph_that_was_opened_before_the_first_step_goes_on_to_it(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = GraphPage._graphs.fget
    begun = False
    assert every is not None
    monkeypatch.setattr(
        GraphPage, "_graphs", property(lambda page: [g for g in every(page) if begun or not g.nodes])
    )

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        nonlocal begun
        await pilot.press("2")
        await settled(pilot)
        assert ", 0 grad nodes" in screen(app)
        begun = True
        app._show()
        await settled(pilot)
        assert ", 0 grad nodes" not in screen(app)
        await pilot.press("left_square_bracket")
        await settled(pilot)
        assert ", 0 grad nodes" in screen(app), "it was turned to"
        app._show()
        await settled(pilot)
        assert ", 0 grad nodes" in screen(app)

    drive(trace, steps)


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("page", ["1", "2", "3", "4", "5"])
def test_w_asks_why_on_every_screen(page: str, trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press(page)
        await settled(pilot)
        await pilot.press("w")
        await settled(pilot)
        assert app.current_mode == "why" and "is on this screen" not in told(app)

    drive(trace, steps)


def test_find_goes_to_the_next_and_the_one_before(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("3")
        await settled(pilot)
        table = app.screen.query_one("#code")
        await pilot.press("home", "slash", *"linear", "enter")
        found = [table.cursor]
        for key in ("n", "n", "N"):
            await pilot.press(key)
            found.append(table.cursor)
        assert found == [6, 7, 6, 7]
        await pilot.press("slash", *"Xnowhere", "enter")
        await pilot.pause(0.1)
        assert "is not on this screen" in told(app)

    drive(trace, steps)


def test_help_and_palette_list_every_key(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        known = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Findings", "Ignore", "Edit", "Copy", "Export", "Quit", "Find", "Theme"} <= known
        assert not known & {"Up", "Down", "Page up", "Text to the left", "Focus Next", "Maximize"}
        await pilot.press("question_mark")
        await pilot.pause()
        assert "✗  error: this run has proven it" in screen(app)
        for about in ("Write a comment that silences", "Open $EDITOR", "Find text", "Write a picture"):
            assert about in screen(app)
        await pilot.press("escape", "ctrl+p")
        await pilot.pause()
        await pilot.press(*"Param", "enter")
        await settled(pilot)
        await pilot.pause(0.2)
        assert "4 trainable" in screen(app)

    drive(trace, steps, size=(100, 60))


def test_ignore_asks_and_writes_the_comment(tmp_path: Path) -> None:
    trace = record(tmp_path, DETACHED)

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("i")
        await pilot.pause()
        assert "write this comment into train.py, line 11?" in screen(app)
        await pilot.press("n")
        assert (tmp_path / "train.py").read_text() == DETACHED
        await pilot.press("i", "y")
        await pilot.pause()
        line = "        return self.second(self.first(x).detach())"
        changed = DETACHED.replace(line, f"{line}  # gradscope: ignore[GS301]")
        assert (tmp_path / "train.py").read_text() == changed
        assert "train.py has changed since the run" in screen(app)
        await pilot.press("i")
        await pilot.pause(0.1)
        assert "run again first" in told(app)

    drive(trace, steps)


def test_vanished_source_is_told(tmp_path: Path) -> None:
    trace = record(tmp_path, DETACHED)
    (tmp_path / "train.py").unlink()

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        assert "train.py is gone since the run" in screen(app)
        await pilot.press("o")
        await pilot.pause(0.1)
        assert "there is nothing to edit" in told(app)
        await pilot.press("3")
        await settled(pilot)
        assert "class Net" in screen(app)

    drive(trace, steps)


def test_export_asks_before_it_writes_over_a_file(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out.md").write_text("mine")

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        for answer, kept in ("enter", True), ("n", True), ("y", False):
            await pilot.press("g")
            assert all(f" {suffix}" in screen(app) for suffix in (".pdf", ".mmd", ".sarif"))
            await pilot.press("ctrl+u", *"out.md", "enter")
            await settled(pilot)
            assert "out.md is there already: write over it?" in screen(app)
            await pilot.press(answer)
            await settled(pilot)
            assert ((tmp_path / "out.md").read_text() == "mine") is kept

    drive(trace, steps)


@pytest.mark.nightly
def test_export_writes_what_the_suffix_says(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        for name in ("out.svg", "out.md", "out.xyz"):
            await pilot.press("g", "ctrl+u", *name, "enter")
            await settled(pilot)
            await pilot.pause(0.1)
        assert "what to write: end it in" in told(app)

    drive(trace, steps)
    assert "<svg" in (tmp_path / "out.svg").read_text()
    assert "GS301" in (tmp_path / "out.md").read_text()


def test_copy_puts_the_finding_on_the_clipboard(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("y")
        assert "error[GS301]" in app.clipboard and "fix:" in app.clipboard

    drive(trace, steps)


def test_markup_in_names_is_shown(tmp_path: Path) -> None:
    source = (
        "import torch\n"
        "model = torch.nn.Module()\n"
        "model.register_parameter('[bold red]x[/]', torch.nn.Parameter(torch.ones(2)))\n"
        "model.forward = lambda: model._parameters['[bold red]x[/]'].sum()\n"
        "loss = model()  # [link=file:///]here[/]\n"
        "loss.backward()\n"
    )
    trace = record(tmp_path, source)

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await settled(pilot)
        assert "[bold red]x[/]" in screen(app)
        await pilot.press("3")
        await settled(pilot)
        assert "[link=file:///]here[/]" in screen(app)
        await pilot.press("2")
        await settled(pilot)
        assert "[bold red]x[/]" in screen(app)

    drive(trace, steps)


@pytest.mark.nightly
def test_large_traces_are_worked_on_in_another_process(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradscope.tui.jobs.LARGE", 0)
    monkeypatch.setattr("gradscope.tui.walk.NAMED", 0)

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        assert app.large and "GS301" in screen(app) and "^^^" in screen(app)
        process = app.helper.process_id
        await pilot.press("3")
        await settled(pilot)
        assert any("✂" in line for line in screen(app).splitlines() if ".detach())" in line)
        await pilot.press("6")
        await settled(pilot)
        await pilot.press("a", *"first.weight", "enter")
        await settled(pilot)
        assert "the graph ends here" in screen(app)
        await pilot.press("a", *"nonsense", "enter")
        await settled(pilot)
        assert "called `nonsense`" in told(app)
        assert process is not None and app.helper.process_id == process, "one process does it all"

    drive(trace, steps)


@pytest.mark.nightly
def test_ranks_of_a_run_are_shown_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        DETACHED.replace("range(4)", "range(4 + int(__import__('os').environ['RANK']))")
    )
    command = [*python(), "-m", "gradscope", "run", "--full", "--trace-dir", "run", "train.py"]
    given = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29999"}
    ranks = [
        subprocess.Popen(command, cwd=tmp_path, env=os.environ | given | {"RANK": rank, "LOCAL_RANK": rank})
        for rank in "01"
    ]
    assert [each.wait(120) for each in ranks] == [0, 0]
    assert len(list((tmp_path / "run").glob("*.gradscope"))) == 2

    async def session() -> None:
        app = inspector(tmp_path / "run" / "rank-0.gradscope", folder=tmp_path / "run")
        async with app.run_test(size=(110, 30)) as pilot:
            await settled(pilot, lambda: app.checked is not None)
            assert "on all 2 ranks" in screen(app) and "rank 0 of 2, 4 steps" in screen(app)
            await pilot.press("4", "R")
            await settled(pilot)
            assert "rank 1 of 2, 5 steps" in screen(app) and "×5" in screen(app)
            await pilot.press("R")
            await settled(pilot)
            assert "rank 0 of 2" in screen(app) and "×4" in screen(app)

    asyncio.run(session())


def test_long_work_is_told_of_and_cancelled(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradscope.tui.jobs.LARGE", 0)
    monkeypatch.setattr("gradscope.tui.app._SOON", 0)

    async def session() -> None:
        app = inspector(trace)
        async with app.run_test(size=(110, 30), notifications=True) as pilot:
            app.refresh_state()
            assert "checking, 0 s, esc cancels" in screen(app)
            await pilot.press("escape")
            await settled(pilot)
            assert "cancelled: checking" in told(app) and app.helper.process_id is None
            assert "press r to run them" in screen(app) and "esc cancels" not in screen(app)
            await pilot.press("r")
            await settled(pilot, lambda: app.checked is not None)
            assert "GS301" in screen(app) and "press r" not in screen(app)
            await pilot.press("6")
            await settled(pilot)
            await pilot.press("enter", "escape")
            await settled(pilot)
            assert "never got a gradient" in screen(app), "the answer was given up, the names are back"

    asyncio.run(session())


def test_editor_opens_at_the_line(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscope.tui import editor

    source = str(trace.parent / "train.py")
    for chosen, expected in {
        "vim -n": ["vim", "-n", "+11", source],
        "code": ["code", "--wait", "--goto", f"{source}:11"],
        "/usr/bin/hx": ["/usr/bin/hx", f"{source}:11"],
        "notepad": ["notepad", source],
    }.items():
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", chosen)
        assert editor.command(source, 11) == expected


REPEATED = """\
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        for _ in range(12):
            x = x.relu()
        return x
Net()(torch.ones(3, requires_grad=True)).sum().backward()
"""


def test_equal_calls_of_a_module_are_one_row_of_its_facts(tmp_path: Path) -> None:
    trace = Trace(record(tmp_path, REPEATED))
    pages = Pages(trace)
    (graph,) = [size for size in pages.graphs() if size.nodes]
    facts = Walk(trace, pages, graph.id, graph.ops).facts(("module", graph.id, 0))
    assert [fact.text for fact in facts if fact.label == "runs"] == ["`relu` at line 5 ×12"]


def test_why_is_asked_again_from_other_screens(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        for keys, name in (
            ("4w", "first.weight"),
            ("4jw", "first.bias"),
            ("1w", "first.weight"),
            ("4jjw", "second"),
        ):
            for key in keys:
                await pilot.press(key)
                await settled(pilot)
            assert f"`{name}" in screen(app)

    drive(trace, steps, size=(120, 40))


def test_findings_that_go_while_a_dialog_stands_over_them_are_shown_until_it_is_gone(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("i")
        assert app.checked is not None
        app.checked = replace(app.checked, findings=())
        app.edition += 1
        app._show()
        app.screen_stack[0].query_one("#findings-list").refresh()
        await pilot.pause()
        assert "✗ error" in screen(app)
        await pilot.press("n")
        await settled(pilot)
        assert "GS301" not in screen(app)

    drive(trace, steps)


@pytest.mark.parametrize("keys", ["q?", "qw", "q2", ["enter", "w"]], ids=" ".join)
def test_keys_typed_faster_than_the_screens_come(keys: Sequence[str], trace: Path) -> None:
    """All stand in the queue before the first has had its effect."""

    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        for key in keys:
            name = {"?": "question_mark"}.get(key, key)
            app.post_message(Key(name, key if len(key) == 1 else None))
        await pilot.pause(0.2)
        assert app.return_code == (0 if "q" in keys else None)

    drive(trace, steps)


ALIKE = """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [torch.nn.Linear(2, 2) for _ in range(3)]
        self.cut = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(4)))
    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return x + self.cut(x).detach()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
"""


def test_parameters_of_one_name_are_told_apart_and_each_asked_of(tmp_path: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await settled(pilot)
        names = [f"b.weight #{turn}" for turn in (1, 2, 3)]
        assert all(name in screen(app) for name in names)
        await pilot.press("slash", *"weight #2", "enter", "enter")
        await settled(pilot)
        assert "3 parameters go by this name; this is number 2 of them" in screen(app)

    drive(record(tmp_path, ALIKE), steps, size=(110, 36))


def test_the_code_of_a_finding_stands_beside_each_of_its_parameters(tmp_path: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("6")
        await settled(pilot)
        rows = [line.split() for line in screen(app).splitlines() if "never got a gradient" in line]
        assert len(rows) == 8 and {row[-1] for row in rows} == {"GS301"}

    drive(record(tmp_path, ALIKE), steps, size=(110, 36))


def test_w_on_a_row_of_graph_asks_of_what_the_row_is(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        for sought, asked in (
            ("first", "first.weight"),
            ("second", "second.weight"),
        ):
            await pilot.press("2")
            await settled(pilot)
            await pilot.press("slash", *sought, "enter", "w")
            await settled(pilot)
            assert app.screen.query_one("#why-name").value == asked

    drive(trace, steps)


def test_w_on_an_op_of_graph_asks_of_it_and_not_of_its_line(trace: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        for sought, about in (
            ("square", "the result of `square` at train.py:18"),
            ("mean", "`loss` at train.py:18"),
        ):
            await pilot.press("2")
            await settled(pilot)
            await pilot.press("slash", *sought, "enter", "w")
            await settled(pilot)
            assert re.fullmatch(r"op \d of graph \d", app.screen.query_one("#why-name").value)
            assert about in screen(app)

    drive(trace, steps)


WITHOUT_MODULES = """\
import torch
w = torch.ones(2, requires_grad=True)
(w.exp() * 2).sum().backward()
"""


def test_a_graph_without_modules_opens_at_its_first_op(tmp_path: Path) -> None:
    async def steps(app: Inspector, pilot: Pilot[Any]) -> None:
        await pilot.press("2")
        await settled(pilot)
        assert "◆ exp" in screen(app) and "number 0 of graph" in screen(app)

    drive(record(tmp_path, WITHOUT_MODULES), steps)


TWO_MODELS = """\
import torch
from torch import nn
one, two = nn.Sequential(nn.Linear(3, 3)), nn.Sequential(nn.Linear(3, 1))
for _ in range(2):
    two.zero_grad()
    (two(one(torch.ones(3))).sum() +
     two(torch.zeros(3)).sum()).backward()
"""


def test_a_module_has_the_name_of_its_model_and_stands_where_that_is_called(tmp_path: Path) -> None:
    trace = Trace(record(tmp_path, TWO_MODELS))
    pages = Pages(trace)
    graph = next(size for size in pages.graphs() if size.nodes)
    walk = Walk(trace, pages, graph.id, graph.ops)
    layers = [module for module in trace.modules.values() if module.cls == "Linear"]
    facts = [fact for m in layers for fact in walk.facts(("module", graph.id, m.id))]
    assert {fact.text for fact in facts if fact.label == "module"} == {"one.0 (Linear)", "two.0 (Linear)"}
    assert [fact.site.line for fact in facts if fact.label == "at" and fact.site is not None] == [6, 6]
