"""A synthesised update is exact for all 8-bit operands, corner cases, random operands and forwarding."""

import ctypes
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tb.bench import RTL, Run, run
from tb.fpga.netlists import cells, hand_written, on_netlist
from tb.verify.figures import Count
from tb.verilated import shared_library

from qstep.golden.lane import exact_value
from qstep.spec.fixed import COEFFICIENT_BITS, COEFFICIENT_ONE, Coefficients, coefficients
from qstep_fpga.families import FAMILIES
from qstep_rtl.sources import source

pytestmark = [pytest.mark.synth, pytest.mark.slow]

SHAPES = {8: 1, 16: 2, 32: 3}
"""The loop depth for each width."""

OFTEN = {"ecp5": 8, "gowin": 16, "ice40": 32}
"""One width per family for ordinary runs; a release run tests all widths."""

LANES, CLOCKS = 4096, 64
"""Number of independent transition sequences, run one after another, and of transitions in each."""

RELEASE = -(-10_000_000 // (LANES * CLOCKS))
"""Number of batches that together contain at least 10 million operands."""

FLAGS = (
    "terminated",
    "far_replaces_entry",
    "near_replaces_entry",
    "far_joins_max",
    "near_joins_max",
)
HALF = 1 << (COEFFICIENT_BITS - 1)
STEPS = (0, 1, COEFFICIENT_ONE // 2, COEFFICIENT_ONE - 1, COEFFICIENT_ONE)
TABLE = re.compile(r"(LUT4 #\(\s*\.(?:LUT_)?INIT\(16'h)([0-9a-f]{4})(?=\)\s*\) max_product_q)")
"""Pattern of a look-up table that processes a product."""

Arrays = dict[str, NDArray[Any]]


def netlist(family: str, width: int) -> Path:
    return hand_written(family, "qs_update", {"Width": width, "LoopDepth": SHAPES[width]})


def random_stretch(rng: np.random.Generator, width: int) -> tuple[Coefficients, Arrays]:
    """Return operands of shape (CLOCKS, LANES): a quarter corner cases, the others of any magnitude."""
    shape = CLOCKS, LANES
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    corners = np.array([low, low + 1, -2, -1, 0, 1, 2, high - 1, high])
    cornered = rng.random(shape) < 0.25

    def numbers() -> NDArray[Any]:
        scaled = rng.integers(low, high, shape, endpoint=True) >> rng.integers(0, width, shape)
        return np.where(cornered, rng.choice(corners, shape), scaled)

    found = {name: numbers() for name in ("entry", "reward", "maximum")}
    random = rng.integers(0, 2 * HALF, shape)
    found["bias"] = np.choose(rng.integers(0, 4, shape), [0, HALF, 2 * HALF - 1, random])
    for name in FLAGS:
        found[name] = rng.random(shape) < 0.25
        if name != "terminated":
            found[name][: SHAPES[width] + 1] = False  # no result of the sequence is in flight yet
    alpha = int(rng.choice([*STEPS, *rng.integers(0, COEFFICIENT_ONE, 5)]))
    kappa = int(rng.choice([0, alpha // 2, alpha, int(rng.integers(0, alpha + 1))]))
    return Coefficients(alpha, kappa), found


EXHAUSTED = [(0.5, 0.9, HALF), (0.93, 0.37, 0), (1.0, 1.0, 0), (0.1, 1.0, HALF)]
"""Values of alpha, gamma and bias for which all operands are tested."""


def every_operand(
    settings: Sequence[tuple[float, float, int]],
) -> Iterator[tuple[Coefficients, Arrays]]:
    """Yield all combinations of 8-bit entries, rewards and maxima, for each of the settings."""
    size = CLOCKS * LANES
    none = np.zeros((CLOCKS, LANES), np.bool_)
    for alpha, gamma, bias in settings:
        for first in range(0, 1 << 24, size):
            number = np.arange(first, first + size).reshape(CLOCKS, LANES)
            shifts = {"entry": 0, "reward": 8, "maximum": 16}
            given: Arrays = {
                k: (number >> v).astype(np.int8).astype(int) for k, v in shifts.items()
            }
            given |= {"bias": np.full_like(number, bias), **dict.fromkeys(FLAGS, none)}
            yield coefficients(alpha, gamma), given


def expected(c: Coefficients, width: int, depth: int, given: Arrays) -> Arrays:
    """Return the model's results."""
    value, maximum, exact = np.zeros((3, CLOCKS, LANES), np.int64)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    for clock in range(CLOCKS):
        now = {name: values[clock] for name, values in given.items()}
        far, near = value[clock - depth - 1], value[clock - depth]
        entry = np.where(now["far_replaces_entry"], far, now["entry"])
        entry = np.where(now["near_replaces_entry"], near, entry)
        raised = np.where(now["far_joins_max"], np.maximum(now["maximum"], far), now["maximum"])
        maximum[clock] = np.where(now["near_joins_max"], np.maximum(raised, near), raised)
        bootstrap: Any = np.where(now["terminated"], 0, maximum[clock])
        operands: Any = entry, now["reward"], bootstrap, now["bias"]
        exact[clock] = exact_value(c, *operands)
        value[clock] = np.clip(exact[clock], low, high)
    return {"value": value, "not_value": ~value, "max": maximum, "saturated": exact != value}


def simulated(
    library: ctypes.CDLL, c: Coefficients, width: int, depth: int, given: Arrays
) -> Arrays:
    """Return the hardware's results; the reward is input one clock before the other operands."""
    latency, valid = depth + 3, (1 << (depth + 2)) - 1
    bits = [given[name].astype(np.uint8) << bit for bit, name in enumerate(FLAGS)]
    flags = np.bitwise_or.reduce(bits)

    def entering(values: NDArray[Any], clock: int) -> NDArray[Any]:
        kind = np.uint8 if values.dtype == np.uint8 else np.int32
        return np.pad(values.T.ravel(), (clock, latency + 1 - clock)).astype(kind)

    inputs = [entering(given["reward"], 1)]
    inputs += [
        entering(values, 2) for values in (given["entry"], given["maximum"], given["bias"], flags)
    ]
    clocks = inputs[0].size
    outputs = {name: np.empty(clocks, np.int32) for name in ("value", "not_value", "max")}
    outputs["saturated"] = np.empty(clocks, np.uint8)
    library.run(
        *(ctypes.c_long(clocks), valid, c.alpha, c.kappa),
        *(ctypes.c_void_p(array.ctypes.data) for array in (*inputs, *outputs.values())),
    )
    found = {name: array[latency:-1].reshape(LANES, CLOCKS).T for name, array in outputs.items()}
    unused = 32 - width
    return {k: v if k == "saturated" else v << unused >> unused for k, v in found.items()}


def check(
    files: list[Path],
    width: int,
    stretches: Iterable[tuple[Coefficients, Arrays]],
    parameters: Sequence[str] = (),
) -> None:
    """Compare the hardware in `files` with the model."""
    harness, depth = Path(__file__).with_name("update_verilated.cpp"), SHAPES[width]
    built = shared_library("qs_update", RTL, files, harness, parameters, optimise="-O2")
    library = ctypes.CDLL(str(built))
    for c, given in stretches:
        seen, right = simulated(library, c, width, depth, given), expected(c, width, depth, given)
        for name, values in right.items():
            wrong = np.argwhere(seen[name] != values)
            if len(wrong):
                at = tuple(wrong[0])
                operands = {name: array[at].item() for name, array in given.items()}
                raise AssertionError(
                    f"{name} is {seen[name][at]}, not {values[at]}, with {c}, {operands}; "
                    f"{len(wrong):,} of {values.size:,} are wrong"
                )


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("family", "width", "stretches"),
    [
        *((family, width, 4) for family, width in OFTEN.items()),
        *(
            pytest.param(family, width, RELEASE, marks=pytest.mark.release)
            for family in FAMILIES
            for width in SHAPES
        ),
    ],
)
def test_synthesised_update_is_exact_for_random_operands(
    family: str, width: int, stretches: int, record_property: Count
) -> None:
    rng = np.random.default_rng(width)
    given = (random_stretch(rng, width) for _ in range(stretches))
    check([*cells(family), netlist(family, width)], width, given)
    record_property("operands", stretches * LANES * CLOCKS)


@pytest.mark.release
@pytest.mark.parametrize("family", FAMILIES)
def test_synthesised_update_is_exact_for_all_operands_of_eight_bits(family: str) -> None:
    check([*cells(family), netlist(family, 8)], 8, every_operand(EXHAUSTED[:2]))


def test_update_is_exact_for_all_operands_of_eight_bits() -> None:
    files = [source("qs_pkg.sv"), source("qs_update.sv")]
    check(files, 8, every_operand(EXHAUSTED), ["-GWidth=8", f"-GLoopDepth={SHAPES[8]}"])


@pytest.mark.release
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("width", SHAPES)
def test_synthesised_update_is_exact_with_bubbles(family: str, width: int) -> None:
    shape = {"Width": width, "LoopDepth": SHAPES[width]}
    run(on_netlist(Run("qs_update", "tb.unit.rtl_update", shape), family))


@pytest.mark.parametrize(
    "family", ["ecp5", *(pytest.param(f, marks=pytest.mark.release) for f in ("gowin", "ice40"))]
)
def test_a_wrong_look_up_table_in_the_update_is_found(family: str, tmp_path: Path) -> None:
    text = netlist(family, 8).read_text(encoding="utf-8")
    wrong, count = TABLE.subn(lambda found: f"{found[1]}{int(found[2], 16) ^ 0xFFFF:04x}", text, 1)
    assert count == 1
    planted = tmp_path / "qs_update.v"
    planted.write_text(wrong, encoding="utf-8")
    with pytest.raises(AssertionError, match=r"is -?\w+, not -?\w+, with Coeff.* are wrong"):
        check([*cells(family), planted], 8, [random_stretch(np.random.default_rng(1), 8)])
