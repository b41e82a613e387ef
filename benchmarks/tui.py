"""How quickly the terminal UI opens a large trace and answers keys.

    python benchmarks/big_trace.py big.gradscope
    python benchmarks/tui.py big.gradscope

Times are of the UI in a headless terminal of 120×40: from its start to the first screen, and for
each key from the press until the screen is drawn anew. The rules go on in the background all
the while, as they do for a user. "cpu" is what the UI's own thread used of it: that does not
depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from time import perf_counter, thread_time

from gradscope.tui import inspector

KEYS = (
    *(
        "1",
        "2",
        "down",
        "right",
        "enter",
        "down",
        "down",
        "pagedown",
        "end",
        "home",
        "f",
        "f",
        "b",
        "backspace",
    ),
    *("slash", "c", "e", "l", "l", "s", "full_stop", "1", "9", "9", "enter", "f", "f", "f", "b"),
    *("tab", "down", "down", "enter", "s", "3", "down", "end", "home", "m", "enter"),
    *("4", "down", "pagedown", "end", "s", "s", "S", "f", "1", "5", "enter"),
    *("5", "down", "m", "up", "c", "enter", "6", "1"),
)
AFTER_TYPING = {"6": "escape"}


Times = tuple[float, float]  # seconds of the clock, seconds of the processor


async def measure(path: Path) -> tuple[Times, list[tuple[Times, str]]]:
    """Until the first screen, and for each key."""
    began = perf_counter(), thread_time()
    app = inspector(path)
    async with app.run_test(size=(120, 40)) as pilot:
        opened = since(began)
        times = []
        for key in KEYS:
            page = type(app.screen).__name__
            began = perf_counter(), thread_time()
            await pilot.press(key)
            await pilot.pause(0)
            times.append((since(began), f"{key} on {page}"))
            if key in AFTER_TYPING:
                await pilot.press(AFTER_TYPING[key])
    return opened, times


def since(began: Times) -> Times:
    return perf_counter() - began[0], thread_time() - began[1]


def shown(times: Times) -> str:
    return f"{times[0] * 1000:6.0f} ms, cpu {times[1] * 1000:4.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    opened, times = asyncio.run(measure(parser.parse_args().trace))
    print(f"opened in {shown(opened)}")
    ranked = sorted(times, key=lambda item: item[0][1], reverse=True)
    print(f"{len(times)} keys: median {shown(ranked[len(ranked) // 2][0])}; those with most work:")
    for seconds, key in ranked[:8]:
        print(f"  {shown(seconds)}  {key}")


if __name__ == "__main__":
    main()
