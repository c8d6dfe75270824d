"""Replay random streams on every device (model, byte link, UART, pty, TCP) and compare the files.

    python -m tools.replay_everywhere --cases 5 --seed 1

Each case draws a configuration (states, actions, format, loop depth, rounding), alpha, gamma and a kind
of stream; some streams cause hazards. It then runs ``qstep replay`` as a user would. All files must be
identical byte for byte. A failing case prints the command that replays it alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

__all__ = ["draw_case", "replay_case"]

DEVICES = ("model", "sim", "sim:uart", "pty", "tcp")
"""The devices that replay; the last two are run by `qstep serve` and reached through pyserial."""


def draw_case(seed: int, transitions: int) -> tuple[list[str], dict[str, Any]]:
    """Return the options of a case and the arrays of its stream, which depend on the seed alone."""
    rng = np.random.default_rng(seed)
    states, actions = int(rng.integers(2, 300)), int(rng.integers(2, 9))
    width = int(rng.integers(8, 33))
    fraction = int(rng.integers(0, width))
    options = {
        "--states": states,
        "--actions": actions,
        "--format": f"Q{width - fraction}.{fraction}",
        "--loop-depth": int(rng.integers(1, 4)),
        "--rounding": str(rng.choice(["nearest", "floor", "stochastic"])),
        "--alpha": round(float(rng.random()), 4),
        "--gamma": round(float(rng.random()), 4),
        "--seed": seed,
    }
    state = rng.integers(states, size=transitions)
    next_state = rng.integers(states, size=transitions)
    kind = rng.choice(["independent", "walker", "crowded"])
    if kind == "walker":  # each transition continues the previous one: continuing records, hazards
        state[1:] = next_state[:-1]
    if kind == "crowded":  # a few rows and many self loops: every distance, every conflict
        state, next_state = state % min(3, states), next_state % min(3, states)
    limit = 2.0 ** (width - fraction - 1)
    few = int(rng.integers(2))  # reward codes, or full rewards
    levels = rng.uniform(-limit, limit * (1 - 2.0 ** (1 - width)), size=5 if few else transitions)
    columns = {
        "state": state,
        "action": rng.integers(actions, size=transitions),
        "reward": rng.choice(levels, size=transitions),
        "next_state": next_state,
        "terminated": rng.random(transitions) < 0.1,
    }
    return [word for pair in options.items() for word in map(str, pair)], columns


def _qstep(*words: str | Path) -> list[str]:
    return [sys.executable, "-c", "from qstep.cli import main; main()", *map(str, words)]


@contextmanager
def _device(name: str, options: list[str]) -> Iterator[str]:
    """Yield the value of `--device` for a name; pty and TCP are served while it is in use."""
    if name not in ("pty", "tcp"):
        yield name
        return
    geometry = options[: 2 * 4]  # states, actions, format, loop depth
    command = _qstep("serve", *geometry, "--link", name, "--json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()


def replay_case(seed: int, transitions: int, folder: Path) -> dict[str, bytes]:
    """Replay a seed's case on every device and return the file from each."""
    options, columns = draw_case(seed, transitions)
    stream = folder / "stream.npz"
    np.savez(stream, **columns)
    files = {}
    for name in DEVICES:
        out = folder / f"{name.replace(':', '-')}.npz"
        with _device(name, options) as url:
            words = ["replay", str(stream), "--out", str(out), *options, "--device", url]
            subprocess.run(_qstep(*words), check=True, capture_output=True, text=True)
        files[name] = out.read_bytes()
    return files


@click.command()
@click.option("--cases", type=int, default=5, show_default=True, help="Configurations to draw.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the first case.")
@click.option(
    "--transitions", type=int, default=20_000, show_default=True, help="Length of a stream."
)
def main(cases: int, seed: int, transitions: int) -> None:
    """Replay random streams on every device and compare the files."""
    for case in range(seed, seed + cases):
        options, _ = draw_case(case, transitions)
        click.echo(f"case {case}: {' '.join(options)}")
        with tempfile.TemporaryDirectory() as folder:
            files = replay_case(case, transitions, Path(folder))
        different = [name for name in DEVICES if files[name] != files["model"]]
        if different:
            click.echo(f"  differs on {', '.join(different)}; replay it with")
            click.echo(
                f"  python -m tools.replay_everywhere --cases 1 --seed {case} "
                f"--transitions {transitions}"
            )
            sys.exit(1)
        click.echo(f"  {transitions} transitions, {len(DEVICES)} identical files")


if __name__ == "__main__":
    main()
