"""DQN, fast: many boards at once, nothing allocated, several updates with one look into the replay.

The algorithm is that of `dqn_plain`. What is different, and all that is:

- N boards are stepped at once, so one pass of the network chooses N actions, and the network learns
  ``updates_per_step`` times after N frames instead of once after each N / ``updates_per_step``;
- those updates draw their batches together, before the first of them, and share one pass of the target
  network, which stands still meanwhile; with prioritised replay they share the priorities too;
- loss, gradient and optimiser are those of `q_loss` and `adam`: the same numbers, less around them.

References
----------
V. Mnih et al., "Human-level control through deep reinforcement learning", Nature 518, 2015. Different
here: smooth L1 and Adam, a target network that may follow as a moving average, a learning rate that
falls to 0, which is what keeps a good policy from being forgotten.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qstep.deep.adam import Adam
from qstep.deep.checkpoint import State
from qstep.deep.dqn_config import DqnConfig
from qstep.deep.network import Greedy, Stack, modules
from qstep.deep.prioritised import Priorities
from qstep.deep.q_loss import Batches, QLoss
from qstep.deep.replay import Replay
from qstep.envs.board_checks import check_numbers
from qstep.envs.boards import Boards
from qstep.errors import ConfigError

__all__ = ["Dqn", "Ended"]

PHASES = ("select", "step", "store", "learn")


class Ended(NamedTuple):
    """Episodes that ended in one step.

    Attributes
    ----------
    board : ndarray of int64
    score : ndarray of int32
    total : ndarray of float64
        Undiscounted return.
    """

    board: NDArray[np.int64]
    score: NDArray[np.int32]
    total: NDArray[np.float64]


class Dqn:
    """A run of DQN. Call :meth:`step` until :attr:`frames` has reached ``config.frames``.

    Parameters
    ----------
    boards : Boards
        With observations of one number or more.
    config : DqnConfig
    device : torch.device
        Of the networks; boards and replay are on the CPU.

    Attributes
    ----------
    frames, episodes, updates : int
        So far.
    online, target : Stack
        One network each: the one that learns, and the one that follows.
    seconds : dict of str to float
        Spent so far in ``select``, ``step``, ``store`` and ``learn``. On an accelerator, which works
        while the host goes on, what ``learn`` has started is partly waited for in ``select``.

    Raises
    ------
    EnvironmentSpaceError
        The boards' observations are indices into a table.
    ConfigError
        There are more boards than the replay has rows.
    """

    def __init__(self, boards: Boards, config: DqnConfig, device: torch.device) -> None:
        check_numbers(boards)
        if len(boards) > config.replay:
            raise ConfigError(
                f"there are {len(boards)} boards; a step of theirs must fit the replay of "
                f"{config.replay}"
            )
        self.boards, self.config, self.device = boards, config, device
        self.sizes = (boards.inputs, *config.hidden, boards.actions)
        self.networks = Stack.zeros(self.sizes, 2, device)
        self.networks.copy_modules(modules(self.sizes, config.seed))
        self.online, self.target = self.networks[0], self.networks[1]
        self.optimiser = Adam(self.online.flat)
        self.generator = np.random.default_rng(config.seed)
        self.frames = self.episodes = self.updates = self._steps = 0
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._totals = np.zeros(len(boards))
        self._acting = Greedy(self.online, len(boards))
        self.replay = Replay(config.replay, boards.inputs, config.updates_per_step, config.batch)
        self.priorities = Priorities(config.replay) if config.prioritised else None
        self._batches = _on(device, self.replay)
        self._loss = QLoss(config.variant, self.networks, self._batches)

    def step(self) -> Ended:
        """Take one step with every board and learn from what is remembered."""
        boards, config = self.boards, self.config
        began = time.perf_counter()
        seen = boards.observation
        actions = self._select(seen)
        selected = time.perf_counter()
        step = boards.step(actions)
        stepped = time.perf_counter()
        discount = np.where(step.terminated, np.float32(0), np.float32(config.gamma))
        reward = step.reward * np.float32(config.reward_scale)
        rows = self.replay.push_batch(seen, actions, reward, step.next_observation, discount)
        if self.priorities is not None:
            self.priorities.add(rows)
        self.frames += len(boards)
        self._steps += 1
        ended = self._ended(step)
        stored = time.perf_counter()
        if len(self.replay) >= config.warm_up:
            self._learn()
        learnt = time.perf_counter()
        spent = (selected - began, stepped - selected, stored - stepped, learnt - stored)
        for phase, seconds in zip(PHASES, spent, strict=True):
            self.seconds[phase] += seconds
        return ended

    def _select(self, seen: NDArray[np.float32]) -> NDArray[np.int64]:
        epsilon = self.config.epsilon.at(self.frames, self.config.frames)
        actions = self._acting(seen)
        explore = self.generator.random(len(actions)) < epsilon
        drawn = self.generator.integers(self.boards.actions, size=len(actions))
        np.copyto(actions, drawn, where=explore)
        return actions

    def _ended(self, step: Any) -> Ended:
        self._totals += step.reward
        board = np.flatnonzero(step.terminated | step.truncated)
        ended = Ended(board, step.score[board], self._totals[board])
        self._totals[board] = 0
        self.episodes += len(board)
        return ended

    def _learn(self) -> None:
        config, loss = self.config, self._loss
        if self.priorities is None:
            self.replay.uniform(self.generator)
        else:
            rows = self.priorities.draw(config.updates_per_step, config.batch, self.generator)
            self.replay.sample(rows)
            beta = 0.4 + 0.6 * min(self.frames / config.frames, 1.0)
            weight = self.priorities.weights(rows, len(self.replay), beta) / config.batch
            self._batches.weight.copy_(torch.from_numpy(weight))
        if self.device.type != "cpu":  # on the CPU both are the same memory
            _move(self.replay, self._batches)
        rate = config.rate_at(self.frames)
        for batch in range(config.updates_per_step):
            loss.forward(batch)
            self.optimiser.step(loss.backward(batch), rate)
        self.updates += config.updates_per_step
        if self.priorities is not None:
            self.priorities.update(rows, loss.td_error.cpu().numpy())
        if self._steps % config.target_every == 0:
            self.target.flat.lerp_(self.online.flat, config.target_rate)

    def snapshot(self) -> State:
        """Return copies of all that the rest of the run depends on, for :meth:`restore`."""
        kept = {"boards": self.boards.snapshot(), "replay": self.replay.snapshot()}
        if self.priorities is not None:
            kept["priorities"] = self.priorities.snapshot()
        arrays = {f"{room}.{name}": a for room, had in kept.items() for name, a in had.items()}
        return State(
            {
                "counters": {name: getattr(self, name) for name in _COUNTERS},
                "generator": self.generator.bit_generator.state,
            },
            {name: tensor.cpu().clone() for name, tensor in self._tensors().items()},
            {**arrays, "totals": self._totals.copy()},
        )

    def restore(self, state: State) -> None:
        """Go on from a :meth:`snapshot` of a run with equal boards and configuration.

        On the CPU the rest of the run is then bit for bit that of the one which went on.
        """
        self.boards.restore(_room(state, "boards"))
        self.replay.restore(_room(state, "replay"))
        if self.priorities is not None:
            self.priorities.restore(_room(state, "priorities"))
        self._totals[:] = state.arrays["totals"]
        for name, tensor in self._tensors().items():
            tensor.copy_(state.tensors[name])
        self.generator.bit_generator.state = state.head["generator"]
        for name, count in state.head["counters"].items():
            setattr(self, name, count)

    def _tensors(self) -> dict[str, Tensor]:
        optimiser = self.optimiser
        return {
            "online": self.online.flat,
            "target": self.target.flat,
            "adam.mean": optimiser.mean,
            "adam.square": optimiser.square,
            "adam.count": optimiser.count,
        }


_COUNTERS = ("frames", "episodes", "updates", "_steps")


def _room(state: State, name: str) -> dict[str, NDArray[Any]]:
    start = f"{name}."
    return {n.removeprefix(start): a for n, a in state.arrays.items() if n.startswith(start)}


def _on(device: torch.device, replay: Replay) -> Batches:
    """Return the batches on the device: on the CPU the very arrays that the replay samples into."""
    seen, action, reward, discount = (torch.from_numpy(a).to(device) for a in replay.sampled)
    weight = torch.full_like(reward, 1 / reward.shape[1])
    return Batches(seen, action, reward, discount, weight)


def _move(replay: Replay, batches: Batches) -> None:
    for array, tensor in zip(replay.sampled, batches, strict=False):
        tensor.copy_(torch.from_numpy(array))
