"""The cell models reject features that they do not model."""

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from tb.fpga.netlists import cells

from qstep._io import workers as processes
from qstep.errors import BuildError
from qstep_sim import verilator

pytestmark = pytest.mark.rtl

RAM = {
    "ecp5": 'DP16KD #(.GSR("DISABLED"), {}) u_cell ();',
    "gowin": "DPX9B #({}) u_cell ();",
}
NARROW_RAM = "DPB #(.BIT_WIDTH_0({}), .BIT_WIDTH_1({})) u_cell ();"
WIDE_RAM = "SDPX9B #(.BIT_WIDTH_0(36), .BIT_WIDTH_1({}), {}) u_cell ();"
READ_ONLY = "SPX9 #(.BIT_WIDTH({}), .INIT_RAM_00(288'h{})) u_cell ();"
MULTIPLIER = {"ecp5": "MULT18X18D #({}) u_cell ();", "gowin": "MULT18X18 #({}) u_cell ();"}
WIDE = ".DATA_WIDTH_A(36), .DATA_WIDTH_B(36)"
REGISTERED = (
    'MULT18X18D #(.GSR("DISABLED"), .REG_OUTPUT_CLK("{}"), .REG_OUTPUT_CE("{}")) u_cell ();'
)


def lint(family: str, cell: str, folder: Path) -> None:
    """Run Verilator's lint on a module with a single cell."""
    top = folder / "top.v"
    top.write_text(f"module top; {cell} endmodule\n", encoding="utf-8")
    command = [str(verilator.find()), "--lint-only", "-Wno-fatal", "--top-module", "top"]
    processes.run(
        [*command, str(top), *cells(family)],
        BuildError,
        folder,
        environment=verilator.environment(),
    )


@pytest.mark.parametrize(
    ("family", "cell"),
    [
        ("ecp5", RAM["ecp5"].format(".DATA_WIDTH_A(9), .DATA_WIDTH_B(9)")),
        ("ecp5", RAM["ecp5"].format(".DATA_WIDTH_A(4), .DATA_WIDTH_B(4)")),
        ("ecp5", RAM["ecp5"].format('.REGMODE_B("OUTREG")')),
        ("ecp5", RAM["ecp5"].format('.INITVAL_3F(320\'h1), .REGMODE_A("OUTREG")')),
        ("ecp5", RAM["ecp5"].format(f'{WIDE}, .REGMODE_A("OUTREG"), .REGMODE_B("OUTREG")')),
        ("ecp5", "MULT18X18D u_cell ();"),
        ("ecp5", REGISTERED.format("CLK0", "CE0")),
        ("gowin", RAM["gowin"].format(".BIT_WIDTH_0(9), .BIT_WIDTH_1(9)")),
        ("gowin", NARROW_RAM.format(1, 1)),
        ("gowin", WIDE_RAM.format(36, ".BLK_SEL_0(0)")),
        ("gowin", READ_ONLY.format(18, 1)),
        ("gowin", "MULT18X18 u_cell ();"),
    ],
)
def test_a_model_takes_what_the_netlists_hold(family: str, cell: str, tmp_path: Path) -> None:
    lint(family, cell, tmp_path)


@pytest.mark.parametrize(
    ("family", "cell", "message"),
    [
        ("ecp5", RAM["ecp5"].format('.REGMODE_A("OUTREG")'), "REGMODE_A_is_not_modelled"),
        ("ecp5", RAM["ecp5"].format('.CSDECODE_A("0b001")'), "CSDECODE_A_is_not_modelled"),
        ("ecp5", RAM["ecp5"].format('.CLKBMUX("INV")'), "CLKBMUX_is_not_modelled"),
        (
            "ecp5",
            RAM["ecp5"].format(f".INITVAL_3F(320'h1), {WIDE}"),
            "initial_contents_are_not_modelled",
        ),
        ("ecp5", RAM["ecp5"].format(".DATA_WIDTH_A(8), .DATA_WIDTH_B(8)"), "width_is_not_modelled"),
        ("ecp5", RAM["ecp5"].format(".DATA_WIDTH_A(9)"), "different_widths_are_not_modelled"),
        ("ecp5", "DP16KD u_cell ();", "GSR_is_not_modelled"),
        ("ecp5", MULTIPLIER["ecp5"].format('.REG_PIPELINE_CLK("CLK0")'), "REG_PIPELINE_CLK"),
        ("ecp5", REGISTERED.format("CLK1", "CE0"), "REG_OUTPUT_CLK_is_not_modelled"),
        ("ecp5", REGISTERED.format("CLK0", "CE1"), "enable_is_not_modelled"),
        ("ecp5", MULTIPLIER["ecp5"].format('.REG_INPUTA_CLK("CLK0")'), "REG_INPUTA_CLK"),
        ("ecp5", MULTIPLIER["ecp5"].format('.REG_INPUTB_CLK("CLK0")'), "REG_INPUTB_CLK"),
        ("ecp5", MULTIPLIER["ecp5"].format('.REG_INPUTA_RST("RST1")'), "reset_is_not_modelled"),
        ("ecp5", MULTIPLIER["ecp5"].format('.REG_OUTPUT_CLK("CLK0")'), "GSR_is_not_modelled"),
        ("gowin", RAM["gowin"].format(".READ_MODE1(1'b1)"), "READ_MODE1_is_not_modelled"),
        ("gowin", RAM["gowin"].format(".INIT_RAM_00(288'h1)"), "initial_contents_are_not_modelled"),
        ("gowin", RAM["gowin"].format(".BIT_WIDTH_1(9)"), "different_widths_are_not_modelled"),
        ("gowin", RAM["gowin"].format(".BIT_WIDTH_0(36), .BIT_WIDTH_1(36)"), "width_is_not_model"),
        ("gowin", NARROW_RAM.format(8, 8), "width_is_not_modelled"),
        ("gowin", NARROW_RAM.format(2, 4), "different_widths_are_not_modelled"),
        ("gowin", WIDE_RAM.format(36, ".READ_MODE(1'b1)"), "READ_MODE_is_not_modelled"),
        ("gowin", WIDE_RAM.format(36, ".INIT_RAM_3F(288'h1)"), "initial_contents_are_not_modelled"),
        ("gowin", WIDE_RAM.format(18, ".BLK_SEL_0(0)"), "different_widths_are_not_modelled"),
        ("gowin", "SDPX9B u_cell ();", "width_is_not_modelled"),
        ("gowin", READ_ONLY.format(9, 1), "width_is_not_modelled"),
        ("gowin", "SP #(.BIT_WIDTH(16)) u_cell ();", "Cannot find.*'SP'"),
        ("gowin", MULTIPLIER["gowin"].format(".OUT_REG(1'b1)"), "OUT_REG"),
    ],
)
def test_a_model_refuses_what_it_does_not_know(
    family: str, cell: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BuildError, match=message):
        lint(family, cell, tmp_path)


PORTS = """
module top;
  reg clk = 0, reset_a = 0, reset_b = 0, write_b = 0;
  qs_cell_block_ram u_ram (
      .clk_a(clk), .enable_a(1'b1), .write_a(1'b0), .reset_a(reset_a), .address_a(14'b0), .data_a(36'b0),
      .clk_b(clk), .enable_b(1'b1), .write_b(write_b), .reset_b(reset_b), .address_b(14'b0), .data_b()
  );
  initial begin
    USE;
    #1 clk = 1;
    #1 $finish;
  end
endmodule
"""


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("reset_a = 1", "reset of port A is not modelled"),
        ("reset_b = 1", "reset of port B is not modelled"),
        ("write_b = 1", "port B as writer is not modelled"),
    ],
)
def test_a_block_ram_that_is_used_in_another_way_ends_the_simulation(
    use: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "top.v").write_text(PORTS.replace("USE", use), encoding="utf-8")
    model = next(path for path in cells("ecp5") if path.stem == "qs_cell_block_ram")
    processes.run(
        ["iverilog", "-g2012", "-s", "top", "-o", "top.vvp", "top.v", model], BuildError, tmp_path
    )
    with pytest.raises(BuildError, match=message):
        processes.run(["vvp", "-n", "top.vvp"], BuildError, tmp_path)


CONSTANT = """
module top;
  reg clk = 0;
  wire [17:0] word;
  DP16KD #(
      .GSR("DISABLED"), .REGMODE_A("OUTREG"), .INITVAL_02(320'h2ABCD << 60)
  ) u_cell (
      .CLKA(clk), .CEA(1'b1), .WEA(WRITES), .CLKB(1'b0),
      .ADA13(1'b0), .ADA12(1'b0), .ADA11(1'b0), .ADA10(1'b0), .ADA9(1'b1), .ADA8(1'b0), .ADA7(1'b0),
      .ADA6(1'b0), .ADA5(1'b1), .ADA4(1'b1),
      .DOA17(word[17]), .DOA16(word[16]), .DOA15(word[15]), .DOA14(word[14]), .DOA13(word[13]),
      .DOA12(word[12]), .DOA11(word[11]), .DOA10(word[10]), .DOA9(word[9]), .DOA8(word[8]),
      .DOA7(word[7]), .DOA6(word[6]), .DOA5(word[5]), .DOA4(word[4]), .DOA3(word[3]), .DOA2(word[2]),
      .DOA1(word[1]), .DOA0(word[0])
  );
  always #1 clk = !clk;
  initial begin
    #2 if (word != 0) $fatal(1, "the word comes a clock early");
    #2 if (word != 18'h2ABCD) $fatal(1, "the word is %h", word);
    $finish;
  end
endmodule
"""


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
@pytest.mark.parametrize(("writes", "message"), [("1'b0", None), ("1'b1", "a write to a memory")])
def test_a_memory_with_contents_gives_a_word_after_two_clocks_and_refuses_a_write(
    writes: str, message: str | None, tmp_path: Path
) -> None:
    (tmp_path / "top.v").write_text(CONSTANT.replace("WRITES", writes), encoding="utf-8")
    models = [path for path in cells("ecp5") if path.name in ("ecp5.v", "qs_cell_block_ram.v")]
    words = ["iverilog", "-g2012", "-s", "top", "-o", "top.vvp", "top.v", *map(str, models)]
    processes.run(words, BuildError, tmp_path)
    with pytest.raises(BuildError, match=message) if message else nullcontext():
        processes.run(["vvp", "-n", "top.vvp"], BuildError, tmp_path)
