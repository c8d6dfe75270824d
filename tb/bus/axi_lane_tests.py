"""cocotb tests of ``qs_axi_lane``: the lane on AXI4-Lite and AXI4-Stream matches the model.

Plusargs: ``+packets=N`` sets the length of the random test; ``+report=PATH`` writes the coverage to that
file as JSON.
"""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from tb.bus.axi_coverage import report
from tb.bus.axi_port import (
    REFUSED,
    LanePort,
    Result,
    Transition,
    drawn,
    no_output_follows_an_input,
    packed,
)
from tb.bus.first_in_c import first_in_c

from qstep import Hyperparameters
from qstep.golden.lane import Model
from qstep_rtl.bus.registers import LANE
from qstep_rtl.timing import write_stage

_REFUSED = Result(0, 0, 0, REFUSED)


async def _applied(port: LanePort, model: Model, count: int) -> list[Result]:
    transitions = drawn(port.config, count)
    results = await port.apply(transitions)
    port.check(model, transitions, results)
    return results


async def _configured(dut: Any, **settings: Any) -> tuple[LanePort, Model, Hyperparameters]:
    """Start a lane and its model, and configure both with alpha 0.5, gamma 0.9 and `settings`."""
    port = await LanePort.started(dut)
    model = Model(port.config)
    hyper = Hyperparameters(alpha=0.5, gamma=0.9, **settings)
    model.configure(hyper)
    await port.configure(hyper)
    return port, model, hyper


@cocotb.test()
async def registers_say_what_was_built(dut: Any) -> None:
    port = await LanePort.started(dut)
    config = port.config
    assert await port.read("id") == int.from_bytes(b"QSTP", "big")
    assert await port.read("version") == 1 << 16
    assert await port.read("digest") == int(dut.Digest.value)
    assert await port.field("geometry", "states") == config.states
    assert await port.field("geometry", "actions") == config.actions
    assert await port.field("format", "width") == config.format.width
    assert await port.field("format", "fraction") == config.format.fraction
    assert await port.field("format", "loop_depth") == config.loop_depth
    assert await port.field("format", "stream_bytes") == int(dut.StreamBytes.value)
    await port.reads_parts_of("id")


@cocotb.test()
async def first_transition_in_c_passes_and_finds_another_alpha(dut: Any) -> None:
    port = await LanePort.started(dut)
    assert await first_in_c(port, port.config, LANE) is None
    assert (
        await first_in_c(port, port.config, LANE, ALPHA=1 << 13, KAPPA=0) == "the result is wrong"
    )


@cocotb.test()
async def results_table_noise_and_counts_match_the_model_with_stalls_on_every_channel(
    dut: Any,
) -> None:
    port = await LanePort.started(dut)
    model = Model(port.config)
    packets = int(cocotb.plusargs.get("packets", 6))
    applied = saturated = forwarded = 0
    for number in range(packets):
        port.stall(random.choice([0.1, 0.5, 0.8]) if number else 0)
        hyper = Hyperparameters(
            alpha=random.choice([0.0, random.random(), 1.0]) if number else 1.0,  # saturates
            gamma=random.choice([0.0, 0.9, 1.0]) if number else 1.0,
            rounding=("nearest", "stochastic", "floor")[number % 3],
            seed=random.getrandbits(32),
        )
        model.configure(hyper)
        await port.configure(hyper)
        results = await _applied(port, model, random.randint(1, 60) if number else 60)
        applied += len(results)
        saturated += sum(result.flags & 1 for result in results)
        forwarded += sum(result.flags >> 1 & 1 for result in results)
    assert await port.table() == model.table.tolist()
    assert (await port.read("noise_x"), await port.read("noise_w")) == (
        model.noise.x,
        model.noise.w,
    )
    counts = [await port.read(name) for name in ("applied", "saturated", "forwarded")]
    assert counts == [applied, saturated, forwarded]
    assert min(counts) > 0
    beats = 16 // int(dut.StreamBytes.value)  # minimum clocks from one transition to the next
    assert (await port.read("held") > 0) == (port.config.loop_depth > beats)
    assert (await port.read("refused"), await port.read("cut"), await port.read("errors")) == (
        0,
        0,
        0,
    )


@cocotb.test()
async def a_table_is_written_and_cleared_and_the_index_goes_on(dut: Any) -> None:
    port = await LanePort.started(dut)
    config, model = port.config, Model(port.config)
    values = [
        [
            random.randint(config.format.minimum, config.format.maximum)
            for _ in range(config.actions)
        ]
        for _ in range(config.states)
    ]
    await port.load(values)
    assert (await port.read("table_state"), await port.read("table_action")) == (0, 0)
    assert await port.table() == values
    await port.write("control", clear=1)
    assert await port.table() == model.table.tolist()


@cocotb.test()
async def accesses_between_transitions_leave_the_results_alone(dut: Any) -> None:
    port, model, _ = await _configured(dut, rounding="nearest")
    transitions = drawn(port.config, 150)
    await port.source.send(packed(transitions))
    for _ in range(6):
        await port.read("table_value")
        await port.write("control", configure=1)
    assert port.sink.empty(), "the packet was over before the accesses were"
    port.check(model, transitions, await port.results())
    assert await port.table() == model.table.tolist()


@cocotb.test()
async def results_that_nobody_takes_hold_the_lane_and_none_is_lost(dut: Any) -> None:
    port, model, _ = await _configured(dut, rounding="stochastic", seed=9)
    # Each transition depends on the previous one, so a lane with a deep loop also stalls by itself.
    transitions = [drawn(port.config, 1)[0]._replace(state=0, action=0, next_state=0)] * 100
    port.sink.pause = True
    await port.source.send(packed(transitions))
    await port.clocks(400)
    assert not port.source.idle(), "more results wait than there is room for"
    port.sink.pause = False
    port.check(model, transitions, await port.results())


@cocotb.test()
async def one_beat_a_clock_and_the_latency_that_the_header_says(dut: Any) -> None:
    port = await LanePort.started(dut)
    count, beats = 100, 16 // int(dut.StreamBytes.value)
    # Transitions in flight at the same time are independent, so the lane never stalls at any loop
    # depth.
    states = port.config.states
    step = write_stage(port.config) + 2
    assert states > step, "too few states for independent transitions"
    transitions = [Transition(n % states, 0, 0, (n + 1) % states, 1) for n in range(count)]
    await port.source.send(packed(transitions))
    entered: list[int] = []
    left: list[int] = []
    clock = 0
    while len(left) < count * beats:
        await RisingEdge(dut.aclk)
        clock += 1
        if dut.s_axis_tvalid.value and dut.s_axis_tready.value:
            entered.append(clock)
        if dut.m_axis_tvalid.value and dut.m_axis_tready.value:
            left.append(clock)
    latency = left[0] - entered[beats - 1]
    assert latency == write_stage(port.config) + 5
    if port.config.loop_depth == 1:
        assert entered[-1] - entered[0] == count * beats - 1
        assert left[-1] - left[0] == count * beats - 1
    cocotb.log.info(f"latency {latency} clocks, {count} transitions in {left[-1] - left[0] + 1}")


@cocotb.test()
async def an_access_outside_the_map_or_of_half_a_word_gets_slverr_and_changes_nothing(
    dut: Any,
) -> None:
    port = await LanePort.started(dut)
    port.stall(0.3)
    await port.refuses(("alpha", "kappa", "noise_seed_w", "table_state", "table_action", "errors"))
    assert await port.read("table_value") == 0


@cocotb.test()
async def accesses_that_are_sent_at_once_are_carried_out_in_order(dut: Any) -> None:
    port = await LanePort.started(dut)
    await port.at_once("alpha")


@cocotb.test()
async def settings_out_of_range_leave_the_old_ones_in_force(dut: Any) -> None:
    port = await LanePort.started(dut)
    model = Model(port.config)
    hyper = Hyperparameters(alpha=0.5, gamma=0.5, rounding="nearest")
    model.configure(hyper)
    for _ in range(8):
        await port.configure(Hyperparameters(alpha=random.random(), gamma=random.random()))
    for name, field, value in (
        ("alpha", "value", 32769),
        ("kappa", "value", 16385),
        ("rounding", "mode", 3),
        ("noise_seed_x", "value", 0),
    ):
        await port.configure(hyper)
        assert await port.read("rounding") == hyper.rounding_for(port.config).code
        assert await port.read("noise_seed_x") == hyper.noise.x
        assert await port.read("errors") == 0
        await port.write(name, **{field: value})
        await port.write("control", configure=1)
        await port.settled()
        assert await port.field("errors", "bad_settings") == 1, name
        await port.write("errors", bad_settings=1)
        await _applied(port, model, 10)


@cocotb.test()
async def an_entry_that_does_not_exist_and_a_value_that_does_not_fit_are_errors(dut: Any) -> None:
    port = await LanePort.started(dut)
    config = port.config
    for state, action in ((config.states, 0), (0xFFFF, 0), (0, config.actions), (0, 0x3F)):
        if (state < config.states and action < config.actions) or state > 0xFFFF or action > 0x3F:
            continue
        await port.write("table_state", value=state)
        await port.write("table_action", value=action)
        assert await port.read("table_value") == 0
        assert await port.field("errors", "bad_index") == 1
        await port.write("errors", bad_index=1)
        await port.write("table_value", value=1)
        assert await port.read("errors") == 1 << 1
        await port.write("errors", bad_index=1)
    await port.write("table_state", value=0)
    await port.write("table_action", value=0)
    if config.format.width < 32:
        for value in (config.format.maximum + 1, config.format.minimum - 1):
            await port.write("table_value", value=value)
            assert await port.read("errors") == 1 << 2
            await port.write("errors", bad_value=1)
    assert await port.table() == Model(config).table.tolist()


@cocotb.test()
async def transitions_out_of_range_and_cut_off_are_dropped_counted_and_answered(dut: Any) -> None:
    port, model, _ = await _configured(dut, rounding="stochastic", seed=3)
    config = port.config
    good = drawn(config, 1)[0]
    bad = [good._replace(state=config.states), good._replace(next_state=config.states)]
    bad += [good._replace(action=config.actions), good._replace(terminated=2)]
    bad += [good._replace(state=1 << 31), good._replace(action=1 << 15)]
    bad += [good._replace(next_state=(1 << 32) - 1), good._replace(state=(1 << 32) - 1)]
    bad += [good._replace(action=(1 << 16) - 1), good._replace(terminated=(1 << 16) - 1)]
    if config.format.width < 32:
        bad += [good._replace(reward=config.format.maximum + 1)]
        bad += [good._replace(reward=config.format.minimum - 1)]
    for stalls in (0, 0.5):
        port.stall(stalls)
        for wrong in bad:
            before, after = drawn(config, 2), drawn(config, 12)
            results = await port.apply([*before, wrong, *after])
            assert results[2] == _REFUSED, wrong
            port.check(model, [*before, *after], [*results[:2], *results[3:]])
    assert await port.read("refused") == 2 * len(bad)
    size = int(dut.StreamBytes.value)
    cuts = range(size, 16, size)
    for end in cuts:
        whole = drawn(config, 3)
        await port.source.send(packed([*whole, good])[: 48 + end])
        *results, last = await port.results()
        assert last == _REFUSED, f"cut off after {end} bytes"
        port.check(model, whole, results)
        await _applied(port, model, 5)
    assert await port.read("cut") == len(cuts)
    assert await port.table() == model.table.tolist()


@cocotb.test()
async def a_reset_forgets_what_is_under_way_and_keeps_the_table(dut: Any) -> None:
    port, model, hyper = await _configured(dut, rounding="nearest")
    for ready in (True, False):  # first only the pipeline is full, then also the queues after it
        transitions = drawn(port.config, 100)
        port.sink.pause = not ready
        await port.source.send(packed(transitions))
        await port.clocks(random.randint(60, 90))
        await port.reset()
        port.source.clear()
        port.sink.clear()
        port.sink.pause = False
        assert [await port.read(name) for name in ("applied", "errors", "alpha")] == [0, 0, 0]
        table = await port.table()
        before: list[Any] = list(transitions)
        while model.table.tolist() != table:
            assert before, "the table is that of no prefix of the packet"
            model.update(*before.pop(0))
        assert 0 < len(before) < len(transitions)
        await port.configure(hyper)
        await _applied(port, model, 20)
    assert await port.table() == model.table.tolist()


@cocotb.test()
async def no_output_follows_an_input_within_a_clock(dut: Any) -> None:
    await no_output_follows_an_input(dut, 2000)


@cocotb.test()
async def every_bin_is_hit(dut: Any) -> None:
    report(LanePort(dut).coverage.group)
