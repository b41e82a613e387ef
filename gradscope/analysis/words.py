"""The names that a sentence uses, and the user's own words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from gradscope.analysis import names
from gradscope.analysis.names import as_it_is, element_names, names_of, place
from gradscope.events import Step
from gradscope.model import Event, Optimizer, Parameter, Site, listed_ranks
from gradscope.source import own_name
from gradscope.store import Member, Trace

MAX_CODE = 60  # characters of the user's source that a sentence can take


def user(site: Site | None) -> Site | None:
    """The user's own innermost line of `site`."""
    return None if site is None else site.user


def code(trace: Trace, site: Site | None, otherwise: str = "") -> str:
    """The user's text at `site` on one line, as in "`opt.step()`"; `otherwise` where unknown."""
    text = source(trace, site)
    if not text:
        return otherwise
    return quoted(text)


def located(trace: Trace, site: Site | None, otherwise: str = "") -> str:
    """The same with its place: "`opt.step()` (train.py:12)"."""
    if site is None:
        return otherwise
    text = code(trace, site)
    line = (names_of(trace).line(site) or "").partition("#")[0].strip()
    if line.startswith("@"):  # the site of a decorated function is all of it
        text = f"`{line}`"
    elif text and re.match(rf"{re.escape(text.strip('`'))} [-+*/@]?=[^=]", line):
        text = quoted(line)  # that of `p.requires_grad = False` is its target
    return f"{text or otherwise} ({names_of(trace).place(site)})".strip()


def source(trace: Trace, site: Site | None) -> str:
    """The user's text at `site` on one line; "" where unknown."""
    return (names_of(trace).text(site) if site is not None else None) or ""


def owner(text: str, attribute: str) -> str:
    """The expression before `.attribute` in the user's text ("b" in "b.data.zero_()"), or ""."""
    found = re.search(rf"([A-Za-z_]\w*(?:\.\w+|\[[^\]]*\])*)\.{attribute}\b", text)
    return found.group(1) if found else ""


def loss_given(trace: Trace, event: Event) -> str | None:
    """The variable that a library's `backward(…)` is given, "" where it is none; None where the pass is a call of the
    program's own."""
    call = event.site.user
    if all(frame.kind != "library" for frame in event.site.stack[event.site.stack.index(call) :]):
        return None
    given = next((n for n in trace.source_file(call.path).around(call) if isinstance(n, ast.Call)), None)
    if given is None or not given.args or not ast.unparse(given.func).endswith("backward"):
        return ""
    return given.args[0].id if isinstance(given.args[0], ast.Name) else ""


def parameter_names(trace: Trace, ids: Iterable[int], limit: int = 3) -> str:
    """Their names as a sentence takes them: "`fc.weight`, `fc.bias` and 3 more"; "the 2 parameters of `fc`" where
    nothing but the variable is known that they were made for (a layer that was never called)."""
    kept = list(dict.fromkeys(ids))
    loose = len(kept) > 1 and all(trace.parameter(id).module is None for id in kept)
    if loose and len({parameter_name(trace, id) for id in kept}) == 1:
        return f"the {len(kept)} parameters of `{parameter_name(trace, kept[0])}`"
    shown = list(dict.fromkeys(f"`{parameter_name(trace, id)}`" for id in kept[:limit]))
    return listed(shown + [""] * (len(kept) - len(shown)), len(shown))


def parameter_name(trace: Trace, id: int) -> str:
    """Its name as `names.parameter_name` has it; the user's variable for a tensor on its own."""
    parameter = trace.parameter(id)
    named = names.parameter_name(trace, parameter) or element_names(trace).get(id) or _variable(trace, id)
    return named or tensor_variable(trace, parameter.site) or f"parameter {id}"


def dotted(root: str, path: str) -> str:
    """A module as the program writes it: "model.body[1].norm" for `model` and "body.1.norm"."""
    parts = [f"[{part}]" if part.isdigit() else f".{part}" for part in path.split(".") if part]
    return f"{root}{''.join(parts)}".lstrip(".")


def _variable(trace: Trace, id: int) -> str | None:
    for graph in trace.graphs:
        for value in graph.values:
            if value.parameter == id and (name := names_of(trace).name(graph, value.index)):
                return name
    return None


def listed(names: list[str], limit: int = 3) -> str:
    """As a sentence lists them: "a, b and c", or "a, b, c and 5 more"."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def named(names: Iterable[str]) -> str:
    """Variables as a sentence lists them: "`a`, `b` and `c`"."""
    return listed([f"`{name}`" for name in names])


def named_at(trace: Trace, name: str, site: Site) -> str:
    """A dotted name as the function at a place can write it: "self.model.body" for "trainer.model.body", and
    "self.body" for "body", where that is the object's own attribute and the function knows no `trainer` or `body`."""
    if not name or is_known_at(trace, name, site):
        return name
    rest = name.partition(".")[2] or name
    own = _own_object(trace, site)
    return f"{own}.{rest}" if own and _has_attribute(trace, site, own, rest) else name


def is_known_at(trace: Trace, name: str, site: Site) -> bool:
    """Whether the function at a place knows what a dotted name begins with, and of an attribute of its own object
    whether its class has one of that name."""
    file = trace.source_file(site.path)
    root, _, rest = name.partition(".")
    if file.tree is None or not root.partition("[")[0].isidentifier():
        return True  # nothing is known of it
    if rest and root == _own_object(trace, site):
        return _has_attribute(trace, site, root, rest)
    return file.binds(site, root.partition("[")[0])


def _own_object(trace: Trace, site: Site) -> str:
    """What the method at a place calls the object that it belongs to: `self`; "" where it is no method."""
    file = trace.source_file(site.path)
    node = next(file.around(site), None)
    method = file.function_of(node) if node is not None else None
    if method is None or not isinstance(file.parent.get(id(method)), ast.ClassDef):
        return ""
    return method.args.args[0].arg if method.args.args else ""


def _has_attribute(trace: Trace, site: Site, own: str, dotted_name: str) -> bool:
    """Whether the class around a place, or one of the file that it is made of, reads or writes `own.x`, for "x.y"."""
    file = trace.source_file(site.path)
    node = next(file.around(site), None)
    holder = file.class_of(node) if node is not None else None
    attribute = dotted_name.partition(".")[0].partition("[")[0]
    classes = [holder] if holder is not None else []
    for one in classes:  # grows on the way
        bases = {own_name(base) for base in one.bases}
        classes += [c for _, c in file.of(ast.ClassDef) if c.name in bases and c not in classes]
    return any(
        isinstance(one, ast.Attribute)
        and one.attr == attribute
        and isinstance(one.value, ast.Name)
        and one.value.id == own
        for holder in classes
        for one in ast.walk(holder)
    )


def holds(outer: Site, inner: Site) -> bool:
    """Whether the expression `inner` stands within `outer`."""
    if outer.path != inner.path:
        return False
    start = (outer.line, outer.column) <= (inner.line, inner.column)
    return start and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


def root_of(trace: Trace, parameter: Parameter) -> int | None:
    """The outermost module that a parameter belongs to."""
    return trace.modules[parameter.module].root if parameter.module in trace.modules else None


def ranks_named(members: list[Member]) -> str:
    """rank 1; ranks 0, 2 and 3."""
    numbers = sorted(member.rank for member in members if member.rank is not None)
    return f"ranks {listed_ranks([str(n) for n in numbers])}" if len(numbers) > 1 else members[0].name


def plural(count: int, noun: str) -> str:
    """The number with its noun: 1 step, 3 steps, 2 passes."""
    return f"{count} {noun}{'' if count == 1 else 'es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's'}"


def counted(count: int, noun: str) -> str:
    """The same with thousands apart: 1,540 passes."""
    return f"{count:,} {plural(count, noun).partition(' ')[2]}"


def one_digit(number: float) -> str:
    """A number rounded to one digit, as a program writes it: 3e-4."""
    return f"{number:.0e}".replace("e-0", "e-").replace("e+00", "")


def percent(share: float, digits: int = 0) -> str:
    """Part of a whole: "59%"; what would be rounded to nothing or to all of it is "less than 1%", "more than 99%"."""
    least = 10.0 ** -(digits + 2)
    if 0 < share < least / 2:
        return f"less than {least:.{digits}%}"
    if 1 - least / 2 < share < 1:
        return f"more than {1 - least:.{digits}%}"
    return f"{share:.{digits}%}"


def numbers(values: Any, limit: int = 5) -> str:
    """First elements of a tensor, as "[6, 1.3333, 1.3333]"."""
    if not isinstance(values, (list, tuple)):
        return _number(values)
    shown = [numbers(value, limit) for value in values[:limit]]
    return f"[{', '.join(shown)}{', …' if len(values) > limit else ''}]"


def _number(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def parameter_subjects(ids: Iterable[int]) -> frozenset[Any]:
    """Subjects of a finding about these parameters."""
    return frozenset(("parameter", id) for id in ids)


def variable(trace: Trace, site: Site | None) -> str:
    """The variable that what is made at `site` is assigned to; "" where there is none."""
    return (trace.source_file(site.user.path).variable(site.user) if site is not None else None) or ""


def variable_given(trace: Trace, site: Site | None) -> str:
    """The variable that the call at `site` is given first; "" where it is given something else."""
    node = trace.source_file(site.user.path).at(site.user) if site is not None else None
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    return given.id if isinstance(given, ast.Name) else ""


def tensor_variable(trace: Trace, site: Site | None) -> str:
    """The same for a tensor, where all that stands between leaves it what it is: not `loss` for the `y` of
    `loss = criterion(model(x), torch.from_numpy(y))`."""
    if site is None:
        return ""
    file = trace.source_file(site.user.path)
    called = isinstance(file.parent.get(id(as_it_is(file, file.at(site.user)))), (ast.Attribute, ast.Call))
    return "" if called else variable(trace, site)


def optimizer_name(trace: Trace, number: int | None, at: Site | None = None) -> str:
    """The user's variable of an optimizer, as in `opt.step()`, or as the function at a place knows it; "the
    optimizer" where unknown."""
    name = (at is not None and _optimizer_at(trace, number, at)) or _optimizer_variable(trace, number)
    return f"`{name}`" if name else "the optimizer"


def _optimizer_at(trace: Trace, number: int | None, at: Site) -> str:
    """What the function at a place calls an optimizer; "" where it knows none of its names."""
    steps = [(event.optimizer, event.site.user) for event in trace.of(Step)]
    called = dict.fromkeys(owner(source(trace, site), "step") for own, site in steps if own == number)
    others = {owner(source(trace, site), "step") for own, site in steps if own != number}
    names = [_optimizer_variable(trace, number), *(text for text in called if text not in others)]
    found = (named_at(trace, name, at) for name in names if name)
    return next((name for name in found if is_known_at(trace, name, at)), "")


def _optimizer_variable(trace: Trace, number: int | None) -> str:
    """What it is called where it is made; without a name there, or as an attribute of a class's own, `self.opt`, as
    the lines that step it call it, which may stand elsewhere: `D.opt`."""
    known = trace.optimizers.get(number) if number is not None else None
    name = variable(trace, known.site) if known is not None else ""
    if name and not name.startswith("self."):
        return name
    steps = [(event.optimizer, event.site.user) for event in trace.of(Step)]
    called = {owner(source(trace, site), "step") for optimizer, site in steps if optimizer == number}
    if not name:  # made where it is returned: what steps it alone has a name for it
        others = {owner(source(trace, site), "step") for optimizer, site in steps if optimizer != number}
        return called.pop() if len(called) == 1 and not called & others else _entry(trace, known)
    ends = {text for text in called if text.rpartition(".")[2] == name.rpartition(".")[2]}
    return ends.pop() if len(called) == len(ends) == 1 else name


def _entry(trace: Trace, optimizer: Optimizer | None) -> str:
    """`opts["enc"]`, where one of a list or dict is not stepped by a name of its own."""
    site = optimizer.site.user if optimizer is not None and optimizer.site and optimizer.made else None
    return (trace.source_file(site.path).element(site) if site is not None else None) or ""


def method(trace: Trace, number: int | None, call: str, given: str = "", at: Site | None = None) -> str:
    """A call on an optimizer as the user would write it, at a place where that is known: "`opt.zero_grad()`"; else
    "`zero_grad()` of the optimizer that is made at train.py:12"."""
    name = _optimizer_variable(trace, number)
    if at is not None and name and not (name := _optimizer_at(trace, number, at)):
        known = trace.optimizers.get(number) if number is not None else None
        made = f" that is made at {where(known.site)}" if known and known.site and known.made else ""
        return f"`{call}({given})` of the optimizer{made}"
    return f"`{name or 'optimizer'}.{call}({given})`"


def where(site: Site | None) -> str:
    """ "train.py:88", or "the loop" where nothing is known."""
    return place(site.user) if site is not None else "the loop"


def where_made(optimizer: Optimizer) -> str:
    """ "train.py:88", or that the watch did not see it."""
    return where(optimizer.site) if optimizer.made else "made before what was watched"


def backward_text(trace: Trace, event: Event | None) -> str:
    """The pass as the user wrote it, with its line: "`loss.backward()` (train.py:12)"."""
    if event is None:
        return "`backward()`"
    return f"`{source(trace, event.site.user) or 'backward()'}` ({where(event.site)})"


def quoted(text: str) -> str:
    return f"`{text if len(text) <= MAX_CODE else text[: MAX_CODE - 1] + '…'}`"
