"""`launch.py N ARGUMENTS…`: N ranks of one run, as torchrun starts them, each forked from this process.

For what is about the ranks; what is about the launcher itself takes `torch.distributed.run`, which has every rank
import torch anew.
"""

import os
import signal
import socket
import sys


def main() -> int:
    count = int(sys.argv[1])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, TORCHELASTIC_RUN_ID="none")
    os.environ.update(WORLD_SIZE=str(count), LOCAL_WORLD_SIZE=str(count), TORCHELASTIC_RESTART_COUNT="0")
    ranks = set()
    for rank in range(count):
        child = os.fork()
        if not child:
            os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
            return -1
        ranks.add(child)

    def stop(number: int = signal.SIGTERM, _: object = None) -> None:
        for child in ranks:
            os.kill(child, number)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    status = 0
    while ranks:
        child, ended = os.wait()
        ranks.discard(child)
        if ended and not status:
            status = 1
            stop()
    return status


if __name__ == "__main__":
    status = main()
    if status >= 0:
        sys.exit(status)
    del sys.path[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import warm

    del sys.path[0]
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    warm.run(sys.argv[2:])
