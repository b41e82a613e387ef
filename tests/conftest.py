"""Shared set-up."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator

# Before torch: a forked child can't use the threads that its parent has for the kernels, and waits for ever.
os.environ["OMP_NUM_THREADS"] = "1"

import pytest
import torch
from forked import Forks
from hypothesis import settings
from needs import skip_where_lacking

settings.register_profile("sweep")  # tests/transparency/test_programs.py: many random programs

# A shell that starts pytest in the background ignores SIGINT, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as under nohup

SEED = os.environ.get("GRADSCOPE_SEED", "12")
# Of the tests of these folders, most of which start processes or draw pictures, this share is in the ordinary run.
SHARES = {
    "commands": 0.6, "graph": 0.7, "hooks": 0.8, "ranks": 0.4, "testing": 0.5, "transparency": 0.4, "tui": 0.5,
}  # fmt: skip


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves what `drawn` does not draw to the nightly run. A case has the largest share that it is marked with, or
    its folder's, and stays drawn or not when others are added."""
    for item in items:
        shares = [mark.args[0] for mark in item.iter_markers("drawn")] or [
            SHARES.get(item.path.parent.name, 1)
        ]
        if random.Random(SEED + item.nodeid).random() >= max(shares):
            item.add_marker(pytest.mark.nightly)


@pytest.fixture(autouse=True)
def _distributions_check_their_arguments() -> None:
    """`torch.compile` in an earlier test of this process has ended that for good."""
    torch.distributions.Distribution.set_default_validate_args(True)


@pytest.fixture(autouse=True)
def _what_this_torch_lacks(request: pytest.FixtureRequest) -> None:
    """A test that names what this torch lacks is skipped."""
    skip_where_lacking(request.function)


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Runs programs in processes that have imported torch already."""
    with Forks(tmp_path_factory.mktemp("forks")) as forks:
        yield forks
