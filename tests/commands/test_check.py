"""Rules' findings become what the user is told: selected, folded, silenced, in order."""

from __future__ import annotations

from pathlib import Path

import pytest
from written import SOURCE, corrupting, made_up, site, use_rules, write_trace

from gradscope.check import check, examine, fails
from gradscope.config import Config, load_config
from gradscope.model import Finding, GradscopeError
from gradscope.rules import all_rules, find_rule
from gradscope.store import Trace


def one(line: int, message: str = "wrong", **more: object):  # type: ignore[no-untyped-def]
    return lambda trace: [Finding(message, cause=site(trace, line, 1, 5), **more)]


def codes(trace: Trace, config: Config | None = None) -> list[str]:
    return [finding.code for finding in check(trace, config)]


def test_completes_findings_from_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_rules(monkeypatch, made_up("GS101", corrupting))
    (finding,) = check(write_trace(tmp_path))
    assert (finding.code, finding.name, finding.severity) == ("GS101", "rule-gs101", "error")
    assert [(p.role, p.path, p.line) for p in finding.locations] == [
        ("cause", "train.py", 5),
        ("effect", "train.py", 7),
        ("related", "train.py", 4),
    ]


def test_paths_outside_the_working_directory_stay_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_rules(monkeypatch, made_up("GS101", corrupting))
    (tmp_path / "elsewhere").mkdir()
    trace = write_trace(tmp_path)
    trace.meta["program"]["cwd"] = str(tmp_path)
    found = one(1)(trace)[0].cause
    trace.meta["program"]["cwd"] = str(tmp_path / "elsewhere")
    use_rules(monkeypatch, made_up("GS101", lambda t: [Finding("wrong", cause=found)]))
    assert check(trace)[0].locations[0].path == str(tmp_path / "train.py")


def test_a_finding_may_lower_its_severity_but_not_raise_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_rules(
        monkeypatch,
        made_up("GS101", one(1, severity="note")),
        made_up("GS102", one(2, severity="error"), severity="warning"),
    )
    assert [(f.code, f.severity) for f in check(write_trace(tmp_path))] == [
        ("GS102", "warning"),
        ("GS101", "note"),
    ]


def test_equal_findings_are_one_with_the_sum_of_their_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_rules(
        monkeypatch,
        made_up("GS101", lambda t: one(1, count=2)(t) + one(1, count=3)(t) + one(2)(t) + one(1, "worse")(t)),
    )
    assert [(f.message, f.count) for f in check(write_trace(tmp_path))] == [
        ("wrong", 5),
        ("worse", 1),
        ("wrong", 1),
    ]


def test_notes_that_say_the_same_of_a_file_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_rules(
        monkeypatch,
        made_up("GS102", lambda t: [*one(2)(t), *one(4, "alike", count=2)(t)], severity="note"),
        made_up("GS101", lambda t: [*one(1)(t), *one(3)(t)], severity="warning"),
    )
    trace = write_trace(tmp_path)
    *warnings, note = check(trace)
    assert [f.message for f in warnings] == ["wrong", "wrong"]
    assert (note.message, note.count) == ("wrong (and 1 more place)", 3)
    assert [(p.role, p.line) for p in note.locations] == [("cause", 2), ("related", 4)]
    assert len(examine(trace, each=True).findings) == 4


def test_findings_of_one_place_that_differ_in_numbers_are_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ("`model`: 3 layers", "`model`: 2 layers", "`model[3]`: 2 layers")
    found = [one(2, text, count=2, at_least=text == said[1]) for text in said]
    use_rules(monkeypatch, made_up("GS201", lambda t: [f for rule in found for f in rule(t)]))
    first, other = check(write_trace(tmp_path))
    assert (first.message, first.count, first.at_least) == (said[0], 4, True)
    assert other.message == said[2]


def test_a_consequence_is_folded_into_its_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = frozenset({("optimizer", 0)})
    root = made_up("GS203", one(1, subjects=about), over=("GS201", "GS202"))
    same_subject = made_up(
        "GS201", lambda t: one(5, subjects=about)(t) + one(6, subjects=frozenset({("optimizer", 1)}))(t)
    )
    same_line = made_up("GS202", one(1))
    use_rules(monkeypatch, same_subject, same_line, root)
    found = check(write_trace(tmp_path))
    assert [(f.code, f.locations[0].line) for f in found] == [("GS202", 1), ("GS203", 1), ("GS201", 6)]
    assert codes(write_trace(tmp_path), Config(ignore=("GS203",))) == ["GS202", "GS201", "GS201"]


def test_a_consequence_concerns_no_parameter_that_its_roots_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, both = ({("parameter", n) for n in ids} for ids in ((1,), (2,), (1, 2)))
    roots = made_up(
        "GS203",
        lambda t: one(1, subjects=frozenset(first))(t) + one(2, subjects=frozenset(second))(t),
        over=("GS201",),
    )
    consequence = made_up("GS201", one(5, subjects=frozenset(both)))
    more = made_up("GS202", one(6, subjects=frozenset(both)))
    half = made_up("GS204", one(3, subjects=frozenset(first)), over=("GS202",))
    use_rules(monkeypatch, consequence, more, roots, half)
    assert [f.code for f in check(write_trace(tmp_path))] == ["GS203", "GS203", "GS204", "GS202"]


def test_rules_fold_without_circles() -> None:
    over = {code: rule.over for code, rule in all_rules().items()}

    def below(code: str, path: tuple[str, ...] = ()) -> None:
        assert code not in path, f"{code} is folded into itself by way of {path}"
        for other in over.get(code, ()):
            below(other, (*path, code))

    for code in over:
        below(code)


def test_most_severe_first_then_by_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_rules(
        monkeypatch,
        made_up("GS301", one(1), severity="note"),
        made_up("GS302", one(2), severity="warning"),
        made_up("GS303", lambda t: one(6)(t) + one(3)(t)),
    )
    found = [(f.severity, f.locations[0].line) for f in check(write_trace(tmp_path))]
    assert found == [("error", 3), ("error", 6), ("warning", 2), ("note", 1)]


def test_a_rule_that_raises_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(trace: Trace) -> list[Finding]:
        raise KeyError("missing")

    use_rules(monkeypatch, made_up("GS101", broken), made_up("GS102", one(1)))
    report = examine(write_trace(tmp_path))
    assert [f.code for f in report.findings] == ["GS102"]
    assert len(report.faults) == 1
    assert report.faults[0].startswith("rule GS101 failed")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (Config(), ["GS101", "GS201"]),
        (Config(select=("GS2",)), ["GS201"]),
        (Config(select=("GS",)), ["GS101", "GS201", "GS901"]),
        (Config(extend_select=("GS9",)), ["GS101", "GS201", "GS901"]),
        (Config(ignore=("GS2",)), ["GS101"]),
        (Config(select=("GS201",), ignore=("GS2",)), ["GS201"]),
        (Config(select=("gs1",)), ["GS101"]),
        (Config(select=("GS1",)).override(select=["GS2"]), ["GS201"]),
        (Config(ignore=("GS201",)).override(select=["GS201"]), ["GS201"]),
        (Config(ignore=("GS1",)).override(ignore=["GS2"]), []),
        (Config(select=()), []),
    ],
)
def test_selection(
    config: Config, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_rules(
        monkeypatch,
        made_up("GS101", one(1)),
        made_up("GS201", one(2)),
        made_up("GS901", one(3), default=False),
    )
    assert codes(write_trace(tmp_path), config) == expected


@pytest.mark.parametrize("key", ["select", "extend_select", "ignore"])
def test_an_unknown_code_is_an_error(key: str, tmp_path: Path) -> None:
    with pytest.raises(GradscopeError, match="`GS999`"):
        check(write_trace(tmp_path), Config(**{key: ("GS999",)}))


def test_a_rule_is_found_by_code_or_name() -> None:
    rule = next(iter(all_rules().values()))
    assert find_rule(rule.code.lower()) is rule
    assert find_rule(rule.name) is rule
    with pytest.raises(GradscopeError, match=f"did you mean `{rule.name}`"):
        find_rule(rule.name[:-2])


@pytest.mark.parametrize(
    ("edit", "silent"),
    [
        (("b.data.zero_()", "b.data.zero_()  # gradscope: ignore[GS101]"), True),
        (("loss.backward()", "loss.backward()  # noqa  # gradscope: ignore"), True),
        (("b.data.zero_()", "b.data.zero_()  # gradscope: ignore[GS2, GS1]"), True),
        (("b.data.zero_()", "b.data.zero_()  # gradscope: ignore[GS2]"), False),
        (("b.data.zero_()", "b.data.zero_()  # gradscope: ignore[]"), False),
        (("b.data.zero_()", "b.data.zero_(); '# gradscope: ignore'"), False),
        (("b = a + 2", "b = a + 2  # gradscope: ignore"), False),
        (("import torch\n", "# gradscope: ignore[GS101]\n"), True),
        (("import torch\n", "'''doc'''  # gradscope: ignore[GS101]\n"), False),
        (("import torch\n", "import torch  # gradscope: ignore[GS101]\n"), False),
    ],
)
def test_ignore_comments(
    edit: tuple[str, str], silent: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_rules(monkeypatch, made_up("GS101", corrupting), made_up("GS201", lambda t: []))
    report = examine(write_trace(tmp_path, SOURCE.replace(*edit)))
    assert (not report.findings) == silent
    told = not silent and "ignore[]" not in edit[1] and "'# gradscope" not in edit[1]
    assert bool(report.unused_ignores) == told


def test_ignore_within_a_call_of_several_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import torch\nx = f(\n    1,  # gradscope: ignore\n)\n"
    use_rules(monkeypatch, made_up("GS101", lambda t: [Finding("wrong", cause=site(t, 2, 5, 2, end_line=4))]))
    assert codes(write_trace(tmp_path, source)) == []


def test_sources_that_are_no_python_are_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_rules(monkeypatch, made_up("GS101", one(1)))
    assert codes(write_trace(tmp_path, "%%time  # gradscope: ignore\n'''")) == []
    assert codes(write_trace(tmp_path, "  '''\n(]} gradscope: \x00")) == ["GS101"]


@pytest.mark.parametrize(
    ("glob", "silent"),
    [("train.py", True), ("*.py", True), ("sub/*", False), ("tr*", True), ("helpers.py", False)],
)
def test_per_file_ignores(glob: str, silent: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_rules(monkeypatch, made_up("GS101", one(1)))
    config = Config(per_file_ignores=((glob, ("GS1",)),), root=tmp_path)
    assert (codes(write_trace(tmp_path), config) == []) == silent


def test_fail_on() -> None:
    warning = [Finding("odd", severity="warning")]
    assert [fails(warning, level) for level in ("error", "warning", "note", "never")] == [
        False,
        True,
        True,
        False,
    ]
    assert not fails([], "note")


def test_config_is_read_from_the_nearest_table(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.gradscope]\nselect = ["GS1"]\nignore = ["GS102"]\nfail-on = "error"\n'
        '[tool.gradscope.per-file-ignores]\n"tests/*" = ["GS2"]\n'
    )
    (inner / "pyproject.toml").write_text("[tool.other]\n")
    expected = Config(
        select=("GS1",),
        ignore=("GS102",),
        fail_on="error",
        per_file_ignores=(("tests/*", ("GS2",)),),
        root=tmp_path,
        baseline=tmp_path / "gradscope-baseline.json",
    )
    assert load_config(inner) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[tool.gradscope]\nselct = []", "selct"),
        ("[tool.gradscope]\nselect = 'GS1'", "select"),
        ("[tool.gradscope]\nignore = [1]", "ignore"),
        ("[tool.gradscope]\nfail-on = 'always'", "fail-on"),
        ("[tool.gradscope]\nfail-on = ['error']", "fail-on"),
        ("[tool.gradscope]\nper-file-ignores = ['x']", "per-file-ignores"),
        ("[tool.gradscope.per-file-ignores]\n'x.py' = 'GS1'", "x.py"),
        ("[tool]\ngradscope = 3", "tool.gradscope"),
        ("[tool.gradscope", "TOML"),
    ],
)
def test_config_errors_name_file_and_key(text: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(GradscopeError) as caught:
        load_config(tmp_path)
    assert "pyproject.toml" in str(caught.value)
    assert named in str(caught.value)
