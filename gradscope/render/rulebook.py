"""What `gradscope rules` and `gradscope explain` show: the rule files themselves."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator

from gradscope.render.frames import GUTTER_STYLE, Frame, Mark
from gradscope.render.terminal import STYLES, Text, inline
from gradscope.rules import Rule, all_rules

_MARK = re.compile(r"\s*#\s*(cause|effect):\s*([\w, ]+?)\s*$")
_FOR_TOOLS = re.compile(r"\s*#\s*(type: ignore|noqa)(\[[\w, -]*\]|:\s*[A-Z\d, ]+)?")
_LABEL = re.compile(r"^(Why|Fix|Silent on): *")


def table_rows(width: int) -> Iterator[Text]:
    """A row for each rule; the title goes on below where the window is narrow."""
    rules = list(all_rules().values())
    names = max((len(rule.name) for rule in rules), default=0)
    indent = 7 + 9 + names + 2
    for rule in rules:
        row = Text.assemble((f"{rule.code}  ", "bold"), (f"{rule.severity:<9}", STYLES[rule.severity]))
        row.append(f"{rule.name:<{names}}  ")
        title = rule.title if rule.default else f"{rule.title} (off unless selected)"
        if width - indent < 30:
            yield row
            indent = 7
            yield from (
                Text(" " * indent).append(inline(line)) for line in textwrap.wrap(title, width - indent)
            )
            continue
        for line in textwrap.wrap(title, width - indent):
            yield row.append(inline(line))
            row = Text(" " * indent)


def explain_rows(rule: Rule, width: int) -> Iterator[Text]:
    """The rule's documentation, then its bad examples with their marked lines, then a good one."""
    width = min(width, 96)
    off = "" if rule.default else ", off unless selected"
    name, severity = (f" {rule.name}", "bold"), (f"  {rule.severity}{off}", "dim")
    yield Text.assemble((rule.code, STYLES[rule.severity]), name, severity)
    yield Text()
    yield from _doc_rows(rule.doc, width)
    for kind, heading in (("bad", "Reported:"), ("good", "Not reported:")):
        for example in rule.examples(kind)[:1]:
            yield Text(heading, "bold")
            yield Text()
            yield from _example_rows(example, rule, width)
            yield Text()
    for line in textwrap.wrap(
        f"To silence it on a line: `# gradscope: ignore[{rule.code}]`; everywhere:"
        f' `ignore = ["{rule.code}"]` under `[tool.gradscope]` in pyproject.toml.',
        width,
    ):
        yield inline(line)


def _doc_rows(doc: str, width: int) -> Iterator[Text]:
    for block in _paragraphs(doc):
        label = _LABEL.match(block)
        lines = textwrap.wrap(" ".join(block.split()), width)
        for number, line in enumerate(lines):
            row = inline(line)
            if label and number == 0:
                row.stylize("bold", 0, label.end(1) + 1)
            yield row
        yield Text()


def _paragraphs(doc: str) -> Iterator[str]:
    """Blocks between empty lines; a `Why:` or `Fix:` also starts one."""
    block: list[str] = []
    for line in doc.splitlines():
        if block and (not line.strip() or _LABEL.match(line)):
            yield "\n".join(block)
            block = []
        if line.strip():
            block.append(line)
    if block:
        yield "\n".join(block)


def _example_rows(example: Callable[[], object], rule: Rule, width: int) -> Iterator[Text]:
    lines = [_FOR_TOOLS.sub("", line) for line in textwrap.dedent(inspect.getsource(example)).splitlines()]
    marks = [mark for number, line in enumerate(lines, start=1) if (mark := _mark(number, line, rule))]
    lines = [_MARK.sub("", line) for line in lines]
    frame = Frame(lines, marks, gutter=2, width=width)
    for number in range(1, len(lines) + 1):
        yield from frame.line_rows(number)


def _mark(number: int, line: str, rule: Rule) -> Mark | None:
    """The underline for a line that the example's source marks as this rule's cause or effect."""
    found = _MARK.search(line)
    if found is None or rule.code not in re.split(r"[,\s]+", found[2]):
        return None
    code = line[: found.start()]
    column = len(code) - len(code.lstrip()) + 1
    cause = found[1] == "cause"
    style = STYLES[rule.severity] if cause else f"bold {GUTTER_STYLE}"
    return Mark(number, column, number, len(code) + 1, found[1], "^" if cause else "-", style)
