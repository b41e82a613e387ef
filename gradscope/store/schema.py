"""What a trace file holds."""

from __future__ import annotations

SCHEMA_VERSION = 1
APPLICATION_ID = 0x67736370  # "gscp", in the file's header: tells ours from other SQLite files

SCHEMA = """
-- one row: facts about the run as JSON (program, torch, summary), rewritten as it goes
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- the user's source as it was when it ran; NULL for library files
CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, source TEXT);
-- call sites, a tree: parent is the frame outside
CREATE TABLE site (id INTEGER PRIMARY KEY, parent INTEGER, file INTEGER NOT NULL, line INTEGER NOT NULL,
  col INTEGER NOT NULL, end_line INTEGER NOT NULL, end_col INTEGER NOT NULL, function TEXT NOT NULL);
CREATE TABLE module (id INTEGER PRIMARY KEY, path TEXT NOT NULL, cls TEXT NOT NULL, root INTEGER NOT NULL,
  parent INTEGER, name TEXT NOT NULL, site INTEGER, held TEXT NOT NULL);
-- rewritten when the run ends (and now and then before): data is JSON of model.Parameter's other fields; in
-- the trace of a rank that has ended a list, of what it shares with others (in `alike`), and of what it does not
CREATE TABLE parameter (id INTEGER PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE alike (id INTEGER PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE optimizer (id INTEGER PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE region (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, site INTEGER NOT NULL, parent INTEGER);
CREATE TABLE graph (id INTEGER PRIMARY KEY, ops INTEGER NOT NULL, nodes INTEGER NOT NULL);
-- the four lists below are keyed by graph and index; lists inside a row are JSON arrays
CREATE TABLE op (graph INTEGER, idx INTEGER, name TEXT NOT NULL, site INTEGER, module INTEGER, region INTEGER,
  inputs TEXT NOT NULL, outputs TEXT NOT NULL, nodes TEXT NOT NULL, cut TEXT, writes TEXT, written TEXT, extra TEXT,
  PRIMARY KEY (graph, idx)) WITHOUT ROWID;
-- kind, dtype and device are '' where they are what most are: "intermediate", "float32", "cpu"
CREATE TABLE value (graph INTEGER, idx INTEGER, kind TEXT NOT NULL, shape TEXT NOT NULL, dtype TEXT NOT NULL,
  device TEXT NOT NULL, requires_grad INTEGER NOT NULL, is_leaf INTEGER NOT NULL, op INTEGER, position INTEGER,
  alias_of INTEGER, hidden INTEGER NOT NULL, node INTEGER, parameter INTEGER, module INTEGER,
  origin TEXT, site INTEGER, PRIMARY KEY (graph, idx)) WITHOUT ROWID;
-- edges: JSON [[target, input_nr], …]
CREATE TABLE node (graph INTEGER, idx INTEGER, name TEXT NOT NULL, op INTEGER, edges TEXT NOT NULL, site INTEGER,
  leaf INTEGER, parameter INTEGER, PRIMARY KEY (graph, idx)) WITHOUT ROWID;
-- few rows have one: a million ops are not searched for the dozen where gradients stop
CREATE INDEX op_cut ON op (graph, idx) WHERE cut IS NOT NULL;
-- one distinct list of events; data is JSON, documented in docs/events.md
CREATE TABLE event (list INTEGER, idx INTEGER, kind TEXT NOT NULL, site INTEGER, position INTEGER NOT NULL,
  data TEXT NOT NULL, PRIMARY KEY (list, idx)) WITHOUT ROWID;
-- the run: consecutive identical segments are one row with repeat > 1
CREATE TABLE segment (idx INTEGER PRIMARY KEY, graph INTEGER, events INTEGER, started REAL NOT NULL,
  duration REAL NOT NULL, is_step INTEGER NOT NULL, repeat INTEGER NOT NULL);
-- what a graph's inputs were in a later run of it, as far as that was something else than what its values say: since is
-- the segment, origins JSON [[value, [graph, value]], …]. Older traces have no such table
CREATE TABLE taken (graph INTEGER, since INTEGER, origins TEXT NOT NULL, PRIMARY KEY (graph, since)) WITHOUT ROWID;
-- what was measured of a backward pass: step is the optimizer step it works towards, loss a JSON number
-- or null, norms {parameter: norm of its gradient after the pass} as store/norms.py has it; of a large model only in
-- some passes
CREATE TABLE number (pass INTEGER PRIMARY KEY, step INTEGER NOT NULL, site INTEGER, loss TEXT, norms TEXT NOT NULL);
-- by which ranks are compared: kind "parameters" (of: optimizer, number: its step, 0 before the first; data:
-- {parameter: norm} as store/norms.py has it) or "input" (of: wrapper, number: its call; data: JSON, docs/events.md).
-- Older traces have no such table
CREATE TABLE print (kind TEXT NOT NULL, of INTEGER NOT NULL, number INTEGER NOT NULL, site INTEGER, data TEXT NOT NULL,
  PRIMARY KEY (kind, of, number)) WITHOUT ROWID;
"""

# What most values are: kind, dtype, device. The writer leaves it out.
COMMON = ("intermediate", "float32", "cpu")

# Made when a run with so many ops ends: what looks at one module of a large graph need not read the others.
MANY_OPS = 20_000
INDEX = "CREATE INDEX IF NOT EXISTS op_by_module ON op (graph, module)"

COLUMNS = {
    "file": 4, "site": 8, "module": 8, "parameter": 2, "optimizer": 2, "region": 4,
    "graph": 3, "op": 13, "value": 17, "node": 8, "event": 6, "segment": 7, "number": 5,
    "taken": 3, "print": 5,
}  # fmt: skip
