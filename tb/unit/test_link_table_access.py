"""Table access: checks follow the documentation, and moves have the same effect as on a plain table."""

import random
from typing import Any

import pytest
from tb.unit.streams import collect, send, simulate

from qstep.spec.config import Config
from qstep.spec.protocol import StatusCode
from qstep_rtl.table_access import AccessTask, TableAccess

pytestmark = pytest.mark.unit

CONFIG = Config(states=5, actions=3, format="Q10.10")
ENTRIES = CONFIG.states * CONFIG.actions
SIZE = CONFIG.value_bytes
OK, BAD_LENGTH, OUT_OF_RANGE = StatusCode.OK, StatusCode.BAD_LENGTH, StatusCode.OUT_OF_RANGE

CHECKS = [
    (AccessTask.LOAD, {"payload_bytes": ENTRIES * SIZE}, OK),
    (AccessTask.LOAD, {"payload_bytes": ENTRIES * SIZE + 1}, BAD_LENGTH),
    (AccessTask.LOAD, {"payload_bytes": ENTRIES * SIZE + SIZE}, OUT_OF_RANGE),
    (AccessTask.LOAD, {"payload_bytes": SIZE, "first_state": 5}, OUT_OF_RANGE),
    (AccessTask.LOAD, {"payload_bytes": SIZE, "first_action": 3}, OUT_OF_RANGE),
    (AccessTask.LOAD, {"payload_bytes": SIZE, "first_state": 4, "first_action": 2}, OK),
    (AccessTask.READ, {"count": 0}, OUT_OF_RANGE),
    (AccessTask.READ, {"count": ENTRIES}, OK),
    (AccessTask.READ, {"count": ENTRIES + 1}, OUT_OF_RANGE),
    (AccessTask.READ, {"count": 0xFFFF}, OUT_OF_RANGE),
    (AccessTask.REWARDS, {"payload_bytes": 0}, OK),
    (AccessTask.REWARDS, {"payload_bytes": SIZE, "first_code": 255}, OK),
    (AccessTask.REWARDS, {"payload_bytes": 2 * SIZE, "first_code": 255}, BAD_LENGTH),
    (AccessTask.REWARDS, {"payload_bytes": SIZE - 1}, BAD_LENGTH),
]


async def begin(
    ctx: Any, access: TableAccess, what: str, task: AccessTask, fields: dict[str, Any]
) -> None:
    """Start a check or a move; for a check, wait until it ends."""
    request = access.request
    ctx.set(request.task, task)
    for name in ("first_code", "first_state", "first_action", "payload_bytes", "count"):
        ctx.set(getattr(request, name), fields.get(name, 0))
    ctx.set(getattr(request, what), 1)
    await ctx.tick()
    ctx.set(getattr(request, what), 0)
    await ctx.tick()
    if what == "check":
        await ctx.tick().until(~request.busy)


def test_requests_are_checked_as_the_document_says() -> None:
    access = TableAccess(CONFIG)
    found = []

    async def bench(ctx: Any) -> None:
        for task, fields, _ in CHECKS:
            await begin(ctx, access, "check", task, fields)
            found.append(StatusCode(ctx.get(access.request.verdict)))

    simulate(access, bench)
    assert found == [verdict for _, _, verdict in CHECKS]


def test_values_are_loaded_read_and_cleared_in_the_order_of_the_rows() -> None:
    access = TableAccess(CONFIG)
    table = dict.fromkeys(((s, a) for s in range(5) for a in range(3)), 7)
    values = [-1, 0, 123, -(1 << 19), (1 << 19) - 1]
    read: list[int] = []

    async def memory(ctx: Any) -> None:
        late = [0, 0]
        while True:
            at = (ctx.get(access.state), ctx.get(access.action))
            if ctx.get(access.write_table):
                table[at] = ctx.get(access.value.as_signed())
            late = [table.get(at, 0), late[0]]
            await ctx.tick()
            ctx.set(access.table_value, late[1])

    async def bench(ctx: Any) -> None:
        request = access.request
        fields = {"first_state": 1, "first_action": 2, "payload_bytes": len(values) * SIZE}
        await begin(ctx, access, "check", AccessTask.LOAD, fields)
        await begin(ctx, access, "move", AccessTask.LOAD, fields)
        data = b"".join(value.to_bytes(SIZE, "little", signed=True) for value in values)
        await send(ctx, request.values, data, random.Random(3), 0.3)
        await ctx.tick().until(~request.busy)
        fields = {"first_state": 1, "first_action": 1, "count": 7}
        await begin(ctx, access, "check", AccessTask.READ, fields)
        await begin(ctx, access, "move", AccessTask.READ, fields)
        await ctx.tick().until(~request.busy)
        assert [table[divmod(1 * 3 + 1 + at, 3)] for at in range(7)] == [7, *values, 7]
        await begin(ctx, access, "move", AccessTask.CLEAR, {})
        await ctx.tick().until(~request.busy)

    simulate(access, bench, memory, collect(access.values, random.Random(4), 0.4, read))
    chunks = [bytes(read[at : at + SIZE]) for at in range(0, len(read), SIZE)]
    assert [int.from_bytes(chunk, "little", signed=True) for chunk in chunks] == [7, *values, 7]
    assert set(table.values()) == {0}
