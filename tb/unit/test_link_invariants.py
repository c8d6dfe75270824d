"""What the blocks' headers promise, or ask for, is asserted in them; each assertion can fail."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.lib.wiring import Component
from tb.unit.streams import simulate

from qstep.config import Config
from qstep_rtl.counters import Counters
from qstep_rtl.generate import generate
from qstep_rtl.record_decoder import RecordDecoder
from qstep_rtl.session import Session
from qstep_rtl.table_access import TableAccess, Task
from qstep_rtl.uart import UartSender

pytestmark = pytest.mark.unit

CONFIG = Config(states=25, actions=3)


async def leave_the_totals(ctx: Any, counters: Counters) -> None:
    ctx.set(counters.start, 1)
    await ctx.tick()
    ctx.set(counters.start, 0)
    await ctx.tick().repeat(400)


async def write_a_reward_under_a_record(ctx: Any, decoder: RecordDecoder) -> None:
    ctx.set(decoder.records.bytes.valid, 1)
    await ctx.tick().until(decoder.records.busy)
    ctx.set(decoder.rewards.write, 1)
    await ctx.tick().repeat(2)


async def begin_a_move_in_another(ctx: Any, access: TableAccess) -> None:
    ctx.set(access.request.task, Task.CLEAR)
    ctx.set(access.request.move, 1)
    await ctx.tick().repeat(3)


async def answer_twice(ctx: Any, session: Session) -> None:
    ctx.set(session.judge, 1)
    await ctx.tick()
    ctx.set(session.judge, 0)
    ctx.set(session.finish, 1)
    await ctx.tick().repeat(3)


async def send_with_too_small_a_divisor(ctx: Any, sender: UartSender) -> None:
    ctx.set(sender.divisor, 7)
    ctx.set(sender.bytes.valid, 1)
    await ctx.tick().repeat(200)


# The simulator leaves a coroutine behind that it cannot end.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("block", "misuse", "message"),
    [
        (Counters(7), leave_the_totals, "the totals were not taken in time"),
        (RecordDecoder(CONFIG), write_a_reward_under_a_record, "written under a record"),
        (TableAccess(CONFIG), begin_a_move_in_another, "began in another"),
        (Session(), answer_twice, "answered twice"),
        (UartSender(), send_with_too_small_a_divisor, "the divisor is too small"),
    ],
    ids=["counters", "records", "tables", "session", "uart"],
)
def test_misuse_of_a_block_is_noticed(
    block: Component, misuse: Callable[[Any, Any], Any], message: str
) -> None:
    async def bench(ctx: Any) -> None:
        await misuse(ctx, block)

    with pytest.raises(AssertionError, match=message):
        simulate(block, bench)
    gc.collect()


def test_generated_hardware_has_no_assertions(tmp_path: Path) -> None:
    generate(CONFIG, tmp_path)
    text = (tmp_path / "qstep_top.v").read_text(encoding="utf-8")
    assert not any(word in text for word in ("assert", "waited", "finished"))
