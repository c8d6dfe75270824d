"""The result of a network run: its policy, its files and its report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from qstep._io.files import write_atomically
from qstep.deep.algorithms import preset_of
from qstep.deep.network import Spaces, greedy, modules_of, play, spaces_of
from qstep.deep.onnx_model import to_onnx
from qstep.errors import ConfigError, EnvironmentSpaceError, FileFormatError
from qstep.learn.result import Files, History, Result, read_results
from qstep.spec.checks import integer

__all__ = ["NetworkResult", "load_network"]

_NETWORK = "network.safetensors"


@dataclass(frozen=True, repr=False)
class NetworkResult(Result):
    """The result of a network run.

    Attributes
    ----------
    network : torch.nn.Sequential
        The network, on the CPU; its modules have PyTorch's names (``qstep.deep.network.modules``).
    history : History
        ``episodes``: ``steps`` at the end of each training episode, and its ``return``. ``evaluations``:
        ``steps``, ``episodes``, ``greedy_score``, ``greedy_score_low``, ``greedy_score_high``,
        ``greedy_return``, ``greedy_length``, ``learning_s`` and ``peak_mib``.
    """

    name: str
    network: nn.Sequential
    history: History
    report: dict[str, Any]

    def act(self, observation: Any) -> Any:
        """Return the greedy action for an observation: an int, or an array for a Box of actions."""
        action = greedy(self.network, self._spaces)(self._spaces.checked(observation))[0]
        return action if action.ndim else int(action)

    @cached_property
    def _spaces(self) -> Spaces:
        env = preset_of(self.name, self.report["env_kwargs"]).make_env()
        spaces = spaces_of(env.observation_space, env.action_space)
        inputs: Any = self.network[0].in_features
        actions: Any = self.network[-1].out_features
        if (spaces.inputs, spaces.actions) != (inputs, actions):
            raise EnvironmentSpaceError(
                f"{self.name} has observations {env.observation_space} and actions {env.action_space}; "
                f"the network is for {inputs} numbers and {actions} actions"
            )
        return spaces

    def onnx(self) -> bytes:
        """Return the bytes of an ONNX model of the network, which needs neither QStep nor PyTorch.

        The model's input ``observation`` is a batch of N observations from Gymnasium: float32 of shape
        (N, ...) for a Box, int64 of shape (N,) for a Discrete. Its output ``values``, float32 of shape
        (N, actions), are the action values of scaled rewards (`reward_scale`). The greedy action has the
        highest value; ties go to the lowest action. SAC's network has the output ``actions`` instead,
        float32 of shape (N, numbers of an action), in the units of the space. Rounding can put an action
        outside its bounds by 1e-7 of the range. The metadata entry ``report`` contains :attr:`report` as
        JSON.

        Raises
        ------
        EnvironmentSpaceError
            The environment cannot be made, or the network does not fit its spaces.
        ToolMissingError
            The extra ``onnx`` is not installed.
        """
        spaces = self._spaces
        module = nn.Sequential(spaces.reader(), self.network)
        return to_onnx(module, spaces.example(2), spaces.output, self.report)

    def evaluate(
        self, env: gym.Env[Any, Any] | None = None, episodes: int = 100, seed: int = 0
    ) -> dict[str, Any]:
        """Play greedy episodes, each in a separate copy of the environment; see :meth:`Result.evaluate`.

        Returns
        -------
        dict
            ``greedy_score``, ``greedy_score_low``, ``greedy_score_high``, ``greedy_return`` and
            ``greedy_length``.

        Raises
        ------
        EnvironmentSpaceError
            The network does not fit the environment's spaces, or the environment's results contradict
            them.
        """
        given = self.report["env_kwargs"]
        preset = preset_of(self.name, given) if env is None else preset_of(env)
        envs = preset.make_envs(integer("episodes", episodes, 1))
        self._spaces.check_fits(envs)
        return play(envs, greedy(self.network, self._spaces), integer("seed", seed, 0)).columns

    def _files(self) -> Files:
        """Return ``network.safetensors`` and the learning curve."""

        def network(path: Path) -> None:
            write_atomically(path, save(self.network.state_dict()))

        title = f"{self.name}, {self.report['algorithm']}: learning curve"
        curve = partial(_draw_learning_curve, title, self.history, self.report["threshold"])
        return Files({_NETWORK: network}, {"learning_curve.png": curve})


def load_network(folder: Path) -> NetworkResult:
    """Load the result of a network run from its folder; raise the same errors as `qstep.load`."""
    report, history = read_results(folder)
    path = folder / _NETWORK
    try:
        network = modules_of(load_file(path), squash=report["algorithm"] == "sac")
    except (SafetensorError, OSError, ConfigError) as cause:
        raise FileFormatError(f"{path}: cannot be read as a network: {cause}") from cause
    return NetworkResult(report["world"], network, history, report)


def _draw_learning_curve(title: str, history: History, threshold: float | None) -> Figure:
    """Plot returns above scores; in Snake, a return is ten per point, minus a penalty for dying."""
    figure = Figure(figsize=(8, 6), layout="constrained")
    explored, played = figure.subplots(2, 1, sharex=True)
    steps, totals = history["episodes"]["steps"], history["episodes"]["return"]
    window = max(1, len(totals) // 50)
    if len(totals):
        smooth = np.convolve(totals, np.full(window, 1 / window), "valid")
        explored.plot(steps[window - 1 :], smooth, color="tab:blue")
    explored.set_ylabel(f"return while exploring,\nmean of {window} episodes")
    found = history["evaluations"]
    at, low, high = (found[name] for name in ("steps", "greedy_score_low", "greedy_score_high"))
    played.fill_between(at, low, high, color="tab:orange", alpha=0.2, linewidth=0)
    played.plot(at, found["greedy_score"], color="tab:orange", marker=".", markersize=4)
    played.set_ylabel("score of 100 greedy episodes:\nmean, lowest to highest")
    if threshold is not None:
        played.axhline(threshold, color="tab:green", linestyle=":", label=f"solved: {threshold:g}")
        played.legend(loc="best")
    played.set_xlabel("steps")
    played.xaxis.set_major_formatter(EngFormatter(sep=""))
    for axes in (explored, played):
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    return figure
