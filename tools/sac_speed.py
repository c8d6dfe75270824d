"""Compare the speed of SAC in QStep with that in Stable-Baselines3, in alternating runs.

    pip install stable-baselines3
    python -m tools.sac_speed [UNITS [THREADS [TURNS]]]

Both use the same network, batch size and number of updates. This comparison is not a variant of
`qstep bench`, because each library needs a separate process: how one library frees memory changes how
fast the other allocates it.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

_START, _STEPS = 300, 100


def _ours(units: int) -> Callable[[int], object]:
    from qstep.deep.run import NetworkRun

    run = NetworkRun("Pendulum-v1", "sac", hidden=(units, units), learning_starts=_START)
    run.open(None)
    # The run's number of threads applies as long as the run object exists.
    return lambda steps: [run.learner.step() for _ in range(steps)]


def _theirs(units: int) -> Callable[[int], object]:
    import gymnasium
    from stable_baselines3 import SAC  # type: ignore[import-not-found]  # not needed by QStep

    network = {"net_arch": [units, units]}
    env = gymnasium.make("Pendulum-v1")
    model = SAC("MlpPolicy", env, policy_kwargs=network, learning_starts=_START, device="cpu")
    return lambda steps: model.learn(steps, reset_num_timesteps=model.num_timesteps == 0)


_SYSTEMS = {"qstep": _ours, "stable-baselines3": _theirs}


def _work(name: str, units: int, threads: int, pipe: Connection) -> None:
    """Train for the number of steps in each message; answer with the seconds taken."""
    import torch

    torch.set_num_threads(threads)
    train = _SYSTEMS[name](units)  # QStep then uses one thread if the network is small
    train(_START + 50)
    pipe.send("ready")
    while True:
        steps = pipe.recv()
        clock, processor = time.perf_counter(), time.process_time()
        train(steps)
        pipe.send((time.perf_counter() - clock, time.process_time() - processor))


def main(units: int = 256, threads: int = 2, turns: int = 9) -> None:
    """Print the medians, and the lowest and highest ratios, over all turns."""
    spawn = multiprocessing.get_context("spawn")
    pipes = []
    for name in _SYSTEMS:
        ours, its = spawn.Pipe()
        spawn.Process(target=_work, args=(name, units, threads, its), daemon=True).start()
        its.close()  # so that this process ends if the other one dies
        ours.recv()
        pipes.append(ours)
    rounds = []
    for _ in range(turns):
        for pipe in pipes:
            pipe.send(_STEPS)
            rounds.append(pipe.recv())
    print(f"{units} units, {threads} threads; steps a second")
    for kind, what in enumerate(("by the clock", "of processor time")):
        own, their = ([_STEPS / spent[kind] for spent in rounds[which::2]] for which in (0, 1))
        ratios = [mine / other for mine, other in zip(own, their, strict=True)]
        print(
            f"{what}: QStep {statistics.median(own):.0f}, Stable-Baselines3 "
            f"{statistics.median(their):.0f}, ratio {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f}..{max(ratios):.2f})"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
