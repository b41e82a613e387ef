"""`python -m gradscope` and the command `gradscope`."""

from __future__ import annotations

import sys

import gradscope.imports  # noqa: F401 (first: it notes what Python itself has loaded)
from gradscope.commands import main

if __name__ == "__main__":
    sys.exit(main())
