"""Ranks train past each other: around the `DistributedDataParallel` wrapper, or all on the same data.

Why: the wrapper averages gradients over the ranks, where its own `forward` was called. Called past it
(`model.module(x)`) each rank keeps its own gradients, and the models part without an error. Where all ranks are given
the same data, or the same order of it in every epoch, they compute the same things and the run learns no faster than
one process would.

Fix: call the wrapper, not its `.module`, where gradients are wanted. Give each rank its part of the data with a
`DistributedSampler`, and call its `set_epoch(epoch)` before each epoch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.parting import parted
from gradscope.analysis.text import classes_named, methods_named, nodes_of_program
from gradscope.analysis.words import counted, listed, located, parameter_subjects, variable, where
from gradscope.analysis.wrappers import Round, rounds, within, wrapped
from gradscope.events import Backward, Loader, ModuleCall, Sampler, Split, Wrapped
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site, listed_ranks
from gradscope.rules import rule_across
from gradscope.source import FUNCTIONS, called_name, method_name, names_in, own_name
from gradscope.store import Member, Run, Trace

_ENOUGH = 3  # calls with the same inputs
_SHOWN = 4  # groups of ranks, or ranks
_RANK_CALLS = {"get_rank", "get_node_local_rank"}  # of torch.distributed
_RANK_VARIABLES = ("RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")  # that launchers set


def bad() -> None:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        loss = model.module(torch.randn(8, 4)).pow(2).mean()  # cause: GS802
        loss.backward()  # effect: GS802
        opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()


@rule_across("GS802", name="ddp-bypassed", severity="error", over=("GS801",))
def ddp_bypassed(run: Run) -> Iterator[tuple[Member, Finding]]:
    for group in run.alike:
        for finding in _of_one(run, group[0].trace):
            yield from ((member, finding) for member in group)
    told = list(_same_data(run))
    yield from told
    if not told:
        yield from _whole_data(run)
    yield from _split_apart(run)
    yield from _drawn_apart(run)


def _of_one(run: Run, trace: Trace) -> Iterator[Finding]:
    several = len(run.ranks) > 1
    for of in wrapped(trace):
        found = [r for r in rounds(trace, of) if r.around and r.step is not None]
        if found and (not several or parted(run)):
            yield _around(trace, of, found, sure=several)
    for sampler in trace.of(Sampler):
        if sampler.shuffles and sampler.times > 1 and sampler.epochs == 1:
            yield _same_order(trace, sampler)


def _around(trace: Trace, of: Wrapped, found: list[Round], *, sure: bool) -> Finding:
    first = found[0]
    call = _left_at(trace, of, first.call.site)
    part = first.call.site.user
    method = method_name(trace.source_file(call.path).at(call)) if call.location() != part.location() else ""
    fix = f"call the wrapper in place of {located(trace, call, 'its `.module`')}"
    if method:
        fix = (
            f"call the wrapper itself in place of {located(trace, call, 'its `.module`')}: what `{method}` does has to"
            " run within the model's `forward`, which the wrapper calls"
        )
    parts = [] if method else _parts_called(trace, of, call)
    if parts:
        fix = _by_its_forward(trace, of, parts)
    return Finding(
        message="the model was called past its `DistributedDataParallel` wrapper: each rank keeps its own gradients",
        cause=call,
        cause_label=f"calls `{method}` of the wrapped model itself"
        if method
        else "calls the wrapped model itself",
        effect=first.passes[-1].site.user,
        effect_label="its gradients are not averaged over the ranks",
        related=(
            (of.site.user, "wrapped here"),
            *((site, "and here") for site, _ in parts if site.line != call.line),
        ),
        seen=(
            f"the wrapper's own call was not part of {sum(r.times for r in found):,} passes that a step used",
            *(("the parameters differ between the ranks afterwards",) if sure else ()),
        ),
        fix=fix,
        edits=() if parts else _by_the_wrapper(trace, of, call),
        count=sum(r.times for r in found),
        severity="" if sure else "warning",
        subjects=parameter_subjects(list(of.parameters)),
    )


def _parts_called(trace: Trace, of: Wrapped, call: Site) -> list[tuple[Site, str]]:
    """Where the function that goes past the wrapper calls parts of the model, none of them the model itself, and the
    path of each part in the model."""
    inner = trace.modules.get(of.inner)
    found: dict[tuple[int, ...], tuple[Site, str]] = {}
    for event in trace.of(ModuleCall):
        site = event.site.user
        if event.builds_graph and (site.path, site.function) == (call.path, call.function):
            part = trace.modules.get(event.called)
            if inner is None or part is None or event.called == of.inner:
                return []
            if event.called in within(trace, of.inner):
                path = part.path.removeprefix(inner.path).strip(".")
                found.setdefault((site.line, site.column), (site, path))
    return [found[place] for place in sorted(found)]


def _by_its_forward(trace: Trace, of: Wrapped, parts: list[tuple[Site, str]]) -> str:
    """How the wrapper comes to call the parts of its model that the program has called by themselves."""
    cls = trace.modules[of.inner].cls
    name = variable(trace, of.site.user) or "the wrapper"
    calls = listed([located(trace, site) for site, _ in parts], len(parts))
    forward = next(methods_named(trace, cls, "forward"), None)
    given = _given_by(trace, *forward, parts) if forward is not None else None
    if forward is None or given is None:
        do = "does" if len(parts) == 1 else "do"
        return (
            f"let the `forward` of the model that is wrapped do what {calls} {do}, and call `{name}(…)` instead: the"
            " wrapper averages what its own call has computed"
        )
    path, function = forward
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    out = (
        f", which returns `{ast.unparse(returns[0].value)}`" if len(returns) == 1 and returns[0].value else ""
    )
    at = where(Site(-1, path, function.lineno, 1, function.lineno, 1, "forward", "user"))
    return f"write `{name}({', '.join(given)})` in place of {calls}: `{cls}.forward` ({at}) makes the same calls{out}"


def _given_by(
    trace: Trace, path: str, function: ast.FunctionDef, parts: list[tuple[Site, str]]
) -> list[str] | None:
    """What `forward` is to be given, so that it calls the same parts, in the same order, with the same; None where it
    does otherwise."""
    own = function.args.args[0].arg if function.args.args else ""
    inside = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(f"{own}.")
    ]
    inside.sort(key=lambda node: (node.lineno, node.col_offset))
    if [ast.unparse(node.func).removeprefix(f"{own}.") for node in inside] != [name for _, name in parts]:
        return None
    given: dict[str, str] = {}
    for node, (site, _) in zip(inside, parts, strict=True):
        call = trace.source_file(site.path).at(site)
        if not isinstance(call, ast.Call) or len(call.args) != len(node.args):
            return None
        for inner, outer in zip(node.args, call.args, strict=True):
            if isinstance(inner, ast.Name):
                given.setdefault(inner.id, ast.unparse(outer))
    names = [argument.arg for argument in function.args.args[1:]]
    return [given[name] for name in names] if names and all(name in given for name in names) else None


def _left_at(trace: Trace, of: Wrapped, site: Site) -> Site:
    """Where the program goes past the wrapper: of a part that a method of the model calls, the call of the method."""
    names = _classes(trace, of)
    frames = [frame for frame in site.stack[::-1] if frame.kind == "user"]
    for frame in frames:
        holder = trace.source_file(frame.path).class_of(trace.source_file(frame.path).scope(frame))
        if holder is None or holder.name not in names:
            return frame
    return site.user


def _classes(trace: Trace, of: Wrapped) -> set[str]:
    """What the classes of the wrapped model and of its parts are called, and those that the program made them of."""
    names = {trace.modules[number].cls for number in within(trace, of.inner)}
    classes = [
        node
        for path in trace.sources
        for node in trace.source_file(path).nodes
        if isinstance(node, ast.ClassDef)
    ]
    before = 0
    while before < len(names):
        before = len(names)
        names |= {own_name(base) for one in classes if one.name in names for base in one.bases}
    return names


def _by_the_wrapper(trace: Trace, of: Wrapped, site: Site) -> Edits:
    """`model(x)` for `model.module(x)`, and for `net(x)` where the wrapper is `model = DistributedDataParallel(net)` of
    the same function."""
    here = Source(trace, site.path)
    call, wrapping = here.file.at(site), trace.source_file(of.site.user.path).at(of.site.user)
    if not isinstance(call, ast.Call):
        return ()
    if isinstance(call.func, ast.Attribute) and call.func.attr == "module":
        return here.replace(call.func, here.file.text(call.func.value))
    made = here.file.parent.get(id(wrapping))
    if (
        isinstance(wrapping, ast.Call)
        and wrapping.args
        and isinstance(made, ast.Assign)
        and here.file.function_of(made) is here.file.function_of(call)
        and isinstance(made.targets[0], ast.Name)
        and ast.unparse(wrapping.args[0]) == ast.unparse(call.func)
    ):
        return here.replace(call.func, made.targets[0].id)
    return ()


def _same_order(trace: Trace, sampler: Sampler) -> Finding:
    loop = trace.site(sampler.loop)
    return Finding(
        message="`set_epoch` is missing: the `DistributedSampler` gives the same order in every epoch",
        cause=loop.user if loop is not None else sampler.site.user,
        cause_label="each time around in the same order",
        related=((sampler.site.user, "the sampler is made here"),) if loop is not None else (),
        seen=(
            f"{sampler.times:,} epochs were gone through, all with the sampler's `epoch` at the same value",
        ),
        why="the order is drawn anew from the seed and the epoch's number, which only `set_epoch` changes",
        fix=f"call `set_epoch(epoch)` of {located(trace, sampler.site.user, 'the sampler')} before each epoch",
        severity="warning",
    )


def _same_data(run: Run) -> Iterator[tuple[Member, Finding]]:
    """Ranks whose first calls were given the same numbers."""
    groups: dict[object, list[tuple[Member, Wrapped]]] = {}
    for members in run.alike:
        for of in wrapped(members[0].trace):
            for member in members:
                given = _given(member.trace, of.wrapper)
                run.leave(member)
                if len(given) >= _ENOUGH:
                    groups.setdefault((of.wrapper, of.ranks, given[:_ENOUGH]), []).append((member, of))
    shared = [
        alike for alike in groups.values() if len(alike) > 1 and _learn_alike([member for member, _ in alike])
    ]
    told = [listed_ranks([str(m.rank) for m, _ in alike]) for alike in shared]
    parts = {
        sampler.site.user.location()
        for alike in shared[:1]
        for sampler in alike[0][0].trace.of(Sampler)
        if sampler.parts > 1 and all(_gives(member, sampler) for member, _ in alike)
    }
    seen = [f"the inputs of the first {_ENOUGH} calls are the same, number by number"]
    if len(groups) > 1:
        seen.append(f"on ranks {'; on ranks '.join(told[:_SHOWN])}{'; …' if len(told) > _SHOWN else ''}")
    for alike in shared:
        for member, of in alike:
            yield member, _same(member, of, len(alike), seen, parts)


def _given(trace: Trace, wrapper: int) -> tuple[tuple[tuple[str, float], ...], ...]:
    """What its calls were given, without tensors that say nothing (ones, an empty mask)."""
    found = []
    for _, numbers in trace.prints("input").get(wrapper, {}).values():
        telling = tuple((k, v) for k, v in numbers.items() if numbers.get(f"{k} varies"))
        if telling:
            found.append(telling)
    return tuple(found)


def _learn_alike(members: list[Member]) -> bool:
    """Whether their losses are the same too, or differ by chance alone: with other targets for the same input (the
    nodes of a graph) ranks do different work."""
    losses = [[loss for _, loss in member.trace.numbers("loss")][:_ENOUGH] for member in members]
    if all(known == losses[0] for known in losses):
        return True
    return any(
        member.trace.modules[layer].cls.startswith("Dropout")
        for member in members
        for event in member.trace.of(ModuleCall)
        for layer in event.train_layers
        if layer in member.trace.modules
    )


def _gives(member: Member, sampler: Sampler) -> bool:
    """Whether the sampler of the same line gives this rank the same part."""
    known = (sampler.site.user.location(), sampler.parts, sampler.part)
    return sampler.part is not None and any(
        (other.site.user.location(), other.parts, other.part) == known for other in member.trace.of(Sampler)
    )


def _same(member: Member, of: Wrapped, ranks: int, seen: list[str], given: set[tuple[str, int]]) -> Finding:
    trace = member.trace
    call = next((r.call for r in rounds(trace, of) if not r.around), None)
    site = call.site.user if call is not None else of.site.user
    world = len(of.ranks)
    few = next((s for s in trace.of(Sampler) if 0 < s.parts < world), None)
    fix = (
        "give each rank a part of its own: `DataLoader(…, sampler=DistributedSampler(data))`; or, where data is drawn"
        f" at random, another seed for each rank (the input comes from {located(trace, site, 'this call')})"
    )
    if few is not None:
        made = located(trace, few.site.user, "the `DistributedSampler`")
        seen = [
            *seen,
            f"{made} divides the data into {counted(few.parts, 'part')}, the model is averaged over {world:,} ranks",
        ]
        fix = f"give {made} the number of all ranks and this one's among them, or leave both out: it asks for them"
    one = next((s for s in trace.of(Sampler) if s.site.user.location() in given), None)
    if one is not None:
        made = located(trace, one.site.user, "the `DistributedSampler`")
        seen = [*seen, f"{made} gives each of them part {one.part:,} of {one.parts:,}"]
        fix = f"give {made} the number of this rank (`rank=dist.get_rank()`), or leave it out: it asks for it"
    sampler = few or one
    if sampler is not None:
        return Finding(
            message=f"{ranks:,} ranks are given the same data: each computes what the others do",
            cause=sampler.site.user,
            cause_label="divides the data into fewer parts"
            if few is not None
            else "gives them the same part",
            effect=site,
            effect_label="called with the same input on each of them",
            related=((of.site.user, "wrapped here"),),
            seen=tuple(seen),
            fix=fix,
            severity="warning",
        )
    return Finding(
        message=f"{ranks:,} ranks are given the same data: each computes what the others do",
        cause=site,
        cause_label="called with the same input on each of them",
        related=((of.site.user, "wrapped here"),),
        seen=tuple(seen),
        fix=fix,
        severity="warning",
    )


def _whole_data(run: Run) -> Iterator[tuple[Member, Finding]]:
    """Ranks that each draw from all of the data, in an order of their own."""
    # by rank, which may have several loops over one loader
    groups: dict[object, dict[int | None, tuple[Member, Loader]]] = {}
    for members in run.alike:
        trace = members[0].trace
        for loader in trace.of(Loader) if wrapped(trace) else ():
            if loader.content and _trains(trace, loader):
                group = groups.setdefault((loader.site.user.location(), loader.content), {})
                for member in members:
                    group.setdefault(member.rank, (member, loader))
    for found in groups.values():
        if len(found) > 1:
            first, loader = next(iter(found.values()))
            finding = _each_all(first.trace, loader, len(found))
            yield from ((member, finding) for member, _ in found.values())


def _split_apart(run: Run) -> Iterator[tuple[Member, Finding]]:
    """Ranks that train one model and have each divided the same data in another way."""
    groups: dict[object, list[tuple[Member, Split]]] = {}
    for members in run.alike:
        trace = members[0].trace
        for number, split in enumerate(trace.of(Split) if _of_one_model(trace) else ()):
            if split.content and len(split.used) > 1:
                key = (number, split.site.user.location(), split.content, split.sizes)
                groups.setdefault(key, []).extend((member, split) for member in members)
    for found in groups.values():
        ways = len({split.drawn for _, split in found})
        if ways > 1:
            trace, site = found[0][0].trace, found[0][1].site.user
            finding = Finding(
                message=f"`random_split` divides the same data in another way on each of {len(found):,} ranks: what one"
                " rank judges by, others train with"
                if ways == len(found)
                else f"`random_split` divides the same data in {ways:,} ways on {len(found):,} ranks: what some ranks"
                " judge by, others train with",
                cause=site,
                cause_label="draws other samples on other ranks",
                seen=(
                    f"what the dataset holds is the same on these ranks, the parts of"
                    f" {listed([f'{size:,}' for size in found[0][1].sizes])} samples hold others",
                ),
                why="the ranks train one model: it has seen nearly all of what it is judged by",
                fix=f"give {located(trace, site, '`random_split`')} a generator of the same seed on all ranks:"
                " `generator=torch.Generator().manual_seed(0)`",
                severity="warning",
            )
            yield from ((member, finding) for member, _ in found)


def _drawn_apart(run: Run) -> Iterator[tuple[Member, Finding]]:
    """Ranks whose samplers shuffle from seeds of their own, and then take each its part."""
    groups: dict[object, list[tuple[Member, Sampler]]] = {}
    for members in run.alike:
        for number, sampler in enumerate(members[0].trace.of(Sampler)):
            if sampler.shuffles and sampler.seed is not None and sampler.parts > 1:
                key = (number, sampler.site.user.location(), sampler.parts)
                groups.setdefault(key, []).extend((member, sampler) for member in members)
    for found in groups.values():
        seeds = [sampler.seed for _, sampler in found]
        if len(set(seeds)) > 1 and len({sampler.part for _, sampler in found}) == len(found):
            trace, site = found[0][0].trace, found[0][1].site.user
            shown = ", ".join(
                f"{seed} on {member.name}" for seed, (member, _) in zip(seeds[:4], found[:4], strict=True)
            )
            finding = Finding(
                message="the `DistributedSampler` has another seed on other ranks: their parts overlap, and"
                " some samples are in none",
                cause=site,
                cause_label="shuffles in another way on other ranks",
                seen=(
                    f"its seed is {shown}",
                    f"each takes its own of {found[0][1].parts:,} parts of that order",
                ),
                why="all ranks have to shuffle alike: each then takes its share of one common order",
                fix=f"give {located(trace, site, 'the sampler')} the same seed on all ranks, or leave it out",
                severity="warning",
            )
            yield from ((member, finding) for member, _ in found)


def _of_one_model(trace: Trace) -> bool:
    return bool(wrapped(trace)) or any(parameter.sharded for parameter in trace.parameters)


def _trains(trace: Trace, loader: Loader) -> bool:
    """Whether a pass is made in the loop that goes through it, and its dataset does not ask for the rank."""
    loop = trace.site(loader.loop)
    if loop is None:
        return False
    spans = [
        (node.body[0].lineno, node.end_lineno or 0)
        for node in trace.source_file(loop.user.path).nodes
        if isinstance(node, ast.For) and node.lineno == loop.user.line
    ]
    inside = any(
        frame.path == loop.user.path and first <= frame.line <= last
        for event in trace.of(Backward)
        for frame in event.site.stack
        for first, last in spans
    )
    return inside and not _asks_for_rank(trace, loader.content.partition(" ")[0])


def _asks_for_rank(trace: Trace, dataset: str) -> bool:
    """Whether a class asks torch, or the launcher, for the rank; by itself or in a function that it calls."""
    nodes = nodes_of_program(trace)
    asking = {node.name for node in nodes if isinstance(node, FUNCTIONS) and _reads_rank(node)}
    return any(_reads_rank(node) or asking & names_in(node) for _, node in classes_named(trace, dataset))


def _reads_rank(node: ast.AST) -> bool:
    """`get_rank()`, or a variable of the environment that the launcher sets."""
    return any(
        (isinstance(part, ast.Call) and called_name(part) in _RANK_CALLS)
        or (isinstance(part, ast.Constant) and part.value in _RANK_VARIABLES)
        for part in ast.walk(node)
    )


def _each_all(trace: Trace, loader: Loader, ranks: int) -> Finding:
    loop = trace.site(loader.loop)
    site = loader.site.user
    return Finding(
        message=f"{ranks:,} ranks each go through all of the same data: one epoch takes every sample {ranks:,} times",
        cause=site,
        cause_label="draws from the whole dataset on each rank",
        related=((loop.user, "gone through here"),) if loop is not None else (),
        seen=("what the dataset holds is the same on these ranks, and no `DistributedSampler` divides it",),
        why="the gradients are right, but an epoch is as long as in one process, and the ranks' batches overlap",
        fix=f"give each rank a part of its own: `sampler=DistributedSampler(data)` in place of `shuffle=True`"
        f" ({located(trace, site, 'the loader')}), and `set_epoch(epoch)` before each epoch",
        severity="warning",
    )
