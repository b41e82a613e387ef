"""Runs the programs of all questions in tests/questions/, and makes the table of docs/questions.md.

    python tests/sweeps/questions.py                  # every program: what is told of it now
    python tests/sweeps/questions.py q101 q117        # those
    python tests/sweeps/questions.py --table          # the table anew, without running anything

Exits with 1 where a question that was answered no longer has a finding at its line, or a right twin has a
warning.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "questions"))

from asked import SCORES, Question, findings, names_the_line, questions, serious  # noqa: E402

PAGE = ROOT / "docs" / "questions.md"
BEGIN, END = "<!-- made by tests/sweeps/questions.py --table -->", "<!-- end -->"


def line(name: str, cells: list[object]) -> str:
    return f"| {name} | " + " | ".join(str(cell) for cell in cells) + " |"


def counts(name: str, scores: list[str]) -> str:
    counted = Counter(scores)
    return line(name, [len(scores), *(counted[score] for score in SCORES)])


def table(asked: list[Question]) -> str:
    """The scores of each batch at first sight and now, then the questions one by one; only what has been judged."""
    judged = [question for question in asked if question.first]
    rows = [line("", ["questions", *SCORES]), line("---", ["---"] * (1 + len(SCORES)))]
    for batch in sorted({question.batch for question in judged}):
        of_batch = [question for question in judged if question.batch == batch]
        rows.append(counts(f"batch {batch}, at first sight", [question.first for question in of_batch]))
        rows.append(counts(f"batch {batch}, now", [question.now for question in of_batch]))
    rows.append(counts("all, now", [question.now for question in judged]))
    rows += ["", "| | asked | cause | first | now |", "| --- | --- | --- | --- | --- |"]
    for question in judged:
        asked_there = f"[{plain(question.asked)}]({question.address})"
        rows.append(line(question.id, [asked_there, plain(question.cause), question.first, question.now]))
    return "\n".join(rows)


def plain(text: str) -> str:
    """Text that ends no cell and no link."""
    return " ".join(text.split()).replace("|", r"\|").replace("[", r"\[").replace("]", r"\]")


def write_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(questions())}\n\n{END}{after}", encoding="utf-8")


def told(question: Question) -> bool:
    """Runs both programs of a question and prints what is told; False where that is less than it was."""
    try:
        found, twin = findings(question.program("bad")), findings(question.program("good"))
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{question.id}  {error}", flush=True)
        return False
    heads = ", ".join(
        f"{finding['severity']}[{finding['code']}]:{finding['locations'][0]['line']}" for finding in found
    )
    missed = question.now == "A" and not names_the_line(question, found)
    alarms = [f"{f['code']}: {f['message']}" for f in serious(twin)] if not question.twin_now else []
    marks = " MISSED" * missed + " FALSE ALARM" * bool(alarms)
    print(f"{question.id} {question.now or '-'} {question.lines} {heads or '(nothing)'}{marks}", flush=True)
    for alarm in alarms:
        print(f"       the right twin: {alarm}")
    return not (missed or alarms)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--table", action="store_true", help="write the table of docs/questions.md anew")
    options = parser.parse_args()
    if options.table:
        write_table()
        return 0
    chosen = [question for question in questions() if not options.ids or question.id in options.ids]
    answers = [told(question) for question in chosen]  # all are run, whatever the first one gives
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
