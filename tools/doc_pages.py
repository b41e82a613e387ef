"""What `make docs` adds to docs/: a page for each rule, made of the rule's own file, and the pages of the root.

A hook of MkDocs (mkdocs.yml). Nothing that it makes is committed.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from gradscope.rules import Rule, all_rules

ROOT = Path(__file__).resolve().parents[1]
OF_THE_ROOT = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
FAMILIES = {
    "memory": "Memory shared behind autograd's back", "step": "The order of a step",
    "reach": "Where the gradient is lost", "mode": "train, eval, no_grad", "device": "Devices and dtypes",
    "cost": "Memory and work for nothing", "numbers": "Numbers and losses", "runtime": "Workers, seeds, style",
    "ranks": "Many ranks",
}  # fmt: skip
_LABEL = re.compile(r"^(Why|Fix|Silent on): *", re.MULTILINE)
_FOR_TOOLS = re.compile(r"\s*#\s*(type: ignore|noqa)(\[[\w, -]*\]|:\s*[A-Z\d, ]+)?")
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)#]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """The pages that are made."""
    for name, page in OF_THE_ROOT.items():
        text = re.sub(r"\]\(docs/", "](", (ROOT / name).read_text(encoding="utf-8"))
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "rules/index.md", content=index_page()))
    for rule in all_rules().values():
        files.append(File.generated(config, f"rules/{rule.code}.md", content=rule_page(rule)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files of the repository that are no pages become their names."""

    def link(match: re.Match[str]) -> str:
        if match[2] in OF_THE_ROOT:
            return f"[{match[1]}]({OF_THE_ROOT[match[2]]})"
        inside = (Path(page.file.src_uri).parent / "..").as_posix() != ".."
        return match[0] if inside else f"`{match[2]}`"

    return _OUTSIDE.sub(link, markdown)


def family(rule: Rule) -> str:
    """The folder of a rule's file."""
    return rule.module.split(".")[-2]


def index_page() -> str:
    """All rules, by family."""
    parts = [
        "# Rules\n\nA rule catches one kind of mistake. An **error** is proven by what was measured in the run, a "
        "**warning** is wrong in all likelihood, a **note** may be meant."
    ]
    rules = list(all_rules().values())
    for folder in dict.fromkeys(family(rule) for rule in rules):
        rows = [_row(rule) for rule in rules if family(rule) == folder]
        head = f"## {FAMILIES.get(folder, folder)}\n\n| | | |\n|---|---|---|\n"
        parts.append(head + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _row(rule: Rule) -> str:
    off = "" if rule.default else " (off unless selected)"
    return f"| [{rule.code}]({rule.code}.md) | {rule.severity} | {rule.title}{off} |"


def rule_page(rule: Rule) -> str:
    """What a rule catches, why it matters, a wrong and a right program, and how it is mended."""
    what, _, rest = rule.doc.partition("\n")
    off = "" if rule.default else " It is off unless selected."
    parts = [
        f"# {rule.code} {rule.name}",
        f"{what}\n\n*{rule.severity.capitalize()}.*{off}",
        _LABEL.sub(lambda match: f"\n**{match[1]}:** ", rest.strip()).strip(),
    ]
    for kind, heading in (("bad", "Reported"), ("good", "Not reported")):
        for example in rule.examples(kind)[:1]:
            parts.append(f"## {heading}\n\n```python\n{program(example)}\n```")
    parts.append(
        f"## To silence it\n\nOn a line with `# gradscope: ignore[{rule.code}]`, everywhere with "
        f'`ignore = ["{rule.code}"]` under `[tool.gradscope]` in pyproject.toml.'
    )
    return "\n\n".join(parts) + "\n"


def program(example: Any) -> str:
    """The body of an example, without what is said to tools."""
    lines = inspect.getsource(example).splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("def ")) + 1
    return "\n".join(
        _FOR_TOOLS.sub("", line) for line in textwrap.dedent("\n".join(lines[begin:])).splitlines()
    )
