"""An environment's own picture: extra episodes of the agents' policy, played for the page only."""

from __future__ import annotations

import base64
import contextlib
import html
import io
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.envs import make
from qstep.learn.evaluate import epsilon_greedy

__all__ = ["Game"]

_PAUSE = 8
"""Calls for which the last picture of an episode stays."""

_PYGAME = {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy"}
"""Draw without a word and without a screen."""

_SHARP = 400
"""Pictures of fewer columns are enlarged without blur."""

_COLOUR = re.compile("\x1b\\[([0-9;]*)m")
_NAMES = ("black", "red", "green", "goldenrod", "royalblue", "magenta", "darkcyan", "gray")
"""Colours of the terminal's codes 30 to 37, and 40 to 47 for the background."""


class Game:
    """An extra environment with a render mode, in which agents act as those of the run do.

    The run is not affected: the environment, its seed and the draws of the policy are separate.
    :attr:`picture` is HTML; :attr:`steps`, :attr:`total` (the undiscounted return) and :attr:`over` are
    of the present episode; :attr:`fps` is how many steps per second suit the environment.
    """

    steps: int
    total: float
    over: bool
    picture: str

    def __init__(self, env: Any) -> None:
        self._env = env
        self._draws = np.random.default_rng(0)
        self.fps = int(env.metadata.get("render_fps") or 10)
        self._rest = self._state = 0
        self._failed = False
        self._begin()

    @classmethod
    def of(cls, world: str, env_kwargs: Mapping[str, Any] | None = None) -> Game | None:
        """Return the game of a world; None if it has no picture, or lacks a package to draw it.

        The terminal's picture stands in for a drawn one that lacks its package.
        """
        for name, value in _PYGAME.items():
            os.environ.setdefault(name, value)
        for mode in ("rgb_array", "ansi"):
            # Whatever fails, the run continues without a picture.
            with contextlib.suppress(Exception):
                if mode in make(world, 0, env_kwargs=env_kwargs).metadata.get("render_modes", ()):
                    return cls(make(world, 0, mode, env_kwargs))
        return None

    def advance(self, q: NDArray[Any], epsilon: float) -> None:
        """Make a step with a table, shape (S, A), or begin the next episode a while after the last.

        An environment that fails is shown no more; its picture says why.
        """
        if self._failed:
            return
        try:
            self._step(q, epsilon)
        except Exception as error:  # whatever fails, the page continues without a picture
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
        action = epsilon_greedy(q, self._state, epsilon, self._draws)
        state, reward, terminated, truncated, _ = self._env.step(action)
        self._state, self.over = int(state), bool(terminated or truncated)
        self.steps, self.total = self.steps + 1, self.total + float(reward)
        self.picture = _picture(self._env.render())

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def _begin(self) -> None:
        self._state = int(self._env.reset()[0])
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
    parts, style = [], ""
    for number, part in enumerate(_COLOUR.split(text)):
        if number % 2 == 0:
            parts.append(f'<span style="{style}">{html.escape(part)}</span>')
            continue
        for code in part.split(";"):
            kind, colour = divmod(int(code or 0), 10)
            if kind in (3, 4) and colour < len(_NAMES):
                what = "color" if kind == 3 else "background"
                style += f"{what}:{_NAMES[colour]};"
            elif code in ("", "0"):
                style = ""
    return "".join(parts)
