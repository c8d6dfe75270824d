"""The recording of Pythia's released learner, as requests; `data/README.md` describes it."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.golden.planes import NO_ACTION, Requests
from qstep.spec.planes import PRESETS
from qstep.spec.tiles import hashed

FILE = Path(__file__).with_name("data") / "prefetch_log.npz"

PYTHIA = replace(PRESETS["pythia"], epsilon=0.0)
"""The Pythia preset without exploration, because the recording contains the explored actions."""


class PrefetchLog(NamedTuple):
    """Requests in order, with the action of each choice and whether it explored."""

    words: NDArray[np.int64]
    requests: Requests
    action: NDArray[np.uint8]
    explored: NDArray[np.bool_]


def feature_words(pc: NDArray[Any], delta: NDArray[Any]) -> NDArray[np.int64]:
    """Return Pythia's features for memory accesses, as int64 of shape (N, 2)."""
    pc, delta = pc.astype(np.int64), delta.astype(np.int64)
    return np.stack([pc, (pc << 7) + np.where(delta < 0, 64 - delta, delta)], axis=1)


@cache
def prefetch_log() -> PrefetchLog:
    """Return the recording; its `words` are the features of each choice."""
    with np.load(FILE) as file:
        log = dict(file)
    choices, learns = len(log["action"]), len(log["learn_action"])
    words = feature_words(log["pc"], log["delta"])
    rows = np.stack(
        [hashed(words[:, g], c, 128) for g in range(2) for c in PYTHIA.constants], axis=1
    )
    # Place the updates that were recorded after choice i directly after it.
    order = np.argsort(
        np.r_[np.arange(choices) * 2, log["learn_after_choice"] * 2 + 1], kind="stable"
    )

    def column(of_choices: Any, of_learns: Any) -> NDArray[Any]:
        of_choices = np.broadcast_to(of_choices, (choices, *of_learns.shape[1:]))
        return np.concatenate([of_choices, of_learns])[order]

    one = 1 << PYTHIA.format.fraction
    requests = Requests(
        learns=column(False, np.ones(learns, np.bool_)),
        rows=column(rows, rows[log["learn_state"]]),
        action=column(
            np.where(log["explored"], log["action"].astype(np.int32), NO_ACTION),
            log["learn_action"].astype(np.int32),
        ),
        reward=column(0, log["learn_reward"].astype(np.int32) * one),
        next_rows=column(0, rows[log["learn_next_state"]]),
        next_action=column(0, log["learn_next_action"].astype(np.int32)),
        terminated=column(False, np.zeros(learns, np.bool_)),
    )
    return PrefetchLog(words, requests, log["action"], log["explored"])
