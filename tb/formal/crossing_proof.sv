// SPDX-License-Identifier: Apache-2.0
// The crossing between the clocks of link and lanes carries each order once, whatever the clocks are.
//
// Function    Each clock ticks whenever it likes, also both at once, so a bit that changes while it is sampled is seen before
//             or after its change. Each order of the host comes to the agents once, with its data, and none that was not
//             given. An access is done when the agents have said so, and its word is theirs. Busy is 1 from a run on until the
//             agents are done with it. What the other clock may look at does not change. After a reset of the
//             link, no order leaves before the lanes were reset; none from before comes to agents that were.
// Assumed     An access is held until it is done, and a run begins when nothing else is under way (AgentsSignature).
//             The agents end only an access that they are asked for.

module crossing_proof (
    input logic clk_i,
    input logic sync_ticks_i,
    input logic lanes_ticks_i,
    input logic rst_i,

    input logic access_i,
    input logic [73:0] place_i,
    input logic run_i,
    input logic [47:0] steps_i,
    input logic stop_i,

    input logic done_i,
    input logic [31:0] read_i,
    input logic busy_i,
    input logic silent_i,
    input logic [3:0] silent_agent_i
);

  localparam logic [1:0] ACCESS = 2'd0, RUN = 2'd1, STOP = 2'd2;

  // place: word, index, region, write, lane
  logic host_done, host_busy, host_silent, reset, access, run, stop;
  logic [31:0] host_read;
  logic [ 3:0] host_silent_agent;
  logic [73:0] place;
  logic [47:0] steps;
  crossing u_top (
      .clk                 (clk_i),
      .rst                 (rst_i),
      .sync_ticks          (sync_ticks_i),
      .lanes_ticks         (lanes_ticks_i),
      .host__lane          (place_i[7:0]),
      .host__write         (place_i[8]),
      .host__region        (place_i[11:9]),
      .host__index         (place_i[41:12]),
      .host__word          (place_i[73:42]),
      .host__access        (access_i),
      .host__run           (run_i),
      .host__steps         (steps_i),
      .host__stop          (stop_i),
      .host__done          (host_done),
      .host__read          (host_read),
      .host__busy          (host_busy),
      .host__silent        (host_silent),
      .host__silent_agent  (host_silent_agent),
      .agents__lane        (place[7:0]),
      .agents__write       (place[8]),
      .agents__region      (place[11:9]),
      .agents__index       (place[41:12]),
      .agents__word        (place[73:42]),
      .agents__access      (access),
      .agents__run         (run),
      .agents__steps       (steps),
      .agents__stop        (stop),
      .agents__done        (done_i),
      .agents__read        (read_i),
      .agents__busy        (busy_i),
      .agents__silent      (silent_i),
      .agents__silent_agent(silent_agent_i),
      .reset               (reset)
  );

  `define CHAIN(name) \
  u_top.crossing.``name``_chain.stage3, u_top.crossing.``name``_chain.stage2, \
  u_top.crossing.``name``_chain.stage1, u_top.crossing.``name``_chain.stage0

  // --- The registers ------------------------------------------------------------------------------------
  logic asked, taken, ended, resetting, is_reset, waits, stops, begun, running;
  logic [ 1:0] kind;
  logic [73:0] order;
  logic [4:0]
      asks, tells, ends, falls, rises;  // a bit, and its chain from there on; index 4 arrives
  assign asked = u_top.crossing.asked;
  assign taken = u_top.crossing.taken;
  assign ended = u_top.crossing.ended;
  assign resetting = u_top.crossing.resetting;
  assign is_reset = u_top.crossing.is_reset;
  assign waits = u_top.crossing.\$signal ;
  assign stops = u_top.crossing.stops;
  assign begun = u_top.crossing.begun;
  assign running = u_top.crossing.running;
  assign {order, kind} = u_top.crossing.order;
  assign asks = {`CHAIN(asked), asked};
  assign tells = {`CHAIN(taken), taken};
  assign ends = {`CHAIN(ended), ended};
  assign falls = {`CHAIN(resetting), resetting};
  assign rises = {`CHAIN(reset), reset};

  // --- The order that is on its way ---------------------------------------------------------------------
  logic [ 1:0] kind_q;
  logic [73:0] place_q;
  logic [47:0] steps_q;
  logic issues, takes, open_q = 1'b0, taken_q = 1'b0, stops_q = 1'b0;
  assign issues = sync_ticks_i && !waits && !is_reset && (run_i || stops_q || access_i);
  assign takes  = lanes_ticks_i && !reset && (run || stop || (access && done_i));

  // The lanes were given something since they were reset, and the link was reset since then. An order may still
  // leave in the clock of the link's reset.
  logic used_q = 1'b0, stale_q = 1'b0;

  logic [31:0] read_q = '0;
  logic job_q = 1'b1;  // the agents are also busy after a reset
  logic [4:0] silence_q = '0;

  always_ff @(posedge clk_i) begin
    if (issues) begin
      kind_q <= run_i ? RUN : stops_q ? STOP : ACCESS;
      place_q <= place_i;
      steps_q <= steps_i;
      {open_q, taken_q, used_q} <= 3'b101;
    end
    if (sync_ticks_i) begin
      if (stop_i) stops_q <= 1'b1;
      else if (issues && !run_i && stops_q) stops_q <= 1'b0;
      if (rst_i) begin
        stops_q <= 1'b0;
        stale_q <= used_q || issues;
      end
    end
    if (takes) {open_q, taken_q} <= 2'b01;
    if (lanes_ticks_i) begin
      if (access && done_i) read_q <= read_i;
      if (run) job_q <= 1'b1;
      else if (job_q && !busy_i) begin
        job_q <= 1'b0;
        silence_q <= {silent_i, silent_agent_i};
      end
      if (reset) begin
        {open_q, taken_q, used_q, stale_q} <= '0;
        job_q <= 1'b1;
        silence_q <= '0;
      end
    end
  end

  // --- Assumed ------------------------------------------------------------------------------------------
  logic held_q = 1'b0;  // an access is not done yet
  logic [73:0] held_place_q;
  always_ff @(posedge clk_i) begin
    if (sync_ticks_i) begin
      held_q <= access_i && !host_done && !rst_i;
      held_place_q <= place_i;
    end
  end
  always_comb begin
    assume (!rst_i || sync_ticks_i);
    assume (!held_q || rst_i || (access_i && place_i == held_place_q));
    assume (!run_i || (!host_busy && !waits && !access_i));
    assume (!done_i || access);
  end

  // --- For the induction --------------------------------------------------------------------------------
  // Along a chain and back, no more than one place is where a bit differs from the one before.
  logic [8:0] way;
  logic [7:0] loops;
  logic [3:0] ending;
  logic covered;  // the lanes were reset since the link was
  logic runs;
  assign runs = open_q && kind_q == RUN;

  // The steps of a run are the word and the low half of the index.
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
    Found_L : assert (host_read == read_q);
    Silence_L : assert (u_top.crossing.silence == silence_q);

    // --- The theorem ------------------------------------------------------------------------------------
    if (!reset && (access || run || stop)) begin
      Order_A : assert (open_q && $onehot({access, run, stop}));
      Kind_A : assert (kind_q == (run ? RUN : stop ? STOP : ACCESS));
      Place_A : assert (kind_q != ACCESS || place == place_q);
      Steps_A : assert (kind_q != RUN || (steps == steps_q && !busy_i));
    end
    if (host_done) Done_A : assert (taken_q && kind_q == ACCESS && host_read == read_q);
    Busy_A : assert (host_busy || !(job_q || (open_q && kind_q != ACCESS)));
    Silence_A : assert (host_busy || {host_silent, host_silent_agent} == silence_q);
    if (issues) begin
      Fresh_A : assert (!reset && !stale_q);
      Held_A : assert (!open_q && asks == {5{taken}});
    end
    if (lanes_ticks_i && done_i && !reset) Word_A : assert (!host_done && waits || is_reset);

    Access_C : cover (host_done && host_read != '0);
    Run_C : cover (!host_busy && taken_q && kind_q == RUN);
    Stale_C : cover (lanes_ticks_i && reset && stale_q && open_q);
  end

endmodule
