// SPDX-License-Identifier: Apache-2.0
// Host reads of agents and tables, taken from the slots as they pass.
//
// Function    data_o is the word that access_i requests: a field of a context, a word of a counter, or an entry.
// Timing      data_o is valid one clock before the access is done.
// Handshake   token_i[k] is 1 when the slot of the access is in stage k.
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   32 flip-flops and a multiplexer of seven words
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

    input logic   [           63:0] advance_word_i,
    input logic   [EpsilonBits-1:0] request_epsilon_i,
    input flags_t                   request_flags_i,
    input logic   [  StateBits-1:0] request_state_i,
    input logic   [ ActionBits-1:0] request_action_i,
    input logic                     request_explored_i,
    input logic   [EpisodeBits-1:0] count_steps_i,
    input logic   [EpisodeBits-1:0] row_count_i,
    input logic   [      Width-1:0] next_value_i,
    input logic   [           15:0] counter_i,
    input logic   [           31:0] holds_i,             // of a shared table, else 0

    output logic [31:0] data_o
);

  // The source is constant during an access, one bit each: field 0 to 4 of a context, entry, counter. Data is
  // captured when the slot passes, counters in every clock.
  logic [6:0] from_q;
  logic reads, upper_q, lower_q;
  logic [31:0] place, counter, read;

  always_ff @(posedge clk_i)
    from_q <= {
      access_i.field == '0 && !access_i.entry, access_i.entry, access_i.field
    };

  assign place = {
    request_flags_i.drawn,
    request_flags_i.begun,
    request_explored_i,
    7'b0,
    6'(request_action_i),
    16'(request_state_i)
  };
  assign counter = SharedTable && access_i.index[8] ? holds_i : 32'(counter_i);

  always_comb begin
    read = advance_word_i[31:0] & {32{from_q[0]}};
    read |= advance_word_i[63:32] & {32{from_q[1]}};
    read |= 32'(request_epsilon_i) & {32{from_q[2]}};
    read |= {row_count_i, count_steps_i} & {32{from_q[3]}};
    read |= place & {32{from_q[4]}};
    read |= 32'($signed(next_value_i)) & {32{from_q[5]}};
    read |= counter & {32{from_q[6]}};
  end

  assign reads = (token_i[BeginStage] && (access_i.field[0] || access_i.field[1])) ||
      (token_i[FetchStage] && (access_i.field[2] || access_i.field[4])) ||
      (token_i[Select-1] && access_i.entry) || access_i.counter_read;

  always_ff @(posedge clk_i) begin
    upper_q <= reads || (token_i[AnswerStage] && access_i.field[3]);
    lower_q <= reads || (token_i[PolicyStage] && access_i.field[3]);
    if (upper_q) data_o[31:16] <= read[31:16];
    if (lower_q) data_o[15:0] <= read[15:0];
  end

  logic unused_bits;
  assign unused_bits = ^{access_i, token_i, request_flags_i, holds_i};

endmodule
