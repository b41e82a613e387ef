"""The pytest plugin and the helpers of gradscope.testing, as people's own tests use them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import gradscope
from gradscope.testing import assert_gradients_reach, assert_no_findings, assert_same_graph

ROOT = Path(__file__).parents[2]

TESTS = """
import pytest
import torch
from torch import nn


def train(cut):
    one, two = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        hidden = one(torch.ones(4, 3))
        two(hidden.detach() if cut else hidden).sum().backward()
        opt.step()


def test_cut():
    train(cut=True)


def test_whole():
    train(cut=False)


@pytest.mark.gradscope(fail_on="warning")
def test_marked():
    train(cut=True)


@pytest.mark.gradscope(select=["GS1"])
def test_marked_for_other_rules():
    train(cut=True)


@pytest.mark.gradscope(select="GS1, GS2")
def test_marked_for_rules_in_one_string():
    train(cut=True)


def test_fails_by_itself():
    train(cut=True)
    assert False, "its own"


def test_fixture(gradscope):
    with gradscope:
        train(cut=True)
    assert [finding.code for finding in gradscope.findings] == ["GS301"]


def test_without_torch():
    pass
"""


def run(folder: Path, *options: str) -> str:
    (folder / "test_theirs.py").write_text(TESTS)
    # where `CI` is set pytest prints each failure once more, in its summary
    alone = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "gradscope.pytest_plugin",
            "-p",
            "no:cacheprovider",
            "-rA",
            *options,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**alone, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    return done.stdout


def outcomes(said: str) -> dict[str, str]:
    lines = [line.split() for line in said.splitlines() if line.startswith(("PASSED", "FAILED"))]
    return {words[1].rpartition("::")[2]: words[0] for words in lines}


def test_only_what_is_marked_is_watched(tmp_path: Path) -> None:
    said = run(tmp_path)
    told = outcomes(said)
    assert told.pop("test_marked") == "FAILED" and told.pop("test_fails_by_itself") == "FAILED"
    assert set(told.values()) == {"PASSED"}, said
    assert "[GS301]" in said and "test_theirs.py:13" in said, said
    assert "scope." not in said, "a test has no scope to ask"


def test_each_test_is_watched_with_the_option(tmp_path: Path) -> None:
    said = run(tmp_path, "--gradscope")
    told = outcomes(said)
    failed = {name for name, how in told.items() if how == "FAILED"}
    assert {"test_cut", "test_marked", "test_fails_by_itself"} <= failed, said
    assert {"test_whole", "test_marked_for_other_rules", "test_without_torch"} <= set(told) - failed, said
    own = said[said.index("test_fails_by_itself") :]
    assert "its own" in own and "gradscope" in own and "GS301" in own, (
        "its findings stand beside its own failure"
    )


@pytest.mark.nightly
def test_what_fails_no_test_stands_in_its_section(tmp_path: Path) -> None:
    (tmp_path / "test_quiet.py").write_text(
        "import torch\ndef test_kept():\n"
        "    frozen, w = torch.ones(3), torch.ones(3, requires_grad=True)\n"
        "    optimizer = torch.optim.SGD([w, frozen], lr=0.1)\n"
        "    for _ in range(6):\n"
        "        optimizer.zero_grad()\n        (w * frozen).sum().backward()\n        optimizer.step()\n"
    )
    said = run(tmp_path, "--gradscope", "test_quiet.py")
    assert outcomes(said) == {"test_kept": "PASSED"}
    assert "gradscope call" in said and "note[GS208]" in said, said


@pytest.mark.nightly
def test_an_exception_that_the_test_has_caught_fails_it_not(tmp_path: Path) -> None:
    again = "    x = torch.ones(3, requires_grad=True)\n    loss = (x * x).sum()\n    loss.backward()\n"
    (tmp_path / "test_refused.py").write_text(
        "import pytest, torch\n"
        "def test_leaf():\n    w = torch.ones(3, requires_grad=True)\n"
        "    with pytest.raises(RuntimeError):\n        w += 1\n"
        f"def test_twice():\n{again}    with pytest.raises(RuntimeError):\n        loss.backward()\n"
        "def test_no_graph():\n    with pytest.raises(RuntimeError):\n        torch.ones(3).sum().backward()\n"
        f"def test_left():\n{again}    loss.backward()\n"
        f"def test_raised_anew():\n{again}    try:\n        loss.backward()\n"
        "    except RuntimeError as error:\n        raise ValueError('its own') from error\n"
    )
    said = run(tmp_path, "--gradscope", "-rA", "test_refused.py")
    told = outcomes(said)
    assert {name for name, how in told.items() if how == "FAILED"} == {"test_left", "test_raised_anew"}, said
    assert "error[GS105]" in said and "error[GS303]" in said, "told beside the tests that pass"


def test_a_wrong_argument_of_the_marker_is_said_without_our_source(tmp_path: Path) -> None:
    (tmp_path / "test_wrong.py").write_text(
        "import pytest\n@pytest.mark.gradscope(fail='error')\ndef test_wrong():\n    pass\n"
    )
    said = run(tmp_path)
    assert "test_wrong: the marker is gradscope(" in said and "pytest_plugin.py" not in said, said


def test_what_a_fixture_does_belongs_to_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_made.py").write_text(
        "import pytest, torch\nfrom torch import nn\n"
        "@pytest.fixture(params=[True, False], ids=['cut', 'whole'])\ndef loss(request):\n"
        "    one, two = nn.Linear(3, 3), nn.Linear(3, 1)\n"
        "    opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)\n"
        "    hidden = one(torch.ones(4, 3))\n"
        "    yield two(hidden.detach() if request.param else hidden).sum(), opt\n"
        "    opt.zero_grad()\n"
        "class TestStep:\n"
        "    def test_step(self, loss):\n        loss[0].backward()\n        loss[1].step()\n"
        "@pytest.fixture\ndef broken():\n    raise OSError('no data')\n"
        "def test_not_called(broken):\n    pass\n"
        "def test_after_it():\n    pass\n"
    )
    said = run(tmp_path, "--gradscope", "test_made.py")
    told = outcomes(said)
    assert told == {"test_step[cut]": "FAILED", "test_step[whole]": "PASSED", "test_after_it": "PASSED"}, said
    assert "[GS301]" in said and "test_made.py:8" in said and "no data" in said, said


def test_what_a_shared_fixture_does_is_told_of_each_test_that_uses_it(tmp_path: Path) -> None:
    (tmp_path / "test_shared.py").write_text(
        "import pytest, torch\nfrom test_theirs import train\nfrom torch import nn\n"
        "@pytest.fixture(scope='session')\ndef trained():\n    train(cut=True)\n    return 1\n"
        "@pytest.fixture(scope='module')\ndef sound():\n    train(cut=False)\n    return 2\n"
        "@pytest.fixture(scope='module')\ndef loss():\n    net = nn.Linear(3, 1)\n"
        "    return net(torch.ones(2, 3)).mean()\n"
        "def test_first(trained):\n    assert trained\n"
        "def test_second(trained, sound):\n    assert trained and sound\n"
        "@pytest.mark.gradscope(select='GS1')\ndef test_of_other_rules(trained):\n    assert trained\n"
        "def test_sound(sound):\n    assert sound\n"
        "def test_goes_back_through_it(loss):\n    loss.backward()\n"
    )
    said = run(tmp_path, "--gradscope", "test_shared.py")
    told = outcomes(said)
    assert {name for name, how in told.items() if how == "FAILED"} == {"test_first", "test_second"}, said
    assert (
        len(told) == 5 and said.count("in the fixture `trained`, set up for test_shared.py::test_first:") == 1
    ), said


def test_the_plugin_loads_neither_torch_nor_the_rules() -> None:
    loaded = "{'torch', 'gradscope.rules', 'rich'} & set(sys.modules)"
    asked = f"import sys, gradscope.pytest_plugin; print(sorted({loaded}))"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_gradients_reach() -> None:
    one, two = nn.Linear(3, 3), nn.Linear(3, 1)
    model = nn.ModuleDict({"one": one, "two": two})
    x = torch.ones(4, 3)
    assert_gradients_reach(two(one(x)).sum(), model)
    with pytest.raises(AssertionError, match=r"2 of 4 parameters: one\.weight and one\.bias"):
        assert_gradients_reach(two(one(x).detach()).sum(), model)


def test_gradients_reach_nothing_where_there_is_no_graph_or_all_is_frozen() -> None:
    model = nn.Linear(3, 1)
    loss = model(torch.ones(4, 3)).sum()
    with pytest.raises(AssertionError, match=r"the loss has no graph .* any of 2 parameters"):
        assert_gradients_reach(loss.detach(), model)
    with pytest.raises(gradscope.GradscopeError, match="as a tensor, not a float"):
        assert_gradients_reach(loss.item(), model)  # type: ignore[arg-type]
    with pytest.raises(gradscope.GradscopeError, match="not a Linear"):
        assert_gradients_reach(model, loss)  # type: ignore[arg-type]
    model.requires_grad_(False)
    with pytest.raises(AssertionError, match="none of 2 parameters requires a gradient"):
        assert_gradients_reach(model(torch.ones(4, 3)).sum(), model)


@pytest.mark.parametrize("more", [(), ("--gradscope",)])
def test_no_frame_of_the_plugin_stands_in_a_failure(more: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(
        "import contextlib\n\n@contextlib.contextmanager\ndef checked():\n    yield\n    assert 1 == 2\n"
    )
    (tmp_path / "test_it.py").write_text(
        "from helper import checked\n\n@checked()\ndef test_it():\n    pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *more, "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert "assert 1 == 2" in done.stdout
    assert "pytest_plugin" not in done.stdout, done.stdout


def test_no_findings() -> None:
    w = torch.ones(3, requires_grad=True)
    with assert_no_findings():
        (w * w).sum().backward()
    with pytest.raises(AssertionError, match="GS101"), assert_no_findings():
        b = w * 1
        loss = (b * b).sum()
        b.data.zero_()
        loss.backward()
    with pytest.raises(ZeroDivisionError), assert_no_findings():
        _ = 1 / 0


def test_no_findings_in_a_scope_that_is_given() -> None:
    w = torch.ones(3, requires_grad=True)
    with gradscope.watch() as scope:
        with pytest.raises(gradscope.GradscopeError, match="not ended"):
            assert_no_findings(scope)
        b = w * 1
        loss = (b * b).sum()
        b.data.zero_()
        loss.backward()
    with pytest.raises(AssertionError, match="GS101"):
        assert_no_findings(scope)
    with assert_no_findings(scope, select="GS3") as given:
        assert given is scope
    with pytest.raises(gradscope.GradscopeError, match="not a str"):
        assert_no_findings("error")  # type: ignore[arg-type]
    with pytest.raises(gradscope.GradscopeError, match="fail_on is one of"):
        assert_no_findings(scope, fail_on="bad")


@pytest.mark.filterwarnings("error")
def test_no_findings_without_a_block_is_told() -> None:
    with pytest.warns(RuntimeWarning, match="has checked nothing"):
        assert_no_findings()
    with assert_no_findings():
        pass

    @assert_no_findings()
    def decorated() -> int:
        return 3

    assert decorated() == 3


def test_same_graph() -> None:
    w = torch.ones(3, requires_grad=True)
    with pytest.raises(gradscope.GradscopeError, match="not a Scope"):
        assert_same_graph(gradscope.watch(), w)  # type: ignore[arg-type]
    assert_same_graph((w * 2).sum(), (w * 3).sum())
    with pytest.raises(AssertionError, match=r"MulBackward0 .* and AddBackward0"):
        assert_same_graph((w * 2).sum(), (w + 3).sum())
    v = torch.ones(3, requires_grad=True)
    with pytest.raises(
        AssertionError, match="MulBackward0 leads to AccumulateGrad, AccumulateGrad and to Accum"
    ):
        assert_same_graph((w * v).sum(), (w * v.detach()).sum())
    with pytest.raises(AssertionError, match="AccumulateGrad"):
        assert_same_graph(w.exp().exp().sum(), w.exp().exp().exp().sum())
