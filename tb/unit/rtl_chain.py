"""cocotb tests of the head and nodes of a farm's daisy chain (bench ``qs_chain_bench``).

Plusarg: ``+report=PATH`` writes the coverage as JSON.
"""

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from tb.uvm.covergroup import Covergroup

from qstep.spec.protocol import ALL_LANES

_LANES = 3
_MOST_CLOCKS = 400
_BUSY_CLOCKS = 10 + 4 * _LANES  # after a reset: two clocks per node in each direction
_STEPS_MASK = (1 << 48) - 1

_STOPS = ["before the last lane runs", "while all run", "while some run"]

GROUP = Covergroup(
    {
        "write": [*range(_LANES), "all"],
        "read": range(_LANES),
        "region": list(product(("write", "read"), range(6))),
        "stop": _STOPS,
        "reset": ["in a frame to a lane", "in a frame to all", "in a run"],
    }
)
"""Coverage of all tests together; the last test fails if a bin is empty."""


class _Lane:
    """A stand-in for a lane, with words addressed by region and index, and a list of its runs."""

    def __init__(self) -> None:
        self.words: dict[tuple[int, int], int] = {}
        self.runs: list[int] = []
        self.stops = self.busy = self.working = 0


class _Bench:
    """The host's side of the chain, and the slow lanes at its nodes."""

    def __init__(self, dut: Any) -> None:
        self._dut = dut
        self._seen = {n: getattr(dut, f"lane_{n}_o") for n in ("rst", "valid", "run", "stop")}
        self.indexes = [n for n in range(30) if int(dut.IndexMask.value) >> n & 1]
        self.lanes = [_Lane() for _ in range(_LANES)]
        self.last = 0  # the lane whose runs take longest

    async def start(self) -> None:
        dut = self._dut
        Clock(dut.clk_i, 10, unit="ns").start()
        for name in ("access", "run", "stop", "lane_done", "lane_busy", "lane_read"):
            getattr(dut, f"{name}_i").value = 0
        await self.reset()

    async def reset(self) -> int:
        """Reset all lanes; return the number of clocks for which the chain then stays busy."""
        self._dut.rst_i.value = 1
        await self.clock()
        self._dut.rst_i.value = 0
        self._dut.access_i.value = 0
        clocks = 0
        while int(self._dut.busy_o.value):
            clocks += 1
            await self.clock()
        return clocks

    async def clock(self) -> None:
        """Wait for a clock, and update the lanes with the inputs sampled in it."""
        dut = self._dut
        await FallingEdge(dut.clk_i)
        seen = {name: int(signal.value) for name, signal in self._seen.items()}
        if not any((*seen.values(), *(lane.busy or lane.working for lane in self.lanes))):
            return
        for name in ("write", "region", "index", "word", "steps"):
            seen[name] = int(getattr(dut, f"lane_{name}_o").value)
        done = busy = read = 0
        for k, lane in enumerate(self.lanes):
            if seen["rst"] >> k & 1:
                lane.busy = lane.working = 0
            if seen["run"] >> k & 1:
                assert not lane.busy, f"a run of lane {k} begins in another"
                lane.runs.append(seen["steps"] >> 48 * k & _STEPS_MASK)
                lane.busy = (150 if k == self.last else 30) + random.randrange(60)
            elif lane.busy:
                lane.busy -= 1
            lane.stops += seen["stop"] >> k & 1
            if seen["valid"] >> k & 1 and not lane.working:
                lane.working = random.randrange(2, 20)
            elif lane.working:
                lane.working -= 1
                if lane.working == 1:
                    place = seen["region"] >> 3 * k & 7, seen["index"] >> 30 * k & (1 << 30) - 1
                    if seen["write"] >> k & 1:
                        lane.words[place] = seen["word"] >> 32 * k & 0xFFFFFFFF
                    done |= 1 << k
                    read |= lane.words.get(place, 0xBAD) << 32 * k
                    assert seen["valid"] >> k & 1, f"lane {k} was left in an access"
            busy |= bool(lane.busy) << k
        dut.lane_done_i.value = done
        dut.lane_read_i.value = read
        dut.lane_busy_i.value = busy

    async def access(self, lane: int, region: int, index: int, word: int | None = None) -> int:
        """Write or read one word, and return the word read."""
        dut, kind = self._dut, "read" if word is None else "write"
        GROUP.hit(kind, "all" if lane == ALL_LANES else lane)
        GROUP.hit("region", (kind, region))
        dut.lane_i.value, dut.region_i.value, dut.index_i.value = lane, region, index
        dut.write_i.value, dut.word_i.value = word is not None, word or 0
        dut.access_i.value = 1
        for _ in range(_MOST_CLOCKS):
            await self.clock()
            if int(dut.done_o.value):
                dut.access_i.value = 0
                found = int(dut.read_o.value)
                await self.clock()
                return found
        raise AssertionError(f"an access to lane {lane} does not end")

    def running(self, count: int) -> str:
        """Return the phase of run number `count`, according to the lanes that are executing it."""
        busy = [bool(lane.busy) for lane in self.lanes]
        if len(self.lanes[-1].runs) < count:
            return "before the last lane runs"
        return "while all run" if all(busy) else "while some run" if any(busy) else "afterwards"

    def place(self) -> tuple[int, int]:
        region = random.randrange(6)
        return region, sum(random.getrandbits(1) << n for n in random.sample(self.indexes, 2))


@cocotb.test()
async def words_arrive_where_the_host_names_them_and_come_from_there(dut: Any) -> None:
    bench = _Bench(dut)
    await bench.start()
    written: list[dict[tuple[int, int], int]] = [{} for _ in range(_LANES)]
    for _ in range(40):
        place, word = bench.place(), random.getrandbits(32)
        lane = random.choice([*range(_LANES), ALL_LANES])
        await bench.access(lane, *place, word)
        for k in range(_LANES) if lane == ALL_LANES else [lane]:
            written[k][place] = word
        # Check now, because the host may start a run from here on.
        found = [lane.words for lane in bench.lanes]
        assert found == written, f"a word for {lane} is lost, or elsewhere"
        assert not any(lane.runs or lane.stops for lane in bench.lanes), "an access runs or stops"
        lane, place = random.choice([(k, p) for k in range(_LANES) for p in written[k]])
        assert await bench.access(lane, *place) == written[lane][place], "another word is read"


@cocotb.test()
async def busy_is_all_of_a_run_and_a_stop_reaches_every_lane(dut: Any) -> None:
    bench = _Bench(dut)
    await bench.start()
    for count, (bench.last, wanted) in enumerate(product(range(_LANES), _STOPS), 1):
        stop_at = None
        steps = random.getrandbits(48)
        dut.steps_i.value, dut.run_i.value = steps, 1
        await bench.clock()
        dut.run_i.value = 0
        for clock in range(_MOST_CLOCKS):
            stops = stop_at is None and bench.running(count) == wanted
            if stops:
                GROUP.hit("stop", wanted)
                stop_at = clock
            dut.stop_i.value = stops
            early = stop_at is None and any(lane.stops == count for lane in bench.lanes)
            assert not early, "a lane stops before it is told to"
            is_busy = int(dut.busy_o.value)
            begun = [len(lane.runs) == count for lane in bench.lanes]
            over = all(begun) and not any(lane.busy for lane in bench.lanes)
            assert is_busy or over, "busy falls while a lane runs"
            if not is_busy and stop_at is not None and clock > stop_at:
                break
            await bench.clock()
        else:
            raise AssertionError("busy does not fall")
        for lane in bench.lanes:
            assert lane.runs[-1] == steps, "a lane makes other steps"
            assert (len(lane.runs), lane.stops) == (count, count), "a lane was left out"


@cocotb.test()
async def a_frame_that_a_reset_cuts_off_is_not_obeyed(dut: Any) -> None:
    bench = _Bench(dut)
    await bench.start()
    for number, clocks in product((ALL_LANES, 0), range(3, 63, 20)):
        # Parts of these frames could look like a run, a stop, or an access.
        dut.lane_i.value, dut.write_i.value, dut.access_i.value = number, 1, 1
        dut.region_i.value, dut.index_i.value, dut.word_i.value = 0, 0, random.getrandbits(32)
        for _ in range(clocks):
            await bench.clock()
        GROUP.hit("reset", "in a frame to all" if number == ALL_LANES else "in a frame to a lane")
        clocks_busy = await bench.reset()
        for lane in bench.lanes:
            obeyed = (lane.runs, lane.stops, lane.words)
            assert obeyed == ([], 0, {}), "a frame that was cut off is obeyed"
        assert clocks_busy == _BUSY_CLOCKS, "busy falls before all lanes are reset"
        words = [random.getrandbits(32) for _ in range(_LANES)]
        for k, word in enumerate(words):
            await bench.access(k, 1, 1, word)
        assert [await bench.access(k, 1, 1) for k in range(_LANES)] == words
        for lane in bench.lanes:
            lane.words.clear()


@cocotb.test()
async def a_reset_ends_the_run_of_every_lane(dut: Any) -> None:
    bench = _Bench(dut)
    await bench.start()
    for count in range(1, 4):
        dut.steps_i.value, dut.run_i.value = count, 1
        await bench.clock()
        dut.run_i.value = 0
        while bench.running(count) != "while all run":
            await bench.clock()
        GROUP.hit("reset", "in a run")
        await bench.reset()
        assert not any(lane.busy for lane in bench.lanes), "a lane goes on"
        await bench.access(0, 1, 1, count)
        assert await bench.access(0, 1, 1) == count


@cocotb.test()
async def every_bin_is_hit(dut: Any) -> None:
    holes = GROUP.holes()
    if "report" in cocotb.plusargs:
        Path(cocotb.plusargs["report"]).write_text(json.dumps(GROUP.report()), encoding="utf-8")
    assert not holes, f"{len(holes)} bins were never hit: {holes}"
