"""What `qstep agents` does with its options: progress, checkpoints, results."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from qstep._io import extras
from qstep._io.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from qstep._io.pictures import write_pictures
from qstep._io.run_folder import run_folder
from qstep.cli._console import task_bar
from qstep.cli._interrupt import command_line, on_interrupt
from qstep.cli._json import JsonOutput
from qstep.cli._room import room_for
from qstep.envs import GridWorld, make
from qstep.envs.maps import map_of
from qstep.errors import CheckpointError, ConfigError, EnvironmentSpaceError
from qstep.learn.host_plots import draw_policy
from qstep.learn.table_result import optimum, optimum_in_words
from qstep.mdp.world import World
from qstep_bench.baselines.learning import AgentsLearning, Watch
from qstep_bench.baselines.progress import AgentsProgress, OnProgress

__all__ = ["learn"]

_MODULES = {"plain": "torch_plain", "fast": "torch_batched", "graph": "torch_graph"}
_REPORTS = 10


def learn(
    env_id: str,
    form: str,
    torch_device: str,
    updates: int,
    out: Path | None,
    resume: bool,
    overwrite: bool,
    json_output: JsonOutput,
    **hyper: Any,
) -> None:
    """Let agents learn a grid world and write the results.

    `hyper` holds the other parameters of the form's `learn`. A checkpoint is saved after every report.
    """
    grid = make(env_id, 0).unwrapped
    if not isinstance(grid, GridWorld):
        raise EnvironmentSpaceError(f"{env_id} is not a grid world; these agents need a map")
    if resume and form == "plain":
        raise ConfigError("the plain form keeps no checkpoint to resume; fast and graph do")
    module = extras.load(f"qstep_bench.baselines.{_MODULES[form]}", "torch")
    device = extras.load("qstep.deep.torch_device", "torch").choose(torch_device).type
    folder = out or Path("runs") / f"agents-{Path(env_id).stem}"

    told: list[AgentsProgress] = []
    identity = {
        "command": "agents",
        "form": form,
        "device": device,
        "map": grid.rows,
        **hyper,
        "torch": extras.load("torch", "torch").__version__,
    }
    with run_folder(folder, resume, overwrite) as file, room_for(json_output.file):
        saved = None if form == "plain" else _Saved(file, identity, told)
        kept = saved.options(resume) if saved else {}
        before = told[-1].updates if told else 0
        if saved:
            on_interrupt(saved.in_words)
        begun = time.monotonic()
        with _watched(told, updates) as report:
            table = module.learn(
                grid.deterministic_model(),
                updates,
                AgentsLearning(**hyper),
                device,
                Watch(report=report, every=-(-updates // _REPORTS), **kept),
            )
        seconds = time.monotonic() - begun
        q = extras.load("qstep_bench.baselines.torch_batched", "torch").to_array(table)
        if saved is None:
            file.unlink(missing_ok=True)  # these results replace the run that it belongs to
        on_map = map_of(grid)
        assert on_map is not None
        result = {
            "env_id": env_id,
            "form": form,
            "torch_device": device,
            "updates": told[-1].updates,
            **hyper,
            "seconds": round(seconds, 3),
            "updates_per_second": round((told[-1].updates - before) / seconds),
            "episodes": sum(progress.episodes for progress in told),
            "wins": sum(progress.wins for progress in told),
            "win_rate": told[-1].win_rate,
            "optimum": optimum(World.from_env(grid), hyper["gamma"], q),
            "progress": [
                {**progress._asdict(), "win_rate": progress.win_rate} for progress in told
            ],
            "folder": str(folder),
        }
        json_output.tell(result, lambda: click.echo(_in_words(result)))
        draw = partial(draw_policy, f"{env_id}: greedy policy", on_map, q)
        write_pictures({folder / "policy.png": draw})


class _Saved:
    """The checkpoint of a run, with everything reported so far."""

    def __init__(self, file: Path, identity: dict[str, Any], told: list[AgentsProgress]) -> None:
        self._file, self._identity, self._told = file, identity, told
        self._updates: int | None = None

    def options(self, resume: bool) -> dict[str, Any]:
        """Return the options that make a form's `learn` keep the checkpoint and resume from it."""
        if not resume:
            return {"keep": self._keep}
        checkpoint = load_checkpoint(self._file, self._identity)
        try:
            self._told += [AgentsProgress(*entry) for entry in checkpoint.head["told"]]
            self._updates = self._told[-1].updates
        except (KeyError, IndexError, TypeError, AttributeError) as cause:
            raise CheckpointError(f"{self._file}: does not say how far the run got") from cause
        return {"keep": self._keep, "resume": checkpoint}

    def in_words(self) -> str | None:
        """Return how far the saved run got, and how to resume it; None where nothing is saved."""
        if self._updates is None:
            return None
        return f" after {self._updates} updates; to resume, run: {command_line('--resume')}"

    def _keep(self, checkpoint: Checkpoint) -> None:
        told = Checkpoint({**checkpoint.head, "told": self._told}, checkpoint.arrays)
        save_checkpoint(self._file, told, self._identity)
        self._updates = self._told[-1].updates


@contextmanager
def _watched(told: list[AgentsProgress], updates: int) -> Iterator[OnProgress]:
    """Yield a function that keeps each report and shows it on stderr above a progress bar."""
    with task_bar() as bar:
        task = bar.add_task("agents", total=updates)

        def report(progress: AgentsProgress) -> None:
            told.append(progress)
            bar.update(task, completed=progress.updates)
            bar.console.print(
                f"{progress.updates:,} updates: {progress.win_rate:.1%} of {progress.episodes:,} "
                f"episodes won, start worth {progress.start_value:.4f}",
            )

        yield report


def _in_words(result: dict[str, Any]) -> str:
    return (
        f"{result['env_id']}, {result['agents']} agents on {result['torch_device']}, "
        f"{result['form']}: {result['updates']:,} updates in {result['seconds']:.1f} s, "
        f"{result['updates_per_second']:,}/s; {result['episodes']:,} episodes, "
        f"{result['wins']:,} won, lately {result['win_rate']:.1%}\n"
        f"{optimum_in_words(result['optimum'])}\n"
        f"results: {result['folder']}"
    )
