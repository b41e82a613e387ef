"""Watches `argparse` turn a word of the command line that says no into True, as `type=bool` does with any word."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from gradscope.hooks import Hook

MOST = 16  # options that are told of
WORDS = {"false", "f", "no", "n", "off", "0", "none"}


class ParsedArguments(Hook):
    order = 30

    def install(self) -> None:
        self.told: set[str] = set()
        parser = argparse.ArgumentParser
        if hasattr(parser, "_get_value"):  # no part of what `argparse` promises
            self.patch(parser, "_get_value", self._value(getattr(parser, "_get_value")))  # noqa: B009

    def _value(self, real: Any) -> Any:
        def _get_value(parser: Any, action: Any, text: Any) -> Any:
            result = real(parser, action, text)
            if result is True and getattr(action, "type", None) is bool and self.recorder.mine():
                try:
                    self._note(action, text, sys._getframe(1))
                except BaseException as error:
                    self.recorder.fault("looking at an option", error)
            return result

        return _get_value

    def _note(self, action: Any, text: Any, frame: Any) -> None:
        names = [name for name in action.option_strings if type(name) is str] or [str(action.dest)]
        if type(text) is not str or text.strip().lower() not in WORDS or names[0] in self.told:
            return
        if len(self.told) < MOST:
            self.told.add(names[0])
            site = self.recorder.sites.current(frame)
            self.recorder.emit("no_is_true", site, {"option": max(names, key=len), "text": text.strip()})
