"""`gradscope rules`: every rule in a line."""

from __future__ import annotations

import click

from gradscope.commands import printing
from gradscope.render.rulebook import table_rows
from gradscope.render.terminal import print_rows


@click.command()
def command() -> None:
    """List the rules."""
    with printing() as stdout:
        print_rows(table_rows, stdout)
