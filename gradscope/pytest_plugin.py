"""The pytest plugin: `--gradscope` watches each test, the marker `gradscope` single ones.

Loaded by pytest in every run, so that nothing of gradscope or torch is imported before a test is watched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradscope.scope import Scope

SEVERITIES = ("error", "warning", "note", "never")
MARKER = (
    'gradscope(fail_on="error", select=[]): watch this test; fail it where a finding is that severe (error, warning, '
    "note, never) and its code begins with one of `select`"
)

_WATCH: pytest.StashKey[tuple[Scope, str]] = pytest.StashKey()  # of a test, from its set-up to its end


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gradscope", "watching gradients")
    group.addoption("--gradscope", action="store_true", help="watch each test with gradscope")
    group.addoption(
        "--gradscope-fail-on", choices=SEVERITIES, default="error", metavar="SEVERITY",
        help="fail a watched test from this on: error (default), warning, note, never",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def gradscope() -> Scope:
    """A watch: `with gradscope: train()`, then `gradscope.findings`."""
    import gradscope as package

    return package.watch()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Begins before the fixtures: what they make, and how, belongs to the test."""
    asked = _asked(item)
    if asked is None:
        return (yield)
    import gradscope as package

    scope = package.watch(select=asked[1]).start()
    try:
        yield
    except BaseException as error:
        scope.end(error)
        if text := _told(scope, "note"):
            item.add_report_section("setup", "gradscope", text)
        raise
    item.stash[_WATCH] = scope, asked[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    scope, fail_on = item.stash.get(_WATCH, (None, ""))
    if scope is None:
        return (yield)
    try:
        result = yield
    except BaseException as error:
        scope.end(error)
        if text := _told(scope, "note"):
            item.add_report_section("call", "gradscope", text)
        raise
    finally:
        scope.stop()
    if text := _told(scope, fail_on):
        pytest.fail(text, pytrace=False)
    if fail_on != "never" and (text := _told(scope, "note")):
        item.add_report_section("call", "gradscope", text)  # of a test that passes: `-rP` shows it
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Ends a watch whose test was not called (`--setup-only`), and lets go of its trace."""
    scope, _ = item.stash.get(_WATCH, (None, ""))
    if scope is not None:
        scope.stop()
        del item.stash[_WATCH]


def _asked(item: pytest.Item) -> tuple[str, Any] | None:
    """From which severity on a test fails, and the rules that are told; None where it is not watched."""
    marker = item.get_closest_marker("gradscope")
    if marker is None and not item.config.getoption("--gradscope"):
        return None
    asked: dict[str, Any] = dict(marker.kwargs) if marker is not None else {}
    fail_on = asked.pop("fail_on", item.config.getoption("--gradscope-fail-on"))
    select = asked.pop("select", ())
    if asked or fail_on not in SEVERITIES or (marker is not None and marker.args):
        raise pytest.UsageError(f"{item.nodeid}: the marker is {MARKER.partition(':')[0]}")
    return fail_on, select


def _told(scope: Scope, fail_on: str) -> str:
    """The report; "" where nothing is that severe, or there was nothing to watch."""
    from gradscope.model import GradscopeError

    try:
        return scope.report(hints=False) if scope.fails(fail_on) else ""
    except GradscopeError:
        return ""
