"""Writers for every kind of QStep file, in three versions each, and faulty writers."""

import os
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from tb.fpga.placements import BOARD, placement
from tb.sw.checkpoints import load_checkpoint
from tb.sw.killed_writers import Writer
from tb.sw.made_up_board import made_up_build

from qstep import Acting, Algorithm, Config, Hyperparameters, World
from qstep._io import cache
from qstep._io.checkpoint import Checkpoint, run_folder, save_checkpoint
from qstep._io.files import write_atomically
from qstep._io.npz import load_arrays
from qstep._io.pictures import write_pictures
from qstep._io.workers import Threads
from qstep.errors import FileFormatError
from qstep.golden.agents_fast import Trace
from qstep.learn.agents_result import save_trace
from qstep.learn.metrics import write_metrics
from qstep.learn.table import load_table
from qstep.learn.table_result import TableResult
from qstep_fpga import flow
from qstep_fpga.board import Board
from qstep_fpga.placement import Design, Placement
from qstep_fpga.report import BuildReport

__all__ = ["WRITERS", "WRONG"]

CONFIG = Config(3, 2)


def _table(version: int) -> NDArray[np.int32]:
    return np.arange(6, dtype=np.int32).reshape(3, 2) + version


def _file(folder: Path, version: int) -> None:
    write_atomically(folder / "file", b"content %d" % version * 5000)


def _read_file(folder: Path) -> bytes:
    return (folder / "file").read_bytes()


def _checkpoint(folder: Path, version: int) -> None:
    kept = Checkpoint({"version": version}, {"table": _table(version)})
    save_checkpoint(folder / "checkpoint.npz", kept, {"run": 1})


def _read_checkpoint(folder: Path) -> Checkpoint:
    return load_checkpoint(folder / "checkpoint.npz", {"run": 1})


def _run(folder: Path, version: int) -> None:
    """Write a checkpoint and results into a run's folder, as `qstep train` does."""

    report = {"engine": "host", "optimum": None, "steps": version, "episodes": version}
    columns = {"steps": np.array([version]), "episodes": np.array([version])}
    result = TableResult(
        "world.npz",
        CONFIG,
        Hyperparameters(),
        _table(version),
        {"evaluations": columns},
        report,
        None,
    )
    with run_folder(folder, resume=False, overwrite=True):
        _checkpoint(folder, version)
        result.write(folder)
        write_pictures({folder / "curve.png": partial(Figure, (1 + version, 1))})


def _world(folder: Path, version: int) -> None:
    World.from_arrays(
        state=[0, 0, 1, 1],
        action=[0, 1, 0, 1],
        next_state=[1, 1, 0, 0],
        reward=[version, 0, 0, 0],
        terminated=[True, True, False, False],
        start_state=[0],
    ).save(folder / "world.npz")


def _trace(folder: Path, version: int) -> None:
    column = np.full(9, version)
    acting = Acting(algorithm=Algorithm.DOUBLE_Q_LEARNING)
    save_trace(folder / "trace.npz", Config(3, 2, acting=acting), [Trace(*[column] * 9)])


_KEYS = ("0a", "0b", "0c")


def _cached(folder: Path, version: int) -> None:
    """Build a cache entry for each version up to this one; older entries remain."""

    def make(scratch: Path) -> Path:
        (scratch / "made").write_bytes(b"built %d" % version * 5000)
        return scratch / "made"

    with patch.dict("os.environ", QSTEP_CACHE=str(folder)):
        for number in range(version + 1):
            version = number
            cache.fetch(_KEYS[number], ".bin", make)


def _read_cached(folder: Path) -> object:
    with patch.dict("os.environ", QSTEP_CACHE=str(folder)):
        return cache.find(_KEYS[0], ".bin")


_BOARDS = [
    replace(BOARD, config=replace(BOARD.config, states=8 << version)) for version in range(3)
]

_REPORT = made_up_build(BOARD.config)


def _build(folder: Path, version: int) -> None:
    """Build a board as `qstep build` does, but without the tools, which work in the cache's folders."""
    board = _BOARDS[version]
    report = replace(_REPORT, config=board.config.to_dict(), digest=board.config.digest)

    def pack(board: Board, best: Placement, out: Path) -> None:
        write_atomically(out, board.config.to_toml().encode() * 99)

    with (
        patch.multiple(
            flow,
            synthesise=lambda *given: Path(),
            check_fit=lambda *given: None,
            place_all=lambda *given: [placement(_REPORT.seed, 99.0)],
            pack=pack,
        ),
        patch.object(Design, "of_device"),
        patch.object(BuildReport, "of", return_value=report),
    ):
        flow.build(board, board.config, [_REPORT.seed], Threads(1), folder, lambda *given: None)


def _read_build(folder: Path) -> object:
    """Read a board's files, and check that they are from the same build."""
    config = Config.from_toml(folder / "icebreaker.toml")
    bitstream = (folder / "icebreaker.bin").read_bytes()
    report = BuildReport.read(folder / "icebreaker.json")
    if bitstream != config.to_toml().encode() * 99 or report.digest != config.digest:
        raise FileFormatError("bitstream, report and configuration are of two builds")
    return report


def _metrics(folder: Path, version: int) -> None:
    with write_metrics(folder / "metrics.csv") as metrics:
        assert metrics is not None
        for step in range(5):
            metrics(step, {"episode_return": float(version), "epsilon": 0.1})


def _read_metrics(folder: Path) -> bytes:
    return (folder / "metrics.csv").read_bytes()


WRITERS = {
    "file": Writer(_file, _read_file),
    "checkpoint": Writer(_checkpoint, _read_checkpoint),
    "run": Writer(
        _run,
        lambda folder: (_read_checkpoint(folder), load_table(folder / "table.npz", CONFIG).q_raw),
    ),
    "world": Writer(_world, lambda folder: World.from_file(folder / "world.npz")),
    "trace": Writer(
        _trace, lambda folder: load_arrays(folder / "trace.npz", ("agent", "state", "table"))
    ),
    "cache": Writer(_cached, _read_cached),
    "build": Writer(_build, _read_build, removed=".bin"),
    "metrics": Writer(_metrics, _read_metrics, by_lines=True),
}
"""QStep's writers; tables, histories and pictures are among the files of a run."""


# Faulty writers, which must be detected


def _in_place(folder: Path, version: int) -> None:
    (folder / "file").write_bytes(b"content %d" % version * 5000)


def _removed_first(folder: Path, version: int) -> None:
    (folder / "file").unlink(missing_ok=True)
    _file(folder, version)


def _left_behind(folder: Path, version: int) -> None:
    descriptor, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(b"content %d" % version)
    os.replace(name, folder / "file")


def _half_rows(folder: Path, version: int) -> None:
    with (folder / "metrics.csv").open("w", buffering=1) as file:
        file.write("step,name,")
        file.flush()
        file.write("value\n")


def _refuses_the_old(folder: Path) -> bytes:
    if (content := _read_file(folder)).startswith(b"content 0") and len(os.listdir(folder)) > 1:
        raise FileFormatError("another file is beside it")
    return content


def _build_of_two(folder: Path, version: int) -> None:
    config = _BOARDS[version].config
    write_atomically(folder / "icebreaker.toml", config.to_toml().encode())
    replace(_REPORT, digest=config.digest).write(folder / "icebreaker.json")
    write_atomically(folder / "icebreaker.bin", config.to_toml().encode() * 99)


WRONG = {
    "in place": Writer(_in_place, _read_file),
    "removed first": Writer(_removed_first, _read_file),
    "left behind": Writer(_left_behind, _read_file),
    "half rows": Writer(_half_rows, _read_metrics, by_lines=True),
    "refused": Writer(_file, _refuses_the_old),
    "of two builds": Writer(_build_of_two, _read_build, removed=".bin"),
}
