"""Which of several processes this one is: what a launcher (torchrun, accelerate, Slurm) says in the environment."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any, NamedTuple

# Programs that start ranks: the environment they find is of a node, not of a rank.
_LAUNCHERS = {"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"}
_SCRIPTS = {"torchrun", "accelerate", "accelerate-launch"}
_KEYS = ("RANK", "WORLD_SIZE")


class Rank(NamedTuple):
    """One of `world` processes that train together. `local` and `here`: which of how many on this machine."""

    rank: int
    world: int
    local: int
    here: int
    run: str  # the same for all ranks of a run
    agent: str  # the same for all ranks that one launcher has started on one machine
    attempt: int  # how often the launcher has started them anew
    together: bool  # all are on this machine

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Rank | None:
        """None for a process that is alone."""
        rank, world = (_number(environ, key) for key in _KEYS)
        if rank is None or world is None or not 0 <= rank < world or world < 2:
            return None
        local = _number(environ, "LOCAL_RANK") or 0
        here = _number(environ, "LOCAL_WORLD_SIZE") or (world if "LOCAL_RANK" in environ else 1)
        attempt = _number(environ, "TORCHELASTIC_RESTART_COUNT") or 0
        names = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")
        run = "|".join([*(environ.get(name, "") for name in names), str(attempt)])
        return cls(rank, world, local, here, run, _agent(), attempt, here == world)

    @property
    def reports(self) -> bool:
        """Whether it is the one of its machine that tells of all."""
        return self.local == 0

    @property
    def file(self) -> str:
        """The name of its trace, without a suffix."""
        return file_of(self.rank, self.attempt)

    def beside(self) -> list[str]:
        """The names of the traces of all ranks on this machine."""
        first = self.rank - self.local
        return [file_of(rank, self.attempt) for rank in range(first, min(first + self.here, self.world))]

    def folder(self, argv0: str, environ: Mapping[str, str]) -> str:
        """A name for the folder of the run, on which its ranks agree without having spoken."""
        stem = stem_of(argv0)
        id = environ.get("TORCHELASTIC_RUN_ID", "none")
        if not self.together and id != "none":  # other machines know no more than this
            return f"{stem}-{stem_of(id.replace('.', '_'))}"
        began, process = self.agent.split("|")[1:]
        moment = time.strftime("%Y%m%d-%H%M%S", time.localtime(float(began))) if float(began) else "run"
        return f"{stem}-{moment}-{process}"

    def facts(self) -> dict[str, Any]:
        """As the trace has it (docs/events.md)."""
        return {
            "rank": self.rank, "world": self.world, "local": self.local, "run": self.run, "agent": self.agent,
            "attempt": self.attempt,
        }  # fmt: skip


def file_of(rank: int, attempt: int = 0) -> str:
    """The name of a rank's trace, without a suffix."""
    return f"rank-{rank}-restart-{attempt}" if attempt else f"rank-{rank}"


def stem_of(argv0: str) -> str:
    """What a run of this program is called."""
    return re.sub(r"[^\w.-]+", "_", Path(argv0).stem).strip("._-")[:60] or "python"


def is_launcher(module: str, path: str) -> bool:
    """Whether a program is one that starts ranks, and is none itself."""
    return module in _LAUNCHERS or PurePath(path).name in _SCRIPTS


def starts_rank(command: Sequence[Any], env: Mapping[str, str] | None, ours: Mapping[str, str]) -> bool:
    """Whether a command, with what it finds in its environment, starts a rank in Python."""
    if env is None or not command or not all(key in env for key in (*_KEYS, "LOCAL_RANK")):
        return False
    if all(env.get(key) == ours.get(key) for key in (*_KEYS, "LOCAL_RANK")):
        return False  # inherited: a child that a rank has for something else
    return is_python(command)


def is_python(command: Sequence[Any]) -> bool:
    """Whether a command runs something in Python."""
    return len(command) > 1 and re.fullmatch(r"python[\d.]*", PurePath(str(command[0])).name) is not None


def watched_command(command: Sequence[Any], options: Sequence[str]) -> list[str] | None:
    """The same Python command under `gradscope run OPTIONS`; None where it runs no script and no module."""
    words = [str(word) for word in command]
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c", "-"):
        at += 2 if words[at] in ("-X", "-W") else 1
    if at >= len(words) or words[at] == "-c" or words[at : at + 2] == ["-m", "gradscope"]:
        return None
    return [*words[:at], "-m", "gradscope", "run", *options, *words[at:]]


def _number(environ: Mapping[str, str], key: str) -> int | None:
    text = environ.get(key, "")
    return int(text) if text.isdigit() else None


def _agent() -> str:
    """Machine, beginning and number of the process that has started this one."""
    parent = os.getppid()
    return f"{socket.gethostname()}|{_began(parent):.2f}|{parent}"


def _began(process: int) -> float:
    """When a process began; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
        since = next(
            int(line.split()[1])
            for line in Path("/proc/stat").read_text().splitlines()
            if line[:6] == "btime "
        )
        return since + ticks / os.sysconf("SC_CLK_TCK")
    return 0.0
