"""Programs that are ended from outside: as plain Python they die, and the run is told all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from warm import python

import gradscope

TRAIN = """
import atexit, ctypes, os, signal, subprocess, sys, threading, time
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(steps):
    for _ in range(steps):  # no zero_grad
        model(torch.ones(2, 4)).sin().sum().backward()
        optimizer.step()


train(20)
"""
LAST = "\nprint('up', flush=True)\n"
ENV = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    "OMP_NUM_THREADS": "1",
    "COLUMNS": "200",
}
WATCHED = ("-m", "gradscope", "run")


def start(
    folder: Path,
    source: str,
    *,
    under: tuple[str, ...] = WATCHED,
    **env: str,
) -> subprocess.Popen[str]:
    """The program as a process, once it has printed its first line."""
    (folder / "train.py").write_text(source, encoding="utf-8")
    command = [*python(), *under, "train.py"]
    with (folder / "stderr").open("w") as err:
        run = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=err, text=True, env=ENV | env
        )
    assert run.stdout is not None and run.stdout.readline() == "up\n"
    return run


def ended(
    folder: Path, source: str, *signals: int, under: tuple[str, ...] = WATCHED, **env: str
) -> tuple[int, str, str]:
    """(status, stdout, stderr) of the program, which gets the signals when it is up, 20 ms apart."""
    run = start(folder, source, under=under, **env)
    for number in signals:
        run.send_signal(number)
        time.sleep(0.02)
    assert run.stdout is not None
    out = run.stdout.read()
    return run.wait(timeout=120), out, (folder / "stderr").read_text()


def last(folder: Path) -> gradscope.Trace:
    return gradscope.open(folder / ".gradscope" / "last")


FOREVER = TRAIN + LAST + "while True:\n    train(1)\n"
AT_REST = TRAIN + LAST + "try:\n    time.sleep(600)\nfinally:\n    print('cleaned up', flush=True)\n"
IN_C = TRAIN + "mutex = ctypes.create_string_buffer(64)\nlock = ctypes.CDLL(None).pthread_mutex_lock\n"
IN_C += "lock(mutex)\nthreading.Timer(0.3, print, ['up'], {'flush': True}).start()\n"
HANGS = IN_C + "lock(mutex)\n"
COMES_OUT = (
    IN_C
    + """
threading.Timer(3, ctypes.CDLL(None).pthread_mutex_unlock, [mutex]).start()
lock(mutex)
raise OSError("it went on")
"""
)


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize(
    ("program", "number"),
    [(FOREVER, signal.SIGTERM), (AT_REST, signal.SIGHUP), (HANGS, signal.SIGTERM)],
    ids=["training", "asleep", "hangs in C"],
)
def test_a_signal_that_ends_the_program_gets_a_report(
    program: str, number: signal.Signals, tmp_path: Path
) -> None:
    status, out, err = ended(tmp_path, program, number, number)
    assert (status, out) == (-number, "")
    assert "GS201" in err and f"ended by {number.name}" in err
    assert "fault" not in err and "Traceback" not in err
    assert last(tmp_path).program["exit_code"] == -number
    assert [finding.code for finding in last(tmp_path).findings] == ["GS201"]


@pytest.mark.parametrize("kept", [False, True])
def test_a_program_that_hangs_in_c_is_told_beside_its_children(kept: bool, tmp_path: Path) -> None:
    source = HANGS.replace(
        "train(20)\n", "child = os.fork()\ntrain(20)\nos.wait() if child else os._exit(0)\n"
    )
    under = (*WATCHED, "--trace", "kept.gradscope") if kept else WATCHED
    status, _, err = ended(tmp_path, source, signal.SIGTERM, under=under)
    told = " ".join(err.split())
    assert status == -signal.SIGTERM
    assert "error[GS201]" in told and "ended by SIGTERM" in told and "left out" not in told
    run = tmp_path / "kept" if kept else tmp_path / ".gradscope" / "last"
    assert gradscope.open(run / "parent.gradscope").program["exit_code"] == -signal.SIGTERM


def test_a_program_that_comes_out_of_c_while_its_report_is_made_does_not_go_on(tmp_path: Path) -> None:
    """As a rank does whose partner was killed; its report takes longer, since it waits for the other's trace."""
    one_of_two = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    status, _, err = ended(tmp_path, COMES_OUT, signal.SIGTERM, **one_of_two)
    assert status == -signal.SIGTERM
    assert err.count("error[GS201]") == 1 and "ended by SIGTERM" in err
    assert "it went on" not in err and "fault" not in err


def test_a_program_that_is_writing_to_the_stream_of_the_report_gets_it(tmp_path: Path) -> None:
    """Python's streams refuse what a signal's handler writes while the program is writing, a progress bar say."""
    (tmp_path / "train.py").write_text(TRAIN + LAST + "while True:\n    sys.stderr.write('#' * 10_000)\n")
    run = subprocess.Popen(
        [*python(), *WATCHED, "train.py"], cwd=tmp_path, env=ENV, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stdout is not None and run.stdout.readline() == "up\n"
    time.sleep(1)  # the pipe is full, and the program waits in the middle of its writing
    run.send_signal(signal.SIGTERM)
    assert "error[GS201]" in run.communicate(timeout=60)[1] and run.returncode == -signal.SIGTERM


OWN = {
    "its own handler": """
def handler(number, frame):
    print("own", number, flush=True)
    raise SystemExit(9)
print(signal.getsignal(signal.SIGTERM), signal.signal(signal.SIGTERM, handler))
""",
    "a handler for a while": """
before = signal.signal(signal.SIGTERM, lambda *args: print("own", flush=True))
os.kill(os.getpid(), signal.SIGTERM)
signal.signal(signal.SIGTERM, before)
print(before, signal.getsignal(signal.SIGTERM))
""",
    "it is ignored": "print(signal.signal(signal.SIGTERM, signal.SIG_IGN))\nsignal.signal(15, 0)\n",
    "it is waited for": """
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.kill(os.getpid(), signal.SIGTERM)
print(signal.sigwait({signal.SIGTERM}))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
""",
    "a wakeup descriptor": """
reading, writing = os.pipe()
os.set_blocking(writing, False)
print(signal.set_wakeup_fd(writing) == -1, signal.set_wakeup_fd(-1) == writing, signal.set_wakeup_fd(-1))
""",
    "children": """
import multiprocessing
def child():
    print(signal.getsignal(signal.SIGTERM), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
asked = "import signal, os; print(signal.getsignal(15)); os.kill(os.getpid(), 15)"
print(process.exitcode, subprocess.run([sys.executable, "-c", asked]).returncode)
""",
    "all descriptors are closed": "os.closerange(3, 2000)\nsignal.signal(signal.SIGUSR1, lambda *a: None)\n",
}


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("name", OWN)
def test_what_a_program_does_with_the_signal_is_its_own(name: str, tmp_path: Path) -> None:
    source = TRAIN + LAST + OWN[name] + "sys.stdout.flush()\nos.kill(os.getpid(), 15)\ntime.sleep(60)\n"
    plain = ended(tmp_path, source, under=())
    status, out, err = ended(tmp_path, source)
    assert (status, out) == plain[:2]
    assert err.startswith(plain[2]) and "GS201" in err and "fault" not in err
    assert len(list((tmp_path / ".gradscope").glob("*.gradscope"))) == 1


CTRL_C = """
class Kept:
    def __del__(self):
        print("deleted")

kept = Kept()
atexit.register(print, "at exit")
threading.Thread(target=lambda: (time.sleep(0.5), print("a thread"))).start()
print("up", flush=True)
while True:
    train(1)
"""


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize("times", [1, 2, 3])
def test_ctrl_c_shows_the_programs_traceback_and_none_of_ours(times: int, tmp_path: Path) -> None:
    plain = ended(tmp_path, TRAIN + CTRL_C, signal.SIGINT, under=())
    status, out, err = ended(tmp_path, TRAIN + CTRL_C, *[signal.SIGINT] * times)
    assert (status, out) == plain[:2]
    chained = err.count(
        "During handling of the above exception"
    )  # the second, where torch ends what the first ended
    assert err.count("Traceback") == 1 + chained
    assert str(Path(gradscope.__file__).parent) not in err.partition("error[")[0]
    words = " ".join(err.split())  # lines break where the counts before have more digits
    assert "GS201" in err and "ended by KeyboardInterrupt" in words and "fault" not in err


def test_the_installed_command_ends_by_ctrl_c_as_python_does(tmp_path: Path) -> None:
    (tmp_path / "command").write_text(
        "import sys\nfrom gradscope.__main__ import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
    )  # as pip writes it
    run = start(tmp_path, TRAIN + CTRL_C, under=("command", "run"))
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=60) == -signal.SIGINT
    assert (tmp_path / "stderr").read_text().count("Traceback") == 1


def test_ctrl_c_long_after_the_end_ends_the_report(tmp_path: Path) -> None:
    slow = "import time\nfrom gradscope.commands._end import End\nEnd._report = lambda *a: time.sleep(600)\n"
    run = start(tmp_path, slow + LAST)
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=60) == -signal.SIGINT
    assert (tmp_path / "stderr").read_text() == ""


def test_a_second_ctrl_c_ends_the_report_at_once(tmp_path: Path) -> None:
    slow = "import time\nfrom gradscope.commands._end import End\n"
    slow += "End._report = lambda *a: [print('report', flush=True), time.sleep(600)]\n"
    run = start(tmp_path, slow + FOREVER)
    run.send_signal(signal.SIGINT)
    assert run.stdout is not None and run.stdout.readline() == "report\n"
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=60) == -signal.SIGINT
    error = (tmp_path / "stderr").read_text()
    assert error.count("Traceback") == 1 and str(Path(gradscope.__file__).parent) not in error


@pytest.mark.parametrize("program", [AT_REST, HANGS], ids=["asleep", "hangs in C"])
def test_a_report_that_comes_to_no_end_does_not_keep_the_process(program: str, tmp_path: Path) -> None:
    slow = "import time\nimport gradscope.hooks.guards.killed as killed\nfrom gradscope.commands._end import End\n"
    slow += "End._report, killed.LONGEST = lambda *a: time.sleep(600), 1\n"
    assert ended(tmp_path, slow + program, signal.SIGTERM) == (-signal.SIGTERM, "", "")


def test_a_run_is_the_last_one_from_its_first_moment(tmp_path: Path) -> None:
    assert ended(tmp_path, TRAIN + LAST)[0] == 0
    first = last(tmp_path).path.resolve()
    run = start(tmp_path, FOREVER.replace("# no zero_grad", "\n        optimizer.zero_grad()"))
    try:
        time.sleep(2)
        assert last(tmp_path).path.resolve() != first
        during = gradscope_check(tmp_path)
        assert "it has not ended yet, or was killed" in during and "GS201" not in during
        assert "no backward pass" not in during
    finally:
        run.kill()
        run.wait(timeout=60)
    after = gradscope_check(tmp_path)
    assert "GS201" not in after and "it has not ended yet, or was killed" in after


def gradscope_check(folder: Path) -> str:
    command = [*python(), "-m", "gradscope", "check"]
    ran = subprocess.run(command, cwd=folder, text=True, capture_output=True, env=ENV, timeout=60)
    return " ".join((ran.stdout + ran.stderr).split())


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_before_its_program_begins(number: int, tmp_path: Path) -> None:
    """Ctrl-C shows nothing of ours there, and what one asks next is not answered for the run before."""
    assert ended(tmp_path, TRAIN + LAST)[0] == 0
    os.mkfifo(tmp_path / "gate")
    (tmp_path / "torch.py").write_text("open('gate').read()\n")  # found before the real one
    env = {**ENV, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ENV['PYTHONPATH']}"}
    begun = subprocess.Popen(
        [sys.executable, "-m", "gradscope", "run", "train.py"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip
    with (tmp_path / "gate").open("w"):
        begun.send_signal(number)
        assert begun.communicate(timeout=60)[1] == ""
    assert begun.returncode == -number
    assert "ended before its program began" in gradscope_check(tmp_path)


def test_a_run_that_cannot_begin_is_not_the_last_one(tmp_path: Path) -> None:
    assert ended(tmp_path, TRAIN + LAST)[0] == 0
    first = last(tmp_path).path.resolve()
    (tmp_path / "torch.py").write_text("raise ImportError('broken')\n")
    env = {**ENV, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ENV['PYTHONPATH']}"}
    refused = subprocess.run(
        [sys.executable, "-m", "gradscope", "run", "train.py"], cwd=tmp_path, env=env, capture_output=True
    )
    assert refused.returncode == 2 and last(tmp_path).path.resolve() == first
    assert len(list((tmp_path / ".gradscope").glob("*.gradscope"))) == 1


LEAVES = TRAIN + LAST + "os._exit(0)\n"


def test_a_program_that_leaves_at_once_gets_its_report(tmp_path: Path) -> None:
    status, out, err = ended(tmp_path, LEAVES)
    assert (status, out) == (0, "")
    assert err.count("error[GS201]") == 1 and "fault" not in err
    assert ended(tmp_path, LEAVES, under=(*WATCHED, "--fail-on", "error"))[0] == 1


def test_other_threads_do_not_outlive_a_program_that_leaves_at_once(tmp_path: Path) -> None:
    """While a report is made they would go on, and print."""
    source = TRAIN + "threading.Thread(target=lambda: (time.sleep(0.5), print('late'))).start()\n" + LEAVES
    status, out, err = ended(tmp_path, source.replace(TRAIN + LAST, LAST))
    assert (status, out) == (0, "") and "gradscope check" in err
    assert [finding.code for finding in last(tmp_path).findings] == ["GS201"]


def test_ctrl_c_while_gradscope_itself_is_imported(tmp_path: Path) -> None:
    """Of all that the command imports, its own model is among the first."""
    (tmp_path / "command").write_text(
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'gradscope.model':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from gradscope.__main__ import main\n"
        "sys.exit(main())\n"
    )
    ran = subprocess.run(
        [sys.executable, "command", "rules"], cwd=tmp_path, text=True, capture_output=True, env=ENV
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (-signal.SIGINT, "", "")
