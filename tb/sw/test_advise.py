"""`qstep advise` tries all formats, names the narrowest sufficient one, and explains why others fail."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tb.sw.command_line import ran, refused, told

from qstep.errors import ConfigError, FileFormatError, WorldError
from qstep.golden.lane import exact_value
from qstep.learn.advise import AGENTS, Outcome, Trial, advise, format_of, judged
from qstep.learn.advise_views import render, sentence
from qstep.learn.plan import dead_zone
from qstep.mdp.world import World
from qstep.spec.fixed import QFormat, Rounding, coefficients
from qstep.spec.integer_worlds import CART_POLE, IntegerWorld

STEPS = 1 << 15
NEAREST = [Rounding.NEAREST]


@pytest.mark.parametrize("alpha", [0.5, 0.25, 1 / 256])
@pytest.mark.parametrize("rounding", [Rounding.NEAREST, Rounding.FLOOR])
def test_errors_in_the_dead_zone_alone_change_nothing(rounding: Rounding, alpha: float) -> None:
    number_format = QFormat(8, 6)
    zone = dead_zone(number_format, rounding, alpha)
    bias = (1 << 14) * (rounding is Rounding.NEAREST)
    reach = int(2 / alpha) + 2
    q = 1000
    still = {
        error
        for error in range(-reach, reach + 1)
        if exact_value(coefficients(alpha, 0.0), q, q + error, 0, bias) == q
    }
    raw_low, raw_high = (end / number_format.resolution for end in zone)
    inside = {error for error in range(-reach, reach + 1) if raw_low < error < raw_high}
    assert inside < still <= inside | {int(raw_low), int(raw_high)}
    assert dead_zone(number_format, Rounding.STOCHASTIC, alpha) == (0, 0)


@pytest.fixture(scope="module")
def maze() -> dict[str, Any]:
    return advise(World.named("gridworld-8x8"), steps=STEPS, most_width=14, roundings=NEAREST)


def test_formats_that_are_too_coarse_are_in_the_dead_zone(maze: dict[str, Any]) -> None:
    best = maze["narrowest"]
    assert (best["outcome"], best["loss"]) == (Outcome.REACHED, 0)
    narrower = [trial for trial in maze["trials"] if trial["width"] < best["width"]]
    assert {trial["outcome"] for trial in narrower} == {Outcome.DEAD_ZONE}
    assert all(trial["loss"] > 0.01 for trial in narrower)
    assert {trial["width"] for trial in maze["trials"]} == set(range(8, 15))


def test_too_few_steps_are_not_enough() -> None:
    short = advise(World.named("gridworld-8x8"), steps=50, most_width=14, roundings=NEAREST)
    assert short["narrowest"] is None
    assert short["trials"][-1]["outcome"] == Outcome.NOT_ENOUGH
    assert sentence(short, "gridworld-8x8").startswith(
        "No format that was tried reaches the policy"
    )


def endless(reward: float = 1.5) -> World:
    """Return a never-ending world: action 1 pays best in state 0, but values far exceed all rewards."""
    return World.from_arrays(
        state=[0, 0, 1, 1],
        action=[0, 1, 0, 1],
        next_state=[1, 1, 0, 0],
        reward=[1, reward, 1, 1],
        terminated=[False] * 4,
        start_state=[0],
        max_episode_steps=50,
    )


@pytest.mark.slow
def test_formats_of_too_small_a_range_saturate() -> None:
    advice = advise(endless(), gamma=0.98, steps=STEPS, most_width=11, roundings=NEAREST)
    outcomes: dict[int, set[Outcome]] = {}
    for trial in advice["trials"]:
        bits = format_of(trial).integer
        outcomes.setdefault(bits, set()).add(trial["outcome"])
        assert (trial["saturated"] > 0) == (bits < 7)
    assert {bits for bits, found in outcomes.items() if Outcome.SATURATION in found} >= {2, 3, 4, 5}
    assert format_of(advice["narrowest"]).integer == 7


def trial(fraction: int, outcome: Outcome, integer: int = 4) -> Trial:
    found = {"format": f"Q{integer}.{fraction}", "width": integer + fraction, "rounding": "nearest"}
    return {**found, "outcome": outcome.value, "loss": 0.0, "saturated": 0.0, "dead_zone": 0.0}


LUCKY, FAILED, FIRST, WIDER = (
    trial(4, Outcome.REACHED),
    trial(5, Outcome.NOT_ENOUGH),
    trial(6, Outcome.REACHED),
    trial(7, Outcome.REACHED),
)


def advice_of(*trials: Trial) -> dict[str, Any]:
    settings: dict[str, Any] = {"alpha": 0.5, "gamma": 0.9, "discount": 0.9, "coefficient_bits": 15}
    settings |= {"planes": 1, "goal": None, "steps_per_agent": 1}
    return judged([dict(trial) for trial in trials], settings)


def test_a_format_that_reaches_the_policy_by_luck_is_not_advised() -> None:
    def judgement(*trials: Trial) -> tuple[str | None, list[str | None]]:
        advice = advice_of(*trials)
        best = advice["narrowest"]
        return best and best["format"], [trial["contradicted_by"] for trial in advice["trials"]]

    assert judgement(LUCKY, FAILED, FIRST, WIDER) == ("Q4.6", ["Q4.5", None, None, None])
    assert judgement(LUCKY, FAILED, trial(6, Outcome.DEAD_ZONE)) == (None, ["Q4.6", None, None])
    other = trial(4, Outcome.REACHED, integer=5)
    assert judgement(LUCKY, FAILED, FIRST, WIDER, other)[0] == "Q5.4"


def table_of(advice: dict[str, Any]) -> list[str]:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render(advice, "world"))
    return console.export_text().splitlines()


def rows(*trials: Trial) -> list[str]:
    """Return the rows of the table that shows these trials, without borders."""
    lines = table_of(advice_of(*trials))
    return [line.strip("│ ").replace("│ ", "") for line in lines if line.startswith("│")]


def test_a_cell_says_which_format_shows_that_the_policy_was_reached_by_luck() -> None:
    failed = "Q4.5 not enough, loss 0.0%"
    assert [row.rstrip() for row in rows(LUCKY, FAILED, FIRST)] == [
        "8 Q4.4 reached, but Q4.5 fails",
        f"9 {failed}",
        "10 Q4.6 reached",
    ]
    assert rows(trial(5, Outcome.SATURATION))[0].rstrip() == "9 Q4.5 saturation 0.0%, loss 0.0%"
    lasting = trial(3, Outcome.REACHED, integer=5)
    assert rows(LUCKY, FAILED, lasting)[0].rstrip() == "8 Q5.3 reached"


@pytest.mark.parametrize(
    ("reward", "options", "text"),
    [
        (
            1,
            {"gamma": 1.0},
            r"gamma is 1\.0; it must be at least 0 and below 1 for value iteration",
        ),
        (1, {"most_width": 7}, "width is 7; it must be an integer from 8 to 32"),
        (1, {"steps": 0}, "steps is 0; it must be an integer from 1 to"),
        (1, {"alpha": 1.5}, "alpha is 1.5"),
        (1000, {"most_width": 9}, "width is 9; rewards of 1 to 1000 need 11 bits"),
    ],
)
def test_values_out_of_range_are_refused(reward: int, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        advise(endless(reward), **options)


@pytest.mark.parametrize(
    ("world", "options", "text"),
    [
        (
            CART_POLE,
            {"alpha": 1e-9},
            r"alpha is 1e-09, 1\.25e-10 in each of 8 planes; .* from 1\.52588e-05 to 1$",
        ),
        (CART_POLE, {"gamma": 1.5}, r"gamma is 1\.5"),
        (CART_POLE.limited(0), {}, "max_episode_steps is 0; greedy episodes need a step limit"),
    ],
)
def test_values_that_tiles_cannot_learn_with_are_refused(
    world: IntegerWorld, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        advise(world, **options)


@pytest.mark.slow
def test_cartpole_seen_through_tiles_is_learned_with_six_fraction_bits() -> None:
    advice = advise(CART_POLE, most_width=12, roundings=NEAREST)
    assert (advice["goal"], advice["planes"]) == (475, 8)
    outcomes = {trial["format"]: trial["outcome"] for trial in advice["trials"]}
    assert advice["narrowest"]["format"] == "Q5.6"
    assert outcomes["Q6.5"] == Outcome.DEAD_ZONE  # the first reward is rounded to 0 in each plane
    assert outcomes["Q4.7"] == Outcome.SATURATION
    assert outcomes["Q6.6"] == Outcome.REACHED
    few = advise(CART_POLE, steps=100, most_width=12, roundings=NEAREST)
    assert few["narrowest"] is None
    assert few["trials"][-1]["outcome"] == Outcome.NOT_ENOUGH
    assert "how much less than 475 the greedy policy returns" in " ".join(
        " ".join(table_of(advice)).split()
    )


def test_the_command_answers_in_words_json_and_a_picture_that_train_takes(tmp_path: Path) -> None:
    picture, file = tmp_path / "advice.png", tmp_path / "advice.json"
    words = f"advise gridworld --width 9 --steps 20000 --plot {picture}"
    said = ran(words, "--json", file).output
    assert picture.read_bytes().startswith(b"\x89PNG")
    tree = json.loads(file.read_text(encoding="utf-8"))
    best = tree["narrowest"]
    assert {trial["rounding"] for trial in tree["trials"]} == {"nearest", "floor", "stochastic"}
    assert tree["agents"] == AGENTS
    (line,) = [line for line in said.splitlines() if line.startswith("Try: ")]
    assert f"--format {best['format']} --rounding {best['rounding']} --alpha 0.5 --gamma" in line
    *_, after = line.partition("qstep ")
    ran(after, "--episodes", "500", "--out", tmp_path / "run")
    alone = told(f"{words} --rounding nearest")
    assert {trial["rounding"] for trial in alone["trials"]} == {"nearest"}


def test_the_command_tries_nothing_where_no_format_is_enough(tmp_path: Path) -> None:
    result = ran("advise gridworld --width 8 --steps 64 --plot", tmp_path / "advice.png")
    assert "Try: " not in result.output


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("snake --plot a.png", WorldError, "snake"),
        ("gridworld --plot a.doc", FileFormatError, "'.doc' is not a picture format"),
    ],
)
def test_the_command_refuses_what_it_cannot_learn_or_draw(
    words: str, error: type[Exception], text: str, own_folder: Path
) -> None:
    refused(f"advise {words}", error, text)
    assert not list(own_folder.iterdir())
