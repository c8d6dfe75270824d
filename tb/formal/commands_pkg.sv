// SPDX-License-Identifier: Apache-2.0
// Types shared by the proofs of the commands: the answer, and the internal state of the request reader.

package commands_pkg;

  localparam logic [2:0] OK = 3'd0, DUPLICATE = 3'd1, OUT_OF_RANGE = 3'd6;
  localparam int unsigned MostArguments = 13;

  typedef struct packed {
    logic [15:0] data_bytes;
    logic [2:0]  status;
    logic [15:0] seq;
    logic [7:0]  kind;
  } answer_t;

  // A request type in docs/link.md: `size` bytes of arguments; with `open`, at least `least` bytes of payload.
  typedef struct packed {
    logic       known;
    logic       open;
    logic       applies;  // does not wait for the device to be quiet
    logic [3:0] size;
    logic [4:0] least;
  } needs_t;

  typedef enum logic [2:0] {
    Offer,
    Judge,
    Decide,
    Header,
    Arguments
  } reader_e;

  typedef enum logic [2:0] {
    Idle,
    Linger,
    Discard,
    Work,
    Answer
  } doing_e;

  typedef struct packed {
    logic [2:0]                 state;
    logic [3:0]                 index;
    logic                       mine;
    logic                       heading;
    logic                       passing;
    logic                       spent;
    logic [10:0]                left;
    logic [7:0]                 kind;
    logic [15:0]                seq;
    logic [2:0]                 status;
    logic                       judge;
    logic                       known;
    logic                       fits;
    logic                       is_apply;
    logic                       has_arguments;
    logic [3:0]                 last_argument;
    logic                       at_last;
    logic [MostArguments*8-1:0] fields;
  } reader_t;

endpackage
