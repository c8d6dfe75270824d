"""CartPole learnt by DQN, as people write it and fast: frames a second while it learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import torch

from qstep.bench.checks import WrongTableError
from qstep.bench.pairs import Form, System
from qstep.deep import torch_device
from qstep.deep.dqn import Dqn
from qstep.deep.dqn_plain import PlainDqn
from qstep.deep.run import Run
from qstep.deep.systems import SYSTEMS

__all__ = ["system"]

_ENDLESS = 1 << 40
"""Frames after which the schedules end: what is timed is always the same part of them."""
