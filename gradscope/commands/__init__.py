"""The command line: one file a verb, found by being here.

Each file exposes `command`, a click command; its name is the file's. A file is imported
when its command is asked for. A command returns its exit code (None is 0).
"""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast

import click

from gradscope import interrupts
from gradscope.collector import paused
from gradscope.escape import one_line
from gradscope.model import GradscopeError

NEEDED = ("rich", "networkx", "graphviz", "textual")
INSTALL = "`pip install gradscope-torch` brings all that is needed"


class Verbs(click.Group):
    """The commands in this folder, loaded on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        with paused():  # what is imported stays
            return cast(click.Command, importlib.import_module(f"{__name__}.{cmd_name}").command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """By the first lines of the files: to list them loads none."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _about(name)) for name in self.list_commands(ctx)])


def _about(name: str) -> str:
    """What a command does: "`gradscope rules`: every rule in a line." without its name."""
    text = Path(__path__[0], f"{name}.py").read_text(encoding="utf-8")
    said = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
    about = " ".join(said.partition(": ")[2].split()).rstrip(".")
    return about[:1].upper() + about[1:]


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        import gradscope

        click.echo(f"gradscope {gradscope.__version__}")
        ctx.exit()


@click.group(cls=Verbs, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version,
              help="Show the version and exit.")  # fmt: skip
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Shows the autograd graph that a PyTorch program really builds, and what is wrong with it.

    Start with `gradscope run train.py`; then `check`, `graph` and `why` tell more of the same run.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


def main(args: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code; errors of usage are one line on stderr. KeyboardInterrupt, of which
    Python will print nothing: after Ctrl-C, for Python to end by that signal.

    Not `cli.main()`: that turns Ctrl-C and closed pipes, which belong to the program
    that `run` runs, into messages of its own.
    """
    try:
        with cli.make_context("gradscope", list(sys.argv[1:] if args is None else args)) as ctx:
            return int(cli.invoke(ctx) or 0)
    except GradscopeError as error:
        return _fail(one_line(str(error)), error.exit_code)
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        return _fail(f"`{error.name}` is missing here, which this command needs: {INSTALL}", 2)
    except click.exceptions.Exit as error:
        return error.exit_code
    except KeyboardInterrupt:
        interrupts.quietly()
        raise
    except click.ClickException as error:
        hint = (
            f" (see `{error.ctx.command_path} --help`)"
            if isinstance(error, click.UsageError) and error.ctx
            else ""
        )
        message = one_line(error.format_message()).rstrip(".")
        return _fail(message[:1].lower() + message[1:] + hint, 2)


def _fail(message: str, exit_code: int) -> int:
    print(f"gradscope: {message}", file=sys.stderr)
    return exit_code


@contextmanager
def printing() -> Iterator[TextIO]:
    """Stdout, to print a command's output to: a reader that has gone away is no error."""
    if sys.stdout is None:
        with open(os.devnull, "w") as nowhere:
            yield nowhere
        return
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
