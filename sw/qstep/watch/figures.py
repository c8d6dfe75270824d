"""The pictures of the page: the policy on its map, the table, and the curves of the agents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bokeh.models import (
    ColorBar,
    ColumnDataSource,
    HoverTool,
    LinearColorMapper,
    NumeralTickFormatter,
    Range1d,
    Span,
)
from bokeh.palettes import Category10_10, Viridis256
from bokeh.plotting import figure
from numpy.typing import NDArray

from qstep.acting.agent import AgentState
from qstep.acting.plots import Band
from qstep.grid_map import START, GridMap
from qstep.learn.policy_map import COLOURS, LETTERS, MOST_ARROWS, PolicyMap

__all__ = ["CurvePicture", "MapPicture", "TablePicture"]

_BLANK = "#e9ecef"
"""Colour of cells where nothing was learnt."""

_MOST_ENTRIES = 1 << 16
"""Of a table that is sent to the page ten times a second."""

_MOST_LINES = 64
_MOST_DOTS = 256
_MAP_SIDE = 430
_FIRST_STEPS = 100
"""Start of the curves, just before the first point."""


def _mapper() -> LinearColorMapper:
    return LinearColorMapper(palette=Viridis256, low=0, high=1, nan_color=_BLANK)


def _spread(mapper: LinearColorMapper, values: NDArray[np.float64]) -> None:
    """Let the colours range from the least to the greatest value."""
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    mapper.update(low=low, high=high if high > low else low + 1)


class MapPicture:
    """The value of each cell, the greedy action as an arrow, and the positions of the agents."""

    def __init__(self, grid: GridMap) -> None:
        self._grid = grid
        cells = PolicyMap.of(grid, np.zeros((sum(map(len, grid.rows)), len(grid.moves)))).cells
        self._rows, self._columns = rows, columns = cells.shape
        side = _MAP_SIDE / max(rows, columns)
        self.figure = plot = figure(
            width=round(side * columns) + 10,
            height=round(side * rows) + 10,
            x_range=Range1d(-0.5, columns - 0.5),
            y_range=Range1d(-0.5, rows - 0.5),
            toolbar_location=None,
            tools="",
            name="map",
        )
        plot.axis.visible = False
        plot.grid.visible = False
        plot.outline_line_color = None
        self._mapper = _mapper()
        self._values = ColumnDataSource({"image": [np.full(cells.shape, np.nan)]})
        box = {"x": -0.5, "y": -0.5, "dw": columns, "dh": rows}
        plot.image("image", **box, source=self._values, color_mapper=self._mapper)
        for kind, colour in COLOURS.items():
            row, column = np.nonzero(cells == kind)
            plot.rect(column, rows - 1 - row, 1, 1, fill_color=colour, line_color=None)
        across, down = np.meshgrid(np.arange(columns), np.arange(rows))
        plot.rect(
            across.ravel(), down.ravel(), 1, 1, fill_alpha=0, line_color="white", line_width=1.5
        )
        self._arrows = ColumnDataSource({name: [] for name in ("x0", "y0", "x1", "y1", "angle")})
        thick = max(1.0, side / 24)
        plot.segment(
            "x0", "y0", "x1", "y1", source=self._arrows, line_color="white", line_width=thick
        )
        plot.scatter(
            *("x1", "y1"),
            source=self._arrows,
            marker="triangle",
            angle="angle",
            size=max(3.0, side / 6),
            fill_color="white",
            line_color=None,
        )
        if cells.size <= MOST_ARROWS:
            for kind, text in LETTERS:
                row, column = np.nonzero(cells == kind)
                corner = 0.33 * (kind == START)
                plot.text(
                    *(column - corner, rows - 1 - row + corner),
                    text=[text] * len(row),
                    text_align="center",
                    text_baseline="middle",
                    text_color="white",
                    text_font_style="bold",
                    text_font_size=f"{max(5, round(side * (0.2 if kind == START else 0.35)))}px",
                )
        self._agents = ColumnDataSource({"x": [], "y": [], "colour": []})
        plot.scatter(
            *("x", "y"),
            source=self._agents,
            size=max(4.0, min(14.0, side / 5)),
            fill_color="colour",
            line_color="white",
            line_width=1.5,
        )

    def show(self, q: NDArray[np.float64], states: Sequence[AgentState]) -> None:
        """Show a table, shape (S, A), and the positions of agents."""
        shown = PolicyMap.of(self._grid, q)
        values = shown.values.filled(np.nan)
        _spread(self._mapper, values)
        self._values.data = {"image": [np.flipud(values)]}
        if values.size <= MOST_ARROWS:
            self._arrows.data = self._arrow_columns(shown)
        self._agents.data = self._agent_columns(states)

    def _arrow_columns(self, shown: PolicyMap) -> dict[str, NDArray[np.float64]]:
        row, column = np.nonzero(shown.learnt)
        right, up = shown.direction[row, column].T * 0.24
        y = self._rows - 1 - row
        return {
            "x0": column - right,
            "y0": y - up,
            "x1": column + right,
            "y1": y + up,
            "angle": np.arctan2(up, right) - np.pi / 2,  # a triangle points upwards
        }

    def _agent_columns(self, states: Sequence[AgentState]) -> dict[str, object]:
        at = np.array([own.state for own in states[:_MOST_DOTS] if own.begun], np.int64)
        at = at[at < self._rows * self._columns]
        number = np.arange(len(at))
        # Around the middle, so that agents in one cell can be counted.
        far = 0.3 if len(at) > 1 else 0.0
        turn = 2 * np.pi * number / max(1, len(at))
        return {
            "x": at % self._columns + far * np.cos(turn),
            "y": self._rows - 1 - at // self._columns + far * np.sin(turn),
            "colour": [Category10_10[n % 10] for n in number],
        }


class TablePicture:
    """The table as a heat map, one column per state; only the first ones if there are too many."""

    def __init__(self, states: int, actions: int) -> None:
        self._states = min(states, _MOST_ENTRIES // actions)
        left_out = "" if self._states == states else f": the first {self._states} states"
        self.figure = plot = figure(
            height=160,
            sizing_mode="stretch_width",
            title=f"Q table{left_out}",
            x_range=Range1d(-0.5, self._states - 0.5),
            y_range=Range1d(actions - 0.5, -0.5),
            x_axis_label="state",
            y_axis_label="action",
            toolbar_location=None,
            tools="",
            name="table",
        )
        plot.grid.visible = False
        plot.axis.minor_tick_line_color = None
        for axis in plot.axis:
            axis.ticker.mantissas = [1, 2, 5]
            axis.ticker.min_interval = 1
        self._mapper = _mapper()
        self._values = ColumnDataSource({"image": [np.zeros((actions, self._states))]})
        box = {"x": -0.5, "y": -0.5, "dw": self._states, "dh": actions}
        plot.image(
            "image", **box, source=self._values, color_mapper=self._mapper, origin="top_left"
        )
        plot.add_layout(ColorBar(color_mapper=self._mapper, width=10, padding=2), "right")
        tooltips = [("state", "$x{0}"), ("action", "$y{0}"), ("value", "@image")]
        plot.add_tools(HoverTool(tooltips=tooltips))

    def show(self, q: NDArray[np.float64]) -> None:
        """Show a table, shape (S, A)."""
        q = q[: self._states]
        _spread(self._mapper, q)
        self._values.data = {"image": [np.ascontiguousarray(q.T)]}


class CurvePicture:
    """A curve of each agent, their median, and the band from the worst to the best."""

    def __init__(self, name: str, title: str, colour: str, best: str | None = None) -> None:
        self.figure = plot = figure(
            height=215,
            sizing_mode="stretch_width",
            title=title,
            x_axis_type="log",
            x_range=Range1d(_FIRST_STEPS, 10 * _FIRST_STEPS),
            y_range=Range1d(-1, 1),
            x_axis_label="steps of each agent",
            toolbar_location=None,
            tools="",
            name=name,
        )
        plot.xaxis.formatter = NumeralTickFormatter(format="0.[0]a")
        plot.axis.minor_tick_line_color = None
        plot.outline_line_color = None
        plot.grid.grid_line_alpha = 0.5
        self._band = ColumnDataSource({name: [] for name in Band._fields})
        self._lines = ColumnDataSource({"x": [], "y": []})
        plot.varea("steps", "low", "high", source=self._band, fill_color=colour, fill_alpha=0.2)
        plot.multi_line("x", "y", source=self._lines, line_color=colour, line_alpha=0.3)
        plot.line("steps", "median", source=self._band, line_color=colour, line_width=2.5)
        self._best = Span(
            dimension="width", line_color="#2e8b57", line_dash="dashed", line_width=2, visible=False
        )
        if best is not None:
            plot.add_layout(self._best)

    def show(
        self, steps: NDArray[np.int64], values: NDArray[np.float64], best: float | None = None
    ) -> None:
        """Show values of shape (looks, agents), NaN for unknown ones, and the best possible value."""
        band = Band.of(steps, values)
        self._band.data = band._asdict()
        if band.steps.size:
            seen = [*band.low, *band.high, *([] if best is None else [best])]
            low, high = min(seen), max(seen)
            margin = 0.05 * (high - low) or 1.0
            self.figure.y_range.update(start=low - margin, end=high + margin)
        last = steps[-1] if steps.size else 0
        self.figure.x_range.end = max(10 * _FIRST_STEPS, last)
        lines = values.T[:_MOST_LINES]
        self._lines.data = {"x": [steps] * len(lines), "y": list(lines)}
        self._best.update(location=best or 0.0, visible=best is not None)
