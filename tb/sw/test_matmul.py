"""`qstep matmul` counts correctly, checks the product, and reports absent devices."""

import re
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from tb.sw.command_line import invoke, ran, refused, told

torch = pytest.importorskip("torch")

from qstep.deep import torch_device  # noqa: E402
from qstep.errors import FileFormatError, ToolMissingError  # noqa: E402
from qstep_bench import matmul, measure  # noqa: E402
from qstep_bench.checks import WrongTableError  # noqa: E402
from qstep_bench.cli.matmul import command  # noqa: E402
from qstep_bench.matmul import MatmulReport, Row  # noqa: E402
from qstep_bench.measure import Spread, Turn  # noqa: E402


@pytest.fixture
def processor_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_device, "present", lambda: ["cpu"])


@pytest.fixture
def report(processor_only: None) -> MatmulReport:
    return matmul.compare([8, 16], rounds=2, seconds=1e-4)


def two_devices(report: MatmulReport) -> MatmulReport:
    """Return the same report with a second device that is ten times as fast."""
    faster = [
        Row("cuda", row.size, Spread(10 * row.gflops.median, 1.0, 1e6), row.rates)
        for row in report.rows
    ]
    devices = {**report.devices, "cuda": "a GPU"}
    return replace(report, devices=devices, rows=(*report.rows, *faster), absent=())


def test_an_addition_and_a_multiplication_are_counted_for_each_term(
    monkeypatch: pytest.MonkeyPatch, processor_only: None
) -> None:
    # 4 products of 10 x 10 in 2 s, then in 4 s.
    turns = iter([Turn(4, 2.0, 1.0, {}), Turn(4, 4.0, 1.0, {})])
    monkeypatch.setattr(measure, "_turn", lambda form, amount: next(turns))
    monkeypatch.setattr(measure, "calibrate", lambda form, seconds: form.run(4))
    (row,) = matmul.compare([10], rounds=2).rows
    assert row.rates == (4 * 2000 / 2.0 / 1e9, 4 * 2000 / 4.0 / 1e9)
    assert row.gflops.maximum == row.rates[0]


def test_every_size_is_measured_in_every_round(report: MatmulReport) -> None:
    assert [(row.device, row.size, len(row.rates)) for row in report.rows] == [
        ("cpu", 8, 2),
        ("cpu", 16, 2),
    ]
    assert all(rate > 0 for row in report.rows for rate in row.rates)


def test_a_wrong_product_is_noticed() -> None:
    expected = torch.ones(100, dtype=torch.float64)
    assert matmul._checked(torch.ones(100), expected, "cuda") == "off by 0"
    with pytest.raises(
        WrongTableError, match=r"cuda multiplies wrongly: the error is 0\.1; at most"
    ):
        matmul._checked(torch.full((100,), 1.1), expected, "cuda")
    with pytest.raises(WrongTableError, match="the error is nan"):
        matmul._checked(torch.full((100,), torch.nan), expected, "cuda")


def test_absent_devices_are_named_and_left_out(report: MatmulReport) -> None:
    reasons = {entry.name: entry.reason for entry in report.absent}
    assert reasons == {
        "cuda": "PyTorch finds no NVIDIA GPU on this machine",
        "mps": "PyTorch finds no Apple GPU on this machine",
    }


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_gpu_is_measured_beside_the_processor(device: str) -> None:
    if device not in torch_device.present():
        pytest.skip(f"no {device} device on this machine")
    found = matmul.compare([64, 512], rounds=2, seconds=0.01)
    assert {(row.device, row.size) for row in found.rows} >= {(device, 64), ("cpu", 512)}


def test_the_command_prints_rates_and_omissions(processor_only: None, tmp_path: Path) -> None:
    result = ran("matmul --sizes 16,8 --rounds 1 --plot", tmp_path / "new" / "a.png")
    assert re.search(r"^ +8 +\d", result.stdout, re.MULTILINE)
    assert "cuda: left out, PyTorch finds no NVIDIA GPU on this machine" in result.stdout
    assert (tmp_path / "new" / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("--plot a.foo", FileFormatError,
         "'.foo' is not a picture format; use .png, .svg, .pdf, .jpg"),
        ("--plot .", FileFormatError, "cannot be written: it is a folder"),
        ("--sizes 8,x", SystemExit, "'8,x' is not a list of integers"),
        ("--sizes 0", SystemExit, "0 is not a legal size; sizes go from 1 to 16384"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("own_folder")
def test_what_cannot_be_multiplied_or_drawn_is_refused(
    words: str, error: type[BaseException], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matmul, "compare", lambda *given, **options: pytest.fail("it measured"))
    refused(f"matmul {words}", error, text)


def test_json_has_machine_versions_and_every_round(processor_only: None) -> None:
    report = told("matmul --sizes 8 --rounds 3")
    assert [len(row["rates"]) for row in report["rows"]] == [3]
    assert report["versions"]["torch"] == version("torch")
    assert report["machine"]["cores"] >= 1


def test_two_devices_have_a_ratio(report: MatmulReport, monkeypatch: pytest.MonkeyPatch) -> None:
    both = two_devices(report)
    monkeypatch.setattr(matmul, "compare", lambda *given, **options: both)
    text = invoke("matmul --sizes 8").stdout
    assert "cuda to cpu" in text
    assert len(re.findall(r" 10\.0 *$", text, re.MULTILINE)) == 2
    (axes,) = matmul.draw(both).axes
    assert [line.get_label() for line in axes.lines] == [
        f"cpu: {report.devices['cpu']}",
        "cuda: a GPU",
    ]


def test_without_pytorch_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "qstep_bench.matmul")
    with pytest.raises(ToolMissingError, match=r"torch is not installed; run.*\[torch\]'"):
        command.main([], standalone_mode=False)
