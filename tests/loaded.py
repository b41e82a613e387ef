"""What a process has imported from which those of programs are forked: all that a run of them comes to import.

A report's imports take several times as long as the report of a small program. What is about imports themselves runs in
an interpreter of its own (tests/warm.py).
"""

from __future__ import annotations

import importlib
import pkgutil

# What only some need: other libraries stand behind them.
_LEFT = (
    "gradscope.tui",
    "gradscope.trainers",
    "gradscope.notebook",
    "gradscope.pytest_plugin",
    "gradscope.__main__",
)


def load() -> None:

    import gradscope

    for found in pkgutil.walk_packages(gradscope.__path__, "gradscope."):
        if not found.name.startswith(_LEFT):
            importlib.import_module(found.name)
