"""`python -m gradscope` and the command `gradscope`."""

from __future__ import annotations

import sys

from gradscope.commands import main

if __name__ == "__main__":
    sys.exit(main())
