"""Which thread is watched: the one that began the watch, or the first to train where that
one does not (a training loop in a `threading.Thread`). One at a time; the passes of others
are counted and told."""

from __future__ import annotations

import os
import sys
import threading
from time import perf_counter, sleep
from types import FrameType

from gradscope.hooks import Hook

MOST_SECONDS = 1.0  # to wait for threads that end


class Threads(Hook):
    order = 12

    def install(self) -> None:
        self.lock = threading.Lock()
        self.passes_before = 0  # of the thread that is watched now
        self.left: set[int] = set()  # the system's numbers of other threads that were watched
        self.recorder.services.elsewhere = self._elsewhere

    def uninstall(self) -> None:
        """Waits until the threads that were watched are gone where Python is through with them: the
        system's thread gives our mode back last, and would do so into an interpreter that ends."""
        super().uninstall()
        self.recorder.services.elsewhere = lambda is_pass: (
            False
        )  # nor in a child, where the lock may stay taken
        alive = {t.native_id for t in threading.enumerate()}
        until = perf_counter() + MOST_SECONDS
        for number in self.left - alive:
            while os.path.exists(f"/proc/self/task/{number}") and perf_counter() < until:
                sleep(0.0002)

    def _elsewhere(self, is_pass: bool) -> bool:
        """In a thread that is not watched and is about to train: whether it is watched now."""
        recorder = self.recorder
        with self.lock:
            if recorder.ended:
                return False
            try:
                if self._free(is_pass):
                    self._take()
                    return True
            except BaseException as error:
                recorder.fault("moving to another thread", error)
            number = threading.get_ident()
            if is_pass and any(t.ident == number for t in threading.enumerate()):  # not the engine's
                recorder.unseen[number] = recorder.unseen.get(number, 0) + 1
            return False

    def _free(self, is_pass: bool) -> bool:
        """Whether the watched thread is over, or idles and has never gone backward. One that
        has begun to train gives way only to one that is further."""
        recorder = self.recorder
        frame = sys._current_frames().get(recorder.thread)
        if frame is None:
            return True
        if (recorder.moved and not is_pass) or recorder.passes != self.passes_before:
            return False
        return not (
            recorder.paused or recorder.depth or recorder.modules.current >= 0 or self._in_ours(frame)
        )

    def _in_ours(self, innermost: FrameType) -> bool:
        """Whether a thread runs code of ours just now, or what that has called."""
        frame: FrameType | None = innermost
        while frame is not None and (kind := self.recorder.sites.kind(frame.f_code)) != "user":
            if kind == "own":
                return True
            frame = frame.f_back
        return False

    def _take(self) -> None:
        recorder = self.recorder
        recorder.end_segment(False)
        recorder.thread, recorder.moved = threading.get_ident(), True
        self.left.add(threading.get_native_id())
        recorder.paused = recorder.depth = 0
        self.passes_before = recorder.passes
        recorder.region, recorder.modules.current = -1, -1
        recorder.history.forget()  # node numbers count within a thread
        for follow in recorder.signals.thread_changed:
            follow()
        recorder.services.wake()
        recorder.functions.resume()
