"""`python -m gradscope` and the command `gradscope`."""

from __future__ import annotations

import sys

from gradscope import interrupts

interrupts.end_at_once()  # a Ctrl-C while the rest is imported is one too

import gradscope.imports  # noqa: E402, F401 (before other libraries: it notes what Python itself has loaded)
from gradscope.commands import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
