"""In the pyuvm environment, the whole device gives the same answers as the reference device."""

from dataclasses import replace

import pytest
from tb.bench import run
from tb.uvm.device_runs import CONFIGS, config_id, device_run

from qstep import Config

pytestmark = [pytest.mark.rtl, pytest.mark.slow]


@pytest.mark.bench("tb.uvm.device_tests", "qs_lane")
@pytest.mark.parametrize("config", CONFIGS[:3], ids=config_id)
def test_device_answers_as_the_reference_on_a_stalling_line(config: Config, only: str) -> None:
    this = device_run(config)
    run(replace(this, test=only or this.test))
