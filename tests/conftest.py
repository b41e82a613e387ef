"""Shared set-up."""

from __future__ import annotations

import os
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
