"""An environment's own picture, from extra episodes played with the agents' policy only for the page."""

from __future__ import annotations

import base64
import contextlib
import html
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from qstep.envs import make, make_any
from qstep.envs.rendering import draw_offscreen
from qstep.learn.evaluate import chooser
from qstep.spec.tiles import Tiles

__all__ = ["Game"]

_PAUSE = 8  # number of calls for which an episode's last picture stays
_SHARP = 400  # pictures with fewer columns are enlarged without blur


class Game:
    """An extra environment with a render mode, played with the policy of the run's agents.

    The run is not affected: the environment, its seed and the draws of the policy are separate.
    :attr:`picture` is HTML; :attr:`steps`, :attr:`total` (the undiscounted return) and :attr:`over`
    describe the current episode; :attr:`fps` is the number of steps to show per second.
    """

    steps: int
    total: float
    over: bool
    picture: str

    def __init__(self, env: Any, tiles: Tiles | None = None) -> None:
        self._env, self._tiles = env, tiles
        self._draws = np.random.default_rng(0)
        self.fps = int(env.metadata.get("render_fps") or 10)
        self._rest, self._state = 0, None
        self._failed = False
        self._begin()

    @classmethod
    def of(
        cls,
        world: str,
        env_kwargs: Mapping[str, Any] | None = None,
        tiles: Tiles | None = None,
    ) -> Game | None:
        """Return the game of a world, as text if its drawing package is absent.

        The result is None if the world has neither kind of picture.
        """
        draw_offscreen()
        for mode in ("rgb_array", "ansi"):
            # If anything fails, the run continues without a picture.
            with contextlib.suppress(Exception):
                if mode in make_any(world, None, env_kwargs).metadata.get("render_modes", ()):
                    if tiles is not None:
                        return cls(make_any(world, mode, env_kwargs), tiles)
                    return cls(make(world, 0, mode, env_kwargs))
        return None

    def advance(self, q: NDArray[Any], epsilon: float) -> None:
        """Take a step; after an episode ends, keep its last picture for a few calls, then start another.

        `q` is a table, shape (S, A), or planes, shape (T, S, A). If the environment fails, the error
        replaces the picture.
        """
        if self._failed:
            return
        try:
            self._step(q, epsilon)
        except Exception as error:  # if anything fails, the page shows the error
            self._failed = True
            self.picture = (
                f"<p>The picture failed: {html.escape(f'{type(error).__name__}: {error}')}</p>"
            )

    def _step(self, q: NDArray[Any], epsilon: float) -> None:
        if self.over:
            self._rest -= 1
            if not self._rest:
                self._begin()
            return
        action = chooser(q, self._tiles)(self._state)
        if self._draws.random() < epsilon:
            action = int(self._draws.integers(q.shape[-1]))
        self._state, reward, terminated, truncated, _ = self._env.step(action)
        self.over = bool(terminated or truncated)
        self.steps, self.total = self.steps + 1, self.total + float(reward)
        self.picture = _picture(self._env.render())

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def _begin(self) -> None:
        self._state = self._env.reset()[0]
        self.steps, self.total, self.over, self._rest = 0, 0.0, False, _PAUSE
        self.picture = _picture(self._env.render())


def _picture(drawn: Any) -> str:
    """Return the result of `render` as HTML."""
    if isinstance(drawn, str):
        return f"<pre>{_coloured(drawn.strip())}</pre>"
    from PIL import Image

    packed, pixels = io.BytesIO(), np.asarray(drawn, np.uint8)
    Image.fromarray(pixels).save(packed, "PNG", compress_level=1)
    data = base64.b64encode(packed.getvalue()).decode()
    how = "pixelated" if pixels.shape[1] < _SHARP else "auto"
    return (
        f'<img alt="the game" decoding="sync" style="image-rendering: {how}" '
        f'src="data:image/png;base64,{data}">'
    )


def _coloured(text: str) -> str:
    """Return a terminal's text as HTML, with its colours."""
    terminal = Console(file=io.StringIO(), record=True)
    terminal.print(Text.from_ansi(text), soft_wrap=True)
    # These colours are legible on light and dark pages.
    return terminal.export_html(theme=DIMMED_MONOKAI, inline_styles=True, code_format="{code}")
