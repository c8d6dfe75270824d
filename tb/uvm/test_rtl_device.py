"""The whole device against the reference device, clock by clock, in the pyuvm environment."""

from __future__ import annotations

import pytest
from tb.bench import run
from tb.uvm.device_runs import CONFIGS, device_run

from qstep import Config

pytestmark = pytest.mark.rtl


def _name(config: Config) -> str:
    width = config.format.width
    return f"s{config.states}-a{config.actions}-w{width}-d{config.loop_depth}"


@pytest.mark.parametrize("config", CONFIGS, ids=_name)
def test_device_answers_as_the_reference_on_a_stalling_line(config: Config) -> None:
    run(device_run(config))
