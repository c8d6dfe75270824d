// SPDX-License-Identifier: Apache-2.0
// The crossing between the link's and the lanes' clocks transfers each command once, whatever the clocks are.
//
// Function    The clocks tick at arbitrary times, possibly together, so a bit that changes while it is sampled is
//             read with either its old or its new value. Each command of the host reaches the agents exactly once,
//             with its data, and the agents receive no other commands. An access is done only after the agents have
//             completed it, and returns the word that they read. Busy is 1 from a run until the agents have finished
//             it. Data that the other clock may sample is stable. After a reset of the link, no command is sent
//             before the lanes have been reset, and no earlier command reaches lanes that have been reset.
// Assumed     An access is held until it is done, and a run starts only when nothing else is in progress
//             (AgentsSignature). The agents complete only requested accesses.

module crossing_proof (
    input logic clk,
    input logic sync_ticks,
    input logic lanes_ticks,
    input logic rst,

    input logic host__access,
    input logic [73:0] place_i,
    input logic host__run,
    input logic [47:0] host__steps,
    input logic host__stop,

    input logic agents__done,
    input logic [31:0] agents__read,
    input logic agents__busy,
    input logic agents__silent,
    input logic [3:0] agents__silent_agent
);

  localparam logic [1:0] ACCESS = 2'd0, RUN = 2'd1, STOP = 2'd2;

  // The fields of `place`: word, index, region, write, lane
  logic host__done, host__busy, host__silent, reset, agents__access, agents__run, agents__stop;
  logic [31:0] host__read;
  logic [ 3:0] host__silent_agent;
  logic [73:0] place;
  logic [47:0] agents__steps;
  crossing u_top (
      .host__lane(place_i[7:0]),
      .host__write(place_i[8]),
      .host__region(place_i[11:9]),
      .host__index(place_i[41:12]),
      .host__word(place_i[73:42]),
      .agents__lane(place[7:0]),
      .agents__write(place[8]),
      .agents__region(place[11:9]),
      .agents__index(place[41:12]),
      .agents__word(place[73:42]),
      .*
  );

  `define CHAIN(name) \
  u_top.crossing.``name``_chain.stage3, u_top.crossing.``name``_chain.stage2, \
  u_top.crossing.``name``_chain.stage1, u_top.crossing.``name``_chain.stage0

  // --- The registers ------------------------------------------------------------------------------------
  logic asked, taken, ended, resetting, is_reset, waits, stops, begun, running;
  logic [ 1:0] kind;
  logic [73:0] order;
  logic [4:0]
      asks, tells, ends, falls, rises;  // a bit, then its chain; index 4 is the chain's last bit
  assign asked = u_top.crossing.asked;
  assign taken = u_top.crossing.taken;
  assign ended = u_top.crossing.ended;
  assign resetting = u_top.crossing.resetting;
  assign is_reset = u_top.crossing.is_reset;
  assign waits = u_top.crossing.waits;
  assign stops = u_top.crossing.stops;
  assign begun = u_top.crossing.begun;
  assign running = u_top.crossing.running;
  assign {order, kind} = u_top.crossing.order;
  assign asks = {`CHAIN(asked), asked};
  assign tells = {`CHAIN(taken), taken};
  assign ends = {`CHAIN(ended), ended};
  assign falls = {`CHAIN(resetting), resetting};
  assign rises = {`CHAIN(reset), reset};

  // --- The command in flight ----------------------------------------------------------------------------
  logic [ 1:0] kind_q;
  logic [73:0] place_q;
  logic [47:0] steps_q;
  logic issues, takes, open_q = 1'b0, taken_q = 1'b0, stops_q = 1'b0;
  assign issues = sync_ticks && !waits && !is_reset && (host__run || stops_q || host__access);
  assign takes  = lanes_ticks && !reset && (agents__run || agents__stop ||
                                            (agents__access && agents__done));

  // used: the lanes have received a command since their reset. stale: the link has been reset since then. A command
  // may still be sent in the clock of the link's reset.
  logic used_q = 1'b0, stale_q = 1'b0;

  logic [31:0] read_q = '0;
  logic job_q = 1'b1;  // the agents are also busy after a reset
  logic [4:0] silence_q = '0;

  always_ff @(posedge clk) begin
    if (issues) begin
      kind_q <= host__run ? RUN : stops_q ? STOP : ACCESS;
      place_q <= place_i;
      steps_q <= host__steps;
      {open_q, taken_q, used_q} <= 3'b101;
    end
    if (sync_ticks) begin
      if (host__stop) stops_q <= 1'b1;
      else if (issues && !host__run && stops_q) stops_q <= 1'b0;
      if (rst) begin
        stops_q <= 1'b0;
        stale_q <= used_q || issues;
      end
    end
    if (takes) {open_q, taken_q} <= 2'b01;
    if (lanes_ticks) begin
      if (agents__access && agents__done) read_q <= agents__read;
      if (agents__run) job_q <= 1'b1;
      else if (job_q && !agents__busy) begin
        job_q <= 1'b0;
        silence_q <= {agents__silent, agents__silent_agent};
      end
      if (reset) begin
        {open_q, taken_q, used_q, stale_q} <= '0;
        job_q <= 1'b1;
        silence_q <= '0;
      end
    end
  end

  // --- Assumed ------------------------------------------------------------------------------------------
  logic held_q = 1'b0;  // an access is pending
  logic [73:0] held_place_q;
  always_ff @(posedge clk) begin
    if (sync_ticks) begin
      held_q <= host__access && !host__done && !rst;
      held_place_q <= place_i;
    end
  end
  always_comb begin
    assume (!rst || sync_ticks);
    assume (!held_q || rst || (host__access && place_i == held_place_q));
    assume (!host__run || (!host__busy && !waits && !host__access));
    assume (!agents__done || agents__access);
  end

  // --- For the induction --------------------------------------------------------------------------------
  // Along a synchronizer chain and back, adjacent bits differ in at most one place.
  logic [8:0] way;
  logic [7:0] loops;
  logic [3:0] ending;
  logic covered;  // the lanes have been reset after the link
  logic runs;
  assign runs = open_q && kind_q == RUN;

  // The steps of a run are sent as the word and the low 16 bits of the index.
  logic [73:0] long;
  assign long = {steps_q[31:0], order[41:28], steps_q[47:32], order[11:0]};
  assign way = {tells, asks} ^ {tells, asks} >> 1;
  assign loops = {rises[4:1], falls} ^ {rises[4:1], falls} >> 1;
  assign ending = ends[4:1] ^ ends[3:0];
  assign covered = !resetting && !falls[1];

  for (genvar i = 1; i < 5; i++) begin : gen_stage
    always_comb begin
      if (falls[i]) Settled_L : assert (asks[i:0] == {(i + 1) {asked}});
      if (is_reset && covered && !rises[i]) begin
        Told_L : assert (tells[i:0] == {(i + 1) {asked}});
        Ending_L : assert ($onehot0(ending[i-1:0]));
        Over_L : assert (ending[i-1:0] == '0 || begun == ended);
      end
    end
  end

  always_comb begin
    Way_L : assert ($onehot0(way));
    Loop_L : assert ($onehot0(loops) && falls[4] == reset);
    Reset_L : assert (is_reset || {rises[4:1], falls} == '0);
    Begun_L : assert (!is_reset || (begun && !waits));
    Same_L : assert (!is_reset || resetting || asks == {5{asked}});
    Covered_L : assert (!is_reset || !covered || !(used_q || stale_q || open_q));
    Stale_L : assert (is_reset || !stale_q);

    Open_L : assert (open_q == (asked != taken));
    Arrived_L : assert (!u_top.crossing.arrived || asks[4] != taken);
    Rest_L : assert (is_reset || waits || {tells, asks} == {10{asked}});
    Answered_L : assert (is_reset || !waits || open_q || taken_q);
    Stops_L : assert (stops == stops_q);
    if (open_q || waits)
      Order_L :
      assert (kind == kind_q && kind != 2'd3 && order == (kind_q == RUN ? long : place_q));

    Ends_L : assert (is_reset || ($onehot0(ending) && (ending == '0 || begun == ended)));
    Running_L : assert (running == job_q);
    if (!is_reset || covered)
      Job_L : assert ((begun != ended) == (job_q || runs) && !(job_q && runs));
    Found_L : assert (host__read == read_q);
    Silence_L : assert (u_top.crossing.silence == silence_q);

    // --- The theorem ------------------------------------------------------------------------------------
    if (!reset && (agents__access || agents__run || agents__stop)) begin
      Order_A : assert (open_q && $onehot({agents__access, agents__run, agents__stop}));
      Kind_A : assert (kind_q == (agents__run ? RUN : agents__stop ? STOP : ACCESS));
      Place_A : assert (kind_q != ACCESS || place == place_q);
      Steps_A : assert (kind_q != RUN || (agents__steps == steps_q && !agents__busy));
    end
    if (host__done) Done_A : assert (taken_q && kind_q == ACCESS && host__read == read_q);
    Busy_A : assert (host__busy || !(job_q || (open_q && kind_q != ACCESS)));
    Silence_A : assert (host__busy || {host__silent, host__silent_agent} == silence_q);
    if (issues) begin
      Fresh_A : assert (!reset && !stale_q);
      Held_A : assert (!open_q && asks == {5{taken}});
    end
    if (lanes_ticks && agents__done && !reset) Word_A : assert (!host__done && waits || is_reset);

    Access_C : cover (host__done && host__read != '0);
    Run_C : cover (!host__busy && taken_q && kind_q == RUN);
    Stale_C : cover (lanes_ticks && reset && stale_q && open_q);
  end

endmodule
