"""Records take two to nine bytes per transition, and decode to the same transitions."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tb.record_decoder import decode_record

from qstep import Config, QFormat, Transitions
from qstep.device.link.records import RewardTable, encode_records, extend_digest
from qstep.spec.protocol import RecordLayout

configs = st.builds(
    Config,
    states=st.integers(2, 65536),
    actions=st.integers(2, 64),
    format=st.integers(8, 32).map(lambda width: QFormat(width, 0)),
)


@st.composite
def batches(draw):
    """Return a configuration, and transitions of which about half continue the previous one."""
    config = draw(configs)
    count = draw(st.integers(0, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    next_state = rng.integers(0, config.states, count)
    state = np.where(rng.random(count) < 0.5, np.roll(next_state, 1), 0)
    return config, Transitions.from_arrays(
        config,
        state=state,
        action=rng.integers(0, config.actions, count),
        reward=rng.integers(config.format.minimum, config.format.maximum, count, endpoint=True),
        next_state=next_state,
        terminated=rng.random(count) < 0.3,
    )


def decode(config, payload, coded):
    """Return the transitions in a payload as tuples, with unsigned rewards."""
    found, state, at = [], None, 0
    while at < len(payload):
        decoded = decode_record(config, payload, at, coded=coded)
        assert decoded is not None
        record, at = decoded
        state = state if record.state is None else record.state
        found.append((state, record.action, record.reward, record.next_state, record.terminated))
        state = record.next_state
    return found


def as_tuples(transitions, rewards):
    columns = [transitions.state, transitions.action, rewards]
    columns += [transitions.next_state, transitions.terminated]
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(batches(), st.integers(9, 200), st.booleans())
def test_records_come_back_within_the_limit(batch, limit, coded):
    config, transitions = batch
    layout = RecordLayout.coded(config) if coded else RecordLayout.raw(config)
    rewards = transitions.reward_raw & 255 if coded else transitions.reward_raw
    payloads = list(encode_records(layout, transitions, rewards, limit))
    assert all(0 < len(payload) <= limit for payload, _ in payloads)
    assert all(payload[0] & 1 == 0 for payload, _ in payloads)
    decoded = [decode(config, bytes(payload), coded) for payload, _ in payloads]
    assert [count for _, count in payloads] == [len(records) for records in decoded]
    found = [record for records in decoded for record in records]
    assert found == as_tuples(
        transitions, rewards.astype(np.int64) & ((1 << layout.reward_bits) - 1)
    )


def walk(config, count):
    """Return transitions that each continue the previous one."""
    states = np.arange(count + 1) % config.states
    zeros = np.zeros(count, int)
    return Transitions.from_arrays(config, states[:-1], zeros, zeros, states[1:], zeros > 0)


@pytest.mark.parametrize(
    ("config", "coded", "full", "continuing"),
    [
        (Config(1024, 4), True, 4, 3),
        (Config(1024, 4), False, 5, 4),
        (Config(25, 4), True, 3, 3),
        (Config(65536, 64, "Q16.16"), False, 9, 7),
        (Config(2, 2, "Q8.0"), True, 2, 2),
    ],
    ids=["1024x4-coded", "1024x4-raw", "25x4-coded", "largest", "smallest"],
)
def test_record_sizes(config, coded, full, continuing):
    layout = RecordLayout.coded(config) if coded else RecordLayout.raw(config)
    transitions = walk(config, 10)
    ((payload, count),) = encode_records(layout, transitions, transitions.reward_raw, 1000)
    assert (layout.size(full=True), layout.size(full=False)) == (full, continuing)
    assert (len(payload), count) == (full + 9 * continuing, 10)


def test_record_is_laid_out_as_documented():
    config = Config(1024, 4)
    one = Transitions.from_arrays(config, [0x155], [2], [0.0], [0x2AB], [True])
    ((payload, _),) = encode_records(RecordLayout.coded(config), one, np.array([0x5A]), 100)
    bits = 0 | 2 << 1 | 0x2AB << 3 | 1 << 13 | 0x5A << 14 | 0x155 << 22
    assert bytes(payload) == bits.to_bytes(4, "little")


def test_a_frame_begins_with_a_full_record_even_where_the_walk_goes_on():
    config = Config(1024, 4)
    transitions = walk(config, 9)
    payloads = list(
        encode_records(RecordLayout.coded(config), transitions, transitions.reward_raw, 10)
    )
    assert [(len(payload), count) for payload, count in payloads] == [(10, 3)] * 3


def test_record_cut_short_is_not_decoded():
    config = Config(1024, 4)
    assert decode_record(config, b"\x00\x00\x00", 0, coded=True) is None
    assert decode_record(config, b"\x00\x00\x00\x00", 0, coded=True) is not None
    assert decode_record(config, b"\x01\x00\x00", 0, coded=True) is not None


@given(batches(), st.integers(0, 60))
def test_digest_covers_full_raw_records_and_does_not_depend_on_the_cut(batch, cut):
    config, transitions = batch
    layout = RecordLayout.raw(config)
    expected = 0
    for state, action, reward, next_state, terminated in as_tuples(
        transitions, transitions.reward_raw
    ):
        bits, width = 0, 1
        for value, size in (
            (action, layout.action_bits),
            (next_state, layout.state_bits),
            (terminated, 1),
            (reward & ((1 << layout.reward_bits) - 1), layout.reward_bits),
            (state, layout.state_bits),
        ):
            bits |= value << width
            width += size
        expected = zlib.crc32(bits.to_bytes((width + 7) // 8, "little"), expected)
    assert extend_digest(config, transitions) == expected
    first = extend_digest(config, transitions[:cut])
    assert extend_digest(config, transitions[cut:], first) == expected


@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=300), max_size=5))
def test_codes_stand_for_their_rewards(lists):
    table = RewardTable()
    device = np.zeros(256, np.int32)
    for rewards in lists:
        array = np.array(rewards, np.int32)
        assigned = table.assign(array)
        assert (assigned is None) == (len(set(rewards)) > 256)
        if assigned is not None:
            codes, new = assigned
            device[new : len(table)] = table.values[new : len(table)]
            assert device[codes].tolist() == rewards


def assign(table, *rewards):
    return table.assign(np.array(rewards, np.int32))


def test_known_codes_are_kept_and_only_new_ones_are_told():
    table = RewardTable()
    codes, new = assign(table, 5, -7, 5)
    assert (codes.tolist(), new, len(table)) == ([0, 1, 0], 0, 2)
    codes, new = assign(table, -7, 9)
    assert (codes.tolist(), new, len(table)) == ([1, 2], 2, 3)


def test_full_table_starts_again_with_the_batch_that_does_not_fit():
    table = RewardTable()
    table.assign(np.arange(256, dtype=np.int32))
    codes, new = assign(table, 3, 1000)
    assert (codes.tolist(), new, len(table)) == ([0, 1], 0, 2)
    assert table.values[:2].tolist() == [3, 1000]
