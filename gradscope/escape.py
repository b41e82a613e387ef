"""Text of the user's program (source, names, messages), made safe for where it is shown."""

from __future__ import annotations

import html as _html
import re

# C0 and C1 controls, lone surrogates, and the bidirectional and zero-width marks that can
# make a terminal show other text than the file holds.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_MARKDOWN = re.compile(r"([\\*_\[\]<>|#~])")
_CODE = re.compile(r"(`+)(.+?)\1")


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def plain(text: str, keep: str = "") -> str:
    """`text` with every character that could steer a terminal written out as `\\x1b`;
    the characters in `keep` (say "\\n") stay."""
    return _UNSAFE.sub(lambda m: m.group() if m.group() in keep else _visible(m), text)


def one_line(text: str) -> str:
    """`text` made safe, its line breaks and runs of blanks folded into single spaces."""
    return plain(" ".join(text.split()))


def html(text: str) -> str:
    """For HTML and SVG, in text and in quoted attributes."""
    return _html.escape(plain(text, keep="\n\t"), quote=True)


def dot(text: str) -> str:
    """For the inside of a double-quoted DOT string (a line break becomes `\\n`)."""
    safe = plain(text, keep="\n").replace("\\", "\\\\").replace('"', '\\"')
    return safe.replace("\n", "\\n")


def markdown(text: str) -> str:
    """For one line of Markdown: `code` in backticks stays code, all else is literal."""
    safe = one_line(text)
    parts: list[str] = []
    end = 0
    for match in _CODE.finditer(safe):
        parts += [_MARKDOWN.sub(r"\\\1", safe[end : match.start()]), match.group()]
        end = match.end()
    return "".join(parts) + _MARKDOWN.sub(r"\\\1", safe[end:]).replace("`", "\\`")
