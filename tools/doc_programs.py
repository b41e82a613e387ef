"""Runs the programs of the documentation's pages and puts what they print below the commands that print it.

    python tools/doc_programs.py [PAGE…]      # writes the outputs; all pages of docs/ without arguments

A block ```` ```python title="train.py" ```` is a file of its page, a block ```` ```console ```` begins with commands,
each after a `$`, and goes on with what they printed. Above it `<!-- shows: finding -->` leaves the first finding of
the output, `found` its summary; without one all is shown but what differs from run to run. `<!-- picture: graph.svg ->
img/first.svg -->` keeps a picture that a command has drawn.
tests/test_pages.py runs the same and compares.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(
    r"(?P<head>(?:<!-- shows: (?P<shows>\w+) -->\n)?```(?P<kind>[a-z]+)(?: title=\"(?P<title>[^\"]+)\")?\n)"
    r"(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_PICTURE = re.compile(r"<!-- picture: (\S+) -> (\S+) -->")
_FINDING = re.compile(r"^(?:error|warning|note)[\[:]", re.MULTILINE)
_CHANGING = re.compile(r"^ *(?:cost:|a pass took) .*\n", re.MULTILINE)
_TIME = 300  # seconds for one command


def pages() -> list[Path]:
    """All pages that have programs."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [page for page in found if re.search(r"^```(?:console$|python)", page.read_text(), re.MULTILINE)]


def with_outputs(page: Path, pictures: dict[Path, str]) -> str:
    """The text of a page with what its commands print now, and the pictures that they draw."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for title, body in files(text):
            (Path(folder) / title).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / title).write_text(body)

        def run(block: re.Match[str]) -> str:
            if block["kind"] != "console":
                return block[0]
            commands = [line for line in block["body"].splitlines() if line.startswith("$ ")]
            printed = "".join(output(line[2:], Path(folder)) for line in commands)
            shown = "\n".join([*commands, *_part(printed, block["shows"] or "all").splitlines()])
            return f"{block['head']}{shown}\n```"

        written = _BLOCK.sub(run, text)
        for made, kept in _PICTURE.findall(text):
            pictures[page.parent / kept] = (Path(folder) / made).read_text(encoding="utf-8")
        return written


def files(text: str) -> Iterator[tuple[str, str]]:
    """Name and text of each file that a page holds."""
    for block in _BLOCK.finditer(text):
        if block["title"] and block["title"].endswith(".py"):
            yield block["title"], block["body"]


def programs(text: str) -> list[str]:
    """The programs of a page that are no files: they are run as they stand."""
    return [b["body"] for b in _BLOCK.finditer(text) if b["kind"] == "python" and not b["title"]]


def output(command: str, folder: Path) -> str:
    """What a command prints, errors as well, in a folder with the page's files."""
    ran = subprocess.run(
        command, shell=True, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=_TIME, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return ran.stdout


def environment() -> dict[str, str]:
    """This Python with this gradscope, in a plain terminal."""
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    given = {"PATH": paths, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "88"}
    return {**os.environ, **given}


def _part(printed: str, shows: str) -> str:
    printed = "\n".join(line.rstrip() for line in _CHANGING.sub("", printed).splitlines())
    if shows == "found":
        return next((line for line in printed.splitlines() if line.startswith("found:")), printed)
    if shows == "finding":
        first = _FINDING.search(printed)
        return printed[first.start() :].partition("\n\n")[0] if first else printed
    return printed


def main() -> None:
    for page in [Path(name) for name in sys.argv[1:]] or pages():
        pictures: dict[Path, str] = {}
        text = with_outputs(page, pictures)
        for path, drawn in pictures.items():
            path.write_text(drawn, encoding="utf-8")
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(f"{page}: outputs written")


if __name__ == "__main__":
    main()
