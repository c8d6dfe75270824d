"""CartPole as a table: its rows, what counts as success, and that every device learns the same."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import pytest
from click.testing import CliRunner

from qstep.cli.train import command
from qstep.envs import make, table_size
from qstep.envs.cartpole_table import LIMITS, row_of


def train(words: str, out: Path) -> str:
    result = CliRunner().invoke(command, [*f"cartpole {words} --out".split(), str(out)])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.unit
@pytest.mark.parametrize(
    ("numbers", "row"),
    [
        ([-2.4, -3.0, -LIMITS[2], -3.0], 0),
        ([-9.0, -9.0, -9.0, -9.0], 0),
        ([9.0, 9.0, 9.0, 9.0], 2047),
        ([0.0, 0.0, 0.0, 0.0], ((2 * 4 + 2) * 8 + 4) * 16 + 8),
        ([0.0, 0.0, 0.0, -1e-9], ((2 * 4 + 2) * 8 + 4) * 16 + 7),
        ([-1e-9, 0.0, 0.0, 0.0], ((1 * 4 + 2) * 8 + 4) * 16 + 8),
    ],
)
def test_numbers_fall_into_rows(numbers: list[float], row: int) -> None:
    assert row_of(numbers) == row


@pytest.mark.unit
def test_rows_are_those_of_gymnasiums_cart_pole() -> None:
    table, pole = make("cartpole", 0), gym.make("CartPole-v1")
    assert table_size(table) == (2048, 2)
    assert table.reset(seed=4)[0] == row_of(pole.reset(seed=4)[0].tolist())
    rows = set()
    for number in range(30):
        row, reward, terminated, truncated, _ = table.step(number % 2)
        seen, *other, _ = pole.step(number % 2)
        assert (row, reward, terminated, truncated) == (row_of(seen.tolist()), *other)
        rows.add(row)
        if terminated:
            break
    assert len(rows) > 5


@pytest.mark.unit
def test_falling_is_no_success_and_500_steps_are() -> None:
    env = make("cartpole", 0)
    env.reset(seed=0)
    terminated = False
    while not terminated:
        *_, terminated, _, info = env.step(0)
    assert info["is_success"] is False
    seen, _ = env.reset(seed=0)
    for number in range(1, 501):
        x, x_dot, theta, theta_dot = env.unwrapped.state  # type: ignore[attr-defined]
        action = int(0.1 * x + 0.3 * x_dot + 3.0 * theta + theta_dot > 0)
        seen, _, terminated, truncated, info = env.step(action)
        assert (terminated, truncated) == (False, number == 500)
        assert info["is_success"] is (number == 500)
    assert 0 <= seen < 2048


@pytest.mark.unit
def test_table_learns_to_balance(tmp_path: Path) -> None:
    words = "--alpha 0.5 --episodes 600 --evaluate-every 600 --epsilon-start 0.3 --json"
    report = json.loads(train(words, tmp_path))
    assert report["rounding"] == "stochastic"
    assert report["evaluation"]["mean_return"] > 50  # untrained, all to one side, it is below 10


@pytest.mark.rtl
def test_simulated_hardware_learns_the_same_pole(tmp_path: Path) -> None:
    for device in ("model", "sim"):
        words = f"--episodes 80 --evaluate-every 80 --sync-steps 256 --device {device}"
        train(words, tmp_path / device)
    for path in (tmp_path / "model").iterdir():
        assert path.read_bytes() == (tmp_path / "sim" / path.name).read_bytes(), path.name
