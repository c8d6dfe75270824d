"""Each profiler finds a planted hot spot on any backend, and the command reports it."""

import functools
import json
import pstats
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tb.sw.command_line import invoke, refused, told

from qstep.errors import FileFormatError, QStepError, ToolMissingError, TorchDeviceError
from qstep_bench import profilers, systems
from qstep_bench import profilers as heaviest
from qstep_bench.machine import machine, versions
from qstep_bench.profilers import Profile


def hot() -> int:
    total = 0
    for number in range(400_000):
        total += number  # the line that takes most
    return total


def cold() -> int:
    return sum(range(1000))


def mostly_hot() -> None:
    cold()
    hot()


def operations() -> None:
    import torch

    matrix = torch.ones(300, 300)
    for _ in range(20):
        matrix = (matrix @ matrix).clamp(max=1)


def profiled(tool: str, work: Callable[[], object]) -> Profile:
    if tool == "line":
        pytest.importorskip("line_profiler")
    if tool == "pyinstrument":
        pytest.importorskip("pyinstrument")
    return profilers.profile(tool, work)


@pytest.mark.parametrize("tool", ["cprofile", "pyinstrument"])
def test_the_function_that_takes_most_comes_first(tool: str) -> None:
    found = profiled(tool, mostly_hot)
    assert found.spots[0].where.startswith("hot (sw/test_profile.py:")
    assert found.spots[0].share > 0.5
    assert found.sentence.startswith("Hot spot: hot (sw/test_profile.py:")


@pytest.mark.parametrize("tool", ["cprofile", "pyinstrument", "line"])
def test_shares_add_up_to_the_whole(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heaviest, "_PACKAGES", {"tb"})
    found = profiled(tool, mostly_hot)
    assert sum(spot.share for spot in found.spots) == pytest.approx(1)
    shares = [spot.share for spot in found.spots]
    assert shares == sorted(shares, reverse=True)


def test_lines_are_those_of_the_function_that_takes_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heaviest, "_PACKAGES", {"tb"})
    found = profiled("line", mostly_hot)
    lines = {spot.where.partition(": ")[2]: spot for spot in found.spots}
    assert lines["total += number  # the line that takes most"].calls == 400_000
    assert lines["total += number  # the line that takes most"].share > 0.3
    assert found.of == "the time of hot"


def test_calls_are_counted() -> None:
    found = profilers.profile("cprofile", lambda: [cold() for _ in range(17)])
    (spot,) = [spot for spot in found.spots if spot.where.startswith("cold (")]
    assert spot.calls == 17


def test_operations_of_pytorch_are_named_and_counted() -> None:
    pytest.importorskip("torch")
    found = profilers.profile("torch", operations)
    named = {spot.where: spot for spot in found.spots}
    assert named["aten::mm"].calls == named["aten::clamp"].calls == 20
    assert "Python, between the operations" in named
    assert all(0 <= spot.share <= 1 for spot in found.spots)


def event(key: str, device: str, own: float, on_gpu: float, annotation: bool = False) -> Any:
    """Return an entry like those from `key_averages`, with times in microseconds."""
    from torch.autograd.profiler_util import FunctionEventAvg

    made: Any = FunctionEventAvg()
    made.key, made.count, made.is_user_annotation = key, 2, annotation
    made.device_type = getattr(type(made.device_type), device)
    made.self_cpu_time_total, made.self_device_time_total = own, on_gpu
    return made


def test_a_kernel_on_the_gpu_counts_once() -> None:
    pytest.importorskip("torch")
    spots = profilers._operations(
        [
            event("aten::mm", "CPU", 100_000, 600_000),  # the time of the kernel that it starts
            event("my block", "CPU", 50_000, 0, annotation=True),
            event("cudaDeviceSynchronize", "CPU", 250_000, 0),
            event("gemm", "CUDA", 0, 600_000),
            event("my block", "CUDA", 0, 700_000, annotation=True),
        ],
        1.0,
    )
    assert [(spot.where, spot.calls) for spot in spots] == [
        ("gemm (on the GPU)", 2),
        ("Python, between the operations", None),
        ("cudaDeviceSynchronize", 2),
        ("aten::mm", 2),
        ("my block", 2),
    ]
    assert [spot.share for spot in spots] == pytest.approx([0.6, 0.6, 0.25, 0.1, 0.05])


def run(*words: str | Path) -> Result:
    return invoke("profile", *words)


def test_without_a_backend_all_are_listed() -> None:
    pytest.importorskip("torch")
    result = run()
    assert result.exit_code == 0, result.output
    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert {"reference", "dictionary", "numpy", "numba", "model", "sim", "torch"} <= set(names)
    assert len(names) == len(set(names))


BACKENDS = [
    ("dictionary", "cprofile", r"takes \d+% of the time\."),
    ("reference", "line", r"reference\.py:\d+: .* takes \d+% of the time of learn\."),
    ("numba", "cprofile", r"takes \d+% of the time\."),
    ("model", "pyinstrument", r"takes \d+% of the time\."),
    ("torch", "torch", r"takes \d+% of the time\."),
    ("torch-plain", "line", r"torch_plain\.py:\d+: .* takes \d+% of the time of learn\."),
    ("torch", "pyinstrument", r"takes \d+% of the time\."),
]


GRID_WORLD = ("dictionary", "reference", "numpy", "numba", "c", "torch-batched", "model", "sim")


@pytest.mark.slow
@pytest.mark.parametrize("name", GRID_WORLD)
def test_every_form_of_the_grid_world_has_a_line_that_takes_most(name: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("line_profiler")
    form = systems.find(name)
    form.run(form.least)  # builds and compiles
    found = profilers.profile("line", lambda: form.run(form.least))
    assert re.match(r"\w+\.py:\d+: \S", found.spots[0].where)
    assert 0 < found.spots[0].share <= 1
    assert found.spots[0].calls


def test_those_are_all_forms_of_the_grid_world() -> None:
    pytest.importorskip("torch")
    assert tuple(form.name for form in systems.load("gridworld").forms) == GRID_WORLD


def call_made_inside() -> None:
    def count() -> int:
        return sum(1 for _ in range(50_000))

    count()  # the line that calls it


def test_an_inner_function_belongs_to_its_calling_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heaviest, "_PACKAGES", {"tb"})
    found = profiled("line", call_made_inside)
    assert found.spots[0].where.endswith(": count()  # the line that calls it")


def test_the_function_inside_a_decorator_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = hot
    monkeypatch.setattr(heaviest, "_PACKAGES", {"tb"})
    monkeypatch.setattr(sys.modules[__name__], "hot", wrapped(plain))
    assert profiled("line", hot).of == "the time of hot"


def wrapped(function: Callable[[], int]) -> Callable[[], int]:
    @functools.wraps(function)
    def around() -> int:
        return function()

    return around


@pytest.mark.parametrize(("backend", "tool", "sentence"), BACKENDS)
def test_backends_run_under_tools(backend: str, tool: str, sentence: str, tmp_path: Path) -> None:
    if "torch" in (backend.partition("-")[0], tool):
        pytest.importorskip("torch")
    result = run(backend, "--tool", tool, "--seconds", "0.02", "--top", "3", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    *table, said, file = result.stdout.rstrip().splitlines()
    assert "share" in "".join(table)
    assert re.fullmatch(rf"{backend}: Hot spot: .*{sentence}", said)
    assert file == str(next(tmp_path.iterdir()))
    assert Path(file).stat().st_size > 100


def test_files_are_what_their_names_say(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("pyinstrument")
    for tool in ("cprofile", "torch", "pyinstrument"):
        words = ("torch", "--tool", tool, "--seconds", "0.02", "--out", tmp_path)
        assert run(*words).exit_code == 0
    assert pstats.Stats(str(tmp_path / "torch-cprofile.prof")).get_stats_profile().func_profiles
    trace = json.loads((tmp_path / "torch-torch.trace.json").read_text(encoding="utf-8"))
    assert any(event.get("name") == "aten::index_select" for event in trace["traceEvents"])
    page = (tmp_path / "torch-pyinstrument.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert not re.search(r'<(script|link)[^>]+(src|href)="http', page)


def test_json_lists_every_place(tmp_path: Path) -> None:
    said = told("profile dictionary --seconds 0.02 --top 1 --out", tmp_path)
    assert (said["backend"], said["tool"]) == ("dictionary", "cprofile")
    assert said["sentence"].startswith("Hot spot: ")
    assert len(said["spots"]) > 5
    assert said["machine"] == machine()
    assert said["versions"] == versions()
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", said["date"])
    assert sum(spot["share"] for spot in said["spots"]) == pytest.approx(1)


def once() -> Callable[[], object]:
    """Return work that runs the hot function only the first time."""
    first = iter([hot])
    return lambda: next(first, int)()


NO_OPERATION = "no operation of PyTorch ran; use another tool"


@pytest.mark.parametrize(
    ("call", "needs", "text"),
    [
        (lambda: profilers.profile("torch", cold), "torch", NO_OPERATION),
        # CUDA's own activities are not PyTorch operations.
        (lambda: profilers._operations([event("cudaDeviceSynchronize", "CPU", 9, 0)], 1.0), "torch",
         NO_OPERATION),
        (lambda: profilers.profile("pyinstrument", lambda: None), "pyinstrument",
         "before the first sample; give it more --seconds"),
        (lambda: profilers.profile("line", once()), "line_profiler",
         "no line of hot was seen; use another tool"),
        (lambda: profilers.profile("line", lambda: None), "line_profiler",
         "no function of QStep ran in Python; use another tool"),
    ],
)  # fmt: skip
def test_work_that_shows_a_tool_nothing_is_refused(
    call: Callable[[], object], needs: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(needs)
    if "hot" in text:
        monkeypatch.setattr(heaviest, "_PACKAGES", {"tb"})
    with pytest.raises(QStepError, match=text):
        call()


@pytest.mark.parametrize(("tool", "package"), [("line", "line_profiler"), ("pyinstrument",) * 2])
def test_an_absent_tool_is_named(tool: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ToolMissingError, match=rf"{package} is not installed; run.*\[profile\]'"):
        profilers.profile(tool, cold)


ABACUS = r"no device 'abacus' on this machine; it has .*cpu"


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("dictionary --seconds 0.02 --out .", FileFormatError,
         "dictionary-cprofile.prof: cannot be written: "),
        ("abacus", QStepError, "unknown backend 'abacus'; choose from dictionary, ref.*sim"),
        ("--torch-device abacus", TorchDeviceError, ABACUS),
        ("numba --torch-device abacus", TorchDeviceError, ABACUS),
        ("torch --torch-device abacus", TorchDeviceError, ABACUS),
        ("numba --torch-device cuda", TorchDeviceError,
         "numba does not use PyTorch; it runs on the processor, not on 'cuda'"),
        ("torch-graph --torch-device cpu", ToolMissingError,
         "torch-graph is absent: it needs NVIDIA's CUDA"),
    ],
)  # fmt: skip
def test_what_cannot_be_profiled_is_refused(
    words: str,
    error: type[QStepError],
    text: str,
    own_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    (own_folder / "dictionary-cprofile.prof").mkdir()
    if "cuda" in words:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(systems, "PROFILED", ("gridworld", "torch"))
    refused(f"profile {words}", error, text)
