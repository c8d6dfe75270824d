"""Runs the C program from ``qstep generate --bus axi``, a first transaction, on a simulated device."""

from __future__ import annotations

import ctypes
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from cocotb.task import bridge, resume
from tb.bus.axi_port import AxiPort

from qstep import Config
from qstep_rtl.bus.agents_core import record_bytes
from qstep_rtl.bus.registers import write_documents
from qstep_rtl.bus.start import CONFIG, FIRST, start_files

__all__ = ["first_in_c"]

_WORDS = ctypes.POINTER(ctypes.c_uint32)


class _Bus(ctypes.Structure):
    """``struct qstep_bus``."""

    _fields_ = (
        ("read", ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)),
        ("write", ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32)),
        ("send", ctypes.CFUNCTYPE(None, _WORDS)),
        ("receive", ctypes.CFUNCTYPE(None, _WORDS)),
    )


async def first_in_c(port: AxiPort, config: Config, block: str, **changes: int) -> str | None:
    """Compile and run the C program; return its error or None. `changes` replaces constants."""
    digest = await port.read("digest")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in start_files(config, block, "qstep_axi", {}, 4).items():
            (folder / file).write_bytes(content)
        header = folder / f"{CONFIG}.h"
        lines = header.read_text(encoding="utf-8").replace(config.digest[:16], f"{digest:016x}")
        for constant, value in changes.items():
            lines += f"#undef QSTEP_{constant}\n#define QSTEP_{constant} {value}\n"
        header.write_text(lines, encoding="utf-8")
        write_documents(block, folder)
        library = folder / "first.so"
        options = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        made = subprocess.run(
            ["cc", *options, folder / FIRST, "-o", library],
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        first = ctypes.CDLL(str(library)).qstep_first
    first.restype = ctypes.c_char_p

    @bridge
    def call(bus: _Bus) -> bytes | None:
        wrong: bytes | None = first(ctypes.byref(bus))
        return wrong

    wrong = await call(_bus(port, record_bytes(config)))
    return None if wrong is None else wrong.decode()


def _bus(port: AxiPort, size: int) -> _Bus:
    packet = struct.Struct(f"<{size // 4}I")

    @resume
    async def read(offset: int) -> int:
        return int.from_bytes((await port.master.read(offset, 4)).data, "little")

    @resume
    async def write(offset: int, data: int) -> None:
        await port.master.write(offset, data.to_bytes(4, "little"))

    @resume
    async def send(words: Any) -> None:
        await port.source.send(packet.pack(*words[: size // 4]))

    @resume
    async def receive(words: Any) -> None:
        for place, word in enumerate(packet.unpack(bytes((await port.sink.recv()).tdata))):
            words[place] = word

    functions = zip(_Bus._fields_, (read, write, send, receive), strict=True)
    return _Bus(*(kind(function) for (_, kind), function in functions))
