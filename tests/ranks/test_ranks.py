"""A run of several processes is one run: a trace each in one folder, one report, the same numbers and exit codes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from two_ranks import ENV, Ran, Start, both, execute, gradscope, program, torchrun
from warm import python

from gradscope.analysis.standing import _of_several
from gradscope.commands._ranks import gathered
from gradscope.store import TraceWriter

TRAIN = """
def train(rank):
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        if "clean" in sys.argv or (rank and "one" in sys.argv):
            optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        if rank and step == 3 and "killed" in sys.argv:
            os.kill(os.getpid(), signal.SIGKILL)
        if rank and step == 3 and "aborts" in sys.argv:
            os.abort()  # as gloo does
        if rank and step == 3 and "leaves" in sys.argv:
            os._exit(3)
        if rank and step == 3 and "raises" in sys.argv:
            raise ValueError("of its own")
        if rank and step == 3 and "hangs" in sys.argv:
            open("hung", "w").close()
            time.sleep(600)  # it hangs here
        if rank and step == 3 and "waits" in sys.argv:
            torch.distributed.barrier()  # nobody else comes here
        optimizer.step()
    open(f"weights-{rank}", "w").write(repr([p.tolist() for p in model.parameters()]))
"""
SCRIPT = TRAIN + "\n\nrank = begin()\ntrain(rank)\nend()\n"
SPAWN = (
    TRAIN
    + """

def work(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1])
    begin(rank, world)
    train(rank)
    end()


if __name__ == "__main__":
    torch.multiprocessing.start_processes(work, (2,), nprocs=2, start_method=sys.argv[2])
"""
)


def weights(folder: Path) -> list[str]:
    return [(folder / f"weights-{rank}").read_text() for rank in range(2)]


@pytest.fixture
def port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def names(run: Path) -> set[str]:
    return {path.name for path in run.glob("*.gradscope")} - {"parent.gradscope"}


BOTH = {"rank-0.gradscope", "rank-1.gradscope"}
ON_BOTH = [("GS201", "error", [0, 1])]


@pytest.mark.parametrize("how", ["torchrun", pytest.param("launcher", marks=pytest.mark.nightly)])
def test_one_folder_and_one_report(how: str, ranks: Start, tmp_path: Path) -> None:
    plain = ranks(SCRIPT, how="plain")
    before = weights(tmp_path)
    ran = ranks(SCRIPT, how=how, options=("--report", "report.json", "--graph", "graph.svg"))
    assert (ran.status, ran.out) == (plain.status, plain.out) == (0, "")
    assert weights(tmp_path) == before, "bit-equal"
    assert names(ran.run) == BOTH
    assert ran.err.count("error[GS201]") == 1 and "on all 2 ranks" in ran.told
    report = json.loads((tmp_path / "report.json").read_text())
    assert [(f["code"], f["ranks"]) for f in report["findings"]] == [("GS201", [0, 1])]
    assert (tmp_path / "graph.svg").stat().st_size > 1000
    assert ran.findings() == ON_BOTH


@pytest.mark.nightly
def test_what_one_rank_does_is_told_of_that_rank(ranks: Start) -> None:
    ran = ranks(SCRIPT, "one", options=("--trace-dir", "traces"))
    assert names(ran.folder / "traces") == BOTH and not (ran.folder / ".gradscope").exists()
    assert "on rank 0 of 2" in ran.told
    assert ran.findings("traces") == [("GS201", "error", [0])]
    for form, text in (("github", "on rank 0 of 2"), ("sarif", '"ranks"'), ("concise", "on rank 0 of 2")):
        command = [*gradscope(), "check", "traces", "--output-format", form]
        assert text in execute(ran.folder, command).out
    for rank, answer in ((0, "5"), (1, "6")):
        why = execute(ran.folder, [*gradscope(), "why", "--rank", str(rank), "traces", "module.0.weight"])
        assert why.status == 0 and "module.0.weight" in why.out, answer
    picture = execute(ran.folder, [*gradscope(), "graph", "traces", "--rank", "1", "-o", "one.svg"])
    assert picture.status == 0 and (ran.folder / "one.svg").exists()
    none = execute(ran.folder, [*gradscope(), "why", "--rank", "7", "traces", "module.0.weight"])
    assert none.status == 2 and "no trace of rank 7" in none.err and none.err.count("\n") == 1


def test_a_trace_file_that_is_asked_for_becomes_a_folder(ranks: Start) -> None:
    ran = ranks(SCRIPT, "clean", options=("--trace", "out/mine.gradscope"))
    assert names(ran.folder / "out" / "mine") == BOTH and "nothing to report" in ran.told


@pytest.mark.nightly
def test_spawned_ranks(tmp_path: Path, port: str) -> None:
    (tmp_path / "train.py").write_text(program(SPAWN))
    assert execute(tmp_path, [*python(), "train.py", port, "fork"]).status == 0
    before = weights(tmp_path)
    ran = execute(tmp_path, [*gradscope(), "run", "train.py", port, "spawn"])
    assert ran.status == 0 and weights(tmp_path) == before
    assert names(ran.run) == BOTH and ran.findings() == ON_BOTH
    assert ran.err.count("error[GS201]") == 1


def test_children_that_train_without_ranks_and_those_that_do_not(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        program("""
        import multiprocessing

        def work(number):
            model = nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(5):
                if number == 1:
                    optimizer.zero_grad()
                model(torch.ones(2, 3)).sum().backward()
                optimizer.step()
            if number == 2:
                raise KeyError("of its own")

        def double(x):
            return 2 * x

        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            processes = [context.Process(target=work, args=(number,)) for number in (1, 2)]
            for process in processes:
                process.start()
            for process in processes:
                process.join()
            with context.Pool(2) as pool:
                print([process.exitcode for process in processes], pool.map(double, range(3)))
        """)
    )
    plain = execute(tmp_path, [*python(), "train.py"])
    ran = execute(tmp_path, [*gradscope(), "run", "train.py"])
    assert (ran.status, ran.out) == (0, plain.out) == (0, "[0, 1] [0, 2, 4]\n")
    assert ran.err.startswith(plain.err), "the child's traceback is its own"
    assert {name.split("-")[1] for name in names(ran.run)} == {"1", "2"}
    assert "in process 2" in ran.told and "process 2 ended by KeyError" in ran.told


@pytest.mark.nightly
def test_children_of_a_fork_by_hand_have_a_trace_each(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        program("""
        def work(name):
            model = nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(5):
                if name == "exits":
                    optimizer.zero_grad()
                model(torch.ones(2, 3)).sum().backward()
                optimizer.step()
            open(name, "w").write(repr([p.tolist() for p in model.parameters()]))

        children = []
        for how in ("exits", "ends", "raises", "idle"):
            child = os.fork()
            if not child:
                torch.manual_seed(1)
                if how != "idle":
                    work(how)
                if how == "exits":
                    os._exit(3)
                if how == "raises":
                    raise KeyError("of its own")
                break
            children.append(child)
        else:
            print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
        """)
    )

    def weights() -> list[str]:
        return [(tmp_path / name).read_text() for name in ("exits", "ends", "raises")]

    plain = execute(tmp_path, [*python(), "train.py"])
    before = weights()
    ran = execute(tmp_path, [*gradscope(), "run", "train.py"])
    assert (ran.status, ran.out) == (plain.status, plain.out) == (0, "[3, 0, 1, 0]\n")
    assert ran.err.startswith(plain.err) and weights() == before
    assert len(names(ran.run)) == 3, "what is idle leaves none"
    assert ran.findings() == [("GS201", "error", [])] and " and process " in ran.told.partition("-->")[0]
    assert "ended by KeyError" in ran.told and "ended with exit code 3" in ran.told
    assert "it ended itself at train.py:" in ran.told


@pytest.mark.slow
def test_a_rank_that_leaves_by_itself_is_told_with_its_line(ranks: Start) -> None:
    ran = ranks(SCRIPT, "clean", "leaves", how="torchrun")
    line = 1 + program(SCRIPT).splitlines().index("            os._exit(3)")
    assert f"rank 1 ended with exit code 3: it ended itself at train.py:{line}, after 3 steps" in ran.told
    assert f"look for why rank 1 comes to `os._exit(3)` (train.py:{line})" in ran.told


@pytest.mark.nightly
def test_the_folder_that_is_asked_for_holds_the_traces_of_children_too(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        program("""
        import multiprocessing

        def work():
            model = nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(3):
                model(torch.ones(2, 3)).sum().backward()
                optimizer.step()

        if __name__ == "__main__" and "alone" not in sys.argv:
            child = multiprocessing.get_context("fork").Process(target=work)
            child.start()
            child.join()
        """)
    )
    ran = execute(tmp_path, [*gradscope(), "run", "--trace-dir", "traces", "train.py"])
    found = names(tmp_path / "traces")
    assert ran.status == 0 and len(found) == 2 and "main.gradscope" in found
    assert ran.findings("traces") == [("GS201", "error", [])]
    execute(tmp_path, [*gradscope(), "run", "--trace-dir", "one", "train.py", "alone"])
    assert names(tmp_path / "one") == {"main.gradscope"}


@pytest.mark.nightly
def test_the_one_program_of_a_launcher_without_ranks_is_watched(tmp_path: Path) -> None:
    (tmp_path / "accelerate").write_text(
        "import subprocess, sys\nsys.exit(subprocess.Popen([sys.executable, 'train.py'], env=None).wait())\n"
    )
    (tmp_path / "train.py").write_text(
        program("""
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
        print("trained")
        """)
    )
    ran = execute(tmp_path, [*gradscope(), "run", "accelerate"])
    assert (ran.status, ran.out) == (0, "trained\n") and ran.err.count("error[GS201]") == 1
    assert ran.findings() == [("GS201", "error", [])]


def test_workers_that_their_pool_ends_have_whole_traces(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        program("""
        import multiprocessing

        def work(seed):
            model = nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(5):
                model(torch.ones(2, 3)).sum().backward()
                optimizer.step()
            time.sleep(0.2)

        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                pool.map(work, range(3), chunksize=1)  # one of them trains two models
        """)
    )
    ran = execute(tmp_path, [*gradscope(), "run", "train.py"])
    assert ran.status == 0 and ran.told.count("error[GS201]") == 1
    assert "SIGTERM" not in ran.told.partition("found:")[0] and "killed" not in ran.told


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.nightly)])
def test_what_workers_of_a_loader_train_is_told(method: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        program("""
        from torch.utils.data import DataLoader, Dataset

        class Fitted(Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, seed):
                model = nn.Linear(3, 1)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for _ in range(5):
                    model(torch.ones(2, 3)).sum().backward()
                    optimizer.step()
                return seed

        if __name__ == "__main__":
            print(list(DataLoader(Fitted(), num_workers=2, multiprocessing_context=sys.argv[1])))
            list(DataLoader(range(4), num_workers=2))  # these train nothing: no trace of them
        """)
    )
    ran = execute(tmp_path, [*gradscope(), "run", "train.py", method])
    assert ran.status == 0 and ran.told.count("error[GS201]") == 1
    assert "in process 1 and process 2" in " ".join(ran.told.split())
    (folder,) = (tmp_path / ".gradscope").glob("train-*")
    assert len(list(folder.glob("process-*"))) == 2


def test_a_trace_that_is_being_written_is_ended_before_a_signal_ends_the_process(tmp_path: Path) -> None:
    (tmp_path / "writes.py").write_text(
        program("""
        from gradscope.hooks.guards.killed import waiting

        with waiting():
            os.kill(os.getpid(), signal.SIGTERM)
            print("written", flush=True)
        print("never")
        """)
    )
    ran = execute(tmp_path, [*python(), "writes.py"])
    assert (ran.status, ran.out) == (-signal.SIGTERM, "written\n")


@pytest.mark.parametrize("name", ["was ended by SIGTERM", "has not ended yet, or was killed"])
def test_several_processes_that_ended_alike_are_told_in_one_sentence(name: str) -> None:
    told = _of_several(f"{name}: it was last seen at train.py:6, after 3 steps")
    assert told.endswith(": each was last seen at train.py:6, after 3 steps") and "has " not in told


def test_a_child_that_was_killed_before_anything_was_written_of_it_leaves_no_trace(tmp_path: Path) -> None:
    own, children = tmp_path / "train.gradscope", tmp_path / "train"
    children.mkdir()
    TraceWriter(own).close()
    TraceWriter(children / "process-4-1.gradscope").close()
    assert gathered(own, children, keep=False) == own
    assert not children.exists()


@pytest.mark.nightly
def test_one_more_batch_on_one_rank_is_told_as_what_the_others_wait_for(ranks: Start) -> None:
    ran = ranks(
        """
        rank = begin()
        model = DDP(nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5 + rank):
            optimizer.zero_grad()
            loss = model(torch.randn(8, 4)).pow(2).mean()
            loss.backward()
            optimizer.step()
        """
    )
    assert ran.status == 1
    (finding,) = [f for f in ran.report()["findings"] if f["severity"] != "note"]
    assert (finding["code"], finding["ranks"]) == ("GS801", [1])
    assert "different numbers of passes" in finding["message"]
    assert finding["seen"][:2] == [
        "after 5 passes rank 1 was in a backward pass at train.py:26",
        "after 5 passes rank 0 was in the end of the program",
    ]


@pytest.mark.slow
def test_what_decides_which_passes_are_averaged_is_shown(ranks: Start) -> None:
    ran = ranks(
        """
        import contextlib

        rank = begin()
        model = DDP(nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for turn in range(5):
            last = turn == 4
            sync = turn % 2 == 1
            with contextlib.nullcontext() if sync else model.no_sync():
                model(torch.randn(8, 4)).pow(2).mean().backward()
            if sync or last:
                optimizer.step()
                optimizer.zero_grad()
        end()
        """
    )
    assert ran.findings() == [("GS801", "error", [0, 1])]
    assert (
        "says which passes are averaged" in ran.told and "let `sync = turn % 2 == 1` (train.py:" in ran.told
    )


@pytest.mark.slow
def test_a_loop_that_ends_early_on_one_rank_is_told_with_its_break(ranks: Start) -> None:
    ran = ranks(
        """
        rank = begin()
        model = DDP(nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        patience = 0
        for epoch in range(6):
            for _ in range(2):
                optimizer.zero_grad()
                loss = model(torch.randn(8, 4)).pow(2).mean()
                loss.backward()
                optimizer.step()
            patience += rank
            if patience >= 3:
                break
        """
    )
    (finding,) = [f for f in ran.report()["findings"] if f["severity"] != "note"]
    assert (finding["code"], finding["ranks"]) == ("GS801", [0])
    assert "may end the loop on rank 1" in ran.told
    assert finding["fix"].startswith("where rank 1 left the loop by `break` (train.py:")


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize(
    ("body", "told", "line"),
    [
        (
            """
            loss = model(torch.randn(8, 4)).pow(2).mean()
            if rank and step == 2:
                continue
            loss.backward()  # here
            """,
            "ranks make different numbers of passes: rank 0 waits in one more",
            "loss.backward()  # here",
        ),
        (
            """
            model(torch.randn(8, 4)).pow(2).mean().backward()
            if rank and step == 4:
                with torch.no_grad():
                    model.eval()(torch.randn(8, 4))  # here
            """,
            "rank 1 waits in a call of the wrapped model that other ranks do not make",
            "model.eval()(torch.randn(8, 4))  # here",
        ),
        (
            """
            model(torch.randn(8, 4)).pow(2).mean().backward()
            if not rank and step == 2:
                dist.all_reduce(torch.ones(1))  # here
            """,
            "ranks wait for each other in different calls",
            "dist.all_reduce(torch.ones(1))  # here",
        ),
    ],
    ids=["skipped", "evaluated", "reduced"],
)
def test_ranks_that_wait_for_each_other_in_different_calls(
    body: str, told: str, line: str, ranks: Start
) -> None:
    text = (
        """
        import datetime

        dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=3))
        rank = dist.get_rank()
        torch.manual_seed(rank)
        model = DDP(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(5):
            optimizer.zero_grad()
        """
        + textwrap.indent(textwrap.dedent(body), " " * 12)
        + """
            optimizer.step()
        dist.barrier()
        """
    )
    ran = ranks(textwrap.dedent(text))
    assert ran.status == 1
    found = [f for f in ran.report()["findings"] if f["severity"] != "note" and f["code"]]
    (finding,) = found
    assert (finding["code"], finding["ranks"]) == ("GS801", [0, 1]) and finding["message"].startswith(told)
    lines = (ran.folder / "train.py").read_text().splitlines()
    places = [lines[p["line"] - 1] for p in finding["locations"]]
    assert any(line in place for place in (places if "reduce" in line else places[:1]))


@pytest.mark.parametrize(
    ("how", "end", "told"),
    [
        ("run", "killed", "rank 1 has not ended yet, or was killed: it was last seen at train.py:"),
        ("launcher", "killed", "rank 1 was killed by SIGKILL: it was last seen at train.py:"),
        pytest.param(
            "torchrun", "killed", "rank 1 has not ended yet, or was killed: it was last seen at train.py:",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "launcher", "raises", "rank 1 ended by ValueError at train.py:", marks=pytest.mark.nightly
        ),
    ],
)  # fmt: skip
def test_a_rank_that_dies_is_told_and_its_trace_read(how: str, end: str, told: str, ranks: Start) -> None:
    plain = ranks(SCRIPT, "clean", end, how="plain")
    ran = ranks(SCRIPT, "clean", end, how=how)
    assert ran.status == plain.status == 1
    assert told in ran.told
    assert names(ran.run) == BOTH
    report = ran.report()
    (note,) = (note for note in report["unwatched"] if told in note)
    if end == "killed":
        line = int(note.partition(f"{told}")[2].partition(",")[0])
        assert "optimizer.zero_grad()" in (ran.folder / "train.py").read_text().splitlines()[line - 1], note
    for finding in report["findings"]:  # none where no other rank had begun to wait
        assert finding["message"].startswith("rank 1 ") and "what waits for it failed" in finding["message"]
        assert finding["ranks"] == [0] and told in finding["seen"][0]


def test_what_waits_for_a_rank_that_raises_is_told_with_its_line(ranks: Start) -> None:
    ran = ranks(
        """
        rank = begin()
        model = DDP(nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(6):
            optimizer.zero_grad()
            if rank and step == 3:
                raise ValueError("row 77 is broken")
            model(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
        """
    )
    (finding,) = [f for f in ran.report()["findings"] if f["severity"] != "note"]
    assert finding["message"] == "rank 1 ended by ValueError, and what waits for it failed"
    assert finding["ranks"] == [0] and finding["seen"][0].endswith(": `row 77 is broken`")
    lines = (ran.folder / "train.py").read_text().splitlines()
    cause, effect = (lines[place["line"] - 1] for place in finding["locations"][:2])
    assert "raise ValueError" in cause and "backward()" in effect


def test_what_waits_for_a_rank_that_hangs_is_told_with_its_line(ranks: Start) -> None:
    ran = ranks(
        """
        import datetime
        import time

        dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=3))
        rank = dist.get_rank()
        torch.manual_seed(rank)
        model = DDP(nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(6):
            optimizer.zero_grad()
            if rank and step == 3:
                time.sleep(600)
            model(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
        """
    )
    (finding,) = [f for f in ran.report()["findings"] if f["severity"] != "note"]
    assert finding["message"] == "rank 1 did not come, and what waits for it failed"
    lines = (ran.folder / "train.py").read_text().splitlines()
    cause, effect = (lines[place["line"] - 1] for place in finding["locations"][:2])
    assert "time.sleep(600)" in cause and "backward()" in effect


def test_where_ranks_stood_that_were_interrupted_is_told(ranks: Start) -> None:
    ran = ranks(
        """
        import os
        import signal
        import threading
        import time

        rank = begin()
        model = DDP(nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(6):
            optimizer.zero_grad()
            if rank and step == 3:
                threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
                time.sleep(600)
            model(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
        """
    )
    report = ran.report()
    line = 1 + (ran.folder / "train.py").read_text().splitlines().index("        time.sleep(600)")
    stood = f"rank 1 was interrupted: it stood at train.py:{line}, after 3 steps"
    assert stood in report["unwatched"]
    (finding,) = [f for f in report["findings"] if f["severity"] != "note"]
    assert finding["message"] == "rank 1 was interrupted, and what waits for it failed"
    assert (finding["ranks"], finding["seen"][0]) == ([0], stood)


def test_a_static_graph_that_begins_in_no_sync_is_told(ranks: Start) -> None:
    ran = ranks(
        """
        begin()
        model = DDP(nn.Linear(4, 1), static_graph=True)
        with model.no_sync():
            model(torch.randn(8, 4)).pow(2).mean().backward()
        """
    )
    (finding,) = [f for f in ran.report()["findings"] if f["severity"] != "note"]
    assert finding["name"] == "static-graph-begins-in-no-sync" and finding["ranks"] == [0, 1]
    assert "`static_graph=True` was made in `no_sync`" in finding["message"]


def test_a_call_that_one_rank_makes_alone_and_c_code_ends_is_told(ranks: Start) -> None:
    ran = ranks(
        """
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # each ends by itself, whatever its launcher wants
        rank = begin()
        model = DDP(nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(6):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
            if not rank and step == 3:
                dist.all_reduce(torch.ones(1))  # gloo aborts: the sizes do not match
        """
    )
    (finding,) = [f for f in ran.report()["findings"] if f["severity"] != "note"]
    assert finding["code"] == "GS801" and "in different calls" in finding["message"]
    assert "`dist.all_reduce(torch.ones(1))`" in finding["fix"]


@pytest.mark.nightly
def test_a_rank_that_c_code_ends_is_told_with_its_signal_and_line(ranks: Start) -> None:
    plain = ranks(SCRIPT, "clean", "aborts", how="plain")
    ran = ranks(SCRIPT, "clean", "aborts")
    assert (ran.status, ran.out) == (plain.status, plain.out)
    line = 1 + program(SCRIPT).splitlines().index("            os.abort()  # as gloo does")
    told = "rank 1 was ended by SIGABRT, which its own code or a library raised"
    assert f"{told}: it stood at train.py:{line}, after 3 steps or more" in ran.report()["unwatched"]
    assert {path.name for path in ran.run.iterdir() if path.name.endswith("-died")} == {
        "rank-1.gradscope-died"
    }


def test_the_fault_handler_is_the_programs(ranks: Start) -> None:
    body = """
        import faulthandler

        rank = begin()
        train(rank)
        said = [faulthandler.is_enabled(), faulthandler.disable(), faulthandler.is_enabled()]
        faulthandler.enable()
        said += [faulthandler.is_enabled(), faulthandler.disable(), faulthandler.is_enabled()]
        end()
        print(said) if not rank else None
        """
    plain = ranks(TRAIN + textwrap.dedent(body), how="plain")
    ran = ranks(TRAIN + textwrap.dedent(body))
    assert (
        (ran.status, ran.out)
        == (plain.status, plain.out)
        == (0, "[False, False, False, True, True, False]\n")
    )
    assert not list(ran.run.glob("*-died"))


@pytest.mark.parametrize("started", [both, pytest.param(torchrun, marks=pytest.mark.nightly)])
def test_a_hanging_rank_is_told_with_its_line(started: Callable[[], list[str]], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(program(SCRIPT))
    command = [*started(), "-m", "gradscope", "run", "train.py", "clean", "hangs"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=ENV, text=True, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        until = time.monotonic() + 120
        while not (tmp_path / "hung").exists() and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(1)
        process.terminate()
        process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    notes = Ran(tmp_path, 0, "", "").report()["unwatched"]
    line = 1 + program(SCRIPT).splitlines().index("            time.sleep(600)  # it hangs here")
    assert f"rank 1 was ended by SIGTERM: it stood at train.py:{line}, after 3 steps" in notes
    assert any(note.startswith("rank 0 was ended by SIGTERM: it stood") for note in notes)


@pytest.mark.slow
def test_ctrl_c_of_spawned_ranks_that_hang_is_told(tmp_path: Path, port: str) -> None:
    (tmp_path / "train.py").write_text(program(SPAWN))
    command = [sys.executable, "-m", "gradscope", "run", "train.py", port, "spawn", "clean", "hangs"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=ENV, text=True, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        until = time.monotonic() + 120
        while not (tmp_path / "hung").exists() and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGINT)
        told = " ".join(process.communicate(timeout=60)[1].split())
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    line = 1 + program(SPAWN).splitlines().index("            time.sleep(600)  # it hangs here")
    assert f"rank 1 was interrupted: it stood at train.py:{line}, after 3 steps" in told
    assert "rank 0 " in told  # interrupted too, or its connection broke first


@pytest.mark.nightly  # waits for as long as a rank may be in C
def test_ctrl_c_of_ranks_that_hang_in_c_is_told_before_the_launcher_kills_them(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(program(SCRIPT))
    command = [*both(), "-m", "gradscope", "run", "train.py", "clean", "waits"]
    with (tmp_path / "told").open("w") as told:
        process = subprocess.Popen(command, cwd=tmp_path, env=ENV, stderr=told, start_new_session=True)
    try:
        time.sleep(15)  # then it hangs
        process.send_signal(signal.SIGINT)
        until = time.monotonic() + 30
        while "found:" not in (tmp_path / "told").read_text() and time.monotonic() < until:
            time.sleep(0.5)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    line = 1 + program(SCRIPT).splitlines().index(
        "            torch.distributed.barrier()  # nobody else comes here"
    )
    told_then = (tmp_path / "told").read_text()
    assert f"rank 1 was ended by SIGINT: it stood in `barrier` at train.py:{line}, after 3 steps" in told_then
    assert "rank 0 was ended by SIGINT: it stood in `_engine_run_backward`" in told_then
    assert told_then.count("found:") == 1


def test_what_is_missing_damaged_or_of_another_run_is_told_and_the_rest_used(ranks: Start) -> None:
    ran = ranks(SCRIPT, options=("--trace-dir", "first"))
    again = execute(ran.folder, [*both(), "-m", "gradscope", "run", "--trace-dir", "second", "train.py"])
    assert again.status == 0
    first, second = ran.folder / "first", ran.folder / "second"
    (first / "rank-1.gradscope").unlink()
    assert ran.findings("first") == [("GS201", "error", [0])]
    assert ran.report("first")["unwatched"] == ["rank 1 of 2 has left no trace here"]
    whole = (second / "rank-1.gradscope").read_bytes()
    (second / "rank-1.gradscope").write_bytes(whole[:5000])
    told = ran.report("second")["unwatched"]
    assert "rank-1.gradscope" in told[0] and told[0].endswith(": left out") and len(told) == 2
    shutil.copy(first / "rank-0.gradscope", second / "rank-1.gradscope")
    told = ran.report("second")["unwatched"]
    assert told[0] == "rank-1.gradscope is of another run, or an earlier one of these ranks: left out"
    for path in second.glob("*.gradscope"):
        path.write_bytes(b"")
    nothing = execute(ran.folder, [*gradscope(), "check", "second"])
    assert nothing.status == 2 and nothing.err.count("\n") == 1 and "no trace in the folder" in nothing.err


def test_two_launchers_on_one_machine_are_two_nodes_of_one_run(ranks: Start) -> None:
    ran = ranks(SCRIPT, options=("--trace-dir", "nodes"))
    path = ran.folder / "nodes" / "rank-1.gradscope"
    for local, notes in ((0, 0), (1, 2)):  # the second: of an earlier run of these ranks
        with closing(sqlite3.connect(path)) as db, db:
            program = json.loads(db.execute("SELECT value FROM meta WHERE key = 'program'").fetchone()[0])
            host, began, launcher = program["rank"]["agent"].split("|")
            program["rank"] |= {"local": local, "agent": f"{host}|{began}|{int(launcher) + 1}"}
            db.execute("UPDATE meta SET value = ? WHERE key = 'program'", (json.dumps(program),))
        assert len(ran.report("nodes")["unwatched"]) == notes


def test_many_ranks_alike_are_looked_at_once_and_another_one_is_told(ranks: Start) -> None:
    """More than are looked at one by one: copies of two real ones, the last with other parameters from step 3 on."""
    ran = ranks(SCRIPT, options=("--trace-dir", "real"))
    many = ran.folder / "many"
    many.mkdir()
    for rank in range(20):
        path = many / f"rank-{rank}.gradscope"
        shutil.copy(ran.folder / "real" / f"rank-{min(rank, 1)}.gradscope", path)
        with closing(sqlite3.connect(path)) as db, db:
            program = json.loads(db.execute("SELECT value FROM meta WHERE key = 'program'").fetchone()[0])
            program["rank"] |= {"rank": rank, "world": 20, "agent": ""}
            db.execute("UPDATE meta SET value = ? WHERE key = 'program'", (json.dumps(program),))
            db.execute("DELETE FROM print WHERE kind = 'input'")  # copies are given the same data
            if rank == 19:
                db.execute("DELETE FROM meta WHERE key = 'outline'")
                query = "SELECT of, number, data FROM print WHERE kind = 'parameters' AND number > 2"
                for of, number, data in db.execute(query).fetchall():
                    moved = json.dumps({id: 2 * norm for id, norm in json.loads(data).items()})
                    db.execute("UPDATE print SET data = ? WHERE of = ? AND number = ?", (moved, of, number))
    everyone = list(range(20))
    assert sorted(ran.findings("many")) == [("GS201", "error", everyone), ("GS801", "error", everyone)]
    (parting,) = [f for f in ran.report("many")["findings"] if f["code"] == "GS801"]
    assert parting["since"] == 3 and "on rank 19" in parting["seen"][0]


def test_gradients_of_sharded_parameters_that_pile_up_are_told(ranks: Start) -> None:
    pytest.importorskip("torch.distributed.tensor.parallel")
    ran = ranks(
        """
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        begin()
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        net = parallelize_module(net, init_device_mesh("cpu", (2,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(6):
            net(torch.randn(4, 4)).pow(2).mean().backward()
            optimizer.step()
        end()
        """
    )
    assert ran.status == 0 and ran.findings() == ON_BOTH
