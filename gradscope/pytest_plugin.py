"""The pytest plugin: `--gradscope` watches each test, the marker `gradscope` single ones.

A fixture of a module, class or session is set up in the watch of the first test that asks for it. What was found there
is told of each test that uses it, as pytest tells the error of such a fixture.

Loaded by pytest in every run, so that nothing of gradscope or torch is imported before a test is watched.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from gradscope.model import FAIL_ON

if TYPE_CHECKING:
    from gradscope.scope import Scope

MARKER = (
    'gradscope(fail_on="error", select=[]): watch this test; fail it where a finding is that severe (error, warning, '
    "note, never) and its code begins with one of `select`"
)

_WATCH: pytest.StashKey[tuple[Scope, str]] = pytest.StashKey()  # of a test, from its set-up to its end
_SHARED: pytest.StashKey[dict[Any, tuple[Scope, str]]] = (
    pytest.StashKey()
)  # fixture → its watch, its first test
_BEING_SET_UP: pytest.StashKey[str] = pytest.StashKey()  # the test that is watched now


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gradscope", "watching gradients")
    group.addoption("--gradscope", action="store_true", help="watch each test with gradscope")
    group.addoption(
        "--gradscope-fail-on", choices=FAIL_ON, default="error", metavar="SEVERITY",
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
    __tracebackhide__ = True
    asked = _asked(item)
    if asked is None:
        return (yield)
    import gradscope as package

    scope = package.watch(select=asked[1]).start()
    item.config.stash[_BEING_SET_UP] = item.nodeid
    try:
        yield
    except BaseException as error:
        scope.end(error)
        if text := _told(scope, "note"):
            item.add_report_section("setup", "gradscope", text)
        raise
    finally:
        del item.config.stash[_BEING_SET_UP]
    item.stash[_WATCH] = scope, asked[0]


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
    """Keeps what a fixture for several tests did, for those after the first."""
    __tracebackhide__ = True
    first = request.config.stash.get(_BEING_SET_UP, None)
    if first is None or fixturedef.scope == "function":
        return (yield)
    import gradscope as package

    scope = package.watch().start()
    try:
        return (yield)
    finally:
        scope.stop()
        request.config.stash.setdefault(_SHARED, {})[fixturedef] = scope, first


def pytest_fixture_post_finalizer(fixturedef: Any, request: pytest.FixtureRequest) -> None:
    request.config.stash.get(_SHARED, {}).pop(fixturedef, None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    __tracebackhide__ = True  # shown where a test's own frame is gone: of a decorator, say
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
    if text := _told(scope, fail_on) or _told_of_fixtures(item, fail_on):
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
    if asked or fail_on not in FAIL_ON or (marker is not None and marker.args):
        said = MARKER.partition(":")[0]
        pytest.fail(f"{item.nodeid}: the marker is {said}", pytrace=False)
    return fail_on, select


def _told_of_fixtures(item: pytest.Item, fail_on: str) -> str:
    """The reports of the fixtures that a test shares with an earlier one."""
    kept = item.config.stash.get(_SHARED, {})
    if not kept:
        return ""
    asked = _asked(item)
    told = []
    for definitions in item._fixtureinfo.name2fixturedefs.values():  # type: ignore[attr-defined]
        scope, first = kept.get(definitions[-1], (None, ""))
        if scope is not None and first != item.nodeid and asked is not None:
            if text := _told(scope, fail_on, asked[1]):
                told.append(f"in the fixture `{definitions[-1].argname}`, set up for {first}:\n{text}")
    return "\n".join(told)


def _told(scope: Scope, fail_on: str, select: Any = None) -> str:
    """The report, of these rules alone where they are given; "" where nothing is that severe, or there was nothing to
    watch. An exception that the test has caught (`pytest.raises`) is what it was written for: it counts as a note."""
    from gradscope.analysis.failures import was_caught
    from gradscope.check import fails
    from gradscope.model import GradscopeError
    from gradscope.render.text import render

    try:
        report = scope.selecting(select) if select is not None else None
        found = scope.findings if report is None else report.findings
        if fail_on != "note":
            found = tuple(finding for finding in found if not was_caught(scope.trace, finding.subjects))
        if not fails(found, fail_on):
            return ""
        return scope.report(hints=False) if report is None else render(report, hints=False)
    except GradscopeError:
        return ""
