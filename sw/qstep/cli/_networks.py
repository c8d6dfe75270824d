"""What `qstep dqn` and `qstep pqn` do with their options: runs, checkpoints, results."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qstep.cli._drive import Job, RunOptions, drive
from qstep.cli._hyperparameters import changes
from qstep.deep.algorithms import ALGORITHMS, preset_of
from qstep.deep.run import GAMES, NetworkRun, network_run

__all__ = ["interval", "train"]


def train(
    environment: str,
    algorithm: str,
    torch_device: str,
    seed: int,
    seeds: int,
    **settings: Any,
) -> None:
    """Run the seeds one after the other and write the results."""
    how = RunOptions.taken(settings)
    folder = how.folder(f"{algorithm.split()[0]}-{Path(environment).stem}")
    preset = preset_of(environment, settings["env_kwargs"])
    config = ALGORITHMS[algorithm].settings_for(preset, seed).config
    given = changes(config, settings)

    def job(number: int) -> Job:
        def make(_: Mapping[str, Any]) -> NetworkRun:
            return network_run(environment, algorithm, torch_device, seed=number, **given)

        return Job(make, folder if seeds == 1 else folder / f"seed-{number}")

    drive(
        [job(number) for number in range(seed, seed + seeds)],
        how,
        lambda report, _: _in_words(report),
        _all_in_words,
    )


def _in_words(report: dict[str, Any]) -> str:
    seconds, steps = report["seconds"], report["steps"]
    lines = [
        f"{report['world']} seed {report['seed']}, {report['algorithm']}: {steps} steps, "
        f"{report['episodes']} episodes, {report['updates']} updates in {seconds} s "
        f"({report['processor_s']} s of processor time)",
        f"greedy score of the last network: mean {report['greedy_score']:.1f} of {GAMES} episodes, "
        f"lowest {report['greedy_score_low']:g}, highest {report['greedy_score_high']:g}"
        + _solved_in_words(report),
    ]
    total = sum(report["phases"].values()) or 1.0
    shares = (f"{name} {part} s ({part / total:.0%})" for name, part in report["phases"].items())
    lines.append("time: " + ", ".join(shares))
    if report["first_and_last"] is not None:
        time_us, memory = (report["first_and_last"][what] for what in ("us_per_step", "peak_mib"))
        lines.append(
            f"from the first thousand episodes to the last: {time_us[0]} to {time_us[1]} us of "
            f"processor time a step, {memory[0]} to {memory[1]} MiB of memory at most"
        )
    return "\n".join([*lines, *(f"{what}: {path}" for what, path in report["files"].items())])


def _solved_in_words(report: dict[str, Any]) -> str:
    if report["solved"] is None:
        return ""
    first = report["solved_at"]
    when = "" if first is None else f" (first at step {first})"
    return f"; solved{when}" if report["solved"] else f"; not solved{when}; {report['hint']}"


_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t, two-sided 95 %, by degrees of freedom from 1."""


def interval(means: Sequence[float]) -> float | None:
    """Return half of the 95 % interval of the mean of 2 to 10 runs, by Student's t; else None."""
    freedom = len(means) - 1
    if not 1 <= freedom <= len(_T_95):
        return None
    return _T_95[freedom - 1] * statistics.stdev(means) / math.sqrt(len(means))


def _all_in_words(reports: list[dict[str, Any]]) -> str:
    means = [report["greedy_score"] for report in reports]
    half = interval(means)
    bounds = "" if half is None else f" +- {half:.1f} (95 % interval)"
    line = (
        f"{len(means)} seeds: mean score {sum(means) / len(means):.1f}{bounds}, "
        f"lowest {min(means):.1f}"
    )
    if reports[0]["solved"] is not None:
        line += f"; solved by {sum(report['solved'] for report in reports)} of {len(reports)}"
    slowest = max(reports, key=lambda report: report["seconds"])
    return line + f"; slowest {slowest['seconds']} s ({slowest['processor_s']} s of processor time)"
