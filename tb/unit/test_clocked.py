"""The generated registers as clocked processes."""

import re

import pytest
from tb.generated import generated

from qstep import Config
from qstep_sim.clocked import clocked

pytestmark = pytest.mark.unit

GENERATED = r"""module m(clk, rst);
  reg [3:0] \$1 ;
  reg [3:0] count = 4'h0;
  always @(posedge clk)
    count <= \$1 ;
  always @* begin
    if (\dummy ) begin end
    \$1  = count;
    if (go) begin
      \$1 [1:0] = 2'h1;
      (* full_case = 32'd1 *)
      casez (kind)
        1'h1:
            \$1  = count;
      endcase
    end
    if (rst) begin
      \$1  = 4'h0;
    end
  end
endmodule
"""

CLOCKED = r"""module m(clk, rst);
  reg [3:0] count = 4'h0;
  always @(posedge clk) begin
    if (go) begin
      count[1:0] <= 2'h1;
      (* full_case = 32'd1 *)
      casez (kind)
        1'h1:
            count <= count;
      endcase
    end
    if (rst) begin
      count <= 4'h0;
    end
  end
endmodule
"""


def test_register_becomes_one_clocked_process() -> None:
    assert clocked(GENERATED) == CLOCKED


def test_next_value_that_is_used_elsewhere_is_kept() -> None:
    text = GENERATED.replace("endmodule", "  assign peek = \\$1 ;\nendmodule")
    assert clocked(text) == text


def split_registers(text: str) -> set[str]:
    """Return next values that are computed in one process and stored in another."""
    found = set()
    for module in text.split("endmodule\n"):
        stored = re.findall(r"^    \S+ +<= (\\\$\d+) ;$", module, re.MULTILINE)
        computed = re.findall(r"^  always @\* begin\n.*\n    (\\\$\d+)  = ", module, re.MULTILINE)
        found |= set(stored) & set(computed)
    return found


def test_no_register_of_the_device_is_left_in_two_processes() -> None:
    assert split_registers(GENERATED) == {r"\$1"}
    for text in generated(Config(states=64, actions=4)).values():
        assert len(split_registers(text)) > 20
        assert not split_registers(clocked(text))
