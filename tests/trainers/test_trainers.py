"""Programs as people write them for a trainer's library, run with that library itself.

`…_programs.py` lies here for each library. Its functions `bad_…` do one thing wrong and mark its line with the codes
that answer it (`# cause: GS201`; several where each would be right; words of the message may follow); those `good_…`
are right, and nothing of warning or error may be said of them. `KNOWN` lists what does not hold yet, with what is said
instead: a test of it fails as soon as it holds, so that the list stays true.
"""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from rule_programs import module_of

import gradscope
from gradscope.check import examine
from gradscope.config import Config
from gradscope.model import Finding

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
LIBRARIES = sorted(path.stem.removesuffix("_programs") for path in HERE.glob("*_programs.py"))
KNOWN = {
    "lightning-bad_manual_schedule_never_stepped": "silent",
    "lightning-bad_gan_not_untoggled": "GS303 at `detach()`, the line that froze the discriminator as related",
    "lightning-bad_ema_that_keeps_the_graph": "silent",
    "lightning-bad_configure_optimizers_returns_nothing": "silent",
    "lightning-bad_optimizer_step_without_its_closure": "silent: Lightning says it itself",
    "lightning-bad_both_optimizers_hold_everything": "silent: an autoencoder's two optimizers may share one",
    "lightning-bad_own_clearing_under_accumulation": "silent",
    "transformers-bad_extra_head_in_no_optimizer": "note GS206 at `train`: not where the head was made",
    "transformers-bad_teacher_in_training_mode": "silent",
    "transformers-bad_ema_that_keeps_graphs": "silent",
    "transformers-bad_head_replaced_by_a_callback": "notes GS302 and GS605 at `train`: not the replaced head",
}
_MARK = re.compile(r"# cause: (GS\d{3}(?:, GS\d{3})*)(?:: (.+))?")


def names(library: str, kind: str) -> list[str]:
    """The functions of a library's file, read without importing the library."""
    return re.findall(rf"(?m)^def ((?:{kind})\w*)", (HERE / f"{library}_programs.py").read_text())


def every(kind: str) -> list[object]:
    return [pytest.param(lib, name, id=f"{lib}-{name}") for lib in LIBRARIES for name in names(lib, kind)]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # trainers write checkpoints where they are started


@pytest.mark.parametrize(("library", "name"), every("bad"))
def test_mistake_is_told_at_its_line(library: str, name: str) -> None:
    program = loaded(library, name)
    found = findings(program)
    lines, first = inspect.getsourcelines(program)
    marks = {
        (code, first + offset, words)
        for offset, line in enumerate(lines)
        for codes, words in _MARK.findall(line)
        for code in codes.split(", ")
    }
    assert marks, "marks no line"
    holds = any(
        code == f.code
        and words in f"{f.message} {f.fix}"
        and ("cause", line) in [(p.role, p.line) for p in f.locations]
        for code, line, words in marks
        for f in found
    )
    as_known(f"{library}-{name}", holds, found)


@pytest.mark.parametrize(("library", "name"), every("good"))
def test_correct_program_is_left_in_peace(library: str, name: str) -> None:
    found = [f for f in findings(loaded(library, name)) if f.severity != "note"]
    as_known(f"{library}-{name}", not found, found)


def test_what_is_known_exists() -> None:
    assert {f"{lib}-{name}" for lib in LIBRARIES for name in names(lib, "bad|good")} >= KNOWN.keys()


def as_known(program: str, holds: bool, found: list[Finding]) -> None:
    told = [f"{f.severity} {f.code}: {f.message} at {[(p.role, p.line) for p in f.locations]}" for f in found]
    if program in KNOWN:
        assert not holds, f"holds now: take it out of KNOWN ({KNOWN[program]})"
    else:
        assert holds, told


def findings(program: Callable[[], object]) -> list[Finding]:
    """What all rules that are on say of one run. What stops a wrong program is part of it."""
    torch.manual_seed(0)
    random.seed(0)
    with gradscope.watch() as scope:
        try:
            program()
        except Exception:
            if program.__name__.startswith("good"):
                raise
    report = examine(scope.trace, Config())
    assert not report.faults
    return list(report.findings)


def loaded(library: str, name: str) -> Callable[[], object]:
    pytest.importorskip(library)
    return getattr(module_of(HERE / f"{library}_programs.py"), name)
