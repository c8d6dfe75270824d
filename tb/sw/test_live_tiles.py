"""The page of `qstep live` for values that are sums over planes: its pictures, alpha and game."""

from contextlib import closing
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from bokeh.document import Document

from qstep.learn.agents import AgentsRun
from qstep.learn.evaluate import chooser
from qstep.learn.plan import Budget, planned
from qstep.learn.plots import TileSums
from qstep.live.controller import Controller
from qstep.live.game import Game
from qstep.live.page import Page
from qstep.live.run import WatchedAgents
from qstep.spec.integer_worlds import CART_POLE
from qstep.spec.settings import AgentSettings

MIDDLE = [
    (own.low + own.high) / 2 / unit
    for own, unit in zip(CART_POLE.tiles.coordinates[:2], CART_POLE.units[:2], strict=True)
]


class Drawn(gym.Wrapper[Any, Any, Any, Any]):
    """CartPole that renders as text, without pygame, and records its observations."""

    def __init__(self) -> None:
        super().__init__(gym.make("CartPole-v1"))
        self.seen: list[Any] = []

    def reset(self, **given: Any) -> Any:
        self.seen = [self.env.reset(seed=3, **given)[0]]
        return self.seen[0], {}

    def step(self, action: Any) -> Any:
        found = self.env.step(action)
        self.seen.append(found[0])
        return found

    def render(self) -> Any:
        return f"x is {self.seen[-1][0]:.3f}"


def watched() -> WatchedAgents:
    plan = planned(
        "CartPole-v1", budget=Budget(20_000), agents=2, settings=AgentSettings(0.1, 0.99)
    )
    return WatchedAgents(AgentsRun("CartPole-v1", "model", plan))


@pytest.mark.slow
def test_alpha_of_the_page_is_that_of_the_sum() -> None:
    run = watched()
    assert run.view().settings.alpha == 0.1
    run.configure(alpha=0.4)
    assert run.view().settings.alpha == 0.4
    run.advance(300)
    other = watched()
    other.advance(300)
    assert (run.view().q != other.view().q).any()


def test_sums_are_those_of_the_rows() -> None:
    tiles, side = CART_POLE.tiles, 5
    q = np.random.default_rng(1).normal(size=(8, 81, 2))
    shown = TileSums.of(tiles, q, side)
    assert shown.numbers == (2, 3)
    angle, rate = (np.linspace(*bounds, side) for bounds in shown.bounds)
    for row, column in np.ndindex(side, side):
        seen = np.array([*MIDDLE, angle[column], rate[row]])
        rows = tiles.of(tiles.raw(seen).tolist())
        sums = sum(plane[at] for plane, at in zip(q, rows, strict=True))
        assert np.allclose(shown.values[row, column], sums)  # summed in another order


@pytest.mark.slow
def test_page_shows_values_over_two_numbers_and_the_game() -> None:
    run = watched()
    run.advance(2000)
    with closing(Controller(run, 0)) as controller:
        game = Game(Drawn(), CART_POLE.tiles)
        page = Page(controller, None, "CartPole-v1", game, CART_POLE.tiles)
        page.fill(document := Document())
        table: Any = document.get_model_by_name("table")
        assert table.xaxis.axis_label == "observation[2]"
        assert "x is " in game.picture


def test_game_acts_greedily_on_the_planes() -> None:
    q = np.random.default_rng(2).normal(size=(8, 81, 2))
    env = Drawn()
    game = Game(env, CART_POLE.tiles)
    choose = chooser(q, CART_POLE.tiles)
    for _ in range(5):
        game.advance(q, epsilon=0.0)
    pushes = [choose(seen) for seen in env.seen[:-1]]
    # A push to the right raises the cart's velocity.
    assert [bool(push) for push in pushes] == [b[1] > a[1] for a, b in pairwise(env.seen)]
