// SPDX-License-Identifier: Apache-2.0
// What the host reads of agents and tables, taken from the slots as they pass.
//
// Function    data_o is the word that access_i asks for: a field of a context, a counter's word, an entry.
// Timing      data_o is there a clock before the access is done.
// Handshake   token_i[k] is 1 when the slot of the access is in stage k.
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   about 70 flip-flops
// Reference   none

module qs_agent_read
  import qs_agents_pkg::*;
#(
    parameter  int unsigned States      = 32,              // 2..65536
    parameter  int unsigned Actions     = 4,               // 2..64
    parameter  int unsigned Width       = 16,              // 8..32
    parameter  bit          SharedTable = 0,
    parameter  int unsigned Select      = 15,              // stage of next_value_i
    localparam int unsigned StateBits   = $clog2(States),
    localparam int unsigned ActionBits  = $clog2(Actions)
) (
    input logic clk_i,

    input access_t            access_i,
    input logic    [Select:0] token_i,

    input logic   [           63:0] s2_word_i,
    input logic   [EpisodeBits-1:0] s2_count_i,
    input logic   [EpsilonBits-1:0] s5_epsilon_i,
    input flags_t                   s5_flags_i,
    input logic   [  StateBits-1:0] s5_state_i,
    input logic   [ ActionBits-1:0] s5_action_i,
    input logic                     s5_explored_i,
    input logic   [EpisodeBits-1:0] s7_steps_i,
    input logic   [      Width-1:0] next_value_i,
    input logic                     counter_done_i,
    input logic   [           15:0] counter_i,
    input logic   [           31:0] holds_i,         // of a shared table, else 0

    output logic [31:0] data_o
);

  // What passes is kept for a clock, and is 0 where it is not asked for.
  logic s2_reads, s5_reads, s3_reads_q, s6_reads_q, s7_reads_q, value_reads_q;
  logic [31:0] s3_read_q, s6_read_q, read;

  assign s2_reads = token_i[2] && (access_i.field[0] || access_i.field[1] || access_i.field[3]);
  assign s5_reads = token_i[5] && (access_i.field[2] || access_i.field[4]);

  always_ff @(posedge clk_i) begin
    s3_reads_q    <= s2_reads;
    s6_reads_q    <= s5_reads;
    s7_reads_q    <= token_i[6] && access_i.field[3];
    value_reads_q <= token_i[Select-1] && access_i.entry;
    if (access_i.field[0]) s3_read_q <= s2_word_i[31:0];
    else if (access_i.field[1]) s3_read_q <= s2_word_i[63:32];
    else s3_read_q <= {s2_count_i, 16'b0};
    if (access_i.field[2]) s6_read_q <= 32'(s5_epsilon_i);
    else
      s6_read_q <= {
        s5_flags_i.drawn, s5_flags_i.begun, s5_explored_i, 7'b0, 6'(s5_action_i), 16'(s5_state_i)
      };
    if (!s2_reads) s3_read_q <= '0;
    if (!s5_reads) s6_read_q <= '0;
  end

  always_comb begin
    read = s3_read_q | s6_read_q;
    if (s7_reads_q) read |= 32'(s7_steps_i);
    if (value_reads_q) read |= 32'($signed(next_value_i));
    if (counter_done_i) read |= SharedTable && access_i.index[8] ? holds_i : 32'(counter_i);
  end

  always_ff @(posedge clk_i) begin
    if (s3_reads_q || s6_reads_q || value_reads_q || counter_done_i) data_o[31:16] <= read[31:16];
    if (s3_reads_q || s6_reads_q || s7_reads_q || value_reads_q || counter_done_i)
      data_o[15:0] <= read[15:0];
  end

  logic unused_bits;
  assign unused_bits = ^{access_i, token_i, s5_flags_i, holds_i};

endmodule
