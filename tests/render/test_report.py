"""Each output says the same of a report, in its own form."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import sarif_shape
from written import SOURCE, corrupting, made_up, site, use_rules, write_trace

from gradscope.check import Report, examine
from gradscope.model import Finding, GradscopeError, Since
from gradscope.render import renderer_for, renderers, write_report
from gradscope.render.frames import balanced
from gradscope.render.terminal import print_rows
from gradscope.render.text import _heading_rows, report_rows
from gradscope.store import Trace

NASTY = "x\x1b[31m\u202e`|<b>[bold]%0A::error::\udc80\nnext"


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    use_rules(monkeypatch, made_up("GS101", corrupting))
    return examine(write_trace(tmp_path))


@pytest.fixture
def nasty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """A report in which every text is the worst that a program can hold."""

    def check(trace: Trace) -> list[Finding]:
        where = site(trace, 1, 1, 40)
        since = Since(5, called=NASTY)
        return [
            Finding(NASTY, cause=where, cause_label=NASTY, seen=(NASTY,), why=NASTY, fix=NASTY, since=since)
        ]

    use_rules(monkeypatch, made_up("GS101", check))
    source = NASTY.replace("\udc80", "").replace("\n", " ")
    program = {"argv": [NASTY], "exception": {"type": NASTY, "text": NASTY}}
    return examine(write_trace(tmp_path, source, program=program))


def rendered(report: Report, form: str) -> str:
    return renderers()[form].render(report)


def test_full(report: Report) -> None:
    assert rendered(report, "full") == (
        """\
error[GS101]: `b` was overwritten behind autograd's back: the gradient of `a` is wrong
 --> train.py:5:1
  |
4 | loss = torch.mean(b * b)
  |                   ----- saved here for backward, as [9., 2., 2.]
5 | b.data.zero_()
  | ^^^^^^^^^^^^^^ cause: written through `.data`
7 | loss.backward()
  | --------------- effect: read [0., 0., 0.]
  |
 seen: a.grad is [0., 0., 0.]; with the saved values it is [6., 1.33, 1.33]
  why: `.data` shares storage with `b` but not its version counter
  fix: write to a copy
 more: gradscope explain GS101

found: 1 error
  run: 0 steps, 1 backward pass, 1 distinct graph with 0 nodes
 cost: not measured
 next: gradscope explain GS101
       gradscope graph
"""
    )


def frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, **sites: Any) -> str:
    """The frame of a finding at these (line, column, end[, options]) places."""

    def check(trace: Trace) -> list[Finding]:
        placed = {k: site(trace, *v[:3], **(v[3] if len(v) > 3 else {})) for k, v in sites.items()}
        return [Finding("m", **placed)]

    use_rules(monkeypatch, made_up("GS101", check))
    text = rendered(examine(write_trace(tmp_path, source)), "full")
    return text[text.index("-->") : text.index(" more:")].rstrip()


def test_frame_over_several_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "loss = f(\n    a,\n    b,\n)\nloss.backward()\n"
    assert frame(tmp_path, monkeypatch, source, cause=(1, 8, 2, {"end_line": 4}), effect=(5, 1, 16)) == (
        "--> train.py:1:8\n  |\n1 | loss = f(\n  |        ^^\n...\n"
        "4 | )\n  | ^ cause\n5 | loss.backward()\n  | --------------- effect\n  |"
    )


def test_frame_in_two_files_and_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = frame(tmp_path, monkeypatch, SOURCE, cause=(2, 5, 19, {"name": "helpers.py"}), effect=(7, 1, 16))
    assert shown == (
        "--> helpers.py:2:5\n  |\n2 |     t.data.zero_()\n  |     ^^^^^^^^^^^^^^ cause\n  |\n"
        " ::: train.py:7:1\n  |\n7 | loss.backward()\n  | --------------- effect\n  |"
    )


def test_frame_shows_one_line_between_and_dots_for_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "one\ntwo\nthree\nfour\nfive\nsix\n"
    assert "1 | one\n  | ^^^ cause\n2 | two\n3 | three\n" in frame(
        tmp_path, monkeypatch, source, cause=(1, 1, 4), effect=(3, 1, 6)
    )
    assert "  | ^^^ cause\n...\n6 | six" in frame(
        tmp_path, monkeypatch, source, cause=(1, 1, 4), effect=(6, 1, 4)
    )


def test_frame_of_one_span_that_is_cause_and_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = frame(tmp_path, monkeypatch, "step()\n", cause=(1, 1, 7), effect=(1, 1, 7))
    assert shown.endswith("1 | step()\n  | ^^^^^^ cause\n  |        effect\n  |")


def test_frame_underlines_cells_not_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = frame(tmp_path, monkeypatch, "\tf('損失'); g()\n", cause=(1, 11, 14))
    assert "1 |     f('損失'); g()\n  |" + " " * 16 + "^^^ cause" in shown


def test_frame_crops_long_lines_around_the_span(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "x = [" + "0, " * 200 + "bad(), " + "1, " * 200 + "]\n"
    shown = frame(tmp_path, monkeypatch, source, cause=(1, source.index("bad") + 1, source.index("bad") + 6))
    code, underline = shown.splitlines()[2:4]
    assert len(code) <= 100
    assert code[underline.index("^") : underline.rindex("^") + 1] == "bad()"


@pytest.mark.parametrize("line", [0, 99])
def test_frame_without_source(line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "(source not recorded)\n" in frame(tmp_path, monkeypatch, SOURCE, cause=(line, 1, 5))


def test_full_folds_counts_and_shortens_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(trace: Trace) -> list[Finding]:
        return [
            Finding(f"note {n}", cause=site(trace, 5, n, n + 1), effect=site(trace, 10 + n, 1, 5), count=n)
            for n in range(1, 41)
        ]

    use_rules(monkeypatch, made_up("GS102", check, severity="note"))
    text = rendered(examine(write_trace(tmp_path)), "full")
    assert text.count("-->") == 3
    assert text.count("note[GS102]") == 23
    assert "note[GS102]: note 2  ×2\n" in text
    assert "note[GS102]: train.py:5: note 9  ×9\n" in text
    assert "and 17 more: gradscope check --output-format concise" in text
    assert "found: 40 notes" in text


def test_a_name_is_not_cut_in_two_for_lines_of_equal_length() -> None:
    name = "`trainer.model.time_embedding.timembedding.0.weight`:"
    lines = balanced(f"{name} frozen all the time, though `optim` holds it", 88)
    assert len(lines) == 2 and lines[0].startswith(name)


def test_full_without_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_rules(monkeypatch)
    program = {"exception": {"type": "ValueError", "text": "no"}}
    text = rendered(examine(write_trace(tmp_path, program=program)), "full")
    assert text.startswith("found: nothing to report\n")
    assert "ended by ValueError" in text


@pytest.mark.parametrize("width", [30, 60, 100])
def test_full_fits_the_window(width: int, report: Report) -> None:
    rows = [row.plain for row in report_rows(report, width)]
    assert all(len(row) <= max(width, 60) for row in rows)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_colour_on_a_terminal_only(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def printed(stream: io.StringIO) -> str:
        print_rows(lambda width: report_rows(report, width), stream)
        return stream.getvalue()

    assert "\x1b[" in printed(Terminal())
    assert "\x1b[" not in printed(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in printed(Terminal())


@pytest.mark.parametrize("form", sorted(renderers()))
def test_no_text_of_the_program_can_steer_what_shows_it(form: str, nasty: Report) -> None:
    text = rendered(nasty, form)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\udc80]", text)
    text.encode("utf-8")
    if form == "github":
        assert len(text.splitlines()) == 1
        assert "%250A" in text
    if form == "markdown":
        assert "\\<b\\>" in text


@pytest.mark.parametrize("form", sorted(set(renderers()) - {"diff"}))
def test_a_finding_without_a_place(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_rules(monkeypatch, made_up("GS101", lambda trace: [Finding("nowhere")]))
    assert "nowhere" in rendered(examine(write_trace(tmp_path)), form)


CONTRACT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["schema_version", "program", "summary", "unwatched", "findings"],
    "properties": {
        "schema_version": {"const": 1},
        "unwatched": {"type": "array", "items": {"type": "string"}},
        "program": {
            "type": "object",
            "required": ["argv", "exit_code", "exception"],
            "additionalProperties": False,
            "properties": {
                "argv": {"type": "array", "items": {"type": "string"}},
                "exit_code": {"type": ["integer", "null"]},
                "exception": {"type": ["object", "null"]},
            },
        },
        "summary": {
            "type": "object",
            "required": ["steps", "passes", "distinct_graphs", "nodes", "overhead"],
            "additionalProperties": False,
            "properties": {
                "overhead": {"type": ["number", "null"]},
            },
            "patternProperties": {"^(steps|passes|distinct_graphs|nodes)$": {"type": "integer"}},
        },
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [
                    "code",
                    "name",
                    "severity",
                    "message",
                    "count",
                    "at_least",
                    "since",
                    "since_called",
                    "ranks",
                    "locations",
                    "seen",
                    "why",
                    "fix",
                ],
                "additionalProperties": False,
                "properties": {
                    "code": {"type": "string", "pattern": r"^GS\d{3}$"},
                    "name": {"type": "string"},
                    "severity": {"enum": ["error", "warning", "note"]},
                    "message": {"type": "string"},
                    "count": {"type": "integer", "minimum": 1},
                    "at_least": {"type": "boolean"},
                    "since": {"type": ["integer", "null"], "minimum": 1},
                    "since_called": {"type": "string"},
                    "ranks": {"type": ["array", "null"], "items": {"type": "integer"}},
                    "seen": {"type": "array", "items": {"type": "string"}},
                    "why": {"type": "string"},
                    "fix": {"type": "string"},
                    "locations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": [
                                "role",
                                "path",
                                "line",
                                "column",
                                "end_line",
                                "end_column",
                                "function",
                            ],
                            "additionalProperties": False,
                            "properties": {
                                "role": {"enum": ["cause", "effect", "related"]},
                                "path": {"type": "string"},
                                "function": {"type": "string"},
                            },
                            "patternProperties": {"(line|column)$": {"type": "integer"}},
                        },
                    },
                },
            },
        },
    },
}


@pytest.mark.parametrize("which", ["report", "nasty"])
def test_json_keeps_its_contract(which: str, request: pytest.FixtureRequest) -> None:
    data = json.loads(rendered(request.getfixturevalue(which), "json"))
    jsonschema.validate(data, CONTRACT)
    if which == "report":
        assert data["program"] == {"argv": ["train.py"], "exit_code": 0, "exception": None}
        assert data["findings"][0]["locations"][0] == {
            "role": "cause", "path": "train.py", "line": 5, "column": 1, "end_line": 5, "end_column": 15,
            "function": "main",
        }  # fmt: skip


@pytest.mark.parametrize("which", ["report", "nasty"])
def test_sarif_keeps_to_the_standard(which: str, request: pytest.FixtureRequest) -> None:
    data = json.loads(rendered(request.getfixturevalue(which), "sarif"))
    jsonschema.validate(data, sarif_shape.LOG, format_checker=jsonschema.FormatChecker())


def test_sarif(report: Report) -> None:
    data = json.loads(rendered(report, "sarif"))
    assert data["version"] == "2.1.0"
    (run,) = data["runs"]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "GS101"
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "train.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 5, "startColumn": 1, "endLine": 5, "endColumn": 15},
    }
    assert [place["message"]["text"].split(":")[0] for place in result["relatedLocations"]] == [
        "cause",
        "effect",
        "related",
    ]


def test_sarif_fingerprints_do_not_move_with_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fingerprints(source: str, *lines: int) -> list[str]:
        use_rules(
            monkeypatch, made_up("GS101", lambda t: [Finding("m", cause=site(t, n, 1, 3)) for n in lines])
        )
        data = json.loads(rendered(examine(write_trace(tmp_path, source)), "sarif"))
        return [r["partialFingerprints"]["gradscope/v1"] for r in data["runs"][0]["results"]]

    assert fingerprints("f(x)\n", 1) == fingerprints("\n\nf( x )\n", 3) != fingerprints("g(x)\n", 1)
    assert len(set(fingerprints("f(x)\nf(x)\n", 1, 2))) == 2


def test_concise_and_github(report: Report) -> None:
    assert rendered(report, "concise").startswith("train.py:5:1: error GS101 `b` was overwritten")
    assert rendered(report, "github").startswith(
        "::error file=train.py,line=5,endLine=5,col=1,endColumn=15,title=GS101 rule-gs101::`b` was overwritten"
    )


def test_markdown(report: Report) -> None:
    text = rendered(report, "markdown")
    assert "## error GS101: `b` was overwritten behind autograd's back" in text
    assert "5 | b.data.zero_()\n  | ^^^^^^^^^^^^^^ cause: written through `.data`" in text


@pytest.mark.parametrize("suffix", [".txt", ".md", ".json", ".sarif"])
def test_written_by_suffix(suffix: str, nasty: Report, tmp_path: Path) -> None:
    path = tmp_path / f"report{suffix}"
    write_report(nasty, path)
    assert path.read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("name", ["x.htm", "x", "nowhere/x.json", "folder.json"])
def test_a_report_that_cannot_be_written_is_refused_at_once(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(GradscopeError):
        renderer_for(tmp_path / name)


def test_how_often_and_since_when_leave_the_title_its_width() -> None:
    long = Finding("a gradient that is far too large was stepped with, " * 2, code="GS401", severity="error")
    late = replace(long, count=63, at_least=True, since=Since(946, "epoch 3, batch 120, of the second stage"))
    plain = [row.plain for row in _heading_rows(long, 100)]
    assert [row.plain for row in _heading_rows(late, 100)] == [*plain, " " * 14 + late.extent]
    short = replace(late, message="too large")
    assert [row.plain for row in _heading_rows(short, 100)] == [f"error[GS401]: too large  {late.extent}"]
