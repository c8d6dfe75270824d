// SPDX-License-Identifier: Apache-2.0
// qs_evaluation_queue behaves exactly as defined: each entry leaves once, in order, with one reward.
//
// Function    The reference is a queue that serves each request in the clock in which it is accepted, like
//             qstep.golden.evaluation_queue, with a list of its evicted entries. Demands and fills find the same
//             entry as in the reference: the oldest match. Entries leave in the order of this list with the rewards
//             of the definition. Whatever the back-pressure, none is lost and none leaves twice.
// Assumed     Rewards are constant. Power-up is the only reset.

module queue_proof
  import qs_planes_pkg::*;
#(
    parameter  int unsigned Entries     = 4,
    parameter  int unsigned KeyBits     = 1,
    parameter  int unsigned PayloadBits = 1,
    localparam int unsigned Width       = 8,
    localparam int unsigned IndexBits   = $clog2(Entries),
    localparam int unsigned Effect      = queue_effect_stage(Entries),
    localparam int unsigned Leave       = queue_stages(Entries),
    localparam int unsigned Room        = 2 ** $clog2(Leave + 3),
    localparam int unsigned RoomBits    = $clog2(Room)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [1:0][2:0][Width-1:0] rewards_i,
    input logic set_i,
    input logic demand_valid_i,
    input logic [KeyBits-1:0] demand_key_i,
    input logic fill_valid_i,
    input logic [KeyBits-1:0] fill_key_i,
    input logic insert_valid_i,
    input logic [KeyBits-1:0] insert_key_i,
    input logic [PayloadBits-1:0] insert_payload_i,
    input logic insert_rewarded_i,
    input logic [Width-1:0] insert_reward_i,
    input logic learn_ready_i
);

  logic demand_ready_o, fill_ready_o, insert_ready_o, learn_valid_o;
  logic [PayloadBits-1:0] learn_payload_o, learn_next_payload_o;
  logic [Width-1:0] learn_reward_o;
  logic [31:0] unknown_o, holds_o;
  qs_evaluation_queue #(
      .Entries    (Entries),
      .KeyBits    (KeyBits),
      .PayloadBits(PayloadBits),
      .Width      (Width)
  ) u_queue (
      .*
  );

  // --- The definition: a ring of entries that serves each request when accepted ---------------------------
  logic past_q = 1'b0;
  logic [1:0][2:0][Width-1:0] rewards_q;
  logic [Entries-1:0][KeyBits-1:0] key_q;
  logic [Entries-1:0][PayloadBits-1:0] payload_q;
  logic [Entries-1:0][Width-1:0] reward_q;
  logic [Entries-1:0] used_q, rewarded_q, filled_q;
  logic [IndexBits-1:0] place_q;
  logic full_q;

  // The evicted entries: a ring of the last Room entries.
  typedef struct packed {
    logic [PayloadBits-1:0] payload;
    logic [Width-1:0]       reward;
  } left_t;
  left_t [Room-1:0] left_q;
  left_t last_q;
  logic [RoomBits:0] given_q;
  logic [31:0] number_q;

  typedef struct packed {
    logic hit;
    logic [IndexBits-1:0] index;
    logic [Width-1:0] reward;  // of a demand
  } found_t;

  logic demands, fills, inserts, leaves;
  found_t found;
  found_t [Effect:0] found_q;
  logic [Entries-1:0] rewarded;
  logic [Width-1:0] place_reward;

  assign demands = demand_valid_i && demand_ready_o;
  assign fills   = fill_valid_i && fill_ready_o;
  assign inserts = insert_valid_i && insert_ready_o;
  assign leaves  = inserts && full_q;

  always_comb begin
    found = '0;
    for (int unsigned age = Entries; age > 0; age--) begin  // the oldest entry comes last
      automatic logic [IndexBits-1:0] n = IndexBits'(age - 1) + (full_q ? place_q : '0);
      if (used_q[n] && (demand_valid_i ? key_q[n] == demand_key_i && !rewarded_q[n] :
                        key_q[n] == fill_key_i)) begin
        found.hit   = 1'b1;
        found.index = n;
      end
    end
    found.reward = rewards_i[set_i][filled_q[found.index]?Timely : Late];
    rewarded = rewarded_q;
    place_reward = reward_q[place_q];
    if (demands && found.hit) begin
      rewarded[found.index] = 1'b1;
      if (found.index == place_q) place_reward = found.reward;
    end
    if (!rewarded[place_q]) place_reward = rewards_i[set_i][Unused];
  end

  logic take;
  // The first evicted entry completes no pair, so it is taken without a handshake.
  assign take = u_queue.left && (number_q == '0 || learn_ready_i);

  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    rewards_q <= rewards_i;
    rewarded_q <= rewarded;
    if (demands && found.hit) reward_q[found.index] <= found.reward;
    if (fills && found.hit) filled_q[found.index] <= 1'b1;
    if (inserts) begin
      key_q[place_q] <= insert_key_i;
      payload_q[place_q] <= insert_payload_i;
      reward_q[place_q] <= insert_reward_i;
      used_q[place_q] <= 1'b1;
      rewarded_q[place_q] <= insert_rewarded_i;
      filled_q[place_q] <= 1'b0;
      place_q <= place_q + 1'b1;
      full_q <= full_q || &place_q;
    end
    if (leaves) begin
      left_q[given_q[RoomBits-1:0]] <= '{payload_q[place_q], place_reward};
      given_q <= given_q + 1'b1;
    end
    if (take) begin
      last_q   <= left_q[u_queue.u_left.take_q[RoomBits-1:0]];
      number_q <= number_q + 32'(number_q != '1);
    end
    if (u_queue.free) found_q[0] <= found;
    found_q[Effect:1] <= found_q[Effect-1:0];
    if (rst_i) {used_q, place_q, full_q, given_q, number_q} <= '0;
  end

  // --- The stages of the queue, and their pending work --------------------------------------------------
  logic [RoomBits:0] leaving;
  logic [IndexBits-1:0] place;
  logic full, in_order;

  always_comb begin
    assume (rst_i == !past_q);
    assume (!past_q || rewards_i == rewards_q);

    // Inserts in flight have consecutive places; if the queue is full, each evicts the old entry there.
    leaving = '0;
    place = place_q;
    full = full_q;
    in_order = 1'b1;
    for (int unsigned k = 0; k <= Leave; k++) begin
      if (u_queue.request_q[k].insert.valid) begin
        place = place - 1'b1;
        if (full && &place && !u_queue.request_q[k].insert.leaves) full = 1'b0;
        if (u_queue.request_q[k].insert.place != place) in_order = 1'b0;
        if (u_queue.request_q[k].insert.leaves != full) in_order = 1'b0;
      end else if (u_queue.request_q[k].insert.leaves) in_order = 1'b0;
      leaving = leaving + (RoomBits + 1)'(u_queue.request_q[k].insert.leaves);
    end
    if (past_q) begin
      Place_L : assert (u_queue.place_q == place_q && u_queue.full_q == full_q);
      Insert_L : assert (in_order);
      Given_L : assert (given_q == (RoomBits + 1)'(u_queue.u_left.put_q + leaving));
      Leaving_L : assert (u_queue.leaving_q == (RoomBits + 1)'(given_q - u_queue.u_left.take_q));
      Room_L : assert (32'(u_queue.leaving_q) <= Room);
      Words_L : assert (32'((RoomBits + 1)'(u_queue.u_left.put_q - u_queue.u_left.take_q)) <= Room);
      Hold_L : assert (u_queue.hold_q == '0 || u_queue.request_q[0].search.demand);
    end
  end

  for (genvar n = 0; n < Entries; n++) begin : gen_entry
    logic rewarded_n, filled_n, inserted_n;
    logic [Width-1:0] reward_n, inserted_reward_n;
    logic [PayloadBits-1:0] payload_n;
    always_comb begin
      rewarded_n = u_queue.rewarded_q[n];
      filled_n = u_queue.filled_q[n];
      reward_n = u_queue.u_rewards.mem[n];
      {payload_n, inserted_n, inserted_reward_n} = u_queue.u_entries.mem[n];
      for (int unsigned j = Effect + 3; j > 0; j--) begin
        automatic int unsigned k = j - 1;
        if (k <= Effect) begin
          if (u_queue.request_q[k].search.demand && found_q[k].hit &&
              32'(found_q[k].index) == n) begin
            rewarded_n = 1'b1;
            reward_n   = found_q[k].reward;
          end
          if (u_queue.request_q[k].search.fill && found_q[k].hit && 32'(found_q[k].index) == n)
            filled_n = 1'b1;
        end
        if (u_queue.request_q[k].insert.valid && 32'(u_queue.request_q[k].insert.place) == n) begin
          if (k <= Effect) begin
            rewarded_n = u_queue.request_q[k].insert.rewarded;
            filled_n   = 1'b0;
          end
          payload_n = u_queue.request_q[k].insert.payload;
          inserted_n = u_queue.request_q[k].insert.rewarded;
          inserted_reward_n = u_queue.request_q[k].insert.reward;
        end
      end
      if (past_q) begin
        Used_L : assert (used_q[n] == (full_q || n < 32'(place_q)));
        if (u_queue.request_q[0].insert.valid && 32'(u_queue.request_q[0].insert.place) == n) begin
          NewKey_L : assert (u_queue.request_q[0].insert.key == key_q[n]);
          NewUsed_L : assert (used_q[n] && u_queue.used_q[n] == u_queue.request_q[0].insert.leaves);
        end else begin
          Key_L : assert (!used_q[n] || u_queue.key_q[n] == key_q[n]);
          Using_L : assert (u_queue.used_q[n] == used_q[n]);
        end
        if (u_queue.request_q[0].insert.valid) begin
          OldOlder_L :
          assert (u_queue.older_q[n] == (!u_queue.request_q[0].insert.leaves ||
                                         n >= 32'(u_queue.request_q[0].insert.place)));
        end else begin
          Older_L : assert (u_queue.older_q[n] == (!full_q || n >= 32'(place_q)));
        end
        if (used_q[n]) begin
          Flags_L : assert (rewarded_n == rewarded_q[n] && filled_n == filled_q[n]);
          Payload_L : assert (payload_n == payload_q[n]);
          Inserted_L : assert (!inserted_n || rewarded_q[n]);
          Reward_L :
          assert (!rewarded_q[n] || reward_q[n] == (inserted_n ? inserted_reward_n : reward_n));
        end
      end
    end
  end

  // A demand waits for earlier requests with its key, so it finds the same entry as in the definition.
  function automatic logic searches(int unsigned k);
    return u_queue.request_q[k].search.demand || u_queue.request_q[k].search.fill;
  endfunction

  function automatic logic concerns(int unsigned k, logic [KeyBits-1:0] key);
    return (searches(k) && u_queue.request_q[k].search.key == key) ||
        (u_queue.request_q[k].insert.valid && u_queue.request_q[k].insert.key == key);
  endfunction

  for (genvar k = 0; k <= Effect; k++) begin : gen_stage
    logic apart, replaced;
    always_comb begin
      apart = 1'b1;
      for (int unsigned j = k + 1; j <= k + Effect && j <= Leave; j++) begin
        if (u_queue.request_q[k].search.demand && concerns(
                j, u_queue.request_q[k].search.key
            ) && (k > 0 || j + 32'(u_queue.hold_q) <= Effect))
          apart = 1'b0;
      end
      replaced = 1'b0;
      for (int unsigned j = 1; j <= k; j++) begin
        if (u_queue.request_q[j].insert.valid &&
            u_queue.request_q[j].insert.place == found_q[k].index)
          replaced = 1'b1;
      end
      if (past_q) begin
        Apart_L : assert (apart);
        One_L : assert (!u_queue.request_q[k].search.demand || !u_queue.request_q[k].search.fill);
        if (searches(k) && found_q[k].hit && !replaced) begin
          Key_L : assert (u_queue.key_q[found_q[k].index] == u_queue.request_q[k].search.key);
        end
      end
    end
  end

  for (genvar k = 1; k <= Effect + 1; k++) begin : gen_insert
    always_comb begin
      if (past_q && u_queue.request_q[k].insert.valid) begin
        InsertKey_L :
        assert (u_queue.key_q[u_queue.request_q[k].insert.place] ==
                u_queue.request_q[k].insert.key);
      end
    end
  end

  // The entry found by the request in stage 0, from the keys there and the flags after the requests ahead; and the
  // entry found among the matches in stage 1.
  logic [Entries-1:0] ahead_rewarded, ahead_filled;
  found_t ahead, matched;
  always_comb begin
    ahead_rewarded = u_queue.rewarded_q;
    ahead_filled   = u_queue.filled_q;
    for (int unsigned k = Effect; k > 0; k--) begin
      if (u_queue.request_q[k].search.demand && found_q[k].hit)
        ahead_rewarded[found_q[k].index] = 1'b1;
      if (u_queue.request_q[k].search.fill && found_q[k].hit) ahead_filled[found_q[k].index] = 1'b1;
      if (u_queue.request_q[k].insert.valid) begin
        ahead_rewarded[u_queue.request_q[k].insert.place] = u_queue.request_q[k].insert.rewarded;
        ahead_filled[u_queue.request_q[k].insert.place]   = 1'b0;
      end
    end
    {ahead, matched} = '0;
    for (int unsigned j = 2 * Entries; j > 0; j--) begin  // the older entries come last
      automatic logic [IndexBits-1:0] n = IndexBits'(j - 1);
      automatic logic older = j <= Entries;
      if (u_queue.used_q[n] && u_queue.older_q[n] == older &&
          u_queue.key_q[n] == u_queue.request_q[0].search.key &&
          !(u_queue.request_q[0].search.demand && ahead_rewarded[n])) begin
        ahead.hit   = 1'b1;
        ahead.index = n;
      end
      if (u_queue.match_older_q[n] == older && u_queue.match_q[n]) begin
        matched.hit   = 1'b1;
        matched.index = n;
      end
    end
    ahead.reward = rewards_i[u_queue.request_q[0].set][ahead_filled[ahead.index]?Timely : Late];
    matched.reward =
        rewards_i[u_queue.request_q[1].set][u_queue.match_filled_q[matched.index]?Timely : Late];
    if (past_q) begin
      if (searches(0)) begin
        AheadHit_L : assert (ahead.hit == found_q[0].hit);
        Ahead_L : assert (!ahead.hit || ahead.index == found_q[0].index);
      end
      if (searches(1)) begin
        MatchedHit_L : assert (matched.hit == found_q[1].hit);
        Matched_L : assert (!matched.hit || matched.index == found_q[1].index);
      end
      if (u_queue.request_q[0].search.demand) begin
        AheadReward_L : assert (!ahead.hit || ahead.reward == found_q[0].reward);
      end
      if (u_queue.request_q[1].search.demand) begin
        MatchedReward_L : assert (!matched.hit || matched.reward == found_q[1].reward);
      end
    end
  end

  // The entry to be evicted by a request, from the memories and the requests ahead.
  for (genvar j = 0; j < Leave; j++) begin : gen_leave
    logic [IndexBits-1:0] from;
    logic given, inserted;
    logic [Width-1:0] reward, inserted_reward;
    logic [PayloadBits-1:0] payload;
    logic [RoomBits-1:0] index;
    always_comb begin
      from = u_queue.request_q[j].insert.place;
      given = j > Effect ? u_queue.rewarded[j] : u_queue.rewarded_q[from];
      reward = j == Effect + 2 ? u_queue.u_rewards.ram_q : u_queue.u_rewards.mem[from];
      {payload, inserted, inserted_reward} =
          j == Effect + 2 ? u_queue.u_entries.ram_q : u_queue.u_entries.mem[from];
      index = u_queue.u_left.put_q[RoomBits-1:0];
      for (int unsigned k = Leave; k >= j && k <= Leave; k--) begin
        if (k <= Effect && u_queue.request_q[k].search.demand && found_q[k].hit &&
            found_q[k].index == from) begin
          given  = 1'b1;
          reward = found_q[k].reward;
        end
        if (k > j && u_queue.request_q[k].insert.valid &&
            u_queue.request_q[k].insert.place == from) begin
          if (k <= Effect) given = u_queue.request_q[k].insert.rewarded;
          if (k <= Effect + 2 && j < Effect + 2) begin
            payload = u_queue.request_q[k].insert.payload;
            inserted = u_queue.request_q[k].insert.rewarded;
            inserted_reward = u_queue.request_q[k].insert.reward;
          end
        end
        if (k > j) index = index + RoomBits'(u_queue.request_q[k].insert.leaves);
      end
      if (inserted) reward = inserted_reward;
      if (!given) reward = rewards_i[u_queue.request_q[j].set][Unused];
      if (past_q && u_queue.request_q[j].insert.leaves) begin
        LeavingGiven_L : assert (!inserted || given);
        Leaving_L : assert (left_q[index] == {payload, reward});
      end
    end
  end

  for (genvar s = 0; s < Room; s++) begin : gen_left
    logic [RoomBits:0] age;
    assign age[RoomBits-1:0] = RoomBits'(s) - u_queue.u_left.take_q[RoomBits-1:0];
    assign age[RoomBits] = 1'b0;
    always_comb begin
      if (past_q && age < (RoomBits + 1)'(u_queue.u_left.put_q - u_queue.u_left.take_q)) begin
        Left_L : assert (u_queue.u_left.words[s] == left_q[s]);
      end
    end
  end

  // --- The statement --------------------------------------------------------------------------------------
  left_t head;
  assign head = left_q[u_queue.u_left.take_q[RoomBits-1:0]];

  always_comb begin
    if (past_q) begin
      if (searches(Effect)) begin
        Found_A :
        assert (u_queue.hit == found_q[Effect].hit &&
                (!u_queue.hit || u_queue.hit_index == found_q[Effect].index));
      end
      if (u_queue.request_q[Effect].search.demand) begin
        Reward_A : assert (!u_queue.hit || u_queue.demand_reward == found_q[Effect].reward);
      end
      if (u_queue.request_q[Leave].insert.leaves) begin
        Leave_A :
        assert ({u_queue.old.payload, u_queue.leave_reward} ==
                left_q[u_queue.u_left.put_q[RoomBits-1:0]]);
      end
      Take_A : assert (u_queue.u_left.take_i == take);
      Pair_L : assert (u_queue.pair_q == (number_q != '0));
      Last_L : assert (!u_queue.pair_q || {learn_payload_o, learn_reward_o} == last_q);
      Learn_A :
      assert (learn_valid_o == (number_q != '0 && u_queue.u_left.put_q != u_queue.u_left.take_q));
      Pair_A :
      assert (!learn_valid_o || ({learn_payload_o, learn_reward_o} == last_q &&
              learn_next_payload_o == head.payload));

      Timely_C : cover (demands && found.hit && filled_q[found.index] && full_q);
      Wrapped_C : cover (demands && found.hit && full_q && found.index < place_q);
      Same_C : cover (leaves && demands && found.hit && found.index == place_q);
      Held_C : cover (u_queue.hold_q != '0);
      Full_C : cover (32'(u_queue.leaving_q) == Room && insert_valid_i && learn_valid_o);
    end
  end

endmodule
