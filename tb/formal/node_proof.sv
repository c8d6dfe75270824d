// SPDX-License-Identifier: Apache-2.0
// A node executes each frame for its lane once, forwards all other frames, and returns answers unchanged.
//
// Function    The reference follows frames bit by bit. A frame that starts with a 0 is forwarded without the 0 and
//             not executed. A frame that starts with a 1 is executed, and forwarded only if it is for all lanes. The
//             lane receives each access exactly as sent, until it is done, and each run and stop once. The next frame
//             for this node shifts out the word read, most significant bit first. Answers from nodes further down
//             pass at any time. Therefore, in a chain of nodes, a frame with k leading zeros reaches only lane k.
// Assumed     The requirements in the header of qs_chain_node are met: a frame starts only when nothing is pending,
//             has at least 4 bits unless a reset truncates it, and has the same all-lanes flag from its first bit to
//             its last. A reset lasts at least two clocks, and power-up is a reset. Only an access in progress can be
//             done.

module node_proof
  import qs_chain_pkg::*;
#(
    parameter int unsigned IndexMask = 32'h0f03fff1
) (
    input logic clk_i,
    input logic rst_i,

    input down_t        down_i,
    input up_t          up_i,
    input logic         bus_done_i,
    input logic  [31:0] bus_data_i,
    input logic         busy_i
);

  localparam int unsigned IndexBits = $countones(IndexMask);
  localparam int unsigned FrameBits = 36 + IndexBits;

  logic rst_o, lane_rst_o, bus_valid_o, bus_write_o, run_o, stop_o;
  down_t down_o;
  up_t up_o;
  logic [2:0] bus_region_o;
  logic [29:0] bus_index_o;
  logic [31:0] bus_data_o;
  logic [47:0] run_steps_o;

  qs_chain_node #(.IndexMask(IndexMask)) u_node (.*);

  // The frame, delayed by one clock. `taken_q`: number of its bits consumed, at most FrameBits.
  logic past_q = 1'b0;
  logic rst_q, rst_before_q, in_frame_q, mine_q, all_q, first, mine, ends, cut;
  down_t down_q, passed_q;
  up_t up_q;
  logic [FrameBits-1:0] bits_q;
  logic [$clog2(FrameBits+1)-1:0] taken_q = '0;
  assign first = down_q.valid && !in_frame_q;
  assign mine  = first ? down_q.data : mine_q;
  assign ends  = in_frame_q && mine_q && !down_q.valid;
  assign cut   = ends && rst_q;

  // The effects of the frame: an access, a run or a stop, and the answer that is still to be shifted out.
  logic executes_q, accesses_q, sent_q;
  logic [31:0] answer_q;
  logic [5:0] answer_bits_q = '0;
  logic whole;
  assign whole = taken_q == ($bits(taken_q))'(FrameBits);

  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    {rst_before_q, rst_q} <= {rst_q, rst_i};
    down_q <= down_i;
    up_q <= up_i;
    in_frame_q <= down_q.valid;
    mine_q <= mine;
    all_q <= down_q.all;
    passed_q <= '{
        all: down_q.all,
        data: down_q.data,
        valid: down_q.valid && (first ? down_q.all : !mine_q || all_q)
    };
    sent_q <= down_q.valid && !first && mine_q;
    if (first) begin
      taken_q <= '0;
    end else if (down_q.valid && mine_q) begin
      bits_q <= {bits_q[FrameBits-2:0], down_q.data};
      if (!whole) taken_q <= taken_q + 1'b1;
      answer_q <= answer_q << 1;
      if (answer_bits_q != '0) answer_bits_q <= answer_bits_q - 1'b1;
    end
    executes_q <= ends && !cut;
    if (executes_q && bits_q[3:2] != 2'b11) accesses_q <= 1'b1;
    if (bus_done_i) begin
      accesses_q <= 1'b0;
      answer_q <= bus_data_i;
      answer_bits_q <= 6'd32;
    end
    if (rst_q) begin
      accesses_q <= 1'b0;
      answer_bits_q <= '0;
    end
  end

  // Index bits that are not in a frame are 0.
  logic [29:0] index;
  always_comb begin
    int unsigned at;
    at = 4;
    index = '0;
    for (int unsigned place = 0; place < 30; place++) begin
      if (IndexMask[place]) begin
        index[place] = bits_q[at];
        at++;
      end
    end
  end

  // The answer bit that a consumed bit shifts out, one clock later.
  logic pushed_q, pushed_known_q, came_q;
  always_ff @(posedge clk_i) begin
    pushed_q <= answer_q[31];
    pushed_known_q <= answer_bits_q != '0;
    came_q <= up_q.data;
  end

  // Clocks since the last input or access in progress.
  logic [2:0] quiet_q;
  always_ff @(posedge clk_i) begin
    if (quiet_q != '1) quiet_q <= quiet_q + 1'b1;
    if (rst_i || down_i.valid || up_i.pending || accesses_q) quiet_q <= '0;
  end

  // The reset at power-up is over.
  logic [1:0] settled_q = '0;
  logic settled;
  assign settled = settled_q == '1;
  always_ff @(posedge clk_i) if (!settled) settled_q <= settled_q + 1'b1;

  // Masks of the received bits of the frame, and of the pending bits of the answer.
  logic [FrameBits-1:0] known;
  logic [31:0] to_push;
  assign known   = ~({FrameBits{1'b1}} << taken_q);
  assign to_push = ~(32'hffffffff >> answer_bits_q);

  logic begins;
  assign begins = down_i.valid && !down_q.valid;
  always_comb begin
    assume (settled || rst_i);
    assume (!rst_i || !down_i.valid);
    assume (!past_q || rst_i || !rst_q || rst_before_q);
    assume (!begins || (!up_o.pending && quiet_q > 3'd4));
    assume (!begins || !down_i.all || down_i.data);
    assume (!down_i.valid || begins || down_i.all == down_q.all);
    assume (!ends || cut || taken_q >= 4);
    assume (!bus_done_i || accesses_q);
  end

  always_comb begin
    Range_L : assert (32'(taken_q) <= FrameBits && answer_bits_q <= 32);
    if (past_q) begin
      Follows_L :
      assert (u_node.rst_q == rst_q && u_node.down_q == down_q && u_node.up_q == up_q &&
              u_node.first == first);
    end
    if (settled) begin
      Taking_L : assert (u_node.taking_q == (in_frame_q && mine_q));
      Passing_L : assert (u_node.passing_q == (in_frame_q && (!mine_q || all_q)));
      Bits_L :
      assert (!(in_frame_q || executes_q || accesses_q) ||
              ((u_node.frame_q ^ bits_q) & known) == '0);
      Answer_L : assert (((u_node.frame_q[FrameBits-1-:32] ^ answer_q) & to_push) == '0);
      Once_L : assert (!(in_frame_q && mine_q) || !accesses_q);
      Waits_L : assert (!accesses_q || !executes_q);

      PassedOn_A : assert (down_o.valid == passed_q.valid && (!down_o.valid || down_o == passed_q));
      Access_A : assert (bus_valid_o == accesses_q);
      Content_A :
      assert (!bus_valid_o || !whole || ({bus_data_o, bus_index_o, bus_region_o, bus_write_o} ==
              {bits_q[FrameBits-1-:32], index, bits_q[3:0]}));
      Run_A : assert (lane_rst_o || run_o == (executes_q && bits_q[3:0] == RUN));
      Steps_A : assert (!run_o || !whole || run_steps_o == bits_q[FrameBits-1-:48]);
      Stop_A : assert (lane_rst_o || stop_o == (executes_q && bits_q[3:0] == STOP));
      Others_A : assert (sent_q || up_o.data == came_q);
      Answer_A : assert (!sent_q || !pushed_known_q || up_o.data == (came_q || pushed_q));
      Pending_A : assert (up_o.pending || !(in_frame_q || executes_q || accesses_q));
      Rests_A : assert (quiet_q < 3'd5 || !up_o.pending);
    end
    if (past_q) Reset_A : assert (lane_rst_o == rst_q && (!settled || rst_o == rst_before_q));
  end

  always_comb begin
    Read_C : cover (settled && bus_valid_o && whole && !bus_write_o);
    Answered_C : cover (settled && sent_q && answer_bits_q == 6'd20 && pushed_known_q && pushed_q);
    Run_C : cover (settled && run_o && whole && passed_q.all);
    Cut_C : cover (settled && cut && taken_q == 5);
  end

endmodule
