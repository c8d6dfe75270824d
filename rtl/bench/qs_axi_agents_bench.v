// SPDX-License-Identifier: Apache-2.0
// Testbench for the agents on AXI, in plain Verilog-2005: writes all settings, runs one step of each agent, and checks
// its entry and counters.
//
//   iverilog -g2005 -o bench qstep_axi_bench.v qstep_axi_flat.v && vvp -n bench     (generate with --flat)

module qstep_axi_bench;

  `include "qstep_axi_config.vh"
  `include "qstep_axi_signals.vh"
  `include "qstep_axi_instance.vh"
  `include "qs_axi_bench.vh"

  localparam EPSILON_ONE = 1 << 24;  // every action is drawn

  integer agent, word, state, action, slot, table_number, plane, number;
  reg [8*RECORD_BYTES-1:0] answer;
  reg [5:0] taken[0:AGENTS-1];

  task select(input [2:0] region, input [29:0] index);
    begin
      write(REG_WORD_REGION, {29'b0, region});
      write(REG_WORD_INDEX, {2'b0, index});
    end
  endtask

  // If the agents see tiles, the lowest observation maps to row 0 of each plane.
  task observe;
    for (number = 0; number < NUMBERS; number = number + 1)
      answer[128+32*number+:32] = 32'h8000_0000;
  endtask

  initial begin
    start;
    read(REG_STATUS);
    while (found != 0) read(REG_STATUS);

    // Memories are undefined after power-up: write them all.
    for (agent = 0; agent < AGENTS; agent = agent + 1) begin
      select(SETTINGS, agent << SETTINGS_AGENT_BIT);
      write(REG_WORD, KAPPA << 16 | ALPHA);
      write(REG_WORD, EPSILON_ONE);  // the end of epsilon's schedule
      write(REG_WORD, 0);
      write(REG_WORD, 0);
      select(CONTEXT, agent << CONTEXT_AGENT_BIT);
      write(REG_WORD, agent + 1);  // the generator's word, any but 0
      write(REG_WORD, 0);
      write(REG_WORD, EPSILON_ONE);
      write(REG_WORD, 0);
      write(REG_WORD, 0);  // the agent has not begun an episode
      select(COUNTERS, agent << COUNTERS_AGENT_BIT);
      for (word = 0; word < 1 << COUNTERS_AGENT_BIT; word = word + 1) write(REG_WORD, 0);
      for (table_number = 0; table_number < TABLES; table_number = table_number + 1)
        for (state = 0; state < STATES; state = state + 1) begin
          select(TABLE, table_number << TABLE_TABLE_NUMBER_BIT | agent << TABLE_AGENT_BIT |
                 state << TABLE_STATE_BIT);
          for (action = 0; action < ACTIONS; action = action + 1) write(REG_WORD, 0);
        end
    end
    select(SETTINGS, LIMIT_WORD);  // no step limit
    write(REG_WORD, 0);
    // A world in which every action leads to state 0 without a reward, if the world is a table.
    for (state = 0; OUTCOMES != 0 && state < STATES; state = state + 1)
      for (action = 0; action < ACTIONS; action = action + 1)
        for (slot = 0; slot < OUTCOMES; slot = slot + 1) begin
          select(WORLD, state << WORLD_STATE_BIT | action << WORLD_ACTION_BIT |
                 slot << WORLD_SLOT_BIT);
          for (word = 0; word < 1 << WORLD_SLOT_BIT; word = word + 1) write(REG_WORD, 0);
        end
    for (slot = 0; OUTCOMES != 0 && slot < START_SLOTS; slot = slot + 1) begin
      select(STARTS, slot << STARTS_START_BIT);
      for (word = 0; word < 1 << STARTS_START_BIT; word = word + 1) write(REG_WORD, 0);
    end

    // Episodes start in row 0 of the first plane, row 1 of the second, row 0 of the third, and so on. If the world
    // sends observations, they start at the first one.
    for (plane = 0; NUMBERS == 0 && plane < PLANES; plane = plane + 1)
      write(REG_START_STATE, plane << 16 | plane & 1);
    if (NUMBERS != 0) begin
      answer = 0;
      answer[113] = 1;  // not an answer, but the observation at which agents begin
      observe;
      send(answer);
    end
    write(REG_STEPS, 1);
    write(REG_STEPS_HIGH, 0);
    write(REG_CONTROL, 1);  // run
    // If the world is connected to the streams, each action earns a reward and leads to row 1 of each plane, or back to
    // the first observation.
    for (agent = 0; AT_PINS && agent < AGENTS; agent = agent + 1) begin
      receive;
      found = received[63:32];
      check("state", received[31:0], 0);
      answer = {32'd0, REWARD, NUMBERS == 0 ? 32'd1 : 32'd0, received[31:0]};
      observe;
      for (plane = 1; NUMBERS == 0 && plane < PLANES; plane = plane + 1) begin
        found = received[112+16*plane+:16];
        check("row of plane", plane, plane & 1);
        answer[112+16*plane+:16] = 1;
      end
      taken[received[3:0]] = received[69:64];
      send(answer);
    end
    read(REG_STATUS);
    while (found[0]) read(REG_STATUS);
    check("status", 0, 0);

    for (agent = 0; agent < AGENTS; agent = agent + 1) begin
      select(COUNTERS, agent << COUNTERS_AGENT_BIT);
      read(REG_WORD);
      check("steps of agent", agent, 1);
      // Alpha is 1/2 and the table was 0. With two tables, one of them has been updated.
      for (plane = 0; AT_PINS && !SHARED && plane < PLANES; plane = plane + 1) begin
        select(TABLE, plane << TABLE_TABLE_NUMBER_BIT | agent << TABLE_AGENT_BIT |
               (NUMBERS == 0 ? plane & 1 : 0) << TABLE_STATE_BIT | taken[agent]);
        read(REG_WORD);
        if (TABLES > PLANES && found == 0) begin
          select(TABLE, 1 << TABLE_TABLE_NUMBER_BIT | agent << TABLE_AGENT_BIT | taken[agent]);
          read(REG_WORD);
        end
        check("entry of agent", agent, RESULT);
      end
    end
    read(REG_ERRORS);
    check("errors", 0, 0);
    finish;
  end

endmodule
