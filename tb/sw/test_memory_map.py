"""Generated files are up to date, and the memory map is consistent."""

from pathlib import Path

import pytest
from tools.generated import generated, main

from qstep.spec import memory_map
from qstep.spec.memory_map import (
    CONTEXT,
    COUNTERS,
    INDEX,
    INDEX_BITS,
    REGION_BITS,
    SETTINGS,
    WORD_BITS,
    Fields,
    Region,
)
from qstep.spec.protocol import WORD_BYTES
from qstep_rtl import world_port


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.name)
def test_a_generated_file_is_what_its_description_gives(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generated()[path]()


def test_a_page_without_a_place_for_its_tables_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("tools.generated._ROOT", tmp_path)
    page = tmp_path / "docs/agents.md"
    page.parent.mkdir()
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"docs/agents\.md has no place"):
        main()


def test_fields_are_packed_from_bit_0_and_unpacked_again():
    fields = Fields(a=3, b=1, c=4)
    assert fields.pack(b=1, c=10) == 0b1010_1_000
    assert fields.unpack(0b1010_1_011) == {"a": 3, "b": 1, "c": 10}
    assert [fields.bits(name) for name in "abc"] == [slice(0, 3), slice(3, 4), slice(4, 8)]


def test_every_index_and_every_word_fits_and_no_two_words_have_one_number():
    assert len(Region) <= 1 << REGION_BITS
    assert set(INDEX) == set(Region)
    assert all(sum(index.widths.values()) <= INDEX_BITS for index in INDEX.values())
    assert WORD_BITS == 8 * WORD_BYTES
    for region, words in ((Region.SETTINGS, SETTINGS), (Region.CONTEXT, CONTEXT)):
        assert all(word.region == region for word in words)
        assert len({word.number for word in words}) == len(words)
        assert max(word.number for word in words) < 1 << INDEX[region].widths["word"]
        assert all(sum(word.widths.values()) <= WORD_BITS for word in words)
    assert sum(COUNTERS.values()) == 1 << INDEX[Region.COUNTERS].widths["word"]


def test_every_agents_number_has_the_width_of_the_world_s_port():
    widths = {index.widths["agent"] for index in INDEX.values() if "agent" in index.widths}
    assert widths == {world_port.AGENT_BITS}
    assert {word.name for word in (*SETTINGS, *CONTEXT)} == {
        name.lower()
        for name, value in vars(memory_map).items()
        if isinstance(value, memory_map.Word)
    }
