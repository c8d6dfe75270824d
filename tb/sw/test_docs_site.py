"""The documentation site contains the right parts of the sources, and a broken link fails its build."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tb.browser import chromium
from tools.reference import python, rtl
from tools.reference.registers import rows

from qstep import World
from qstep_rtl.bus.registers import AGENTS, LANE, registers

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCES = sorted((*ROOT.glob("rtl/**/*.sv"), *ROOT.glob("fpga/qstep_fpga/*.sv")))
BENCH = "rtl/bench/"
NO_BROWSER = not (shutil.which("chromium") and shutil.which("chromedriver"))

HEADER = """// SPDX-License-Identifier: Apache-2.0
// A thing: it
// counts.
//
// Function    Counts
//             clocks, as qs_lane does.
//
//                 a  map
//
//             And on.
// Timing      none
// Handshake   none
// Reset       none
// Hazards     none
// Invariants  none
// Resources   none
// Reference   none

module qs_thing #(
    parameter int unsigned Width = 8
) (
    input logic clk_i
);
  logic hidden;
endmodule
"""


def test_a_header_has_its_paragraphs_and_ports(tmp_path: Path) -> None:
    path = tmp_path / "qs_thing.sv"
    path.write_text(HEADER, encoding="utf-8")
    header = rtl.parsed(path)
    assert (header.name, header.summary) == ("qs_thing", "A thing: it counts.")
    assert header.entries["Function"] == [
        "Counts clocks, as qs_lane does.",
        "\n    a  map",
        "And on.",
    ]
    assert [*header.entries] == list(rtl.ENTRIES)
    assert header.declaration.splitlines()[-2:] == ["    input logic clk_i", ");"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("// Reset       none\n", "", "qs_thing.sv: the header has no Reset; write none"),
        (
            "module qs_thing",
            "bind qs_thing",
            "qs_thing.sv: no module or package of this name begins a line",
        ),
        ("// SPDX", "/* SPDX */\n// SPDX", "qs_thing.sv: no header follows the license"),
    ],
    ids=["entry", "module", "license"],
)
def test_a_header_that_lacks_something_is_refused(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    path = tmp_path / "qs_thing.sv"
    assert HEADER.count(before) == 1
    path.write_text(HEADER.replace(before, after), encoding="utf-8")
    with pytest.raises(rtl.HeaderError, match=f"^{re.escape(message)}$"):
        rtl.parsed(path)


def test_the_page_of_hardware_modules_has_every_file() -> None:
    links = re.findall(r"^\[`(.+)`\]\(\.\./", (DOCS / "rtl.md").read_text("utf-8"), re.MULTILINE)
    assert {ROOT / link for link in links} == {
        path for path in SOURCES if BENCH not in path.as_posix()
    }


def test_a_header_that_names_no_module_is_refused() -> None:
    with pytest.raises(rtl.HeaderError, match="qs_thing: the header names qs_coffee, which is no"):
        rtl._linked("As qs_lane does, and qs_coffee.", "qs_thing", {"qs_lane"})


def test_a_signature_shows_which_parameters_are_named() -> None:
    signature = python._signature("from_arrays", World.from_arrays)
    assert signature.startswith("```python\nfrom_arrays(\n    *,\n    state: ArrayLike,\n")
    assert python._signature("f", lambda x, *, y: 0) == "```python\nf(x, *, y)\n```\n\n"


def test_a_docstring_becomes_markdown() -> None:
    doc = """Return ``x``.

By :func:`~qstep.open`::

    a  map

Parameters
----------
x : int
    From 1 on,
    up to 3.

Examples
--------
>>> 1 + 1
2
"""
    assert python._prose(doc) == (
        "Return `x`.\n\nBy `qstep.open`:\n\n```text\na  map\n```\n\n"
        "**Parameters**\n\n- `x`: `int`  \n  From 1 on,\n  up to 3.\n\n\n"
        "**Examples**\n\n```python\n>>> 1 + 1\n2\n```\n\n"
    )


@pytest.mark.parametrize("block", [LANE, AGENTS])
def test_the_table_of_registers_is_the_map_of_the_bench(block: str) -> None:
    found: dict[str, tuple[int, dict[str, tuple[int, int]]]] = {}
    for address, name, bits, _, _, _ in rows(block):
        if address:
            fields: dict[str, tuple[int, int]] = {}
            found[name] = int(address, 16), fields
        else:
            high, low = int(bits.split(":")[0]), int(bits.split(":")[-1])
            fields[name.removeprefix(".")] = low, high - low + 1
    assert found == {name: (each.address, each.fields) for name, each in registers(block).items()}


@pytest.mark.slow
def test_whatever_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# Book"},
            {
                "cell_type": "code",
                "execution_count": None,
                "id": "b",
                "metadata": {},
                "outputs": [],
                "source": "raise KeyError('coffee')",
            },
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "docs").mkdir()
    for name, text in {
        "docs/index.md": "# Site\n\n```{toctree}\nbook\nfaults\n```\n",
        "docs/faults.md": "# Faults\n\n[a](coffee.md) [b](#coffee) [c](index.md#coffee)\n\n"
        "```{eval-rst}\n:func:`qstep.coffee`\n```\n",
        "docs/orphan.md": "# Orphan\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "docs/book.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    build = [sys.executable, "-m", "sphinx", "-E", "-W", "--keep-going", "-q", "-c", str(DOCS)]
    answer = subprocess.run(
        [*build, str(tmp_path), str(tmp_path / "site")], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 1
    said = re.sub(r"\x1b\[[0-9;]*m", "", answer.stderr)
    for complaint in (
        "target not found: 'coffee.md'",
        "target not found: 'coffee'",
        "local id not found in doc 'docs/index': 'coffee'",
        "py:func reference target not found: qstep.coffee",
        "orphan.md: WARNING: document isn't included in any toctree",
        "book.ipynb: WARNING: Executing notebook failed",
        "KeyError: 'coffee'",
    ):
        assert complaint in said


@pytest.mark.slow
@pytest.mark.skipif(NO_BROWSER, reason="Chromium with its driver is not installed")
def test_the_site_never_scrolls_sideways(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = f"# Site\n\n## Output\n\n```text\n{'x' * 150}\n```\n\n## More\n"
    (tmp_path / "docs/index.md").write_text(page, encoding="utf-8")
    build = [sys.executable, "-m", "sphinx", "-E", "-W", "-q", "-c", str(DOCS)]
    subprocess.run([*build, str(tmp_path), str(tmp_path / "site")], check=True)
    too_wide = {}
    with chromium() as browser:
        browser.get((tmp_path / "site/docs/index.html").as_uri())
        for width in (600, 800, 1020, 1100, 1366, 1440, 1920):
            browser.set_window_size(width, 900)
            needed = browser.execute_script("return document.documentElement.scrollWidth")
            if needed > width:
                too_wide[width] = needed
    assert too_wide == {}


def test_the_notebook_keeps_no_outputs_that_could_go_stale() -> None:
    cells = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["outputs"] for cell in code] == [[]] * len(code)
    assert {cell["execution_count"] for cell in code} == {None}
