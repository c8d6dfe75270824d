"""The prefetcher example compiles, and learns in fixed point what it learns in floating point."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tb.sw.command_line import invoke

from qstep.spec.fixed import QFormat
from qstep.spec.planes import PRESETS, config_header
from qstep_sim import verilator

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "prefetcher"


def built(source: Path, folder: Path, optimised: str = "-O0") -> Path:
    program = folder / source.stem
    warnings = "-Wall", "-Wextra", "-Wpedantic", "-Werror"
    # A fused multiply-add rounds only once, so the float version would differ between CPUs.
    flags = ["-std=c++17", optimised, "-ffp-contract=off", *warnings]
    command = [*flags, f"-I{folder}", f"-I{EXAMPLE}", str(source)]
    subprocess.run([*verilator.compiler(), *command, "-o", str(program)], check=True)
    return program


def output(program: Path) -> str:
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def preset(tmp_path: Path) -> Path:
    """Return a folder into which ``qstep generate`` has written the preset."""
    assert invoke(f"generate --preset pythia --cpp --out {tmp_path}").exit_code == 0
    return tmp_path


def mean_rewards(text: str) -> tuple[float, float]:
    found = re.search(r"mean reward: (\S+) in fixed point, (\S+) in float", text)
    assert found is not None
    return float(found[1]), float(found[2])


def test_the_prefetcher_learns_in_fixed_point_what_it_learns_in_float(preset: Path) -> None:
    """Over 400,000 accesses, the mean rewards differ by less than 1 %."""
    text = output(built(EXAMPLE / "cache_model.cpp", preset, "-O2"))
    fixed, real = mean_rewards(text)
    assert abs(fixed - real) < 0.01 * real
    rewards = [float(line.split()[3]) for line in text.splitlines()[1:-1]]
    assert rewards[-1] > rewards[0] + 2
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert text in readme


@pytest.mark.slow
def test_two_fractional_bits_learn_nothing(preset: Path) -> None:
    coarse = replace(PRESETS["pythia"], format=QFormat(7, 2))
    (preset / "pythia.hpp").write_text(config_header("pythia", coarse), encoding="utf-8")
    fixed, real = mean_rewards(output(built(EXAMPLE / "cache_model.cpp", preset, "-O2")))
    assert fixed < 0 < real


MAIN = """
#include "learning_engine_featurewise.h"
struct State { uint64_t pc; int32_t delta; };
enum class RewardType { none };
int main() {
    LearningEngineFeaturewise engine(0.5f, 0.5f, 0.1f, 15u, 200ull);
    const State first{0x401234, -3}, second{0x401240, 5};
    float ratio = 0;
    std::vector<bool> consensus;
    uint32_t action = engine.chooseAction(&first, ratio, consensus);
    if (ratio != 1 || consensus.size() != 2) return 1;
    engine.learn(&first, action, -14, &second, 3u, consensus, RewardType::none);
    engine.learn(&first, action, -14, &second, 3u, RewardType::none);
    LearningEngineFeaturewise::Learner same;
    const auto a = same.state({0x401234, (0x401234 << 7) + 67});
    const auto b = same.state({0x401240, (0x401240 << 7) + 5});
    same.chooseAction(a);
    for (int i = 0; i < 2; i++) same.learn(a, action, -14, b, 3);
    return engine.chooseAction(&first) != same.chooseAction(a) || engine.chooseAction(&first) == action;
}
"""


def test_the_adapter_takes_the_calls_of_both_simulators(preset: Path) -> None:
    source = preset / "adapter.cpp"
    source.write_text(MAIN, encoding="utf-8")
    output(built(source, preset))


def test_a_reward_that_does_not_fit_is_refused(preset: Path) -> None:
    source = preset / "refused.cpp"
    source.write_text(
        '#include <iostream>\n#include "pythia.hpp"\nint main() {\n'
        "    qstep::FixedPlanes<qstep::Pythia> learner;\n    const auto state = learner.state({1, 2});\n"
        "    try { learner.learn(state, 0, 64, state, 0); }\n"
        "    catch (const std::out_of_range &refused) { std::cout << refused.what(); }\n}\n",
        encoding="utf-8",
    )
    said = "reward is 64.000000; it must be from -64.000000 to 63.998047"
    assert output(built(source, preset)) == said


def test_the_program_of_the_page_runs(preset: Path) -> None:
    page = (ROOT / "docs" / "learner.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    source = preset / "first.cpp"
    source.write_text(program, encoding="utf-8")
    assert output(built(source, preset)) == printed


def test_the_benchmark_compiles(preset: Path) -> None:
    built(EXAMPLE / "speed.cpp", preset)
