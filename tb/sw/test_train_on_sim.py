"""`qstep train` on the simulated hardware writes the files that it writes on the model."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from qstep.cli.train import command

pytestmark = pytest.mark.rtl


def test_simulated_hardware_learns_the_same_files(tmp_path: Path) -> None:
    for device in ("model", "sim"):
        words = f"gridworld --episodes 80 --rounding stochastic --device {device} --out".split()
        result = CliRunner().invoke(command, [*words, str(tmp_path / device)])
        assert result.exit_code == 0, result.output
    names = sorted(path.name for path in (tmp_path / "model").iterdir())
    assert names == [
        "checkpoint.npz",
        "history.json",
        "learning_curve.png",
        "policy.png",
        "table.npz",
    ]
    for name in names:
        model, sim = ((tmp_path / device / name).read_bytes() for device in ("model", "sim"))
        assert model == sim, name
