"""DataLoader workers draw the same random numbers.

Why: every worker is a copy of the process. torch gives each one another seed for torch, `random`
and `numpy.random`, but not for a generator that the data set holds itself, and a
`worker_init_fn` that seeds with a constant makes them equal again. Then all workers crop, flip
and sample alike: the data is less varied than it seems. Workers are started anew for each epoch: seeded with their
number alone they repeat in each what they drew in the first.

Fix: make the generator in the worker, from `torch.utils.data.get_worker_info().seed`, or draw from
`torch` or `numpy.random`; seed from `torch.initial_seed()` in `worker_init_fn`, which is another one for each worker
and epoch.

A warning where the epochs are alike. Silent on: workers that draw nothing; generators seeded by the worker; workers
that are spawned, which are not looked at; epochs that are alike where nothing is trained.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.text import runs_in
from gradscope.analysis.words import code, listed, user, variable
from gradscope.events import Backward, WorkerSeeds
from gradscope.fixes.calls import without_argument
from gradscope.fixes.source import Edits
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

SEEDING = ("manual_seed", "manual_seed_all", "seed")


def bad_constant_seed() -> None:
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Noisy(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> torch.Tensor:
            return index + torch.rand(1)

    def seed(worker: int) -> None:
        torch.manual_seed(42)  # effect: GS804

    loader = DataLoader(Noisy(), batch_size=2, num_workers=2, worker_init_fn=seed)  # cause: GS804
    for _ in loader:
        pass


def good_seeded_by_torch() -> None:
    import random

    import torch
    from torch.utils.data import DataLoader, Dataset

    class Noisy(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> torch.Tensor:
            return index + torch.rand(1) + random.random()

    for _ in DataLoader(Noisy(), batch_size=2, num_workers=2):
        pass


@rule("GS804", name="worker-seed-repeated", severity="error", needs=WorkerSeeds)
def worker_seed_repeated(trace: Trace) -> Iterator[Finding]:
    groups: dict[tuple[int, str], list[WorkerSeeds]] = {}
    for event in trace.of(WorkerSeeds):
        groups.setdefault((event.site.id, event.state), []).append(event)
    for (_, state), events in groups.items():
        if not events[0].rounds:
            yield _finding(trace, state, events)
        elif _trains(trace, events[0]):
            yield _in_each_epoch(trace, state, events[0])


def _trains(trace: Trace, event: WorkerSeeds) -> bool:
    """Whether a backward pass runs in the loop over the loader."""
    loop = user(trace.site(event.loop))
    return loop is not None and any(runs_in(trace, one.site, loop) for one in trace.of(Backward))


def _in_each_epoch(trace: Trace, state: str, event: WorkerSeeds) -> Finding:
    site, loop = event.site.user, user(trace.site(event.loop))
    held = state.rpartition(".")[2] if state.startswith("dataset") else ""
    name = variable(trace, site)
    loader, what = f"`{name}`" if name else "the DataLoader", _called(state)
    return Finding(
        message=f"the workers of {loader} draw from {what} in each epoch what they drew in the first",
        cause=site,
        cause_label="each worker gets the same copy of the generator each time"
        if held
        else "each worker is seeded alike each time that it is started",
        effect=_drawn(trace, held, site) if held else _seeded(trace, site),
        effect_label="draws the same numbers in each epoch"
        if held
        else "gives it the same seed in each epoch",
        related=((loop, "the workers start here"),) if loop is not None else (),
        seen=(
            f"in each of {event.rounds} rounds through the loader every worker began with the same state of {what} as"
            " in the first, and drew from it",
        ),
        severity="warning",
        fix=f"make `{held}` anew in each worker, from `torch.utils.data.get_worker_info().seed`"
        if held
        else f"leave the seeding to torch, or seed from `torch.initial_seed()` in the `worker_init_fn` of {loader}: it"
        " is another one in each worker and each epoch",
        edits=() if held else _left_to_torch(trace, site),
        count=event.rounds,
    )


def _called(state: str) -> str:
    return {"torch": "`torch`", "random": "`random`"}.get(state, f"`{state}`")


def _finding(trace: Trace, state: str, events: list[WorkerSeeds]) -> Finding:
    event = events[0]
    site, loop = event.site.user, user(trace.site(event.loop))
    workers = listed([str(number) for number in event.workers], 8)
    own = state.startswith("dataset")
    name = variable(trace, site)
    loader = f"`{name}`" if name else "the DataLoader"
    what = _called(state)
    if own:
        held = state.partition(".")[2]
        fix = f"make `{held}` anew in each worker, from `torch.utils.data.get_worker_info().seed`"
    else:
        fix = f"leave the seeding to torch, or add the worker's number to the seed in the `worker_init_fn` of {loader}"
    place = _drawn(trace, state.rpartition(".")[2], site) if own else _seeded(trace, site)
    return Finding(
        message=f"the workers of {loader} draw the same random numbers from {what}",
        cause=site,
        cause_label="each worker gets a copy of the generator" if own else "each worker is seeded alike",
        effect=place,
        effect_label="draws the same numbers in each worker" if own else "gives each worker the same seed",
        related=((loop, "the workers start here"),)
        if loop is not None and loop.location() != site.location()
        else (),
        seen=(f"workers {workers} began with the same state of {what}, and each drew from it",),
        why=f"what {code(trace, site, 'the loader')} hands to its workers is copied, with its state"
        if own
        else "",
        fix=fix,
        edits=() if own else _left_to_torch(trace, site),
        count=len(events),
    )


def _drawn(trace: Trace, held: str, loader: Site) -> Site | None:
    """Where the program draws from the attribute `held`, or hands it on to be drawn from, outside `__init__`:
    the last such line above the loader, else the first."""
    found = [
        (path, function.name, file.span(node))
        for path in trace.sources
        for file in [trace.source_file(path)]
        for function in file.nodes
        if isinstance(function, ast.FunctionDef) and function.name != "__init__"
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and any(_names(one, held) for one in _users(node))
    ]
    above = [one for one in found if one[0] == loader.path and one[2][0] < loader.line]
    best = max(above, key=lambda one: one[2][0]) if above else next(iter(found), None)
    return Site(-1, best[0], *best[2], best[1], "user") if best is not None else None


def _users(call: ast.Call) -> Iterator[ast.expr]:
    """Where a call may name the generator that it draws from."""
    if isinstance(call.func, ast.Attribute):
        yield call.func.value
    yield from (k.value for k in call.keywords if k.arg == "generator")


def _names(node: ast.expr, held: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == held


def _seeded(trace: Trace, loader: Site) -> Site | None:
    """The first call that seeds in the loader's `worker_init_fn`."""
    file = trace.source_file(loader.path)
    for function in _initialiser(trace, loader):
        name = function.name if isinstance(function, ast.FunctionDef) else loader.function
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and _seeds(node):
                line, column, last, end = file.span(node)
                return Site(-1, loader.path, line, column, last, end, name, "user")
    return None


def _initialiser(trace: Trace, loader: Site) -> list[ast.FunctionDef | ast.Lambda]:
    file = trace.source_file(loader.path)
    call = file.at(loader)
    keywords = call.keywords if isinstance(call, ast.Call) else []
    given = [k.value for k in keywords if k.arg == "worker_init_fn"]
    if given and isinstance(given[0], ast.Lambda):
        return [given[0]]
    return [
        node
        for node in file.nodes
        if isinstance(node, ast.FunctionDef) and given and node.name == ast.unparse(given[0])
    ]


def _left_to_torch(trace: Trace, loader: Site) -> Edits:
    """The loader without its `worker_init_fn`, where that does nothing but seed."""
    made = _initialiser(trace, loader)
    body: list[ast.AST | None] = []
    for function in made if len(made) == 1 else ():
        if isinstance(function, ast.Lambda):
            body = [function.body]
        else:
            body = [getattr(statement, "value", None) for statement in function.body]
    return without_argument(trace, loader, "worker_init_fn") if body and all(map(_seeds, body)) else ()


def _seeds(node: ast.AST | None) -> bool:
    """Whether this is a call that seeds, or a text that says so."""
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(node, ast.Constant) or (isinstance(called, ast.Attribute) and called.attr in SEEDING)
