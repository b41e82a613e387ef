"""Random programs: gradscope makes no difference to any of them, and sees the graph that they built.

`pytest tests/transparency/test_programs.py --hypothesis-profile=sweep --hypothesis-seed=7` tries 2,000 others, and
`python tests/programs.py --seed 7 --count 1000` does the same faster and makes what fails small.
"""

from __future__ import annotations

from typing import Any

import programs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SHORT = {"max_examples": 60, "derandomize": True, "database": None}
LONG = {"max_examples": 2000, "derandomize": False}
sweeping = settings.get_current_profile_name() == "sweep"


@st.composite
def random_programs(draw: Any) -> programs.Program:
    return programs.generate(lambda n: draw(st.integers(0, n - 1)))


@settings(deadline=None, suppress_health_check=list(HealthCheck), **(LONG if sweeping else SHORT))
@given(random_programs())
def test_nothing_tells_a_program_that_it_is_watched(program: programs.Program) -> None:
    assert not programs.difference(program), program.source()


ONCE_DIFFERENT = {
    "a proof that torch refuses": [
        "v1.data.add_(v3.data, alpha=-0.1)", "net.apply(T.reset)", "v4.sum().backward(inputs=[v0])"
    ],
    "a view made in no_grad": ["torch.set_grad_enabled(False)", "v1 = v4[0].unsqueeze(0).expand(3, 3)",
                               "torch.set_grad_enabled(True)", "v1.requires_grad_(True)"],
    "a view written to in no_grad under a mode of kernels": [
        "v2 = v0.cfloat().conj().real", "mode = T.dispatching()", "mode.__enter__()", "torch.set_grad_enabled(False)",
        "v2.relu_()", "torch.set_grad_enabled(True)", "mode.__exit__(None, None, None)", "v2 = v0 * 2",
    ],
    "an operator for what is no tensor": ["mode = T.dispatching()", "mode.__enter__()", "v1 = (v3, 2) / v3",
                                             "mode.__exit__(None, None, None)"],
    "a swap that torch refuses": ["torch.utils.swap_tensors(v0, v0.detach().clone())", "v1 = v3 / (v0.abs() + 1)"],
}  # fmt: skip


@pytest.mark.parametrize("name", ONCE_DIFFERENT)
def test_what_differed_once(name: str) -> None:
    steps: list[Any] = [programs.Line(statement) for statement in ONCE_DIFFERENT[name]]
    program = programs.Program(steps, sample=False)
    assert not programs.difference(program), program.source()


@pytest.mark.parametrize(
    "statement",
    ["torch.jit.trace(T.plain, v2, check_trace=False)", "T.train(net, opt, v0)", "net.eval()(v1)"],
)
def test_a_mode_of_the_users_ends_with_its_block(statement: str) -> None:
    block = programs.Block("with T.counting():", [programs.Line(statement)])
    steps: list[Any] = [programs.Line("T.train(net, opt, v0)"), block, programs.Line("v3 = v0 * v1")]
    for sample in (True, False):
        program = programs.Program(steps, sample=sample)
        assert not programs.difference(program), program.source()
