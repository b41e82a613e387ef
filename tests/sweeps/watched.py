"""A pytest plugin: runs each test inside `gradscope.watch()` and writes down how it ended.

Used by `tests/sweeps/torch_tests.py`, for test files that know nothing of gradscope.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

import gradscope


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--watched", action="store_true", help="run each test inside gradscope.watch()")
    parser.addoption("--outcomes", help="file that gets one line of JSON for each test")
    parser.addoption("--leave-out", help="file with the ids of tests that are not run again")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    path = config.getoption("--leave-out")
    if path:
        with open(path) as file:
            done = set(file.read().split("\n"))
        items[:] = [item for item in items if item.nodeid not in done]


def note(config: pytest.Config, **row: Any) -> None:
    """Written at once: a test may take the process down with it."""
    with open(config.getoption("--outcomes"), "a") as file:
        file.write(json.dumps(row) + "\n")


def pytest_runtest_logstart(nodeid: str, location: Any) -> None:
    note(_config[0], id=nodeid, outcome="started")


_config: list[pytest.Config] = []


def pytest_configure(config: pytest.Config) -> None:
    _config[:] = [config]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    if not item.config.getoption("--watched"):
        return (yield)
    scope = gradscope.watch()
    try:
        with scope:
            return (yield)
    finally:
        if scope.faults:
            note(item.config, id=item.nodeid, outcome="fault", text="\n".join(scope.faults))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        text = "" if report.passed else str(report.longreprtext)
        note(_config[0], id=report.nodeid, outcome=report.outcome, text=text)
