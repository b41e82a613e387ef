"""What the documents name is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OTHERS = ("field-test.md", "questions.md")  # speak of other people's files
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted(path for path in (ROOT / "docs").glob("*.md") if path.name not in OTHERS),
]
FOLDERS = ("gradscope", "tests", "docs", "benchmarks", "examples", "tools")
QUOTED = re.compile(r"`([^`\n]+)`|\]\(([^)#:\s]+)\)")
OURS = re.compile(r"(?:[\w.-]+/)+(?:[\w-]+\.(?:py|md|txt|svg))?|[\w-]+\.(?:py|md)")
EXAMPLES = {
    "train.py",
    "gs317_item_taken.py",
    "gs317_programs.py",
    "_programs.py",
    ".gradscope",
    "test_model.py",
}
MADE = re.compile(
    r"(?:\.\./)*(?:rules/(?:index|GS\d+)|contributing|changelog)\.md"
)  # pages that tools/doc_pages.py makes


@cache
def there() -> list[str]:
    """All files and folders of ours, from the root."""
    paths = [*ROOT.glob("*"), *(path for name in FOLDERS for path in (ROOT / name).rglob("*"))]
    return [f"/{path.relative_to(ROOT).as_posix()}" for path in paths]


def named(document: Path) -> set[str]:
    """Files and folders that stand in quotes or in links."""
    text = document.read_text(encoding="utf-8")
    quotes = [one or other for one, other in QUOTED.findall(text)]
    words = {word for quote in quotes for word in quote.split()}
    return {
        word
        for word in words
        if OURS.fullmatch(word) and not MADE.fullmatch(word) and Path(word).name not in EXAMPLES
    }


def exists(name: str) -> bool:
    """Whether a path ends like this: pages leave out the folder that they are about."""
    ending = "/" + name.removeprefix("../").rstrip("/")
    return any(path.endswith(ending) for path in there())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_is_named_is_there(document: Path) -> None:
    assert [name for name in sorted(named(document)) if not exists(name)] == []


def test_readme_has_two_commands_to_start_with() -> None:
    """Each does all its set-up: .ci/run takes them from there."""
    start = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Quick start")[2]
    commands = start.partition("```sh\n")[2].partition("```")[0].splitlines()
    assert len(commands) == 2 and all(line.startswith("python3 -m venv .venv && ") for line in commands)
