"""`qstep train` writes the same files on the simulated hardware as on the model."""

from pathlib import Path

import pytest
from tb.sw.command_line import ran

from qstep._io.npz import load_arrays

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

HOST = "--act host --sync-steps 256"


@pytest.mark.parametrize(
    "options",
    [
        "gridworld --episodes 80 --rounding stochastic",
        "gridworld --act host --episodes 80 --rounding stochastic",
        "Taxi-v3 --act host --episodes 12 --evaluate-every 6 --rounding stochastic",
        f"snake {HOST} --episodes 60 --evaluate-every 60",
        f"cartpole {HOST} --episodes 80 --evaluate-every 80",
    ],
    ids=["agents", "gridworld", "taxi", "snake", "cartpole"],
)
def test_simulated_hardware_learns_the_same_files(options: str, tmp_path: Path) -> None:
    for device in ("model", "sim"):
        ran(f"train {options} --device {device} --out", tmp_path / device)
    names = {path.name for path in (tmp_path / "model").iterdir()}
    always = {"checkpoint.npz", "history.json", "learning_curve.png", "table.npz", "report.json"}
    assert names - {"policy.png"} == always
    assert ("policy.png" in names) == options.startswith("gridworld")  # other worlds have no map
    assert load_arrays(tmp_path / "sim" / "table.npz", ("q_raw",))["q_raw"].any()
    for name in names - {"report.json"}:  # the report has the device and times
        model, sim = ((tmp_path / device / name).read_bytes() for device in ("model", "sim"))
        assert model == sim, name
