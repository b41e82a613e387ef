"""A watch where no `with` fits, and what a scope shows of itself at a prompt."""

from __future__ import annotations

import torch

import gradscope


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


def test_a_watch_is_started_and_stopped() -> None:
    scope = gradscope.watch().start()
    corrupt()
    assert "not ended" in repr(scope)
    scope.stop()
    scope.stop()
    corrupt()
    assert [finding.code for finding in scope.findings] == ["GS101"]
    assert scope.findings[0].locations[0].path.endswith("test_scope.py"), "the caller is the user"


def test_what_a_prompt_shows_is_short() -> None:
    with gradscope.watch() as scope:
        corrupt()
    assert "1 error" in repr(scope)
    assert len(repr(scope.findings)) < 400 and "GS101 at " in repr(scope.findings)
    assert "GS101" in scope._repr_mimebundle_()["text/plain"]
