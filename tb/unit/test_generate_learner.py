"""``qstep generate --preset`` writes complete hardware, and a bench that detects a wrong constant."""

from dataclasses import replace
from pathlib import Path

import pytest
from tb.generated_bench import run_bench
from tb.sw.command_line import ran
from tools.lint_rtl import lint

from qstep.errors import ConfigError
from qstep.golden.planes_bench import ACCESSES, bench_data
from qstep.spec.planes import PRESETS
from qstep_rtl.learner import BENCH, TOP, generate_learner

pytestmark = pytest.mark.rtl


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_written_with_all_its_sources(preset: str, tmp_path: Path) -> None:
    answer = ran("generate --preset", preset, "--out", tmp_path)
    assert f"{tmp_path / BENCH}" in answer.output
    names = (tmp_path / f"{TOP}.f").read_text(encoding="utf-8").split()
    files = [tmp_path / name for name in names]
    assert files[-1].stem == TOP
    assert not lint(TOP, {}, tmp_path, files[1:], ["-Wno-UNUSEDPARAM"])


@pytest.mark.synth
@pytest.mark.slow
def test_the_flat_file_of_a_preset_needs_no_other(tmp_path: Path) -> None:
    ran("generate --preset athena --flat --out", tmp_path)
    flat = tmp_path / f"{TOP}_flat.v"
    assert flat.read_text(encoding="utf-8").count("\nmodule ") == 1
    assert "%Error" not in lint(TOP, {}, sources=[flat], options=["-Wno-fatal"])


@pytest.mark.slow
def test_the_bench_finds_another_gamma(tmp_path: Path) -> None:
    preset = PRESETS["pythia"]
    generate_learner(preset, tmp_path, entries=4)
    for name, content in bench_data(preset, entries=4).items():
        (tmp_path / name).write_bytes(content)
    assert run_bench(TOP, tmp_path) == (0, "PASS: 69 choices and 64 updates")
    other = bench_data(replace(preset, gamma=preset.gamma - 0.1), entries=4)
    (tmp_path / ACCESSES).write_bytes(other[ACCESSES])
    code, printed = run_bench(TOP, tmp_path)
    assert code != 0
    assert printed.startswith("FAIL: access ")


def test_a_queue_that_cannot_be_built_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"entries is 100; it must be a power of two"):
        generate_learner(PRESETS["athena"], tmp_path, entries=100)
    with pytest.raises(ConfigError, match=r"key_bits is 65; it must be an integer from 1 to 64"):
        generate_learner(PRESETS["athena"], tmp_path, key_bits=65)
    assert not list(tmp_path.iterdir())
