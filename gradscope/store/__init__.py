"""The trace file: an SQLite database that hooks write and everything else reads.

Each distinct graph (ops, values, nodes) and each distinct list of events is
stored once; a `segment` row says which of them a stretch of the run had.
Nothing in it is pickled: opening a stranger's trace runs no code.
"""

from __future__ import annotations

from gradscope.store.glance import Glance, glance
from gradscope.store.norms import pack_norms, read_norms
from gradscope.store.pages import GraphSize, LineWork, Pages
from gradscope.store.part import Start, copy_part
from gradscope.store.reader import Trace
from gradscope.store.run import Member, Run
from gradscope.store.schema import SCHEMA_VERSION
from gradscope.store.writer import TraceWriter, left_out, pack, pack_numbers, pack_parameter, tidy

__all__ = [
    "SCHEMA_VERSION",
    "Glance",
    "GraphSize",
    "LineWork",
    "Member",
    "Pages",
    "Run",
    "Start",
    "Trace",
    "TraceWriter",
    "copy_part",
    "glance",
    "left_out",
    "pack",
    "pack_norms",
    "pack_numbers",
    "pack_parameter",
    "read_norms",
    "tidy",
]
