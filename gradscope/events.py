"""What happened between ops, a class for each kind of event: what hooks record and readers ask.

Values and nodes are indices in the event's graph; parameters, modules, optimizers and sites are ids in
the trace (`trace.site(id)`). Every attribute has a value: what was not measured is None, or empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from gradscope.model import Event

T = TypeVar("T")


class Field(Generic[T]):
    """An attribute that is kept in `Event.data` under `key`."""

    def __init__(self, read: Callable[[Any], T], key: str = ""):
        self.read = read
        self.key = key

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name

    def __get__(self, event: Event, owner: type | None = None) -> T:
        return self.read(event.data.get(self.key))


def _flag(raw: Any) -> bool:
    return bool(raw)


def _unless_false(raw: Any) -> bool:
    return raw is None or bool(raw)


def _maybe_flag(raw: Any) -> bool | None:
    return None if raw is None else bool(raw)


def _text(raw: Any) -> str:
    return raw or ""


def _key(raw: Any) -> int:
    """An id that every such event has; -1 where a damaged trace lost it."""
    return -1 if raw is None else int(raw)


def _id(raw: Any) -> int | None:
    return None if raw is None else int(raw)


def _count(raw: Any) -> int:
    return int(raw or 0)


def _number(raw: Any) -> float | None:
    return None if raw is None else float(raw)


def _known(raw: Any) -> float:
    return float(raw or 0)


def _one_unless_told(raw: Any) -> int:
    return 1 if raw is None else int(raw)


def _ids(raw: Any) -> tuple[int, ...]:
    return tuple(raw or ())


def _numbers(raw: Any) -> tuple[float, ...]:
    return tuple(raw or ())


def _texts(raw: Any) -> tuple[str, ...]:
    return tuple(raw or ())


def _records(raw: Any) -> tuple[dict[str, Any], ...]:
    return tuple(raw or ())


def _lines(raw: Any) -> tuple[tuple[str, int], ...]:
    return tuple((str(path), int(line)) for path, line in raw or ())


def _pairs(raw: Any) -> tuple[tuple[int, float], ...]:
    return tuple((int(step), float(number)) for step, number in raw or ())


def _rows(raw: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in raw or ())


def _sizes(raw: Any) -> tuple[tuple[int, int], ...]:
    return tuple((int(one), int(other)) for one, other in raw or ())


def _table(raw: Any) -> dict[str, Any]:
    return dict(raw or {})


def _anything(raw: Any) -> Any:
    return raw


def _by_state(raw: Any) -> dict[str, tuple[int, ...]]:
    return {state: tuple(ids) for state, ids in (raw or {}).items()}


class Kind(Event):
    """An event of one kind. A subclass names its kind and is found by it."""

    __slots__ = ()
    of: ClassVar[str]
    known: ClassVar[dict[str, type[Kind]]] = {}

    def __init_subclass__(cls) -> None:
        if "of" in vars(cls):
            Kind.known[cls.of] = cls


# -- the loop ------------------------------------------------------------------------


class Rooted(Kind):
    """A backward pass, or torch's refusal of one: what it began at."""

    __slots__ = ()
    roots = Field(_ids)  # values
    inputs = Field(_ids)  # values: of autograd.grad or `inputs=`; of a call that failed


class Backward(Rooted):
    """A backward pass."""

    __slots__ = ()
    of = "backward"
    call = Field(_text)  # "backward" or "grad"
    retain_graph = Field(_flag)
    create_graph = Field(_flag)
    number = Field(_count, "pass")  # of the first such pass
    filled = Field(_ids, "accumulated")  # parameters whose `.grad` changed
    leaves = Field(_records)  # other leaves that got a `.grad`: {value, bytes, shape}
    stale = Field(_ids)  # parameters whose gradient a step had used and was added to
    unlooked = Field(_flag)  # the forward was not captured
    within = Field(_ids)  # values that its hooks began passes of their own with
    weights = Field(_ids)  # values: leaves, or its roots, that it was given as the gradient to begin with
    sense = Field(_one_unless_told)  # -1: it was given one negative number to begin with; 0: not known
    held_nodes = Field(_count)  # what a kept graph holds after its first pass
    held_bytes = Field(_count)


class Gradients(Kind):
    """What steps and clips share: the state of each gradient that they met."""

    __slots__ = ()
    states = Field(_by_state)

    def in_state(self, *names: str) -> set[int]:
        """Parameters whose gradient was in one of these states: "none", "fresh" (filled since it was last
        used), "stale" (a sum of used and new), "zero", "used", "unknown"."""
        states = self.states
        return {id for name in names for id in states.get(name, ())}

    @property
    def fresh(self) -> set[int]:
        """Parameters whose new gradient it meets."""
        return self.in_state("fresh", "stale")


class Step(Gradients):
    """A step of an optimizer."""

    __slots__ = ()
    of = "step"
    optimizer = Field(_key)
    unchanged = Field(_ids)  # with a fresh gradient and a version that did not move
    closure = Field(_flag)
    placed = Field(_ids)  # whose fresh gradient is a tensor that the program put there

    @property
    def fed(self) -> bool:
        """Whether it found a gradient."""
        return bool(self.in_state("fresh", "stale", "used"))

    @property
    def by_scaler(self) -> bool:
        """Whether a gradient scaler made it."""
        return self.site.under("grad_scaler.py")


class ZeroGrad(Kind):
    """Gradients were cleared."""

    __slots__ = ()
    of = "zero_grad"
    by = Field(_text)  # "optimizer", "module", "hand"
    optimizer = Field(_key)
    module = Field(_key)
    parameters = Field(_ids)  # covered
    dropped = Field(_ids)  # that held a fresh, unused gradient
    read = Field(_ids)  # of those, whose gradient had been read
    norm = Field(_number)  # of the first one dropped


class StaleUsed(Kind):
    """A step or an update by hand used a sum of old and new gradients."""

    __slots__ = ()
    of = "stale_used"
    optimizer = Field(_id)  # None: an update by hand
    parameters = Field(_ids)
    backward = Field(_id)  # site of the pass, or of the program's own write, that added
    used_by = Field(_id)  # site of the step that had used it before
    parameter = Field(_id)  # the one measured
    norm = Field(_number)
    norm_without = Field(_number)


class Clip(Gradients):
    """Gradients are about to be clipped."""

    __slots__ = ()
    of = "clip"
    call = Field(_text)  # "norm" or "value"
    given = Field(_count)  # how many parameters
    limit = Field(_number)


class Update(Kind):
    """The program's own code wrote to a parameter after the first backward."""

    __slots__ = ()
    of = "update"
    parameter = Field(_count)
    how = Field(_text)  # "data", "no_grad", "assigned"
    used = Field(_flag)  # its gradient had been read since the last pass


class NoEffect(Kind):
    """A step left parameters bit-equal although their gradient was not zero."""

    __slots__ = ()
    of = "no_effect"
    optimizer = Field(_key)
    parameters = Field(_ids)
    moved = Field(_count)
    zero_rate = Field(_flag)
    rates = Field(_numbers)


class FrozenMoved(Kind):
    """A step changed parameters that require no gradient, and in whose `.grad` an old one or zeros are left."""

    __slots__ = ()
    of = "frozen_moved"
    optimizer = Field(_key)
    parameters = Field(_ids)
    zero = Field(_ids)  # those of them whose gradient was zeros


class PassTime(Kind):
    """How long the passes of one line took."""

    __slots__ = ()
    of = "pass_time"
    passes = Field(_count)
    seconds = Field(_number)
    early = Field(_number)
    late = Field(_number)


class OptimizerMade(Kind):
    __slots__ = ()
    of = "optimizer"
    optimizer = Field(_key)
    apart = Field(_ids)  # in a child of `multiprocessing`: parameters whose memory no other process sees


class Forked(Kind):
    """A child of `multiprocessing` began with a copy of this process's memory."""

    __slots__ = ()
    of = "forked"
    process = Field(_key)


class SchedulerMade(Kind):
    __slots__ = ()
    of = "scheduler"
    scheduler = Field(_count)
    optimizer = Field(_key)
    cls = Field(_text)
    drives = Field(_ids)  # schedulers that it steps itself
    turn = Field(_count)  # at which it begins: 0 but for one that is resumed
    done = Field(_count)  # steps that its optimizer had counted by then
    settings = Field(_table)  # its plain numbers: gamma, T_max and the like


class Scheduled(Kind):
    """A learning-rate schedule was stepped by the program."""

    __slots__ = ()
    of = "schedule"
    scheduler = Field(_count)
    optimizer = Field(_key)
    before = Field(_numbers)
    after = Field(_numbers)


class Resumed(Kind):
    """A schedule was loaded, and its optimizer stepped with an empty state after that."""

    __slots__ = ()
    of = "resumed"
    scheduler = Field(_key)
    optimizer = Field(_key)
    turn = Field(_count)  # at which the schedule goes on


class ScheduleLeft(Kind):
    """An optimizer was given a state which a schedule had been at work on, and its own schedule began anew."""

    __slots__ = ()
    of = "schedule_left"
    scheduler = Field(_count)
    optimizer = Field(_key)
    done = Field(_count)  # steps that the state had counted
    kept = Field(_numbers)  # per group: the rate that it was saved with
    turned = Field(_numbers)  # and after the schedule's first turn


class RatesApart(Kind):
    """A schedule goes on, loaded or put there by the program, and its optimizer stepped at the rates that it begins
    with."""

    __slots__ = ()
    of = "rates_apart"
    scheduler = Field(_count)
    optimizer = Field(_key)
    turn = Field(_count)  # at which the schedule goes on
    kept = Field(_numbers)  # per group: the rate that was saved
    stepped = Field(_numbers)  # and that of the first step


class NoIsTrue(Kind):
    """`argparse` has made True of a word of the command line that says no."""

    __slots__ = ()
    of = "no_is_true"
    option = Field(_text)  # "--first-order"
    text = Field(_text)  # "False"


class OptimizerLoaded(Kind):
    """An optimizer was given a state."""

    __slots__ = ()
    of = "optimizer_loaded"
    optimizer = Field(_key)
    rates = Field(_numbers)  # of its groups since then
    first = Field(_numbers)  # those that a schedule had begun with, as they stand in the state


class WrappedLoad(Kind):
    """A state was loaded into a model that `DistributedDataParallel` has wrapped, or a part of one."""

    __slots__ = ()
    of = "wrapped_load"
    wrapper = Field(_key)


class LoadLost(Kind):
    """An optimizer was given a state and never stepped; a new one like it took its place and began from nothing."""

    __slots__ = ()
    of = "load_lost"
    optimizer = Field(_key)  # the new one


class StateLeft(Kind):
    """A training went on with the model of a checkpoint, and left the state of its optimizer in it."""

    __slots__ = ()
    of = "state_left"
    optimizer = Field(_key)  # that began with an empty state
    key = Field(_text)  # of the state in the checkpoint
    steps = Field(_count)  # that this state had made
    saved = Field(_number)  # its learning rate
    rate = Field(_number)  # that of the first step after the load
    schedules = Field(_texts)  # keys of states of schedules
    counts = Field(_texts)  # keys of whole numbers
    load = Field(_id)  # site: where the model's part was given to a model


class ScalerAnew(Kind):
    """An optimizer was given a state here, and the gradient scaler that steps it began with its first scale."""

    __slots__ = ()
    of = "scaler_anew"
    optimizer = Field(_key)
    step = Field(_id)  # site: of the scaler's first step
    first = Field(_number)  # its scale then
    last = Field(_number)  # after the last of its updates that was looked at
    updates = Field(_count)  # that were looked at
    lowered = Field(_count)  # of these: lowered the scale, where a step had been left out
    before = Field(_number)  # what another scaler of the run had come to before; None where there was none


class InnerReplaced(Kind):
    """An optimizer's state was loaded, and with it another optimizer that is kept there: it holds none of the tensors
    that this one has."""

    __slots__ = ()
    of = "inner_replaced"
    optimizer = Field(_key)
    cls = Field(_text)  # of the one that came with the state


class Rates(Kind):
    """The rates that a learning-rate schedule went through."""

    __slots__ = ()
    of = "rates"
    scheduler = Field(_count)
    optimizer = Field(_key)
    turns = Field(_count)  # how often the program stepped it
    high = Field(_number)
    last = Field(_number)
    fell = Field(_count)  # the turn from which on the rate was below a thousandth of the highest
    moved = Field(_count)  # the last turn that changed the rates
    own = Field(_number)  # how many times as large its own turns have made the rate
    settings = Field(_table)
    raised = Field(_count)  # turns that made the rate at least twice as large
    passes = Field(_count)  # over data loaders, in each of which it made several turns
    began = Field(_count)  # the first turn that changed the rates
    low = Field(_number)  # the smallest rate that a turn came to
    lowest = Field(_count)  # the first turn that came to it
    waves = Field(_count)  # times that it came up to half of the highest from below a tenth of it


class Rested(Kind):
    """Calls without gradients that sampling has slept through, as they came again and again."""

    __slots__ = ()
    of = "rested"
    calls = Field(_count)  # of modules by the program, of all places


class RateFalls(Kind):
    """An optimizer's learning rate was rising, step by step, and fell to next to nothing from one step to the next."""

    __slots__ = ()
    of = "rate_falls"
    optimizer = Field(_key)
    tops = Field(_numbers)  # the rates that it fell from
    low = Field(_number)  # the one that it fell to, last
    highest = Field(_number)  # of all steps that were looked at


class RatesStood(Kind):
    """All groups of an optimizer, or some of them, stepped at one rate from first to last."""

    __slots__ = ()
    of = "rates_stood"
    optimizer = Field(_key)
    rates = Field(_numbers)  # of each group, at the first step
    moved = Field(_ids)  # groups, from 0, that came to step at another one
    steps = Field(_count)


class Plateau(Kind):
    """The numbers that a schedule was given which waits for them to improve."""

    __slots__ = ()
    of = "plateau"
    scheduler = Field(_count)
    optimizer = Field(_key)
    mode = Field(_text)  # "min": it waits for smaller ones; "max"
    given = Field(_numbers)
    cuts = Field(_ids)  # the turns, from 1, that made the rate smaller
    losses = Field(_count)  # of these that were a loss, or the mean of those computed since the one before


class Scaler(Kind):
    """A call of an enabled gradient scaler."""

    __slots__ = ()
    of = "scaler"
    call = Field(_text)  # "scale", "unscale_", "step", "update", "backward"
    scaler = Field(_key)
    optimizer = Field(_key)
    error = Field(_text)
    scale = Field(_number)
    scaled = Field(_maybe_flag)


# -- modules and modes ---------------------------------------------------------------


class Called(Kind):
    """A module call."""

    __slots__ = ()
    module = Field(_key)
    inputs = Field(_ids)
    outputs = Field(_ids)

    @property
    def called(self) -> int:
        """The module called: its root, or a part of it."""
        return int(self.data.get("called", self.module))


class ModuleCall(Called):
    """An outermost module call."""

    __slots__ = ()
    of = "call"
    training = Field(_flag)
    grad = Field(_flag)  # gradients were recorded
    train_layers = Field(_ids)
    eval_layers = Field(_ids)
    frozen_eval = Field(_ids)
    stats = Field(_records)
    builds_graph = Field(_flag)  # an output requires grad
    graph_nodes = Field(_count)  # what the graph of a line's first call in eval mode holds
    graph_bytes = Field(_count)
    losses = Field(_texts)  # in training mode without gradients: keys of single numbers, given by this mode


class InnerCall(Called):
    """A call of a module within that of another one, which it is no part of, with a result that requires grad."""

    __slots__ = ()
    of = "inner_call"


class CallTime(Kind):
    """How long the calls of one line took."""

    __slots__ = ()
    of = "call_time"
    calls = Field(_count)
    seconds = Field(_number)


class Mode(Kind):
    """train() or eval() of a module."""

    __slots__ = ()
    of = "mode"
    module = Field(_key)
    training = Field(_flag)
    call = Field(_text)


class RequiresGrad(Kind):
    """requires_grad was set on a tensor."""

    __slots__ = ()
    of = "requires_grad"
    value = Field(_count)
    parameter = Field(_id)
    leaf = Field(_id)
    to = Field(_flag)

    @property
    def leaves(self) -> list[int]:
        """The leaf that it was set on, as of `Flipped`."""
        return [self.leaf] if self.leaf is not None else []


class Flipped(Kind):
    """requires_grad of parameters was found set when sampling woke."""

    __slots__ = ()
    of = "flipped"
    leaves = Field(_ids)
    to = Field(_flag)


class Dropout(Kind):
    """Dropout as a function that is active in evaluation mode."""

    __slots__ = ()
    of = "dropout"
    module = Field(_key)
    op = Field(_text)
    p = Field(_number)
    zeroed = Field(_number)
    moved = Field(_number)


class DropoutOff(Kind):
    """Dropout as a function that is not active any more in training since the first evaluation."""

    __slots__ = ()
    of = "dropout_off"
    module = Field(_key)
    op = Field(_text)
    p = Field(_number)  # before
    names = Field(_texts)  # attributes of the module that held it, and hold 0 now
    trained = Field(_count)  # calls in training mode before, that were looked at
    off = Field(_count)  # and since then


class AllDropped(Kind):
    """Dropout had the rate 1 in every call in training."""

    __slots__ = ()
    of = "all_dropped"
    module = Field(_key)
    op = Field(_text)
    calls = Field(_count)  # in training, with gradients
    with_graph = Field(_count)  # of those, whose input has a graph
    through = Field(_count)  # calls in evaluation, which let everything through


class DrawnMask(Kind):
    """A place that draws numbers evenly did so in evaluations of its module as in its training."""

    __slots__ = ()
    of = "drawn_mask"
    name = Field(_text)  # of the call
    module = Field(_text)  # the class of the module
    trained = Field(_count)  # calls in training mode, with gradients on
    evaluated = Field(_count)  # in evaluation mode, with gradients off
    whole = Field(_count)  # of these, those of which a mask was made that is the same everywhere


class Still(Kind):
    """Parameters without an optimizer that have the same numbers at the end as in the first steps."""

    __slots__ = ()
    of = "still"
    parameters = Field(_ids)


class Drift(Kind):
    """Running statistics moved in a layer whose parameters are frozen."""

    __slots__ = ()
    of = "drift"
    module = Field(_key)
    called = Field(_key)
    name = Field(_text)
    before = Field(_anything)
    after = Field(_anything)
    alike = Field(_ids)  # of the first of a model: its frozen layers that were called in training mode


class RunningStats(Kind):
    __slots__ = ()
    of = "running_stats"
    module = Field(_key)
    root = Field(_key)
    first = Field(_table)
    last = Field(_table)


class Spectral(Kind):
    __slots__ = ()
    of = "spectral"
    module = Field(_key)
    called = Field(_key)
    name = Field(_text)
    norm = Field(_number)
    vector = Field(_known)  # the length of the estimate's vector


class DirectForward(Kind):
    """`forward` was called past `__call__`, and hooks did not run."""

    __slots__ = ()
    of = "direct_forward"
    module = Field(_key)
    hooks = Field(_texts)


class Unregistered(Kind):
    """A module holds trained tensors that it does not own."""

    __slots__ = ()
    of = "unregistered"
    module = Field(_key)
    name = Field(_text)
    holder = Field(_text, "kind")
    parameters = Field(_ids)
    texts = Field(_flag)  # all keys of a dict are


class ReplacedParameter(Kind):
    """A module has another parameter now in the place of one that it had when it was met."""

    __slots__ = ()
    of = "replaced_parameter"
    before = Field(_key)
    parameter = Field(_key)


class RepeatedPart(Kind):
    """A list or dict of layers holds one layer in several places, or a module holds shallow copies of one."""

    __slots__ = ()
    of = "repeated_part"
    module = Field(_key)  # that holds them
    cls = Field(_text)  # of what is in these places
    names = Field(_texts)  # of the places
    parameters = Field(_ids)
    one = Field(_flag)  # one object, not copies that share their parameters
    made = Field(_id)  # site of the `copy.copy` that made one of these


class Misnamed(Kind):
    """An attribute named like `requires_grad` is False and does nothing."""

    __slots__ = ()
    of = "misnamed"
    holder = Field(_text)
    id = Field(_key)
    name = Field(_text)
    parameters = Field(_ids)


# -- memory ------------------------------------------------------------------------


class GradRead(Kind):
    """`.grad` of a tensor that is no parameter was read."""

    __slots__ = ()
    of = "grad_read"
    value = Field(_count)
    is_leaf = Field(_flag)
    retains_grad = Field(_flag)
    was_none = Field(_flag)


class DataRead(Kind):
    """`.data` was read."""

    __slots__ = ()
    of = "data_read"
    value = Field(_count)
    alias = Field(_count)
    parameter = Field(_id)
    requires_grad = Field(_flag)
    live = Field(_flag)


class HiddenWrite(Kind):
    """An in-place write that the version counter does not see."""

    __slots__ = ()
    of = "hidden_write"
    value = Field(_count)
    through = Field(_text)
    op = Field(_id)
    proof = Field(_flag)


class Corrupted(Kind):
    """At a backward, saved memory held other values than were saved."""

    __slots__ = ()
    of = "corrupted"
    write = Field(_id)
    through = Field(_text)
    saved_by = Field(_id)
    saved_site = Field(_id)
    value = Field(_id)
    node_name = Field(_text)
    backward = Field(_id)
    saved = Field(_anything)
    read = Field(_anything)
    wrong = Field(_table)
    right = Field(_table)


class Tied(Kind):
    """A parameter was made to share another's memory."""

    __slots__ = ()
    of = "tied"
    parameters = Field(_ids)
    how = Field(_text)
    again = Field(_flag)


class StateLoaded(Kind):
    """A module loaded a state whose tensors are its own."""

    __slots__ = ()
    of = "state_loaded"
    parameters = Field(_ids)
    made = Field(
        _id
    )  # site of the `state_dict()` that made the state, or the tensors that another dict holds
    moved = Field(_flag)  # its tensors were written to since
    passed = Field(_flag)  # a backward pass has run since it was made


class StateWrittenOver(Kind):
    """`state_dict()` was given a dict of other tensors of these names, and put the module's own in their place."""

    __slots__ = ()
    of = "state_written_over"
    parameters = Field(_ids)


class StateSaved(Kind):
    """A state that was kept in the course of the training was saved after more of it."""

    __slots__ = ()
    of = "state_saved"
    made = Field(_id)  # site of the `state_dict()` that made the state
    moved = Field(_count)  # tensors of it that were written to since
    steps = Field(_count)  # since it was made


class StateApart(Kind):
    """A state was saved while its module held other tensors, which nobody read before it was given its own back."""

    __slots__ = ()
    of = "state_apart"
    parameters = Field(_ids)
    made = Field(_id)  # site of the `state_dict()` that made the state
    given = Field(_id)  # site of the last `.data = …` that put the others in
    itself = Field(_flag)  # the state is what was saved, not a part of it
    key = Field(_text)  # of the dict that was saved, whose value it is; or ""


class KeepsGraph(Kind):
    """A tensor that grew over segments carried its graph along."""

    __slots__ = ()
    of = "keeps_graph"
    kept_at = Field(_id, "site")
    length = Field(_count)
    nodes = Field(_count)
    bytes = Field(_count)
    first = Field(_ids)
    how = Field(_text)
    numbers = Field(_unless_false)  # of one element each
    unused = Field(_count)  # steps that they are of, where no pass goes through them
    step = Field(_id)


# -- hooks, Functions, errors ----------------------------------------------------------


class GradientHook(Kind):
    """What a hook did with the gradients it was given."""

    __slots__ = ()
    of = "gradient_hook"
    hook = Field(_key)
    name = Field(_text)
    module = Field(_flag)
    edited = Field(_flag)
    returned = Field(_maybe_flag)


class UnheardHook(Kind):
    """A module's gradient hook that never ran."""

    __slots__ = ()
    of = "unheard_hook"
    hook = Field(_key)
    name = Field(_text)
    module = Field(_key)
    called = Field(_key)  # site of the first call that gave nothing with a gradient
    grad = Field(_flag)  # gradients were on
    passes = Field(_count)  # backward passes after that call


class PiledHook(Kind):
    """A hook that was put on the same module or tensor again while those of before stood there."""

    __slots__ = ()
    of = "piled_hook"
    hook = Field(_key)
    name = Field(_text)
    module = Field(_id)
    cls = Field(_text)
    parameter = Field(_id)
    most = Field(_count)


class DroppedGradient(Kind):
    """The backward of the user's own Function returned nothing where a gradient is needed."""

    __slots__ = ()
    of = "dropped_gradient"
    function = Field(_text)
    line = Field(_key)
    calls = Field(_count)
    tensors = Field(_ids)
    none = Field(_ids)
    zero = Field(_ids)
    hidden = Field(_anything)
    ignored = Field(_count)  # calls whose results were made without the gradient that arrived
    alone = Field(_ids)  # positions of the arguments whose result was, beside others that were not
    alike = Field(_flag)  # one result, of that gradient's form
    lacks = Field(_ids)  # the axes of that result which that gradient had not


class PassedOn(Kind):
    """A Function of the user's gave its one tensor back, and the gradient that came times one number."""

    __slots__ = ()
    of = "passed_on"
    function = Field(_text)
    line = Field(_key)
    factors = Field(_numbers)  # of the calls that were followed


class SpreadWritten(Kind):
    """The backward of a user's own Function wrote to a gradient of which several places are one number in memory."""

    __slots__ = ()
    of = "spread_written"
    function = Field(_text)
    line = Field(_key)
    calls = Field(_count)  # of its backward, of those that were looked at


class Slopes(Kind):
    """How steep the forward of a user's own Function is, and what its backward multiplies the gradient by."""

    __slots__ = ()
    of = "slopes"
    function = Field(_text)
    line = Field(_key)
    argument = Field(_count)  # its position
    pieces = Field(_rows)  # of three numbers each, as `flat`
    flat = Field(_rows)


class BoxSides(Kind):
    """Of rows of four numbers this line took the first from the third, or the second from the fourth, and some of these
    differences were below 0."""

    __slots__ = ()
    of = "box_sides"
    name = Field(_text)  # of the call
    below = Field(_count)  # differences
    sides = Field(_count)  # all of them
    boxes = Field(_count)  # rows
    centres = Field(_count)  # that can be a centre and a size, with no corner below 0
    calls = Field(_count)  # that were looked at


class WrittenAgain(Kind):
    """A line writes to what a mask picks of tensors of whole numbers, and to some elements more than once."""

    __slots__ = ()
    of = "written_again"
    writes = Field(_count)
    tensors = Field(_count)
    again = Field(_count)  # elements that had been written to before, by this line
    first = Field(_count)  # those that had not


class Flatness(Kind):
    """A call that may be flat, looked at once gradients had been exactly zero."""

    __slots__ = ()
    of = "flatness"
    name = Field(_text)  # of the call
    slope = Field(_known)  # the largest of any element, in the call where that was the smallest
    calls = Field(_count)  # that were looked at
    step = Field(_count)  # of the last of them


class NeverWritten(Kind):
    """A parameter got a gradient, and nothing had written to it since it was made."""

    __slots__ = ()
    of = "never_written"
    parameter = Field(_id)
    empty = Field(_flag)  # it was made of what `torch.empty` or the like gave
    elements = Field(_count)


class LateMask(Kind):
    """A mask over the places of a loss begins one place after what it is to let through, and ends one after it."""

    __slots__ = ()
    of = "late_mask"
    loss = Field(_key)  # its site, or that where the labels are filled
    padding = Field(_count)  # the label of the last place that is let through, in all rows
    end = Field(_count)  # that of the place before it
    calls = Field(_count)  # that were looked at
    rows = Field(_count)  # of them
    kept = Field(_count)  # places that are let through


class AllConstants(Kind):
    """A write at a mask's places after which no element of a tensor with a graph was left that is no constant."""

    __slots__ = ()
    of = "all_constants"
    writes = Field(_sizes)  # in the first call, this one and those before it: (site, elements)
    elements = Field(_count)  # of the tensor
    calls = Field(_count)  # that were looked at


class OneHot(Kind):
    """How often each label was made one-hot."""

    __slots__ = ()
    of = "one_hot"
    counts = Field(_ids)  # label → how often, in the calls that were looked at


class BoundedErrors(Kind):
    """Beyond a number that elements were compared with, the gradient is constant; as far on the other side of 0 it is
    not."""

    __slots__ = ()
    of = "bounded_errors"
    name = Field(_text)  # of the comparison
    bound = Field(_known)
    beyond = Field(_count)  # elements
    across = Field(_count)
    grows = Field(_flag)
    largest = Field(_known)
    even = Field(_known)
    most = Field(_known)


class ZeroOnes(Kind):
    """A value with a graph was multiplied by a mask of zeros and ones, or set to zero by one of True and False."""

    __slots__ = ()
    of = "zero_ones"
    place = Field(_count)  # which of the arguments it is
    shape = Field(_ids)
    elements = Field(_count)
    zeros = Field(_count)  # places that become zero
    sequences = Field(_flag)  # each row is ones up to some place and zeros behind it
    columns = Field(_flag)  # each column is, and not each row: time comes first
    turned = Field(_flag)  # the mask is True where zeros are set


class UnmaskedSum(Kind):
    """A sum over all places of sequences was divided by the number of those that a mask counts."""

    __slots__ = ()
    of = "unmasked_sum"
    total = Field(_id, "sum")  # site of the sum
    counted = Field(_id, "count")  # site of the sum of the mask
    calls = Field(_count)  # of the division, that were looked at
    elements = Field(_count)  # of the masks in all of them
    left_out = Field(_count)  # of these, where the mask is false
    other = Field(_count)  # of those, where what is summed is not zero
    share = Field(_known)  # what stands there of all that is summed, without its signs


class AddedMask(Kind):
    """A mask of zeros and ones was added to a value with a graph, or given to attention, which adds it."""

    __slots__ = ()
    of = "added_mask"
    place = Field(_count)  # which of both addends; of attention 0 for `attn_mask`, 1 for `key_padding_mask`
    shape = Field(_ids)
    elements = Field(_count)
    zeros = Field(_count)
    begins = Field(_key)  # 0 or 1 where each row of it begins with that, else -1
    whole = Field(_flag)  # a row may have nothing else than the other number


class Hinge(Kind):
    """A ReLU, a `clamp` with the bound 0, or a maximum with zeros, that never cut anything off."""

    __slots__ = ()
    of = "hinge"
    name = Field(_text)  # of the call
    calls = Field(_count)  # that were looked at
    low = Field(_known)  # of what it was given
    high = Field(_known)


class AtTheLimit(Kind):
    """`binary_cross_entropy` was given probabilities of exactly 0 or 1 where the target is something else."""

    __slots__ = ()
    of = "at_the_limit"
    calls = Field(_count)  # that were looked at and showed it
    since = Field(_count)  # the first of them, as the calls of the line are counted
    elements = Field(_count)  # in the last of them
    cut = Field(_count)  # of these, whose loss is at its limit
    zeros = Field(_count)  # of these, that are 0
    still = Field(_flag)  # the last call that was looked at showed it, too


class RatioOfOne(Kind):
    """A ratio that is clipped around 1 was 1 in all calls of its line, also for advantages of an earlier step."""

    __slots__ = ()
    of = "ratio_of_one"
    calls = Field(_count)  # that were looked at
    again = Field(_count)  # of them, whose advantages had come before an earlier step


class SharesOfOne(Kind):
    """Numbers were divided by numbers of the same shape, and all results were 1 in all calls of the line."""

    __slots__ = ()
    of = "shares_of_one"
    calls = Field(_count)  # that were looked at
    shares = Field(_count)  # results of the first


class NoDifference(Kind):
    """Of numbers that are trained as many others were taken that are not, by the program or within a loss that compares
    both, and each difference was exactly zero in all calls of the line that were looked at (of `kl_div` zero but for
    rounding)."""

    __slots__ = ()
    of = "no_difference"
    calls = Field(_count)
    steps = Field(_count)  # of optimizers between the first and the last of them


class NoiseWeighed(Kind):
    """Data and standard normal noise were mixed at this line, `a * x + b * noise`, and in all calls that were looked at
    `a ** 2 + b` was 1 (`of` is "noise"), or `a + b ** 2` ("data"), while `a ** 2 + b ** 2` was not. Or both were equal
    ("alike"), with other numbers from call to call, and the squares added up to 1 in another mixture of the run."""

    __slots__ = ()
    of = "noise_weighed"
    root = Field(_text, "of")  # what is weighed by the square of what it should be
    calls = Field(_count)
    factors = Field(_numbers)  # `a` and `b` where their squares are farthest from 1
    places = Field(_numbers)  # of `a` in its product, of `b` in its own, of the noise in the sum: 0 or 1


class RowSpread(Kind):
    """Two results with a graph were compared at this line, or normalised for that, row by row."""

    __slots__ = ()
    of = "row_spread"
    name = Field(_text)  # of the call
    first = Field(_known)  # share of the rows' squares that differs from row to row, in the first call
    last = Field(_known)  # in the last call that was looked at
    rows = Field(_count)
    calls = Field(_count)  # that were looked at


class ComparedLengths(Kind):
    """Positions were compared with one length for each sample at this line, and in all its calls that were looked at
    the longest went beyond them."""

    __slots__ = ()
    of = "compared_lengths"
    calls = Field(_count)
    pairs = Field(_sizes)  # how many positions there were, and the longest length; each pair once
    elements = Field(_count)  # of the results, in all of them
    alike = Field(
        _count
    )  # of these: in each call those that are True, or those that are False, if that is more
    varied = Field(_flag)  # the lengths of a call differed


class AlikePlaces(Kind):
    """Attention at this line was asked the same at all places of a sequence, in all its calls with gradients on that
    were looked at."""

    __slots__ = ()
    of = "alike_places"
    calls = Field(_count)  # that were looked at
    lengths = Field(_ids)  # of the sequences
    apart = Field(_known)  # the largest difference between two places
    most = Field(_known)  # the largest number of what it was asked
    losses = Field(_ids)  # sites that compare with a target which differs along an axis of such a length


class PickedTwice(Kind):
    """Integers of zeros and ones, or all below the number of columns, as many as there are rows, were the index of this
    line in all its calls."""

    __slots__ = ()
    of = "picked_twice"
    place = Field(_count)  # of the index among the entries
    calls = Field(_count)  # that were looked at
    length = Field(_count)  # of the axis that is indexed, in the first of them
    entries = Field(_count)  # of the index, in all of them
    ones = Field(_count)  # of these
    highest = Field(_count)
    columns = Field(_count)  # of the matrix whose rows are picked; 0 of another tensor
    varied = Field(_flag)  # not all calls had as many


class OneLess(Kind):
    """1 less a value with a gradient came below 0."""

    __slots__ = ()
    of = "one_less"
    calls = Field(_count)  # that were looked at
    below = Field(_count)  # of them, with a result below 0
    lowest = Field(_known)


class BeyondOne(Kind):
    """Numbers with a gradient, from 0 to 1, were multiplied by as many from 0 to more than 1."""

    __slots__ = ()
    of = "beyond_one"
    high = Field(_known)
    share = Field(_known)  # of the others, above 1
    two = Field(_flag)  # they were 0 and `high`, nothing else


class NoShares(Kind):
    """Numbers with a gradient, not all from 0 to 1, were multiplied by as many that are."""

    __slots__ = ()
    of = "no_shares"
    low = Field(_known)
    high = Field(_known)


class Bits(Kind):
    """Whole numbers larger than 1 were brought together bit by bit, by `&` or `|`."""

    __slots__ = ()
    of = "bits"
    calls = Field(_count)  # that were looked at
    elements = Field(_count)  # of either side, in all of them
    low = Field(_known)  # the smallest number of both; 0 where none is below
    left = Field(_count)  # the largest number of either side
    right = Field(_count)
    apart = Field(_count)  # places where the sides differ
    common = Field(_count)  # of these, where they have bits in common


class PickedColumns(Kind):
    """Columns were picked by as many numbers as there are rows, in all calls of the line."""

    __slots__ = ()
    of = "picked_columns"
    shape = Field(_ids)  # of what is picked from, in the first call
    calls = Field(_count)  # that were looked at
    changed = Field(_count)  # of them, in which the numbers were other ones than before


class ReplacedTable(Kind):
    """This line took more entries out of a tensor than it has, and in its next calls out of what it had given itself in
    the call before."""

    __slots__ = ()
    of = "replaced_table"
    taken = Field(_count)  # entries along the first axis, in the first call
    made = Field(_count)  # those of the result
    calls = Field(_count)  # that took out of the result of the call before


class SameMemory(Kind):
    """What this line subtracts or compares was in all its calls the same memory on both sides."""

    __slots__ = ()
    of = "same_memory"
    name = Field(_text)  # of the call
    calls = Field(_count)


class Twins(Kind):
    """The two sides of a distance or a subtraction were the same numbers in all calls of its line."""

    __slots__ = ()
    of = "twins"
    name = Field(_text)  # of the call
    calls = Field(_count)  # that were looked at
    rows = Field(_count)  # in all of them


class KeptPlaces(Kind):
    """Whenever looked at, a mask over a loss let only places with one and the same target through, which are the ends
    of sequences."""

    __slots__ = ()
    of = "kept_places"
    name = Field(_text)  # of the call that masks
    loss = Field(_key)  # site of the call that compares with the targets
    calls = Field(_count)
    target = Field(_known)
    kept = Field(_count)  # places, in all these calls
    left_out = Field(_count)
    others = Field(_count)  # of those left out, with another target
    place = Field(_count)  # of the mask among the arguments
    boolean = Field(_flag)


class Factor(Kind):
    """The Python number that a single number with a graph, a term of a loss perhaps, was multiplied by."""

    __slots__ = ()
    of = "factor"
    number = Field(_known)


class WeighedTwice(Kind):
    """What was multiplied by a Python number, at the event's site, had been multiplied by that object before."""

    __slots__ = ()
    of = "weighed_twice"
    first = Field(_id)  # the site where it was multiplied first
    number = Field(_known)
    calls = Field(_count)  # looked at, in which it was so


class ScaledWeights(Kind):
    """The Python number that what a softmax gave was multiplied by, or by whose inverse."""

    __slots__ = ()
    of = "scaled_weights"
    factor = Field(_known)


class ScaledScores(Kind):
    """The Python number that products of two matrices, or what may be one side of them, were multiplied by, or by whose
    inverse."""

    __slots__ = ()
    of = "scaled_scores"
    factor = Field(_known)
    width = Field(_count)  # numbers that each product is a sum of; 0: it was no product


class SameEntries(Kind):
    """A list that grew holds one list, or tensor, at all of its places, and the contents of that changed meanwhile."""

    __slots__ = ()
    of = "same_entries"
    container = Field(_text)  # the name or attribute that it has; "" where none was found
    entry = Field(_text)
    what = Field(_text)  # "list" or "tensor"
    before = Field(_count)  # its places when first looked at
    entries = Field(_count)  # and when last
    parts = Field(_count)  # that were put together by the last call
    different = Field(_count)  # tensors among them


class CheckpointCut(Kind):
    """A reentrant checkpoint was given nothing that requires a gradient."""

    __slots__ = ()
    of = "checkpoint_cut"
    parameters = Field(_ids)
    outputs = Field(_ids)


class NonFinite(Kind):
    """Where numbers that are not finite began."""

    __slots__ = ()
    of = "non_finite"
    where = Field(_text)
    name = Field(_text)
    made = Field(_text)
    origin = Field(_id)
    op = Field(_id)
    values = Field(_ids)
    parameters = Field(_ids)
    inputs = Field(_records)
    loss = Field(_anything)
    too = Field(_ids)  # sites of other calls that gave such numbers
    grown = Field(
        _records
    )  # the first exponential before it that gave very large numbers: {site, name, largest}


class LabelsIgnored(Kind):
    """Passes of one place that began with a cross entropy of which every label was the one that it ignores."""

    __slots__ = ()
    of = "labels_ignored"
    passes = Field(_count)


class ErrorRaised(Rooted):
    """An exception left a torch call."""

    __slots__ = ()
    of = "error"
    type = Field(_text)
    text = Field(_text)
    where = Field(_text)
    op = Field(_text)
    region = Field(_id)
    module = Field(_key)  # that the failing op ran in; -1 outside of all
    node_name = Field(_text)
    saved_by = Field(_id)
    saved_graph = Field(_id)
    saved_site = Field(_id)
    writes = Field(_records)
    spoilt = Field(_records)  # each call that saved what was written: {site, op, as}
    spoilt_too = Field(_records)  # each that saved what was written elsewhere: {site, op, as, write}
    freed_by = Field(_id)
    held = Field(_records)  # inputs that a module keeps in a plain attribute


class Crashed(Kind):
    """The exception that ended the run."""

    __slots__ = ()
    of = "crash"
    type = Field(_text)
    text = Field(_text)
    told = Field(_flag)
    tensors = Field(_records)
    forward = Field(_lines)


# -- surroundings ------------------------------------------------------------------------


class Targets(Kind):
    """The targets of a loss at its first call from a place."""

    __slots__ = ()
    of = "targets"
    name = Field(_text)  # of the loss
    low = Field(_known)
    high = Field(_known)
    below_minus_one = Field(_known)
    below_zero = Field(_known)
    above_one = Field(_known)
    below_half = Field(_known)
    above_half = Field(_known)
    between = Field(
        _number
    )  # of a binary cross entropy without weights, of `cross_entropy`, of labels of 1 and -1
    floor = Field(_number)  # of a binary cross entropy without weights
    elements = Field(_number)  # of the targets of a binary cross entropy
    first = Field(_number)  # its result at that call, summed up where there is one for each element
    total = Field(_number)  # of `kl_div`: the sum of its target's probabilities
    least = Field(_number)  # of these and of `binary_cross_entropy`: the lowest sum over the classes
    most = Field(_number)  # the highest
    columns = Field(_numbers)  # of `cross_entropy`: the least and the most of those down the first axis
    last = Field(_numbers)  # of `cross_entropy`, of three axes or more: of those along the last one


class Labels(Kind):
    """What a classification loss was given as its targets, at one place."""

    __slots__ = ()
    of = "labels"
    name = Field(_text)  # of the loss
    classes = Field(_count)  # that it tells apart
    trained = Field(_flag)  # with gradients on
    ignored = Field(_key)  # the class that the loss leaves out, as its `ignore_index` says
    samples = Field(_table)  # class → how many
    alone = Field(_ids)  # of each call the one class of all its samples, -1 where there were several
    begun = Field(_rows)  # (call before which a loop over a loader began, site that made it, of the loop)
    weights = Field(_numbers)  # of the classes
    answers = Field(_rows)  # (class, the one with the highest score, how many) of the last calls


class AnswersCompared(Kind):
    """What an evaluation compares the classes that a network answers with, without a loss."""

    __slots__ = ()
    of = "answers_compared"
    classes = Field(_count)  # that the network tells apart
    answers = Field(_rows)  # (class, the one with the highest score, how many) of the last calls


class Units(Kind):
    """What a loss of numbers, or a difference of two, compares, at the last call of one place that was looked at. Of a
    difference with gradients off the answers are what it begins with."""

    __slots__ = ()
    of = "units"
    name = Field(_text)  # of the loss, or of the subtraction
    trained = Field(_flag)  # the answers need a gradient
    numbers = Field(_count)
    target_mean = Field(_known)
    target_spread = Field(_known)  # standard deviation
    answer_mean = Field(_known)
    answer_spread = Field(_known)
    correlation = Field(_known)  # of both, -1 to 1


class ConstantAnswer(Kind):
    """How a loss compares with what the best constant answer would have had, at one place."""

    __slots__ = ()
    of = "constant_answer"
    name = Field(_text)  # of the loss
    best = Field(
        _known
    )  # the mean loss of that answer; where all targets are one class, of one that prefers none
    mean = Field(_known)  # of the targets; for classes, of how many there were of each
    answered = Field(_known)  # the mean of the last answers that were looked at
    spread = Field(_known)  # how far the targets differ from sample to sample; 0 for one class alone
    differ = Field(_numbers)  # how far the answers of the last calls that were looked at did
    apart = Field(_known)  # the share of the targets' variance that lies between the calls
    first = Field(_number)  # of a loss by hand: what this would be, were it that loss, at the first call


class Curvatures(Kind):
    """How steep the loss of a small model bends along its updates; one number for each pair of passes in a row that
    was looked at."""

    __slots__ = ()
    of = "curvatures"
    passes = Field(_count)  # that were not slept through
    parameters = Field(_ids)
    at = Field(_numbers)  # the second pass of the pair
    curvatures = Field(_numbers)
    lengths = Field(_numbers)  # of the gradient
    rates = Field(_numbers)  # length of the update, by that of the gradient before it
    cosines = Field(_numbers)  # of the two gradients
    mostly = Field(_ids)  # the parameter that the update changes most


class RawInput(Kind):
    """What a layer was given that nothing trained had made, at its first call from a place."""

    __slots__ = ()
    of = "raw_input"
    name = Field(_text)  # of the call
    parameter = Field(_key)  # its weight
    trains = Field(_flag)  # with gradients on
    low = Field(_known)
    high = Field(_known)
    mean = Field(_known)
    std = Field(_known)
    quartiles = Field(_numbers)  # three
    means = Field(_numbers)  # of each column of a few
    deviations = Field(_numbers)


class Squashed(Kind):
    """How much of what a sigmoid or `tanh` was given lay where its derivative is below a thousandth."""

    __slots__ = ()
    of = "squashed"
    name = Field(_text)  # of the call
    first = Field(_number)  # a share, in the first call
    last = Field(_number)  # and in the last one that was looked at
    calls = Field(_count)  # looked at


class Compared(Kind):
    """What one place compared for equality."""

    __slots__ = ()
    of = "compared"
    left = Field(_ids)  # sizes
    right = Field(_ids)
    calls = Field(_count)
    elements = Field(_count)  # of the results
    equal = Field(_count)  # of them
    apart = Field(_count)  # calls in which the two sides, laid out in a row, differed
    fractions = Field(_numbers)  # of either side, how much was no whole number


class Threshold(Kind):
    """Numbers between 0 and 1 were compared with one number at this line, in all its calls that were looked at."""

    __slots__ = ()
    of = "threshold"
    calls = Field(_count)
    number = Field(_known)  # in the first call
    elements = Field(_count)  # of the results, in all of them
    true = Field(_count)  # of these
    low = Field(_known)
    high = Field(_known)


class PaddedTargets(Kind):
    """How much of a classification loss's targets is padding, at one of its first calls from a place."""

    __slots__ = ()
    of = "padded_targets"
    name = Field(_text)  # of the loss
    index = Field(_count)  # of the class that is padding
    classes = Field(_count)
    share = Field(_known)
    named = Field(_flag)  # by an embedding's `padding_idx`; else its runs in the tokens have shown it
    marked = Field(_flag)  # of those: whether the same token stands before each of them
    alone = Field(_flag)  # the runs were looked for in the targets only, in three calls
    beside = Field(_flag)  # of those: where the tokens of an embedding have its `padding_idx`


class HiddenTargets(Kind):
    """Targets that a loss of classes counts where an attention was told to leave out padding."""

    __slots__ = ()
    of = "hidden_targets"
    name = Field(_text)  # of the loss
    calls = Field(_count)  # in all of which it was so
    mask = Field(_id)  # the site that gave the attention its mask
    index = Field(_count)  # the class of all those targets
    ignored = Field(_id)  # what the loss leaves out
    counted = Field(_count)  # targets that it counts
    hidden = Field(_count)  # of these, how many are at such places


class Flags(Kind):
    """A place that makes tensors of zeros and ones, one for each sample, out of data."""

    __slots__ = ()
    of = "flags"
    calls = Field(_count)  # that were looked at
    share = Field(_known)  # of ones


class Subtracted(Kind):
    """The two sides of a difference of as many numbers without a graph, at the first call of its line."""

    __slots__ = ()
    of = "subtracted"
    numbers = Field(_count)
    means = Field(_numbers)  # of both sides
    spreads = Field(_numbers)  # standard deviations


class StandIn(Kind):
    """A sum that holds a value without its graph, of that value's form, and how both go together."""

    __slots__ = ()
    of = "stand_in"
    calls = Field(_count)  # that were looked at
    least = Field(_known)  # correlation of their elements in one of these calls
    most = Field(_known)


class MaskedRows(Kind):
    """A softmax of scores that a mask has made very low in whole rows, and in no row beside others."""

    __slots__ = ()
    of = "masked_rows"
    calls = Field(_count)  # with masked rows, of those that were looked at
    dim = Field(_count)  # along which the softmax goes
    mixed = Field(_ids)  # axes along which there are rows of both kinds, in each of these calls
    rows = Field(_count)
    masked = Field(_count)  # of these rows


class MovedRows(Kind):
    """A line puts the rows of a tensor, each once, to other places of it, and reads some that are overwritten."""

    __slots__ = ()
    of = "moved_rows"
    tensors = Field(_count)
    rows = Field(_count)  # of all of them
    overwritten = Field(_count)  # of these


class Degrees(Kind):
    """A layer multiplies by a graph with loops that was divided by the degrees without them."""

    __slots__ = ()
    of = "degrees"
    nodes = Field(_count)
    how = Field(
        _text
    )  # "both" sides were divided by their roots, or "rows" by them, or "edges" by those of both ends
    least = Field(_count)  # of the degrees
    most = Field(_count)
    summed = Field(_id)  # site of the sum that gave them, where that was seen


class AddedFlags(Kind):
    """A line adds numbers that are 0 or one other to numbers of all sizes."""

    __slots__ = ()
    of = "added_flags"
    place = Field(_count)  # of the flags, 0 or 1
    number = Field(_known)  # that is not 0
    zeros = Field(_count)  # in all looked-at calls
    elements = Field(_count)
    calls = Field(_count)


class HalfOverflow(Kind):
    """Numbers of float16 became infinite at a line before each looked-at step, whose gradients were all zero."""

    __slots__ = ()
    of = "half_overflow"
    name = Field(_text)  # of the call
    zeroed = Field(_id)  # site of what was multiplied with 0 then
    largest = Field(_known)  # number that it was given
    parameters = Field(_ids)  # of the first of these steps
    calls = Field(_count)  # steps


class HeldByClip(Kind):
    """For how many samples the larger of two errors is one that a clamp holds where it is."""

    __slots__ = ()
    of = "held_by_clip"
    place = Field(_count)  # of the clipped one, 0 or 1
    clamp = Field(_id)  # its site
    bound = Field(_known)
    held = Field(_count)  # elements
    elements = Field(_count)
    calls = Field(_count)


class AddedTerms(Kind):
    """The two single numbers with a graph that a line adds up."""

    __slots__ = ()
    of = "added_terms"
    steps = Field(_count)  # that were made before the last call that was looked at
    first = Field(_numbers)  # both, at the first call
    last = Field(_numbers)


class Ends(Kind):
    """What holds zeros and ones one after the other where a function makes or joins tensors."""

    __slots__ = ()
    of = "ends"
    names = Field(_table)  # name → [places, elements, ones and zeros in all but the first and the last place]


class KeptIterators(Kind):
    """Iterators that a function has a name for, and that were the very same objects whenever it stepped."""

    __slots__ = ()
    of = "kept_iterators"
    names = Field(_texts)  # "stream", "self.stream"


class OwnAnswers(Kind):
    """An embedding looked up the very targets of a classification loss, place by place."""

    __slots__ = ()
    of = "own_answers"
    name = Field(_text)  # of the loss
    embedding = Field(_key)  # site of the lookup
    calls = Field(_count)  # that were compared
    beside = Field(
        _ids
    )  # sites of lookups of as many ids, which were others; of a binary loss those one place later
    right = Field(_known)  # the share of right answers to a binary loss, in the last call that was looked at


class NextAnswers(Kind):
    """The targets of a classification loss were the ids one or two places behind those that an embedding looked up."""

    __slots__ = ()
    of = "next_answers"
    name = Field(_text)  # of the loss
    embedding = Field(_key)  # site of the lookup
    calls = Field(_count)  # that were compared
    axis = Field(_count)  # of the ids, along which they are moved
    by = Field(_count)  # so many places


class BackAtStart(Kind):
    """A model was evaluated with the numbers from before the first step, whenever it was evaluated here."""

    __slots__ = ()
    of = "back_at_start"
    optimizer = Field(_key)
    parameters = Field(_ids)  # that it trains
    evaluations = Field(_count)
    steps = Field(_ids)  # that the optimizer had made at each
    copies = Field(_count)  # models that the optimizer does not train; 0: it is the trained one
    average = Field(_flag)  # it is an `AveragedModel` of torch's, which nothing was added to


class ZeroWeights(Kind):
    """Parameters that held nothing but zeros after some steps."""

    __slots__ = ()
    of = "zero_weights"
    parameters = Field(_ids)
    frozen = Field(_ids)  # that no optimizer holds and that require no gradient


class ZeroAttribute(Kind):
    """A tensor in a plain attribute of a module that held nothing but zeros at every look, and was never written to."""

    __slots__ = ()
    of = "zero_attribute"
    module = Field(_key)
    name = Field(_text)
    looks = Field(_count)


class Moved(Kind):
    """How far the steps of an optimizer have moved its weights; lists of one length, up to `moved`."""

    __slots__ = ()
    of = "moved"
    optimizer = Field(_key)
    steps = Field(_count)
    parameters = Field(_ids)
    begun = Field(_numbers)  # root of the mean square of some elements, before the first step
    now = Field(_numbers)
    moved = Field(_numbers)  # of the difference
    used = Field(_numbers)  # norms of all their gradients together, as some of the first steps found them
    undone = Field(_ids)  # parameters that were where they had begun before each of several steps
    alike_after = Field(_count)  # steps
    alike = Field(_ids)  # parameters whose rows were all the same then


class Revived(Kind):
    """Elements of weights that were exactly zero, with a gradient of zero, were something else after a step, and still
    had a gradient of zero in the next ones. The event's site is that step."""

    __slots__ = ()
    of = "revived"
    optimizer = Field(_key)
    parameters = Field(_ids)
    zeros = Field(_count)  # elements that were zero
    moved = Field(_count)  # of them
    steps = Field(_count)  # that were looked at afterwards


class HeldBack(Kind):
    """Elements of weights whose gradient the program had set to zero, in a hook or between the pass and the step, were
    moved by it all the same, in some steps in a row. The event's site is that step."""

    __slots__ = ()
    of = "held_back"
    optimizer = Field(_key)
    parameters = Field(_ids)
    held = Field(_count)  # elements whose gradient was set to zero, the same ones each time
    moved = Field(_count)  # of them
    shrunk = Field(_count)  # of these, that came nearer to zero
    steps = Field(_count)  # in a row
    hook = Field(_id)  # site: put a hook on one of the weights


class MomentumAnew(Kind):
    """What an optimizer of the program's own keeps for a parameter was a fixed multiple of the gradient after each
    step: it holds nothing of the steps before."""

    __slots__ = ()
    of = "momentum_anew"
    optimizer = Field(_key)
    key = Field(_text)  # of its state
    factor = Field(_known)
    steps = Field(_count)  # after which it was compared


class BoundsLeft(Kind):
    """Parameters are clamped here, behind a pass, and the step that follows takes them out of the bounds."""

    __slots__ = ()
    of = "bounds_left"
    step = Field(_id)  # site
    parameters = Field(_ids)
    rounds = Field(_count)  # that were looked at
    broken = Field(_count)  # of these: with elements outside of the bounds when the next pass began
    elements = Field(_count)  # of all rounds together
    outside = Field(_count)  # of these
    low = Field(_number)  # the bounds; None where there is none
    high = Field(_number)
    least = Field(_number)  # the smallest and the largest element when a pass began
    most = Field(_number)


class Average(Kind):
    """A tensor that is drawn to a trained parameter between steps."""

    __slots__ = ()
    of = "average"
    parameter = Field(_key)
    left = Field(_pairs)  # (step, part of their distance that an update has left)


class LoadOverwritten(Kind):
    """A module's call in training has overwritten loaded parameters before anything had read them, and none of its next
    calls did. The event's site is the write."""

    __slots__ = ()
    of = "load_overwritten"
    parameters = Field(_ids)
    load = Field(_id)  # site of the `load_state_dict`


class NothingLoaded(Kind):
    """None of the keys of a state was one of the module's that it was loaded into, and the module was called later. The
    event's site is the load."""

    __slots__ = ()
    of = "nothing_loaded"
    given = Field(_count)  # keys of the state
    own = Field(_count)  # of the module
    keys = Field(_texts)  # some of the state's
    names = Field(_texts)  # some of the module's
    strip = Field(_text)  # all of the module's are in the state behind this prefix
    add = Field(_text)  # all of the state's are the module's behind this prefix
    within = Field(_text)  # all of the module's are in the state that this key of it holds


class PartlyLoaded(Kind):
    """A state that was loaded with `strict=False` had the keys of some of the module's parameters only. The event's
    site is the load."""

    __slots__ = ()
    of = "partly_loaded"
    given = Field(_ids)  # parameters that it brought
    missing = Field(_ids)  # those that it left as they were


class LoadedSum(Kind):
    """States that were loaded were a sum of the module's own parameters before and of other models. The event's site is
    the load."""

    __slots__ = ()
    of = "loaded_sum"
    sums = Field(_rows)  # (step, factor of its own, factors of the others together, how many others)


class Padding(Kind):
    """The padding that an embedding was given at its first call."""

    __slots__ = ()
    of = "padding"
    parameter = Field(_key)
    share = Field(_known)


class Tails(Kind):
    """The rows that an embedding was given at its first call end with one token, each after another length; or the
    sequences of a recurrent layer with zeros, which stand nowhere else in them."""

    __slots__ = ()
    of = "tails"
    parameter = Field(_key)
    token = Field(_count)
    places = Field(_count)  # of a row
    ends = Field(_known)  # share of the rows that end with it
    mean = Field(_known)  # how many of them a row ends with
    most = Field(_count)


class LaterOnly(Kind):
    """Attention was given a mask that lets each place see only later ones, or these and itself."""

    __slots__ = ()
    of = "mask"
    places = Field(_count)
    name = Field(_text)  # of the call
    boolean = Field(_flag)  # the mask's type
    own = Field(_flag)  # it lets a place see itself, too


class ZeroScores(Kind):
    """A softmax was given scores of exactly 0."""

    __slots__ = ()
    of = "zero_scores"
    name = Field(_text)  # of the call
    share = Field(_known)


class OutOfBounds(Kind):
    """An embedding or a classification loss was given indices outside of its rows or classes, on a GPU."""

    __slots__ = ()
    of = "out_of_bounds"
    name = Field(_text)  # of the call
    low = Field(_count)
    high = Field(_count)
    limit = Field(_count)  # indices go from 0 to this, less 1


class MaskWeight(Kind):
    """A softmax gave weight to places that a mask had set to a finite number."""

    __slots__ = ()
    of = "mask_weight"
    name = Field(_text)  # of the call
    value = Field(_known)  # that number
    share = Field(_known)  # of the weight of rows in which not all is masked
    rows = Field(_count)  # of that kind
    over_half = Field(_count)  # rows in which masked places had more than half
    whole = Field(_count)  # rows in which all is masked
    low = Field(_known)  # bounds of the other scores of these rows
    high = Field(_known)


class WholeMask(Kind):
    """A mask that took out every place, in all calls of this line that were looked at."""

    __slots__ = ()
    of = "whole_mask"
    name = Field(_text)  # of the call
    value = Field(_known)  # that was added at every place; 1 or 0 of a boolean mask
    calls = Field(_count)  # that were looked at


class OpenMask(Kind):
    """A mask that took out no place in all calls of this line that were looked at, beside tokens with padding."""

    __slots__ = ()
    of = "open_mask"
    name = Field(_text)  # of the call
    index = Field(_count)  # the token that is padding
    padded = Field(_count)  # places of it in one batch
    places = Field(_count)  # of that batch
    tokens = Field(_id)  # site of the embedding that was given it
    calls = Field(_count)  # that were looked at


class PaddedAttention(Kind):
    """In all calls of a softmax that were looked at padding got some of the weights, beside tokens with padding."""

    __slots__ = ()
    of = "padded_attention"
    index = Field(_count)  # the token that is padding
    padded = Field(_count)  # places of it in the batches that were looked at
    places = Field(_count)  # of these batches
    weight = Field(_known)  # of the padding, on the average over the rows that have some
    share = Field(_known)  # of the places of these rows that are padding
    tokens = Field(_id)  # site of the embedding that was given them
    calls = Field(_count)  # that were looked at


class InvertedMask(Kind):
    """In all calls of attention that were looked at its mask let nothing take part but padding."""

    __slots__ = ()
    of = "inverted_mask"
    boolean = Field(_flag)
    index = Field(_count)  # the token that is padding
    padded = Field(_count)  # places of it that took part in the batches that were looked at
    places = Field(_count)  # of these batches
    tokens = Field(_id)  # site of the embedding that was given them
    calls = Field(_count)  # that were looked at


class Setting(Kind):
    __slots__ = ()
    of = "setting"
    name = Field(_text)
    to = Field(_anything)


class InputShapes(Kind):
    __slots__ = ()
    of = "input_shapes"
    module = Field(_key)
    shapes = Field(_anything)


class DataParallel(Kind):
    __slots__ = ()
    of = "data_parallel"
    devices = Field(_count)


class Wrapped(Kind):
    """A model was given to `DistributedDataParallel`."""

    __slots__ = ()
    of = "ddp"
    wrapper = Field(_count)
    module = Field(_key)
    inner = Field(_key)
    parameters = Field(_ids)  # whose gradients it averages
    finds_unused = Field(_flag)
    static = Field(_flag)
    ranks = Field(_ids)  # of its process group


class Replicated(Kind):
    """A layer that is split over ranks takes its input for the same on all of them."""

    __slots__ = ()
    of = "replicated"
    number = Field(_count)  # of its prints
    ranks = Field(_ids)


class Unsynced(Kind):
    """A wrapper was called in `no_sync`: the gradients stay on the rank."""

    __slots__ = ()
    of = "unsynced"
    wrapper = Field(_count)


class SummedAgain(Kind):
    """Gradients that were summed over the ranks were summed again in a later pass of the same step."""

    __slots__ = ()
    of = "summed_again"
    parameters = Field(_ids)
    earlier = Field(_id)  # site of the sum before
    steps = Field(_count)


class Unreduced(Kind):
    """At steps of an optimizer, gradients that were not reduced over the ranks yet."""

    __slots__ = ()
    of = "unreduced"
    how = Field(_text)
    call = Field(_id)
    optimizer = Field(_count)
    parameters = Field(_ids)
    times = Field(_count)
    running = Field(_count)


class Sampler(Kind):
    """A `DistributedSampler`, with what became of it."""

    __slots__ = ()
    of = "sampler"
    loop = Field(_id)  # site at which it was gone through last
    times = Field(_count)
    epochs = Field(_count)  # different ones, two at most
    shuffles = Field(_flag)
    parts = Field(_count)  # how many it divides the data into (`num_replicas`); 0 in an older trace
    part = Field(_id)  # the one that it gives; None in an older trace
    seed = Field(_id)


class Loader(Kind):
    """A `DataLoader` is gone through; the event's site made it."""

    __slots__ = ()
    of = "loader"
    loop = Field(_id)  # the site that goes through it
    order = Field(_text)  # of its samples: "drawn" at random, "given" by the dataset, or ""
    drawn = Field(_count)  # samples, where they are a subset that the program chose; else 0
    held = Field(_count)  # samples of its dataset, at least, then
    content = Field(_text)  # its dataset's class and a print of what that holds, where ranks may draw alike
    grad = Field(_flag)  # gradients were on when this loop first went through it


class LoaderLeft(Kind):
    """A `DataLoader` was made here, and nobody went through it."""

    __slots__ = ()
    of = "loader_left"
    asked = Field(_id)  # site: `len(loader)`, the first; None where its batches were not counted


class LoaderCounted(Kind):
    """The batches of a `DataLoader` were counted; the event's site made it."""

    __slots__ = ()
    of = "loader_counted"
    asked = Field(_ids)  # sites: `len(loader)`
    length = Field(_count)  # what the latest one gave


class LoaderPassed(Kind):
    """A `DataLoader` was gone through to its end; the event's site made it."""

    __slots__ = ()
    of = "loader_passed"
    loop = Field(_id)  # the site that goes through it
    passes = Field(_count)  # whole ones
    batches = Field(_count)  # that the latest whole pass gave
    first = Field(_count)  # samples of its first one; 0 where that is not known
    last = Field(_count)  # and of its last one


class SamplesDropped(Kind):
    """A `DataLoader` that takes its samples in order drops those that do not fill its last batch; the event's site
    made it."""

    __slots__ = ()
    of = "samples_dropped"
    loop = Field(_id)  # the site that goes through it
    samples = Field(_count)  # of its dataset
    batch = Field(_count)
    passes = Field(_count)  # that came to the end


class WorkerSeeds(Kind):
    __slots__ = ()
    of = "worker_seeds"
    state = Field(_text)
    workers = Field(_ids)
    loop = Field(_id)
    rounds = Field(_count)  # through the loader that began alike, for each worker; 0: the workers did


class RowsEvaluated(Kind):
    """Loaders of subsets of one dataset, gone through without gradients, each after others of that dataset with
    gradients; the event's site made them."""

    __slots__ = ()
    of = "rows_evaluated"
    loop = Field(_id)  # the site that goes through them
    samples = Field(_ids)  # of each
    before = Field(_ids)  # of these, in a loader with gradients before the latest one, that steps came after
    latest = Field(_ids)  # in the latest loader with gradients


class DatasetShared(Kind):
    """A `DataLoader` of one part of a dataset is gone through without gradients, another one of the same dataset with
    them; the event's site made the former."""

    __slots__ = ()
    of = "dataset_shared"
    loop = Field(_id)  # the site that goes through it
    subset = Field(_id)  # site: made its `Subset`
    place = Field(_count)  # the how manieth there
    trained = Field(_id)  # site: made the loader with gradients
    training = Field(_id)  # site: made the `Subset` of that one
    training_place = Field(_count)
    dataset = Field(_text)  # class
    kept = Field(_texts)  # attributes of the dataset that were the same objects in each pass through either
    passes = Field(_count)  # without gradients, in the dataset's order
    rows = Field(_count)  # of the first batch, compared between these
    differing = Field(_ids)  # of these rows, that a pass had otherwise, for each tensor of the batch
    sizes = Field(_rows)  # of these tensors


class SameSamples(Kind):
    """A dataset that is gone through without gradients holds the samples of another one, with gradients; the event's
    site made the former's loader."""

    __slots__ = ()
    of = "same_samples"
    loop = Field(_id)  # the site that goes through it
    trained = Field(_id)  # site: made the loader with gradients
    training = Field(_id)  # the site that goes through that
    rows = Field(_count)  # of the first batch of that, each of which was found here
    exactly = Field(_flag)  # both have the same settings, too


class StoredSamples(Kind):
    """A dataset changed what it keeps of a sample at each visit, and gave what it had written, or at its first visit
    alone; the event's site made its loader."""

    __slots__ = ()
    of = "stored_samples"
    loop = Field(_id)  # the site that goes through it
    dataset = Field(_text)  # its class
    line = Field(_count)  # where its `__getitem__` begins
    owner = Field(_text)  # the class that keeps the samples: itself, or a dataset in it
    owner_line = Field(_count)
    name = Field(_text)  # the attribute
    array = Field(_flag)  # of numpy's
    samples = Field(_count)  # looked at
    visits = Field(_count)  # to each
    given = Field(_count)  # visits that gave the numbers as they stood then
    first = Field(_number)  # deviation of the numbers before the first visit
    last = Field(_number)  # and behind the latest
    once = Field(_flag)  # no later visit changed them


class ShuffledApart(Kind):
    """A loss that compares what a module made of one loader's batch with a batch of another loader; both draw their
    order by themselves, and asked for other rows. The event's site is the loss."""

    __slots__ = ()
    of = "shuffled_apart"
    inputs = Field(_id)  # site: made the loader whose batch the module was given
    targets = Field(_id)  # site: made the other one
    loop = Field(_id)  # the site that goes through the first
    other = Field(_id)  # the same of the second
    first = Field(_flag)  # the first was begun before the second
    calls = Field(_count)  # calls
    rows = Field(_ids)  # the first that the first loader asked for in a pass
    others = Field(_ids)  # the same of the second


class TargetInWindow(Kind):
    """A loss whose target is, for every sample, the entry at one place of the window that a module was given; the
    windows are stretches of one series. The event's site is the loss."""

    __slots__ = ()
    of = "target_in_window"
    name = Field(_text)  # the loss, or the difference
    calls = Field(_count)  # looked at
    place = Field(_count)  # in the window, from 0
    places = Field(_count)  # that the window has
    shape = Field(_ids)  # of the batch that the module was given, at the first call
    samples = Field(_count)  # compared
    overlaps = Field(_count)  # samples whose end stands in the middle of another one of their batch


class AnswersInPart(Kind):
    """A classification loss whose targets are the last ids that an embedding looked up, with the answers taken from
    their places. The event's site is the loss."""

    __slots__ = ()
    of = "answers_in_part"
    name = Field(_text)  # the loss
    calls = Field(_count)  # looked at
    embedding = Field(_key)  # site of the lookup
    cut = Field(_key)  # site of the slice that takes the answers' places
    first = Field(_count)  # of these places
    places = Field(_count)  # that there are in all
    answers = Field(_count)  # compared


class MixedInPlace(Kind):
    """Ids of which some are put in the place of others, all of which but the first of each row are the targets of a
    loss, one place later. The event's site is where they are mixed."""

    __slots__ = ()
    of = "mixed_in_place"
    loss = Field(_key)  # its site
    calls = Field(_count)  # looked at
    first = Field(_count)  # rows whose first id is another one behind it
    rows = Field(_count)  # looked at


class GivenSteps(Kind):
    """A loop has taken entries of the next loss's target one by one. The event's site is where they were taken."""

    __slots__ = ()
    of = "given_steps"
    loss = Field(_key)  # its site
    axis = Field(_count)  # of the target
    steps = Field(_ids)  # the entries, in the order in which they were taken
    entries = Field(_count)  # that the target has along this axis


class DrawnAlike(Kind):
    """A loader that is trained on, whose sampler asked for the same batches in each whole pass; the event's site made
    the loader."""

    __slots__ = ()
    of = "drawn_alike"
    loop = Field(_id)  # the site that goes through it
    sampler = Field(_text)  # the class whose `__iter__` it has
    own = Field(_flag)  # which is not one of torch's
    line = Field(_count)  # where that `__iter__` begins
    batched = Field(_flag)  # it draws whole batches
    passes = Field(_count)  # that came to their end
    batches = Field(_count)  # of each
    drawn = Field(_count)  # samples of each
    items = Field(_count)  # different ones among them
    samples = Field(_count)  # that the dataset has at least: by the largest number


class FirstBatchAgain(Kind):
    """Of a loader that takes its samples in order a line took the first batch alone, from a new iterator each time,
    and all that were looked at were the same; the event's site made the loader."""

    __slots__ = ()
    of = "first_batch_again"
    loop = Field(_id)  # the site that asks for the iterators
    rounds = Field(_count)
    rows = Field(_ids)  # how many came after each other with no step of an optimizer between, each such time
    stepped = Field(_count)  # rounds with gradients on, and a step before the next
    batches = Field(_count)  # that the loader has
    samples = Field(_count)  # of its dataset
    size = Field(_count)  # samples of a batch
    varies = Field(_flag)  # random numbers were drawn between, or a network ran in training mode


class SameAnswers(Kind):
    """The loss at the event's site was given the very numbers that another loss before the same pass was given, and
    another target, in all calls that were looked at."""

    __slots__ = ()
    of = "same_answers"
    other = Field(_id)  # site of the other loss, which came first
    calls = Field(_count)
    name = Field(_text)


class ReplacedByLoad(Kind):
    """What is evaluated at the event's site is in part what a load had replaced before."""

    __slots__ = ()
    of = "replaced_by_load"
    parameter = Field(_key)  # that was loaded
    copied = Field(_id)  # site of a copy of what it was before, where that was seen
    load = Field(_id)  # site
    left = Field(_known)  # share of the values before the load


class Split(Kind):
    __slots__ = ()
    of = "split"
    content = Field(_text)
    sizes = Field(_ids)
    drawn = Field(_texts)
    used = Field(_ids)


class Lane(Kind):
    __slots__ = ()
    of = "lane"
    lane = Field(_key)
    thread = Field(_text)
    began = Field(_known)
    ended = Field(_known)
    passes = Field(_count)
    steps = Field(_count)
    losses = Field(_numbers)
    apart = Field(_one_unless_told)
    not_finite = Field(_count)


class Unseeded(Kind):
    __slots__ = ()
    of = "unseeded"
    seed = Field(_anything)
