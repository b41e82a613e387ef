"""A Python that has imported torch already: `[*python(), "train.py"]` in place of `[sys.executable, "train.py"]`.

Most of what a program's process costs a test is the import of torch and gradscope. A server has made it once and forks
for each program. What a test starts is a small client: it hands its streams, folder, environment and arguments over,
passes signals on, and ends as the program did. What is about the start of an interpreter itself (what is imported
when, `python -`, standard streams that are closed) takes `sys.executable`.
"""

import array
import json
import os
import signal
import socket
import sys

_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT)
_HERE = os.path.abspath(__file__)
_server: list[object] = []


def python() -> list[str]:
    """How a command begins, up to the arguments of Python (a script, `-m module`, `-c text`)."""
    if not _server:
        _start()
    return [sys.executable, "-I", "-S", _HERE, "client", str(_server[0])]


def _start() -> None:
    import atexit
    import shutil
    import subprocess
    import tempfile

    folder = tempfile.mkdtemp(prefix="warm-")
    door = os.path.join(folder, "door")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env |= {"OMP_NUM_THREADS": "1", "WARM_PATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(
        [sys.executable, _HERE, "serve", door], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        process.stdin.close()  # type: ignore[union-attr]
        process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    _server.append(door)


# -- the client ---------------------------------------------------------------------------


def _client(door: str, arguments: list[str]) -> None:
    server = socket.socket(socket.AF_UNIX)
    server.connect(door)
    asked = {"arguments": arguments, "cwd": os.getcwd(), "env": dict(os.environ)}
    text = json.dumps(asked, ensure_ascii=True).encode()
    streams = array.array("i", [0, 1, 2])
    server.sendmsg([len(text).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    server.sendall(text)
    answers = server.makefile("r")
    child = int(answers.readline())

    def pass_on(number: int, frame: object) -> None:
        try:  # `suppress` is an import
            os.kill(child, number)
        except ProcessLookupError:
            pass

    for number in _PASSED_ON:
        signal.signal(number, pass_on)
    status = int(answers.readline() or -signal.SIGKILL)
    if status >= 0:
        os._exit(status)
    signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
    os.kill(os.getpid(), -status)
    signal.pause()


# -- the server ---------------------------------------------------------------------------


def _serve(door: str) -> dict:  # type: ignore[type-arg]
    """Forks a process for each client; in that process, gives what the client has asked for."""
    import selectors

    listening = socket.socket(socket.AF_UNIX)
    listening.bind(door)
    listening.listen(64)
    events = selectors.DefaultSelector()
    events.register(listening, selectors.EVENT_READ)
    events.register(0, selectors.EVENT_READ)  # closed when the tests are over
    running = dict[int, tuple[int, socket.socket]]()  # a process's descriptor → its number, its client
    clients = dict[socket.socket, int]()  # the other way round
    print("ready", flush=True)
    while True:
        for key, _ in events.select():
            if key.fileobj == 0:
                for child, _ in running.values():
                    _kill(child)
                os._exit(0)
            elif key.fileobj is listening:
                client, _ = listening.accept()
                asked, streams = _receive(client)
                child = os.fork()
                if not child:
                    for open_one in (events, listening, client, *clients):
                        open_one.close()
                    for descriptor in running:
                        os.close(descriptor)
                    return {**asked, "streams": streams}
                for stream in streams:
                    os.close(stream)
                client.sendall(f"{child}\n".encode())
                watched = os.pidfd_open(child)
                running[watched], clients[client] = (child, client), watched
                events.register(watched, selectors.EVENT_READ)
                events.register(client, selectors.EVENT_READ)
            elif isinstance(key.fileobj, socket.socket):  # the client was killed
                events.unregister(key.fileobj)
                if key.fileobj in clients:
                    _kill(running[clients[key.fileobj]][0])
            elif key.fileobj in running:
                child, client = running.pop(key.fileobj)
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                events.unregister(key.fileobj)
                os.close(key.fileobj)
                del clients[client]
                try:
                    events.unregister(client)
                except KeyError:
                    pass
                try:
                    client.sendall(f"{status}\n".encode())
                except OSError:
                    pass
                client.close()


def _receive(client: socket.socket) -> tuple[dict, list[int]]:  # type: ignore[type-arg]
    streams = array.array("i")
    head, passed, _, _ = client.recvmsg(4, socket.CMSG_SPACE(3 * streams.itemsize))
    for _, _, data in passed:
        streams.frombytes(data)
    left = int.from_bytes(head, "big")
    pieces = []
    while left:
        pieces.append(client.recv(left))
        left -= len(pieces[-1])
    return json.loads(b"".join(pieces)), list(streams)


def _kill(child: int) -> None:
    """With what it has started, as long as that is in its session."""
    try:
        os.killpg(child, signal.SIGKILL)
    except OSError:
        pass


# -- the process of a program -------------------------------------------------------------


def _settle(asked: dict, base: list[str]) -> list[str]:  # type: ignore[type-arg]
    """Makes this process what the client is; gives the arguments of Python."""
    os.setsid()
    for number, stream in enumerate(asked["streams"]):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    sys.path[:] = [*filter(None, asked["env"].get("PYTHONPATH", "").split(os.pathsep)), *base]
    sys.path_importer_cache.clear()
    arguments = asked["arguments"]
    while arguments[0] in ("-u", "-P"):
        arguments = arguments[1:]
    return arguments


def run(arguments: list[str]) -> None:
    """Runs a script, module or text as `__main__`, as Python does with these arguments."""
    does = _main_of(arguments)
    does() if callable(does) else exec(does, sys.modules["__main__"].__dict__)


def _main_of(arguments: list[str]):  # type: ignore[no-untyped-def]
    import runpy
    import types
    from importlib.machinery import SourceFileLoader

    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    how, *rest = arguments
    if how == "-m":
        sys.argv[:] = ["-m", *rest[1:]]
        sys.path.insert(0, os.getcwd())
        return lambda: runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]
    if how == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        return compile(rest[0], "<string>", "exec", dont_inherit=True)
    sys.argv[:] = arguments
    if os.path.isdir(how):
        sys.path.insert(0, os.path.abspath(how))
        return lambda: runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
    path = os.path.abspath(how)
    sys.path.insert(0, os.path.dirname(os.path.realpath(how)))
    main.__file__, main.__loader__ = path, SourceFileLoader("__main__", path)
    with open(how, "rb") as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


def _hide_these_frames() -> None:
    shown = sys.excepthook

    def excepthook(kind, error, traceback):  # type: ignore[no-untyped-def]
        while traceback is not None and traceback.tb_frame.f_code.co_filename == _HERE:
            traceback = traceback.tb_next
        error.__traceback__ = traceback
        shown(kind, error, traceback)

    sys.excepthook = sys.__excepthook__ = excepthook


if __name__ == "__main__":
    if sys.argv[1] == "client":
        _client(sys.argv[2], sys.argv[3:])
    _base = sys.path[1:]
    sys.path[:0] = os.environ.pop("WARM_PATH").split(os.pathsep)
    import gc

    from loaded import load

    load()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    gc.freeze()
    _hide_these_frames()
    run(_settle(_serve(sys.argv[2]), _base))
