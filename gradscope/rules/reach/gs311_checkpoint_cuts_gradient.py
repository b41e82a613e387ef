"""A reentrant checkpoint whose inputs require no gradient cuts what is trained inside.

Why: `checkpoint(…, use_reentrant=True)` runs the function without gradients and makes a node from
its arguments alone. If none of them requires a gradient, the result has none, and the parameters
used inside do not train.

Fix: pass `use_reentrant=False`; or let an input require a gradient (`x.requires_grad_()`).

Silent on: checkpoints with an input that requires a gradient; evaluation without gradients; functions
without trained parameters.
"""

from collections.abc import Iterator

from gradscope.analysis.failures import failure_subject
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, parameter_names, parameter_subjects, plural
from gradscope.events import CheckpointCut, ErrorRaised
from gradscope.fixes.calls import with_argument
from gradscope.model import Event, Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad_first_block() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    block, head = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 1)
    opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        h = checkpoint(block, torch.randn(8, 4), use_reentrant=True)  # cause: GS311
        head(h).pow(2).mean().backward()
        opt.step()


def good_not_reentrant() -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    block, head = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 1)
    opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        h = checkpoint(block, torch.randn(8, 4), use_reentrant=False)
        head(h).pow(2).mean().backward()
        opt.step()


@rule(
    "GS311", name="checkpoint-cuts-gradient", severity="error",
    over=("GS204", "GS206", "GS301", "GS302", "GS303"), needs=CheckpointCut)  # fmt: skip
def checkpoint_cuts_gradient(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    parameters = {p.id: p for p in trace.parameters}
    calls: dict[tuple[str, int], list[CheckpointCut]] = {}
    for event in trace.of(CheckpointCut):
        calls.setdefault(event.site.user.location(), []).append(event)
    for events in calls.values():
        inside = dict.fromkeys(id for event in events for id in event.parameters)
        lost = [p for id in inside if (p := parameters.get(id)) and not p.passes and not p.updates]
        failed = next((error for event in events if (error := _failed(trace, known, event))), None)
        if not lost or (failed is None and not any(_in_a_loss(known, event) for event in events)):
            continue
        place = events[0].site.user
        names = parameter_names(trace, [p.id for p in lost])
        yield Finding(
            message=f"a reentrant checkpoint cuts the gradient of {names}: none of its inputs requires one",
            cause=place,
            cause_label="the graph ends here",
            effect=failed.site.user if failed is not None else None,
            effect_label="torch stops: there is nothing to go back through",
            seen=(
                f"no input required a gradient, {plural(len(lost), 'parameter')} inside did;"
                f" `.grad` of {names} was None after every pass",
            ),
            fix=f"pass `use_reentrant=False` in {code(trace, place, 'the call of `checkpoint`')}",
            count=sum(event.count for event in events),
            edits=with_argument(trace, place, "use_reentrant", "False"),
            subjects=parameter_subjects(p.id for p in lost)
            | ({failure_subject(failed)} if failed is not None else set()),
        )


def _in_a_loss(known: Paths, event: CheckpointCut) -> bool:
    return any((event.graph, value) in known.used.order for value in event.outputs)


def _failed(trace: Trace, known: Paths, event: CheckpointCut) -> Event | None:
    """The backward that found no graph, if what it began at comes from this checkpoint."""
    for error in trace.of(ErrorRaised):
        if "does not require grad" in error.text and error.graph >= 0:
            roots = error.roots or error.inputs
            flow = known.flow((error.graph, root) for root in roots)
            if any((event.graph, value) in flow.order for value in event.outputs):
                return error
    return None
