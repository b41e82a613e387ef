"""Makes the pictures of the terminal UI in docs/img/ (`make screenshots`).

    python docs/screenshots.py

Each shows a real run of an example, as the UI draws it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from gradscope.tui import inspector

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/detach_between_layers.py"
SIZE = (100, 26)
PICTURES = {
    "view-findings": (),
    "view-graph": ("2", "slash", *"layer1", "enter", "f", "f", "f"),
}


def main() -> None:
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "run.gradscope"
        command = [sys.executable, "-m", "gradscope", "run", "--full", "--trace", str(trace), EXAMPLE]
        subprocess.run(command, check=True, capture_output=True)
        for name, keys in PICTURES.items():
            asyncio.run(take(trace, keys, ROOT / "docs" / "img" / f"{name}.svg"))


async def take(trace: Path, keys: tuple[str, ...], target: Path) -> None:
    """Draws the UI after these keys."""
    app = inspector(trace)
    async with app.run_test(size=SIZE) as pilot:
        while app.checked is None:
            await pilot.pause(0.05)
        await pilot.pause(0.5)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.3)
        picture = app.export_screenshot(title="gradscope view")
        # Some viewers drop blanks at the start of a text without this.
        picture = picture.replace("<svg ", '<svg xml:space="preserve" ', 1)
        target.write_text(picture, encoding="utf-8")
        print(f"wrote {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
