// SPDX-License-Identifier: Apache-2.0
// The link's COBS encoder sends a legal encoding of exactly its input bytes.
//
// Function    Each row of the ring has a meaning: a byte, a zero, the split of a full block, or the end or start of a
//             frame. Taken in order, the meanings of the rows spell out the input. By the rules of COBS, a decoder
//             interprets every fetched row according to its meaning, provided that it interpreted the previous code
//             or delimiter correctly; for the first row, no such condition applies. The line receives exactly the
//             fetched rows. The proof watches two arbitrary rows: one with a code or a delimiter, and a later one.
// Assumed     Power-up is a reset; another may come at any time.

module encoder_proof (
    input logic       clk,
    input logic       rst,
    input logic       frame__valid,
    input logic       last_i,
    input logic [7:0] byte_i,
    input logic       line__ready
);

  logic frame__ready, line__valid, empty;
  logic [7:0] line__payload;
  cobs_encoder u_encoder (
      .frame__payload({last_i, byte_i}),
      .*
  );

  typedef enum logic [2:0] {
    Byte,
    Zero,
    Split,
    Ends,
    Begins
  } meaning_e;

  typedef logic [8:0] row_t;
  row_t read, free, placeholder;
  logic [7:0] run;
  assign read = u_encoder.read;
  assign free = u_encoder.free;
  assign placeholder = u_encoder.placeholder;
  assign run = u_encoder.run;

  // A new row, and its meaning.
  logic accepts, takes, closing, delimiting, past_q = 1'b0;
  meaning_e meaning;
  assign accepts = frame__valid && frame__ready;
  assign takes = u_encoder.move;
  assign closing = u_encoder.closing;
  assign delimiting = u_encoder.delimiting;
  always_comb begin
    if (accepts) meaning = byte_i == 0 ? Zero : Byte;
    else meaning = delimiting ? Begins : closing ? Ends : Split;
  end

  // The watched rows, arbitrary constants; p is before w.
  row_t p, w;
  meaning_e p_meaning_q, w_meaning_q;
  logic [7:0] w_byte_q;

  // A decoder of the fetched rows. follows_p_q: p is the last row that it interpreted as a code or a delimiter, and
  // the interpretation was correct.
  logic fetches, inside_q = 1'b0, fresh_q = 1'b1, offered_q = 1'b0, follows_p_q = 1'b0;
  logic [7:0] fetched, left_q = '0, code_q, offer_q;
  assign fetches = u_encoder.reader.more && (!line__valid || line__ready);
  assign fetched = u_encoder.memory[read];

  always_ff @(posedge clk) begin
    p <= p;
    w <= w;
    past_q <= 1'b1;
    if (takes && free == p) p_meaning_q <= meaning;
    if (takes && free == w) {w_meaning_q, w_byte_q} <= {meaning, byte_i};
    if (fetches) begin
      fresh_q <= 1'b0;
      offer_q <= fetched;
      if (fetched == 0) {inside_q, left_q} <= '0;
      else if (left_q == 0) begin
        {inside_q, left_q, code_q} <= {1'b1, fetched - 8'd1, fetched};
      end else left_q <= left_q - 1'b1;
      if (fetched == 0 || left_q == 0)
        follows_p_q <= read == p && p_meaning_q != Byte && left_q == 0;
    end
    offered_q <= fetches || (line__valid && !line__ready);
    if (rst) begin
      {inside_q, left_q, offered_q, follows_p_q} <= '0;
      fresh_q <= 1'b1;
      if (p == 0) p_meaning_q <= Ends;
      if (w == 0) w_meaning_q <= Ends;
    end
  end

  // Number of rows from the read row to the open placeholder, and distances to the watched rows.
  row_t rows, w_ahead, p_ahead, w_after_p, w_open, p_open;
  logic p_final, w_final;
  logic [7:0] p_value, w_value;
  assign rows = placeholder - read;
  assign w_ahead = w - read;
  assign p_ahead = p - read;
  assign w_after_p = w - p;
  assign w_open = w - placeholder;
  assign p_open = p - placeholder;
  assign p_final = p_ahead < rows;
  assign w_final = w_ahead < rows;
  assign p_value = u_encoder.memory[p];
  assign w_value = u_encoder.memory[w];

  // Whether a row's meaning may follow a code.
  function automatic logic follows(meaning_e meaning, logic [7:0] code);
    return meaning == Ends || meaning == (code == 8'd255 ? Split : Zero);
  endfunction

  always_comb begin
    assume (past_q || rst);
    assume (p != w);
    if (past_q) begin
      // The ring, and the open block
      Open_L : assert (free == placeholder + row_t'(run) && run != 0);
      Room_L : assert (11'(rows) + 11'(run) <= 11'd512);
      Space_L : assert (!u_encoder.space || 11'(rows) + 11'(run) <= 11'd511);
      Busy_L : assert (u_encoder.busy == (run == 8'd255 || closing || delimiting));
      Delimiting_L : assert (!delimiting || (run == 1 && !closing));
      More_L : assert (!u_encoder.reader.more || rows != 0);
      Following_L : assert (u_encoder.reader.following == read + row_t'(1));
      OpenByte_L :
      assert (!(w_open != 0 && w_open < row_t'(run)) ||
              (w_meaning_q == Byte && w_value == w_byte_q && w_value != 0));
      OpenCode_L :
      assert (w != placeholder ||
              (w_meaning_q != Byte && (w_meaning_q == Ends) == delimiting &&
               w_meaning_q <= Begins));
      OpenByteP_L : assert (!(p_open != 0 && p_open < row_t'(run)) || p_meaning_q == Byte);
      OpenCodeP_L :
      assert (p != placeholder || (p_meaning_q != Byte && (p_meaning_q == Ends) == delimiting));

      // Rows that are final
      FinalByte_L :
      assert (!(w_final && w_meaning_q == Byte) || (w_value == w_byte_q && w_value != 0));
      FinalCode_L :
      assert (!(w_final && w_meaning_q != Byte) || (w_value == 0) == (w_meaning_q == Ends));
      FinalCodeP_L :
      assert (!(p_final && p_meaning_q != Byte) || (p_value == 0) == (p_meaning_q == Ends));
      if (p_final && p_meaning_q != Byte && p_meaning_q != Ends) begin
        BlockFits_L : assert (10'(p_ahead) + 10'(p_value) <= 10'(rows));
        BlockByte_L : assert (!(w_after_p < row_t'(p_value)) || w_meaning_q == Byte);
        BlockEnd_L : assert (w_after_p != row_t'(p_value) || follows(w_meaning_q, p_value));
      end
      if (p_final && p_meaning_q == Ends) begin
        AfterEnd_L : assert (w_after_p != 1 || w_meaning_q == Begins);
      end

      // The decoder
      Fresh_L : assert (!fresh_q || (read == 0 && !inside_q && (w != 0 || w_meaning_q == Ends)));
      Outside_L : assert (inside_q || left_q == 0);
      if (inside_q && follows_p_q) begin
        Left_L : assert (row_t'(left_q) <= rows);
        InBlock_L : assert (!(w_ahead < row_t'(left_q)) || w_meaning_q == Byte);
        AtEnd_L : assert (w_ahead != row_t'(left_q) || follows(w_meaning_q, code_q));
      end
      if (!inside_q && follows_p_q) begin
        AtBegin_L : assert (w_ahead != 0 || w_meaning_q == Begins);
      end

      // The theorem
      if (fetches && read == w && (fresh_q || follows_p_q)) begin
        Byte_A : assert (w_meaning_q != Byte || (left_q != 0 && fetched == w_byte_q));
        Code_A : assert (w_meaning_q == Byte || left_q == 0);
        Zero_A : assert (w_meaning_q != Zero || (inside_q && code_q != 8'd255 && fetched != 0));
        Split_A : assert (w_meaning_q != Split || (inside_q && code_q == 8'd255 && fetched != 0));
        Begins_A : assert (w_meaning_q != Begins || (!inside_q && fetched != 0));
        Ends_A : assert (w_meaning_q != Ends || fetched == 0);
      end
      Offer_A : assert (line__valid == offered_q && (!line__valid || line__payload == offer_q));
      Takes_A : assert (!accepts || (takes && !closing && !delimiting));
      Zero_C : cover (fetches && read == w && w_meaning_q == Zero && follows_p_q && takes);
      Twice_C :
      cover (fetches && fetched == 0 && read == w && follows_p_q && read > 9'd4 && p > 9'd4);
    end
  end

endmodule
