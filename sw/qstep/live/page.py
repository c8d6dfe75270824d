"""The page: controls that call the controller, and plots of what the controller shows."""

from __future__ import annotations

import html
import math
import time
from functools import partial
from importlib import resources
from typing import Any

import numpy as np
from bokeh.document import Document
from bokeh.events import ConnectionLost
from bokeh.models import Button, CustomJS, Div, RadioButtonGroup, Select, Slider, Spinner
from numpy.typing import NDArray

from qstep.envs.rendering import HOLE, WALL, GridMap
from qstep.errors import ConfigError
from qstep.learn.plots import COLOURS
from qstep.live.controller import MOST_SPEED, Controller, Done
from qstep.live.figures import (
    AGENT_COLOURS,
    CurvePicture,
    MapPicture,
    TablePicture,
    TilesPicture,
)
from qstep.live.game import Game
from qstep.live.run import View
from qstep.spec.tiles import Tiles

__all__ = ["Page"]

_TICK_MILLISECONDS = 100
_GAME_SHARE = 10  # time between game steps, as a multiple of a step's time: a step blocks the page
_NEAR = 0.01
_MOST_STEPS = 1_000_000

_LOST = "document.querySelector('header span').textContent = 'The program has ended.'"


class Page:
    """One browser's page of a run; several may be open, and all steer the same run.

    `grid` is the world's map, if it has one; otherwise `game` may be the environment's picture, which
    the page closes. `headline` describes the run. `tiles` defines the table's planes, if it has several.
    """

    def __init__(
        self,
        controller: Controller,
        grid: GridMap | None,
        headline: str,
        game: Game | None = None,
        tiles: Tiles | None = None,
    ) -> None:
        self._controller, self._grid, self._headline = controller, grid, headline
        self._shown: View | None = None
        self._curves: object = None
        self._game, self._due = game, 0.0
        view = controller.view
        tables, *_, states, actions = view.q.shape
        self._map = None if grid is None else MapPicture(grid)
        self._table = TilesPicture(tiles) if tiles else TablePicture(states, actions)
        if self._map is not None:
            self._map.follow(self._table.figure)
        self._steps_label = "steps of each agent" if len(view.counters) > 1 else "steps"
        height = 180 if view.optimum is not None else 400
        self._returns = CurvePicture("returns", "#1c7ed6", self._steps_label, height)
        self._values = CurvePicture("values", "#e8590c", self._steps_label)
        self._window = RadioButtonGroup(
            labels=["last two minutes", "whole run"], active=0, name="window"
        )
        style = {"sizing_mode": "stretch_width", "stylesheets": [_file("widgets.css")]}
        self._about, self._drawn, self._refused, self._tiles = (
            Div(name=name, css_classes=[name], **style)
            for name in ("about", "game", "refused", "tiles")
        )
        self._refused.visible = False
        self._play = _button("Play", 110, button_type="primary")
        self._step, self._reset = _button("Step", 80), _button("Reset", 90)
        self._steps = _number("steps", "steps", 100, 1, _MOST_STEPS)
        self._agent = _number("agent", "table of agent", 0, 0, tables - 1)
        self._agent.visible = tables > 1
        self._speed = Select(
            title="speed",
            options=_speeds(controller.speed, len(view.counters)),
            width=205,
            stylesheets=style["stylesheets"],
            name="speed",
        )
        scale = {"start": 0, "end": 1, "step": 0.001, "value": 0, "format": "0.000"}
        self._sliders = {
            name: Slider(
                title=name, name=name, css_classes=[name], bar_color="#1c7ed6", **scale, **style
            )
            for name in ("alpha", "gamma", "epsilon")
        }
        self._controls = {**self._sliders, "speed": self._speed}
        self._requested: dict[str, Any] = {}
        self._pending: dict[str, Done] = {}
        self._connect()

    def _connect(self) -> None:
        controller = self._controller
        self._play.on_click(lambda: controller.pause() if controller.playing else controller.play())
        self._step.on_click(lambda: controller.step(_whole(self._steps.value, 1, _MOST_STEPS)))
        self._reset.on_click(controller.reset)
        self._agent.on_change("value", self._forget)
        self._window.on_change("active", self._forget)
        for name, control in self._controls.items():
            control.on_change("value", partial(self._request, name))

    # Bokeh calls these methods with three parameters of these names.

    def _forget(self, attr: str, old: object, new: object) -> None:
        self._shown = None

    def _request(self, name: str, attr: str, old: Any, new: Any) -> None:
        self._requested[name] = new

    def _apply_requests(self, view: View) -> None:
        """Forward each control's latest request; controls without one show the controller's value.

        This runs once per tick, because a slider sends a value for each pixel of a drag.
        """
        present = {
            "alpha": view.settings.alpha,
            "gamma": view.settings.gamma,
            "epsilon": view.settings.epsilon.start,
            "speed": str(self._controller.speed),
        }
        for name, control in self._controls.items():
            if name in self._pending:
                if not self._pending[name].done():
                    continue
                error = self._pending.pop(name).exception()
                refused = isinstance(error, ConfigError)  # any other error is shown in a tile
                self._refused.update(text=html.escape(str(error)), visible=refused)
            if name in self._requested:
                value = self._requested.pop(name)
                if name == "speed":
                    self._pending[name] = self._controller.pace(int(value))
                else:
                    self._pending[name] = self._controller.configure(**{name: value})
            elif control.value != present[name]:
                control.value = present[name]
                del self._requested[name]  # the page set the value, not a user

    def fill(self, document: Document) -> None:
        """Put the page into a document, and keep it up to date."""
        view = self._controller.view
        has_values = view.optimum is not None
        shown = [self._play, self._reset, self._speed, self._steps, self._step, self._agent]
        shown += [*self._sliders.values(), self._refused, self._tiles, self._window]
        shown += [self._returns.figure, self._table.figure]
        shown += [self._values.figure, self._about] if has_values else []
        shown += [self._drawn] if self._game else []
        shown += [self._map.figure] if self._map else []
        for part in shown:
            document.add_root(part)
        document.title = "QStep live"
        document.template = _file("page.html")
        letters = set("".join(self._grid.rows)) if self._grid else set()
        names = {HOLE: "hole", WALL: "wall"}
        document.template_variables.update(
            headline=html.escape(self._headline),
            has_map=self._map is not None,
            has_game=self._game is not None,
            has_values=has_values,
            agents=AGENT_COLOURS[: len(view.states)],
            tables=len(view.q),
            curves=len(view.counters),
            cells=[(name, COLOURS[kind]) for kind, name in names.items() if kind in letters],
        )
        document.js_on_event(ConnectionLost, CustomJS(code=_LOST))
        if (game := self._game) is not None:
            document.on_session_destroyed(lambda session_context: game.close())
        self.tick()
        document.add_periodic_callback(self.tick, _TICK_MILLISECONDS)

    def tick(self) -> None:
        """Show the controller's latest view, if it has changed."""
        controller = self._controller
        rate, view = controller.rate, controller.view  # rate first: if it is 0, the view is final
        self._play.label = "Pause" if controller.playing else "Play"
        self._apply_requests(view)
        if view is not self._shown:
            self._shown = view
            self._show_pictures(view)
            self._show_curves(view)
        if self._game is not None:
            self._play_game(self._game, view)
        self._tiles.text = self._tiles_of(view, rate)  # after the pictures of the same view

    def _show_pictures(self, view: View) -> None:
        agent = _whole(self._agent.value, 0, len(view.q) - 1)
        if self._map is not None:
            self._map.show(view.q[agent], view.states, agent if len(view.q) > 1 else -1)
        self._table.show(view.q[agent])

    def _show_curves(self, view: View) -> None:
        whole = self._window.active == 1
        points = view.points if whole else view.recent
        if (curves := (whole, points, view.marks, view.optimum)) == self._curves:
            return
        self._curves = curves
        steps = np.array([point.steps for point in points], np.int64)
        agents = len(view.counters)
        returns = _rows([point.mean_return for point in points], agents)
        self._returns.show(steps, returns, view.marks, whole=whole)
        values = _rows([point.value for point in points], agents)
        best = np.full(len(steps), view.optimum, np.float64) if whole else np.array(view.optima)
        self._values.show(steps, values, view.marks, best, whole=whole)
        self._about.text = self._about_of(view)

    def _about_of(self, view: View) -> str:
        own = view.settings
        gamma = f"{own.gamma:g}"
        if view.learned is not None:
            gamma += f", learned as {view.learned:.6g},"
        if view.optimum is None:
            return f"At gamma {gamma}, policies have no discounted value."
        text = f"At gamma {gamma} the optimum is {view.optimum:.3f}."
        end = view.optimal_end
        if end is not None and self._grid is not None and "".join(self._grid.rows)[end] == HOLE:
            text += (
                f" <b>Even the optimal policy ends in a hole (state {end}): at this gamma, the hole "
                "costs less than the way to the goal.</b>"
            )
        return text

    def _play_game(self, game: Game, view: View) -> None:
        """Take the game's next step when it is due, if the agents are learning."""
        begun = time.monotonic()
        if self._controller.playing and begun >= self._due:
            q = view.q[_whole(self._agent.value, 0, len(view.q) - 1)]
            game.advance(q, view.settings.epsilon.start)
            took = time.monotonic() - begun
            self._due = begun + max(1 / game.fps, _GAME_SHARE * took)
        how = "ended, " if game.over else ""
        episode = f"<span>episode: {how}step {game.steps:,}, return {game.total:g}</span>"
        if (text := game.picture + episode) != self._drawn.text:
            self._drawn.text = text

    def _tiles_of(self, view: View, rate: float) -> str:
        points = view.recent or view.points
        last = points[-1] if points else None
        returns = (np.array(point.mean_return) for point in reversed(points))
        known = next((mean[~np.isnan(mean)] for mean in returns if not np.isnan(mean).all()), None)
        tiles = {
            self._steps_label: f"{view.steps:,}",
            "episodes": f"{sum(own.episodes for own in view.counters):,}",
            "updates/s": f"{rate:,.0f}",
            "return, median" if len(view.counters) > 1 else "return": (
                "–" if known is None else f"{np.median(known):.2f}"
            ),
        }
        tiles["saturations"] = f"{sum(own.saturations for own in view.counters):,}"
        best = view.optimum
        if best is not None and last is not None and last.value:
            near = sum(value >= best - _NEAR * abs(best) for value in last.value)
            tiles["within 1 % of the optimum"] = f"{near} of {len(last.value)}"
        if self._controller.error is not None:
            tiles["the device failed"] = html.escape(str(self._controller.error))
        cells = (
            f'<div class="tile"><b>{what}</b><span>{name}</span></div>'
            for name, what in tiles.items()
        )
        return f'<div class="tiles">{"".join(cells)}</div>'


def _file(name: str) -> str:
    return resources.files("qstep.live").joinpath(name).read_text(encoding="utf-8")


def _button(label: str, width: int, **options: Any) -> Button:
    name = label.lower()
    return Button(label=label, width=width, align="end", css_classes=[name], name=name, **options)


def _number(name: str, title: str, value: int, low: int, high: int) -> Spinner:
    return Spinner(title=title, value=value, low=low, high=high, step=1, width=110, name=name)


def _speeds(speed: int, agents: int) -> list[tuple[str, str]]:
    known = {speed, *(10**n for n in range(int(math.log10(MOST_SPEED)) + 1))} - {0}
    unit = "steps/s per agent" if agents > 1 else "steps/s"
    names = [(str(one), f"{one:,} {unit}") for one in sorted(known)]
    return [*names, ("0", "as fast as possible")]


def _whole(value: Any, low: int, high: int) -> int:
    """Return the value of a number field, which may be empty, clamped to its range."""
    return low if value is None else min(max(int(value), low), high)


def _rows(points: list[tuple[float, ...]], agents: int) -> NDArray[np.float64]:
    """Return values of shape (points, agents), NaN if unknown."""
    rows = [values or (math.nan,) * agents for values in points]
    return np.array(rows, np.float64).reshape(-1, agents)
