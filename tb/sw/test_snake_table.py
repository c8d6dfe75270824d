"""Snake's 11 bits as a table: learnt on the model and on the simulated hardware alike."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from qstep.cli.train import command


def train(words: str, out: Path) -> str:
    result = CliRunner().invoke(command, [*f"snake {words} --out".split(), str(out)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_table_learns_to_eat(tmp_path: Path) -> None:
    report = json.loads(train("--episodes 300 --evaluate-every 300 --json", tmp_path))
    assert report["evaluation"]["mean_return"] > 40  # 5 meals a game; untrained it is none


@pytest.mark.rtl
@pytest.mark.slow
def test_simulated_hardware_learns_the_same_snake(tmp_path: Path) -> None:
    for device in ("model", "sim"):
        words = f"--episodes 60 --evaluate-every 60 --sync-steps 256 --device {device}"
        train(words, tmp_path / device)
    for path in (tmp_path / "model").iterdir():
        assert path.read_bytes() == (tmp_path / "sim" / path.name).read_bytes(), path.name
