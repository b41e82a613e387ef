"""Settings that a program hands over and that nothing reads: an argument that its function never looks at, an attribute
that is set from the constructor's argument while the methods have its default written in."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gradscope.analysis.intent import says_unused
from gradscope.analysis.memo import once
from gradscope.analysis.never_read import unread
from gradscope.analysis.text import classes_named, classes_of_program, has_run, site_of
from gradscope.events import ModuleCall
from gradscope.model import Site
from gradscope.source import FUNCTIONS, Function, called_name, names_in, own_name
from gradscope.store import Trace

REFLECTION = {"locals", "super", "vars"}


class UnreadArgument(NamedTuple):
    """function: its `def`, with the argument; given: a call that hands the argument over; inside: a call in the
    function that leaves a number at its default (`strength=1.0`), and the name of that; own: where a method reads the
    object's attribute of the same name; overwritten: the statement that gives the name another value before anything
    reads it; part: it is handed over by the object that holds the function's own, as one of its parts; dropped: the
    last of the statements that compute something of it, which nothing reads; unpacked: nothing else is known of it, and
    another call hands over all that a mapping holds (`model(**batch)`), which the function has to accept."""

    path: str
    name: str
    argument: ast.arg
    function: Function
    given: Site
    inside: ast.Call | None
    default: str
    own: tuple[ast.Attribute, ...]
    overwritten: ast.Assign | None
    part: bool = False
    dropped: ast.Assign | None = None
    unpacked: bool = False


class UnreadAttribute(NamedTuple):
    """constant: the number that stands in a method, where the constructor's argument has it as its default; made: the
    call of the constructor."""

    path: str
    name: str
    constant: ast.Constant
    made: Site


class UnreadDefault(NamedTuple):
    """A setting of an optimizer's groups. step: the method that leaves it out; given: the call that hands it over;
    meant: a method of the optimizer's that takes it as an argument, and did not run."""

    path: str
    name: str
    cls: str
    step: Function
    given: Site
    meant: Function | None


def unread_arguments(trace: Trace) -> Iterator[UnreadArgument]:
    """Of functions that ran, each the only one of its name, that are handed something other than a constant."""
    functions = _functions(trace)
    for key, defined in functions.items():
        path, function, owner = defined[0]
        if (
            len(defined) != 1
            or key.startswith("__")
            or function.decorator_list
            or not has_run(trace, path, function)
        ):
            continue
        names, body = _arguments(function, owner), _Body(function)
        for place, name in enumerate(names):
            own = body.own(name) if owner is not None else ()
            read = body.reads(name, body.to_itself(name) if own else ())
            overwritten = _overwritten(function, name) if read else None
            dropped = _dropped(trace, path, body, name) if read and overwritten is None else None
            if says_unused(name) or (read and overwritten is None and dropped is None):
                continue
            calls = _calls(trace, key)
            constants = bool(own) or dropped is not None
            given = next(((p, c) for p, c in calls if _hands_over(c, name, place, constants)), None)
            part = given is None and not own and not read and key.endswith(".forward")
            if part:
                given = next(
                    (pair for pair in _of_parts(trace, key) if _hands_over(pair[1], name, place, False)), None
                )
            chosen = given is not None and given[0] != path and _imports_by_name(trace)
            if given is not None and not chosen and not _may_go_elsewhere(trace, *given):
                inside, default = _left_at_default(trace, path, function)
                told = own or overwritten is not None or dropped is not None or inside is not None
                unpacked = not told and any(word.arg is None for _, call in calls for word in call.keywords)
                told = told or key.endswith(".forward")
                if not told and owner is not None and _is_one_of_several(trace, owner):
                    continue
                yield UnreadArgument(
                    path,
                    name,
                    _argument(function, name),
                    function,
                    site_of(given[0], key, given[1]),
                    inside,
                    default,
                    own,
                    overwritten,
                    part,
                    dropped,
                    unpacked,
                )


def _may_go_elsewhere(trace: Trace, path: str, call: ast.Call) -> bool:
    """Whether the call is of `self.part.method(…)`, and the part is made of one class or another, or of a name that
    one import or another gives: they are called alike, and what this one leaves the other may read."""
    part = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    if isinstance(part, ast.Name):
        file = trace.source_file(path)
        imports = [("", node.names) for _, node in file.of(ast.Import)]
        imports += [(node.module or "", node.names) for _, node in file.of(ast.ImportFrom)]
        origins = {
            (of, one.name) for of, names in imports for one in names if part.id == (one.asname or one.name)
        }
        return len(origins) > 1
    return isinstance(part, ast.Attribute) and len(_classes_of(trace, path, part.attr)) > 1


@once
def _imports_by_name(trace: Trace) -> bool:
    """Whether the program chooses modules by their names: those that are not there may read what this one leaves."""
    calls = (trace.source_file(path).calls for path in trace.sources)
    return any(not {"import_module", "__import__"}.isdisjoint(known) for known in calls)


def _is_one_of_several(trace: Trace, owner: ast.ClassDef) -> bool:
    """Whether a class has a base of the program's own: others of that base may read what this one leaves."""
    return any(own_name(base) in classes_of_program(trace) for base in owner.bases)


def handed_over(trace: Trace, path: str, function: Function, name: str) -> Site | None:
    """The call that hands a function of the program's, the only one of its name, more than a constant for one of its
    arguments; None where there is none, or the function did not run."""
    above = next(trace.source_file(path).above(function), None)
    owner = above if isinstance(above, ast.ClassDef) else None
    key = f"{owner.name}.forward" if owner is not None and function.name == "forward" else function.name
    names = _arguments(function, owner)
    if len(_functions(trace).get(key, ())) != 1 or name not in names or not has_run(trace, path, function):
        return None
    calls = _calls(trace, key)
    return next(
        (site_of(p, key, c) for p, c in calls if _hands_over(c, name, names.index(name), False)), None
    )


def unread_attributes(trace: Trace) -> Iterator[UnreadAttribute]:
    """Of classes whose constructor is handed another number than its default, which stands in one place of a method
    that ran."""
    loaded = _loaded(trace)
    for path in trace.sources:
        for _, cls in trace.source_file(path).of(ast.ClassDef):
            methods = [node for node in cls.body if isinstance(node, FUNCTIONS)]
            made = next((method for method in methods if method.name == "__init__"), None)
            for name, default in (_numbers(made) if made is not None else {}).items():
                if made is None or default in (0, 1) or name in loaded or not _only_kept(made, name):
                    continue
                ran = [method for method in methods if method is not made and has_run(trace, path, method)]
                written = [c for method in ran for c in _constants(method, default)]
                place = _arguments(made, cls).index(name)
                calls = [
                    (p, c) for p, c in _calls(trace, cls.name) if _hands_another(c, name, place, default)
                ]
                if len(written) == 1 and calls:
                    yield UnreadAttribute(path, name, written[0], site_of(calls[0][0], cls.name, calls[0][1]))


def unread_defaults(trace: Trace) -> Iterator[UnreadDefault]:
    """Of optimizers of the program's own that step: what their constructor is handed for their groups and is not zero,
    and neither a method nor any other text of the program asks for."""
    for cls in {optimizer.cls for optimizer in trace.optimizers.values() if optimizer.steps}:
        for path, node in classes_named(trace, cls):
            methods = {method.name: method for method in node.body if isinstance(method, FUNCTIONS)}
            made, step = methods.get("__init__"), methods.get("step")
            plain = [own_name(base) for base in node.bases] == ["Optimizer"]
            if made is None or step is None or not plain or _hands_groups_on(step):
                continue
            groups = [group for o in trace.optimizers.values() if o.cls == cls for group in o.groups]
            asked, places = _asked_for(trace, node, made), _arguments(made, node)
            for name, argument in _defaults(made):
                if (
                    argument not in places
                    or name == "lr"
                    or name in asked
                    or not any(g.get(name) for g in groups)
                ):
                    continue
                place = places.index(argument)
                calls = [(p, c) for p, c in _calls(trace, cls) if _hands_over(c, argument, place, True)]
                if calls:
                    others = [
                        m for m in methods.values() if m not in (made, step) and not has_run(trace, path, m)
                    ]
                    meant = next((m for m in others if argument in _arguments(m, None)), None)
                    yield UnreadDefault(path, name, cls, step, site_of(calls[0][0], cls, calls[0][1]), meant)


def _defaults(made: Function) -> Iterator[tuple[str, str]]:
    """(setting, argument) of a constructor that puts its arguments into a dict: `{"lr": lr}` or `dict(lr=lr)`."""
    for node in ast.walk(made):
        pairs: list[tuple[str, ast.expr]] = []
        if isinstance(node, ast.Dict):
            keys = [str(key.value) if isinstance(key, ast.Constant) else "" for key in node.keys]
            pairs = list(zip(keys, node.values, strict=True))
        elif isinstance(node, ast.Call) and called_name(node) == "dict":
            pairs = [(k.arg or "", k.value) for k in node.keywords]
        yield from ((name, value.id) for name, value in pairs if name and isinstance(value, ast.Name))


def _hands_groups_on(step: Function) -> bool:
    """Whether a step gives away its groups, or all of their settings: to whoever reads them."""
    groups = {
        node.target.id
        for node in ast.walk(step)
        if isinstance(node, ast.For)
        and isinstance(node.target, ast.Name)
        and "param_groups" in ast.unparse(node.iter)
    }
    for node in ast.walk(step):
        if isinstance(node, ast.Call):
            given = [*node.args, *(k.value for k in node.keywords)]
            if any(isinstance(one, ast.Name) and one.id in groups for one in given):
                return True
        if (
            isinstance(node, ast.Attribute)
            and own_name(node.value) in groups
            and node.attr in ("items", "values")
        ):
            return True
    return not groups


def _asked_for(trace: Trace, cls: ast.ClassDef, made: Function) -> set[str]:
    """What a class names anywhere but in its constructor, as a text or an attribute, and what the rest of the program
    asks a mapping for: `group["lr"]`, `group.get("lr")`."""
    inside = {id(node) for node in ast.walk(made)}
    own = [node for node in ast.walk(cls) if id(node) not in inside]
    words = [node.attr for node in own if isinstance(node, ast.Attribute)]
    texts = [node for node in own if isinstance(node, ast.Constant)]
    for path in trace.sources:
        for _, subscript in trace.source_file(path).of(ast.Subscript):
            texts += [subscript.slice] if isinstance(subscript.slice, ast.Constant) else []
        for _, call in trace.source_file(path).of(ast.Call):
            asks = isinstance(call.func, ast.Attribute) and call.func.attr in ("get", "pop", "setdefault")
            texts += [a for a in call.args[:1] if isinstance(a, ast.Constant)] if asks else []
    return {*words, *(node.value for node in texts if isinstance(node.value, str))}


@once
def _loaded(trace: Trace) -> set[str]:
    """The names of attributes that the program reads somewhere, or might: the words of its texts too."""
    found: set[str] = set()
    for path in trace.sources:
        for node in trace.source_file(path).nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                found.add(node.value)
    return found


@once
def _functions(trace: Trace) -> dict[str, list[tuple[str, Function, ast.ClassDef | None]]]:
    """The program's functions by name, with the class that they are methods of; `forward` by that of its class."""
    found: dict[str, list[tuple[str, Function, ast.ClassDef | None]]] = {}
    for path in trace.sources:
        file = trace.source_file(path)
        for node in file.nodes:
            if isinstance(node, FUNCTIONS):
                above = next(file.above(node), None)
                owner = above if isinstance(above, ast.ClassDef) else None
                name = f"{owner.name}.forward" if owner is not None and node.name == "forward" else node.name
                found.setdefault(name, []).append((path, node, owner))
    return found


def _arguments(function: Function, owner: ast.ClassDef | None) -> list[str]:
    """The names of what a call gives it, in their order; without `self`."""
    given = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    return [*given[1 if owner is not None else 0 :], *(a.arg for a in function.args.kwonlyargs)]


def _argument(function: Function, name: str) -> ast.arg:
    given = function.args
    return next(a for a in (*given.posonlyargs, *given.args, *given.kwonlyargs) if a.arg == name)


class _Body:
    """What stands in a function, by one walk of it: most of those that ran are asked for each of their arguments."""

    def __init__(self, function: Function):
        self._read: dict[str, list[ast.Name]] = {}
        self._own: dict[str, list[ast.Attribute]] = {}
        self._statements: list[ast.Assign | ast.If] = []
        self._around: dict[int, tuple[int, ...]] = {}  # name or attribute → the statements that it stands in
        self.bound: dict[str, list[ast.Assign]] = {}  # name → the statements that give it a value
        todo: list[tuple[ast.AST, tuple[int, ...]]] = [(statement, ()) for statement in function.body]
        for node, around in todo:  # grows meanwhile
            if isinstance(node, (ast.Assign, ast.If)):
                self._statements.append(node)
                around = (*around, id(node))
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                self.bound.setdefault(node.targets[0].id, []).append(node)
            elif isinstance(node, ast.AugAssign) and isinstance(
                node.target, ast.Name
            ):  # the caller's tensor, too
                self._read.setdefault(node.target.id, []).append(node.target)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
                self._read.setdefault(node.id, []).append(node)
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Load)
                and _is_named(node.value, "self")
            ):
                self._own.setdefault(node.attr, []).append(node)
            self._around[id(node)] = around
            todo += [(below, around) for below in ast.iter_child_nodes(node)]
        abstract = all(isinstance(s, (ast.Raise, ast.Pass, ast.Expr)) for s in function.body)
        self._may_read_all = abstract or not REFLECTION.isdisjoint(self._read)

    def reads(self, name: str, passed_over: Collection[ast.stmt] = ()) -> bool:
        """Whether it reads the name, or may: by `locals()`, or in a class's way of its own; but for what stands in some
        of its assignments and conditions."""
        without = set(map(id, passed_over))
        found = self._read.get(name, ())
        return self._may_read_all or any(without.isdisjoint(self._around[id(n)]) for n in found)

    def to_itself(self, name: str) -> list[ast.Assign | ast.If]:
        """The statements that give the name to itself alone: `x = self.x if x is None else x`, and with `if`."""

        def binds(node: ast.AST) -> bool:
            return (
                isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_named(node.targets[0], name)
            )

        return [
            node
            for node in self._statements
            if binds(node) or (isinstance(node, ast.If) and not node.orelse and all(map(binds, node.body)))
        ]

    def own(self, name: str) -> tuple[ast.Attribute, ...]:
        """Where a method reads `self.name`, but to give it to the name."""
        given = set(map(id, self.to_itself(name))) if name in self._own else set[int]()
        found = (n for n in self._own.get(name, ()) if given.isdisjoint(self._around[id(n)]))
        return tuple(sorted(found, key=lambda node: (node.lineno, node.col_offset)))


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _overwritten(function: Function, name: str) -> ast.Assign | None:
    """The statement of the function's own block that binds the name anew before any other mentions it."""
    for statement in function.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            bound = target.elts if isinstance(target, ast.Tuple) else [target]
            if name in map(own_name, bound) and not isinstance(statement.value, ast.Tuple):
                return None if name in names_in(statement.value) else statement
        if name in names_in(statement):
            return None
    return None


def _dropped(trace: Trace, path: str, body: _Body, name: str) -> ast.Assign | None:
    """The last of the tensors that the function computes of an argument, where nothing reads one of them and nothing
    else reads the argument."""
    binding = body.bound
    if body.reads(name, [statement for bound in binding.values() for statement in bound]):
        return None  # at once, as of most arguments: to look at each name is what takes the time
    dead: list[ast.Assign] = []
    for bound in sorted(binding, key=lambda bound: -binding[bound][-1].lineno):
        if bound != name and not body.reads(bound, [*dead, *binding[bound]]):
            dead += binding[bound]
    if not dead or body.reads(name, dead) or not unread(trace, path, dead):
        return None
    return max(dead, key=lambda statement: statement.lineno)


def _calls(trace: Trace, key: str) -> list[tuple[str, ast.Call]]:
    """(file, call) of all calls of a function or class in the program's text; of `Model.forward` those that ran."""
    if key.endswith(".forward"):
        found = []
        for event in trace.of(ModuleCall):
            site, module = event.site.user, trace.modules.get(event.called)
            node = (
                trace.source_file(site.path).at(site) if module is not None and site.kind == "user" else None
            )
            if module is not None and f"{module.cls}.forward" == key and isinstance(node, ast.Call):
                found.append((site.path, node))
        return found
    return _by_name(trace).get(key, [])


@once
def _parts(trace: Trace) -> dict[str, list[tuple[str, ast.Call]]]:
    """Class of a part → (file, call) of `self.part(…)` in methods that ran, where the class that holds it makes it in
    one place only."""
    found: dict[str, list[tuple[str, ast.Call]]] = {}
    for path in trace.sources:
        for cls in trace.source_file(path).nodes:
            if not isinstance(cls, ast.ClassDef):
                continue
            made: dict[str, list[str]] = {}
            for node in ast.walk(cls):
                for target, value in _pairs(node) if isinstance(node, ast.Assign) else ():
                    if isinstance(target, ast.Attribute):
                        made.setdefault(ast.unparse(target), []).append(called_name(value))
            for method in cls.body:
                if isinstance(method, FUNCTIONS) and has_run(trace, path, method):
                    for node in ast.walk(method):
                        part = made.get(ast.unparse(node.func), []) if isinstance(node, ast.Call) else []
                        if len(part) == 1 and part[0] and isinstance(node, ast.Call):
                            found.setdefault(part[0], []).append((path, node))
    return found


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What gets what: also of `a, b = x, y`."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _of_parts(trace: Trace, key: str) -> Iterator[tuple[str, ast.Call]]:
    """The calls of a `Part.forward` by the module that holds it, which is called from outside, and of which no
    argument that it hands on was left out in any of its calls that ran."""
    for path, call in _parts(trace).get(key.removesuffix(".forward"), []):
        file = trace.source_file(path)
        function, owner = file.function_of(call), file.class_of(call)
        if function is None or owner is None or function.name != "forward":
            continue
        places = _arguments(function, owner)
        given = {name for node in (*call.args, *(k.value for k in call.keywords)) for name in names_in(node)}
        outer = [c for _, c in _calls(trace, f"{owner.name}.forward")]
        handed = [name for name in places if name in given]
        if outer and all(_hands_over(c, name, places.index(name), False) for c in outer for name in handed):
            yield path, call


@once
def _by_name(trace: Trace) -> dict[str, list[tuple[str, ast.Call]]]:
    found: dict[str, list[tuple[str, ast.Call]]] = {}
    for path in trace.sources:
        for node in trace.source_file(path).nodes:
            if isinstance(node, ast.Call) and (name := called_name(node)):
                found.setdefault(name, []).append((path, node))
    return found


def _given(call: ast.Call, name: str, place: int) -> ast.expr | None:
    """What a call gives for an argument, where that can be seen."""
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    given = [k.value for k in call.keywords if k.arg == name] or call.args[place : place + 1]
    return given[0] if given else None


def _hands_over(call: ast.Call, name: str, place: int, constants: bool) -> bool:
    """Whether it is more than a constant, or, where `constants` count, than None."""
    given = _given(call, name, place)
    constant = isinstance(given, ast.Constant)
    return given is not None and (not constant or (constants and ast.unparse(given) != "None"))


def _hands_another(call: ast.Call, name: str, place: int, default: float) -> bool:
    given = _given(call, name, place)
    return given is not None and not (isinstance(given, ast.Constant) and given.value in (default, None))


def _numbers(function: Function) -> dict[str, float]:
    """The arguments whose default is a number: name → that."""
    given = [*function.args.posonlyargs, *function.args.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(given[::-1], function.args.defaults[::-1], strict=False)
    ]
    pairs += zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    constants = ((a.arg, d.value) for a, d in pairs if isinstance(d, ast.Constant))
    return {
        name: value
        for name, value in constants
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def _only_kept(made: Function, name: str) -> bool:
    """Whether the constructor does nothing with its argument but `self.name = name`."""
    uses = [n for n in ast.walk(made) if isinstance(n, ast.Name) and n.id == name]
    kept = [
        s for s in ast.walk(made)
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name) and s.value.id == name
        and [ast.unparse(t) for t in s.targets] == [f"self.{name}"]
    ]  # fmt: skip
    return len(uses) == len(kept) == 1


def _constants(method: Function, number: float) -> Iterator[ast.Constant]:
    return (n for n in ast.walk(method) if isinstance(n, ast.Constant) and type(n.value) in (int, float)
            and n.value == number)  # fmt: skip


def _left_at_default(trace: Trace, path: str, function: Function) -> tuple[ast.Call | None, str]:
    """The only call in a method of a part of its object that leaves a number at its default, and its name."""
    found = []
    for call in ast.walk(function):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and ast.unparse(call.func.value) == "self"
        ):
            for cls in _classes_of(trace, path, call.func.attr):
                for _, called, owner in _functions(trace).get(f"{cls}.forward", []):
                    names = _arguments(called, owner)
                    left = [n for n, d in _numbers(called).items() if _given(call, n, names.index(n)) is None]
                    found += [(call, n) for n in left]
    return found[0] if len(found) == 1 else (None, "")


def _classes_of(trace: Trace, path: str, attribute: str) -> set[str]:
    """The classes of what the program keeps under `self.attribute`."""
    return {
        called_name(node.value)
        for node in trace.source_file(path).nodes
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == [f"self.{attribute}"]
    } - {""}
