// SPDX-License-Identifier: Apache-2.0
// The commands of a device with agents answer each good frame once, and execute only requests that pass all checks.
//
// Function    The properties of commands_frames hold for each frame. Only a request that was passed to its handler
//             causes a run, a stop, a write or a count.
// Assumed     The assumptions of commands_frames. The device is quiet only if all words of an answer had been sent by
//             the previous clock.

module commands_proof
  import commands_pkg::*;
(
    input logic clk,
    input logic rst,

    input logic bytes__valid,
    input logic [7:0] bytes__payload,
    input logic quiet,
    input logic line_break,
    input logic answers__ready,
    input logic data__ready,
    input logic agents__busy,
    input logic agents__done,
    input logic [31:0] agents__read,
    input logic agents__silent,
    input logic [3:0] agents__silent_agent
);

  logic data__valid, count, agents__access, agents__write, agents__run, agents__stop;
  commands u_commands (
      .bytes__ready(),
      .answers__payload(),
      .answers__valid(),
      .session__epoch(),
      .session__expected(),
      .session__nonce(),
      .agents__lane(),
      .agents__region(),
      .agents__index(),
      .agents__word(),
      .agents__steps(),
      .data__payload(),
      .divisor(),
      .asks_quiet(),
      .refused(),
      .busy(),
      .*
  );

  // --- The frame --------------------------------------------------------------------------------------
  logic past, answers, starts, started, waits;
  logic [3:0] work_bound;
  logic [10:0] left;
  logic [7:0] kind;
  doing_e doing;
  needs_t needs;
  assign doing = doing_e'(u_commands.fsm_state);
  assign waits = (agents__access && !agents__done) || (data__valid && !data__ready);

  // The fields of `needs`: {known, open, applies, size, least}
  always_comb begin
    needs = '0;
    case (kind)
      8'd1: needs = '{1'b1, 1'b0, 1'b0, 4'd4, 5'd0};
      8'd12: needs = '{1'b1, 1'b0, 1'b0, 4'd2, 5'd0};
      8'd13: needs = '{1'b1, 1'b1, 1'b0, 4'd13, 5'd16};
      8'd14: needs = '{1'b1, 1'b0, 1'b0, 4'd13, 5'd0};
      8'd15: needs = '{1'b1, 1'b0, 1'b0, 4'd8, 5'd0};
      8'd10, 8'd11, 8'd16, 8'd17: needs.known = 1'b1;
      default: ;
    endcase
  end

  commands_frames u_frames (
      .clk_i(clk),
      .rst_i(rst),
      .doing_i(doing),
      .needs_i(needs),
      .waits_i(waits),
      .work_bound_i(work_bound),
      .past_o(past),
      .takes_o(),
      .answers_o(answers),
      .starts_o(starts),
      .head_o(),
      .left_o(left),
      .kind_o(kind),
      .started_o(started),
      .arguments_o()
  );

  // --- The handler ------------------------------------------------------------------------------------
  // Some words of an answer have not been sent yet.
  logic sends, sent_q;
  logic [2:0] handler;
  assign handler = u_commands.agents.fsm_state;
  assign sends   = handler inside {3'd5, 3'd6};
  always_ff @(posedge clk) sent_q <= !sends && !u_commands.agents.request__answered;
  always_comb begin
    assume (!quiet || sent_q);
    assume (!agents__done || agents__access);
    case (handler)
      3'd0: work_bound = 4'd3;
      3'd1: work_bound = 4'd4;
      3'd3: work_bound = 4'd0;
      default: work_bound = 4'd5;
    endcase
  end

  // Clocks since power-up. Each cover is tried only in the clock in which it is reached if nothing has to wait.
  logic [6:0] clock_q = '0;
  always_ff @(posedge clk) clock_q <= clock_q + 1'b1;

  always_comb begin
    if (past) begin
      State_L : assert (handler <= 3'd6);
      Discarding_L : assert (u_commands.discarding == (doing == Discard));
      Handler_L : assert (handler inside {3'd4, 3'd5, 3'd6} || doing == Work);
      Handled_L : assert (!(handler inside {3'd2, 3'd3}) || kind == 8'd13);
      HandledKind_L : assert (!(handler inside {3'd0, 3'd1}) || kind inside {8'd13, 8'd14, 8'd15});
      Collects_L :
      assert (handler != 3'd2 || (left != '0 && 2'(left) == 2'(-u_commands.agents.\byte )));
      Collecting_L : assert (u_commands.agents.request__payload__ready == (handler == 3'd2));
      Stores_L : assert (handler != 3'd3 || (left[1:0] == '0 && u_commands.agents.\byte == '0));
      Judged_L :
      assert (handler != 3'd1 || kind != 8'd13 || u_commands.agents.is_cut || left[1:0] == '0);
      Nonempty_L : assert (!(handler inside {3'd0, 3'd1}) || kind != 8'd13 || left >= 11'd3);
      LingerKind_L : assert (doing != Linger || handler == 3'd4);
      Sends_L : assert (!sends || u_frames.reader.state inside {Header, Judge, Decide});

      Nothing_A :
      assert (!(agents__run || agents__stop || count || (agents__access && agents__write)) ||
              started || starts);
    end
    Refused_C : cover (clock_q == 7'd14 && answers && u_frames.answer.status == 3'd5);
    Run_C : cover (clock_q == 7'd40 && agents__run);
    Stored_C : cover (clock_q == 7'd52 && answers && u_frames.answer.status == OK && kind == 8'd13);
  end

endmodule
