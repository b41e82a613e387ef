"""Shared set-up."""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("sweep")  # tests/test_programs.py: many random programs

# A shell that starts pytest in the background ignores SIGINT, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as under nohup
