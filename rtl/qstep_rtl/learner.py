"""Writes the learner, whose requests come from external logic, and a testbench."""

from __future__ import annotations

from pathlib import Path

from qstep._io.files import make_folder, write_atomically
from qstep.spec.checks import integer, power_of_two
from qstep.spec.planes import KEY_BITS, QUEUE_ENTRIES, PlanesConfig
from qstep.spec.random import first_word
from qstep_rtl import sources

__all__ = ["BENCH", "TOP", "generate_learner", "learner_files", "learner_ports"]

TOP, BENCH = "qstep_learner", "qstep_learner_bench.v"

_MOST_ENTRIES, _MOST_KEY_BITS = 1024, 64


def learner_files() -> list[Path]:
    """Return the learner's hand-written SystemVerilog in compile order."""
    everything = sources.fileset("common", "agents", "bus", "planes")
    needed = sources.hierarchy("qs_learner", everything)
    return [path for path in everything if path in needed]


def learner_ports(config: PlanesConfig, key_bits: int = 20) -> list[tuple[str, str, int]]:
    """Return direction, name and width of each port of ``qstep_learner``."""
    row_bits = config.all_planes * (config.rows - 1).bit_length()
    action, width = (config.actions - 1).bit_length(), config.format.width

    def stream(name: str, ways: tuple[str, str], **fields: int) -> list[tuple[str, str, int]]:
        forth, back = ways
        letter = {"input": "i", "output": "o"}
        return [
            (forth, f"{name}_valid_{letter[forth]}", 1),
            (back, f"{name}_ready_{letter[back]}", 1),
            *((forth, f"{name}_{field}_{letter[forth]}", bits) for field, bits in fields.items()),
        ]

    into, out = ("input", "output"), ("output", "input")
    return [
        ("input", "clk_i", 1),
        ("input", "rst_i", 1),
        ("input", "rewards_i", 6 * width),
        ("input", "set_i", 1),
        *stream("choose", into, words=64 * config.groups, explore=1, action=action),
        *stream("answer", out, action=action, value=config.value_bits, explored=1, rows=row_bits),
        *stream("demand", into, key=key_bits),
        *stream("fill", into, key=key_bits),
        *stream(
            "insert", into, key=key_bits, rows=row_bits, action=action, rewarded=1, reward=width
        ),
        ("output", "unknown_o", 32),
        ("output", "queue_holds_o", 32),
        ("output", "holds_o", 32),
    ]


def _top(config: PlanesConfig, entries: int, key_bits: int, seed: int) -> str:
    declared = ",\n".join(
        f"    {way} logic {'signed ' * (name == 'answer_value_o')}"
        f"{f'[{bits - 1}:0] ' if bits > 1 else ''}{name}"
        for way, name, bits in learner_ports(config, key_bits)
    )
    constants = ", ".join(f"32'h{constant:08x}" for constant in reversed(config.constants))
    parameters = {
        "Groups": config.groups,
        "Planes": config.planes,
        "Rows": config.rows,
        "Actions": config.actions,
        "Width": config.format.width,
        "CoeffFraction": config.coefficient_bits,
        "SharedError": int(config.error == "shared"),
        "Floor": int(config.floor),
        "Start": config.start_raw,
        "Constants": f"{{{constants}}}",
        "Entries": entries,
        "KeyBits": key_bits,
    }
    settings = {
        "alpha_i": f"16'd{config.coefficients.alpha}",
        "kappa_i": f"16'd{config.coefficients.kappa}",
        "threshold_i": f"17'd{config.threshold}",
        "word_i": f"64'h{first_word(seed, 0):016x}",
    }
    given, tied = (
        ",\n".join(f"      .{name}({value})" for name, value in own.items())
        for own in (parameters, settings)
    )
    return (
        "// Written by qstep generate --preset. rewards_i has the sets 1 and 0, each with the rewards\n"
        f"// unused, late and timely, in units of 2^-{config.format.fraction}.\n"
        f"module {TOP} (\n{declared}\n);\n"
        f"  qs_learner #(\n{given}\n  ) u_learner (\n{tied},\n      .*\n  );\nendmodule\n"
    )


def generate_learner(
    config: PlanesConfig,
    folder: Path,
    entries: int = QUEUE_ENTRIES,
    key_bits: int = KEY_BITS,
    seed: int = 0,
) -> list[Path]:
    """Write ``qstep_learner.sv``, every module that it instantiates, a file list, and a bench.

    The list is ``qstep_learner.f``, and the bench ``qstep_learner_bench.v``. The learner's streams
    have ``valid``, ``ready`` and data, as in AXI-Stream; docs/learner.md describes them.

    Parameters
    ----------
    config : PlanesConfig
        What to build.
    folder : Path
        The folder to write to; created if necessary.
    entries : int
        Number of entries of the evaluation queue: a power of two, 2..1024.
    key_bits : int
        Width of a queue key in bits, 1..64.
    seed : int
        Exploration seed, 0..2^64-1, as in :class:`qstep.golden.planes.PlanesModel`.

    Returns
    -------
    list of Path
        The SystemVerilog files in `folder` in compile order, with the top last.

    Raises
    ------
    ConfigError
        `entries`, `key_bits` or `seed` is out of range.
    FileFormatError
        The folder cannot be written.
    """
    power_of_two("entries", entries, 2, _MOST_ENTRIES)
    integer("key_bits", key_bits, 1, _MOST_KEY_BITS)
    texts = {path.name: path.read_bytes() for path in learner_files()}
    order = [*texts, f"{TOP}.sv"]
    texts |= {path.name: path.read_bytes() for path in sources.includes()}
    texts[f"{TOP}.sv"] = _top(config, entries, key_bits, seed).encode()
    texts[f"{TOP}.f"] = "".join(f"{name}\n" for name in order).encode()
    texts[BENCH] = (sources.RTL / "bench/qs_learner_bench.v").read_bytes()
    make_folder(folder)
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return [folder / name for name in order]
