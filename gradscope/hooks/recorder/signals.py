"""What hooks can listen to, and what one hook does for the others, with their types.

A signal is sent to everybody who is connected, in the order in which they came. A service is done by one hook;
until that is installed a function stands there that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Generic, ParamSpec

if TYPE_CHECKING:
    from gradscope.hooks.recorder.leaf import LeafRecord
    from gradscope.hooks.recorder.module import ModuleRecord
    from gradscope.hooks.recorder.segments import Row
    from gradscope.hooks.recorder.values import Live

P = ParamSpec("P")


class Signal(list[Callable[P, object]], Generic[P]):
    """Something that happened, as the list of who is connected. Who sends it iterates, and decides what an
    exception of a listener means: no code of ours runs between them."""

    def connect(self, listener: Callable[P, object]) -> None:
        """Does nothing where it is connected already."""
        if listener not in self:
            self.append(listener)

    def disconnect(self, listener: Callable[P, object]) -> None:
        """Does nothing where it is not connected."""
        if listener in self:
            self.remove(listener)


class Signals:
    """Everything that can be listened to."""

    def __init__(self) -> None:
        # -- the loop
        # of a backward pass: roots, the engine's other arguments, site, whether it fills `.grad`, frame
        self.before_pass: Signal[Any, Any, int, bool, Any] = Signal()
        self.after_pass: Signal[int, BaseException | None] = Signal()  # site, why it failed
        # the same as `before_pass`, of a pass that is only counted: what none can do without
        self.before_expected_pass: Signal[Any, Any, int, bool, Any] = Signal()
        self.before_call: Signal[Any, ModuleRecord, int] = (
            Signal()
        )  # of an outermost module: module, record, site
        self.after_call: Signal[Any, ModuleRecord, int] = Signal()
        self.before_step: Signal[Any, int, list[LeafRecord]] = Signal()  # optimizer, its number, its leaves
        # the same of a step that is only counted: optimizer, its number
        self.before_expected_step: Signal[Any, int] = Signal()
        self.after_step: Signal[Any, int, int] = Signal()
        # iterator, sites of its loader and of the loop
        self.loader_iterated: Signal[Any, int, int] = Signal()
        self.batch_given: Signal[Any, Any] = Signal()  # iterator, batch
        self.optimizer_made: Signal[Any, int] = Signal()  # optimizer, its number
        self.optimizer_loaded: Signal[Any, int] = Signal()  # optimizer that a state was given to, site
        self.segment_ended: Signal[bool, bool, int] = Signal()  # by a step, nothing new, how many
        self.before_load: Signal[Any] = Signal()  # of a state into a module
        self.state_made: Signal[Any] = Signal()  # module whose `state_dict()` was asked for
        self.after_load: Signal[Any, int] = Signal()  # module, site
        self.keys_loaded: Signal[Any, Any, Any, int] = (
            Signal()
        )  # module, the state it was given, what `load_state_dict` has returned, site
        self.data_set: Signal[Any, Any, int] = Signal()  # `t.data = …`: tensor, its new data, site
        self.parameter_made: Signal[Any, Any, int] = (
            Signal()
        )  # by the program itself: parameter, of what, site
        self.zero_gradients: Signal[[]] = Signal()  # other gradients than before were exactly zero, together
        # a hook of the program's on a tensor is about to run: the `id` of that, the gradient that it is given, and
        # where the hook was put
        self.gradient_given: Signal[int, Any, int] = Signal()
        # -- ops
        self.op: Signal[Row, list[Any], list[Any]] = Signal()  # row, inputs, outputs
        self.values_read: Signal[list[Live], int] = Signal()  # entries, index of the op
        self.carried: Signal[Row, tuple[int, ...], list[Any]] = (
            Signal()
        )  # an op read what an earlier segment made
        self.module_input: Signal[list[Any], ModuleRecord, int] = Signal()
        self.array_wrapped: Signal[Any, Any] = Signal()  # what `from_numpy` gave, its caller's frame
        # of an autograd.Function: class, arguments, result, frame
        self.function_applied: Signal[Any, Any, Any, Any] = Signal()
        self.before_reduced: Signal[str, list[Any], Any] = (
            Signal()
        )  # a call between ranks that writes unseen by autograd's version check: name, tensors, frame
        self.summed: Signal[list[Any], Any] = Signal()  # `all_reduce` is about to sum: tensors, frame
        self.reduced_later: Signal[Any, list[Any], Any] = (
            Signal()
        )  # an asynchronous call between ranks: its handle, what it writes to, frame
        # a tensor is about to swap what it holds with another: weak references to it are to be let go of
        self.before_swap: Signal[Any] = Signal()
        # -- the watch
        self.thread_changed: Signal[[]] = Signal()  # another thread is watched from now on
        self.asleep: Signal[[]] = Signal()  # sampling looks at no op from now on
        self.awake: Signal[[]] = Signal()
        self.gradients_off: Signal[[]] = Signal()  # by the program, not by torch
        self.block_without_gradients: Signal[int] = (
            Signal()
        )  # the same of a block or function: where it begins
        self.compiling: Signal[[]] = Signal()  # a compiler is about to look at Python code
        self.before_end: Signal[[]] = Signal()  # of the watch: what is only known then is told
        self.killed: Signal[int, bool] = (
            Signal()
        )  # a signal ends the process: its number, whether the main thread hangs
        self.process_exit: Signal[int] = Signal()  # os._exit is about to end the process
        self.replaced: Signal[[]] = Signal()  # os.exec… is about to put another program in its place


class Services:
    """What one hook does for the others."""

    def __init__(self) -> None:
        self.wake: Callable[..., None] = _not_asleep  # sampling: look at what comes next (at so many steps)
        self.rest: Callable[[], bool] = _false  # sampling: look at nothing until it is woken; whether it does
        self.at_every_step: Callable[[Any], bool] = _no  # quiet calls: whether a frame makes one at each step
        self.undecided: Callable[[], bool] = _false  # growth: whether a state may be about to grow
        self.elsewhere: Callable[[bool], bool] = _no  # threads: whether what trains now takes the watch along
        self.passed_beside: Callable[[Any, Any], None] = (
            _unseen_pass  # lanes: a pass of another thread begins
        )
        self.stepped_beside: Callable[[], None] = _nothing  # lanes: another thread has made a step
        # padded tokens: those of an embedding of this form, rows by places, with the site of the call
        self.padded_tokens: Callable[[tuple[int, int]], tuple[int, Any] | None] = _none
        self.is_sound: Callable[[Any], bool] = _yes  # nonfinite: whether a pass's loss is finite
        self.keep_print: Callable[[Any], None] = _dropped  # distributed: a print, by which ranks are compared
        self.optimizer_number: Callable[[Any, int], int] = _unknown  # optimizers: its id in the trace
        self.steps_of: Callable[[Any], int] = _no_steps  # optimizers: how many steps it is known to have made
        self.leave_failed: Callable[[], None] = _nothing  # optimizers: a step that raised is over
        self.step_of_others: Callable[[Any], Any] = (
            _same  # optimizers: a `step` that is none of torch's, watched
        )
        self.clearing_of_others: Callable[[Any], Any] = (
            _same  # the same of a `zero_grad` that fills with zeros
        )
        self.in_child: Callable[[Any, bool], Any] = (
            _not_watched  # offspring: what a `multiprocessing.Process` runs in its place; whether late
        )
        self.in_fork: Callable[[], None] = _nothing  # offspring: a child of `os.fork` begins
        self.out_of_sight: Callable[[], AbstractContextManager[None]] = (
            nullcontext  # fast_paths: as without a mode
        )


def _nothing() -> None:
    pass


def _not_asleep(looks: int = 0) -> None:
    pass


def _unseen_pass(roots: Any, frame: Any) -> None:
    pass


def _same(function: Any) -> Any:
    return function


def _false() -> bool:
    return False


def _none(asked: Any) -> None:
    return None


def _not_watched(process: Any, late: bool) -> None:
    return None


def _no(asked: Any) -> bool:
    return False


def _yes(roots: Any) -> bool:
    return True


def _dropped(printed: Any) -> None:
    pass


def _unknown(optimizer: Any, site: int) -> int:
    return -1


def _no_steps(optimizer: Any) -> int:
    return 0
