"""What was answered once stays answered, for a few questions that are drawn anew with GRADSCOPE_SEED.

`python tests/sweeps/questions.py` runs them all.
"""

from __future__ import annotations

import os
import random

import pytest
from asked import Question, findings, names_the_line, questions, serious
from forked import Forks

SEED = int(os.environ.get("GRADSCOPE_SEED", "0"))
ANSWERED = [question for question in questions() if question.now == "A"]


@pytest.mark.parametrize(
    "question", random.Random(SEED).sample(ANSWERED, min(2, len(ANSWERED))), ids=lambda question: question.id
)
def test_a_question_is_answered(question: Question, forks: Forks) -> None:
    assert names_the_line(question, findings(question.program("bad"), forks.command))
    of_twin = serious(findings(question.program("good"), forks.command))
    assert bool(of_twin) == bool(question.twin_now), of_twin
