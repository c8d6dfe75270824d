"""`qstep train` on the simulated hardware writes the files that it writes on the model."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from qstep.cli.train import command
from qstep.npz import load_arrays

pytestmark = pytest.mark.rtl


@pytest.mark.parametrize(
    "options",
    [
        "gridworld --episodes 80",
        "gridworld --act host --episodes 80",
        "Taxi-v3 --act host --episodes 12 --evaluate-every 6",
    ],
    ids=["agents", "gridworld", "taxi"],
)
def test_simulated_hardware_learns_the_same_files(options: str, tmp_path: Path) -> None:
    for device in ("model", "sim"):
        words = f"{options} --rounding stochastic --device {device} --out".split()
        result = CliRunner().invoke(command, [*words, str(tmp_path / device)])
        assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "model").iterdir()}
    always = {"checkpoint.npz", "history.json", "learning_curve.png", "table.npz"}
    assert names - {"policy.png"} == always
    assert ("policy.png" in names) == options.startswith("gridworld")  # others have no map
    assert load_arrays(tmp_path / "sim" / "table.npz", ("q_raw",))["q_raw"].any()
    for name in names:
        model, sim = ((tmp_path / device / name).read_bytes() for device in ("model", "sim"))
        assert model == sim, name
