// SPDX-License-Identifier: Apache-2.0
// Testbench of qstep_learner, in plain Verilog-2005: applies the accesses of qstep_learner_accesses.mem one by one, and
// compares each answer with that of QStep's model.
//
//   iverilog -g2005 -o bench qstep_learner_bench.v qstep_learner_flat.v && vvp -n bench     (generate with --flat)

module qstep_learner_bench;

  `include "qstep_learner_config.vh"

  // Clocks from an insert until its update has reached the weights. A system need not wait for it.
  localparam SETTLED = 40;
  localparam MOST_CLOCKS = 10_000_000;

  reg clk_i, rst_i;
  reg [6*WIDTH-1:0] rewards_i;
  reg set_i;

  reg choose_valid_i;
  wire choose_ready_o;
  reg [WORDS_BITS-1:0] choose_words_i;
  reg choose_explore_i;
  reg [ACTION_BITS-1:0] choose_action_i;

  wire answer_valid_o;
  reg answer_ready_i;
  wire [ACTION_BITS-1:0] answer_action_o;
  wire signed [VALUE_BITS-1:0] answer_value_o;
  wire answer_explored_o;
  wire [ROWS_BITS-1:0] answer_rows_o;

  reg demand_valid_i, fill_valid_i, insert_valid_i;
  wire demand_ready_o, fill_ready_o, insert_ready_o;
  reg [KEY_BITS-1:0] demand_key_i, fill_key_i, insert_key_i;
  reg [ROWS_BITS-1:0] insert_rows_i;
  reg [ACTION_BITS-1:0] insert_action_i;
  reg insert_rewarded_i;
  reg [WIDTH-1:0] insert_reward_i;

  wire [31:0] unknown_o, queue_holds_o, holds_o;

  qstep_learner u_learner (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .rewards_i(rewards_i),
      .set_i(set_i),
      .choose_valid_i(choose_valid_i),
      .choose_ready_o(choose_ready_o),
      .choose_words_i(choose_words_i),
      .choose_explore_i(choose_explore_i),
      .choose_action_i(choose_action_i),
      .answer_valid_o(answer_valid_o),
      .answer_ready_i(answer_ready_i),
      .answer_action_o(answer_action_o),
      .answer_value_o(answer_value_o),
      .answer_explored_o(answer_explored_o),
      .answer_rows_o(answer_rows_o),
      .demand_valid_i(demand_valid_i),
      .demand_ready_o(demand_ready_o),
      .demand_key_i(demand_key_i),
      .fill_valid_i(fill_valid_i),
      .fill_ready_o(fill_ready_o),
      .fill_key_i(fill_key_i),
      .insert_valid_i(insert_valid_i),
      .insert_ready_o(insert_ready_o),
      .insert_key_i(insert_key_i),
      .insert_rows_i(insert_rows_i),
      .insert_action_i(insert_action_i),
      .insert_rewarded_i(insert_rewarded_i),
      .insert_reward_i(insert_reward_i),
      .unknown_o(unknown_o),
      .queue_holds_o(queue_holds_o),
      .holds_o(holds_o)
  );

  initial begin
    clk_i = 1'b0;
    forever #5 clk_i = !clk_i;
  end

  initial begin
    repeat (MOST_CLOCKS) @(posedge clk_i);
    $display("FAIL: the learner hangs");
    $stop;
  end

  reg [ACCESS_BITS-1:0] accesses[0:ACCESSES-1];
  integer access;
  integer failures = 0;

  // Fields of an access that are not inputs of the learner.
  reg fills;
  reg [ACTION_BITS-1:0] action;
  reg signed [VALUE_BITS-1:0] value;
  reg explored;
  reg [ROWS_BITS-1:0] rows;

  initial begin
    $readmemh("qstep_learner_accesses.mem", accesses);
    rewards_i = REWARDS;
    {choose_valid_i, demand_valid_i, fill_valid_i, insert_valid_i, answer_ready_i} = 5'b0;
    rst_i = 1'b1;
    repeat (4) @(negedge clk_i);
    rst_i = 1'b0;
    // Inputs change at the falling edge, so that there is no race in any simulator.
    for (access = 0; access < ACCESSES; access = access + 1) begin
      {set_i, demand_key_i, fills, fill_key_i, choose_words_i, choose_explore_i, choose_action_i, insert_key_i,
       insert_rewarded_i, insert_reward_i, action, value, explored, rows} = accesses[access];

      demand_valid_i = 1'b1;
      @(posedge clk_i);
      while (!demand_ready_o) @(posedge clk_i);
      @(negedge clk_i) demand_valid_i = 1'b0;

      if (fills) begin
        fill_valid_i = 1'b1;
        @(posedge clk_i);
        while (!fill_ready_o) @(posedge clk_i);
        @(negedge clk_i) fill_valid_i = 1'b0;
      end

      choose_valid_i = 1'b1;
      @(posedge clk_i);
      while (!choose_ready_o) @(posedge clk_i);
      @(negedge clk_i) choose_valid_i = 1'b0;
      while (!answer_valid_o) @(negedge clk_i);
      if (answer_action_o !== action || answer_value_o !== value || answer_explored_o !== explored
          || answer_rows_o !== rows) begin
        $display("FAIL: access %0d: action %0d, value %0d, explored %0d; expected %0d, %0d, %0d", access,
                 answer_action_o, answer_value_o, answer_explored_o, action, value, explored);
        failures = failures + 1;
      end
      insert_rows_i = answer_rows_o;
      insert_action_i = answer_action_o;
      answer_ready_i = 1'b1;
      @(negedge clk_i) answer_ready_i = 1'b0;

      insert_valid_i = 1'b1;
      @(posedge clk_i);
      while (!insert_ready_o) @(posedge clk_i);
      @(negedge clk_i) insert_valid_i = 1'b0;
      if (access >= ACCESSES - UPDATES) repeat (SETTLED) @(negedge clk_i);
    end
    if (unknown_o !== UNKNOWN) begin
      $display("FAIL: %0d events found no entry, not %0d", unknown_o, UNKNOWN);
      failures = failures + 1;
    end
    if (failures != 0) $stop;
    $display("PASS: %0d choices and %0d updates", ACCESSES, UPDATES);
    $finish;
  end

endmodule
