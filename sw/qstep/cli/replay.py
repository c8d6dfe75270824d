"""`qstep replay`: apply a file of transitions to a table on a device."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import click

from qstep.cli._options import (
    FILE,
    HYPER_OPTIONS,
    NEW_FILE,
    config_from,
    config_options,
    device_option,
    option,
    stack,
)
from qstep.cli._output import JsonOutput, json_option, room_for, task_bar
from qstep.device import Counters, Device, open_device
from qstep.errors import DeviceError, FileFormatError
from qstep.learn.result import saturated_in_words
from qstep.learn.table import load_table, save_table
from qstep.mdp.transitions import Transitions
from qstep.spec.settings import Hyperparameters

__all__ = ["command"]

_CHUNK = 1 << 16
"""Transitions per update of the progress bar."""


@click.command()
@click.argument("transitions_file", metavar="TRANSITIONS.npz", type=FILE)
@option("--out", "The table.", type=NEW_FILE, required=True, metavar="TABLE.npz")
@config_options
@device_option
@stack(*HYPER_OPTIONS.values())
@option("--init", "Initial table.  [default: zeros]", "init_file", type=FILE, metavar="TABLE.npz")
@json_option("the summary")
def command(
    transitions_file: Path,
    out: Path,
    url: str,
    init_file: Path | None,
    json_output: JsonOutput,
    **typed: Any,
) -> None:
    """Apply transitions to a Q-table, in order, and write the table.

    TRANSITIONS.npz contains arrays of equal length: state, action, reward (real), next_state and
    terminated (bool). TABLE.npz contains q_raw (int32), q (float64) and config (JSON text). The
    same transitions and options give the same file, byte for byte, on every device.

    \b
    Examples:
      qstep replay walk.npz --out table.npz --states 25 --actions 4
      qstep replay walk.npz --out table.npz --config maze.toml --device sim
      qstep replay more.npz --out table.npz --config maze.toml --init table.npz --alpha 0.1
    """
    hyper = Hyperparameters(**{name: typed.pop(name) for name in HYPER_OPTIONS})
    config = config_from(**typed)
    transitions = Transitions.load(transitions_file, config)
    init = None if init_file is None else load_table(init_file, config).q_raw
    if not out.parent.is_dir():
        raise FileFormatError(f"{out}: the folder {out.parent} does not exist")
    with room_for(out, json_output.file), open_device(url, config) as device:
        saturations = -device.saturations()
        device.configure(hyper)
        if init is None:
            device.clear()
        else:
            device.load(init)
        seconds = _apply(device, transitions)
        save_table(out, device.read(), config, hyper)
        saturations += device.saturations()
        counters = device.counters()
        digest = device.status().digest
    rate = round(len(transitions) / seconds)
    report = {
        "device": url,
        "transitions": len(transitions),
        "seconds": round(seconds, 6),
        "updates_per_second": rate,
        "saturations": saturations,
        "discount": hyper.discount_for(config),
        "digest": f"{digest:08x}",
        "counters": None if counters is None else dataclasses.asdict(counters),
        "out": str(out),
    }
    words = [f"{len(transitions):,} transitions, {rate:,} updates/s{_words(counters)}: {out}"]
    if saturations:
        words.append(saturated_in_words(saturations, len(transitions), config.format))
    json_output.tell(report, *words)


def _apply(device: Device, transitions: Transitions) -> float:
    """Apply all transitions and return the seconds taken; an error reports the number applied."""
    device.apply(transitions[:0])  # loads the compiled code; the rate must not include this
    with task_bar() as bar:
        task = bar.add_task("replay", total=len(transitions))
        begun = time.perf_counter()
        for start in range(0, len(transitions), _CHUNK):
            part = transitions[start : start + _CHUNK]
            try:
                device.apply(part)
            except DeviceError as error:
                known = start + (error.applied or 0)
                words = (
                    f"{known:,} of {len(transitions):,} transitions are known to have been applied"
                )
                raise type(error)(f"{error}; {words}", known) from error
            bar.advance(task, len(part))
        return time.perf_counter() - begun


def _words(counters: Counters | None) -> str:
    """Return the hardware's counters since its reset as text for the last line."""
    if counters is None or not counters.offered_clocks:
        return ""
    return (
        f", {counters.accepted / counters.offered_clocks:.3f} updates/clock, "
        f"{counters.held:,} clocks held, {counters.forwarded:,} forwarded, "
        f"{counters.saturated:,} saturated"
    )
