"""`python -m gradscope` and the command `gradscope`."""

from __future__ import annotations

import sys

import gradscope.imports  # noqa: F401 (first: it notes what Python itself has loaded)
from gradscope import interrupts

interrupts.end_at_once()

from gradscope.commands import main  # noqa: E402 (a Ctrl-C while it is imported is one too)

if __name__ == "__main__":
    sys.exit(main())
