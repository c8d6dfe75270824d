"""Sleeping blocks in the simulation cannot be noticed from outside."""

import random
import re
from pathlib import Path

import pytest
from tb.generated import generated
from tb.random_world import random_world
from tb.unit.requests import RequestMaker

from qstep.device.link.frames import encode_frame
from qstep.device.registers import counters_writes, settings_writes, state_writes, world_writes
from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep.spec.protocol import ARGUMENTS, OVERHEAD, Region, Request, requests_of
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState
from qstep_rtl import sources
from qstep_sim.build import as_simulated, compile_library
from qstep_sim.clocked import clocked
from qstep_sim.port import SimPort
from qstep_sim.sleep import sleeping, sleeping_bus

CONFIG = Config(states=25, actions=3, format="Q10.10", loop_depth=3)
AGENTS = Config(*(9, 3), acting=Acting(agents=2, outcomes=2, starts=2), link=Link(buffer_bytes=512))


def library(folder: Path, trace: bool = False, config: Config = CONFIG) -> Path:
    """Return a simulated device whose blocks all run in every clock."""
    device = folder / "qstep_device.v"
    device.write_text(generated(config)["qstep_device"], encoding="utf-8")
    verilog = [*sources.rtl_files(config), device]
    return compile_library(verilog, "qstep_device", trace=trace, optimise=False)


def sleeping_library(folder: Path, config: Config) -> Path:
    """Return a simulated device as it is simulated."""
    device = folder / "qstep_device.v"
    device.write_text(generated(config)["qstep_device"], encoding="utf-8")
    return compile_library(as_simulated(config, device), "qstep_device", optimise=False)


def conversation(path: Path) -> list[tuple[bytes, int]]:
    """Return a device's answers to a random host, byte for byte, with the clock of each."""
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
        # Whatever is going on.
        port.reset()
    port.close()
    return said


def agents_requests(rng: random.Random) -> tuple[Request, bytes]:
    """Return type and payload of any request to agents; some requests are refused."""
    kind = rng.choice([request for request in requests_of(AGENTS) if request != Request.HELLO])
    if kind is Request.STORE:
        words = rng.choice([1, 2, 9])
        region = 7 if rng.random() < 0.1 else Region.TABLE
        return kind, ARGUMENTS[kind].pack(region, 1, 1, 64, words) + rng.randbytes(4 * words)
    if kind is Request.FETCH:
        return kind, ARGUMENTS[kind].pack(Region.COUNTERS, 0, 16, 16, rng.randrange(1, 20))
    if kind is Request.RUN:
        return kind, ARGUMENTS[kind].pack(rng.choice([0, 3, 40, 400, 4000]))
    return kind, b"\x10\0" if kind is Request.BAUD else b""


def agents_conversation(path: Path) -> list[tuple[bytes, int]]:
    """Return the answers of a device with agents, byte for byte, with the clock of each."""
    rng = random.Random(4)
    port = SimPort(AGENTS, library=path)
    said = []

    def listen() -> bool:
        said.append((port.read(0), port.clocks))
        return said[-1][0] != b""

    def listen_to_the_end() -> None:
        for _ in range(20):  # a device that oversleeps may repeat a byte for ever
            if not listen():
                break

    def tell(data: bytes) -> None:
        """Write frames, whole or with a pause in the middle, and listen to one answer or to all."""
        cut = rng.choice([0, 0, 0, rng.randrange(len(data))])
        if cut:
            port.write(data[:cut])
            listen()
        port.write(data[cut:])
        if rng.random() < 0.3:
            listen()
        else:
            listen_to_the_end()

    settings, world = AgentSettings(), random_world(AGENTS, 20, 1)
    writes = list(world_writes(AGENTS, world))
    for agent in range(2):
        writes += settings_writes(agent, settings)
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
                kind, payload = agents_requests(rng)
                frames += encode_frame(kind, seq, epoch, payload)
                seq += 1
            tell(frames)
        tell(frames[:5] + b"\0")
        port.reset()
    port.close()
    return said


CASES = {"lane": (CONFIG, conversation), "agents": (AGENTS, agents_conversation)}
Said = dict[str, list[tuple[bytes, int]]]


@pytest.fixture(scope="module")
def never_asleep(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """Return the conversations with devices whose blocks all run in every clock."""
    folder = tmp_path_factory.mktemp
    return {
        "lane": conversation(library(folder("lane"))),
        "agents": agents_conversation(library(folder("agents"), config=AGENTS)),
    }


@pytest.mark.rtl
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_device_that_sleeps_says_the_same_in_the_same_clocks(
    tmp_path: Path, never_asleep: Said, name: str
) -> None:
    config, talk = CASES[name]
    assert sum(len(answer) for answer, _ in never_asleep[name]) > 5000
    assert talk(sleeping_library(tmp_path, config)) == never_asleep[name]


@pytest.mark.rtl
@pytest.mark.slow
def test_direct_evaluation_says_what_verilators_own_loop_says(
    tmp_path: Path, never_asleep: Said
) -> None:
    # A traced build calls the public Vqstep::eval, any other calls its parts.
    assert conversation(library(tmp_path, trace=True)) == never_asleep["lane"]


@pytest.mark.unit
def test_only_a_device_can_sleep() -> None:
    lamp = "module lamp(clk);\nendmodule\n"
    with pytest.raises(ValueError, match="no signal 'awake'"):
        sleeping(lamp)
    with pytest.raises(ValueError, match="no signal 'awake'"):
        sleeping_bus("module qs_agent_bus;\nendmodule\n", lamp)


@pytest.mark.unit
def test_sleepless_registers_keep_their_clock() -> None:
    for device in generated(CONFIG).values():
        text = sleeping(clocked(device))
        asleep = re.findall(r"@\(posedge clk iff .* begin\n(?:    .*\n)*", text)
        assert len(asleep) > 80
        assert not [
            process for process in asleep if re.search(r" (spent|low\d|rested) <=", process)
        ]
