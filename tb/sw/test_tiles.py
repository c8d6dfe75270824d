"""Tile coding follows the documented integer arithmetic, for single observations and for arrays."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qstep.errors import ConfigError, TransitionError
from qstep.spec.tiles import Tiles, hashed

NUMBERS = st.floats(-50, 50, allow_nan=False)


@st.composite
def tile_codings(draw: st.DrawFn) -> Tiles:
    size = draw(st.integers(1, 3))
    low = draw(st.lists(NUMBERS, min_size=size, max_size=size))
    spans = draw(st.lists(st.floats(0.01, 90), min_size=size, max_size=size))
    group = st.lists(st.integers(0, size - 1), min_size=1, max_size=size, unique=True)
    return Tiles(
        low,
        [least + span for least, span in zip(low, spans, strict=True)],
        draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)),
        draw(st.sampled_from([1, 2, 4, 8])),
        draw(st.one_of(st.none(), st.lists(group, min_size=1, max_size=2))),
        draw(st.sampled_from([1 << 8, 1 << 16, 300.5])),
        draw(st.sampled_from([None, 16, 512])),
    )


def indices(tiles: Tiles, group: tuple[int, ...], t: int, raw: list[int]) -> list[int]:
    """Return the index of each coordinate in tiling `t` by the formula in the contract."""
    found = []
    for d, k in enumerate(group):
        low, _, n, scale, shift = tiles.coordinates[k]
        u = min(max(((raw[k] - low) * scale) >> shift, 0), n * tiles.tilings)
        found.append((u + (t * (2 * d + 1)) % tiles.tilings) // tiles.tilings)
    return found


@settings(max_examples=200)
@given(tile_codings(), st.data())
def test_rows_are_the_mixed_radix_number_of_the_indices(tiles: Tiles, data: st.DataObject) -> None:
    raw = [
        data.draw(st.integers(own.low - 50, own.high + 50) | st.integers(-(2**31), 2**31 - 1))
        for own in tiles.coordinates
    ]
    rows = tiles.of(raw)
    assert len(rows) == tiles.planes
    for p, row in enumerate(rows):
        group, t = tiles.groups[p // tiles.tilings], p % tiles.tilings
        radices = [tiles.coordinates[k].tiles + 1 for k in group]
        word = 0
        for index, radix in zip(indices(tiles, group, t, raw), radices, strict=True):
            assert 0 <= index < radix
            word = word * radix + index
        assert 0 <= row < tiles.rows
        if np.prod(radices) <= tiles.rows:
            assert row == word
        else:
            assert row == hashed(word, t * 0x9E3779B9, tiles.rows)


@settings(max_examples=200)
@given(tile_codings(), st.data())
def test_arrays_give_what_single_observations_give(tiles: Tiles, data: st.DataObject) -> None:
    seen = data.draw(st.lists(st.tuples(*[NUMBERS for _ in tiles.coordinates]), max_size=5))
    raw = tiles.raw(np.array(seen).reshape(-1, len(tiles.coordinates)))
    assert raw.dtype == np.int32
    assert raw.tolist() == [
        [np.floor(x * unit + 0.5) for x, unit in zip(own, tiles.units, strict=True)] for own in seen
    ]
    rows = tiles.many(raw)
    assert rows.shape == (len(seen), tiles.planes)
    assert rows.dtype == np.int32
    assert [tuple(own) for own in rows.tolist()] == [tiles.of(own) for own in raw.tolist()]


@settings(max_examples=100)
@given(tile_codings())
def test_bounds_are_the_first_and_the_last_unit_and_the_factor_has_16_bits(tiles: Tiles) -> None:
    for low, high, n, scale, shift in tiles.coordinates:
        assert 1 << 15 <= scale < 1 << 16 or shift == 0
        units = [((x - low) * scale) >> shift for x in (low, high)]
        assert units == [0, n * tiles.tilings]
        exact = n * tiles.tilings * 2.0**shift / (high - low)
        assert scale - 1 < exact <= scale


def test_outside_is_clipped_and_known_to_be() -> None:
    tiles = Tiles([-1.0, -1.0], [1.0, 1.0], tiles=4, tilings=2)
    inside, outside = tiles.raw([1.0, -1.0]), tiles.raw([9.0, -1e300])
    assert tiles.of(inside.tolist()) == tiles.of(outside.tolist())
    assert outside.tolist() == [9 << 16, -(2**31)]
    both = np.stack([inside, outside])
    assert tiles.clipped(both).tolist() == [False, True]
    assert not tiles.clipped(inside)


def test_neighbours_differ_in_few_planes() -> None:
    """A step of 1/T of a tile changes the row of one plane per coordinate."""
    tiles = Tiles([0.0, 0.0], [8.0, 8.0], tiles=8, tilings=8)
    before = tiles.of(tiles.raw([3.51, 3.51]).tolist())
    after = tiles.of(tiles.raw([3.51 + 1 / 8, 3.51]).tolist())
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1
    assert len({tiles.of([x << 13, x << 13]) for x in range(64)}) == 64


def test_the_hash_is_pythias_in_32_bits() -> None:
    def mixed(k: int) -> int:
        k = (k + (k << 12)) % 2**32
        k ^= k >> 22
        k = (k + (k << 4)) % 2**32
        k ^= k >> 9
        k = (k + (k << 10)) % 2**32
        k ^= k >> 2
        k = (k + (k << 7)) % 2**32
        return k ^ (k >> 12)

    for word in (0, 1, 5, 2**32 - 1, 2**40 + 77, 2**63 - 1):
        folded = (word >> 32) ^ (word % 2**32) ^ 0xACA081B9
        assert hashed(word, 0xACA081B9, 128) == mixed(folded) % 128
    assert hashed(np.array([5, 2**40 + 77]), 3, 64).tolist() == [
        hashed(word, 3, 64) for word in (5, 2**40 + 77)
    ]


LEGAL: dict[str, Any] = {"low": [0.0, 0.0], "high": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"low": [0.0]}, "low has 1 numbers and high has 2; both need one for each number"),
        ({"low": [], "high": []}, "low has 0 numbers and high has 0"),
        ({"low": 0.0}, "low is 0.0; it must be a sequence"),
        ({"low": [0.0, float("nan")]}, r"low\[1\] is nan; it must be a finite number"),
        ({"high": [1.0, float("inf")]}, r"high\[1\] is inf; it must be a finite number"),
        ({"high": [1.0, 10**400]}, r"high\[1\] is 1000.*; it must be a finite number"),
        ({"high": [1.0, "x"]}, r"high\[1\] is 'x'; it must be a finite number"),
        ({"high": [1.0, 0.0]}, r"low\[1\] is 0.0 and high\[1\] is 0.0; low must be below high"),
        ({"high": [1.0, 1e-6]}, r"low\[1\] and high\[1\] are both 0 in raw units; use more than 65536"),
        ({"high": [1.0, 1e6]}, r"high\[1\] is 6.5536e\+10 in raw units; it must be from -2\^31"),
        ({"tiles": 0}, r"tiles\[0\] is 0; it must be an integer from 1 to 255"),
        ({"tiles": [8, 8, 8]}, "tiles has 3 numbers; it must have 1 or 2"),
        ({"tilings": 3}, "tilings is 3; it must be a power of two from 1 to 16"),
        ({"units": 0}, r"units\[0\] is 0.0; it must be above 0"),
        ({"groups": [(0, 2)]}, r"groups\[0\]\[1\] is 2; it must be an integer from 0 to 1"),
        ({"groups": [(0, 0)]},
         r"groups\[0\] is \(0, 0\); it must name at least one coordinate, and each only once"),
        ({"groups": [()]}, r"groups\[0\] is \(\); it must name at least one coordinate"),
        ({"groups": []}, "8 tilings of 0 groups are 0 planes; there must be from 1 to 16"),
        ({"groups": [(0,)] * 3}, "8 tilings of 3 groups are 24 planes; there must be from 1 to 16"),
        ({"tiles": 255 }, None),
        ({"low": [0.0] * 3, "high": [1.0] * 3, "tiles": 60},
         "a tiling has 226981 rows, 161445 more than the 65536 of a plane; use fewer tiles"),
        ({"rows": 100}, "rows is 100; it must be a power of two from 2 to 65536"),
        ({"low": [0.0] * 5, "high": [1.0] * 5, "tiles": 99, "rows": 1024},
         r"a tiling has 10000000000 rows; at most 2\^32 can be hashed"),
    ],
)  # fmt: skip
def test_what_cannot_be_tiled_is_refused(wrong: dict[str, Any], said: str | None) -> None:
    if said is None:
        assert Tiles(**{**LEGAL, **wrong}).rows == 1 << 16
        return
    with pytest.raises(ConfigError, match=said):
        Tiles(**{**LEGAL, **wrong})


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([1.0], r"observation has shape \(1,\); its last axis must be 2"),
        (1.0, r"observation has shape \(\); its last axis must be 2"),
        ([1.0, float("nan")], "observation is .*nan.*; it must be finite"),
        (["x", 1], "observation is .*'x'.*; it must be real numbers"),
        ([[1.0], [1.0, 2.0]], "observation is .*; it must be real numbers"),
    ],
)
def test_wrong_observation_is_refused(seen: Any, said: str) -> None:
    with pytest.raises(TransitionError, match=said):
        Tiles(**LEGAL).raw(seen)


def test_raw_observation_of_another_length_is_refused() -> None:
    with pytest.raises(TransitionError, match="observation has 1 numbers; it must have 2"):
        Tiles(**LEGAL).of([0])
