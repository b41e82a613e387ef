"""What a function gets from `locals()` and its like is its own: names are looked up without touching it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import gradscope


def kept(rate: float = 0.1, width: int = 3) -> list[str]:
    config = locals()
    net = nn.Linear(width, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    net(torch.ones(2, width)).sum().backward()
    optimizer.step()
    return sorted(config)


def evaluated() -> Any:
    exec("hidden = 5")
    net = nn.Linear(3, 1)
    net(torch.ones(2, 3)).sum().backward()
    return eval("hidden"), sorted(vars())


def of_a_frame() -> list[str]:
    frame: FrameType = sys._getframe()
    held = frame.f_locals
    net = nn.Linear(3, 1)
    net(torch.ones(2, 3)).sum().backward()
    return sorted(held)


def put_into_an_object() -> list[str]:
    class Run:
        def __init__(self, rate: float, steps: int) -> None:
            self.settings = locals()
            self.net = nn.Linear(3, 1)
            self.net(torch.ones(2, 3)).sum().backward()

    return sorted(Run(0.1, 3).settings)


def of_a_loader() -> list[str]:
    class Batches(DataLoader[Any]):
        def __init__(self, data: Any, size: int) -> None:
            settings = locals()
            shuffled = True
            super().__init__(data, batch_size=size, shuffle=shuffled)
            self.settings = sorted(settings)

    return Batches([torch.ones(3)] * 4, 2).settings


WRITES_LOCALS = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="`exec` leaves a function's variables alone"
)


@pytest.mark.parametrize(
    "program",
    [kept, pytest.param(evaluated, marks=WRITES_LOCALS), of_a_frame, put_into_an_object, of_a_loader],
)
def test_what_a_function_has_got_of_its_variables_stays(program: Callable[[], Any]) -> None:
    plain = program()
    with gradscope.watch(sample=False):
        watched = program()
    assert watched == plain


def settings_of(question: Callable[[Any], Any]) -> list[str]:
    settings = locals()
    loss = torch.ones(2, requires_grad=True).sum()
    question(loss)
    return sorted(settings)


def test_a_question_at_the_prompt_leaves_them_too() -> None:
    with gradscope.watch(sample=False) as scope:
        plain = settings_of(lambda loss: None)
    assert [settings_of(question) for question in (gradscope.why, gradscope.show, scope.why)] == [plain] * 3


@pytest.mark.parametrize("asks", [False, True])
def test_variables_have_names(asks: bool) -> None:
    def train() -> None:
        encoder = nn.Linear(3, 1)
        encoder(torch.ones(2, 3)).sum().backward()
        if asks:
            print(locals())

    with gradscope.watch(sample=False) as scope:
        train()
    assert {module.name for module in scope.trace.modules.values()} >= {"encoder"}


def test_a_module_that_a_method_gives_back_has_its_variables_name() -> None:
    x = torch.ones(2, 3)
    with gradscope.watch(sample=False) as scope:
        net = nn.Linear(3, 2).to("cpu").train()
        one, other = nn.Linear(2, 2).eval(), nn.Linear(2, 1).double().float()
        many = [nn.Linear(1, 1).eval() for _ in range(2)]
        result = nn.Linear(1, 1).train()(many[0](other(one(net(x)))))
        result.sum().backward()
    names = [module.name for module in scope.trace.modules.values()]
    assert {"net", "one", "other"} <= set(names) and "result" not in names
