"""Runs repeatedly interrupted by a signal at random moments learn what an undisturbed run learns."""

import signal
from pathlib import Path
from typing import Any

import pytest
from tb.sw import interrupted
from tb.sw.interrupted import disturbed

RUNS = {
    "train": "train gridworld --act host --episodes 10000 --evaluate-every 500",
    "agents": "train gridworld --steps 400000 --algorithm sarsa",
    "pqn": "pqn cartpole --total-timesteps 40000",
    "dqn": "dqn cartpole --total-timesteps 4000",
}


def many(name: str, deaths: int) -> Any:
    return pytest.param(name, deaths, marks=pytest.mark.release)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["sigterm", "sigkill"])
@pytest.mark.parametrize(
    ("name", "deaths"),
    [("train", 2), ("agents", 1),
     many("train", 50), many("agents", 20), many("pqn", 10), many("dqn", 10)],
)  # fmt: skip
def test_a_run_ended_at_random_moments_learns_what_an_undisturbed_one_learns(
    name: str, deaths: int, number: int, tmp_path: Path
) -> None:
    if name in ("pqn", "dqn"):
        pytest.importorskip("torch")
    # A run with agents may finish within the second between checkpoints.
    resumes = 3 if deaths >= 10 and name != "agents" else 0
    ended, resumed = disturbed(RUNS[name], number, deaths, tmp_path, resumes=resumes)
    assert ended >= deaths
    assert resumed >= resumes


@pytest.mark.slow
def test_a_forgetful_run_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disturbed run starts from another seed, so its results differ."""
    plain = interrupted.run
    monkeypatch.setattr(
        interrupted,
        "run",
        lambda typed, folder, *more: plain(
            f"{typed} --seed {2 if folder.name == 'disturbed' else 1}", folder, *more
        ),
    )
    with pytest.raises(AssertionError):
        disturbed(RUNS["train"], signal.SIGTERM, 1, tmp_path)
