"""A copy of the trained network makes its targets, and is never brought up to date.

Why: a target network keeps the targets from running away: it follows the trained one slowly, or is set to it every few
hundred steps. One that stays what it was at the start makes targets of random numbers: the trained network learns the
value of a policy that knows nothing, and no more.

Fix: copy the weights every so often, `target.load_state_dict(net.state_dict())`, or a small part of them in every
step.

Measured: what is added to data to make the target comes from a network of the same form as the one that is compared
with it and stepped; nothing has changed that since the first steps. Silent on: copies that a line of the program
could still bring up to date (one that has run, and stands in no loop, runs no more), fewer steps than 100, teachers
(their answers are the targets, nothing is added). Also where a function of the program would bring a copy up to date,
and nothing calls it, or where the numbers that are to go to the copy are loaded into the trained network instead.
"""

import ast
from collections.abc import Iterable, Iterator

from gradscope.analysis.bootstraps import Sum, sums
from gradscope.analysis.networks import (
    Network,
    Uncalled,
    alike,
    networks,
    updates_nobody_calls,
    writes_weights,
)
from gradscope.analysis.ops import ALIASES, PASSING, SCALES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import head_of, mentions, nodes_of_program, nodes_that_ran, ran_in, site_of
from gradscope.analysis.words import located, optimizer_name, parameter_subjects, plural
from gradscope.analysis.writes import loads_state
from gradscope.events import Step
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, LOOPS, SourceFile, called_name, own_name
from gradscope.store import Trace

ENOUGH = 100  # steps
DEEP = 20  # forms between an estimate and its discount
REPEATS = (*LOOPS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


def bad() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(150):
        state, after = torch.randn(32, 4), torch.randn(32, 4)
        action, reward = torch.randint(2, (32, 1)), torch.randn(32, 1)
        with torch.no_grad():
            wanted = reward + 0.9 * target(after).max(1, keepdim=True).values  # cause: GS242
        loss = nn.functional.mse_loss(net(state).gather(1, action), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS242


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), lr=0.001)
    for step in range(150):
        state, after = torch.randn(32, 4), torch.randn(32, 4)
        action, reward = torch.randint(2, (32, 1)), torch.randn(32, 1)
        with torch.no_grad():
            wanted = reward + 0.9 * target(after).max(1, keepdim=True).values
        loss = nn.functional.mse_loss(net(state).gather(1, action), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 1000 == 999:
            target.load_state_dict(net.state_dict())


@rule("GS242", name="target-never-follows", severity="warning", over=("GS273",))
def target_never_follows(trace: Trace) -> Iterator[Finding]:
    found = list(_of_estimates(trace))
    yield from found
    for one in updates_nobody_calls(trace) if not found else ():
        if (step := _step(trace, one.trained)) is not None:
            yield _uncalled(trace, one, step)


def _of_estimates(trace: Trace) -> Iterator[Finding]:
    found = networks(trace) if trace.optimizers else []
    still = [one for one in found if one.still]
    stepped = [one for one in found if one.stepped]
    back = _written_back(trace, stepped) if still and stepped else {}
    if not still or not stepped or _may_follow(trace, back):
        return
    known = paths(trace)
    told: set[int] = set()
    for target in sums(known):
        if not _is_discounted(known, target) and not _is_scaled(known, target.estimate):
            continue
        estimating, predicting = known.fed_by(target.estimate), known.fed_by(target.prediction)
        copies = [one for one in still if one.ids <= estimating and one.module not in told]
        trained = [one for one in stepped if one.ids <= predicting]
        pairs = [(a, b) for a in copies for b in trained if a.form == b.form and alike(trace, a, b)]
        step = _step(trace, pairs[0][1]) if pairs else None
        if step is not None:
            told.add(pairs[0][0].module)
            copy, net = pairs[0]
            wrong = [site for site, ids in back.items() if ids & net.ids]
            others = [site for site in back if site not in wrong]
            if wrong:
                yield _other_way(trace, target.made, wrong[0], others, copy, net)
            else:
                yield _finding(trace, target.made, step, copy, net)


def _written_back(trace: Trace, stepped: list[Network]) -> dict[Site, set[int]]:
    """Where states are loaded again and again, and only into networks that an optimizer steps → their parameters."""
    known, own = paths(trace), {id for one in stepped for id in one.ids}
    into: dict[Site, set[int]] = {}
    runs: dict[Site, int] = {}
    for graph in trace.graphs:
        found = [op for op in graph.writing if loads_state(op)]
        for site in {op.site.user for op in found}:
            runs[site] = runs.get(site, 0) + max(graph.count, 1)
        for op in found:
            made = known.parameter_of((graph.id, known.memory(graph.id, op.writes[0])))
            into.setdefault(op.site.user, set()).add(made.id if made is not None else -1)
    return {site: ids for site, ids in into.items() if ids <= own and runs[site] > 1}


def _other_way(
    trace: Trace, made: Op, wrong: Site, others: list[Site], copy: Network, trained: Network
) -> Finding:
    target, net = (trace.modules[one.module].name or "the copy" for one in (copy, trained))
    count = next(iter(trained.parameters.values())).steps
    return Finding(
        message=f"`{target}` makes the targets of `{net}` and stays what it was at the start: its update is written"
        f" into `{net}`",
        cause=wrong,
        cause_label=f"loads into `{net}`, which an optimizer steps",
        effect=made.site.user,
        effect_label=f"the estimate in it is that of `{target}`",
        related=tuple((site, "the same here") for site in others),
        seen=(
            f"in {plural(count, 'step')} nothing changed any of the {plural(len(copy.parameters), 'parameter')} of"
            f" `{target}`, and {located(trace, wrong)} wrote to all of `{net}`",
        ),
        fix=f"give the numbers that {located(trace, wrong)} loads to `{target}` instead, and leave `{net}` to its"
        " optimizer",
        count=count,
        subjects=parameter_subjects(copy.ids),
    )


def _is_discounted(known: Paths, target: Sum) -> bool:
    """Whether the sum itself takes the estimate a number of times: `torch.add(reward, estimate, alpha=0.9)`."""
    made = target.made
    sources, _ = known.sources((made.graph, made.outputs[0]))
    if not sources or sources[-1] != target.estimate:
        return False  # the other side, as noise may be
    node = known.trace.source_file(made.site.user.path).at(made.site.user)
    return isinstance(node, ast.Call) and any(word.arg == "alpha" for word in node.keywords)


def _is_scaled(known: Paths, key: Key) -> bool:
    """Whether what a network gives is multiplied by a discount, or a mask, before it is added: noise is added to what
    a teacher gives as it is."""
    for _ in range(DEEP):
        sources, op = known.sources(key)
        if op is not None and (op.module is not None or op.name not in PASSING | ALIASES):
            return op.module is None and op.name in SCALES
        if not sources:
            return False
        key = sources[0]
    return False


def _may_follow(trace: Trace, back: Iterable[Site]) -> bool:
    """Whether a line in a loop, or in a function that something names, could still write into a network: the run has
    only not come to it. back: lines that have, and wrote into another one."""
    done = {(site.line, site.column) for site in back}
    ran = list(nodes_that_ran(trace, ast.AST))
    nodes = [node for _, _, node in ran]
    named = set(map(own_name, nodes))
    once = _called_once(trace)
    again: list[ast.AST] = [node for node in nodes if isinstance(node, LOOPS)]
    again += [
        node
        for node in nodes_of_program(trace)
        if isinstance(node, FUNCTIONS) and node.name in named and not _is_over(trace, node.name, once)
    ]
    if any(
        writes_weights(node) and (getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1) not in done
        for block in again
        for node in ast.walk(block)
    ):
        return True
    turns = [node for loop in nodes if isinstance(loop, LOOPS) for node in ast.walk(loop)]
    called = set(map(called_name, turns))
    makers = [f for f in nodes_of_program(trace) if isinstance(f, FUNCTIONS) and f.name in called]
    return any(map(_copies, turns)) or any(_copies(node) for maker in makers for node in ast.walk(maker))


def _copies(node: ast.AST) -> bool:
    """Whether it may make a copy of a network that takes the place of an older one."""
    if called_name(node) != "deepcopy" or not isinstance(node, ast.Call) or not node.args:
        return False
    return called_name(node.args[0]) != "state_dict"


def _called_once(trace: Trace) -> frozenset[str]:
    """Names of functions that steps were made in and nothing in the program's text names, which no library calls
    again and again either, as one that is given the watch; and `__init__`, outside of whose loops a network is made."""
    frames = {frame for step in trace.of(Step) for frame in step.site.stack}
    whole = {frame.function for frame in frames if frame.parent is None or frame.parent.kind == "user"}
    names = {name.rpartition(".")[2] for name in whole}
    return frozenset({"__init__"} | {name for name in names if not any(mentions(trace, name))})


def _is_over(trace: Trace, name: str, once: frozenset[str], below: frozenset[str] = frozenset()) -> bool:
    """Whether all calls of a function of this name that the program's text has were made, and none is made again.
    once: those of which that is known."""
    if name in once:
        return True
    calls = [] if name in below else list(_calls(trace, name))
    return bool(calls) and all(
        path
        and ran_in(trace, path, call.lineno, call.end_lineno)
        and _stands_once(trace, path, call, once, below | {name})
        for path, call in calls
    )


def _calls(trace: Trace, name: str) -> Iterator[tuple[str, ast.expr]]:
    """(path, call) for each use of a name; an empty path where it is no plain call."""
    for path, node in mentions(trace, name):
        call = trace.source_file(path).parent.get(id(node))
        plain = isinstance(call, ast.Call) and call.func is node
        yield (path, call) if plain and isinstance(call, ast.Call) else ("", ast.Constant(name))


def _stands_once(
    trace: Trace, path: str, call: ast.expr, once: frozenset[str], below: frozenset[str]
) -> bool:
    for above in trace.source_file(path).above(call):
        if isinstance(above, REPEATS):
            return False
        if isinstance(above, FUNCTIONS):
            return _is_over(trace, above.name, once, below)
    return True


def _step(trace: Trace, network: Network) -> Step | None:
    """Its first step; None where there were too few."""
    first = next(iter(network.parameters.values()))
    steps = (step for step in trace.of(Step) if step.optimizer in first.optimizers)
    return next(steps, None) if first.steps >= ENOUGH else None


def _finding(trace: Trace, made: Op, step: Step, copy: Network, trained: Network) -> Finding:
    count = next(iter(trained.parameters.values())).steps
    target, net = (trace.modules[one.module].name or "the copy" for one in (copy, trained))
    cause: Site = made.site.user
    once = _once(trace, step)
    text = (
        f"`{trace.source_file(once[0]).text(once[1])}`"
        if once
        else f"`{target}.load_state_dict({net}.state_dict())`"
    )
    loop = _loop(trace, step, once) if once else None
    place = f", as at the end of the loop in line {loop.lineno}" if loop is not None else ""
    return Finding(
        message=f"`{target}` makes the targets of `{net}`, and has stayed what it was at the start",
        cause=cause,
        cause_label=f"the estimate in it is that of `{target}`",
        effect=step.site.user,
        effect_label=f"changes `{net}` alone",
        related=((site_of(once[0], "", once[1]), "runs once, before the first step"),) if once else (),
        seen=(
            f"in {plural(count, 'step')} of {optimizer_name(trace, step.optimizer)} nothing changed any"
            f" of the {plural(len(copy.parameters), 'parameter')} of `{target}`; no line that runs again writes to a"
            " network",
        ),
        fix=(
            f"call it again every few hundred steps{place}: {text}"
            if once
            else f"after {located(trace, step.site.user, 'the step')}, every few hundred steps: {text}"
        ),
        edits=_at_its_end(trace, loop, once) if once and loop is not None else (),
        count=count,
        subjects=parameter_subjects(copy.ids),
    )


def _uncalled(trace: Trace, one: Uncalled, step: Step) -> Finding:
    count = next(iter(one.trained.parameters.values())).steps
    copy, net = (
        trace.modules[m].path or trace.modules[m].name for m in (one.copy.module, one.trained.module)
    )
    root = trace.modules[trace.modules[one.copy.module].root]
    function = one.function
    own = next(trace.source_file(one.path).above(function), None)
    plain = isinstance(own, ast.ClassDef) and own.name == root.cls and root.name.isidentifier()
    plain = plain and len(function.args.args) == 1 and not function.decorator_list[1:]
    call = f"{root.name}.{function.name}()" if plain else f"{function.name}(…)"
    here = Source(trace, step.site.user.path)
    statement = here.file.statement(step.site.user)
    return Finding(
        message=f"`{function.name}()` is called nowhere: `{copy}` has stayed what it was at the start",
        cause=head_of(one.path, function),
        cause_label=f"would bring `{copy}` up to date",
        effect=step.site.user,
        effect_label=f"changes `{net}` alone",
        seen=(
            f"in {plural(count, 'step')} of {optimizer_name(trace, step.optimizer)} nothing changed any"
            f" of the {plural(len(one.copy.parameters), 'parameter')} of `{copy}`; the program's text has the name"
            f" `{function.name}` at its definition only",
        ),
        fix=f"call `{call}` after {located(trace, step.site.user, 'the step')}",
        edits=here.after(statement, call) if plain and statement is not None else (),
        count=count,
        subjects=parameter_subjects(one.copy.ids),
    )


def _once(trace: Trace, step: Step) -> tuple[str, ast.Call] | None:
    """(path, call) of the one statement that brings a network up to date by a function of the program, and has run."""
    names = {
        node.name
        for node in nodes_of_program(trace)
        if isinstance(node, FUNCTIONS) and any(map(writes_weights, ast.walk(node)))
    }
    names -= _called_once(trace)
    found = [
        (path, call)
        for name in names
        for path, call in _calls(trace, name)
        if isinstance(call, ast.Call) and ran_in(trace, path, call.lineno, call.end_lineno)
    ]
    if len(found) != 1:
        return None
    path, call = found[0]
    alone = isinstance(trace.source_file(path).parent.get(id(call)), ast.Expr)
    return (path, call) if alone and call.lineno == call.end_lineno else None


def _loop(trace: Trace, step: Step, once: tuple[str, ast.Call]) -> ast.For | ast.AsyncFor | ast.While | None:
    """The loop around the one that steps, in the function of the call, where the call's names are known: in the one
    that steps itself the copy would follow each step."""
    path, call = once
    scope = trace.source_file(path).function_of(call)
    inner = False  # the loop that steps has been met
    for frame in reversed(step.site.stack):
        file = trace.source_file(frame.path)
        for node in _own(file, frame):
            own = inner and frame.path == path and file.function_of(node) is scope
            if own and isinstance(node, LOOPS):
                return node
            inner = inner or isinstance(node, REPEATS)
    return None


def _at_its_end(trace: Trace, loop: ast.For | ast.AsyncFor | ast.While, once: tuple[str, ast.Call]) -> Edits:
    here, last = Source(trace, once[0]), loop.body[-1]
    ends = isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise))
    return () if ends else here.after(last, here.file.text(once[1]))


def _own(file: SourceFile, site: Site) -> Iterator[ast.AST]:
    """What stands around a site within its function, innermost first."""
    for node in file.around(site):
        if isinstance(node, FUNCTIONS):
            return
        yield node
