"""Options, runs and text output shared by `qstep dqn`, `qstep pqn` and `qstep sac`.

Every field of a configuration is an option of the same name, described by its docstring. An option that
is not given stays None, and the configuration keeps its default. The configuration checks the values.
"""

from __future__ import annotations

import inspect
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, get_args

import click

from qstep._io import extras
from qstep.cli._drive import (
    Job,
    RunOptions,
    drive,
    files_in_words,
    metrics_option,
    run_options,
)
from qstep.cli._options import (
    POSITIVE,
    CommaList,
    Decorator,
    env_kwargs_option,
    folder_of,
    option,
    seed_option,
    stack,
    torch_device_option,
)
from qstep.deep.config import Variant
from qstep.learn.result import Result

__all__ = ["changes", "hyperparameter_options", "interval", "network_options", "train"]

_OWN = "total_timesteps", "seed"
"""Fields that are already options in :func:`network_options`."""

_EPSILON = {
    "epsilon_start": ("start", "Initial epsilon, 0..1."),
    "epsilon_end": ("end", "Final epsilon, 0..1, and at most --epsilon-start."),
    "epsilon_share": (
        "over",
        "Share of the run during which epsilon falls, 0..1; 0 means --epsilon-end from the beginning.",
    ),
}
"""The field of the epsilon schedule that each option sets, and the option's help."""

_TYPES: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "tuple[int, ...]": CommaList(int, "integers such as 64,64"),
    "Variant": click.Choice(get_args(Variant)),
}
"""Click type of an option, by the annotation of its field."""


def hyperparameter_options(kind: type) -> Decorator:
    """Return one option per field of a configuration, with its help from the docstring."""
    said: dict[str, str] = {}
    for part in reversed(kind.__mro__[:-1]):  # each class describes the fields that it declares
        said |= _described(part)
    config = kind()
    options = []
    for field in fields(kind):
        if field.name == "epsilon":
            for name, (own, words) in _EPSILON.items():
                options.append(_made(name, "float", words, getattr(config.epsilon, own)))
        elif field.name not in _OWN:
            default = getattr(config, field.name)
            options.append(_made(field.name, str(field.type), said[field.name], default))
    return stack(*options)


def network_options(algorithm: str) -> Decorator:
    """Return the options of every command that trains a network; `algorithm` names its folder."""
    own = "  [default: the environment's own]"
    envs, seeds = click.IntRange(1, 65536), click.IntRange(1, 1000)
    games = f"Play 100 greedy episodes every K episodes.{own}"
    return stack(
        click.argument("environment", metavar="WORLD"),
        env_kwargs_option,
        torch_device_option("cpu"),
        option("--total-timesteps", f"Length of the run.{own}", type=POSITIVE),
        option("--num-envs", f"Environments that are stepped together.{own}", type=envs),
        option("--episodes", f"Stop after this many episodes.{own}", type=POSITIVE),
        option("--evaluate-every", games, type=POSITIVE, metavar="K"),
        seed_option,
        option(
            "--seeds", "Number of runs, with consecutive seeds from SEED.", type=seeds, default=1
        ),
        run_options(f"runs/{algorithm}-WORLD", "the summaries", metrics_option),
    )


def changes(config: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a configuration that the given options change, with their new values."""
    found = {name: value for name, value in given.items() if value is not None}
    epsilon = {own: found.pop(name) for name, (own, _) in _EPSILON.items() if name in found}
    if epsilon:
        found["epsilon"] = replace(config.epsilon, **epsilon)
    return found


def _made(name: str, kind: str, words: str, default: Any) -> Decorator:
    """Return the option for a field whose annotation is `kind`."""
    flag = _flag(name)
    if kind == "bool":
        flag = f"{flag}/--no-{flag[2:]}"
    return option(flag, f"{words}  [default: {_typed(default)}]", type=_TYPES[kind], default=None)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _typed(value: Any) -> str:
    """Return a default as a user would type it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else f"{value}"


def _described(kind: type) -> dict[str, str]:
    """Return the description of each name in a docstring's Parameters section, as one line each.

    A reference to another field becomes a reference to that field's option.
    """
    text = inspect.getdoc(kind) or ""
    section = re.split(r"^Parameters\n-+\n|^Raises\n-+\n", text, flags=re.MULTILINE)[1]
    entries = re.findall(r"^(\S.*?) : .*\n((?:[ ]+.*\n|\n)*)", section + "\n", re.MULTILINE)
    named = "|".join(field.name for field in fields(kind))
    reference = re.compile(f"(?<!`)`({named})`(?!`)")
    return {
        name: " ".join(reference.sub(lambda found: _flag(found[1]), what).replace("`", "").split())
        for name, what in entries
    }


def train(
    environment: str,
    algorithm: str,
    torch_device: str,
    seed: int,
    seeds: int,
    **settings: Any,
) -> None:
    """Run the seeds one after another and write the results."""
    extras.load("qstep.deep.run", "torch")  # PyTorch loads slowly, and may not be installed
    from qstep.deep.algorithms import ALGORITHMS, preset_of
    from qstep.deep.run import NetworkRun

    how = RunOptions.taken(settings)
    folder = how.folder(f"{algorithm.split()[0]}-{folder_of(environment)}")
    preset = preset_of(environment, settings["env_kwargs"])
    config = ALGORITHMS[algorithm].settings_for(preset, seed).config
    given = changes(config, settings)

    def job(number: int) -> Job:
        run = partial(NetworkRun, environment, algorithm, torch_device, seed=number, **given)
        return Job(lambda _: run(), folder if seeds == 1 else folder / f"seed-{number}")

    drive([job(number) for number in range(seed, seed + seeds)], how, _in_words, _all_in_words)


def _in_words(report: dict[str, Any], _: Result) -> list[str]:
    from qstep.deep.run import GAMES

    seconds, steps = report["seconds"], report["steps"]
    lines = [
        f"{report['world']} seed {report['seed']}, {report['algorithm']}: {steps} steps, "
        f"{report['episodes']} episodes, {report['updates']} updates in {seconds} s "
        f"({report['processor_s']} s of processor time)",
        f"greedy score of the best network, from step {report['kept_at']}: mean "
        f"{report['greedy_score']:.1f} over {GAMES} new episodes, lowest "
        f"{report['greedy_score_low']:g}, highest {report['greedy_score_high']:g}"
        + _solved_in_words(report),
    ]
    total = sum(report["phases"].values()) or 1.0
    shares = (f"{name} {part} s ({part / total:.0%})" for name, part in report["phases"].items())
    lines.append("time: " + ", ".join(shares))
    if report["first_and_last"] is not None:
        time_us, memory = (report["first_and_last"][what] for what in ("us_per_step", "peak_mib"))
        lines.append(
            f"from the first thousand episodes to the last: {time_us[0]} to {time_us[1]} us of "
            f"processor time per step, {memory[0]} to {memory[1]} MiB of peak memory"
        )
    return lines + files_in_words(report)


def _solved_in_words(report: dict[str, Any]) -> str:
    if report["solved"] is None:
        return ""
    first = report["solved_at"]
    when = "" if first is None else f" (first at step {first})"
    return f"; solved{when}" if report["solved"] else f"; not solved{when}; {report['hint']}"


_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Two-sided 95 % quantiles of Student's t distribution, for 1, 2, ... degrees of freedom."""


def interval(means: Sequence[float]) -> float | None:
    """Return half the width of the 95 % confidence interval of the mean of 2 to 10 runs, else None."""
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
