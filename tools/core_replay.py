"""Write the input of the FuseSoC target ``sim``: transitions, and the golden model's final table.

python -m tools.core_replay
"""

import numpy as np

from qstep.golden.lane import Model
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config
from qstep.spec.settings import Hyperparameters
from qstep_rtl.sources import RTL

__all__ = ["FILE", "words"]

FILE = RTL / "bench/replay.mem"
CONFIG = Config(states=8, actions=4)
TRANSITIONS = 1000


def words() -> str:
    """Return the file's text, in the format that ``rtl/bench/qs_replay.sv`` describes."""
    random = np.random.default_rng(1)
    model, hyper = Model(CONFIG), Hyperparameters(alpha=0.5, gamma=0.9)
    moves = Transitions.from_arrays(
        CONFIG,
        state=random.integers(CONFIG.states, size=TRANSITIONS),
        action=random.integers(CONFIG.actions, size=TRANSITIONS),
        reward=random.uniform(-100, 100, TRANSITIONS),  # large enough to saturate
        next_state=random.integers(CONFIG.states, size=TRANSITIONS),
        terminated=random.random(TRANSITIONS) < 0.1,
    )
    model.configure(hyper)
    model.apply(moves)
    c = hyper.coefficients_for(CONFIG)
    found = [TRANSITIONS << 32 | c.alpha << 16 | c.kappa]
    columns = (moves.terminated, moves.action, moves.reward_raw, moves.next_state, moves.state)
    for terminated, action, reward, next_state, state in zip(
        *map(np.ndarray.tolist, columns), strict=True
    ):
        upper = terminated << 15 | action
        found.append(upper << 48 | (reward & 0xFFFF) << 32 | next_state << 16 | state)
    found += [entry & 0xFFFF for entry in model.table.ravel().tolist()]
    return "".join(f"{word:016x}\n" for word in found)


if __name__ == "__main__":
    FILE.write_text(words(), encoding="utf-8")
