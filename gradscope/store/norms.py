"""A number for each of many parameters, as the trace holds it: JSON where they are few, else four bytes each."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping

FEW = 64
_LEAST, _MOST = 1.2e-38, 3.4e38  # of a float; beyond them eight bytes are taken


def pack_norms(norms: Mapping[int, float]) -> str | bytes:
    """By number of the parameter."""
    if len(norms) <= FEW:
        return json.dumps({str(id): norm for id, norm in norms.items()}, separators=(",", ":"))
    runs: list[list[int]] = []  # [first number, how many follow each other]
    for id in sorted(norms):
        if runs and id == sum(runs[-1]):
            runs[-1][1] += 1
        else:
            runs.append([id, 1])
    numbers = [norms[id] for id in sorted(norms)]
    fits = all(norm == 0 or norm != norm or _LEAST < abs(norm) < _MOST for norm in numbers)
    code = "f" if fits else "d"
    head = json.dumps([code, runs], separators=(",", ":")).encode()
    return struct.pack("<I", len(head)) + head + struct.pack(f"<{len(numbers)}{code}", *numbers)


def read_norms(data: str | bytes) -> dict[int, float]:
    """What `pack_norms` was given, to six digits and more. Raises ValueError where that makes no sense."""
    if isinstance(data, str):
        return {int(id): float(norm) for id, norm in json.loads(data).items()}
    if len(data) < 4:
        raise ValueError("no head")
    (length,) = struct.unpack_from("<I", data)
    code, runs = json.loads(data[4 : 4 + length])
    ids = [id for first, many in runs for id in range(first, first + many)]
    if code not in ("f", "d") or len(data) != 4 + length + len(ids) * struct.calcsize(f"<{code}"):
        raise ValueError("cut short")
    numbers = struct.unpack_from(f"<{len(ids)}{code}", data, 4 + length)
    return dict(zip(ids, numbers, strict=True))
