"""Where the number is written that a setting gets its value from: at the call itself, or where the program gives it to
the name that stands there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from gradscope.analysis.names import short_path
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Site, place_of
from gradscope.source import SCOPES, Function, SourceFile, arguments, called_name, own_name
from gradscope.store import Trace


def with_setting(trace: Trace, made: Site | None, name: str, value: str, position: int = -1) -> Edits:
    """The call at `made` with another `name=value`, where that is written there, not at all, or once elsewhere in the
    file: `lr=args.lr` and `add_argument("--lr", default=0.1)`."""
    if made is None:
        return ()
    here = Source(trace, made.path)
    call = here.file.at(made)
    if not isinstance(call, ast.Call):
        return ()
    given = [k.value for k in call.keywords if k.arg == name]
    given += call.args[position : position + 1] if position >= 0 else []
    if not given or isinstance(given[0], ast.Constant):
        return with_argument(trace, made, name, value, position)
    number = written(trace, here.file, given[0])
    return here.replace(number, value) if number is not None else ()


def elsewhere(made: Site | None, edits: Edits) -> str:
    """Where the number is written that these edits change, as "train.py:24"; "" where that is the call itself."""
    first = next(iter(edits), None)
    if first is None or made is None or (made.line <= first.line <= (made.end_line or made.line)):
        return ""
    return place_of(short_path(first.path), first.line)


def written(trace: Trace, file: SourceFile, node: ast.expr) -> ast.Constant | None:
    """The only number that the file gives to a name, an attribute or a key; None where it gives others too, or where
    the command line does."""
    found = list(_given(trace, file, node))
    number = found[0] if len(found) == 1 else None
    plain = isinstance(number, ast.Constant) and type(number.value) in (int, float)
    return number if plain and isinstance(number, ast.Constant) else None


def _given(trace: Trace, file: SourceFile, node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Name):
        scopes = (above for above in file.above(node) if isinstance(above, SCOPES))
        taker = next((one for one in scopes if node.id in {arg.arg for arg in arguments(one)}), None)
        yield from _stored(file, node, taker)
        if isinstance(taker, ast.Lambda):
            yield node
        elif taker is not None:
            yield from _of_argument(file, taker, node.id)
    elif isinstance(node, ast.Attribute):
        yield from _stored(file, node)
        yield from _of_option(trace, file, node.attr)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        yield from _stored(file, node)
        key = node.slice.value
        for one in file.nodes:
            if isinstance(one, ast.Dict):
                keys = zip(one.keys, one.values, strict=True)
                yield from (v for k, v in keys if isinstance(k, ast.Constant) and k.value == key)
            elif isinstance(one, ast.Call) and called_name(one) == "dict":
                yield from (k.value for k in one.keywords if k.arg == key)


def _of_argument(file: SourceFile, function: Function, name: str) -> Iterator[ast.expr]:
    """Its default, and what the file's calls give for it."""
    by_place = [*function.args.posonlyargs, *function.args.args]
    defaults = dict(zip([a.arg for a in by_place[::-1]], function.args.defaults[::-1], strict=False))
    kept = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    defaults |= {arg.arg: default for arg, default in kept if default is not None}
    method = bool(by_place) and by_place[0].arg in ("self", "cls")
    called = function.name
    if called == "__init__" and (cls := file.class_of(function)) is not None:
        called = cls.name
    place = next((i for i, arg in enumerate(by_place) if arg.arg == name), -1) - method
    calls = file.calls.get(called, [])
    given = 0
    for call in calls:
        values = [k.value for k in call.keywords if k.arg == name]
        values += call.args[place : place + 1] if place >= 0 else []
        given += bool(values)
        yield from values
    if name in defaults and (given < len(calls) or not calls):
        yield defaults[name]


def _stored(
    file: SourceFile, name: ast.Name | ast.Attribute | ast.Subscript, within: ast.AST | None = None
) -> Iterator[ast.expr]:
    """What statements give to a variable (`within` one function alone), to an attribute of whatever object (in a
    class body too), or to an item: the target itself where that is a part of what they give, or is computed."""
    for target in file.nodes:
        if not _is_written(target, file, name) or (within and file.scope_of(target) is not within):
            continue
        statement = file.parent.get(id(target))
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
            yield target
        elif statement.value is not None:
            yield statement.value


def _is_written(
    target: ast.AST, file: SourceFile, name: ast.Name | ast.Attribute | ast.Subscript
) -> TypeGuard[ast.Name | ast.Attribute | ast.Subscript]:
    """Whether that is a place where what a name, an attribute or an item reads is written to."""
    if not isinstance(getattr(target, "ctx", None), ast.Store):
        return False
    if isinstance(target, ast.Name) and not isinstance(name, ast.Subscript):
        statement = file.statement_of(target)
        in_class = statement is not None and isinstance(file.parent.get(id(statement)), ast.ClassDef)
        return own_name(name) == target.id and in_class == isinstance(name, ast.Attribute)
    if isinstance(target, ast.Attribute) and isinstance(name, ast.Attribute):
        return target.attr == name.attr
    return isinstance(target, ast.Subscript) and ast.unparse(target) == ast.unparse(name)


def _of_option(trace: Trace, file: SourceFile, name: str) -> Iterator[ast.expr]:
    """The default of an option of the command line, unless that was given."""
    for call in file.calls.get("add_argument", []):
        texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
        flags = [text for text in texts if isinstance(text, str)]
        known = {k.arg: k.value for k in call.keywords}
        own = next((f for f in flags if f.startswith("--")), flags[0] if flags else "")
        dest = known.get("dest")
        named = dest.value if isinstance(dest, ast.Constant) else own.lstrip("-").replace("-", "_")
        if named == name and "default" in known:
            yield known["default"]
            argv = [str(one).partition("=")[0] for one in trace.program.get("argv") or ()]
            if any(_gives(one, flag) for one in argv for flag in flags):
                yield call


def _gives(argument: str, flag: str) -> bool:
    """Whether an argument of the command line names an option: `--lr`, its beginning `--l`, or `-l0.1` for `-l`."""
    if flag.startswith("--"):
        return len(argument) > 2 and flag.startswith(argument)
    return flag.startswith("-") and argument.startswith(flag)
