"""A picture's suffix determines its format, and a missing folder is created for it."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from qstep._io.pictures import picture_format, write_pictures
from qstep.errors import FileFormatError

PNG = b"\x89PNG"


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.png", PNG), ("a.PNG", PNG), ("bare", PNG), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF"),
     ("a.jpg", b"\xff\xd8\xff")],
)  # fmt: skip
def test_a_picture_is_what_its_name_says(name: str, start: bytes, tmp_path: Path) -> None:
    write_pictures({tmp_path / "new" / name: Figure})
    assert (tmp_path / "new" / name).read_bytes().startswith(start)


def test_another_suffix_is_refused_with_those_that_are_known() -> None:
    message = r"b\.foo: '\.foo' is not a picture format; use \.png, \.svg, \.pdf, \.jpg"
    with pytest.raises(FileFormatError, match=message):
        picture_format(Path("b.foo"))
