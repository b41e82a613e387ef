"""One call for a logarithm and what it is taken of: the same numbers, and finite where the two were not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from edited import read, run

from gradscope.fixes.logarithms import with_softmax, with_sum


def same_and_finite(before: str, after: str) -> None:
    """Both give the same where nothing underflows, and the second is finite where something does."""
    x = torch.randn(3, 4)
    torch.testing.assert_close(run(after)["f"](x), run(before)["f"](x))
    assert not run(before)["f"](1000 * x).isfinite().all()
    assert run(after)["f"](1000 * x).isfinite().all()


@pytest.mark.parametrize(
    ("softmax", "log"),
    [
        ("F.softmax(x, dim=1)", "torch.log(F.softmax(x, dim=1))"),
        ("torch.softmax(x, 1)", "torch.softmax(x, 1).log()"),
        ("x.softmax(-1)", "x.softmax(-1).log()"),
        ("torch.nn.functional.softmax(\n        x,  # scores\n        -1)",
         "torch.log(torch.nn.functional.softmax(\n        x,  # scores\n        -1))"),
    ],
)  # fmt: skip
def test_the_logarithm_of_a_softmax_is_one_call(softmax: str, log: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x):\n    return {log}  # π\n")
    text = program.after(with_softmax(program.trace, program.site(softmax), program.site(log)))
    assert ".softmax(" not in text and text.count("log") == 1
    same_and_finite(program.text, text)


def test_a_softmax_and_its_logarithm_on_two_lines_are_both_changed(tmp_path: Path) -> None:
    for log in ("p.log()", "torch.log(p)"):
        program = read(tmp_path, f"def f(x):\n    p = F.softmax(x, 1)  # log of it\n    return 2 * {log}\n")
        edits = with_softmax(program.trace, program.site("F.softmax(x, 1)"), program.site(log))
        assert program.after(edits).endswith("    p = F.log_softmax(x, 1)  # log of it\n    return 2 * p\n")
        same_and_finite(program.text, program.after(edits))


@pytest.mark.parametrize(
    ("softmax", "log"),
    [
        ("F.softmax(x, 1)", "torch.log(F.softmax(x, 1) + 1e-9)"),
        ("F.softmax(x, 1)", "torch.log(F.softmax(x, 1)[0])"),
        ("softmax(x, 1)", "torch.log(softmax(x, 1))"),
    ],
)
def test_a_logarithm_of_something_else_than_the_softmax_stays(softmax: str, log: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"from torch import softmax\ndef f(x):\n    return {log}\n")
    assert with_softmax(program.trace, program.site(softmax), program.site(log)) == ()


def test_a_layer_that_is_called_softmax_stays(tmp_path: Path) -> None:
    log = "torch.log(self.softmax(self.fc(x) * 500))"
    program = read(
        tmp_path,
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc, self.softmax = nn.Linear(2, 2), nn.Softmax(1)\n    def forward(self, x):\n"
        f"        return {log}\n    def parts(self, x):\n        p = self.softmax(x)\n        return p.log()\n",
    )
    softmax = program.site("self.softmax(self.fc(x) * 500)")
    assert with_softmax(program.trace, softmax, program.site(log)) == ()
    assert with_softmax(program.trace, program.site("self.softmax(x)"), program.site("p.log()")) == ()


def test_neither_line_changes_where_only_one_of_them_can(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "from torch import log, softmax\ndef f(x):\n    p = F.softmax(x, 1)\n    q = softmax(x, 1)\n"
        "    return log(p), torch.log(q), torch.log(p, out=q)\n",
    )
    plain, bare = program.site("F.softmax(x, 1)"), program.site("softmax(x, 1)")
    for one, other in ((plain, "log(p)"), (bare, "torch.log(q)"), (plain, "torch.log(p, out=q)")):
        assert with_softmax(program.trace, one, program.site(other)) == ()


@pytest.mark.parametrize(
    ("log", "wanted"),
    [
        ("torch.log(torch.exp(x).sum(-1))", "torch.logsumexp(x, -1)"),
        ("torch.exp(x).sum(dim=1, keepdim=True).log()", "torch.logsumexp(x, dim=1, keepdim=True)"),
        ("torch.log(torch.sum(x.exp(), 1))", "torch.logsumexp(x, 1)"),
        ("(x * 2).exp().sum((0, 1)).log()", "torch.logsumexp(x * 2, (0, 1))"),
        ("torch.log(torch.exp((x)).sum((-1)))", "torch.logsumexp(x, -1)"),
        ("torch.log(\n        torch.exp(x)\n        .sum(1, True)\n    )", "torch.logsumexp(x, 1, True)"),
    ],
)
def test_the_logarithm_of_a_sum_of_exponentials_is_one_call(log: str, wanted: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x):\n    return {log}\n")
    call, edits = with_sum(program.trace, program.site(log))
    assert call == wanted
    same_and_finite(program.text, program.after(edits))


@pytest.mark.parametrize(
    "log",
    [
        "torch.log(torch.exp(x).sum())",
        "torch.log(torch.exp(x).mean(1))",
        "torch.log(torch.exp(x).sum(1) + 1)",
        "torch.log(torch.exp(x).sum(1, dtype=y))",
        "torch.log(torch.exp(x).sum(1), out=y)",
        "torch.log2(torch.exp(x).sum(1))",
        "torch.log(y)",
    ],
)
def test_other_logarithms_are_no_logsumexp(log: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x, y):\n    return {log}\n")
    assert with_sum(program.trace, program.site(log)) == ("", ())


def test_without_a_name_for_torch_the_call_is_only_told(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(x):\n    return x.exp().sum(1).log()\n", head="from torch import ones\nones(1)\n"
    )
    assert with_sum(program.trace, program.site("x.exp().sum(1).log()")) == ("torch.logsumexp(x, 1)", ())
