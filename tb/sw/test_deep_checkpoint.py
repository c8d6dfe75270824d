"""A checkpoint of a deep learner restores it exactly, or is rejected without loading anything."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tb.sw.checkpoints import load_checkpoint
from tb.sw.dqn_learner import run_of

from qstep._io.checkpoint import Checkpoint, save_checkpoint
from qstep.deep import run as run_module
from qstep.deep.algorithms import preset_of
from qstep.deep.config import DqnConfig, PqnConfig, SacConfig
from qstep.deep.dqn import Dqn
from qstep.deep.network import play
from qstep.deep.pqn import Pqn
from qstep.deep.run import NetworkRun
from qstep.deep.sac import Sac
from qstep.envs import make_vector
from qstep.envs.repeatable import RepeatableVectorEnv
from qstep.errors import CheckpointError, ConfigError

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIG = DqnConfig(
    3_000, hidden=(16,), batch_size=16, gradient_steps=2, buffer_size=700, learning_starts=64
)  # fmt: skip


def make(config: DqnConfig = CONFIG, name: str = "cartpole") -> NetworkRun:
    return run_of(name, "dqn", config, evaluate_every=40)


def everything(run: NetworkRun) -> dict[str, Any]:
    """Return all results of a run except times."""
    assert isinstance(run.learner, Dqn | Pqn | Sac)
    state = run.learner.checkpoint()
    return {
        "head": {name: part for name, part in state.head.items() if name != "phases"},
        "arrays": {name: array.tolist() for name, array in state.arrays.items()},
        "returns": run.returns,
        "means": [found[:7] for found in run.evaluations],
        "kept": {name: part.tolist() for name, part in run.network.state_dict().items()},
    }


def pqn(name: str, num_envs: int) -> NetworkRun:
    """Return a run of 20 rollouts."""
    config = PqnConfig(
        20 * 8 * num_envs, hidden=(16,), num_steps=8, update_epochs=2, num_minibatches=4
    )
    return run_of(name, "pqn", config, evaluate_every=200)


def sac() -> NetworkRun:
    """Return a run of 120 steps; actions in the first 60 are random and held for nine steps each."""
    config = SacConfig(
        480, hidden=(16,), batch_size=16, learning_starts=240, action_hold=9, buffer_size=300
    )
    return run_of("Pendulum-v1", "sac", config, num_envs=4, evaluate_every=100)


def on_gymnasium(env_id: str) -> NetworkRun:
    """Return a run in a Gymnasium environment, with about 15 episodes per copy."""
    return run_of(
        env_id, "dqn", replace(CONFIG, total_timesteps=1500), num_envs=4, evaluate_every=40
    )


def snake() -> NetworkRun:
    config = replace(preset_of("snake").settings["dqn"].config, batch_size=16, gradient_steps=1)
    config = replace(config, buffer_size=4096)
    return run_of("snake", "dqn", config, evaluate_every=400, episodes=1200)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "steps"),  # 1: before the first update; 50: after the ring buffer has wrapped
    [
        *((replace(CONFIG, **other), steps)
          for other in ({}, {"prioritised": True}, {"variant": "target", "target_update_interval": 7})
          for steps in (1, 50)),
        (snake, 30), (partial(pqn, "cartpole", 32), 0), (partial(pqn, "cartpole", 32), 9),
        (partial(pqn, "snake", 256), 9), (sac, 50), (sac, 90),
        (partial(on_gymnasium, "CartPole-v1"), 210), (partial(on_gymnasium, "FrozenLake-v1"), 99),
    ],
    ids=["double-1", "double-50", "prioritised-1", "prioritised-50", "target-1", "target-50", "snake",
         "pqn-0", "pqn-9", "pqn-snake", "sac-held", "sac-90", "CartPole-v1", "FrozenLake-v1"],
)  # fmt: skip
def test_resumed_run_ends_like_a_whole_one(kind: Any, steps: int, tmp_path: Path) -> None:
    whole, stopped, resumed = (
        make(kind) if isinstance(kind, DqnConfig) else kind() for _ in range(3)
    )
    assert all(True for _ in whole)
    for _ in islice(stopped, steps):
        pass
    file = tmp_path / "checkpoint.npz"
    save_checkpoint(file, stopped.checkpoint, stopped.identity)
    resumed.restore(load_checkpoint(file, resumed.identity))
    assert resumed.learner.steps == stopped.learner.steps < whole.learner.steps
    assert all(True for _ in resumed)
    assert everything(resumed) == everything(whole)
    assert everything(resumed) != everything(stopped)


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Path, NetworkRun]:
    run = make()
    for _ in islice(run, 30):
        pass
    file = tmp_path / "checkpoint.npz"
    save_checkpoint(file, run.checkpoint, run.identity)
    return file, run


def test_saving_again_replaces_the_file_and_leaves_no_other(kept: tuple[Path, NetworkRun]) -> None:
    file, run = kept
    next(iter(run))
    save_checkpoint(file, run.checkpoint, run.identity)
    assert list(file.parent.iterdir()) == [file]
    assert load_checkpoint(file, run.identity).head["counters"]["steps"] == run.learner.steps


def on_another_device(run: NetworkRun) -> dict[str, Any]:
    run.learner.device = torch.device("cuda")
    return run.identity


@pytest.mark.parametrize(
    ("identity", "differs"),
    [
        (lambda run: make(name="snake").identity, "world is 'cartpole' there and 'snake' here"),
        (lambda run: make(replace(CONFIG, hidden=(16, 8), seed=4)).identity,
         r"hidden is \[16\] there and \[16, 8\] here; seed is 0 there and 4"),
        (on_another_device, "another run: device is 'cpu' there and 'cuda' here"),
        (lambda run: {**run.identity, "torch": "0.4"},
         r"another run: torch is '.*' there and '0\.4' here"),
        (lambda run: {"command": "agents", "device": "cpu"},
         "another run: command is 'dqn' there and 'agents' here"),
        (lambda run: {**run.identity, "version": 1}, "another run: version is 3 there and 1 here"),
    ],
    ids=["environment", "configuration", "device", "pytorch", "command", "version"],
)  # fmt: skip
def test_checkpoint_of_another_run_is_refused_and_says_where(
    kept: tuple[Path, NetworkRun], identity: Callable[[NetworkRun], dict[str, Any]], differs: str
) -> None:
    file, run = kept
    with pytest.raises(CheckpointError, match=differs):
        load_checkpoint(file, identity(run))


def without(part: str, name: str) -> Callable[[Checkpoint], None]:
    def remove(state: Checkpoint) -> None:
        del getattr(state, part)[name]

    return remove


def broken_generator(state: Checkpoint) -> None:
    state.head["generator"]["state"]["inc"] = -1


def with_other(part: str, name: str, value: Any) -> Callable[[Checkpoint], None]:
    def put(state: Checkpoint) -> None:
        getattr(state, part)[name] = value

    return put


@pytest.mark.parametrize(
    ("spoil", "history", "message"),
    [
        (without("arrays", "networks.target"), False, r"the checkpoint has no 'networks\.target'"),
        (without("arrays", "replay.reward"), False, r"the checkpoint has no 'replay\.reward'"),
        (without("arrays", "returns"), False, "the checkpoint has no 'returns'"),
        (without("head", "phases"), False, "the checkpoint has no 'phases'"),
        (with_other("head", "counters", {"steps": 1}), False, "the checkpoint has no 'episodes'"),
        (with_other("head", "generator", {"bit_generator": "MT19937"}), False,
         "the checkpoint has no 'state'"),
        (with_other("head", "phases", 1.0), False,
         "phases of the checkpoint is float; it must be dict"),
        (with_other("arrays", "networks.online", np.zeros(1, np.float32)), False,
         r"networks\.online of the checkpoint is float32 of shape \[1\]; it must be float32 of shape "
         r"\[1, 114\]"),
        (with_other("arrays", "returns", np.zeros(())), False,
         r"returns of the checkpoint is float64 of shape \[\]; it must be float64 of shape \[32\]"),
        (with_other("arrays", "priorities.tree", np.zeros(2048, np.float32)), False,
         r"priorities\.tree of the checkpoint is float32 of shape \[2048\]; it must be float64"),
        (with_other("arrays", "replay.action", np.zeros(699, np.int64)), False,
         r"of shape \[699\]; it must be int64 of shape \[700\]"),
        (without("head", "seconds"), True, "the checkpoint has no 'seconds'"),
        (without("arrays", "history.evaluations"), True,
         r"the checkpoint has no 'history\.evaluations'"),
        (with_other("arrays", "kept.0.weight", np.zeros((3, 4), np.float32)), True,
         r"of shape \[3, 4\]; it must be float32 of shape \[16, 4\]"),
        (with_other("arrays", "history.returns", np.zeros((5, 3))), True,
         r"history\.returns of the checkpoint is float64 of shape \[n, 3\]; it must be float64 of "
         r"shape \[n, 2\]"),
        (broken_generator, False, "the checkpoint's random generator: "),
    ],
)  # fmt: skip
def test_part_that_does_not_fit_is_refused_and_changes_nothing(
    spoil: Callable[[Checkpoint], None], history: bool, message: str
) -> None:
    source, run = (make(replace(CONFIG, prioritised=True)) for _ in range(2))
    for _ in islice(source, 30):
        pass
    for _ in islice(run, 5):
        pass
    before = everything(run)
    for target in (run,) if history else (run, run.learner):
        state = source.checkpoint if isinstance(source, NetworkRun) else source.checkpoint()
        spoil(state)
        assert isinstance(target, Dqn | NetworkRun)
        with pytest.raises(CheckpointError, match=message):
            target.restore(state)
        assert everything(run) == before
    run.restore(source.checkpoint)
    assert everything(run) == everything(source)


@pytest.mark.parametrize(
    "episodes", [b"", b"{}", b"[]", b"[1]", b'[{"seed": 1, "actions": [9], "seen": 0}]']
)
def test_episodes_that_cannot_be_repeated_are_refused(episodes: bytes) -> None:
    envs = make_vector("FrozenLake-v1", 1)
    assert isinstance(envs, RepeatableVectorEnv)
    with pytest.raises(CheckpointError, match=r"^the checkpoint's episodes cannot be replayed \("):
        envs.restore({"episodes": np.frombuffer(episodes, np.uint8)})


def test_clocks_go_on_where_the_checkpoint_stands(kept: tuple[Path, NetworkRun]) -> None:
    file, stopped = kept
    resumed = make()
    phases = resumed.learner.seconds
    resumed.restore(load_checkpoint(file, resumed.identity))
    assert phases == stopped.learner.seconds
    assert all(spent > 0 for spent in phases.values())
    assert (resumed.seconds, resumed.processor_s) == (stopped.seconds, stopped.processor_s)
    next(iter(resumed))
    assert all(phases[name] > spent for name, spent in stopped.learner.seconds.items())


def test_seconds_are_those_of_the_run_and_between_its_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0

    def taking(seconds: float, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            nonlocal now
            now += seconds
            return function(*arguments)

        return timed

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(time, "process_time", lambda: now / 2)
    monkeypatch.setattr(Dqn, "step", taking(1, Dqn.step))
    monkeypatch.setattr(run_module, "play", taking(100, play))
    saved: list[float] = []
    save = taking(10_000, lambda: saved.append(run.checkpoint.head["seconds"]))
    run = make(replace(CONFIG, total_timesteps=160))
    for _ in run:
        save()
    assert saved == [1, 10_002, 20_003, 30_004, 40_105]
    assert (run.seconds, run.processor_s, run.learning_s) == (50_105, 50_105 / 2, 5 / 2)


def test_plain_form_has_no_checkpoint_and_says_why() -> None:
    run = run_of("cartpole", "dqn plain", replace(CONFIG, gradient_steps=4), evaluate_every=10)
    with pytest.raises(ConfigError, match="the run has no checkpoints; only dqn"):
        _ = run.checkpoint


@pytest.mark.parametrize(("units", "threads"), [(128, 1), (129, 2)])
def test_only_small_networks_are_kept_to_one_thread(units: int, threads: int) -> None:
    torch.set_num_threads(2)  # the fixture restores it
    run = make(replace(CONFIG, hidden=(16, units)))
    run.open(None)
    assert torch.get_num_threads() == threads
    run.close()
    assert torch.get_num_threads() == 2
