"""The pictures of the page: the policy on its map, the table, and the agents' curves.

Colours of the background, the axes and the text come from the page's style sheet, light or dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.events import MouseLeave, MouseMove
from bokeh.models import (
    BasicTicker,
    ColorBar,
    ColumnDataSource,
    CustomJS,
    HoverTool,
    LinearColorMapper,
    LinearScale,
    LogScale,
    LogTicker,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.palettes import Category10_10, Viridis256
from bokeh.plotting import figure
from numpy.typing import NDArray

from qstep.envs.rendering import FREE, GOAL, HOLE, START, WALL, GridMap
from qstep.learn.plots import COLOURS, LETTERS, MOST_ARROWS, Band, PolicyMap, TileSums
from qstep.live.run import Mark
from qstep.spec.settings import AgentState
from qstep.spec.tiles import Tiles

__all__ = ["AGENT_COLOURS", "CurvePicture", "MapPicture", "TablePicture", "TilesPicture"]

AGENT_COLOURS = Category10_10
"""Colours of the agents, used in turn."""

_MOST_ENTRIES = 1 << 16  # maximum table entries shown; the page receives them ten times per second
_TILES_SIDE = 64
_MOST_LINES = 64
_MOST_DOTS = 256
_MAP_SIDE = 400
_BAR_HEIGHT = 45
_FIRST_STEPS = 100  # start of the step axis of a whole run, just before its first point
_FENCE = 3  # colours reach this many interquartile ranges below the lower quartile (Tukey)
_MARK_SPACE = 0.6  # space above the curves for the texts of marks, as a share of the curves' height
_ROWS = {"alpha": 0, "gamma": 1, "epsilon": 2}  # line of each text, so that texts do not overlap

_MIDDLE = "#868e96"  # colour of text on light and dark pages
_FAR_BELOW = "#e03131"  # colour of values far below most others, such as a hole's
_OPTIMUM = "#2e8b57"
_HERE = "#ff922b"
_MARK = "#845ef7"

_FOLLOW = """
const state = Math.round(cb_obj.x);
const inside = 0 <= state && state < rows * columns;
here.data = {
  x: inside ? [state % columns] : [],
  y: inside ? [rows - 1 - Math.floor(state / columns)] : [],
};
"""

_KINDS = {START: "start", GOAL: "goal", HOLE: "hole", WALL: "wall", FREE: "free"}
_NAMES = {(0, 1): "up", (0, -1): "down", (-1, 0): "left", (1, 0): "right"}


def _plot(name: str, x: tuple[float, float], y: tuple[float, float], **options: Any) -> figure:
    ranges = {"x_range": Range1d(*x), "y_range": Range1d(*y)}
    return figure(name=name, toolbar_location=None, tools="", **ranges, **options)


def _source(*columns: str) -> ColumnDataSource:
    return ColumnDataSource({name: [] for name in columns})


def _bar(mapper: LinearColorMapper, **options: Any) -> ColorBar:
    return ColorBar(
        color_mapper=mapper,
        background_fill_alpha=0,
        title_text_color=_MIDDLE,  # the style sheet does not apply here
        major_label_text_color=_MIDDLE,
        **options,
    )


class _Image:
    """Picture of values of shape (rows, columns), coloured from lowest to highest."""

    def __init__(self, plot: figure, shape: tuple[int, int], **options: Any) -> None:
        self.colours = LinearColorMapper(
            palette=Viridis256, low=0, high=1, low_color=_FAR_BELOW, nan_color="#80808050"
        )
        rows, columns = shape
        self._source = ColumnDataSource({"image": [np.full(shape, np.nan)]})
        box = {"x": -0.5, "y": -0.5, "dw": columns, "dh": rows}
        plot.image("image", source=self._source, color_mapper=self.colours, **(box | options))

    def show(self, values: NDArray[np.float64], *, fenced: bool = False) -> None:
        """Show values; if `fenced`, outliers far below the others do not affect the colour range."""
        known = values[~np.isnan(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        if fenced and known.size:
            lower, upper = np.quantile(known, (0.25, 0.75)).tolist()
            if fence := _FENCE * (upper - lower):
                low = max(low, lower - fence)
        self.colours.update(low=low, high=high if high > low else low + 1)
        self._source.data = {"image": [np.ascontiguousarray(values)]}


class MapPicture:
    """The value of each cell, the greedy action as an arrow, and the positions of the agents."""

    def __init__(self, grid: GridMap) -> None:
        self._grid = grid
        self._cells = cells = np.array([list(row) for row in grid.rows])
        self._rows, self._columns = rows, columns = cells.shape
        side = _MAP_SIDE / max(rows, columns)
        width = round(side * columns) + 10
        self.figure = plot = _plot(
            "map",
            (-0.5, columns - 0.5),
            (-0.5, rows - 0.5),
            width=width,
            max_width=width,
            height=round(side * rows) + 10 + _BAR_HEIGHT,
            sizing_mode="scale_width",
        )
        plot.axis.visible = False
        plot.grid.visible = False
        plot.outline_line_color = None
        self._values = _Image(plot, cells.shape)
        title = "value of the best action"
        bar = _bar(self._values.colours, orientation="horizontal", height=8, padding=4, title=title)
        plot.add_layout(bar, "below")
        for kind, colour in COLOURS.items():
            hatch = {"hatch_pattern": "/", "hatch_color": "#dee2e6"} if kind == WALL else {}
            plot.rect(*self._at(kind), 1, 1, fill_color=colour, line_color=None, **hatch)
        self._draw_outlines(plot)
        self._arrows = _source("x0", "y0", "x1", "y1", "angle")
        line = {"line_color": "white", "line_width": max(1.0, side / 24)}
        plot.segment("x0", "y0", "x1", "y1", source=self._arrows, **line)
        head = {"marker": "triangle", "angle": "angle", "size": max(3.0, side / 6)}
        white = {"fill_color": "white", "line_color": None}
        plot.scatter("x1", "y1", source=self._arrows, **head, **white)
        if cells.size <= MOST_ARROWS:
            for kind, text in LETTERS:
                self._draw_letter(plot, kind, text, side)
        self._agents = _source("x", "y", "colour", "ring")
        ring = {"fill_color": "colour", "line_color": "ring", "line_width": 2}
        plot.scatter("x", "y", source=self._agents, size=max(4.0, min(14.0, side / 5)), **ring)

    def _at(self, kind: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the x and y coordinates of all cells of a kind."""
        row, column = np.nonzero(self._cells == kind)
        return column, self._rows - 1 - row

    def _draw_outlines(self, plot: figure) -> None:
        """Draw the cells' outlines, whose tooltips describe the cells."""
        row, column = (axis.ravel() for axis in np.indices(self._cells.shape))
        self._fixed = {
            "x": column,
            "y": self._rows - 1 - row,
            "state": np.arange(self._cells.size),
            "row": row,
            "kind": [_KINDS[kind] for kind in self._cells.ravel()],
        }
        names = [_NAMES[move] for move in self._grid.moves]
        self._outlines = ColumnDataSource(self._fixed | dict.fromkeys(names, 0 * row))
        line = {"line_color": "white", "line_alpha": 0.6, "line_width": 1.5}
        drawn = plot.rect("x", "y", 1, 1, source=self._outlines, fill_alpha=0, **line)
        tooltips = [("state", "@state (row @row, column @x), @kind")]
        tooltips += [(name, f"@{name}{{0.000}}") for name in names]
        plot.add_tools(HoverTool(tooltips=tooltips, renderers=[drawn]))

    def _draw_letter(self, plot: figure, kind: str, text: str, side: float) -> None:
        x, y = self._at(kind)
        corner, share = (0.33, 0.2) if kind == START else (0.0, 0.35)
        plot.text(
            *(x - corner, y + corner),
            text=[text] * len(x),
            text_align="center",
            text_baseline="middle",
            text_color="white",
            text_font_style="bold",
            text_font_size=f"{max(5, round(side * share))}px",
        )

    def show(self, q: NDArray[np.float64], states: Sequence[AgentState], agent: int = 0) -> None:
        """Show a table, shape (S, A), and the agents; a black ring marks the table's agent."""
        shown = PolicyMap.of(self._grid, q)
        values = shown.values.filled(np.nan)
        self._values.show(np.flipud(values))
        actions = zip(self._grid.moves, q[: values.size].T, strict=True)
        self._outlines.data = self._fixed | {_NAMES[move]: column for move, column in actions}
        if values.size <= MOST_ARROWS:
            self._arrows.data = self._arrow_columns(shown)
        self._agents.data = self._agent_columns(states, agent)

    def follow(self, table: figure) -> None:
        """Outline the cell of the state under the pointer in the table's picture."""
        here = _source("x", "y")
        line = {"line_color": _HERE, "line_width": 4}
        self.figure.rect("x", "y", 1, 1, source=here, fill_alpha=0, name="here", **line)
        args = {"here": here, "rows": self._rows, "columns": self._columns}
        table.js_on_event(MouseMove, CustomJS(args=args, code=_FOLLOW))
        table.js_on_event(MouseLeave, CustomJS(args=args, code="here.data = {x: [], y: []};"))

    def _arrow_columns(self, shown: PolicyMap) -> dict[str, NDArray[np.float64]]:
        row, column = np.nonzero(shown.learnt)
        right, up = shown.direction[row, column].T * 0.24
        y = self._rows - 1 - row
        return {
            "x0": column - right,
            "y0": y - up,
            "x1": column + right,
            "y1": y + up,
            "angle": np.arctan2(up, right) - np.pi / 2,  # the marker triangle points upwards
        }

    def _agent_columns(self, states: Sequence[AgentState], agent: int) -> dict[str, object]:
        at = np.array([own.state for own in states[:_MOST_DOTS] if own.begun], np.int64)
        number = np.flatnonzero(at < self._cells.size)
        at = at[number]
        # Agents are drawn around the centre, so that those in the same cell can be counted.
        far = 0.3 if len(at) > 1 else 0.0
        turn = 2 * np.pi * number / max(1, len(at))
        return {
            "x": at % self._columns + far * np.cos(turn),
            "y": self._rows - 1 - at // self._columns + far * np.sin(turn),
            "colour": [AGENT_COLOURS[n % 10] for n in number],
            "ring": ["black" if n == agent else "white" for n in number],
        }


class TablePicture:
    """The table as a heat map, one column per state; only the first states of a large table."""

    def __init__(self, states: int, actions: int) -> None:
        self._states = min(states, _MOST_ENTRIES // actions)
        left_out = "" if self._states == states else f" (the first {self._states:,} of {states:,})"
        self.figure = plot = _plot(
            "table",
            (-0.5, self._states - 0.5),
            (actions - 0.5, -0.5),
            height=150,
            sizing_mode="stretch_width",
            x_axis_label=f"state{left_out}",
            y_axis_label="action",
        )
        plot.grid.visible = False
        plot.axis.minor_tick_line_color = None
        for axis in plot.axis:
            axis.ticker.mantissas = [1, 2, 5]
            axis.ticker.min_interval = 1
        self._values = _Image(plot, (actions, self._states), origin="top_left")
        plot.add_layout(_bar(self._values.colours, width=10, padding=2), "right")
        tooltips = [("state", "$x{0}"), ("action", "$y{0}"), ("value", "@image{0.000}")]
        plot.add_tools(HoverTool(tooltips=tooltips))

    def show(self, q: NDArray[np.float64]) -> None:
        """Show a table, shape (S, A); states whose actions are all equal are left blank."""
        q = q[: self._states]
        learnt = q.max(axis=1, keepdims=True) != q.min(axis=1, keepdims=True)
        self._values.show(np.where(learnt, q, np.nan).T, fenced=True)


class TilesPicture:
    """The best action's sum over planes, against two observed numbers; the others are at mid-range."""

    def __init__(self, tiles: Tiles) -> None:
        self._tiles = tiles
        shape = tiles.planes, tiles.rows, 1
        (first, second), bounds, _ = TileSums.of(tiles, np.zeros(shape), _TILES_SIDE)
        self.figure = plot = _plot(
            "table",
            *bounds,
            height=320,
            sizing_mode="stretch_width",
            x_axis_label=f"observation[{first}]",
            y_axis_label=f"observation[{second}]",
        )
        plot.grid.visible = False
        (x, right), (y, top) = bounds
        box = {"x": x, "y": y, "dw": right - x, "dh": top - y}
        self._values = _Image(plot, (_TILES_SIDE, _TILES_SIDE), **box)
        title = "value of the best action"
        plot.add_layout(_bar(self._values.colours, width=10, padding=2, title=title), "right")
        plot.add_tools(HoverTool(tooltips=[("value", "@image{0.000}")]))

    def show(self, q: NDArray[np.float64]) -> None:
        """Show planes of shape (T, S, A)."""
        self._values.show(TileSums.of(self._tiles, q, _TILES_SIDE).values.max(axis=-1))


class CurvePicture:
    """One curve per agent, the median of all agents, and the band from worst to best."""

    def __init__(self, name: str, colour: str, steps: str, height: int = 180) -> None:
        self.figure = plot = _plot(
            name, (0, 1), (-1, 1), height=height, sizing_mode="stretch_width", x_axis_label=steps
        )
        plot.xaxis.formatter = NumeralTickFormatter(format="0.[0000]a")
        plot.axis.minor_tick_line_color = None
        plot.outline_line_color = None
        plot.grid.grid_line_alpha = 0.5
        self._band, self._lines = _source(*Band._fields), _source("x", "y")
        self._marks, self._best = _source("x", "y", "text", "align", "offset"), _source("x", "y")
        plot.varea("steps", "low", "high", source=self._band, fill_color=colour, fill_alpha=0.2)
        plot.multi_line("x", "y", source=self._lines, line_color=colour, line_alpha=0.3)
        median = plot.line("steps", "median", source=self._band, line_color=colour, line_width=2.5)
        tooltips = [
            (steps, "@steps{0,0}"),
            ("median", "@median{0.00}"),
            ("worst, best", "@low{0.00}, @high{0.00}"),
        ]
        plot.add_tools(HoverTool(tooltips=tooltips, renderers=[median], mode="vline"))
        plot.vspan("x", source=self._marks, line_color=_MARK, line_dash="dotted", line_width=2)
        plot.text(
            *("x", "y", "text"),
            source=self._marks,
            text_color=_MARK,
            text_font_size="11px",
            text_baseline="top",
            text_align="align",
            x_offset="offset",
        )
        dashed = {"line_color": _OPTIMUM, "line_dash": "dashed", "line_width": 2}
        plot.line("x", "y", source=self._best, **dashed)

    def show(
        self,
        steps: NDArray[np.int64],
        values: NDArray[np.float64],
        marks: Sequence[Mark],
        best: NDArray[np.float64] | None = None,
        *,
        whole: bool = False,
    ) -> None:
        """Plot values, shape (points, agents), and the optimum at each point; NaN if unknown.

        The step axis of a whole run is logarithmic, like the spacing of its points.
        """
        plot = self.figure
        band = Band.of(steps, values)
        self._band.data = band._asdict()
        if band.steps.size:
            seen = np.concatenate([band.low, band.high, *([] if best is None else [best])])
            low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
            margin = 0.05 * (high - low) or 1.0
            above = _MARK_SPACE * (high - low + margin) if marks else margin
            plot.y_range.update(start=low - margin, end=high + above)
        if whole != isinstance(plot.x_scale, LogScale):
            plot.x_scale = LogScale() if whole else LinearScale()
            plot.xaxis.ticker = plot.xgrid.ticker = LogTicker() if whole else BasicTicker()
        first, last = (int(steps[0]), int(steps[-1])) if steps.size else (0, 0)
        first = _FIRST_STEPS if whole else first
        last = max(last, 10 * _FIRST_STEPS if whole else first + 1)
        plot.x_range.update(start=first, end=last)
        known = [~np.isnan(line) for line in values.T[:_MOST_LINES]]
        self._lines.data = {
            "x": [steps[there] for there in known],
            "y": [line[there] for there, line in zip(known, values.T, strict=False)],
        }
        self._marks.data = self._mark_columns([mark for mark in marks if mark.steps >= first])
        if best is not None:
            self._best.data = {"x": steps, "y": best}

    def _mark_columns(self, marks: Sequence[Mark]) -> dict[str, list[object]]:
        x_range, y_range = self.figure.x_range, self.figure.y_range
        middle = (x_range.start + x_range.end) / 2
        line = 0.09 * (y_range.end - y_range.start)
        right = [mark.steps > middle for mark in marks]
        return {
            "x": [mark.steps for mark in marks],
            "y": [y_range.end - _ROWS[mark.name] * line for mark in marks],
            "text": [f"{mark.name} {mark.value:.4g}" for mark in marks],
            "align": ["right" if late else "left" for late in right],
            "offset": [-4 if late else 4 for late in right],
        }
