"""Worlds for agents of the models and of the hardware: random ones, and late ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tb.planted import plant_all

from qstep import Config
from qstep.acting.config import Acting
from qstep.acting.world_table import WorldTable

__all__ = ["late_world", "random_world"]

_NOISE = """
  logic [15:0] noise_q = 16'd1;
  logic feedback;
  assign feedback = noise_q[15] ^ noise_q[13] ^ noise_q[12] ^ noise_q[10];
  always_ff @(posedge clk_i) noise_q <= {noise_q[14:0], feedback};
"""


def _table(rng: np.random.Generator, *shape: int, slots: int) -> np.ndarray[Any, Any]:
    """Return splits; with one slot, the split of a world without chance."""
    most = (1 << 16) // slots
    split = rng.integers(0, most + 1, (*shape, slots), np.int32)
    ends = rng.random(split.shape) < 0.2
    return np.where(ends | (slots == 1), rng.choice([0, most], split.shape), split).astype(np.int32)


def random_world(config: Config, limit: int, seed: int) -> WorldTable:
    """Return a random world: any reward, next state and end, so that values saturate as well."""
    rng = np.random.default_rng(seed)
    acting = config.acting
    assert isinstance(acting, Acting)
    pairs = (config.states, config.actions)
    items = (*pairs, acting.outcomes, 2)
    lowest, highest = config.format.minimum, config.format.maximum
    reward = rng.integers(lowest, highest + 1, items, np.int64) // rng.choice([1, 8, 64], items)
    return WorldTable(
        split=_table(rng, *pairs, slots=acting.outcomes),
        next_state=rng.integers(0, config.states, items, np.int32),
        reward=reward.astype(np.int32),
        terminated=rng.random(items) < 0.1,
        start_split=_table(rng, slots=acting.starts),
        start_state=rng.integers(0, config.states, (acting.starts, 2), np.int32),
        max_episode_steps=limit,
    )


def late_world(folder: Path, sixteenths: int) -> Path:
    """Copy the hardware to `folder`; its world there answers in `sixteenths` of every 16 clocks."""
    top, agents = "qs_acting.sv", "  qs_agents #("
    ready = f"(noise_q[3:0] < 4'd{sixteenths}),"
    return plant_all(folder, [(top, "(1'b1),", ready), (top, agents, f"{_NOISE}\n{agents}")])
