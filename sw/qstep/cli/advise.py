"""``qstep advise``: which number format a world needs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from qstep._io.pictures import write_pictures
from qstep.cli._options import ROUNDINGS, FiniteRange, option, plot_option, seed_option
from qstep.cli._output import JsonOutput, json_option, room_for, task_progress

__all__ = ["command"]


@click.command(short_help="Find the narrowest number format that suffices to learn a world.")
@click.argument("world")
@option(
    "--alpha",
    "Learning rate, 0..1.  [default: about 0.5; about 1/256 in a stochastic world; as in qstep train "
    "for CartPole-v1 and MountainCar-v0]",
    type=FiniteRange(0, 1),
)
@option(
    "--gamma",
    "Discount, 0..1; below 1 with a transition table.  [default: 0.9, or as above]",
    type=FiniteRange(0, 1),
)
@option("--steps", "Steps for each of 5 agents.  [default: depends on the world's size]", type=int)
@option("--width", "Widest format to try, 8..32 bits.", "most_width", default=20)
@option(
    "--rounding",
    "A rounding mode to try; may be repeated.  [default: all]",
    "roundings",
    type=ROUNDINGS,
    multiple=True,
    default=ROUNDINGS.choices,
    show_default=False,
)
@seed_option
@json_option("all trials")
@plot_option("Picture of the outcomes of all formats", "build/advise.png")
def command(world: str, json_output: JsonOutput, plot_file: Path, **options: Any) -> None:
    """Train agents on WORLD in every format on the compiled model; name the narrowest that suffices.

    A format suffices if its greedy policy has the same start value as the policy of value iteration
    (within 1 % in a stochastic world), and all formats with more fraction bits suffice too. WORLD is a
    map, a world file, an environment with a transition table, CartPole-v1 or MountainCar-v0. In the last
    two, a policy suffices if its mean return is at most 5 % below the solved threshold.
    """
    from qstep.learn.advise import advise
    from qstep.learn.advise_views import draw, render, sentence
    from qstep.mdp.world import World
    from qstep.spec.integer_worlds import INTEGER_WORLDS

    named = INTEGER_WORLDS.get(world) or World.named(world)
    with room_for(json_output.file, plot_file), task_progress(world) as progress:
        advice = advise(named, **options, progress=progress)
    json_output.tell(advice, render(advice, world), sentence(advice, world))
    write_pictures({plot_file: partial(draw, advice, world)})
    json_output.note(plot_file)
