"""Files are written as they were found, all or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradscope.model import GradscopeError
from gradscope.trying.files import Stored, stored, write


def kept(path: Path, data: bytes) -> Stored:
    path.write_bytes(data)
    found = stored(str(path))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "data",
    [b"a = 1\r\nb = 2", b"\xef\xbb\xbfa = '\xc3\xa9'\n", b"# coding: latin-1\na = '\xe9'\n"],
    ids=["line ends", "a mark", "an encoding"],
)
def test_the_rest_of_a_file_keeps_its_bytes(data: bytes, tmp_path: Path) -> None:
    old = kept(tmp_path / "a.py", data)
    write([(old, old.text.replace("a =", "c ="))])
    assert (tmp_path / "a.py").read_bytes() == data.replace(b"a =", b"c =")


def test_a_file_that_has_changed_keeps_all_as_they_are(tmp_path: Path) -> None:
    first, second = kept(tmp_path / "a.py", b"a = 1\n"), kept(tmp_path / "b.py", b"b = 1\n")
    (tmp_path / "b.py").write_bytes(b"mine\n")
    with pytest.raises(GradscopeError, match=r"b\.py has changed"):
        write([(first, "a = 2\n"), (second, "b = 2\n")])
    assert sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir()) == [
        ("a.py", b"a = 1\n"), ("b.py", b"mine\n"),
    ]  # fmt: skip


def test_a_file_that_cannot_be_written_keeps_all_as_they_are(tmp_path: Path) -> None:
    first, second = kept(tmp_path / "a.py", b"a = 1\n"), kept(tmp_path / "b.py", b"# coding: ascii\n")
    with pytest.raises(GradscopeError, match="ascii"):
        write([(first, "a = 2\n"), (second, "# coding: ascii\n# é\n")])
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [b"a = 1\n", b"# coding: ascii\n"]


def test_what_is_no_text_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xff\xfe\x00")
    assert stored(str(tmp_path / "a.py")) is None
    assert stored(str(tmp_path / "none.py")) is None
