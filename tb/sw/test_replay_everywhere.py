"""One stream, five ways to a device, one file."""

from pathlib import Path

import pytest
from tb.replay_everywhere import DEVICES, draw_case, replay_case

pytestmark = pytest.mark.rtl

TRANSITIONS = 4000


@pytest.mark.parametrize("seed", [2, 5], ids=lambda seed: f"seed{seed}")
def test_every_device_writes_the_file_of_the_model(seed: int, tmp_path: Path) -> None:
    files = replay_case(seed, TRANSITIONS, tmp_path)
    assert list(files) == list(DEVICES)
    assert set(files.values()) == {files["model"]}


def test_another_stream_gives_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The comparison above can fail: one transition less, and the files differ.
    monkeypatch.setattr("tb.replay_everywhere.DEVICES", ("model",))
    whole = replay_case(2, TRANSITIONS, tmp_path)
    options, columns = draw_case(2, TRANSITIONS)
    cut = {name: column[:-1] for name, column in columns.items()}
    monkeypatch.setattr("tb.replay_everywhere.draw_case", lambda seed, transitions: (options, cut))
    assert replay_case(2, TRANSITIONS, tmp_path) != whole
