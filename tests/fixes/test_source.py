"""The edits that all fixes are made of: where a line goes, what is left out, where nothing can be done."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
from edited import HEAD, read, run
from torch import nn

from gradscope.fixes.patch import changed
from gradscope.fixes.source import (
    calls,
    eval_around,
    holds_several,
    is_name,
    put_in_training,
    receiver,
    without_its_graph,
)

# -- lines before and after ---------------------------------------------------------------


def test_a_line_goes_before_a_statement_with_its_indentation(tmp_path: Path) -> None:
    program = read(tmp_path, "def train(loss, opt):\n    for _ in range(3):\n        loss.backward()  # π\n")
    edits = program.source.before(program.statement("loss.backward()"), "opt.zero_grad()")
    assert program.body_after(edits) == (
        "def train(loss, opt):\n    for _ in range(3):\n        opt.zero_grad()\n"
        "        loss.backward()  # π\n"
    )


def test_a_line_before_a_decorated_function_goes_above_its_decorators(tmp_path: Path) -> None:
    program = read(tmp_path, "@torch.no_grad()\n@torch.enable_grad()\ndef f():\n    pass\n")
    edits = program.source.before(program.statement("def f"), "x = 1")
    assert program.body_after(edits).startswith("x = 1\n@torch.no_grad()\n@torch.enable_grad()\ndef f():")


@pytest.mark.parametrize(
    "text",
    [
        "def f(x, y):\n    if y:\n        y = 1\n    elif x.step():\n        y = 2\n",
        "def f(x, y):\n    y = 1; x.step()\n",
        "def f(x, y):\n    x.step(); y = 1\n",
        "def f(x, y):\n    if y: x.step()\n",
        "def f(x, y):\n    for _ in y: x.step()\n",
        "def f(x, y):\n    with y: x.step()\n",
    ],
    ids=["elif", "behind another", "before another", "if", "for", "with"],
)
def test_a_statement_that_shares_its_line_is_left_alone(text: str, tmp_path: Path) -> None:
    program = read(tmp_path, text)
    source, statement = program.source, program.file.statement(program.site("x.step()"))
    assert source.before(statement, "z = 1") == ()
    assert source.after(statement, "z = 1") == ()
    assert source.remove(statement) == ()
    assert source.under(statement, "with torch.no_grad():") == ()


def test_no_line_can_go_beside_a_statement_that_is_not_there(tmp_path: Path) -> None:
    source = read(tmp_path, "").source
    assert source.before(None, "z = 1") == source.after(None, "z = 1") == source.remove(None) == ()
    assert source.under(None, "with x:") == ()


def test_a_line_after_a_statement_leaves_the_comment_behind_it(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(loss):\n    loss.backward()  # one; pass\n    return loss\n")
    edits = program.source.after(program.statement("loss.backward()"), "print(loss)")
    assert program.body_after(edits) == (
        "def f(loss):\n    loss.backward()  # one; pass\n    print(loss)\n    return loss\n"
    )


def test_a_line_after_a_loop_comes_behind_all_of_it(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(x):\n    for _ in x:\n        print(\n            x\n        )\n    return x\n"
    )
    edits = program.source.after(program.statement("for _"), "print(1)")
    assert program.body_after(edits).endswith("        )\n    print(1)\n    return x\n")


def test_a_line_can_be_added_to_a_file_whose_last_line_is_open(tmp_path: Path) -> None:
    program = read(tmp_path, "x = torch.ones(2)")
    assert program.body_after(program.source.after(program.statement("x ="), "y = x")) == (
        "x = torch.ones(2)\ny = x"
    )


def test_a_block_that_is_added_is_indented_as_the_file_is(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(a, b):\n\tif a:\n\t\tprint(a)\n\treturn b\n")
    edits = program.source.after(program.statement("if a"), "for x in b:", "x.step()")
    assert "\tfor x in b:\n\t\tx.step()\n\treturn b\n" in program.after(edits)


def test_a_block_in_a_file_without_any_is_indented_by_four_blanks(tmp_path: Path) -> None:
    program = read(tmp_path, "x = torch.ones(2)\n")
    edits = program.source.under(program.statement("x ="), "with torch.no_grad():")
    assert program.body_after(edits) == "with torch.no_grad():\n    x = torch.ones(2)\n"


def test_windows_line_ends_are_kept_by_every_added_line(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(x):\n    x.step()\n    return x\n", newline="\r\n")
    source, statement = program.source, program.statement("x.step()")
    for edits in (
        source.before(statement, "a = 1"),
        source.after(statement, "for b in x:", "b.step()"),
        source.under(statement, "with torch.no_grad():"),
        source.move(statement, program.statement("return x"), after=True),
    ):
        text = program.after(edits)
        assert text.count("\n") == text.count("\r\n") and text.replace("\r\n", "").count("\r") == 0


# -- expressions --------------------------------------------------------------------------


def test_an_edit_behind_text_that_is_not_ascii_hits_its_expression(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(π, loss):\n    print('größer ≥ 🎉', π, loss, 'é')\n")
    source, node = program.source, program.node("loss")
    assert "'größer ≥ 🎉', π, loss.item(), 'é')" in program.after(source.append(node, ".item()"))
    assert "'größer ≥ 🎉', π, -loss, 'é')" in program.after(source.insert(node, "-"))
    assert "'größer ≥ 🎉', π, 0, 'é')" in program.after(source.replace(node, "0"))


def test_a_method_behind_an_operation_is_called_on_all_of_it(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(a, b):\n    return a + b, a.T, b[0], f(a, b), -a\n")
    source = program.source
    after = {
        code: program.after(source.behind(program.node(code), ".detach()"))
        for code in ("a + b", "a.T", "b[0]", "f(a, b)", "-a")
    }
    assert "return (a + b).detach(), " in after["a + b"]
    assert ", (-a).detach()\n" in after["-a"]
    for code in ("a.T", "b[0]", "f(a, b)"):
        assert f"{code}.detach()" in after[code]


def test_the_text_of_a_statement_is_given_with_one_expression_changed(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(é, b):\n    c = é + g(b)\n    d = g(\n        b)\n")
    source, one = program.source, program.statement("c =")
    assert source.text_with(one, program.node("g(b)"), "h") == "c = é + h"
    long = program.statement("d =")
    assert source.text_of(long) == "" == source.text_with(long, program.node("g(\n        b)"), "h")


PLACES = """\
def f(x, y, z, g):
    y = {0}
    y = z = {0}
    y: int = {0}
    y += {0}
    z = [{0} + y, y + {0}, {0} - y, y - {0}, {0} * y, y / {0}, {0} ** y, y ** {0}, y @ {0}]
    z = [y << {0}, {0} & y, y | {0}, y ^ {0}, -{0}, ~{0}, not {0}, {0} and y, y or {0}, {0} < y, y in {0}]
    z = [{0}.T, {0}[0], y[{0}], y[0, {0}], y[{0}:], {0}(y), g({0}), g({0}, y), g(k={0}), g(*{0}), g(**{0})]
    z = [y if {0} else z, {0} if y else z, y if z else {0}, lambda: {0}, {{{0}: y}}, {{y, {0}}}, (y, {0})]
    z = [[y for y in {0}], [y for y in z if {0}], [{0} for y in z], (y := {0}), ({0}), g(({0}))]
    for y in {0}:
        assert {0}, {0}
    while {0}:
        del y[{0}]
    with {0} as y:
        raise {0}
    if {0}:
        return {0}
"""


@pytest.mark.parametrize(
    "expression",
    [
        "a", "a.b", "a[0]", "a(b)", "(a + b)", "(a, b)", "[a, b]", "a + b", "a - b", "a * b", "a ** b", "-a", "1",
        "a < b", "not a", "a and b", "a or b", "a | b", "a << b", "a if b else c", "lambda: a", "(a) + (b)", "'a' 'b'",
        "a, b", "await a", "a := b", "a\n+ b", "a\n    .b", "a(\n    b)",
    ],
)  # fmt: skip
def test_an_expression_is_itself_in_every_place(expression: str, tmp_path: Path) -> None:
    program = read(tmp_path, PLACES.format("x").replace("def", "async def"))
    places = [n for n in program.file.nodes if isinstance(n, ast.Name) and n.id == "x"]
    assert len(places) == PLACES.count("{0}")
    for node in places:
        line, column, _, end = program.file.span(node)
        lines = program.text.split("\n")
        lines[line - 1] = f"{lines[line - 1][: column - 1]}({expression}){lines[line - 1][end - 1 :]}"
        edited = changed(program.text, program.source.replace(node, expression))
        assert ast.dump(ast.parse(edited)) == ast.dump(ast.parse("\n".join(lines))), edited


@pytest.mark.parametrize(
    ("line", "old", "new", "wanted"),
    [
        ("y = x.item()", "x.item()", "a + b", "y = a + b"),
        ("y = g(x.item())", "x.item()", "a + b", "y = g(a + b)"),
        ("y = (x.item()) * 2", "x.item()", "a + b", "y = (a + b) * 2"),
        ("y = 2 * x.item()", "x.item()", "a * b", "y = 2 * (a * b)"),
        ("y = x.item() * 2", "x.item()", "a * b", "y = a * b * 2"),
        ("y = 2 * x.item()", "x.item()", "0.5", "y = 2 * 0.5"),
        ("y = g(x.item())", "x.item()", "*a", "y = g(*a)"),
        ("y = g(x.item())", "x.item()", "k=1", "y = g(k=1)"),
    ],
)
def test_parentheses_come_only_where_they_are_needed(
    line: str, old: str, new: str, wanted: str, tmp_path: Path
) -> None:
    program = read(tmp_path, f"def f(x, g):\n    {line}\n")
    assert program.after(program.source.replace(program.node(old), new)).endswith(f"    {wanted}\n")


@pytest.mark.parametrize(
    ("line", "code", "wanted"),
    [
        ("y = (a + b)", "a + b", "y = (a + b).detach()"),
        ("y = g((a), b)", "a", "y = g((a).detach(), b)"),
        ("y = g(a)", "a", "y = g(a.detach())"),
        ("y = g((  # first\n        a + b\n    ))", "a + b", "y = g((  # first\n        a + b\n    ).detach())"),
        ("y = not (a)", "a", "y = not (a).detach()"),
        ("y = g(a)(b)", "b", "y = g(a)(b.detach())"),
        ("y = a, b", "a, b", "y = (a, b).detach()"),
        ("y = g((a, b))", "(a, b)", "y = g((a, b).detach())"),
        ("y = g(i for i in a)", "i", "y = g(i.detach() for i in a)"),
        ("y = 1", "1", "y = (1).detach()"),
        ("y = b\n    (a + b)", "a + b", "y = b\n    (a + b).detach()"),
        ("if a:\n        (a + b)", "a + b", "if a:\n        (a + b).detach()"),
    ],
)  # fmt: skip
def test_parentheses_around_an_expression_are_its_own_unless_a_call_needs_them(
    line: str, code: str, wanted: str, tmp_path: Path
) -> None:
    program = read(tmp_path, f"def f(a, b, g):\n    {line}\n", head="import torch\ntorch.ones([])\n")
    edits = program.source.behind(program.node(code), ".detach()")
    assert program.after(edits).endswith(f"    {wanted}\n")


def test_nothing_is_called_on_what_a_star_gives(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(a, g):\n    g(*a)\n")
    assert program.source.behind(program.node("*a"), ".detach()") == ()


def test_what_an_expression_reads_like_after_its_edits_is_told(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(é, b):\n    c = [é, g(\n        é + b).h]  # é\n")
    source, node = program.source, program.node("g(\n        é + b).h")
    assert isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call)
    edits = source.behind(node.value.args[0], ".T") + source.append(node, "()")
    assert source.text_after(node, edits) == "g(\n        (é + b).T).h()"


# -- taking out and moving ----------------------------------------------------------------


def test_a_statement_is_taken_out_with_its_line(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(x):\n    x.step(\n        1\n    )  # why\n    return x\n")
    assert program.body_after(program.source.remove(program.statement("x.step("))) == (
        "def f(x):\n    return x\n"
    )


def test_a_block_whose_only_statement_is_taken_out_keeps_a_pass(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(x):\n    if x:\n        x.step()  # why\n    else:\n        x.go()\n")
    source = program.source
    assert "    if x:\n        pass  # why\n    else:" in program.after(
        source.remove(program.statement("x.step"))
    )
    assert program.after(source.remove(program.statement("x.go"))).endswith("    else:\n        pass\n")


def test_a_moved_statement_takes_the_indentation_of_its_new_place(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(x):\n    for _ in x:\n        x.step()\n        print(x)\n    return x\n")
    source, step, loop = program.source, program.statement("x.step()"), program.statement("for _")
    assert program.body_after(source.move(step, loop)) == (
        "def f(x):\n    x.step()\n    for _ in x:\n        print(x)\n    return x\n"
    )
    assert program.body_after(source.move(step, loop, after=True)) == (
        "def f(x):\n    for _ in x:\n        print(x)\n    x.step()\n    return x\n"
    )


def test_a_statement_of_several_lines_moves_only_where_it_is_indented_alike(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(x):\n    x.step(\n        1)\n    print(x)\n    for _ in x:\n        print(1)\n"
    )
    source, step = program.source, program.statement("x.step(")
    assert source.move(step, program.statement("print(x)"), after=True) == ()
    assert source.move(step, program.statement("print(1)"), after=True, lines=True) == ()
    edits = source.move(step, program.statement("print(x)"), after=True, lines=True)
    assert program.body_after(edits).startswith("def f(x):\n    print(x)\n    x.step(\n        1)\n    for")


def test_a_moved_statement_takes_its_comment_along(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(x):\n    for _ in x:\n        x.step()  # once a batch\n        if x:\n"
        "            x.go()  # now\n    return x\n",
    )
    source, loop = program.source, program.statement("for _")
    assert program.body_after(source.move(program.statement("x.step()"), loop, after=True)) == (
        "def f(x):\n    for _ in x:\n        if x:\n            x.go()  # now\n"
        "    x.step()  # once a batch\n    return x\n"
    )
    assert program.body_after(source.move(program.statement("x.go()"), loop)) == (
        "def f(x):\n    x.go()  # now\n    for _ in x:\n        x.step()  # once a batch\n        if x:\n"
        "            pass\n    return x\n"
    )


def test_the_last_statement_of_a_block_moves_behind_that_block(tmp_path: Path) -> None:
    program = read(
        tmp_path, "def f(x):\n    for _ in x:\n        x.go()\n        x.step()  # last\n    return x\n"
    )
    edits = program.source.move(program.statement("x.step()"), program.statement("for _"), after=True)
    assert program.body_after(edits) == (
        "def f(x):\n    for _ in x:\n        x.go()\n    x.step()  # last\n    return x\n"
    )
    program = read(tmp_path, "def f(x):\n    for _ in x:\n        x.step()\n    return x\n")
    edits = program.source.move(program.statement("x.step()"), program.statement("for _"), after=True)
    assert program.body_after(edits) == (
        "def f(x):\n    for _ in x:\n        pass\n    x.step()\n    return x\n"
    )


def test_a_decorated_function_goes_under_a_header_with_its_decorators(tmp_path: Path) -> None:
    program = read(tmp_path, "@torch.no_grad()\ndef f():\n    pass\nf()\n")
    source, statement = program.source, program.statement("def f")
    assert program.body_after(source.under(statement, "if True:")) == (
        "if True:\n    @torch.no_grad()\n    def f():\n        pass\nf()\n"
    )
    assert program.body_after(source.remove(statement)) == "f()\n"


def test_a_statement_is_not_moved_to_itself(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(x):\n    x.step()\n    return x\n")
    assert program.source.move(program.statement("x.step()"), program.statement("x.step()")) == ()


def test_a_text_over_several_lines_is_never_indented(tmp_path: Path) -> None:
    body = (
        "def f(x):\n    x.step()\n    print('''a\n  b''')\n    print(f'''{x}\n  b''')\n    print(\n"
        "        1)\n"
    )
    program = read(tmp_path, body)
    source = program.source
    step, text, formatted = (program.statement(code) for code in ("x.step()", "print('''a", "print(f'''"))
    header = "with torch.no_grad():"
    assert source.together_under([step, text], header) == source.under(formatted, header) == ()
    assert source.move(text, step, lines=True) == ()
    edits = source.under(program.statement("print(\n"), header)
    assert program.after(edits).endswith(f"    {header}\n        print(\n            1)\n")


def test_statements_go_under_a_header_and_blank_lines_stay_blank(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(x):\n\ta = x\n\n\t# why\n\tif a:\n\t\tx.step()\n\treturn a\n")
    statements = [program.statement("a ="), program.statement("if a")]
    edits = program.source.together_under(statements, "with torch.no_grad():")
    assert program.body_after(edits) == (
        "def f(x):\n\twith torch.no_grad():\n\t\ta = x\n\n\t\t# why\n\t\tif a:\n\t\t\tx.step()\n\treturn a\n"
    )


@pytest.mark.parametrize(
    ("call", "left"),
    [
        ("f(x, out=y)", "f(x)"),
        ("f(x, out=y, n=1)", "f(x, n=1)"),
        ("f(n=1, out=y)", "f(n=1)"),
        ("f(out=y)", "f()"),
        ("f(g(x, out=1), out=y)", "f(g(x, out=1))"),
        ("f(*x, out=y, **n)", "f(*x, **n)"),
        ("f((x), out=y)", "f((x))"),
        ("f((x + 1), out=(y))", "f((x + 1))"),
        ("f(out=y, n=1)", "f(n=1)"),
        ("f(out=(y), n=(1))", "f(n=(1))"),
        ("f(out=y, **n)", "f(**n)"),
        ("f(out=y, *x)", "f(*x)"),
        ("f(out=y,)", "f()"),
        ("f(n=(1), out=y,)", "f(n=(1),)"),
        ("f(x,\n      out=y)", "f(x)"),
        ("f(out=y,\n      n=1)", "f(n=1)"),
    ],
)
def test_a_keyword_is_taken_out_with_one_comma(call: str, left: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x, y, n, g):\n    return {call}\n")
    node = program.node(call)
    assert isinstance(node, ast.Call)
    keyword = next(k for k in node.keywords if k.arg == "out")
    assert f"    return {left}\n" in program.after(program.source.without_keyword(node, keyword))


@pytest.mark.parametrize(
    "call", ["f(x,  # one\n      out=y)", "f('é', out=y)"], ids=["a comment", "not ascii"]
)
def test_a_keyword_stays_where_its_place_is_not_plain(call: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(x, y):\n    return {call}\n")
    node = program.node(call)
    assert isinstance(node, ast.Call)
    assert program.source.without_keyword(node, node.keywords[0]) == ()


def test_a_method_is_added_behind_the_others_of_its_class(tmp_path: Path) -> None:
    program = read(tmp_path, "class A:\n\tdef f(self):\n\t\treturn 1  # one\nx = A()\n")
    holder = program.statement("class A")
    assert isinstance(holder, ast.ClassDef)
    text = program.after(program.source.method(holder, "g(self, y)", "z = y", "return z + self.f()"))
    assert "return 1  # one\n\n\tdef g(self, y):\n\t\tz = y\n\t\treturn z + self.f()\nx = A()\n" in text
    assert run(text)["x"].g(2) == 3


def test_no_method_is_added_to_a_class_on_one_line(tmp_path: Path) -> None:
    program = read(tmp_path, "class A: pass\n")
    holder = program.statement("class A")
    assert isinstance(holder, ast.ClassDef)
    assert program.source.method(holder, "g(self)", "return 1") == ()


# -- what stands around -------------------------------------------------------------------

LOOPS = """\
def train(model, opt, data, tests):
    for epoch in range(3):
        for x in data:
            model(x).backward()
            opt.step()
        for x in tests:
            for y in x:
                model(y).sum()
"""


def test_the_block_of_an_evaluation_is_its_outermost_loop_that_trains_nothing(tmp_path: Path) -> None:
    program = read(tmp_path, LOOPS)
    source = program.source
    assert source.block(program.site("model(y)")) is program.statement("for x in tests")
    assert source.block(program.site("model(x)")) is program.statement("model(x).backward()")


def test_the_block_of_an_evaluation_holds_no_place_that_must_stay_out(tmp_path: Path) -> None:
    program = read(tmp_path, LOOPS)
    source, inner = program.source, program.site("model(y)")
    assert source.block(inner, keep_out=[program.site("opt.step()")]) is program.statement("for x in tests")
    assert source.block(inner, keep_out=[program.site("tests")]) is program.statement("for y")


def test_a_loop_outside_of_the_function_is_not_its_block(tmp_path: Path) -> None:
    program = read(tmp_path, "for i in range(0):\n    def f(model, x):\n        return model(x)\n")
    source, statement = program.source, program.statement("return model(x)")
    assert source.block(program.site("model(x)")) is statement
    assert program.file.loop_of(statement) is None
    assert program.file.loop_of(program.statement("def f")) is program.statement("for i")


def test_only_what_stands_before_in_the_same_block_is_known_before(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(c):\n    a = 1\n    if c:\n        b = 2\n        g(b)\n        d = 3\n")
    before = program.source.before_line(program.node("g(b)"))
    assert before.body == [program.statement("b =")]


def test_the_nearest_fitting_statement_before_is_found_in_the_same_block(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(o, c):\n    o.step()\n    if c:\n        o.step()\n        g()\n    h()\n    o.step()\n",
    )
    source, step = program.source, calls("step")
    assert source.earlier(program.statement("h()"), step) is program.statement("if c")
    assert source.earlier(program.statement("if c"), step) is program.statement("o.step()")
    assert source.earlier(program.statement("o.step()"), step) is None
    assert source.earlier(None, step) is None


@pytest.mark.parametrize(
    ("code", "method", "name"),
    [
        ("self.opt.step()", "step", "self.opt"),
        ("self.opt.step()", "zero_grad", ""),
        ("model(x)", "", "model"),
        ("nets[0](x)", "", ""),
        ("make().step()", "step", ""),
        ("x + 1", "step", ""),
    ],
)
def test_what_a_method_is_called_on_is_known_where_it_has_a_name(
    code: str, method: str, name: str, tmp_path: Path
) -> None:
    program = read(tmp_path, f"def f(self, model, nets, make, x):\n    return {code}\n")
    assert receiver(program.trace, program.site(code), method) == name
    assert receiver(program.trace, None, method) == ""


@pytest.mark.parametrize(
    ("code", "wanted"), [("a.b.c", True), ("a", True), ("a[0].b", False), ("a().b", False)]
)
def test_a_name_is_a_variable_or_its_attributes(code: str, wanted: bool) -> None:
    assert is_name(ast.parse(code, mode="eval").body) is wanted


# -- evaluation ---------------------------------------------------------------------------


class Modes(nn.Module):
    """Notes in which mode it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[bool] = []

    def forward(self, x: object) -> torch.Tensor:
        self.seen.append(self.training)
        return torch.zeros(1, requires_grad=True) * 1


def test_the_loop_that_evaluates_runs_in_eval_mode_and_training_goes_on(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(model, data):\n    for x in data:\n        model(x)\n    return model\n")
    text = program.after(eval_around(program.trace, program.site("model(x)"), None, None))
    assert run(text)["f"](model := Modes(), range(2)).training
    assert model.seen == [False, False]


def test_the_block_without_gradients_is_what_is_put_into_eval_mode(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(model, data):\n    model(0)\n    with torch.no_grad():\n        for x in data:\n"
        "            model(x)\n    model(1)\n",
    )
    site, region = program.site("model(x)"), program.site("torch.no_grad()")
    text = program.after(eval_around(program.trace, site, region, None))
    run(text)["f"](model := Modes(), range(2))
    assert model.seen == [True, False, False, True]


def test_train_written_for_eval_is_replaced(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def f(model, data):\n    with torch.no_grad():\n        model.train()\n        for x in data:\n"
        "            model(x)\n    return model\n",
    )
    site, region = program.site("model(x)"), program.site("torch.no_grad()")
    assert len(put_in_training(program.trace, site, program.file.statement(region))) == 1
    text = program.after(eval_around(program.trace, site, region, None))
    assert run(text)["f"](model := Modes(), range(2)).training
    assert model.seen == [False, False] and ".train()" not in text.partition("for")[0].partition("def")[2]


def test_an_evaluation_that_returns_is_followed_by_train_before_the_training(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def check(model, x):\n    return model(x)\n"
        "def train(model, data):\n    check(model, 0)\n    for y in data:\n        model(y).backward()\n",
    )
    edits = eval_around(program.trace, program.site("model(x)"), None, program.site("model(y)"))
    run(program.after(edits))["train"](model := Modes(), range(2))
    assert model.seen == [False, True, True]


def test_no_mode_is_set_where_nobody_would_set_it_back(tmp_path: Path) -> None:
    returns = read(tmp_path, "def f(model, x):\n    return model(x)\n")
    assert eval_around(returns.trace, returns.site("model(x)"), None, None) == ()
    yields = read(tmp_path, "def f(model, data):\n    for x in data:\n        yield model(x)\n")
    assert eval_around(yields.trace, yields.site("model(x)"), None, None) == ()
    unnamed = read(tmp_path, "def f(nets, x):\n    y = nets[0](x)\n    print(y)\n")
    assert eval_around(unnamed.trace, unnamed.site("nets[0](x)"), None, None) == ()


# -- losses that keep their graphs --------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "wanted"),
    [
        ("total += loss", "total += loss", "total += loss.detach()"),
        ("total += loss * 2", "total += loss * 2", "total += (loss * 2).detach()"),
        ("total += [loss]", "total += [loss]", "total += [loss.detach()]"),
        ("total = total + loss", "total + loss", "total = total + loss.detach()"),
        ("total = 2 * loss + total", "2 * loss + total", "total = (2 * loss).detach() + total"),
        ("kept.append(loss / 4)", "kept.append(loss / 4)", "kept.append((loss / 4).detach())"),
        ("self.kept.append(loss)", "self.kept.append(loss)", "self.kept.append(loss.detach())"),
    ],
)
def test_what_is_kept_of_a_loss_loses_its_graph(line: str, code: str, wanted: str, tmp_path: Path) -> None:
    program = read(tmp_path, f"def f(self, total, kept, loss):\n    {line}  # keep\n")
    edits = without_its_graph(program.trace, program.site(code))
    assert program.body_after(edits) == f"def f(self, total, kept, loss):\n    {wanted}  # keep\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("total = total + total * loss", "total + total * loss"),
        ("total = loss + other", "loss + other"),
        ("kept.append((loss, other))", "kept.append((loss, other))"),
        ("kept.append({'a': loss})", "kept.append({'a': loss})"),
        ("kept.append(both)", "kept.append(both)"),
        ("kept.append(pair(loss))", "kept.append(pair(loss))"),
        ("print(loss)", "print(loss)"),
        ("kept.insert(0, loss)", "kept.insert(0, loss)"),
    ],
)
def test_nothing_is_detached_where_it_is_not_clear_what_is_kept(line: str, code: str, tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def pair(x):\n    return {'loss': x, 'n': 1}\n"
        f"def f(total, kept, loss, other):\n    both = [loss, other]\n    {line}\n",
    )
    assert without_its_graph(program.trace, program.site(code)) == ()


def test_a_loss_that_a_method_takes_is_detached_only_where_it_is_handed_on(tmp_path: Path) -> None:
    program = read(tmp_path, "def f(meter, loss):\n    meter.update(loss)\n    meter.update(loss, n=1)\n")
    site = program.site("meter.update(loss)")
    assert without_its_graph(program.trace, site) == ()
    edits = without_its_graph(program.trace, site, handed=True)
    assert "    meter.update(loss.detach())\n" in program.after(edits)
    several = program.site("meter.update(loss, n=1)")
    assert without_its_graph(program.trace, several, handed=True) == ()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("a + b", "(a + b).detach()"), ("a * 2", "(a * 2).detach()"), ("a if b else a", "(a if b else a).detach()")],
)  # fmt: skip
def test_a_computed_loss_that_a_method_takes_is_detached_as_a_whole(
    given: str, wanted: str, tmp_path: Path
) -> None:
    program = read(tmp_path, f"def f(meter, a, b):\n    meter.update({given})\n    meter.update(*a)\n")
    edits = without_its_graph(program.trace, program.site(f"meter.update({given})"), handed=True)
    assert f"    meter.update({wanted})\n" in program.after(edits)
    starred = program.site("meter.update(*a)")
    assert without_its_graph(program.trace, starred, handed=True) == ()


@pytest.mark.parametrize(
    ("code", "wanted"),
    [("[a]", True), ("both", True), ("dict(a=1)", True), ("pair()", True), ("one()", False), ("a", False)],
)
def test_a_collection_is_known_by_its_text(code: str, wanted: bool, tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "def one():\n    return 1\ndef pair():\n    return 1, 2\n"
        f"def f(a):\n    same = [a, 1]\n    both = same\n    return {code}\n",
    )
    assert holds_several(program.file, program.site(code), program.node(code)) is wanted


def test_a_total_without_its_graph_has_the_same_value(tmp_path: Path) -> None:
    body = (
        "w = torch.ones(2, requires_grad=True)\ntotal = 0\nfor i in range(3):\n    total += (w * i).sum()\n"
    )
    program = read(tmp_path, body)
    (site,) = {op.site.user for op in program.trace.ops if program.shown(op.site.user).startswith("total")}
    mended = run(program.after(without_its_graph(program.trace, site)))["total"]
    before = run(HEAD + body)["total"]
    assert before.requires_grad and not mended.requires_grad
    torch.testing.assert_close(mended, before.detach())
