"""The commands that need no torch: check, explain, rules, and how errors end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from written import SOURCE, corrupting, made_up, use_rules, write_trace

from gradscope.commands import main
from gradscope.places import last_trace, new_trace_path, point_last
from gradscope.rules import all_rules


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one finding in its last trace, as the working directory."""
    monkeypatch.chdir(tmp_path)
    use_rules(monkeypatch, made_up("GS101", corrupting), made_up("GS201", lambda t: [], severity="warning"))
    path = new_trace_path("train.py", tmp_path)
    write_trace(tmp_path).path.replace(path)
    point_last(path)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 1),
        (["--fail-on", "never"], 0),
        (["--fail-on", "error"], 1),
        (["--ignore", "GS1"], 0),
        (["--select", "GS2"], 0),
        (["--select", "GS2,GS101"], 1),
        (["--select", "GS2", "--extend-select", "GS1"], 1),
    ],
)
def test_check_exit_codes(options: list[str], code: int, here: Path) -> None:
    assert main(["check", *options]) == code


def test_check_prints_the_form_asked_for(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--output-format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "GS101"
    assert main(["check"]) == 1
    assert capsys.readouterr().out.startswith("error[GS101]")


@pytest.mark.parametrize(
    ("args", "suffixes"),
    [
        (["graph", "-o", "out.xyz"], {".svg", ".html"}),
        (["run", "-o", "out.xyz", "train.py"], {".svg", ".html", ".md"}),
        (["run", "--graph", "out.xyz", "train.py"], {".svg", ".html"}),
    ],
)
def test_an_unknown_suffix_is_answered_with_all_that_can_be_written(
    args: list[str], suffixes: set[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    said = capsys.readouterr().err
    assert suffixes <= set(re.findall(r"\.\w+", said)), said


def test_check_minds_pyproject(here: Path) -> None:
    (here / "pyproject.toml").write_text('[tool.gradscope]\nfail-on = "never"\n')
    assert main(["check"]) == 0
    assert main(["check", "--fail-on", "error"]) == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["check", "absent.gradscope"], "absent.gradscope"),
        (["check", "."], "directory"),
        (["check", "train.py"], "train.py is not a gradscope trace: `gradscope run train.py` makes one"),
        (["check", "--select", "GS999"], "GS999"),
        (["check", "--fail-on", "sometimes"], "sometimes"),
        (["check", "--frob"], "--frob"),
        (["frob"], "frob"),
        (["explain"], "CODE"),
        (["explain", "GS999"], "GS999"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(
    args: list[str], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "train.py").write_text(SOURCE * 3)
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gradscope: ")
    assert said in err
    assert len(err.splitlines()) == 1


def test_without_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 2
    assert "gradscope run" in capsys.readouterr().err


def test_last_trace_by_link_and_by_text(here: Path) -> None:
    first = last_trace(here)
    second = new_trace_path("train.py", here)
    assert second != first
    assert last_trace(here) == first
    point_last(second)
    assert last_trace(here) == second
    pointer = here / ".gradscope" / "last"
    pointer.unlink()
    pointer.write_text(f"{first.name}\n")
    assert last_trace(here) == first
    assert (here / ".gradscope" / ".gitignore").read_text() == "*\n"


def test_trace_names(tmp_path: Path) -> None:
    for argv0, start in [("a/my script.py", "my_script-"), ("-c", "c-"), ("", "python-"), ("../../x", "x-")]:
        path = new_trace_path(argv0, tmp_path)
        assert path.name.startswith(start)
        assert path.parent == tmp_path / ".gradscope"


def test_trace_goes_elsewhere_where_the_folder_is_read_only(tmp_path: Path) -> None:
    (tmp_path / ".gradscope").write_text("a file in the way")
    path = new_trace_path("train.py", tmp_path)
    assert path.is_file()
    assert tmp_path not in path.parents


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in ("check", "explain", "rules"))
    assert main([]) == 2
    assert main(["--version"]) == 0


@pytest.mark.parametrize("code", sorted(all_rules()))
def test_every_rule_is_explained(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code]) == 0
    out = capsys.readouterr().out
    rule = all_rules()[code]
    assert out.startswith(f"{code} {rule.name}  {rule.severity}")
    assert "Why: " in out
    assert "Fix: " in out
    assert "Not reported:\n" in out
    assert out.index("Reported:") < out.index("^ cause" if "^ cause" in out else "- effect")
    assert "# type:" not in out


def test_rules_lists_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:5] for line in lines if line.startswith("GS")] == list(all_rules())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_stdout_will_do(encoding: str, here: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "gradscope", "check", "--fail-on", "never"],
        cwd=here,
        capture_output=True,
        env={"PYTHONIOENCODING": encoding, "PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""},
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"found:" in ran.stdout


def test_a_reader_that_goes_away_is_no_error(here: Path) -> None:
    command = f"{sys.executable} -m gradscope rules | true; exit ${{PIPESTATUS[0]}}"
    env = {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(["bash", "-c", command], cwd=here, capture_output=True, env=env, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, b"")
