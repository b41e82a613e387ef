"""Shared set-up."""

from __future__ import annotations

import signal

# A shell that starts pytest in the background ignores SIGINT, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
