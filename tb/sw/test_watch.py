"""A watched run matches a plain run bit for bit, no matter how it is played and controlled."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qstep.device import open_agents, open_device
from qstep.envs import make, table_size
from qstep.errors import ClosedError, ConfigError, LinkError
from qstep.golden.agents_fast import FastActingModel
from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import AgentsResult
from qstep.learn.host import HostRun, Plan
from qstep.learn.plan import AgentsPlan, Budget, planned
from qstep.learn.train import train
from qstep.live import controller as controlled
from qstep.live.controller import Controller
from qstep.live.run import MOST_POINTS, Mark, View, Watched, WatchedAgents, WatchedHost
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import Rounding
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.settings import AgentSettings, Hyperparameters

SETTINGS = AgentSettings(0.5, 0.9, Epsilon(0.2), 5)


def soon(holds: Callable[[], Any], seconds: float = 30) -> Any:
    """Wait until a condition is true, and return its value."""
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it does not come true"
        time.sleep(0.02)
    return found


def plan_of(world: str = "gridworld", steps: int = MOST_STEPS, **options: Any) -> AgentsPlan:
    return planned(world, budget=Budget(steps), settings=SETTINGS, **{"agents": 2, **options})


def agents_run(
    plan: AgentsPlan, url: str = "model", stand_in: type[FastActingModel] | None = None
) -> tuple[WatchedAgents, AgentsRun]:
    """Return a watched run and its underlying run; the model `stand_in` can replace the device."""
    run = AgentsRun("a world", url, plan)
    if stand_in is None:
        return WatchedAgents(run), run
    with mock.patch("qstep.learn.agents.open_agents", lambda _, *given: stand_in(*given)):
        return WatchedAgents(run), run


@contextmanager
def watched(
    plan: AgentsPlan | None = None,
    url: str = "model",
    speed: int = 0,
    stand_in: type[FastActingModel] | None = None,
) -> Iterator[tuple[Controller, Any]]:
    """Yield the controller of a run, and the run's device."""
    view, run = agents_run(plan or plan_of(), url, stand_in)
    with closing(run), Controller(view, speed) as controller:
        yield controller, run.device


def assert_trained(view: View, steps: int, plan: AgentsPlan) -> None:
    """Check that the view matches the result of `qstep.train` after `steps`, except the final point."""
    result = train(plan.world or "", steps=steps, settings=plan.settings, config=plan.config)
    assert isinstance(result, AgentsResult)
    assert np.array_equal(view.q, result.policy_q)
    assert view.counters == result.counters
    assert view.steps == steps
    assert str(view.points) == str(result.points[: len(view.points)])  # as NaN differs from itself
    assert len(view.points) >= len(result.points) - 1


def held(view: View) -> tuple[Any, ...]:
    return view.q.tolist(), view.settings, view.states, view.counters, str(view.points)


PLANS = {
    "own tables": plan_of(),
    "one table": plan_of(shared_table=True),
    "double": plan_of(algorithm="double-q"),
    "chance": plan_of("FrozenLake-v1", rounding="stochastic", algorithm="expected-sarsa"),
    "no map": plan_of("Taxi-v3"),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_steps_are_those_of_the_plain_run(plan: AgentsPlan) -> None:
    with watched(plan) as (controller, device):
        controller.step(700)
        view = controller.step(1).result()
        assert_trained(view, 701, plan)
        assert view.points
        assert view.states == tuple(device.states)
        assert view.settings == SETTINGS
        assert controller.view == view


def test_another_run_is_noticed() -> None:
    with watched() as (controller, _), pytest.raises(AssertionError):
        assert_trained(controller.step(700).result(), 701, plan_of())


@settings(max_examples=25)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=6))
def test_pieces_make_the_run(pieces: list[int]) -> None:
    plan = plan_of()
    run, _ = agents_run(plan)
    for piece in pieces:
        while piece:
            made = run.advance(piece)
            assert 0 < made <= piece
            piece -= made
            before, after = run.view().recent, run.view(sample=True).recent
            assert after[: len(before)] == before
            assert after[-1].steps == run.view().steps
    assert_trained(run.view(), sum(pieces), plan)


def test_a_run_that_was_played_and_paused_is_the_plain_run() -> None:
    plan = plan_of()
    with watched(plan, speed=20_000) as (controller, device):
        assert not controller.playing
        for _ in range(3):
            before = controller.play().result().steps
            assert controller.playing
            soon(lambda before=before: controller.view.steps > before)
            controller.pace(50_000)
            paused: View = controller.pause().result()
        assert not controller.playing
        assert controller.rate == 0
        before = device.counters
        time.sleep(0.1)
        assert device.counters == before == list(paused.counters)
        assert controller.view is paused
        assert_trained(paused, paused.steps, plan)


def test_rate_is_of_all_agents_and_speed_is_kept() -> None:
    with watched(speed=500) as (controller, _):
        begun = time.monotonic()
        controller.play()
        soon(lambda: controller.rate > 0)
        view = controller.pause().result()
        seconds = time.monotonic() - begun
        # A busy machine makes the run slower, never faster.
        assert 0 < view.steps <= 500 * seconds + 15
        assert controller.rate == 0
        assert controller.speed == 500


def test_other_settings_act_as_those_of_the_device_do() -> None:
    plan = plan_of()
    device = open_agents("model", plan.config, plan.loaded, plan.settings)
    with watched(plan) as (controller, _):
        for changed in ({"alpha": 0.25}, {"gamma": 0.5, "epsilon": 0.75}, {"epsilon": 0.0}):
            controller.step(150).result()
            device.run(150, trace=False)
            view = controller.configure(**changed).result()
            now = {"alpha": 0.25, "gamma": 0.5, "epsilon": 0.75} | changed
            if "alpha" in changed:
                now |= {"gamma": 0.9, "epsilon": 0.2}
            own = [
                AgentSettings(now["alpha"], now["gamma"], Epsilon(now["epsilon"]), 5)
                for _ in range(2)
            ]
            assert view.settings == own[0]
            device.configure(own)
        view = controller.step(300).result()
        device.run(300, trace=False)
        assert np.array_equal(view.q, plan.config.format.to_float(device.table))
        assert view.states == tuple(device.states)
        assert view.counters == tuple(device.counters)
    assert view.optimum is not None
    assert view.points[-1].value[0] < 0


def test_slider_shows_within_two_seconds_after_a_million_steps() -> None:
    with watched(speed=1000) as (controller, _):
        view = controller.step(1_000_000).result()
        assert view.recent[-1].steps == 1_000_000
        before = max(view.recent[-1].mean_return)
        controller.configure(epsilon=0.9)
        controller.play()
        soon(lambda: controller.view.recent[-1].steps > 1_000_000)
        view = controller.pause().result()
        first = next(point for point in view.recent if point.steps > 1_000_000)
        assert first.steps <= 1_002_000  # at 1,000 per second
        assert max(first.mean_return) < before - 1
        assert [(mark.steps, mark.name, mark.value) for mark in view.marks] == [
            (1_000_000, "epsilon", 0.9)
        ]


def test_recent_points_are_of_the_steps_between_them_and_the_oldest_go() -> None:
    plan = plan_of()
    run, _ = agents_run(plan)
    before = run.view(sample=True)
    assert before.recent == ()
    for number in range(MOST_POINTS + 3):
        run.advance(40)
        after = run.view(sample=True)
        assert run.view(sample=True).recent == after.recent  # without a step in between
        assert len(after.recent) == min(number + 1, MOST_POINTS)
        point = after.recent[-1]
        assert point.steps == after.steps
        for own, old, mean in zip(after.counters, before.counters, point.mean_return, strict=True):
            gained = (own.return_sum - old.return_sum) * plan.config.format.resolution
            assert mean * (own.episodes - old.episodes) == pytest.approx(gained) or math.isnan(mean)
        before = after
    run.reset()
    assert run.view(sample=True).recent == ()


def sampled(run: WatchedAgents | WatchedHost, steps: int) -> tuple[Mark, ...]:
    """Make steps, add a recent point, and return the marks after it."""
    while steps:
        steps -= run.advance(steps)
    return run.view(sample=True).marks


@pytest.mark.parametrize("on_host", [False, True])
def test_slider_that_is_dragged_makes_one_mark(on_host: bool) -> None:
    run = host_run("cartpole")[0] if on_host else agents_run(plan_of())[0]
    assert sampled(run, 100) == ()
    for epsilon in (0.3, 0.4, 0.5):  # one sample for each value
        run.configure(epsilon=epsilon)
        run.configure(gamma=0.875)
        marks = sampled(run, 10)
    assert marks == (Mark(100, "gamma", 0.875), Mark(120, "epsilon", 0.5))
    sampled(run, 10)
    run.configure(epsilon=0.5)  # unchanged
    run.configure(epsilon=0.0)
    assert sampled(run, 10) == (*marks, Mark(140, "epsilon", 0.0))
    with pytest.raises(ConfigError):
        run.configure(alpha=2)
    assert len(run.view().marks) == 3
    run.reset()
    assert run.view().marks == ()


@pytest.mark.parametrize(
    ("name", "gamma", "end"),
    [
        ("own tables", 0.9, 24),  # the goal
        ("own tables", 0.97, 5),  # a hole
        ("own tables", 1.0, None),  # no value
        ("chance", 0.9, None),
        ("no map", 0.9, None),
    ],
)
def test_end_of_the_optimal_policy_is_known(name: str, gamma: float, end: int | None) -> None:
    with watched(PLANS[name]) as (controller, _):
        assert controller.view.optimum is not None
        assert controller.configure(gamma=gamma).result().optimal_end == end


def test_sliders_between_steps_leave_a_step_exact() -> None:
    with watched() as (controller, _):
        done = controller.step(200_000)
        controller.configure(alpha=0.1).result()
        assert done.result().steps == 200_000


@pytest.mark.parametrize("playing", [False, True])
def test_reset_begins_anew_and_gives_the_same_tables(playing: bool) -> None:
    plan = plan_of()
    with watched(plan, speed=100_000) as (controller, _):
        first = controller.step(900).result()
        controller.configure(alpha=0.9, gamma=0.1, epsilon=1.0)
        controller.step(50)
        if playing:
            controller.play().result()
        view = controller.reset().result()
        assert view.settings == SETTINGS
        assert not view.q.any()
        assert (view.steps, view.points) == (0, ())
        assert controller.playing == playing
        if playing:
            soon(lambda: controller.view.steps)
            view = controller.pause().result()
            assert_trained(view, view.steps, plan)
            controller.reset()
        assert held(controller.step(900).result()) == held(first)


@pytest.mark.parametrize("command", ["pause", "play", "reset"])
def test_another_command_ends_steps_early(command: str) -> None:
    with watched() as (controller, _):
        many, more = controller.step(MOST_STEPS), controller.step(1)
        soon(lambda: controller.view.steps)
        getattr(controller, command)().result()
        assert 0 < many.result().steps < MOST_STEPS
        assert more.result() is many.result()
        assert controller.playing == (command == "play")


def test_run_ends_with_its_budget() -> None:
    plan = plan_of(steps=500)
    with watched(plan) as (controller, _):
        controller.step(300)
        assert controller.step(300).result().steps == 500
        controller.play().result()
        soon(lambda: not controller.playing)
        assert_trained(controller.view, 500, plan)


def test_illegal_values_are_refused_and_change_nothing() -> None:
    with watched() as (controller, _):
        with pytest.raises(ConfigError, match="alpha is 2; it must be from 0 to 1"):
            controller.configure(alpha=2).result()
        with pytest.raises(ConfigError, match=r"epsilon start is -0\.1; it must be from 0 to 1"):
            controller.configure(gamma=0.5, epsilon=-0.1).result()
        with pytest.raises(ConfigError, match=r"steps is 0; it must be .* from 1 to 2\^48-1"):
            controller.step(0)
        with pytest.raises(ConfigError, match=r"speed is 1000001; it must be .* to 1000000"):
            controller.pace(1_000_001)
        with pytest.raises(ConfigError, match=r"speed is -1; it must be .* to 1000000"):
            Controller(agents_run(plan_of())[0], -1)
        assert controller.configure().result().settings == SETTINGS
        assert_trained(controller.step(10).result(), 10, plan_of())


class Failing(FastActingModel):
    """A device that is unplugged after 100 steps."""

    def run(self, steps: int, *, trace: bool = False) -> Any:
        super().run(steps)
        if self.counters[0].steps > 100:
            raise LinkError("the port is gone")


def test_device_that_fails_ends_the_run_and_every_command_says_why() -> None:
    with watched(stand_in=Failing) as (controller, _):
        assert controller.step(100).result().steps == 100
        assert controller.error is None
        failing = controller.step(500), controller.step(1)
        soon(lambda: controller.error)
        for done in (*failing, controller.play(), controller.configure(alpha=0.1)):
            with pytest.raises(LinkError, match="the port is gone"):
                done.result(timeout=10)
        assert isinstance(controller.error, LinkError)
        assert not controller.playing


class Slow(FastActingModel):
    """A device whose calls are slow, as over a link."""

    calls = 0

    def run(self, steps: int, *, trace: bool = False) -> Any:
        self.calls += 1
        time.sleep(0.04)
        return super().run(steps)


def test_device_whose_calls_take_long_gets_longer_ones() -> None:
    with watched(stand_in=Slow) as (controller, device):
        controller.play()
        soon(lambda: controller.view.steps > 1000)
    assert device.calls < 200


def test_error_of_a_command_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(self: Watched) -> None:
        raise LinkError("the port is gone")

    monkeypatch.setattr(WatchedAgents, "reset", gone)
    with watched() as (controller, _):
        with pytest.raises(LinkError, match="the port is gone"):
            controller.reset().result()
        with pytest.raises(LinkError, match="the port is gone"):
            controller.play().result()


def test_closed_controller_does_nothing_any_more() -> None:
    with watched() as (controller, device):
        controller.play()
        controller.close()
        controller.close()
        before = device.counters
        with pytest.raises(ClosedError, match="the controller is closed; make another"):
            controller.play().result()
        time.sleep(0.02)
        assert device.counters == before


def test_views_are_rare_where_they_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controlled, "_VIEW_SECONDS", 0.0)
    made = []
    look = WatchedAgents.view

    def slowly(self: WatchedAgents, sample: bool) -> View:
        made.append(0)
        time.sleep(0.03)
        return look(self, sample)

    monkeypatch.setattr(WatchedAgents, "view", slowly)
    with watched() as (controller, _):
        begun = time.monotonic()
        controller.play()
        soon(lambda: len(made) > 5)
        assert time.monotonic() - begun > 3 * 4 * 0.03


def host_run(
    world: str, url: str = "model", num_envs: int = 1, sync_steps: int = 7
) -> tuple[WatchedHost, HostRun]:
    hyper = Hyperparameters(0.25, 0.9, Rounding.STOCHASTIC, 5)
    plan = Plan(
        world,
        epsilon=Epsilon(0.2),
        num_envs=num_envs,
        sync_steps=sync_steps,
    )
    run = HostRun(url, plan, hyper, Config(*table_size(make(world, 0))))
    return WatchedHost(run), run


@pytest.mark.parametrize(("world", "num_envs"), [("FrozenLake-v1", 1), ("cartpole", 3)])
def test_steps_are_those_of_the_plain_run_where_the_host_acts(world: str, num_envs: int) -> None:
    run, host = host_run(world, num_envs=num_envs)
    plain = open_device("model", host.config)
    plan = Plan(
        *(world, 40, Epsilon(0.2), 7),
        evaluate_every=15,
        evaluate_episodes=2,
        num_envs=num_envs,
    )
    whole = HostRun("", plan, host.hyper, host.config)
    whole.start(plain)
    for _ in whole:
        pass
    episodes = whole.final.episodes
    steps = plain.status().applied
    with Controller(run, 0) as controller:
        controller.step(5)
        controller.configure(alpha=0.25, epsilon=0.2)  # unchanged, so nothing restarts
        view = controller.step(steps - 5).result()
        again = controller.reset().result()
        assert not again.q.any()
        assert again.points == ()
        again = controller.step(steps).result()
    assert view.counters[0].episodes == len(episodes) == 40
    assert view.counters[0].terminations == sum(one.terminated for one in episodes)
    values = host.config.format.to_float(whole.latest.table)
    for seen in (view, again):
        assert np.array_equal(seen.q, values[None])
        assert (seen.states, seen.optimum) == ((), None)
        assert seen.steps == steps
        assert seen.recent[-1].steps == steps
    first = [one.total for one in episodes if one.number <= view.points[0].episodes[0]]
    assert view.points[0].steps == 128
    assert view.points[0].mean_return == (sum(first) / len(first),)
    assert str(view.points) == str(again.points)


@pytest.mark.rtl
@pytest.mark.slow
def test_host_is_steered_on_hardware_as_on_the_model() -> None:
    tables = []
    for url in ("model", "sim"):
        run, host = host_run("FrozenLake-v1", url)
        with closing(host), Controller(run, 0) as controller:
            controller.step(150).result()
            with pytest.raises(ConfigError, match="gamma is 3; it must be from 0 to 1"):
                controller.configure(gamma=3).result()
            changed = controller.configure(alpha=0.75, gamma=0.5, epsilon=1.0).result().settings
            assert changed == AgentSettings(0.75, 0.5, Epsilon(1.0), 5)
            tables += [controller.step(200).result().q, controller.reset().result().q]
            assert controller.view.settings == AgentSettings(0.25, 0.9, Epsilon(0.2), 5)
            tables.append(controller.step(200).result().q)
    for one, other in zip(tables[:3], tables[3:], strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(tables[0], tables[2])


@pytest.mark.rtl
@pytest.mark.slow
def test_watched_hardware_is_the_model_when_it_steps_is_steered_and_begins_anew() -> None:
    plan = plan_of()
    views = {}
    for url in ("model", "sim"):
        with watched(plan, url) as (controller, _):
            controller.step(300)
            controller.configure(alpha=0.25, epsilon=0.5)
            steered = controller.step(300).result()
            controller.play()
            soon(lambda: controller.view.steps > 600)
            anew = controller.reset().result()
            controller.pause()
            controller.reset()
            views[url] = steered, anew, controller.step(300).result()
    assert list(map(held, views["model"])) == list(map(held, views["sim"]))
    assert_trained(views["sim"][2], 300, plan)
    assert views["sim"][0].q.any()


class Held(FastActingModel):
    """A device that is unplugged during a call, which blocks until `let_go` is set."""

    held, let_go = threading.Event(), threading.Event()

    def run(self, steps: int, *, trace: bool = False) -> Any:
        if steps > 1:
            self.held.set()
            assert self.let_go.wait(30)
            raise LinkError("the port is gone")
        return super().run(steps)


def test_commands_that_wait_when_the_device_fails_say_why() -> None:
    with watched(stand_in=Held) as (controller, _):
        going = controller.step(100)
        assert Held.held.wait(30)
        waiting = controller.pause(), controller.configure(alpha=0.1)
        closing = threading.Thread(target=controller.close)
        closing.start()
        Held.let_go.set()
        closing.join(30)
    for done in (going, *waiting):
        with pytest.raises(LinkError, match="the port is gone"):
            done.result(timeout=10)


class Tiring(FastActingModel):
    """A device that is fast for 1000 steps; after that, every call takes the same long time."""

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self.slow: list[int] = []

    def run(self, steps: int, *, trace: bool = False) -> Any:
        if self.counters[0].steps > 1000:
            self.slow.append(steps)
            time.sleep(0.15)
        return super().run(steps)


def test_device_that_becomes_slower_gets_shorter_calls() -> None:
    with watched(stand_in=Tiring) as (controller, device):
        controller.play()
        soon(lambda: len(device.slow) > 6)
    assert device.slow[6] <= device.slow[0] // 32
