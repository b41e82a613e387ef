"""`gradscope explain GS101`: what a rule means, with a program that breaks it and one that does not."""

from __future__ import annotations

from functools import partial

import click

from gradscope.commands import printing
from gradscope.render.rulebook import explain_rows
from gradscope.render.terminal import print_rows
from gradscope.rules import find_rule


@click.command()
@click.argument("code")
def command(code: str) -> None:
    """Explain a rule.

    By its CODE or its name: what it catches, why, and how to fix it.
    """
    rule = find_rule(code)
    with printing() as stdout:
        print_rows(partial(explain_rows, rule), stdout)
