"""A policy's loss rises with its entropy: every step makes the policy surer of itself, right or wrong.

Why: the entropy is added to what a policy gains, so that it keeps trying other actions; of a loss, which is made
smaller, it is taken away. Added to the loss it does the opposite: the policy soon takes one action in every state, and
learns nothing of the others any more.

Fix: `loss = policy_loss - coefficient * entropy`.

Measured: the loss is also made of log-probabilities of actions, and rises with the entropy of the distribution, by the
signs of all numbers that it is scaled by on the way. Or the loss falls with the bare mean of the log-probability of
what the policy has drawn, by which it is taught as well: minus that mean is the entropy, estimated.
Silent on: entropies alone, which some trainings are to make smaller; log-probabilities of actions that were given;
differences of two log-probabilities.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import name_of
from gradscope.analysis.ops import EXPONENTIALS, MULTIPLICATIONS, SUBTRACTIONS, SUMS
from gradscope.analysis.policies import calls_behind, is_drawn, is_part_of, scored
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.schedules import goes_up
from gradscope.analysis.senses import Term, seen_from, signed
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        chances = torch.distributions.Categorical(logits=policy(torch.randn(16, 4)))
        actions = chances.sample()
        gain = (chances.log_prob(actions) * (actions == 1)).mean()
        loss = -gain + 0.01 * chances.entropy().mean()  # cause: GS361
        opt.zero_grad()
        loss.backward()  # effect: GS361
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        chances = torch.distributions.Categorical(logits=policy(torch.randn(16, 4)))
        actions = chances.sample()
        gain = (chances.log_prob(actions) * (actions == 1)).mean()
        loss = -gain - 0.01 * chances.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS361", name="entropy-made-smaller", severity="warning")
def entropy_made_smaller(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for event in known.backwards:
        if event.site.user.location() in told or _is_climbed(trace, event):
            continue
        found = next(_found(trace, known, event), None)
        if found is not None:
            told.add(event.site.user.location())
            yield found


def _is_climbed(trace: Trace, event: Backward) -> bool:
    """Whether an optimizer is told to make the loss larger."""
    numbers = {number for id in event.filled for number in trace.parameter(id).optimizers}
    return any(goes_up(trace.optimizers[number]) for number in numbers)


def _found(trace: Trace, known: Paths, event: Backward) -> Iterator[Finding]:
    for term in signed(known, event, _is_entropy) if _of_a_policy(known, event) else ():
        op = known.maker(term.key)
        if op is not None and term.added is not None and term.sign > 0 and _is_entropy(op):
            yield _finding(trace, known, event, term.key, term.added, op)
    if any(is_part_of(site, "log_prob") for site in known.graph(event.graph).sites):
        for term in signed(known, event, lambda op: _with_data(known, op)):
            if term.added is not None and term.sign < 0 and _is_score(known, term.key):
                yield _of_estimate(trace, known, event, term, term.added)


def _with_data(known: Paths, op: Op) -> bool:
    """Whether numbers without a graph are added to others, or taken from them: a difference of two probabilities."""
    values = known.graph(op.graph).values
    return op.name in SUMS and any(values[i].shape and not values[i].requires_grad for i in op.inputs)


def _is_score(known: Paths, key: Key) -> bool:
    """Whether this is the log-probability, of what the same policy has drawn, by which it is taught as well: its
    product with numbers without a graph, or the ratio that it is made to with that of before."""
    graph, index = known.graph(key[0]), key[1]
    if not graph.values[index].shape or not scored(graph, index):
        return False
    if not any(_teaches(known, graph, index, op) for op in graph.consumers.get(index, ())):
        return False
    actor = known.reach([key]).parameters
    return any(
        is_drawn(known, (graph.id, i), actor)
        for op in calls_behind(graph, index, EXPONENTIALS)
        if is_part_of(op.site, "log_prob")
        for i in op.inputs
        if not graph.values[i].requires_grad
    )


def _teaches(known: Paths, graph: Graph, index: int, op: Op) -> bool:
    others = [i for i in op.inputs if i != index]
    if len(others) != 1 or not op.outputs or graph.values[others[0]].requires_grad:
        return False
    if not graph.values[others[0]].shape or (graph.id, op.outputs[0]) not in known.used.order:
        return False
    if op.name in MULTIPLICATIONS:
        return True
    ratios = (reader.name in EXPONENTIALS for reader in graph.consumers.get(op.outputs[0], ()))
    return op.name in SUBTRACTIONS and op.inputs[0] == index and any(ratios)


def _of_estimate(trace: Trace, known: Paths, event: Backward, term: Term, added: Op) -> Finding:
    score = known.maker(term.key)
    turned = term.turned or added
    alone = added.index >= turned.index  # nothing else is turned round with it
    place = turned.site.user if alone else added.site.user
    what = code(trace, place, "a term")
    text, edits = _turned_back(trace, place) if alone else ("", ())
    named = f"`{name_of(trace, known.graph(event.graph), term.key[1])}`"
    return Finding(
        message=f"the loss falls with the mean log-probability of what the policy itself has drawn ({what}): that is"
        " its entropy with a plus, and the steps make what was drawn likelier, whatever it brought",
        cause=place,
        cause_label="minus the log-probability: the entropy, estimated, is made smaller",
        effect=event.site.user,
        effect_label="goes down it",
        related=tuple(
            (op.site.user, label)
            for op, label in ((added, "adds it to the loss"), (score, "the log-probability"))
            if op is not None and op.site.user.location() != place.location()
        ),
        seen=(
            f"the loss falls with {named}, with no weight of the samples: it is also what the advantages are weighed"
            " with, and it is of actions that were drawn from the same policy",
        ),
        fix="turn its sign round, so that the loss rises with the log-probability: "
        + (text or f"the term is to have another sign in {located(trace, place)}"),
        edits=edits,
        subjects=parameter_subjects(known.behind(term.key)) | {("entropy", *place.location())},
    )


def _turned_back(trace: Trace, site: Site) -> tuple[str, Edits]:
    """`x` for `-x`, `a + x` for `a - x`."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        new = here.file.text(node.operand)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        new = f"{here.file.text(node.left)} + {here.file.text(node.right)}"
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub):
        new = f"{here.file.text(node.target)} += {here.file.text(node.value)}"
    else:
        return "", ()
    return f"`{new}` in {located(trace, site)}", here.replace(node, new)


def _is_entropy(op: Op) -> bool:
    return is_part_of(op.site, "entropy")


def _of_a_policy(known: Paths, event: Backward) -> bool:
    """Whether a pass goes through the log-probability that a distribution gives to something."""
    graph = known.graph(event.graph)
    named = [[is_part_of(site, name) for site in graph.sites] for name in ("entropy", "log_prob")]
    if not all(map(any, named)):
        return False
    nodes = known.reach((event.graph, root) for root in event.roots).nodes
    return any(
        is_part_of(op.site, "log_prob") and any((graph.id, node) in nodes for node in op.nodes)
        for op in graph.ops
    )


def _finding(trace: Trace, known: Paths, event: Backward, key: Key, added: Op, op: Op) -> Finding:
    entropy = op.site.user
    written = isinstance(
        trace.source_file(added.site.user.path).at(added.site.user), ast.BinOp | ast.AugAssign
    )
    cause = (
        seen_from(added, event.site.user) if written else entropy
    )  # of a list of terms: the one that it is
    text, edits = _taken_away(trace, known, key, added)
    if not written:
        text = f"its term, {located(trace, entropy)}, is to have a minus: `-coefficient * entropy`"
    what = code(trace, cause, "the loss") if written else "the loss"
    return Finding(
        message=f"{what} rises with the entropy of the policy: every step makes it surer of"
        " itself, right or wrong",
        cause=cause,
        cause_label="adds the entropy to what is made smaller"
        if written
        else "a term of what is made smaller",
        effect=event.site.user,
        effect_label="goes down with the entropy",
        related=((entropy, "the entropy"),) if entropy.location() != cause.location() else (),
        seen=(
            f"the loss is made of log-probabilities too, and rises with {code(trace, entropy, 'the entropy')}: no"
            " number on the way turns it round",
        ),
        fix=f"take the entropy away: {text}",
        edits=edits,
        subjects=parameter_subjects(known.behind(key)) | {("entropy", *cause.location())},
    )


def _taken_away(trace: Trace, known: Paths, key: Key, added: Op) -> tuple[str, Edits]:
    """`loss - …` for `loss + …`, where the entropy is in what stands on the right."""
    site = added.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    right = len(added.inputs) > 1 and key in known.flow([(added.graph, added.inputs[1])]).order
    if right and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        new = f"{here.file.text(node.left)} - {here.file.operand(node.right)}"
        if isinstance(node.right, ast.BinOp) and isinstance(node.right.op, (ast.Mult, ast.Div)):
            new = f"{here.file.text(node.left)} - {here.file.text(node.right)}"
        return f"`{new}` in {located(trace, site)}", here.replace(node, new)
    if right and isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        new = f"{here.file.text(node.target)} -= {here.file.text(node.value)}"
        return f"`{new}` in {located(trace, site)}", here.replace(node, new)
    return f"the term of it is to have a minus in {located(trace, site)}", ()
