"""Every program in examples/ runs as under plain Python, and gradscope says of it what its marks say.

A line with `# cause: GS101` or `# effect: GS101` must be reported as just that. Nothing else
may be reported at warning or above.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from forked import Ended, Forks

import gradscope
from gradscope.events import Backward, ErrorRaised, ModuleCall, ZeroGrad
from gradscope.model import Op, Parameter, Value
from gradscope.rules import all_rules

ROOT = Path(__file__).resolve().parent.parent
# Those of several ranks: tests/ranks/test_examples_of_ranks.py
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if not p.stem.startswith("ddp"))
MARK = re.compile(r"# (cause|effect): (GS\d{3})")

# Runs programs one after the other in one interpreter: importing torch is what takes time.
PLAIN = """
import contextlib, io, json, runpy, sys, warnings
results = {}
for path in sys.argv[1:]:
    out, error = io.StringIO(), None
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        try:
            runpy.run_path(path, run_name="__main__")
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    results[path] = (out.getvalue(), error)
json.dump(results, sys.stdout)
"""


@dataclass
class Watched:
    """One example after `gradscope run --prove`."""

    source: Path
    folder: Path
    ran: Ended

    @cached_property
    def report(self) -> dict[str, Any]:
        return json.loads((self.folder / "report.json").read_text(encoding="utf-8"))

    @cached_property
    def trace(self) -> gradscope.Trace:
        return gradscope.open(self.folder / "example.gradscope")

    def line(self, text: str) -> int:
        """The number of the one line with `text` in it."""
        lines = self.source.read_text(encoding="utf-8").splitlines()
        (number,) = (i for i, line in enumerate(lines, 1) if text in line)
        return number

    def ops(self, text: str, name: str | None = None) -> list[Op]:
        """The ops on the line with `text` in it, those called `name`."""
        line = self.line(text)
        return [op for op in self.trace.ops if op.site.user.line == line and name in (None, op.name)]

    def results(self, text: str, name: str | None = None) -> list[Value]:
        """What the ops on the line with `text` in it gave."""
        return [value for op in self.ops(text, name) for value in self.trace.graph(op.graph).outputs(op)]

    def result(self, text: str) -> Value:
        """What the last op on the line with `text` in it gave."""
        return self.results(text)[-1]

    def grad_fns(self, text: str) -> list[str]:
        """Names of the nodes built on the line with `text` in it."""
        return [self.trace.graph(op.graph).nodes[node].name for op in self.ops(text) for node in op.nodes]

    @property
    def parameters(self) -> dict[str, Parameter]:
        return {parameter.name: parameter for parameter in self.trace.parameters}

    @property
    def codes(self) -> set[str]:
        return {finding["code"] for finding in self.report["findings"]}


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}


@pytest.fixture(scope="session")
def watched(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """`watched(name)` runs an example under gradscope, once for all tests."""
    done: dict[str, Watched] = {}

    def run(name: str) -> Watched:
        if name not in done:
            folder = tmp_path_factory.mktemp(name)
            source = ROOT / "examples" / f"{name}.py"
            asked = ["--prove", "--report", "report.json", "--trace", "example.gradscope", str(source)]
            ran = forks.command(folder, "run", *asked)
            done[name] = Watched(source, folder, ran)
        return done[name]

    return run


@pytest.fixture(scope="session")
def plain() -> dict[str, tuple[str, str | None]]:
    """Name → (stdout, exception) of every example under plain Python."""
    command = [sys.executable, "-c", PLAIN, *map(str, EXAMPLES)]
    ran = subprocess.run(
        command, env=environment(), capture_output=True, text=True, encoding="utf-8", timeout=300, check=True
    )
    return {Path(path).stem: (out, error) for path, (out, error) in json.loads(ran.stdout).items()}


def marks(source: Path) -> set[tuple[str, str, int]]:
    """(code, role, line) of every mark in a program."""
    return {
        (code, role, number)
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1)
        for role, code in MARK.findall(line)
    }


@pytest.mark.drawn(0.3)
@pytest.mark.parametrize("name", [path.stem for path in EXAMPLES])
def test_findings(name: str, watched: Any) -> None:
    program = watched(name)
    expected = marks(program.source)
    if missing := {code for code, _, _ in expected} - set(all_rules()):
        pytest.skip(f"no rule {', '.join(sorted(missing))} yet")
    codes = {code for code, _, _ in expected}
    found = {
        (finding["code"], place["role"], place["line"])
        for finding in program.report["findings"]
        for place in finding["locations"]
        if place["role"] != "related" and (finding["code"] in codes or finding["severity"] != "note")
    }
    assert found == expected, program.ran.err


@pytest.mark.parametrize("name", [path.stem for path in EXAMPLES])
def test_runs_as_under_plain_python(
    name: str, watched: Any, plain: dict[str, tuple[str, str | None]]
) -> None:
    program = watched(name)
    stdout, error = plain[name]
    assert program.ran.out == stdout
    assert program.ran.status == (0 if error is None else 1)
    if error is not None:
        assert error.splitlines()[0] in program.ran.err
    assert "fault of its own" not in program.ran.err
    shown = program.report["program"]["exception"]
    assert (shown is None) == (error is None)


@pytest.mark.parametrize("name", [path.stem for path in EXAMPLES if marks(path)])
def test_a_wrong_example_has_a_fixed_twin(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with gradscope.watch() as scope:
        runpy.run_path(str(ROOT / "examples" / "fixed" / f"{name}.py"), run_name="__main__")
    assert not scope.faults
    assert not scope.findings
    assert capsys.readouterr().out, "it shows what is different"


# -- what the graph shows ----------------------------------------------------------


def test_1_2_requires_grad_spreads(watched: Any) -> None:
    program = watched("why_requires_grad")
    x, y, z = (program.result(f"{name} = torch.ones") for name in "xyz")
    assert [(v.is_leaf, v.requires_grad) for v in (x, y, z)] == [(True, True), (True, False), (True, False)]
    (first, second) = program.ops("w = x + y + z", "add")
    graph = program.trace.graph(first.graph)
    assert [graph.values[i].requires_grad for i in first.inputs] == [True, False]
    assert graph.outputs(second)[0].requires_grad
    leaves = [node for node in graph.nodes if node.name == "AccumulateGrad"]
    assert len(leaves) == 1
    assert not program.result("plain = y + z").requires_grad


def test_3_grad_modes(watched: Any) -> None:
    program = watched("grad_modes")
    kinds = {
        "in_no_grad =": "no_grad",
        "in_inference_mode =": "inference_mode",
        "in_set_grad_enabled =": "no_grad",
        "    return x + y + z": "no_grad",
    }
    for line, cut in kinds.items():
        op = program.ops(line)[0]
        assert op.cut == cut, line
        assert not program.grad_fns(line)
        assert op.region is not None
    for line in ("in_enable_grad =", "outside ="):
        assert program.grad_fns(line) == ["AddBackward0"] * 2
    regions = program.trace.regions
    opened = {(region.kind, region.site.user.line) for region in regions.values()}
    assert {
        ("no_grad", program.line("with torch.no_grad():")),
        ("enable_grad", program.line("with torch.enable_grad():")),
        ("inference_mode", program.line("with torch.inference_mode():")),
        ("set_grad_enabled", program.line("with torch.set_grad_enabled(False):")),
        ("no_grad", program.line("@torch.no_grad()")),
    } == opened
    inner = regions[program.ops("in_enable_grad =")[0].region]
    assert inner.parent is not None
    assert regions[inner.parent].kind == "no_grad"


def test_6_gradients_of_leaves(watched: Any) -> None:
    program = watched("gradients_of_leaves")
    graph = next(graph for graph in program.trace.graphs if graph.nodes)
    leaves = [graph.values[node.leaf] for node in graph.nodes if node.leaf is not None]
    lines = {leaf.site.line for leaf in leaves if leaf.site}
    assert lines == {program.line("x = torch.ones"), program.line("y = torch.ones")}


def test_7_conv_layers(watched: Any) -> None:
    program = watched("conv_layers")
    assert not program.result("image = ").requires_grad
    assert program.result("out = model(image)").requires_grad
    assert sorted(program.parameters) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert all(parameter.requires_grad for parameter in program.parameters.values())


def test_8_all_frozen(watched: Any) -> None:
    program = watched("all_frozen")
    assert not program.result("loss = ").requires_grad
    assert not any(parameter.requires_grad for parameter in program.parameters.values())


def test_9_fine_tuning(watched: Any) -> None:
    parameters = watched("fine_tuning").parameters
    trained = {name for name, parameter in parameters.items() if parameter.passes}
    assert trained == {"fc.weight", "fc.bias"}
    assert not parameters["trunk.0.weight"].requires_grad


def test_11_stale_gradient_is_measured(watched: Any) -> None:
    (finding,) = watched("stale_gradient").report["findings"]
    assert finding["seen"]


@pytest.mark.parametrize(("name", "covered"), [("zero_grad_of_optimizer", 4), ("zero_grad_of_model", 2)])
def test_12_zero_grad_covers(name: str, covered: int, watched: Any) -> None:
    assert {len(event.data["parameters"]) for event in watched(name).trace.of(ZeroGrad)} == {covered}


def test_13_inplace_names_writer_and_saver(watched: Any) -> None:
    program = watched("inplace_detached")
    (error,) = program.trace.of(ErrorRaised)
    (write,) = error.data["writes"]
    assert write["version"] == 1
    assert program.trace.site(write["site"]).user.line == program.line("b.detach().zero_()")


def test_14_data_write_is_proven(watched: Any) -> None:
    (finding,) = [f for f in watched("data_write").report["findings"] if f["code"] == "GS101"]
    shown = " ".join(finding["seen"])
    assert "[0, 0, 0]" in shown
    assert "[6, 1.3333, 1.3333]" in shown


def test_15_detach_is_an_alias(watched: Any) -> None:
    program = watched("detach_shares_memory")
    (detach,) = program.ops("b_ = b.detach()", "detach")
    graph = program.trace.graph(detach.graph)
    assert graph.outputs(detach)[0].alias_of == detach.inputs[0]


@pytest.mark.parametrize(
    ("name", "line"), [("detach_between_layers", "y.detach())"), ("detach_inplace", "y.detach_()")]
)
def test_16_detach_cuts(name: str, line: str, watched: Any) -> None:
    program = watched(name)
    assert "detach" in {op.cut for op in program.ops(line)}
    parameters = program.parameters
    assert parameters["layer1.weight"].passes == 0
    graph = next(graph for graph in program.trace.graphs if graph.nodes)
    before = {graph.values[i].parameter for i in graph.upstream(graph.ops[-1].outputs[0])}
    after = {graph.nodes[i].parameter for i in graph.reachable(len(graph.nodes) - 1)}
    cut_off = parameters["layer1.weight"].id
    assert cut_off in before
    assert cut_off not in after
    assert parameters["layer2.weight"].passes == 3


def test_18_leaves_are_marked(watched: Any) -> None:
    program = watched("nonleaf_grad")
    lines = {"x = torch.ones": True, "w = torch.full": True, "y = torch.sigmoid": False}
    assert {line: program.result(line).is_leaf for line in lines} == lines


def test_19_leaves(watched: Any) -> None:
    program = watched("leaves")
    lines = {"made = ": True, "sum_of_plain = ": True, "result = ": False}
    assert {line: program.result(line).is_leaf for line in lines} == lines


def test_20_retained_graph(watched: Any) -> None:
    passes = watched("retain_graph").trace.of(Backward)
    assert [event.data["retain_graph"] for event in passes] == [True, False]


def test_21_devices(watched: Any) -> None:
    program = watched("device_mismatch")
    assert program.result("data = ").device == "cpu"
    devices = {parameter.device for parameter in program.trace.parameters if parameter.registered}
    assert len(devices) == 1
    assert devices <= {"meta", "cuda:0"}


def test_22_numpy_is_a_cut(watched: Any) -> None:
    program = watched("numpy_values")
    assert {op.cut for op in program.ops('print("cut out')} & {"detach", "numpy"}
    (error,) = program.trace.of(ErrorRaised)
    assert "numpy()" in error.data["text"]
    assert program.trace.program["exception"] is None


def test_23_values_leave(watched: Any) -> None:
    program = watched("values_leave")
    assert {op.cut for op in program.ops("total += ", "item")} == {"item"}
    assert program.ops("first row", "tolist")


def test_24_modes_of_the_calls(watched: Any) -> None:
    right = {(e.data["training"], e.data["grad"]) for e in watched("evaluation").trace.of(ModuleCall)}
    wrong = {
        (e.data["training"], e.data["grad"]) for e in watched("evaluation_in_train_mode").trace.of(ModuleCall)
    }
    assert right == {(True, True), (False, False)}
    assert wrong == {(True, True), (True, False)}


VIEWS = {
    "first_chunk, _ =": "SplitBackward0",
    "left, right =": "SplitWithSizesBackward0",
    "rows =": "UnbindBackward0",
    "permuted =": "PermuteBackward0",
    "transposed =": "TransposeBackward0",
    "unsqueezed =": "UnsqueezeBackward0",
    "squeezed = unsq": "SqueezeBackward1",
}
COPIES = {
    "joined =": "CatBackward0",
    "stacked =": "StackBackward0",
    "selected =": "IndexSelectBackward0",
    "masked =": "MaskedSelectBackward0",
    "best, best_at =": "TopkBackward0",
    "largest, largest_at =": "MaxBackward0",
}


@pytest.mark.parametrize(("line", "node"), [*VIEWS.items(), *COPIES.items()])
def test_27_reshaping(line: str, node: str, watched: Any) -> None:
    program = watched("reshaping")
    assert program.grad_fns(line) == [node]
    op = next(op for op in program.ops(line) if op.nodes)
    first = program.trace.graph(op.graph).outputs(op)[0]
    assert (first.alias_of is not None) == (line in VIEWS)


def test_27_index_outputs_have_no_gradient(watched: Any) -> None:
    program = watched("reshaping")
    for line in ("best, best_at =", "largest, largest_at ="):
        values, indices = program.results(line)
        assert values.requires_grad
        assert not indices.requires_grad


def test_31_unused_parameter(watched: Any) -> None:
    parameters = watched("unused_parameter").parameters
    assert parameters["forgotten.weight"].passes == 0
    assert parameters["used.weight"].passes == 4


def test_32_parameter_table(watched: Any) -> None:
    program = watched("parameter_table")
    parameters = program.parameters
    assert {name: parameter.requires_grad for name, parameter in parameters.items()} == {
        "0.weight": True,
        "0.bias": False,
        "2.weight": True,
        "2.bias": True,
    }
    for row in program.ran.out.splitlines()[1:]:
        name, _, norm = row.split()
        parameter = parameters[name]
        assert parameter.passes == (0 if norm == "none" else 3)
        if norm != "none":
            assert parameter.grad_norm == pytest.approx(float(norm), abs=1e-4)
