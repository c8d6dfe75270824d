"""The page: controls that call the controller, and pictures of its view."""

from __future__ import annotations

import html
import math
from functools import partial
from importlib import resources
from typing import Any

import numpy as np
from bokeh.document import Document
from bokeh.events import ConnectionLost
from bokeh.layouts import column, row
from bokeh.models import Button, CustomJS, Div, Select, Slider, Spinner
from numpy.typing import NDArray

from qstep.grid_map import GridMap
from qstep.watch.controller import MOST_SPEED, Controller, Done
from qstep.watch.figures import CurvePicture, MapPicture, TablePicture
from qstep.watch.view import WatchedView

__all__ = ["Page"]

_TICK_MILLISECONDS = 100
_NEAR = 0.01
_MOST_STEPS = 1_000_000

_CARD = ":host { background: white; border-radius: 10px; padding: 12px; box-sizing: border-box; }"
_TILES = """
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(120px, 1fr)); gap: 10px; }
    .tile { background: white; border-radius: 10px; padding: 8px 14px; }
    .tile b { display: block; font-size: 22px; font-variant-numeric: tabular-nums; }
    .tile span { color: #868e96; font-size: 12px; }
    .bk-clearfix { width: 100%; }
"""
_SLIDER = ".bk-slider-title { font-size: 14px; }"
_LOST = "document.querySelector('header span').textContent = 'The program has ended.'"


class Page:
    """One browser's page of a run; several may be open, and all steer the same run.

    Parameters
    ----------
    controller : Controller
    grid : GridMap or None
        The map of the world, if it has one.
    headline : str
        What is learnt, and on what.
    """

    def __init__(self, controller: Controller, grid: GridMap | None, headline: str) -> None:
        self._controller, self._headline = controller, headline
        self._shown: WatchedView | None = None
        view = controller.view
        tables, states, actions = view.q.shape
        self._map = None if grid is None else MapPicture(grid)
        self._table = TablePicture(states, actions)
        self._returns = CurvePicture("returns", "Return of an episode, exploring", "#1c7ed6")
        self._values = CurvePicture(
            "values", "Worth of the greedy policy, exact; dashed: the optimum", "#e8590c", "optimum"
        )
        self._tiles = Div(stylesheets=[_TILES], sizing_mode="stretch_width", name="tiles")
        self._play = Button(
            label="Play",
            button_type="primary",
            width=110,
            align="end",
            css_classes=["play"],
            name="play",
        )
        self._step = Button(label="Step", width=80, align="end", css_classes=["step"], name="step")
        self._steps = Spinner(
            title="steps", value=100, low=1, high=_MOST_STEPS, step=1, width=110, name="steps"
        )
        self._reset = _button("Reset")
        self._speed = Select(
            title="speed", options=_speeds(controller.speed), width=200, name="speed"
        )
        self._agent = Spinner(
            title="table of agent", value=0, low=0, high=tables - 1, step=1, width=110, name="agent"
        )
        self._agent.visible = tables > 1
        self._sliders = {
            name: Slider(
                start=0,
                end=1,
                step=0.001,
                value=0,
                format="0.000",
                title=name,
                sizing_mode="stretch_width",
                bar_color="#1c7ed6",
                stylesheets=[_SLIDER],
                css_classes=[name],
                name=name,
            )
            for name in ("alpha", "gamma", "epsilon")
        }
        self._controls = {**self._sliders, "speed": self._speed}
        self._wished: dict[str, Any] = {}
        self._asked: dict[str, Done] = {}
        self._connect()

    def _connect(self) -> None:
        controller = self._controller
        self._play.on_click(lambda: controller.pause() if controller.playing else controller.play())
        self._step.on_click(lambda: controller.step(_whole(self._steps.value, 1, _MOST_STEPS)))
        self._reset.on_click(controller.reset)
        self._agent.on_change("value", self._forget)
        for name, control in self._controls.items():
            control.on_change("value", partial(self._wish, name))

    # What Bokeh calls has these three parameters, by these names.

    def _forget(self, attr: str, old: object, new: object) -> None:
        self._shown = None

    def _wish(self, name: str, attr: str, old: Any, new: Any) -> None:
        self._wished[name] = new

    def _carry_out_wishes(self, view: WatchedView) -> None:
        """Ask the controller for what was wished last, and show what it has where nothing was.

        Once a tick: a slider sends a value for each pixel that it is dragged over.
        """
        has = {
            "alpha": view.settings.alpha,
            "gamma": view.settings.gamma,
            "epsilon": view.settings.epsilon.start,
            "speed": str(self._controller.speed),
        }
        for name, control in self._controls.items():
            if name in self._asked and not self._asked[name].done():
                continue
            if name in self._wished:
                self._asked[name] = self._ask(name, self._wished.pop(name))
            elif control.value != has[name]:
                control.value = has[name]
                del self._wished[name]  # the page set it, not a user

    def _ask(self, name: str, value: Any) -> Done:
        if name == "speed":
            return self._controller.pace(int(value))
        return self._controller.configure(**{name: value})

    def fill(self, document: Document) -> None:
        """Put the page into a document, and keep it up to date."""
        left = [] if self._map is None else [column(self._map.figure, stylesheets=[_CARD])]
        controls = column(
            row(self._play, self._reset, self._speed, self._steps, self._step, self._agent),
            row(*self._sliders.values(), sizing_mode="stretch_width", spacing=24),
            stylesheets=[_CARD],
            sizing_mode="stretch_width",
        )
        curves = [self._returns.figure]
        if self._controller.view.optimum is not None:
            curves.append(self._values.figure)
        right = column(*curves, stylesheets=[_CARD], sizing_mode="stretch_width")
        document.add_root(
            column(
                controls,
                self._tiles,
                row(*left, right, sizing_mode="stretch_width", spacing=12),
                column(self._table.figure, stylesheets=[_CARD], sizing_mode="stretch_width"),
                sizing_mode="stretch_width",
                spacing=12,
            )
        )
        document.title = "QStep live"
        text = resources.files("qstep.watch").joinpath("page.html").read_text(encoding="utf-8")
        document.template = text
        document.template_variables["headline"] = html.escape(self._headline)
        document.js_on_event(ConnectionLost, CustomJS(code=_LOST))
        self.tick()
        document.add_periodic_callback(self.tick, _TICK_MILLISECONDS)

    def tick(self) -> None:
        """Show the controller's latest view, if it is another."""
        controller = self._controller
        rate, view = controller.rate, controller.view  # in this order: with 0 comes the last view
        self._play.label = "Pause" if controller.playing else "Play"
        self._carry_out_wishes(view)
        if view is not self._shown:
            self._shown = view
            self._show_pictures(view)
        self._tiles.text = self._tiles_of(view, rate)  # after the pictures that they belong to

    def _show_pictures(self, view: WatchedView) -> None:
        table = view.q[_whole(self._agent.value, 0, len(view.q) - 1)]
        if self._map is not None:
            self._map.show(table, view.states)
        self._table.show(table)
        steps = np.array([point.steps for point in view.points], np.int64)
        agents = len(view.counters)
        returns = _rows([point.mean_return for point in view.points], agents)
        self._returns.show(steps, returns)
        self._values.show(steps, _rows([p.value for p in view.points], agents), view.optimum)

    def _tiles_of(self, view: WatchedView, rate: float) -> str:
        last = view.points[-1] if view.points else None
        known = [] if last is None else [v for v in last.mean_return if not math.isnan(v)]
        tiles = {
            "steps of each agent": f"{view.steps:,}",
            "episodes": f"{sum(own.episodes for own in view.counters):,}",
            "updates/s": f"{rate:,.0f}",
            "return, median": f"{np.median(known):.2f}" if known else "–",
        }
        if view.saturations is not None:
            tiles["saturations"] = f"{view.saturations:,}"
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


def _button(label: str, **options: Any) -> Button:
    name = label.lower()
    return Button(label=label, width=90, align="end", css_classes=[name], name=name, **options)


def _speeds(speed: int) -> list[tuple[str, str]]:
    known = {speed, *(10**n for n in range(int(math.log10(MOST_SPEED)) + 1))} - {0}
    names = [(str(one), f"{one:,} steps/s an agent") for one in sorted(known)]
    return [*names, ("0", "as fast as it goes")]


def _whole(value: Any, low: int, high: int) -> int:
    """Return what a browser has in a field of numbers, which may be empty, as one in its range."""
    return low if value is None else min(max(int(value), low), high)


def _rows(looks: list[tuple[float, ...]], agents: int) -> NDArray[np.float64]:
    """Return values as (looks, agents), NaN where they are not known."""
    rows = [look or (math.nan,) * agents for look in looks]
    return np.array(rows, np.float64).reshape(-1, agents)
