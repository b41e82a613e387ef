"""The rules: one file each, in a folder for each family, found by being there.

A rule file has a docstring (first line: what it catches; then `Why:` and `Fix:`), the
`bad…()` function that shows it best, which runs and whose reported lines carry
`# cause: GS201` or `# effect: GS201`, a `good…()` look-alike that must be silent under
every rule, and one function under `@rule`. Further programs of it are in tests/rules/.
Rules are pure functions of a trace: a rule file imports no torch at its top level (its
examples do, inside their bodies).
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType

from gradscope.model import SEVERITIES, Finding
from gradscope.store import Member, Run, Trace

Check = Callable[[Trace], Iterable[Finding]]
Across = Callable[[Run], Iterable[tuple[Member, Finding]]]  # what is found, and of which process


@dataclass(frozen=True)
class Rule:
    """One rule with what its file says about it. `over` lists the codes that are folded
    into this one where they have the same cause (docs/design.md: one cause, one finding)."""

    code: str
    name: str
    severity: str
    check: Check
    module: str
    over: tuple[str, ...] = ()
    default: bool = True
    across: Across | None = None  # of a rule that compares processes

    @cached_property
    def _module(self) -> ModuleType:
        return importlib.import_module(self.module)

    @cached_property
    def doc(self) -> str:
        return inspect.cleandoc(self._module.__doc__ or "")

    @property
    def title(self) -> str:
        return self.doc.splitlines()[0] if self.doc else self.name

    def paragraph(self, label: str) -> str:
        """The text of the docstring's paragraph that starts with `label:` ("Why", "Fix")."""
        for block in self.doc.split("\n\n"):
            for part in block.split("\n"):
                if part.startswith(f"{label}:"):
                    text = block[block.index(f"{label}:") + len(label) + 1 :]
                    for other in ("Why:", "Fix:", "Silent on:"):
                        if f"\n{other}" in text:
                            text = text[: text.index(f"\n{other}")]
                    return " ".join(text.split())
        return ""

    @property
    def why(self) -> str:
        return self.paragraph("Why")

    @property
    def fix(self) -> str:
        return self.paragraph("Fix")

    def examples(self, kind: str) -> list[Callable[[], object]]:
        """The file's `bad…` or `good…` functions."""
        return [
            f for name, f in vars(self._module).items() if name.startswith(kind) and inspect.isfunction(f)
        ]


def rule(
    code: str, *, name: str, severity: str, over: tuple[str, ...] = (), default: bool = True
) -> Callable[[Check], Check]:
    """Makes the decorated function the check of rule `code` (see the package docstring)."""
    if severity not in SEVERITIES:
        raise ValueError(f"severity of {code} is {severity!r}, not one of {SEVERITIES}")

    def mark(check: Check) -> Check:
        check.__gradscope_rule__ = Rule(code, name, severity, check, check.__module__, over, default)  # type: ignore[attr-defined]
        return check

    return mark


def rule_across(
    code: str, *, name: str, severity: str, over: tuple[str, ...] = ()
) -> Callable[[Across], Across]:
    """The same for a rule that looks at a run of several processes, or at one process of it, as a whole."""

    def mark(across: Across) -> Across:
        known = Rule(code, name, severity, _nothing, across.__module__, over, across=across)
        across.__gradscope_rule__ = known  # type: ignore[attr-defined]
        return across

    return mark


def _nothing(trace: Trace) -> Iterable[Finding]:
    return ()


@cache
def all_rules() -> dict[str, Rule]:
    """Code → rule, from every file in this package, by code."""
    found: dict[str, Rule] = {}
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        module = importlib.import_module(info.name)
        for function in vars(module).values():
            rule = getattr(function, "__gradscope_rule__", None)
            if rule is not None and rule.module == module.__name__:
                if rule.code in found:
                    raise ValueError(f"{rule.code} is in {rule.module} and in {found[rule.code].module}")
                found[rule.code] = rule
    return dict(sorted(found.items()))
