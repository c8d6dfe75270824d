"""The decoder turns the records of an APPLY into the transitions that the host encoded."""

import random
from typing import Any

import numpy as np
import pytest
from tb.unit.requests import packed_record
from tb.unit.streams import PACES, collect, send, simulate

from qstep.device.link.records import encode_records
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config
from qstep.spec.protocol import RecordLayout
from qstep_rtl.record_decoder import RecordDecoder

pytestmark = pytest.mark.unit


CONFIGS = [
    Config(states=64, actions=4),
    Config(states=25, actions=3, format="Q4.4"),
    Config(states=2, actions=2, format="Q1.7"),
    Config(states=40000, actions=33, format="Q16.16"),
]


def config_id(config: Config) -> str:
    return f"s{config.states}-a{config.actions}-w{config.format.width}"


def run_records(
    config: Config,
    payload: bytes,
    coded: bool,
    rewards: list[int],
    idle: float = 0.0,
    stall: float = 0.0,
) -> tuple[list[tuple[int, ...]], bool, bool, int]:
    """Return the transitions, `illegal`, `partial`, and the number of clocks that the payload took."""
    decoder = RecordDecoder(config)
    records = decoder.records
    out: list[Any] = []
    rng = random.Random(18)
    end: dict[str, Any] = {}
    clocks = 0

    async def count(ctx: Any) -> None:
        nonlocal clocks
        while True:
            await ctx.tick()
            clocks += 1

    async def bench(ctx: Any) -> None:
        ctx.set(decoder.rewards.write, 1)
        for code, value in reversed([*enumerate(rewards)]):
            ctx.set(decoder.rewards.code, code)
            ctx.set(decoder.rewards.value, value)
            await ctx.tick()
        ctx.set(decoder.rewards.write, 0)
        ctx.set(records.coded, coded)
        ctx.set(records.start, 1)
        await ctx.tick()
        ctx.set(records.start, 0)
        before = clocks
        await send(ctx, records.bytes, payload, rng, idle)
        end["clocks"] = clocks - before
        if ctx.get(records.busy):
            await ctx.tick().until(~records.busy)
        end["illegal"], end["partial"] = ctx.get(records.illegal), ctx.get(records.partial)

    simulate(decoder, bench, count, collect(decoder.transitions, rng, stall, out))
    fields: list[tuple[int, ...]] = [
        (int(t.state), int(t.action), int(t.reward), int(t.next_state), int(t.terminated))
        for t in out
    ]
    return fields, bool(end["illegal"]), bool(end["partial"]), end["clocks"]


def walk(config: Config, count: int, seed: int) -> Transitions:
    """Return transitions, two thirds of which continue the previous one."""
    rng = np.random.default_rng(seed)
    next_state = rng.integers(0, config.states, count, dtype=np.int32)
    state = np.where(
        rng.random(count) < 2 / 3, np.roll(next_state, 1), rng.integers(0, config.states, count)
    ).astype(np.int32)
    low, high = config.format.minimum, config.format.maximum
    return Transitions.from_arrays(
        config,
        state=state,
        action=rng.integers(0, config.actions, count, dtype=np.int32),
        reward=config.format.to_float(rng.integers(low, high, count, endpoint=True)),
        next_state=next_state,
        terminated=rng.random(count) < 0.2,
    )


@pytest.mark.parametrize("config", CONFIGS, ids=config_id)
@pytest.mark.parametrize("coded", [False, True], ids=["raw", "coded"])
@pytest.mark.parametrize(("idle", "stall"), PACES)
def test_records_give_the_transitions_that_the_host_encoded(
    config: Config, coded: bool, idle: float, stall: float
) -> None:
    count = 60
    transitions = walk(config, count, 19)
    mask = (1 << config.format.width) - 1
    rng = random.Random(20)
    rewards = [rng.getrandbits(32) & mask for _ in range(256)]
    codes = np.arange(count, dtype=np.uint8) * 7
    layout = RecordLayout.coded(config) if coded else RecordLayout.raw(config)
    given = codes if coded else transitions.reward_raw
    ((payload, _),) = encode_records(layout, transitions, given, 4096)
    out, illegal, partial, clocks = run_records(
        config, bytes(payload), coded, rewards if coded else [], idle, stall
    )
    expected_rewards = (
        [rewards[code] for code in codes]
        if coded
        else (transitions.reward_raw.astype(np.int64) & mask).tolist()
    )
    assert out == list(
        zip(
            transitions.state.tolist(),
            transitions.action.tolist(),
            expected_rewards,
            transitions.next_state.tolist(),
            transitions.terminated.tolist(),
            strict=True,
        )
    )
    assert not illegal
    assert not partial
    if idle == stall == 0.0:
        assert clocks == len(payload)


def raw_record(config: Config, action: int, next_state: int, state: int | None) -> bytes:
    """Return a raw record with reward 1; it continues the previous one if `state` is None."""
    of = {} if state is None else {"state": state}
    return packed_record(
        RecordLayout.raw(config), action=action, next_state=next_state, reward=1, **of
    )


GOOD = raw_record(CONFIGS[1], 1, 2, 3)


@pytest.mark.parametrize(
    ("payload", "count", "verdict"),
    [
        *(
            (GOOD * 2 + raw_record(CONFIGS[1], *places) + GOOD * 3, 2, (True, False))
            for places in ((3, 0, 0), (0, 25, 0), (0, 31, None), (0, 0, 25))
        ),
        (raw_record(CONFIGS[1], 1, 2, None) + GOOD, 0, (True, False)),
        ((GOOD * 2)[:-1], 1, (False, True)),
    ],
    ids=["action", "next state", "next state continuing", "state", "continuing first", "cut off"],
)
def test_records_stop_at_the_first_that_is_illegal_or_cut_off(
    payload: bytes, count: int, verdict: tuple[bool, bool]
) -> None:
    out, illegal, partial, _ = run_records(CONFIGS[1], payload, False, [])
    assert out == [(3, 1, 1, 2, 0)] * count
    assert (illegal, partial and not illegal) == verdict
