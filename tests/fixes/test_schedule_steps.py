"""Where a schedule that is never stepped is to be stepped."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from edited import Program, watched
from warm import python

from gradscope.check import examine
from gradscope.events import SchedulerMade, Step
from gradscope.fixes.schedule_steps import Place, place_of_step

MADE = """\
import torch

model = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.{made}
"""
IN_ONE_PLACE = """\
for epoch in range(3):
    for x in torch.ones(4, 8, 2):
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()
"""
IN_A_FUNCTION = """\
def train(batches):
    for x in batches:
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()

for epoch in range(3):
    train(torch.ones(4, 8, 2))
"""


def placed(folder: Path, made: str, loops: str) -> tuple[Program, Place]:
    program = watched(folder, MADE.format(made=made) + loops)
    return program, place_of_step(
        program.trace, program.trace.of(SchedulerMade)[0], program.trace.of(Step)[0]
    )


@pytest.mark.parametrize("loops", [IN_ONE_PLACE, IN_A_FUNCTION])
def test_a_schedule_of_epochs_goes_behind_the_loop_over_the_batches(tmp_path: Path, loops: str) -> None:
    program, place = placed(tmp_path, "ExponentialLR(opt, 0.3)", loops)
    loop = next(n for n, line in enumerate(program.file.lines, 1) if line.strip().startswith("for x in"))
    assert place.text == f"once per epoch, behind the loop over the batches (train0.py:{loop})"
    lines = program.after(place.edits).splitlines()
    call = next(line for line in lines if "schedule.step()" in line)
    assert lines[lines.index(call) - 1].strip() == "opt.step()"
    assert call.index("schedule") == program.file.lines[loop - 1].index("for")


def test_a_schedule_of_batches_goes_after_the_step(tmp_path: Path) -> None:
    program, place = placed(tmp_path, "OneCycleLR(opt, 0.1, total_steps=12)", IN_ONE_PLACE)
    assert place.text.startswith("once per batch after `opt.step()`")
    assert "        opt.step()\n        schedule.step()\n" in program.after(place.edits)


def test_nobody_knows_which_number_a_plateau_waits_for(tmp_path: Path) -> None:
    _, place = placed(tmp_path, "ReduceLROnPlateau(opt)", IN_ONE_PLACE)
    assert place.text.startswith("once per epoch, in the loop over the epochs") and not place.edits


STEPS_OF_BATCHES = """\
        opt.step()
        if when == "batch":
            schedule.step()
"""


def test_a_step_of_another_setting_is_none_of_this_run(tmp_path: Path) -> None:
    handed = IN_A_FUNCTION.replace("(batches)", "(batches, schedule, when)")
    handed = handed.replace("8, 2)", "8, 2), schedule, 'epoch'").replace(
        "        opt.step()\n", STEPS_OF_BATCHES
    )
    program = watched(tmp_path, MADE.format(made="StepLR(opt, 2)") + handed)
    assert "GS210" in {finding.code for finding in examine(program.trace).findings}


ENDED = """\
def train(opt):
    schedule = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
    for epoch in range(3):
        for x in torch.ones(4, 8, 2):
            opt.zero_grad()
            model(x).sum().backward()
            opt.step()
        {end}

import torch
model = torch.nn.Linear(2, 1)
train(torch.optim.SGD(model.parameters(), lr=0.1))
print(best)
"""


@pytest.mark.parametrize("end, told", [("pass", True), ("print(best)", False)])
def test_a_training_that_is_over_is_told_of_though_the_program_failed_after_it(
    tmp_path: Path, end: str, told: bool
) -> None:
    (tmp_path / "train.py").write_text(ENDED.format(end=end))
    run = [*python(), "-m", "gradscope", "run", "train.py"]
    printed = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ("GS210" in printed.stderr) is told, printed.stderr
