"""The settings under `[tool.gradscope]` in pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradscope.baseline import NAME
from gradscope.model import FAIL_ON, GradscopeError


@dataclass(frozen=True)
class Config:
    """What to report. `select` None means every rule that is on by default.

    Codes are prefixes ("GS2"). `root` is where the globs of `per_file_ignores` start.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fail_on: str | None = None  # None: not asked for
    baseline: Path | None = None  # where the file of accepted findings lies, if there is one
    root: Path | None = None

    def override(
        self,
        select: Sequence[str] = (),
        extend_select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        fail_on: str | None = None,
    ) -> Config:
        """These settings with a command's options on top. `select` starts afresh: it
        replaces what the file selects and ignores; the others add."""
        base = replace(self, select=tuple(select), extend_select=(), ignore=()) if select else self
        return replace(
            base,
            extend_select=base.extend_select + tuple(extend_select),
            ignore=base.ignore + tuple(ignore),
            fail_on=fail_on or base.fail_on,
        )


def split(codes: str) -> list[str]:
    """The codes of a list with commas, as options take it."""
    return [code for text in codes.split(",") if (code := text.strip())]


def load_config(cwd: Path) -> Config:
    """The settings that hold in `cwd`: of the nearest pyproject.toml, there or above, that
    has a `[tool.gradscope]` table. Raises GradscopeError naming file and key."""
    cwd = cwd.absolute()
    for folder in (cwd, *cwd.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            table = _read(path)
            if table is not None:
                return _config(path, table)
    return Config(root=cwd, baseline=cwd / NAME)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GradscopeError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GradscopeError(f"{path} is not valid TOML: {error}") from None
    tool = data.get("tool")
    if not isinstance(tool, dict) or "gradscope" not in tool:
        return None
    table = tool["gradscope"]
    if not isinstance(table, dict):
        raise GradscopeError(f"{path}: `tool.gradscope` is no table")
    return table


def _config(path: Path, table: dict[str, Any]) -> Config:
    known = ("select", "extend-select", "ignore", "per-file-ignores", "fail-on", "baseline")
    for key in table:
        if key not in known:
            raise GradscopeError(f"{path}: unknown key `tool.gradscope.{key}` (known: {', '.join(known)})")
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise GradscopeError(f"{path}: `tool.gradscope.per-file-ignores` must be a table of glob = [codes]")
    fail_on = table.get("fail-on")
    if fail_on is not None and fail_on not in FAIL_ON:
        raise GradscopeError(f"{path}: `tool.gradscope.fail-on` must be one of {', '.join(FAIL_ON)}")
    baseline = table.get("baseline", NAME)
    if not isinstance(baseline, str):
        raise GradscopeError(f"{path}: `tool.gradscope.baseline` must be a file name")
    return Config(
        select=_codes(path, "select", table["select"]) if "select" in table else None,
        extend_select=_codes(path, "extend-select", table.get("extend-select", [])),
        ignore=_codes(path, "ignore", table.get("ignore", [])),
        per_file_ignores=tuple((g, _codes(path, f"per-file-ignores.{g}", c)) for g, c in per_file.items()),
        fail_on=fail_on,
        root=path.parent,
        baseline=path.parent / baseline,
    )


def _codes(path: Path, key: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(code, str) for code in given):
        raise GradscopeError(
            f'{path}: `tool.gradscope.{key}` must be a list of codes, such as ["GS201", "GS3"]'
        )
    return tuple(given)
