// SPDX-License-Identifier: Apache-2.0
// A node of a farm's daisy chain: accepts frames for its lane, forwards the others, and returns the lane's answers.
//
// Function    A frame is a sequence of clocks in which down_i.valid is 1. It begins with a 0 for each preceding lane,
//             followed by a 1. Each node strips one of the zeros, so all nodes are identical, and a lane's number is
//             its position. A frame for all lanes begins with a 1 and is also forwarded. The bits of {data, index,
//             region, write} follow, highest first, with only those bits of the index that are in IndexMask. At the end
//             of the frame the node performs the access, or begins or ends a run (qs_chain_pkg).
//             Incoming bits shift the node's previous frame out, towards the link. The word read by an access replaces
//             the upper 32 bits, so the next frame to the lane fetches it, and 32 bits are enough to fetch it.
// Timing      Two clocks from node to node in both directions: a register at each end, as nodes may be far apart. A
//             frame is executed three clocks after its last bit. Outputs to the next node have a fan-out of one, so
//             that copies of a placed lane keep all routes inside the lane.
// Handshake   up_o.pending is 1 from a frame's first bit until the frame is executed, and at least as long at all nodes
//             further up. When pending falls there, the frame has reached all its lanes, and up_o.busy includes the
//             lanes that began a run. Only then may the next frame follow. The last bit is shifted out three clocks
//             before pending falls.
// Reset       rst_i is registered from node to node, like the frames. A frame that it cuts off is not executed.
// Hazards     none
// Invariants  FramesWait_A
// Resources   22 flip-flops, and 36 plus one per bit of IndexMask for a frame.
// Reference   none

`include "qs_assert.svh"

module qs_chain_node
  import qs_chain_pkg::*;
#(
    parameter int unsigned IndexMask = 32'h3fffffff  // 16 bits or more, see above
) (
    input logic clk_i,
    input logic rst_i,
    output logic rst_o,  // to the next node
    output logic lane_rst_o,

    input  down_t down_i,
    output down_t down_o,  // to the next node
    input  up_t   up_i,    // from the next node; 0 at the end of the chain
    output up_t   up_o,

    // As in qs_acting
    output logic        bus_valid_o,
    output logic        bus_write_o,
    output logic [ 2:0] bus_region_o,
    output logic [29:0] bus_index_o,
    output logic [31:0] bus_data_o,
    input  logic        bus_done_i,
    input  logic [31:0] bus_data_i,
    output logic        run_o,
    output logic [47:0] run_steps_o,
    output logic        stop_o,
    input  logic        busy_i
);

  localparam int unsigned IndexBits = $countones(IndexMask);
  localparam int unsigned CodeBits = 4;
  localparam int unsigned FrameBits = 32 + IndexBits + CodeBits;

  if (IndexBits < 16) begin : gen_bad_mask
    $fatal(1, "qs_chain_node: IndexMask has %0d bits, legal is 16..30", IndexBits);
  end

  logic rst_q, taking_q, passing_q, ended_q, working_q, first;
  down_t down_q;
  up_t up_q;
  logic [FrameBits-1:0] frame_q;
  logic [CodeBits-1:0] code;

  assign first = down_q.valid && !taking_q && !passing_q;
  assign code  = frame_q[CodeBits-1:0];

  always_ff @(posedge clk_i) begin
    rst_q     <= rst_i;
    down_q    <= down_i;
    up_q      <= up_i;

    taking_q  <= down_q.valid && (taking_q || (first && down_q.data));
    passing_q <= down_q.valid && (passing_q || (first && (!down_q.data || down_q.all)));
    ended_q   <= taking_q && !down_q.valid;
    working_q <= !rst_q && (working_q ? !bus_done_i : ended_q && code[3:2] != STOP[3:2]);

    if (taking_q && down_q.valid) frame_q <= {frame_q[FrameBits-2:0], down_q.data};
    else if (bus_done_i) frame_q[FrameBits-1-:32] <= bus_data_i;

    rst_o <= rst_q;
    down_o <= '{
        all: down_q.all,
        valid: down_q.valid && (passing_q || (first && down_q.all)),
        data: down_q.data
    };
    up_o <= '{
        busy: up_q.busy || busy_i,
        pending: up_q.pending || rst_q || down_q.valid || taking_q || ended_q || working_q,
        data: up_q.data || (taking_q && down_q.valid && frame_q[FrameBits-1])
    };
  end

  always_comb begin
    int unsigned at;
    at = CodeBits;
    bus_index_o = '0;
    for (int unsigned place = 0; place < 30; place++) begin
      if (IndexMask[place]) begin
        bus_index_o[place] = frame_q[at];
        at++;
      end
    end
  end

  assign lane_rst_o = rst_q;
  assign bus_valid_o = working_q;
  assign {bus_region_o, bus_write_o} = code;
  assign bus_data_o = frame_q[FrameBits-1-:32];
  assign run_o = ended_q && code == RUN;
  assign run_steps_o = frame_q[FrameBits-1-:48];
  assign stop_o = ended_q && code == STOP;

  `QS_ASSERT(FramesWait_A, !down_q.valid || !working_q)

endmodule
