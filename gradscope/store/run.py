"""The traces of one run of several processes: those in one folder."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from gradscope.model import GradscopeError, listed_ranks
from gradscope.store.outline import outline
from gradscope.store.reader import Trace

_FEW = 4  # processes that are each looked at, alike or not


class Member(NamedTuple):
    """One process of a run. `name` is how a sentence calls it ("rank 1", "process 2", "parent"); `rank` None
    where the process has none."""

    name: str
    rank: int | None
    world: int
    trace: Trace


class Run:
    """What a folder holds of one run: `members` by rank, `notes` on what is missing or was left out.

    Raises GradscopeError where nothing in it can be read.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.path = Path(folder)
        self.worked_out: dict[object, object] = {}  # what others keep of it (analysis/memo.py)
        self._notes: list[str] = []
        try:
            files = sorted(self.path.glob("*.gradscope"))
        except OSError as error:
            raise GradscopeError(f"cannot read {self.path}: {error.strerror}") from None
        found = [member for path in files if path.exists() and (member := self._opened(path)) is not None]
        if not found:
            why = f": {self._notes[0]}" if self._notes else ""
            raise GradscopeError(f"no trace in the folder {self.path}{why}")
        self.members = self._of_one_run(found)
        self._tell_missing()

    @classmethod
    def alone(cls, trace: Trace) -> Run:
        """One trace of a run, looked at by itself."""
        run = cls.__new__(cls)
        run.path, run._notes, run.members, run.worked_out = trace.path, [], [member_of(trace)], {}
        return run

    @property
    def notes(self) -> list[str]:
        """What the reader should know of the folder, a sentence each."""
        return list(self._notes)

    @cached_property
    def world(self) -> int:
        """Of how many ranks the run was; 0 for processes without ranks."""
        return max(member.world for member in self.members)

    @property
    def ranks(self) -> list[Member]:
        """The members that have a rank, in order."""
        return [member for member in self.members if member.rank is not None]

    @property
    def first(self) -> Member:
        """The first that has trained."""
        trained = (m for m in self.members if m.rank is not None or m.trace.summary["passes"])
        return next(trained, self.members[0])

    @property
    def parent(self) -> Member | None:
        """The process that has started the others, and tells how it was started itself; None where a launcher did."""
        return next((m for m in self.members if m.rank is None and m.trace.program.get("command")), None)

    @cached_property
    def alike(self) -> list[list[Member]]:
        """The members in groups that have done the same, but for times and measured numbers; each by itself where
        there are few."""
        if len(self.members) <= _FEW:
            return [[member] for member in self.members]
        groups: dict[str, list[Member]] = {}
        for member in self.members:
            groups.setdefault(outline(member.trace), []).append(member)
            self.leave(member)
        return list(groups.values())

    def member(self, rank: int) -> Member:
        """Raises GradscopeError where there is none."""
        for member in self.members:
            if member.rank == rank or (member.rank is None and member.name == f"process {rank}"):
                return member
        known = listed_ranks([str(m.rank) if m.rank is not None else m.name for m in self.members])
        raise GradscopeError(f"no trace of rank {rank} in {self.path} (there are: {known})")

    def exit_code(self, member: Member) -> int | None:
        """With which code its process ended, as it says itself or the one that has started it; None where neither
        knows."""
        program = member.trace.program
        if program.get("ended"):
            return program.get("exit_code")
        return self.seen_to_end(member)

    def seen_to_end(self, member: Member) -> int | None:
        """The code, but 0, with which the process that has started it saw it end."""
        program = member.trace.program
        found = self._exits.get(_starter(program), {}).get(str(program.get("process")))
        return found if isinstance(found, int) else None

    @cached_property
    def _exits(self) -> dict[int | None, dict[str, int]]:
        """Process → the exit codes of those that it has started."""
        programs = [member.trace.program for member in self.members]
        return {program.get("process"): program["exits"] for program in programs if program.get("exits")}

    def leave(self, member: Member) -> None:
        """Lets go of the file of one of many, which has been read: of a thousand ranks not all are held open."""
        if len(self.members) > _FEW:
            member.trace.close()

    def close(self) -> None:
        for member in self.members:
            member.trace.close()

    def _opened(self, path: Path) -> Member | None:
        try:
            trace = Trace(path)
            trace.meta, trace.summary  # noqa: B018  # a truncated one is told here, once
        except GradscopeError as error:
            self._notes.append(f"{error}: left out")
            return None
        trace.close()  # of a thousand ranks not all files are held open
        if not trace.meta:
            self._notes.append(f"{path} holds nothing: left out")
            return None
        return member_of(trace)

    def _of_one_run(self, found: list[Member]) -> list[Member]:
        """Those of the newest run, one of each rank."""
        newest = max(found, key=lambda member: str(member.trace.program.get("when", "")))
        kept: dict[str, Member] = {}
        strangers = []
        for member in sorted(found, key=lambda m: str(m.trace.program.get("when", "")), reverse=True):
            if _same_run(member, newest) and member.name not in kept:
                kept[member.name] = member
            else:
                strangers.append(member)
                member.trace.close()
        if strangers:
            names = listed_ranks(sorted(member.trace.path.name for member in strangers))
            are = "is" if len(strangers) == 1 else "are"
            self._notes.append(f"{names} {are} of another run, or an earlier one of these ranks: left out")
        return sorted(kept.values(), key=_order)

    def _tell_missing(self) -> None:
        there = {member.rank for member in self.ranks}
        missing = [rank for rank in range(self.world) if rank not in there]
        if missing and there:
            word = "rank" if len(missing) == 1 else "ranks"
            has = "has" if len(missing) == 1 else "have"
            self._notes.append(
                f"{word} {listed_ranks([str(r) for r in missing])} of {self.world:,} {has} left no trace here"
            )


def member_of(trace: Trace) -> Member:
    """What the trace says of the process that wrote it."""
    facts: dict[str, Any] = trace.program.get("rank") or {}
    rank, world = facts.get("rank"), facts.get("world") or 0
    if isinstance(rank, int):
        return Member(f"rank {rank}", rank, int(world), trace)
    number = (trace.program.get("child") or {}).get("number")
    return Member(f"process {number}" if number else "the parent process", None, 0, trace)


def _same_run(member: Member, other: Member) -> bool:
    one, two = member.trace.program, other.trace.program
    first: dict[str, Any] = one.get("rank") or {}
    second: dict[str, Any] = two.get("rank") or {}
    if not first or not second or (one.get("child") and two.get("child")):
        return _starter(one) == _starter(two)
    if first["run"] != second["run"] or first["world"] != second["world"]:
        return False
    here, there = str(first["agent"]).split("|"), str(second["agent"]).split("|")
    # Two launchers on one machine stand for two: each begins with another rank.
    apart = here[0] != there[0] or _first_of_node(first) != _first_of_node(second)
    return not here[0] or apart or here == there


def _first_of_node(facts: dict[str, Any]) -> int:
    """The first rank that the launcher of this one has started; 0 where that is not known."""
    local = facts.get("local")
    return facts["rank"] - local if isinstance(local, int) else 0


def _starter(program: dict[str, Any]) -> int | None:
    """The process that has started this one and those like it, or is the one itself."""
    agent = str((program.get("rank") or {}).get("agent") or "").rpartition("|")[2]
    found = (program.get("child") or {}).get("parent") or (int(agent) if agent else program.get("process"))
    return found if isinstance(found, int) else None


def _order(member: Member) -> tuple[bool, int, str]:
    return member.rank is None, member.rank or 0, member.name
