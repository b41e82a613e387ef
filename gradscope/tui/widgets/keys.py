"""The line at the bottom with the keys that work here.

Textual's own footer makes a widget for each key, anew whenever the focus moves: a third of
the time that a screen took to open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text
from textual.binding import ActiveBinding, Binding
from textual.events import Click
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Tree

from gradscope.tui.widgets.table import Table


class KeyBar(Widget):
    """`/ Find  o Edit …` from the bindings that are in reach, each a place to click."""

    COMPONENT_CLASSES = {"key-bar--key"}
    DEFAULT_CSS = """
    KeyBar { height: 1; dock: bottom; background: $footer-background; color: $footer-foreground; }
    KeyBar > .key-bar--key { color: $footer-key-foreground; text-style: bold; }
    """

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[Any]) -> None:
        self.refresh()

    def _shown(self) -> Iterator[tuple[Binding, str, Any]]:
        """(binding, its key as text, the node it belongs to), a key for each action."""
        seen = set()
        for active in in_reach(self.screen):
            binding = active.binding
            if binding.show and binding.description and active.enabled and binding.action not in seen:
                seen.add(binding.action)
                yield binding, self.app.get_key_display(binding), active.node

    def render(self) -> Text:
        line = Text(no_wrap=True, end="", overflow="ellipsis")
        style = self.get_component_rich_style("key-bar--key", partial=True)
        for binding, key, _ in self._shown():
            line.append(key, style).append(f" {binding.description}{self._gap}")
        return line

    @property
    def _gap(self) -> str:
        """What parts two keys: more where there is room."""
        needed = sum(len(key) + len(binding.description) + 3 for binding, key, _ in self._shown())
        return "  " if needed <= self.size.width else " "

    async def on_click(self, event: Click) -> None:
        at = 0
        for binding, key, node in self._shown():
            at += len(f"{key} {binding.description}{self._gap}")
            if event.x < at:
                await self.app.run_action(binding.action, node)
                return


def in_reach(screen: Screen[Any]) -> list[ActiveBinding]:
    """The bindings that work now. What enter does on a row is the screen's to say, not the table's."""
    own = {binding.key: binding for binding in type(screen).BINDINGS if isinstance(binding, Binding)}
    return [
        active._replace(node=screen, binding=own[key])
        if key == "enter" and key in own and isinstance(active.node, (Table, Tree))
        else active
        for key, active in screen.active_bindings.items()
    ]
