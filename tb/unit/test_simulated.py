"""The simulated device matches the generated one in each clock, although some of its blocks sleep."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from tb.generated import generated
from tb.random_world import random_world
from tb.unit.requests import RequestMaker

from qstep.device.link.frames import encode_frame
from qstep.device.registers import counters_writes, settings_writes, state_writes, world_writes
from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep.spec.memory_map import Region
from qstep.spec.protocol import ARGUMENTS, OVERHEAD, Request, arguments_of
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState
from qstep_rtl import device, sources
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort
from qstep_sim.top import CLOCKS, simulated

pytestmark = pytest.mark.slow

CONFIG = Config(states=25, actions=3, format="Q10.10", loop_depth=3)
ACTING = Acting(agents=2, outcomes=2, starts=2)
AGENTS = Config(*(9, 3), acting=ACTING, link=Link(buffer_bytes=512))
CONFIGS = {
    "lane": CONFIG,
    "agents": AGENTS,
    "clock": replace(AGENTS, acting=replace(ACTING, clock_hz=60_000_000)),
    "live": replace(AGENTS, acting=Acting(agents=2, world="live")),
}


def library(folder: Path, config: Config, text: str) -> Path:
    """Return the library compiled from `text`, which is the Verilog of a device with `config`."""
    top = folder / "qstep_device.v"
    top.write_text(text, encoding="utf-8")
    verilog = [CLOCKS, *sources.rtl_files(config), top]
    return compile_library(verilog, "qstep_device", optimise=False)


def conversation(path: Path) -> list[tuple[bytes, int]]:
    """Return a device's answers to a random host, each with the clock in which it was read."""
    rng = random.Random(3)
    maker = RequestMaker(CONFIG, rng)
    port = SimPort(CONFIG, library=path)
    said = []

    def listen() -> bool:
        said.append((port.read(0), port.clocks))
        return said[-1][0] != b""

    # Every reset and every session counts, so the first session is number 2.
    for count in range(2, 2 + 2 * 12, 2):
        nonce = rng.randbytes(4)
        epoch = int.from_bytes(nonce, "little") ^ count
        port.write(encode_frame(Request.HELLO, 0, 0, nonce))
        listen()
        seq = 0
        for _ in range(5):
            while listen():
                pass
            credit = CONFIG.link.buffer_bytes
            while True:
                kind, payload = maker.request(wrong=0.03)
                credit -= OVERHEAD + len(payload)
                if credit < 0:
                    break
                port.write(encode_frame(kind, seq, epoch, payload))
                seq += 1
            listen()
        # The reset may come in the middle of any request.
        port.reset()
    port.close()
    return said


def agents_requests(config: Config, rng: random.Random) -> tuple[Request, bytes]:
    """Return the type and payload of a random request to agents; some requests are refused."""
    arguments = arguments_of(config)
    kind = rng.choice([request for request in arguments if request != Request.HELLO])
    if kind is Request.STORE:
        words = rng.choice([1, 2, 9])
        region = 7 if rng.random() < 0.1 else Region.TABLE
        return kind, ARGUMENTS[kind].pack(region, 1, 1, 64, words) + rng.randbytes(4 * words)
    if kind is Request.FETCH:
        return kind, ARGUMENTS[kind].pack(Region.COUNTERS, 0, 16, 16, rng.randrange(1, 20))
    if kind is Request.RUN:
        return kind, ARGUMENTS[kind].pack(rng.choice([0, 3, 40, 400, 4000]))
    return kind, b"\x10\0" if kind is Request.BAUD else rng.randbytes(arguments[kind].size)


def agents_conversation(path: Path, config: Config) -> list[tuple[bytes, int]]:
    """Return the answers of a device with agents, each with the clock in which it was read."""
    rng = random.Random(4)
    port = SimPort(config, library=path)
    said = []

    def listen() -> bool:
        said.append((port.read(0), port.clocks))
        return said[-1][0] != b""

    def listen_to_the_end() -> None:
        for _ in range(20):  # a device that sleeps too long may repeat a byte forever
            if not listen():
                break

    def tell(data: bytes) -> None:
        """Write frames, whole or with a pause in the middle, and read one answer or all answers."""
        cut = rng.choice([0, 0, 0, rng.randrange(len(data))])
        if cut:
            port.write(data[:cut])
            listen()
        port.write(data[cut:])
        if rng.random() < 0.3:
            listen()
        else:
            listen_to_the_end()

    settings = AgentSettings()
    writes = list(world_writes(AGENTS, random_world(AGENTS, 20, 1)))
    for agent in range(2):
        writes += settings_writes(AGENTS, agent, settings)
        writes += state_writes(agent, AgentState.first(settings, agent))
        writes += counters_writes(agent, AgentCounters())
    for count in range(2, 2 + 2 * 10, 2):
        nonce = rng.randbytes(4)
        epoch = int.from_bytes(nonce, "little") ^ count
        port.write(encode_frame(Request.HELLO, 0, 0, nonce))
        listen_to_the_end()  # agents are busy for a while after a reset
        seq = 0
        for region, index, word in writes:
            where = ARGUMENTS[Request.STORE].pack(region, index, 1, 0, 1)
            port.write(encode_frame(Request.STORE, seq, epoch, where + word.to_bytes(4, "little")))
            listen()
            seq += 1
        writes = []
        for _ in range(8):
            frames = b""
            for _ in range(rng.choice([1, 1, 2, 3])):
                kind, payload = agents_requests(config, rng)
                frames += encode_frame(kind, seq, epoch, payload)
                seq += 1
            tell(frames)
        tell(frames[:5] + b"\0")
        port.reset()
    port.close()
    return said


def talk(path: Path, config: Config) -> list[tuple[bytes, int]]:
    """Return the answers of a device with `config`, each with the clock in which it was read."""
    return agents_conversation(path, config) if config.acting else conversation(path)


@pytest.mark.rtl
@pytest.mark.parametrize("name", CONFIGS)
def test_device_that_sleeps_says_the_same_in_the_same_clocks(tmp_path: Path, name: str) -> None:
    config = CONFIGS[name]
    expected = talk(library(tmp_path, config, generated(config)["qstep_device"]), config)
    assert sum(len(answer) for answer, _ in expected) > 5000
    assert talk(library(tmp_path, config, simulated(config)), config) == expected


@pytest.mark.rtl
def test_device_that_sleeps_too_early_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = talk(library(tmp_path, AGENTS, generated(AGENTS)["qstep_device"]), AGENTS)
    monkeypatch.setattr(device, "_SETTLE_CLOCKS", 0)
    assert talk(library(tmp_path, AGENTS, simulated(AGENTS)), AGENTS) != expected


@pytest.mark.unit
@pytest.mark.parametrize("name", CONFIGS)
def test_generated_hardware_has_nothing_that_serves_the_simulation(name: str) -> None:
    for text in generated(CONFIGS[name]).values():
        assert "awake" not in text
        assert "qs_clocks" not in text
