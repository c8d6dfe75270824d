// SPDX-License-Identifier: Apache-2.0
// Host reads of agents and tables, sampled from slots in flight.
//
// Function    data_o is the word that the host reads: a field of a context, a word of a counter, or an entry.
// Timing      data_o is valid one clock before the access is done.
// Handshake   A token is 1 while the slot of the access is in the token's stage.
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   32 flip-flops and a multiplexer of seven words
// Reference   none

module qs_agent_read
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter  int unsigned States     = 32,              // 2..65536
    parameter  int unsigned Actions    = 4,               // 2..64
    parameter  int unsigned Width      = 16,              // 8..32
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,

    input logic [4:0] field_i,         // of a context
    input logic       entry_i,
    input logic       counter_read_i,
    input logic       begin_token_i,
    input logic       fetch_token_i,
    input logic       place_token_i,   // one clock before the place is valid
    input logic       policy_token_i,
    input logic       answer_token_i,
    input logic       value_token_i,   // one clock before next_value_i is valid

    input logic [           63:0] advance_word_i,
    input logic [EpsilonBits-1:0] request_epsilon_i,
    input logic                   drawn_i,
    input logic                   begun_i,
    input logic [  StateBits-1:0] state_i,
    input logic [ ActionBits-1:0] action_i,
    input logic                   explored_i,
    input logic [EpisodeBits-1:0] count_steps_i,
    input logic [EpisodeBits-1:0] row_count_i,
    input logic [      Width-1:0] next_value_i,
    input logic [           31:0] counter_i,

    output logic [31:0] data_o
);

  // One-hot source, constant during an access: field 0 to 4 of a context, entry, counter. Context fields and entries
  // are captured from the slot in flight, counters in every clock.
  logic [6:0] from_q;
  logic reads, upper_q, lower_q;
  counts_word_t counts;
  place_word_t place;
  logic [31:0] read;

  always_ff @(posedge clk_i) from_q <= {field_i == '0 && !entry_i, entry_i, field_i};

  assign counts = '{count: row_count_i, steps: count_steps_i};
  assign place = '{
          drawn: drawn_i,
          begun: begun_i,
          explored: explored_i,
          spare: '0,
          action: 6'(action_i),
          state: 16'(state_i)
      };

  always_comb begin
    read = advance_word_i[31:0] & {32{from_q[ContextGeneratorLow]}};
    read |= advance_word_i[63:32] & {32{from_q[ContextGeneratorHigh]}};
    read |= 32'(request_epsilon_i) & {32{from_q[ContextEpsilon]}};
    read |= counts & {32{from_q[ContextCounts]}};
    read |= place & {32{from_q[ContextPlace]}};
    read |= 32'($signed(next_value_i)) & {32{from_q[5]}};
    read |= counter_i & {32{from_q[6]}};
  end

  assign reads = (begin_token_i &&
                  (field_i[ContextGeneratorLow] || field_i[ContextGeneratorHigh])) ||
      (fetch_token_i && field_i[ContextEpsilon]) || (place_token_i && field_i[ContextPlace]) ||
      (value_token_i && entry_i) || counter_read_i;

  always_ff @(posedge clk_i) begin
    upper_q <= reads || (answer_token_i && field_i[ContextCounts]);
    lower_q <= reads || (policy_token_i && field_i[ContextCounts]);
    if (upper_q) data_o[31:16] <= read[31:16];
    if (lower_q) data_o[15:0] <= read[15:0];
  end

endmodule
