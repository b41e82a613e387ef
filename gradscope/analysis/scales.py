"""Which gradients carry the factor of a gradient scaler."""

from __future__ import annotations

from collections.abc import Iterable

from gradscope.events import Backward, Scaler, Step, ZeroGrad
from gradscope.model import Event
from gradscope.store import Trace


class Scales:
    """Follows the run, event by event: `scaled` and `plain` tell of each unused gradient which pass, with
    a scaled loss or with none, has filled it last. Passes before the first call of a scaler are neither."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.scaled: dict[int, Backward] = {}
        self.plain: dict[int, Backward] = {}
        self.scale: float | None = None  # the scaler's last
        self._next: bool | None = None  # whether the next pass begins at a scaled loss

    def follow(self, event: Event) -> None:
        if isinstance(event, Scaler):
            self._called(event)
        elif isinstance(event, Backward):
            self._fill(event)
        elif isinstance(event, Step):
            self._gone(event.fresh)
        elif isinstance(event, ZeroGrad):
            self._gone(event.parameters)

    def _called(self, event: Scaler) -> None:
        self.scale = event.scale or self.scale
        if event.call == "backward":
            self._next = event.scaled
        elif event.call == "unscale_" and not event.error and event.optimizer in self.trace.optimizers:
            self._gone(self.trace.optimizers[event.optimizer].parameters)

    def _fill(self, event: Backward) -> None:
        for parameter in event.filled:
            if self._next:
                self.scaled[parameter] = event
                self.plain.pop(parameter, None)
            elif self._next is False and parameter not in self.scaled:
                self.plain[parameter] = event
        self._next = None

    def _gone(self, ids: Iterable[int]) -> None:
        for parameter in ids:
            self.scaled.pop(parameter, None)
            self.plain.pop(parameter, None)
