"""Epsilon's integer schedules approximate the requested ones as closely as possible."""

import pytest

from qstep.errors import ConfigError
from qstep.golden.agents import ActingModel
from qstep.golden.contract import checked_agents
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.epsilon import FALLING, KINDS, Epsilon, threshold
from qstep.spec.settings import AgentSettings, AgentState


def after(epsilon: Epsilon, units: int) -> float:
    """Return epsilon after `units` steps or episodes of the schedule, by the model's own rule."""
    settings = AgentSettings(epsilon=epsilon)
    own = AgentState.first(settings, 0)
    for _ in range(units):
        ActingModel.lower_epsilon(own, settings, ended=True)
    return own.epsilon / (1 << 24)


@pytest.mark.parametrize("over", [1, 7, 100, 12345])
def test_linear_schedule_is_linear(over: int) -> None:
    epsilon = Epsilon(1.0, 0.1, "linear", over)
    near = 0.002 + 0.9 * epsilon.code.period / over  # the decrement is rounded, periods are whole
    for units in (0, over // 3, over // 2, over):
        assert after(epsilon, units) == pytest.approx(1 - 0.9 * units / over, abs=near)
    assert after(epsilon, over + over // 100 + 1) == pytest.approx(0.1, abs=2**-24)


@pytest.mark.parametrize("over", [50, 1000, 20000])
def test_exponential_schedule_falls_to_a_hundredth(over: int) -> None:
    epsilon = Epsilon(0.8, 0.0, "exponential", over, "episodes")
    for units in (over // 2, over):
        exact = 0.8 * 0.01 ** (units / over)
        assert after(epsilon, units) == pytest.approx(exact, rel=0.1)  # 2^-shift


def test_schedules_end_where_they_are_told() -> None:
    assert after(Epsilon(0.8, 0.25, "exponential", 100), 100) == 0.25
    assert after(Epsilon(0.3), 1000) == pytest.approx(0.3, abs=2**-24)


def test_schedule_by_episodes_waits_for_their_ends() -> None:
    settings = AgentSettings(epsilon=Epsilon(1.0, 0.0, "linear", 2, "episodes"))
    own = AgentState.first(settings, 0)
    for ended in (False, False, True, False):
        ActingModel.lower_epsilon(own, settings, ended)
    assert own.epsilon == 1 << 23


def test_threshold_of_one_is_never_reached_by_a_draw() -> None:
    assert threshold(1 << 24) == 1 << 16
    assert threshold(0) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": 1.5}, "epsilon start is 1.5; it must be from 0 to 1"),
        ({"kind": "cosine"}, "epsilon kind is 'cosine'; it must be one of constant, linear, expon"),
        ({"unit": "years"}, "epsilon unit is 'years'; it must be one of steps, episodes, run"),
        ({"over": 0}, "epsilon over is 0; it must be an integer from 1 to 4294967296"),
        *(({"over": share, "unit": "run"}, f"epsilon share is {share}; it must be from 0 to 1")
          for share in (-0.1, 1.1, float("nan"))),
        *(({"start": 0.1, "end": 0.2, "kind": kind},
           "epsilon end is 0.2; it must not be above epsilon start, 0.1") for kind in KINDS),
        ({"start": 1.0, "end": 0.05}, "epsilon end is 0.05, but a constant epsilon stays at its start"),
    ],
)  # fmt: skip
def test_bad_schedules_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Epsilon(**options)  # type: ignore[arg-type]


def test_share_of_a_run_is_counted() -> None:
    assert FALLING.counted(101, "episodes") == Epsilon(1.0, 0.05, "linear", 50, "episodes")
    assert Epsilon(1.0, 0.5, "linear", 0.1, "run").counted(9, "steps") == Epsilon(0.5)
    assert Epsilon(0.5, unit="run").counted(9, "steps") == Epsilon(0.5)
    with pytest.raises(
        ConfigError, match=r"share is 0\.5, which is 4294967297 .* at most 4294967296 steps"
    ):
        FALLING.counted((1 << 33) + 2, "steps")
    with pytest.raises(
        ConfigError, match=r"epsilon unit is 'run'; a device counts steps or episodes"
    ):
        checked_agents(Config(25, 4, acting=Acting()), [AgentSettings(epsilon=FALLING)], 0)
