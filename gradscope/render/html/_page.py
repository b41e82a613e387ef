"""Puts a page together: what it shows, its looks, its scripts, and the policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

import gradscope
from gradscope.check import Report
from gradscope.escape import one_line, plain
from gradscope.model import SEVERITIES, Finding
from gradscope.render import _style as style
from gradscope.render._cost import cost
from gradscope.render.html._parameters import parameters_data
from gradscope.render.html._picture import picture_data
from gradscope.render.html._source import files_of
from gradscope.render.html._steps import losses, rows
from gradscope.render.text import run_words
from gradscope.unwatched import hints

HERE = Path(__file__).parent
LIBRARIES = ("dagre.min.js", "panzoom.min.js")
OWN = ("model.js", "drawing.js", "panels.js", "page.js")  # one script, in this order


@dataclass
class Told:
    """A finding as the page lists it."""

    finding: Finding
    number: int
    places: list[tuple[str, str, int, int | None, str]]  # role, path, line, number of the file, label


def page(report: Report, step: int | None = None) -> str:
    """The page of a report, as text."""
    files = files_of(report)
    numbers = {file.path: at for at, file in enumerate(files)}
    shown = {file.shown: at for at, file in enumerate(files)}
    picture = picture_data(report, numbers, step)
    parameters, texts = parameters_data(report, numbers)
    data = {
        **picture,
        "params": parameters,
        "texts": texts,
        "files": [file.shown for file in files],
        "findings": [_pointed(finding) for finding in report.findings],
        "losses": losses(report.trace),
    }
    stretches, more = rows(report.trace)
    css, own = _css(), "\n".join(_read(name) for name in OWN)
    scripts = [_read(name) for name in LIBRARIES] + [own]
    return _template()("page.html").render(
        title=picture["title"],
        version=gradscope.__version__,
        policy=_policy([css], scripts),
        css=Markup(css),
        scripts=[Markup(script) for script in scripts],
        data=Markup(_json(data)),
        findings=[_told(at, finding, shown) for at, finding in enumerate(report.findings)],
        counts=[(severity, report.count(severity)) for severity in SEVERITIES if report.count(severity)],
        notes=[*report.notes, *hints(report.trace), *(f"fault: {f}" for f in report.faults)],
        run=run_words(report),
        cost=cost(report),
        files=files,
        stretches=stretches,
        more=more,
        looks=style.LOOKS,
        licences=_read("LICENSES.txt"),
    )


def _told(number: int, finding: Finding, files: dict[str, int]) -> Told:
    places = [
        (place.role, one_line(place.path), place.line, files.get(one_line(place.path)), one_line(place.label))
        for place in finding.locations
    ]
    return Told(finding, number, places)


def _pointed(finding: Finding) -> dict[str, Any]:
    """What of the page's data a finding is about."""
    parameters = sorted(s[1] for s in finding.subjects if s[0] == "parameter")
    return {"code": finding.code or finding.name, "severity": finding.severity, "params": parameters}


def _json(data: Any) -> str:
    """JSON that may stand in a script element, whatever text is in it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# -- the policy ------------------------------------------------------------------


def _policy(styles: list[str], scripts: list[str]) -> str:
    """Nothing is loaded, nothing is sent, and what may run is named by its hash."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {' '.join(map(_hash, styles))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# -- what lies beside this file -----------------------------------------------------


@cache
def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8").strip()


@cache
def _template() -> Callable[[str], jinja2.Template]:
    loader = jinja2.FileSystemLoader(HERE)
    environment = jinja2.Environment(autoescape=True, loader=loader, trim_blocks=True, lstrip_blocks=True)
    environment.finalize = _harmless
    environment.undefined = jinja2.StrictUndefined
    environment.filters["line"] = one_line
    environment.filters["code"] = _code
    return environment.get_template


def _harmless(shown: Any) -> Any:
    """Text of the program without what could make a reader see another one."""
    return plain(shown, keep="\n\t") if isinstance(shown, str) and not isinstance(shown, Markup) else shown


def _code(text: str) -> Markup:
    """`code` in backticks as code."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:  # one that is not closed
        return Markup.escape(one_line(text))
    escaped = [Markup.escape(part) for part in parts]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(escaped)
    )


def _css() -> str:
    """The page's looks, with the colours of the pictures."""
    light, dark = [], []
    for key, look in style.LOOKS.items():
        dashes = "5 3" if "dashed" in look.style else "2 3" if "dotted" in look.style else "none"
        light.append(_look(key, look.fill, look.line, look.text))
        light.append(f".o-{key}>rect{{stroke-width:{look.width};stroke-dasharray:{dashes}}}")
        dark.append(
            _look(
                key,
                style.DARK_FILL.get(look.fill, look.fill),
                style.DARK_LINE.get(look.line, look.line),
                style.DARK_TEXT.get(look.text, look.text),
            )
        )
    looks = "".join(light) + f"@media(prefers-color-scheme:dark){{{''.join(dark)}}}"
    return f"{_read('page.css')}\n{looks}"


def _look(key: str, fill: str, line: str, text: str) -> str:
    """The rules of one kind of box, in the picture and in the legend."""
    return (
        f".o-{key}>rect{{fill:{fill};stroke:{line}}}.o-{key} .name{{fill:{text}}}"
        f"i.o-{key}{{background:{fill};border-color:{line};color:{text}}}"
    )
