"""Debian's chromium, driven through its pipe: what a page's reader sees and does."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One headless browser with one page. `faults`: exceptions, and all that its console was told as an error."""

    def __init__(self, width: int = 1500, height: int = 950):
        assert CHROMIUM is not None
        self.faults: list[str] = []
        self.requests: list[str] = []
        self._folder = tempfile.mkdtemp(prefix="gradscope-browser-")
        ours, theirs = os.pipe(), os.pipe()
        command = [
            CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
            "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
            f"--user-data-dir={self._folder}", f"--window-size={width},{height}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{ours[0]} 4>&{theirs[1]}', "bash", *command],
            pass_fds=(ours[0], theirs[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from = os.fdopen(ours[1], "wb", buffering=0), os.fdopen(theirs[0], "rb")
        self._number = 0
        self._session: str | None = None
        pages = self._ask("Target.getTargets")["targetInfos"]
        target = next(info["targetId"] for info in pages if info["type"] == "page")
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")
        self.size(width, height)

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])

    def _read(self) -> dict[str, Any]:
        parts = bytearray()
        while (byte := self._from.read(1)) != b"\0":
            assert byte, "the browser has gone"
            parts += byte
        answer: dict[str, Any] = json.loads(parts)
        match answer.get("method"):
            case "Runtime.exceptionThrown":
                self.faults.append(str(answer["params"]["exceptionDetails"]))
            case "Log.entryAdded" if answer["params"]["entry"]["level"] == "error":
                self.faults.append(answer["params"]["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(answer["params"]["request"]["url"])
        return answer

    def size(self, width: int, height: int) -> None:
        """Makes the window so large."""
        looks = {"deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=height, **looks)

    def dark(self, on: bool = True) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path) -> None:
        self.faults.clear()
        self.requests.clear()
        self._ask("Page.navigate", url=path.as_uri())
        self.until("document.body && document.body.dataset.ready")

    def until(self, script: str, seconds: float = 20) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < end, f"never: {script}"
            time.sleep(0.02)

    def run(self, script: str) -> Any:
        """What an expression gives, awaited."""
        answer = self._ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def mouse(self, x: float, y: float, clicks: int = 0) -> None:
        """Moves the mouse to a point, and clicks there so often."""
        self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for count in range(1, clicks + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self._ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)

    def wheel(self, x: float, y: float, by: float) -> None:
        self._ask("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by)
        self.run("new Promise(done => setTimeout(done, 60))")

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.mouse(*start)
        left = {"button": "left", "clickCount": 1}
        self._ask("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], **left)
        for part in (0.3, 0.7, 1.0):
            x, y = (a + (b - a) * part for a, b in zip(start, end, strict=True))
            self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
        self._ask("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], **left)

    def click(self, script: str, clicks: int = 1) -> None:
        """Clicks on the middle of the element that an expression gives."""
        self.mouse(*self.middle(script), clicks=clicks)

    def corners(self, selector: str) -> list[list[float]]:
        """Left, top, right and lower end of each element, once what was done is drawn."""
        self.settle()
        found: list[list[float]] = self.run(
            f"[...document.querySelectorAll({selector!r})].map(e => e.getBoundingClientRect())"
            ".map(r => [r.x, r.y, r.right, r.bottom])"
        )
        return found

    def settle(self) -> None:
        """Waits until what was done is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def middle(self, script: str) -> tuple[float, float]:
        self.settle()
        x, y, width, height = self.run(
            f"(() => {{ const e = {script}; if (e instanceof HTMLElement) e.scrollIntoView({{block: 'nearest'}});"
            " const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()"
        )
        return x + width / 2, y + height / 2

    def keys(self, *names: str) -> None:
        """Presses keys, one after another: "a", "Enter", "Tab"."""
        for name in names:
            code = {
                "Enter": 13,
                "Tab": 9,
                "Escape": 27,
                "ArrowDown": 40,
                "ArrowUp": 38,
                "ArrowLeft": 37,
                "ArrowRight": 39,
            }.get(name)
            text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
            extra = {"text": text} if text else {}
            more = {"windowsVirtualKeyCode": code} if code else {}
            self._ask(
                "Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=name, **extra, **more
            )
            self._ask("Input.dispatchKeyEvent", type="keyUp", key=name, **more)

    def picture(self, path: Path) -> None:
        """Saves what the window shows."""
        path.write_bytes(base64.b64decode(self._ask("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for end in (self._to, self._from):
            end.close()
        shutil.rmtree(self._folder, ignore_errors=True)
