"""`load_state_dict(…, strict=False)` took nothing: none of the names in the state is one of the module's.

Why: `strict=False` drops what does not fit without a word. Where the names differ by a prefix (a part of a larger
model, `module.` of a wrapper), or the file holds the state one level further down, that is all of it, and the module
trains or answers with the values that it was made with.

Fix: take the prefix off, or put it on, before the load; load without `strict=False` where all is to fit, and look at
what the call returns where not.

Silent on: states of which anything fits (a new head), loads after which another one gives the module its values,
modules that are never called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import place
from gradscope.analysis.words import code, plural
from gradscope.events import NothingLoaded
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    whole = nn.ModuleDict({"encoder": nn.Linear(4, 4), "decoder": nn.Linear(4, 2)})
    state = whole.state_dict()
    encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
    encoder.load_state_dict(state, strict=False)  # cause: GS264
    opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        head(encoder(torch.randn(8, 4)).relu()).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    whole = nn.ModuleDict({"encoder": nn.Linear(4, 4), "decoder": nn.Linear(4, 2)})
    state = whole.state_dict()
    encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
    encoder.load_state_dict(
        {key.removeprefix("encoder."): t for key, t in state.items() if key.startswith("encoder.")}
    )
    opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        head(encoder(torch.randn(8, 4)).relu()).pow(2).mean().backward()
        opt.step()


@rule("GS264", name="nothing-loaded", severity="warning", needs=NothingLoaded)
def nothing_loaded(trace: Trace) -> Iterator[Finding]:
    told: set[Site] = set()
    for event in trace.of(NothingLoaded):
        site = event.site.user
        if site not in told:
            told.add(site)
            yield _finding(trace, event, site)


def _finding(trace: Trace, event: NothingLoaded, site: Site) -> Finding:
    here, call = Source(trace, site.path), trace.source_file(site.path).at(site)
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    text, edits = _repair(here, event, given)
    return Finding(
        message=f"{code(trace, site)} loads nothing: none of its {plural(event.given, 'key')} is one of the module's",
        cause=site,
        cause_label="drops all of it",
        seen=(
            f"it was given {_some(event.keys, event.given)}; the module has {_some(event.names, event.own)}",
            *((_apart(event),) if _apart(event) else ()),
        ),
        fix=f"{text} ({place(site)})",
        edits=edits,
    )


def _some(names: tuple[str, ...], count: int) -> str:
    listed = ", ".join(f"`{name}`" for name in names)
    return f"{listed}, …" if count > len(names) else listed


def _apart(event: NothingLoaded) -> str:
    if event.strip:
        return f"all of the module's are there, with `{event.strip}` before them, in the same shapes"
    if event.add:
        return f"all of them are the module's, which has `{event.add}` before them, in the same shapes"
    if event.within:
        return f"all of the module's are in what `{event.within}` of it holds, in the same shapes"
    return ""


def _repair(here: Source, event: NothingLoaded, given: ast.expr | None) -> tuple[str, Edits]:
    """What to load in its place."""
    text = here.part(given) if given is not None else "state"
    if event.strip:
        part = f"key.removeprefix({event.strip!r}): t"
        new = f"{{{part} for key, t in {text}.items() if key.startswith({event.strip!r})}}"
        said = f"take the prefix off: load `{new}`"
    elif event.add:
        new = f"{{{event.add!r} + key: t for key, t in {text}.items()}}"
        said = f"put the prefix on: load `{new}`"
    elif event.within:
        new = f"{text}[{event.within!r}]"
        said = f"load `{new}`"
    else:
        return "rename the keys of the state to the module's, or load the state of this model", ()
    return said, here.replace(given, new) if given is not None else ()
