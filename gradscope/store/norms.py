"""A number for each of many parameters, as the trace holds it: JSON where they are few, else three to four bytes each,
the bytes of one weight together, which packs what is alike in them."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from math import isfinite

FEW = 64
_LEAST, _MOST = 1.2e-38, 3.4e38  # of a float; beyond them eight bytes are taken


def pack_norms(norms: Mapping[int, float], exact: bool = True) -> str | bytes:
    """By number of the parameter. exact: to seven digits, for what is compared; else, of many, to nearly four."""
    if len(norms) <= FEW:
        return json.dumps({str(id): norm for id, norm in norms.items()}, separators=(",", ":"))
    runs: list[list[int]] = []  # [first number, how many follow each other]
    for id in sorted(norms):
        if runs and id == sum(runs[-1]):
            runs[-1][1] += 1
        else:
            runs.append([id, 1])
    numbers = [norms[id] for id in sorted(norms)]
    fits = all(norm == 0 or not isfinite(norm) or _LEAST < abs(norm) < _MOST for norm in numbers)
    head = json.dumps(["z" if fits else "d", runs], separators=(",", ":")).encode()
    data = struct.pack(f"<{len(numbers)}{'f' if fits else 'd'}", *numbers)
    if fits:
        if not exact:
            bits = struct.unpack(f"<{len(numbers)}I", data)
            data = struct.pack(f"<{len(numbers)}I", *((one + 0x400) & 0xFFFFF800 for one in bits))
        data = zlib.compress(b"".join(data[byte::4] for byte in range(4)))
    return struct.pack("<I", len(head)) + head + data


def read_norms(data: str | bytes) -> dict[int, float]:
    """What `pack_norms` was given, to its digits. Raises ValueError where that makes no sense."""
    if isinstance(data, str):
        return {int(id): float(norm) for id, norm in json.loads(data).items()}
    if len(data) < 4:
        raise ValueError("no head")
    (length,) = struct.unpack_from("<I", data)
    code, runs = json.loads(data[4 : 4 + length])
    ids = [id for first, many in runs for id in range(first, first + many)]
    left = data[4 + length :]
    if code == "z":
        code, left = "f", _whole(left, 4 * len(ids))
    if code not in ("f", "d") or len(left) != len(ids) * struct.calcsize(f"<{code}"):
        raise ValueError("cut short")
    numbers = struct.unpack(f"<{len(ids)}{code}", left)
    return dict(zip(ids, numbers, strict=True))


def _whole(packed: bytes, size: int) -> bytes:
    """The bytes in their order. Raises ValueError where there are more or fewer."""
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(packed, size + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(found) != size or not unpacking.eof:
        raise ValueError("cut short")
    whole = bytearray(size)
    for byte in range(4):
        whole[byte::4] = found[byte * size // 4 : (byte + 1) * size // 4]
    return bytes(whole)
