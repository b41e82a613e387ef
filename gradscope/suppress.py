"""`# gradscope: ignore[GS201]` in the user's source: on a line, or at the top of a file."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.model import Finding, Site

_MARK = re.compile(r"#\s*gradscope:\s*ignore\b\s*(?:\[([^\]]*)\])?", re.IGNORECASE)
_BEFORE_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.ENCODING,
    tokenize.STRING,
    tokenize.INDENT,
)


@dataclass
class _Ignore:
    """One comment. `codes` are prefixes ("" for a bare comment: every code); `whole_file`
    where it stands on a line of its own above all code."""

    line: int
    codes: tuple[str, ...]
    whole_file: bool
    used: bool = False

    def covers(self, first: int, last: int) -> bool:
        return self.whole_file or first <= self.line <= last


class Suppressions:
    """The comments in the sources of a trace (path → text), and which of them were used."""

    def __init__(self, sources: dict[str, str]):
        self._files = {
            path: list(_parse(text)) for path, text in sources.items() if "gradscope:" in text.lower()
        }

    def silences(self, finding: Finding) -> bool:
        """Whether a comment on a line of the finding's cause or effect, or atop its file, names it."""
        silenced = False
        for site in (finding.cause, finding.effect):
            for ignore in self._files.get(site.path, ()) if site else ():
                if (
                    site
                    and ignore.covers(site.line, _last_line(site))
                    and finding.code.startswith(ignore.codes)
                ):
                    ignore.used = silenced = True
        return silenced

    def unused(self, codes: list[str]) -> list[tuple[str, int]]:
        """Path and line of the comments that silenced nothing, though a rule of `codes`, those that ran, could fit."""
        return [
            (path, ignore.line)
            for path, found in self._files.items()
            for ignore in found
            if not ignore.used and any(code.startswith(ignore.codes) for code in codes)
        ]


def _last_line(site: Site) -> int:
    return max(site.line, site.end_line)


def _parse(source: str) -> Iterator[_Ignore]:
    above_code = True
    for token in _tokens(source):
        above_code = above_code and token.type in _BEFORE_CODE
        match = _MARK.search(token.string) if token.type == tokenize.COMMENT else None
        if match:
            codes = (
                ("",)
                if match[1] is None
                else tuple(c.strip().upper() for c in match[1].split(",") if c.strip())
            )
            alone = not token.line[: token.start[1]].strip()
            yield _Ignore(token.start[0], codes, whole_file=above_code and alone)


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens up to the first fault: notebook cells may hold lines that are not Python."""
    try:
        yield from tokenize.generate_tokens(io.StringIO(source).readline)
    except (tokenize.TokenError, SyntaxError):
        return


def comment_on(line: str, code: str) -> str:
    """A source line with an ignore comment for `code` added, to one that is there if there is one."""
    if (match := _MARK.search(line)) is None:
        return f"{line.rstrip()}  # gradscope: ignore[{code}]"
    if match[1] is None:
        return line
    codes = [c.strip() for c in match[1].split(",") if c.strip()]
    return line[: match.start()] + f"# gradscope: ignore[{', '.join([*codes, code])}]" + line[match.end() :]
