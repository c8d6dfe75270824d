"""A LiteX SoC whose RISC-V core trains the lane on a corridor, then follows the learned policy.

python examples/litex_soc.py build/litex

writes ``soc.v`` and the sources of its submodules. The program is in the ROM. In a corridor of 8 states,
action 1 leads to the next state and action 0 to the previous one. A step costs 1; reaching the last
state yields 4 and ends the episode. The CPU draws 300 random actions and passes the transitions to the
lane. Then it reads the table and outputs each entry on the pins. Finally, it follows the greedy actions
from state 0 and outputs the number of steps to the end of the corridor, which is 7.
"""

from __future__ import annotations

import sys
from pathlib import Path

from litex.build.generic_platform import Pins
from litex.build.sim import SimPlatform
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect.csr import CSRStorage
from migen import ClockDomain

from qstep import Config
from qstep_rtl.bus.litex_lane import LiteXLane

CONFIG = Config(states=8, actions=2)
STEPS = 300
LANE = 0x80000000
IO = [(name, 0, Pins(bits)) for name, bits in (("clk", 1), ("rst", 1), ("sent", 32), ("sends", 1))]

ZERO, LANE_AT, WORD_AT, SEND_AT = 0, 1, 2, 3
STATE, DRAW, LEFT, ACTION, NEXT, END, REWARD, T, U = range(4, 13)


class Program:
    """An assembler for the few RV32I instructions that the program uses."""

    def __init__(self) -> None:
        self._words: list[int | tuple[int, int, int, str]] = []
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> None:
        self._labels[name] = len(self._words)

    def immediate(self, funct: int, to: int, source: int, value: int, opcode: int = 0x13) -> None:
        self._words.append((value & 0xFFF) << 20 | source << 15 | funct << 12 | to << 7 | opcode)

    def add(self, to: int, source: int, value: int) -> None:
        self.immediate(0, to, source, value)

    def register(self, funct: int, to: int, a: int, b: int) -> None:
        self._words.append(
            (funct >> 3) << 25 | b << 20 | a << 15 | (funct & 7) << 12 | to << 7 | 0x33
        )

    def load(self, to: int, base: int, offset: int) -> None:
        self.immediate(2, to, base, offset, 0x03)

    def store(self, source: int, base: int, offset: int) -> None:
        high, low = offset >> 5, offset & 31
        self._words.append(high << 25 | source << 20 | base << 15 | 2 << 12 | low << 7 | 0x23)

    def constant(self, to: int, value: int) -> None:
        """Set a register to a value, with ``lui`` and ``addi``."""
        low = (value & 0xFFF) - (value & 0x800) * 2
        self._words.append((value - low & 0xFFFFF000) | to << 7 | 0x37)
        self.add(to, to, low)

    def branch(self, funct: int, a: int, b: int, label: str) -> None:
        """Branch by `funct`: 0 if equal, 1 if not equal, 4 if less, 5 if not less."""
        self._words.append((funct, a, b, label))

    def words(self) -> list[int]:
        found = []
        for place, word in enumerate(self._words):
            if isinstance(word, tuple):
                funct, a, b, label = word
                by = 4 * (self._labels[label] - place)
                word = (by >> 12 & 1) << 31 | (by >> 5 & 63) << 25 | b << 20 | a << 15
                word |= funct << 12 | (by >> 1 & 15) << 8 | (by >> 11 & 1) << 7 | 0x63
            found.append(word)
        return found


def program(word_at: int, send_at: int) -> list[int]:
    """Return the contents of the SoC's ROM, given the addresses of its two registers."""
    p = Program()
    for register, value in ((LANE_AT, LANE), (WORD_AT, word_at), (SEND_AT, send_at)):
        p.constant(register, value)
    for offset, value in (
        (0x30, 16384),
        (0x34, 14336),
        (0x20, 3),
    ):  # alpha, kappa, configure and clear
        p.constant(T, value)
        p.store(T, LANE_AT, offset)
    p.label("pending")
    p.load(T, LANE_AT, 0x24)
    p.immediate(7, T, T, 2)
    p.branch(1, T, ZERO, "pending")

    p.add(STATE, ZERO, 0)
    p.add(DRAW, ZERO, 1)
    p.add(LEFT, ZERO, STEPS)
    p.label("step")
    for funct, by in ((1, 13), (5, 17), (1, 5)):  # xorshift
        p.immediate(funct, T, DRAW, by)
        p.register(4, DRAW, DRAW, T)
    p.immediate(7, ACTION, DRAW, 1)
    p.register(0, NEXT, ACTION, ACTION)
    p.register(0, NEXT, NEXT, STATE)
    p.add(NEXT, NEXT, -1)
    p.branch(5, NEXT, ZERO, "inside")
    p.add(NEXT, ZERO, 0)
    p.label("inside")
    p.immediate(2, END, NEXT, CONFIG.states - 1)
    p.immediate(4, END, END, 1)
    p.constant(REWARD, -1 << CONFIG.format.fraction)
    p.branch(0, END, ZERO, "reward")
    p.constant(REWARD, 4 << CONFIG.format.fraction)
    p.label("reward")
    p.immediate(1, T, END, 16)
    p.register(6, ACTION, ACTION, T)
    for source in (STATE, NEXT, REWARD, ACTION):
        p.store(source, WORD_AT, 0)
    p.add(STATE, NEXT, 0)
    p.branch(0, END, ZERO, "count")
    p.add(STATE, ZERO, 0)
    p.label("count")
    p.add(LEFT, LEFT, -1)
    p.branch(1, LEFT, ZERO, "step")

    p.add(T, ZERO, STEPS)
    p.label("applied")
    p.load(U, LANE_AT, 0x80)
    p.branch(1, U, T, "applied")
    p.store(ZERO, LANE_AT, 0x50)  # read the table from its first entry
    p.store(ZERO, LANE_AT, 0x54)
    p.add(LEFT, ZERO, CONFIG.states * CONFIG.actions)
    p.label("entry")
    p.load(T, LANE_AT, 0x58)
    p.store(T, SEND_AT, 0)
    p.add(LEFT, LEFT, -1)
    p.branch(1, LEFT, ZERO, "entry")

    p.add(STATE, ZERO, 0)
    p.add(LEFT, ZERO, 0)
    p.add(END, ZERO, CONFIG.states - 1)
    p.label("walk")
    p.store(STATE, LANE_AT, 0x50)
    p.store(ZERO, LANE_AT, 0x54)
    p.load(T, LANE_AT, 0x58)
    p.load(U, LANE_AT, 0x58)
    p.add(LEFT, LEFT, 1)
    p.add(NEXT, STATE, 1)
    p.branch(4, T, U, "walked")
    p.add(NEXT, STATE, -1)
    p.branch(5, NEXT, ZERO, "walked")
    p.add(NEXT, ZERO, 0)
    p.label("walked")
    p.add(STATE, NEXT, 0)
    p.add(T, ZERO, 100)
    p.branch(0, LEFT, T, "send")  # gives up: the policy never reaches the end
    p.branch(1, STATE, END, "walk")
    p.label("send")
    p.store(LEFT, SEND_AT, 0)
    p.label("done")
    p.branch(0, ZERO, ZERO, "done")
    return p.words()


class _Clock(LiteXModule):
    def __init__(self, platform: SimPlatform) -> None:
        self.cd_sys = ClockDomain()
        self.comb += self.cd_sys.clk.eq(platform.request("clk"))
        self.comb += self.cd_sys.rst.eq(platform.request("rst"))


class Soc(SoCCore):
    """A PicoRV32 with its program in ROM, the lane, and a register that drives output pins."""

    def __init__(self, platform: SimPlatform, folder: Path) -> None:
        memories = {"integrated_rom_size": 0x1000, "integrated_rom_init": [0]}
        memories["integrated_sram_size"] = 0x100
        without = {"with_uart": False, "with_timer": False, "ident": ""}
        super().__init__(platform, 100e6, cpu_type="picorv32", **memories, **without)
        self.clock = _Clock(platform)
        self.lane = LiteXLane(platform, CONFIG, folder)
        region = SoCRegion(origin=LANE, size=0x1000, cached=False)
        self.bus.add_slave("lane_registers", self.lane.bus, region)
        self.send = CSRStorage(32)
        self.comb += platform.request("sent").eq(self.send.storage)
        self.comb += platform.request("sends").eq(self.send.re)


def write(folder: Path) -> list[Path]:
    """Write the SoC to a folder, and return its sources in compile order."""
    folder.mkdir(parents=True, exist_ok=True)
    platform = SimPlatform("SIM", IO)
    soc = Soc(platform, folder)
    soc.finalize()
    regions = {name: region.origin for name, region in soc.csr_regions.items()}
    soc.rom.mem.init = program(regions["lane"], regions["main"])
    made = platform.get_verilog(soc, name="soc")
    text = made.main_source
    for name, content in made.data_files.items():  # absolute paths of memory files
        (folder / name).write_text(content, encoding="utf-8")
        text = text.replace(f'"{name}"', f'"{(folder / name).resolve()}"')
    (folder / "soc.v").write_text(text, encoding="utf-8")
    return [*(Path(name) for name, *_ in platform.sources), folder / "soc.v"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python litex_soc.py FOLDER")
    for source in write(Path(sys.argv[1])):
        print(source)
