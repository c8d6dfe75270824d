// SPDX-License-Identifier: Apache-2.0
// The evaluation queue: choices wait in it for their rewards; pairs of evicted choices become learn requests.
//
// Function    The queue has room for Entries choices, the oldest at the head. An insert appends one, with its reward if
//             insert_rewarded_i is 1; if the queue is full, the head is evicted. A fill marks the oldest entry with its
//             key. A demand rewards the oldest entry that has its key and no reward yet: with rewards_i[set][Timely] if
//             the entry was filled, else with rewards_i[set][Late]. An entry evicted without a reward gets
//             rewards_i[set][Unused]. set is the value of set_i in the request's clock. Each eviction but the first
//             emits a learn request for the previously evicted entry, with the newly evicted entry as its successor. A
//             key without a match only increments a counter. Golden model: qstep.golden.evaluation_queue.
// Timing      One demand or fill, and one insert, per clock, except during holds. The ready outputs do not depend on
//             data; fill_ready_o depends on demand_valid_i. A learn request is valid queue_stages + 1 clocks after
//             the insert is accepted.
// Handshake   Requests take effect in order of acceptance; within a clock, the insert is last. A fill waits for a clock
//             without a demand. An insert waits for room in the queue of learn requests.
// Reset       Empties the queue and clears the counters. Keys and payloads are undefined until inserted.
// Hazards     A demand with the key of a request in flight waits in the request register until that request is done.
//             The requests after it wait as well. holds_o counts these clocks; both counters wrap.
// Invariants  NoRequestIsLost_A, RewardIsRead_A
// Resources   Entries * KeyBits registers and a comparator per entry; block RAM for payloads and rewards.
// Reference   R. Bera et al., "Pythia: a customizable hardware prefetching framework using online reinforcement
//             learning", MICRO 2021, section 4.

`include "qs_assert.svh"

module qs_evaluation_queue
  import qs_planes_pkg::*;
#(
    parameter  int unsigned Entries     = 256,             // a power of two, 2..1024
    parameter  int unsigned KeyBits     = 20,              // 1..64
    parameter  int unsigned PayloadBits = 46,              // 1..1024
    parameter  int unsigned Width       = 16,              // of a reward, 8..32
    localparam int unsigned IndexBits   = $clog2(Entries)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [1:0][2:0][Width-1:0] rewards_i,  // by set, then reward_e
    input logic                       set_i,

    input  logic               demand_valid_i,
    output logic               demand_ready_o,
    input  logic [KeyBits-1:0] demand_key_i,

    input  logic               fill_valid_i,
    output logic               fill_ready_o,
    input  logic [KeyBits-1:0] fill_key_i,

    input  logic                   insert_valid_i,
    output logic                   insert_ready_o,
    input  logic [    KeyBits-1:0] insert_key_i,
    input  logic [PayloadBits-1:0] insert_payload_i,
    input  logic                   insert_rewarded_i,
    input  logic [      Width-1:0] insert_reward_i,

    output logic                   learn_valid_o,
    input  logic                   learn_ready_i,
    output logic [PayloadBits-1:0] learn_payload_o,
    output logic [      Width-1:0] learn_reward_o,
    output logic [PayloadBits-1:0] learn_next_payload_o,

    output logic [31:0] unknown_o,  // demands and fills without a match
    output logic [31:0] holds_o
);

  localparam int unsigned Effect = queue_effect_stage(Entries);  // writes flags and rewards
  localparam int unsigned Leave = queue_stages(Entries);  // outputs an evicted entry and its reward
  localparam int unsigned Room = 2 ** $clog2(Leave + 3);  // for evicted entries
  localparam int unsigned HoldBits = $clog2(Effect + 1);

  if (Entries < 2 || Entries > 1024 || Entries != 2 ** IndexBits) begin : gen_bad_entries
    $fatal(
        1, "qs_evaluation_queue: Entries is %0d, legal is a power of two from 2 to 1024", Entries
    );
  end
  if (KeyBits < 1 || KeyBits > 64) begin : gen_bad_key
    $fatal(1, "qs_evaluation_queue: KeyBits is %0d, legal is 1..64", KeyBits);
  end
  if (PayloadBits < 1 || PayloadBits > 1024) begin : gen_bad_payload
    $fatal(1, "qs_evaluation_queue: PayloadBits is %0d, legal is 1..1024", PayloadBits);
  end
  if (Width < 8 || Width > 32) begin : gen_bad_width
    $fatal(1, "qs_evaluation_queue: Width is %0d, legal is 8..32", Width);
  end

  // --- Acceptance: stage 0, its holds, and the place of an insert ----------------------------------------
  typedef struct packed {
    logic               demand;
    logic               fill;
    logic [KeyBits-1:0] key;
  } search_t;

  typedef struct packed {
    logic                   valid;
    logic                   leaves;    // evicts the entry in this place
    logic [IndexBits-1:0]   place;
    logic [KeyBits-1:0]     key;
    logic [PayloadBits-1:0] payload;
    logic                   rewarded;
    logic [Width-1:0]       reward;
  } insert_t;

  typedef struct packed {
    logic    set;
    search_t search;
    insert_t insert;
  } request_t;

  request_t request;
  request_t [Leave:0] request_q;
  logic free, take, full_q;
  logic [IndexBits-1:0] place_q;
  logic [HoldBits-1:0] hold, hold_q;
  logic [31:0] holds_q, unknown_q;
  logic [$clog2(Room):0] leaving_q;  // evictions in flight, and evicted entries still in the FIFO

  assign free = hold_q == '0;
  assign holds_o = holds_q;
  assign unknown_o = unknown_q;
  assign demand_ready_o = free;
  assign fill_ready_o = free && !demand_valid_i;
  assign insert_ready_o = free && !leaving_q[$clog2(Room)];

  assign request.set = set_i;
  assign request.search = '{
          demand: demand_valid_i && demand_ready_o,
          fill: fill_valid_i && fill_ready_o,
          key: demand_valid_i ? demand_key_i : fill_key_i
      };
  assign request.insert = '{
          valid: insert_valid_i && insert_ready_o,
          leaves: insert_valid_i && insert_ready_o && full_q,
          place: place_q,
          key: insert_key_i,
          payload: insert_payload_i,
          rewarded: insert_rewarded_i,
          reward: insert_reward_i
      };

  logic [Effect-1:0] concerns;  // the request in each stage has the key of the new demand
  for (genvar k = 0; k < Effect; k++) begin : gen_ahead
    assign concerns[k] =
        ((request_q[k].search.demand || request_q[k].search.fill) &&
         request_q[k].search.key == demand_key_i) ||
        (request_q[k].insert.valid && request_q[k].insert.key == demand_key_i);
  end

  // The youngest request with the key of a new demand must pass stage Effect before the search.
  always_comb begin
    hold = '0;
    for (int unsigned k = Effect; k > 0; k--) begin
      if (request.search.demand && concerns[k-1]) hold = HoldBits'(Effect + 1 - k);
    end
  end

  always_ff @(posedge clk_i) begin
    hold_q <= free ? hold : hold_q - 1'b1;
    if (free) request_q[0] <= request;
    request_q[Leave:1] <= request_q[Leave-1:0];
    if (!free) begin
      request_q[1].search.demand <= 1'b0;
      request_q[1].search.fill   <= 1'b0;
      request_q[1].insert.valid  <= 1'b0;
      request_q[1].insert.leaves <= 1'b0;
    end
    if (request.insert.valid) begin
      place_q <= place_q + 1'b1;
      full_q  <= full_q || &place_q;
    end
    leaving_q <= leaving_q + ($clog2(Room) + 1)'(request.insert.leaves) - ($clog2(Room) + 1)'(take);
    holds_q <= holds_q + 32'(!free);
    if (rst_i) begin
      for (int unsigned k = 0; k <= Leave; k++) begin
        request_q[k].search.demand <= 1'b0;
        request_q[k].search.fill   <= 1'b0;
        request_q[k].insert.valid  <= 1'b0;
        request_q[k].insert.leaves <= 1'b0;
      end
      {hold_q, place_q, full_q, leaving_q, holds_q} <= '0;
    end
  end

  // --- Search: keys are compared in stage 0, in which an insert also writes its key ------------------------
  logic [Entries-1:0][KeyBits-1:0] key_q;
  logic [Entries-1:0] used_q, older_q, rewarded_q, filled_q;
  logic [Entries-1:0] match_q, match_older_q, match_filled_q;
  logic inserts, insert_last;
  logic [IndexBits-1:0] insert_place;
  assign inserts = free && request_q[0].insert.valid;
  assign insert_place = request_q[0].insert.place;
  assign insert_last = &insert_place;

  always_ff @(posedge clk_i) begin
    for (int unsigned n = 0; n < Entries; n++) begin
      match_q[n] <= used_q[n] && !(request_q[0].search.demand && rewarded_q[n]) &&
          key_q[n] == request_q[0].search.key;
      if (inserts && insert_place == IndexBits'(n)) begin
        key_q[n]   <= request_q[0].insert.key;
        used_q[n]  <= 1'b1;
        older_q[n] <= !request_q[0].insert.leaves;  // now younger than entries at higher indexes
      end
    end
    if (inserts && insert_last) older_q <= '1;
    match_older_q  <= older_q;
    match_filled_q <= filled_q;
    if (rst_i) begin
      used_q  <= '0;
      older_q <= '1;
    end
  end

  logic hit, hit_filled;
  logic [IndexBits-1:0] hit_index;

  qs_oldest #(
      .Entries(Entries)
  ) u_oldest (
      .clk_i,
      .match_i(match_q),
      .older_i(match_older_q),
      .tag_i  (match_filled_q),
      .hit_o  (hit),
      .index_o(hit_index),
      .tag_o  (hit_filled)
  );

  // --- Effect: flags and rewards, with the insert last ---------------------------------------------------
  request_t effect;
  logic rewards, fills;
  logic [Width-1:0] demand_reward;
  assign effect = request_q[Effect];
  assign rewards = effect.search.demand && hit;
  assign fills = effect.search.fill && hit;
  assign demand_reward = rewards_i[effect.set][hit_filled?Timely : Late];

  always_ff @(posedge clk_i) begin
    if (rewards) rewarded_q[hit_index] <= 1'b1;
    if (fills) filled_q[hit_index] <= 1'b1;
    if (effect.insert.valid) begin
      rewarded_q[effect.insert.place] <= effect.insert.rewarded;
      filled_q[effect.insert.place]   <= 1'b0;
    end
    unknown_q <= unknown_q + 32'((effect.search.demand || effect.search.fill) && !hit);
    if (rst_i) unknown_q <= '0;
  end

  // --- Leave: the old entry is read one stage after the same clock's demand takes effect, then replaced ---
  localparam int unsigned Read = Effect + 1;
  typedef struct packed {
    logic [PayloadBits-1:0] payload;
    logic                   rewarded;  // by its insert
    logic [Width-1:0]       reward;
  } entry_t;

  entry_t old;
  logic [Width-1:0] old_demand_reward, leave_reward;
  logic [Leave:Read] rewarded;  // per stage, 1 if the old entry has a reward

  always_ff @(posedge clk_i)
    rewarded <= {
      rewarded[Leave-1:Read],
      rewarded_q[effect.insert.place] || (rewards && hit_index == effect.insert.place)
    };

  qs_ram #(
      .Words(Entries),
      .Width(Width)
  ) u_rewards (
      .clk_i,
      .write_i      (rewards),
      .write_index_i(hit_index),
      .write_data_i (demand_reward),
      .read_index_i (request_q[Read].insert.place),
      .data_o       (old_demand_reward)
  );

  qs_ram #(
      .Words(Entries),
      .Width($bits(entry_t))
  ) u_entries (
      .clk_i,
      .write_i(request_q[Read+1].insert.valid),
      .write_index_i(request_q[Read+1].insert.place),
      .write_data_i({
        request_q[Read+1].insert.payload,
        request_q[Read+1].insert.rewarded,
        request_q[Read+1].insert.reward
      }),
      .read_index_i(request_q[Read].insert.place),
      .data_o(old)
  );

  assign leave_reward = old.rewarded ? old.reward : rewarded[Leave] ? old_demand_reward :
      rewards_i[request_q[Leave].set][Unused];

  // --- Pairs: a learn request is the previously evicted entry with this one as its successor --------------
  logic left, left_room, pair_q;
  logic [PayloadBits-1:0] left_payload;
  logic [Width-1:0] left_reward;

  qs_bus_fifo #(
      .Width(PayloadBits + Width),
      .Depth(Room)
  ) u_left (
      .clk_i,
      .rst_i,
      .put_i  (request_q[Leave].insert.leaves),
      .data_i ({old.payload, leave_reward}),
      .room_o (left_room),
      .valid_o(left),
      .data_o ({left_payload, left_reward}),
      .take_i (take)
  );

  assign take = left && (!pair_q || learn_ready_i);
  assign learn_valid_o = left && pair_q;
  assign learn_next_payload_o = left_payload;

  always_ff @(posedge clk_i) begin
    if (take) {learn_payload_o, learn_reward_o} <= {left_payload, left_reward};
    if (take) pair_q <= 1'b1;
    if (rst_i) pair_q <= 1'b0;
  end

  logic unused_bits;
  assign unused_bits = ^request_q;

  `QS_ASSERT(NoRequestIsLost_A, !request_q[Leave].insert.leaves || left_room)
  `QS_ASSERT(
      RewardIsRead_A,
      !rewards || !request_q[Read].insert.leaves || hit_index != request_q[Read].insert.place)

endmodule
