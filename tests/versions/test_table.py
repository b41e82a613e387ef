"""The table of docs/versions.md: what is kept of earlier runs, and that each group has tests to run."""

from __future__ import annotations

from pathlib import Path

import pytest
import run

BEFORE = """Before.

| torch | python | numpy | date | rules | capture | loop | graph | crashes | why | transparency | examples |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| 2.10.0 | 3.11.7 | 2.4.6 | 2026-01-02 | 5 / 0 / 0 | - | - | - | 7 / 1 / 0 | - | - | - |

After.
"""


def rules_of(text: str) -> dict[str, tuple[str, str, str]]:
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| 2.")]
    return {cells[0].strip(): (cells[3], cells[4], cells[8]) for cells in rows}


@pytest.mark.parametrize(("date", "crashes"), [("2026-01-02", "7 / 1 / 0"), ("2026-01-03", "not run")])
def test_a_row_is_of_one_day(
    date: str, crashes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell of an older tree must not stand beside the date of a new one."""
    table = tmp_path / "versions.md"
    table.write_text(BEFORE)
    monkeypatch.setattr(run, "TABLE", table)
    given = {"python": "3.11.7", "numpy": "2.4.6", "date": date, "rules": "6 / 0 / 0"}
    run.keep({"torch": "2.10.0", **given})
    run.keep({"torch": "2.9.1", **given})
    text = table.read_text()
    assert text.startswith("Before.\n\n| torch") and text.endswith("|\n\nAfter.\n")
    assert list(rules_of(text)) == ["2.10.0", "2.9.1"], "the newest first"
    assert rules_of(text)["2.10.0"] == (date, "6 / 0 / 0", crashes)
    assert rules_of(text)["2.9.1"] == (date, "6 / 0 / 0", "not run")


@pytest.mark.parametrize("pattern", [name for names in run.GROUPS.values() for name in names])
def test_the_files_of_a_group_are_there(pattern: str) -> None:
    assert list((run.ROOT / "tests").rglob(pattern))
