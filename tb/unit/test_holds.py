"""The lane holds transitions while the link sends more: none is lost, and every hold is counted."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from tb.generated import generated
from tb.planted import Fault, faults, plant_all

from qstep.device.lane import LinkDevice
from qstep.device.link.frames import DELIMITER, Frame, decode_frame, encode_frame
from qstep.device.model import ModelDevice
from qstep.errors import DeviceError
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config, Link
from qstep.spec.protocol import ANSWERS, RecordLayout, Request, StatusCode
from qstep.spec.settings import Hyperparameters
from qstep_rtl import sources
from qstep_rtl.timing import write_stage
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

CONFIG = Config(states=4, actions=3, loop_depth=3)
"""The link is faster than the loop: a coded record has two bytes, and the loop takes three clocks."""

RECORD_BYTES = 2


class Overheard:
    """A port that counts the transitions in each frame that passes through it."""

    def __init__(self, port: SimPort) -> None:
        self._port = port
        self.frames: list[int] = []
        self.read, self.close = port.read, port.close

    def write(self, data: bytes) -> None:
        for frame in filter(None, map(decode_frame, data.split(DELIMITER))):
            if frame.type == Request.APPLY_CODED:
                self.frames.append(len(frame.payload) // RECORD_BYTES)
        self._port.write(data)


def drawn_stream(walker: bool, count: int) -> Transitions:
    """Return random transitions; a walker's state is the next state of its previous transition."""
    rng = np.random.default_rng(1)
    next_state = rng.integers(CONFIG.states, size=count)
    state = np.roll(next_state, 1) if walker else rng.integers(CONFIG.states, size=count)
    return Transitions.from_arrays(
        CONFIG,
        state,
        rng.integers(CONFIG.actions, size=count),
        rng.integers(-128, 128, size=count).astype(np.float64),
        next_state,
        rng.random(count) < 0.1,
    )


def expected_counts(stream: Transitions, frames: list[int]) -> dict[str, int]:
    """Return the expected counters, computed from the hold rule and the link rate.

    A transition is offered RECORD_BYTES clocks after the previous one was accepted. The lane accepts a
    transition in the first clock in which it holds no other one. It issues the transition in the next
    clock, but no earlier than `loop_depth` clocks after the last transition that this one depends on.
    When a frame begins, no transition of the previous frame is in flight.
    """
    state, action, _, next_state, _ = (column.tolist() for column in stream.columns)
    window = write_stage(CONFIG)
    counts = dict.fromkeys(("offered_clocks", "accepted", "held", "forwarded"), 0)
    starts = {0, *itertools.accumulate(frames)}
    gone: list[int] = []
    taken = 0
    for i in range(len(stream)):
        if i in starts:
            offered = taken = taken + 100 * window
        else:
            offered = taken + RECORD_BYTES
            taken = max(offered, gone[-1])
        needed = [
            gone[j]
            for j in range(max(0, i - window), i)
            if state[j] == next_state[i] or (state[j], action[j]) == (state[i], action[i])
        ]
        gone.append(max([taken + 1, *(clock + CONFIG.loop_depth for clock in needed)]))
        counts["offered_clocks"] += taken + 1 - offered
        counts["accepted"] += 1
        counts["held"] += gone[-1] - (taken + 1)
        counts["forwarded"] += any(gone[-1] - clock <= window for clock in needed)
    return counts


def check(stream: Transitions, library: Path | None = None) -> dict[str, int]:
    """Apply a stream to simulated hardware and a model; compare all results and return the counters."""
    model = ModelDevice(CONFIG)
    port = Overheard(SimPort(CONFIG, library=library))
    with LinkDevice(port, CONFIG) as device:
        for each in (device, model):
            each.configure(Hyperparameters(0.3, 0.9, "stochastic", seed=5))
            each.clear()
            each.apply(stream)
        assert np.array_equal(device.read(), model.read()), "the tables differ"
        assert device.status() == model.status(), "digest or noise differs"
        found = device.counters()
    assert sum(port.frames) == len(stream), "not all passed with reward codes, once"
    counts = expected_counts(stream, port.frames)
    for name, count in counts.items():
        assert getattr(found, name) == count, f"{name} is {getattr(found, name)}, not {count}"
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(("loop_depth", "holds"), [(2, False), (3, True)])
def test_records_that_waited_leave_every_second_clock(loop_depth: int, holds: bool) -> None:
    config = Config(states=2, actions=64, loop_depth=loop_depth, link=Link(buffer_bytes=512))
    size = RecordLayout.coded(config).size(full=False)
    assert size == 3  # one byte per clock: if no record waits, none is held
    port = SimPort(config)

    def ask(kind: Request, seq: int, payload: bytes = b"") -> None:
        port.write(encode_frame(kind, seq, epoch, payload))

    def answer() -> Frame:
        data = b""
        while not data.endswith(DELIMITER) or data == DELIMITER:
            data = data.removeprefix(DELIMITER) + port.read(1000)
        frame = decode_frame(data[:-1])
        assert frame is not None
        assert frame.payload[0] == StatusCode.OK
        return frame

    epoch = 0
    ask(Request.HELLO, 0, bytes(4))
    epoch = answer().epoch
    ask(Request.CLEAR, 0)
    answer()
    for seq in range(1, 81, 2):
        # The counters for the first answer are read while records arrive, all for the same entry.
        ask(Request.COUNTERS, seq)
        ask(Request.APPLY_CODED, seq + 1, bytes(size * 8))
        answer()
        answer()
    ask(Request.COUNTERS, 81)
    layout = ANSWERS[Request.COUNTERS]
    found = layout.named(answer().payload[-layout.size :])
    port.close()
    assert found["accepted"] == 40 * 8
    assert (found["held"] > 0) == holds


def test_records_come_faster_than_the_loop_turns() -> None:
    layout = RecordLayout.coded(CONFIG)
    assert layout.size(full=True) == layout.size(full=False) == RECORD_BYTES
    assert CONFIG.loop_depth > RECORD_BYTES  # the decoder accepts one byte per clock


@pytest.mark.slow
@pytest.mark.parametrize("walker", [False, True], ids=["random", "walker"])
def test_a_long_stream_is_exact_and_counted_while_the_lane_holds(walker: bool) -> None:
    counts = check(drawn_stream(walker, 30_000))
    assert counts["held"] > 10_000
    assert counts["forwarded"] > 10_000
    # Some offers are not accepted at once, because the record decoder waits for the lane.
    assert counts["offered_clocks"] > counts["accepted"] + 1000


@pytest.mark.slow
@pytest.mark.parametrize("fault", faults("test_holds"), ids=lambda fault: fault.name)
def test_a_fault_planted_between_link_and_lane_is_found(fault: Fault, tmp_path: Path) -> None:
    device = tmp_path / "qstep_device.v"
    device.write_text(generated(CONFIG)["qstep_device"], encoding="utf-8")
    copies = tmp_path / "planted"
    copies.mkdir()
    plant_all(copies, [fault], [device])
    verilog = [copies / path.name for path in [*sources.rtl_files(), device]]
    library = compile_library(verilog, "qstep_device", optimise=False)
    with pytest.raises((AssertionError, DeviceError), match=str(fault.seen)):
        check(drawn_stream(False, 2000), library)
