"""An option of the command line says no, and the program gets True.

Why: `type=bool` calls `bool("False")`, and every string that is not empty is true. Whatever stands behind the option
switches it on: the branch that was to be left out runs, and nothing fails.

Fix: `action=argparse.BooleanOptionalAction` (`--x` and `--no-x`) or `action="store_true"`; or a function that reads the
word.

Measured: what the option was given in this run, and what became of it. Silent on: options that are not given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.text import site_of
from gradscope.events import NoIsTrue
from gradscope.fixes.calls import with_argument
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace


def bad() -> None:
    import argparse

    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--noise", type=bool, default=True)  # cause: GS904
    args = parser.parse_args(["--noise", "False"])  # effect: GS904

    weight = torch.ones(3, requires_grad=True)
    opt = torch.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 3)
        x = x + torch.randn(8, 3) if args.noise else x
        opt.zero_grad()
        (x @ weight - 1).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import argparse

    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--noise", action=argparse.BooleanOptionalAction, default=True)
    args = parser.parse_args(["--no-noise"])

    weight = torch.ones(3, requires_grad=True)
    opt = torch.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 3)
        x = x + torch.randn(8, 3) if args.noise else x
        opt.zero_grad()
        (x @ weight - 1).pow(2).mean().backward()
        opt.step()


READS = 'lambda word: word.lower() not in ("false", "f", "no", "n", "off", "0", "none")'


@rule("GS904", name="no-is-true", severity="error", needs=NoIsTrue)
def no_is_true(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(NoIsTrue):
        yield _finding(trace, event, _added(trace, event.option))


def _finding(trace: Trace, event: NoIsTrue, added: Site | None) -> Finding:
    given = f"{event.option} {event.text}"
    return Finding(
        message=f"`{given}` gives True: `type=bool` takes every word for yes",
        cause=added or event.site.user,
        cause_label=f'calls `bool("{event.text}")`, which is True',
        effect=event.site.user if added is not None else None,
        effect_label=f"gets True for `{event.option}`",
        seen=(f"this run was given `{given}`, and `{event.option}` was True in it",),
        fix=f"let `{event.option}` read the word: `type={READS}`; or `action=argparse.BooleanOptionalAction`, which is"
        f" switched off by `{event.option.replace('--', '--no-', 1)}`",
        edits=with_argument(trace, added, "type", READS),
    )


def _added(trace: Trace, option: str) -> Site | None:
    """The one line that adds the option with `type=bool`."""
    found = [
        site_of(path, name, node)
        for path in trace.sources
        for name, node in trace.source_file(path).of(ast.Call)
        if called_name(node) == "add_argument"
        and any(isinstance(one, ast.Constant) and one.value == option for one in node.args)
        and any(key.arg == "type" and getattr(key.value, "id", "") == "bool" for key in node.keywords)
    ]
    return found[0] if len(found) == 1 else None
