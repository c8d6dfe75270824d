"""Checkpoints of learners with networks: all that the rest of a run depends on, in one file.

A sealed zip (see `qstep.seal`) of three parts, nothing pickled: ``head.json`` (what the run is,
counters, generators), ``tensors.safetensors`` (networks, optimiser), ``arrays.npz`` (replay,
priorities, environments, history).
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load, save
from torch import Tensor

from qstep.errors import CheckpointError
from qstep.seal import check_head, read_sealed, write_sealed

__all__ = ["State", "check_parts", "load_state", "save_state"]

_KIND = "qstep network checkpoint 3"
_HEAD, _TENSORS, _ARRAYS = "head.json", "tensors.safetensors", "arrays.npz"


@dataclass(frozen=True, slots=True)
class State:
    """A run between two steps.

    Attributes
    ----------
    head : dict
        Plain values: counters, states of generators, seconds.
    tensors : dict of str to Tensor
        On the CPU.
    arrays : dict of str to ndarray
    """

    head: dict[str, Any]
    tensors: dict[str, Tensor]
    arrays: dict[str, NDArray[Any]]


def save_state(path: str | Path, state: State, identity: dict[str, Any]) -> None:
    """Write a state, atomically.

    Parameters
    ----------
    path : str or Path
        Replaced if it exists; its folder must exist.
    state : State
    identity : dict of plain values
        What the run is; :func:`load_state` refuses the file for any other, and with another version
        of PyTorch, which may compute other sums.

    Raises
    ------
    FileFormatError
        The file cannot be written; what was there before is untouched.
    """
    arrays, archive = io.BytesIO(), io.BytesIO()
    np.savez(arrays, allow_pickle=False, **state.arrays)
    head = {"kind": _KIND, "identity": _with_torch(identity), "head": state.head}
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(_HEAD, json.dumps(head))
        file.writestr(_TENSORS, save(state.tensors))
        file.writestr(_ARRAYS, arrays.getvalue())
    write_sealed(path, archive.getvalue())


def load_state(path: str | Path, identity: dict[str, Any]) -> State:
    """Read a state, all of it or nothing.

    Raises
    ------
    CheckpointError
        The file is absent, damaged, no such checkpoint or one of another version; or it is of
        another run or version of PyTorch, and then the message names each field that differs.
    """
    with zipfile.ZipFile(io.BytesIO(read_sealed(path))) as file:
        if _HEAD not in file.namelist():
            raise CheckpointError(f"{path}: is no checkpoint of a network; it has no {_HEAD}")
        head = json.loads(file.read(_HEAD))
        check_head(path, head, _KIND, _with_torch(identity))
        with np.load(io.BytesIO(file.read(_ARRAYS)), allow_pickle=False) as arrays:
            return State(head["head"], load(file.read(_TENSORS)), dict(arrays))


def check_parts(state: State, like: State, any_length: Collection[str] = ()) -> None:
    """Compare a state with the one that it is to take the place of.

    Parameters
    ----------
    state : State
        May have more parts.
    like : State
    any_length : collection of str
        Arrays whose number of rows does not matter.

    Raises
    ------
    CheckpointError
        A part is missing, or is of another type or shape; the message names it.
    """
    _check_all(state.head, like.head)
    _check_all(state.tensors, like.tensors)
    _check_all(state.arrays, like.arrays, any_length)


def _check_all(
    there: Mapping[str, Any], here: Mapping[str, Any], any_length: Collection[str] = ()
) -> None:
    for name, mine in here.items():
        if name not in there:
            raise CheckpointError(f"the checkpoint has no {name!r}")
        found, wanted = (_what(part, name in any_length) for part in (there[name], mine))
        if found != wanted:
            raise CheckpointError(f"{name} of the checkpoint is {found}; it must be {wanted}")
        if isinstance(mine, dict):
            _check_all(there[name], mine)


def _what(part: Any, any_length: bool) -> str:
    if not isinstance(part, (np.ndarray, Tensor)):
        return type(part).__name__
    shape = [str(size) for size in part.shape]
    if any_length:
        shape[:1] = ["n"]
    return f"{part.dtype} of shape [{', '.join(shape)}]"


def _with_torch(identity: dict[str, Any]) -> dict[str, Any]:
    return {**identity, "torch": torch.__version__}
