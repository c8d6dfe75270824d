"""The daisy chain of a farm, without its lanes, passes its cocotb bench."""

from dataclasses import replace

import pytest
from tb.bench import run
from tb.unit.unit_runs import FARMS, chain_run

from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_rtl.chain_head import index_mask


@pytest.mark.slow
@pytest.mark.rtl
@pytest.mark.bench("tb.unit.rtl_chain", "qs_chain_node")
def test_chain_carries_words_and_runs_to_their_lanes_and_back(only: str) -> None:
    assert run(replace(chain_run(FARMS[0]), test=only)).tests == (1 if only else 5)


def farm(states: int, agents: int, world: str = "table", planes: int = 1) -> Config:
    acting = Acting(agents=agents, world=world)
    return Config(states, 2 if planes > 1 else 4, acting=acting, lanes=2, planes=planes)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("config", "bits"),
    [
        (farm(2, 2), 16),
        (farm(25, 32), 20),
        (farm(16384, 2), 28),
        (farm(81, 32, "CartPole-v1", 8), 20),
    ],
)
def test_stops_keep_the_bits_of_an_index_that_say_something(config: Config, bits: int) -> None:
    assert index_mask(config).bit_count() == bits
