"""What a stretch under a grad mode is called, and where it stands."""

from __future__ import annotations

from pathlib import Path

from gradscope.model import Region, place_of

_TITLES = {
    "no_grad": "with torch.no_grad()", "inference_mode": "with torch.inference_mode()",
    "enable_grad": "with torch.enable_grad()", "set_grad_enabled": "set_grad_enabled",
    "checkpoint": "checkpoint", "autocast": "with torch.autocast()",
}  # fmt: skip


def region_words(region: Region, opened: str | None = None) -> tuple[str, str]:
    """("with torch.no_grad()", "train.py:3–7"). opened: how the program opens it, where that is known."""
    site = region.site.user
    last = max(region.end_line or 0, site.end_line)
    where = place_of(Path(site.path).name, site.line) + (f"–{last}" if last > site.line else "")
    return opened or _TITLES.get(region.kind, region.kind), where
