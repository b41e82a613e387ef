"""Options of `run` that stand behind the program: they are the program's, which may have none of that name."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

import click

_FOLDERS = (os.sep + "site-packages" + os.sep, os.path.dirname(os.__file__) + os.sep)


def misplaced(command: click.Command, given: Sequence[str], program: Sequence[str], path: str) -> str:
    """What to type instead, where a program was handed options of `command` that no text of its own names;
    otherwise "". `given` is the whole command line, `program` its end: the script and its arguments."""
    options = {
        name: parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
        if name.startswith("--")
    }
    moved: list[str] = []
    stay: list[str] = []
    arguments = iter(program[1:])
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        option = options.get(name)
        if option is None or (equals and option.is_flag) or _named(name, path):
            stay.append(argument)
            if argument == "--":
                break
            continue
        moved.append(argument)
        if not (equals or option.is_flag) and (value := next(arguments, None)) is not None:
            moved.append(value)
    if not moved:
        return ""
    names = ", ".join(f"`{word.partition('=')[0]}`" for word in moved if word.startswith("--"))
    before = given[: len(given) - len(program)]
    typed = shlex.join(["gradscope", "run", *before, *moved, program[0], *stay, *arguments])
    return f"{names} went to the program: gradscope's own options stand before it, as in `{typed}`"


def _named(option: str, path: str) -> bool:
    """Whether a text of the program has the option's name, as `"--graph"` or as a variable."""
    word = re.compile(rf"\b{option.strip('-').replace('-', '[-_]')}\b")
    return any(word.search(text) for text in _texts(path))


def _texts(path: str) -> Iterator[str]:
    """The script, and what it has imported that is installed nowhere."""
    files = [path, *(getattr(module, "__file__", None) for module in list(sys.modules.values()))]
    for file in dict.fromkeys(file for file in files if isinstance(file, str) and file.endswith(".py")):
        own = os.path.dirname(os.path.dirname(__file__)) + os.sep
        if not file.startswith(own) and not any(folder in file for folder in _FOLDERS):
            with suppress(OSError, UnicodeDecodeError), open(file, encoding="utf-8") as opened:
                yield opened.read()
