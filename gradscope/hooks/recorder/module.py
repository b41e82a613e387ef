"""What is known of one module."""

from __future__ import annotations

import weakref

from torch import nn

_NORMS = (nn.modules.batchnorm._NormBase,)


_FAST_PATHS = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)


_DROPOUTS = (nn.modules.dropout._DropoutNd,)


class ModuleRecord:
    __slots__ = ("cls", "fast_path", "id", "mode", "parent", "path", "ref", "root")

    def __init__(self, id: int, m: nn.Module, path: str, root: int, parent: int | None):
        self.id = id
        self.path = path
        self.root = root
        self.parent = parent
        self.cls = type(m).__name__
        self.fast_path = isinstance(m, _FAST_PATHS)
        self.stands_for(m)

    def stands_for(self, m: nn.Module) -> None:
        self.ref = weakref.ref(m)
        self.mode = mode_sensitive(m)


def mode_sensitive(m: nn.Module) -> str | None:
    """ "dropout" or "norm" where train and eval differ for this module."""
    if isinstance(m, _DROPOUTS):
        return "dropout" if m.p > 0 else None
    if isinstance(m, _NORMS):
        return "norm" if m.track_running_stats and m.running_mean is not None else None
    if isinstance(m, nn.MultiheadAttention):
        return "dropout" if m.dropout > 0 else None
    if isinstance(m, nn.RNNBase):
        return "dropout" if m.dropout > 0 and m.num_layers > 1 else None
    return None
