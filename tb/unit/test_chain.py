"""The chain of a farm alone passes its cocotb bench."""

from dataclasses import replace

import pytest
from tb.bench import run
from tb.unit.unit_runs import FARMS, chain_run

from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_rtl.chain_head import index_mask


@pytest.mark.rtl
@pytest.mark.bench("tb.unit.rtl_chain", "qs_chain_node")
def test_chain_carries_words_and_runs_to_their_lanes_and_back(only: str) -> None:
    assert run(replace(chain_run(FARMS[0]), test=only)).tests == (1 if only else 5)


@pytest.mark.unit
@pytest.mark.parametrize(("states", "agents", "bits"), [(2, 2, 16), (25, 32, 20), (16384, 2, 26)])
def test_stops_keep_the_bits_of_an_index_that_say_something(
    states: int, agents: int, bits: int
) -> None:
    mask = index_mask(Config(states, 4, acting=Acting(agents=agents), lanes=2))
    assert mask.bit_count() == bits
