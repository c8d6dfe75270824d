"""The sleeping blocks of a device with a lane would not have changed: yosys proves it."""

import re
from pathlib import Path

import pytest
from tb.generated import generated
from tb.unit.standing_still import (
    GREETED,
    HAS_COUNTED_RESET,
    READER,
    link_facts,
    prove,
    type_of,
)

from qstep.errors import BuildError
from qstep.spec.config import Config

pytestmark = [pytest.mark.formal, pytest.mark.slow]

CONFIG = Config(states=25, actions=3, format="Q10.10", loop_depth=3)

TYPE = type_of(CONFIG)

_WORKS_ON = (
    f"commands.fsm_state == 3 && {READER}.request__valid && {READER}.request__payload[26:24] == 0"
)

FACTS = (
    *link_facts(CONFIG),
    f"awake || !{READER}.session.finish",
    f"awake || (!{GREETED} && {HAS_COUNTED_RESET})",
    # Only the handler of the current request does anything: APPLY while records pass.
    f"!commands.apply.running || ({_WORKS_ON} && {TYPE} >> 1 == 4)",
    f"!{GREETED} || (commands.fsm_state == 4 && {TYPE} == 1)",
    "!(commands.settings.request__busy || commands.settings.configures || "
    f"commands.settings.settings__noise_load) || ({_WORKS_ON} && {TYPE} >> 1 == 1)",
    f"commands.tables.fsm_state == 0 || ({_WORKS_ON} && {TYPE} >> 2 == 1)",
    "!commands.tables.moving || commands.tables.fsm_state == 3",
    "!commands.tables.access__check || commands.tables.fsm_state == 1",
    "!commands.tables.access__move || commands.tables.fsm_state == 2 || commands.fsm_state <= 1",
)


def test_what_sleeps_would_not_have_moved(tmp_path: Path) -> None:
    device = generated(CONFIG)["qstep_device"]
    assert prove(CONFIG, device, FACTS, tmp_path, steps=4) > 100


def test_a_cause_to_be_awake_that_is_left_out_is_no_proof(tmp_path: Path) -> None:
    device = generated(CONFIG)["qstep_device"]
    # The last cause is that answers are under way.
    without = re.sub(r"^(  assign awake = \S+) +\| .*;$", r"\1 ;", device, flags=re.MULTILINE)
    assert without != device
    with pytest.raises(BuildError, match="proof did fail"):
        prove(CONFIG, without, FACTS, tmp_path, steps=4)
