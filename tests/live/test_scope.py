"""A watch where no `with` fits, and what a scope shows of itself at a prompt."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from torch import nn

import gradscope
from gradscope.session import active


def corrupt() -> torch.Tensor:
    a = torch.ones(3, requires_grad=True)
    b = a * 2
    loss = (b * b).sum()
    b.data.zero_()
    loss.backward()
    return a


def test_a_function_is_watched_each_time_it_is_called() -> None:
    watched = gradscope.watch()(corrupt)
    assert watched.__name__ == "corrupt" and isinstance(watched(), torch.Tensor)
    first = watched.scope  # type: ignore[attr-defined]
    watched()
    assert watched.scope is not first  # type: ignore[attr-defined]
    assert [finding.code for finding in first.findings] == ["GS101"]
    assert first.trace.program["argv"] == [__file__] and "corrupt.scope.graph()" in first.report()
    bare = gradscope.watch(corrupt)
    bare()
    assert [finding.code for finding in bare.scope.findings] == ["GS101"]  # type: ignore[attr-defined]


def test_a_watch_is_started_and_stopped() -> None:
    scope = gradscope.watch()
    assert "not begun" in repr(scope)
    with pytest.raises(gradscope.GradscopeError, match="nothing was watched: put `with`"):
        _ = scope.findings
    scope.start()
    corrupt()
    assert "not ended" in repr(scope)
    scope.stop()
    scope.stop()
    corrupt()
    assert [finding.code for finding in scope.findings] == ["GS101"]
    assert scope.findings[0].locations[0].path.endswith("test_scope.py"), "the caller is the user"


def test_a_watch_that_nobody_keeps_goes_on() -> None:
    """`gradscope.watch().start()` in a cell: what is watched within it has its trace."""
    gradscope.watch().start()
    left = active()
    assert left is not None
    try:
        gc.collect()
        with gradscope.watch() as inner:
            corrupt()
        assert [finding.code for finding in inner.findings] == ["GS101"]
    finally:
        left.holder.stop()  # type: ignore[attr-defined]
    assert active() is None and not left.faults
    kept = weakref.ref(left.holder or inner)
    del inner
    assert kept() is None, "its folder goes with it"


def test_steps_that_hold_nothing_are_refused() -> None:
    with pytest.raises(gradscope.GradscopeError, match=r"range\(3\)"):
        gradscope.watch(steps=3)  # type: ignore[arg-type]


def test_what_a_prompt_shows_is_short() -> None:
    with gradscope.watch() as scope:
        corrupt()
    assert "1 error" in repr(scope)
    assert len(repr(scope.findings)) < 400 and "GS101 at " in repr(scope.findings)
    assert "GS101" in scope._repr_mimebundle_()["text/plain"]
    assert len(repr(scope.findings[0].cause)) < 400


@pytest.mark.parametrize("within", [False, True])
def test_a_trace_that_stays(within: bool, tmp_path: Path) -> None:
    path = tmp_path / "kept.gradscope"
    for _ in range(2):  # the newest stands there
        with gradscope.watch() if within else nullcontext(), gradscope.watch(path=path) as scope:
            corrupt()
    del scope
    assert [finding.code for finding in gradscope.open(path).findings] == ["GS101"]


def test_what_stands_at_the_path_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("a letter")
    with pytest.raises(gradscope.GradscopeError, match="not a gradscope trace"), gradscope.watch(path=path):
        pass
    assert path.read_text() == "a letter"
    with pytest.raises(gradscope.GradscopeError, match="no folder"):
        gradscope.watch(path=tmp_path / "none" / "x.gradscope").start()
    (tmp_path / "empty.gradscope").touch()  # of a run that was killed as it began
    with gradscope.watch(path=tmp_path / "empty.gradscope") as scope:
        corrupt()
    assert scope.findings


def test_a_block_fails_where_something_is_found() -> None:
    with (
        pytest.raises(gradscope.FindingsError, match=r"error\[GS101\]") as told,
        gradscope.watch(fail_on="error"),
    ):
        corrupt()
    assert [finding.code for finding in told.value.findings] == ["GS101"]
    with gradscope.watch(fail_on="error", select=["GS2"]):
        corrupt()
    with pytest.raises(ZeroDivisionError), gradscope.watch(fail_on="note"):
        corrupt()
        _ = 1 / 0
    with pytest.raises(gradscope.GradscopeError, match="GS9999"):
        gradscope.watch(select=["GS9999"])
    with pytest.raises(gradscope.GradscopeError, match="fail_on is one of"):
        gradscope.watch(fail_on="errors")


@pytest.mark.parametrize("steps", [range(3), range(5, 7), {2, 9, 15}])
def test_only_the_steps_that_were_asked_for_are_looked_at(steps: range | set[int]) -> None:
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with gradscope.watch(steps=steps) as scope:
        for _ in range(20):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
    looked, step = set[int](), 0
    for segment in scope.trace.segments:
        looked |= {step} if segment.graph is not None else set()
        step += segment.repeat if segment.is_step else 0
    assert (looked, step) == (set(steps), 20)
    assert scope.trace.parameters[0].passes == 20 and scope.faults == []


def test_a_mistake_of_another_step_is_not_looked_for() -> None:
    found = []
    for steps in (range(2), range(2, 4)):
        with gradscope.watch(steps=steps) as scope:
            net = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            for number in range(5):
                optimizer.zero_grad()
                out = net(torch.randn(8, 4))
                kept = out * 1
                (kept * kept).sum().backward() if number != 3 else _overwritten(kept).backward()
                optimizer.step()
        found.append([finding.code for finding in scope.findings])
    assert found == [[], ["GS101"]]


def _overwritten(kept: torch.Tensor) -> torch.Tensor:
    loss = (kept * kept).sum()
    kept.data.zero_()
    return loss


def test_the_parameters_without_a_gradient_and_why() -> None:
    one, two, spare = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1), torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD([p for net in (one, two, spare) for p in net.parameters()], lr=0.1)
    one.bias.requires_grad_(False)
    with gradscope.watch() as scope:
        for _ in range(3):
            optimizer.zero_grad()
            two(one(torch.randn(4, 2)).detach()).mean().backward()
            optimizer.step()
    told = [answer.headline for answer in scope.without_gradient]
    assert [line.split("`")[1] for line in told] == ["one.weight", "spare.weight", "spare.bias"]
    assert "cut off at" in told[0] and "no captured operation read it" in told[1]


def test_what_a_line_built_and_what_cuts_a_parameter_from_a_loss() -> None:
    one, two = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    with gradscope.watch() as scope:
        hidden = one(torch.randn(4, 2))
        kept = hidden.detach()
        aim = two(kept).mean()
        aim.backward()
        other = two(hidden).mean()
        other.backward()
    (cut,) = scope.cuts("aim", "one.weight")
    start = cut.site.user.line
    assert repr(cut) == f"<op 1: detach at {__file__}:{start}>"
    assert scope.cuts(f"{__file__}:{start + 2}", "one.bias") == scope.cuts(aim, one.weight) == [cut]
    assert scope.cuts("aim", "two.weight") == scope.cuts(other, one.weight) == []
    assert scope.cuts("kept", "one.weight") == [cut], "no pass started at that"
    assert str(scope.why(one.weight)) == str(scope.why("one.weight"))
    with pytest.raises(gradscope.GradscopeError, match="this Tensor is no leaf"):
        scope.why(aim * 2)
    here = __file__.rpartition("/")[2]
    built = scope.built(f"{here}:{start}")
    assert (built.ops, built.nodes, built.cuts) == (1, 0, 1)
    assert scope.built(f"{here}:{start + 1}").nodes >= 2
    for wrong in (f"{here}:1", "aim"):
        with pytest.raises(gradscope.GradscopeError, match=r"no place|no tensor operation"):
            scope.built(wrong)
    for loss, parameter in (("nothing", "one.weight"), ("aim", "weight"), ("aim", "three.weight")):
        with pytest.raises(gradscope.GradscopeError):
            scope.cuts(loss, parameter)


def test_a_coroutine_and_a_generator_are_watched_while_they_run() -> None:
    @gradscope.watch()
    async def awaited() -> int:
        await asyncio.sleep(0)
        corrupt()
        return 3

    @gradscope.watch()
    def yielding() -> Iterator[int]:
        yield 1
        corrupt()

    assert asyncio.run(awaited()) == 3 and list(yielding()) == [1]
    for function in (awaited, yielding):
        assert [finding.code for finding in function.scope.findings] == ["GS101"]  # type: ignore[attr-defined]

    async def both() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(gradscope.GradscopeError, match="asynchronous generator"):
        gradscope.watch()(both)


def test_an_optimizer_that_was_made_before_the_watch_is_not_told_as_made_in_it() -> None:
    net, spare = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)), nn.Linear(3, 3)
    without = torch.optim.SGD(net[1].parameters(), lr=0.1)
    beside = torch.optim.SGD([*net.parameters(), *spare.parameters()], lr=0.1)
    stale = torch.optim.SGD(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)).parameters(), lr=0.1)
    for optimizer, code in ((without, "GS206"), (beside, "GS302"), (stale, "GS207")):
        with gradscope.watch() as scope:
            for _ in range(3):
                optimizer.zero_grad()
                net(torch.ones(2, 3)).mean().backward()
                optimizer.step()
        assert not any(one.made for one in scope.trace.optimizers.values())
        assert {finding.code for finding in scope.findings} == {code}
        said = scope.findings[0].cause_label + scope.findings[0].fix
        assert "handed" not in said and "given" not in said and "test_scope.py" not in said
        assert not scope.findings[0].edits
