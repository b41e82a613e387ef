"""The rules: one file each, in a folder for each family, found by being there.

A rule file has a docstring (first line: what it catches; then `Why:` and `Fix:`), the
`bad…()` function that shows it best, which runs and whose reported lines carry
`# cause: GS201` or `# effect: GS201`, a `good…()` look-alike that must be silent under
every rule, and one function under `@rule`. Further programs of it are in tests/rules/.
Rules are pure functions of a trace: a rule file imports no torch at its top level (its
examples do, inside their bodies). What the mark says is read from the file's text, so that
listing the rules imports none of them.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gradscope.model import SEVERITIES, Event, Finding, GradscopeError

if TYPE_CHECKING:
    from gradscope.store import Member, Run, Trace

Check: TypeAlias = "Callable[[Trace], Iterable[Finding]]"
Across: TypeAlias = "Callable[[Run], Iterable[tuple[Member, Finding]]]"  # what is found, and of which process

_MARKED = re.compile(r"\n@(rule|rule_across)\((.*?)\)(?: *#[^\n]*)?\ndef (\w+)\(", re.DOTALL)


class Rule(NamedTuple):
    """One rule with what its file says about it. `over` lists the codes that are folded
    into this one where they have the same cause (docs/design.md: one cause, one finding), `over_apart` those whose
    findings follow from one that all ranks have where only some ranks have them. `symptom`: it
    tells what the training came to, and its cause is the likeliest one: others are told before it.
    `needs`: kinds of events (gradscope/events.py) without all of which it has nothing to say: its file is not
    even imported then."""

    code: str
    name: str
    severity: str
    check: Check
    module: str
    docstring: str  # as it stands in the file
    over: tuple[str, ...] = ()
    default: bool = True
    symptom: bool = False
    across: Across | None = None  # of a rule that compares processes
    over_apart: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()

    @property
    def doc(self) -> str:
        return inspect.cleandoc(self.docstring)

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
            function
            for name, function in vars(importlib.import_module(self.module)).items()
            if name.startswith(kind) and inspect.isfunction(function)
        ]


def rule(
    code: str,
    *,
    name: str,
    severity: str,
    over: tuple[str, ...] = (),
    default: bool = True,
    symptom: bool = False,
    needs: type[Event] | tuple[type[Event], ...] = (),
) -> Callable[[Check], Check]:
    """Marks the check of rule `code` (see the package docstring)."""
    return _as_it_is


def rule_across(
    code: str, *, name: str, severity: str, over: tuple[str, ...] = (), over_apart: tuple[str, ...] = ()
) -> Callable[[Across], Across]:
    """The same for a rule that looks at a run of several processes, or at one process of it, as a whole."""
    return _as_it_is


def _as_it_is(check: Any) -> Any:
    return check


def find_rule(text: str) -> Rule:
    """The rule with this code or name. Raises GradscopeError, naming close ones."""
    if re.fullmatch(r"(?i)gs\d{3}", text):
        for path in Path(__file__).parent.glob(f"*/{text.lower()}_*.py"):  # without the text of all others
            return _read(path)
    rules = all_rules()
    by_name = {rule.name: rule for rule in rules.values()}
    rule = rules.get(text.upper()) or by_name.get(text.lower())
    if rule is None:
        raise GradscopeError(f"no rule is called `{text}`{closest(text, [*rules, *by_name])}")
    return rule


def closest(text: str, known: list[str]) -> str:
    """The end of a sentence that says that nothing is called so."""
    near = difflib.get_close_matches(text.upper(), known, n=1) or difflib.get_close_matches(
        text.lower(), known, n=1
    )
    return f": did you mean `{near[0]}`?" if near else " (`gradscope rules` lists them)"


@cache
def all_rules() -> dict[str, Rule]:
    """Code → rule, from every file in this package, by code."""
    found: dict[str, Rule] = {}
    for path in sorted(Path(__file__).parent.glob("*/gs*.py")):
        rule = _read(path)
        if rule.code in found:
            raise ValueError(f"{rule.code} is in {rule.module} and in {found[rule.code].module}")
        found[rule.code] = rule
    return dict(sorted(found.items()))


def load(rules: Iterable[Rule]) -> None:
    """Imports the files of these rules, as the first that asks them would."""
    for rule in rules:
        importlib.import_module(rule.module)


@cache
def _read(path: Path) -> Rule:
    """The rule of a file. Raises ValueError where it has no mark, or one that says what no rule can be."""
    text = path.read_text(encoding="utf-8")
    marks = text.count("\n@rule")
    mark = _MARKED.match(text, text.find("\n@rule")) if marks == 1 else None
    if mark is None:
        raise ValueError(f"{path} has {marks} functions under @rule, not one")
    kind, given, function = mark.groups()
    (call,) = ast.parse(f"f({given})").body
    assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
    code = ast.literal_eval(call.value.args[0])
    words = {str(word.arg): word.value for word in call.value.keywords}
    needs = words.pop("needs", None)
    kinds = (
        frozenset(node.id for node in ast.walk(needs) if isinstance(node, ast.Name)) if needs else frozenset()
    )
    said = {name: ast.literal_eval(word) for name, word in words.items()}
    if said["severity"] not in SEVERITIES:
        raise ValueError(f"severity of {code} is {said['severity']!r}, not one of {SEVERITIES}")
    module = f"{__name__}.{path.parent.name}.{path.stem}"
    run = partial(_run, module, function, kinds)
    doc = text[3 : text.index('"""', 3)]
    if kind == "rule_across":
        return Rule(code, check=_nothing, module=module, docstring=doc, across=run, **said)
    return Rule(code, check=run, module=module, docstring=doc, needs=kinds, **said)


def _run(module: str, function: str, needs: frozenset[str], of: Any) -> Iterable[Any]:
    if needs and not needs & of.kinds:
        return ()
    found: Iterable[Any] = getattr(importlib.import_module(module), function)(of)
    return found


def _nothing(trace: Trace) -> Iterable[Finding]:
    return ()
