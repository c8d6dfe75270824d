// The interleaved lane and its world behind a few C functions, so that a bench runs at Verilator's speed.

#include <cstdint>
#include <string>

#include "Vqs_acting.h"
#include "verilated.h"

namespace {

struct Lane {
  VerilatedContext context;
  Vqs_acting top;
  std::uint64_t clocks = 0;

  // Registers get their first values, random ones, when the model is made.
  explicit Lane(int seed) : top{(context.randReset(2), context.randSeed(seed), &context)} {}

  void clock() {
    top.clk_i = 0;
    top.eval();
    top.clk_i = 1;
    top.eval();
    ++clocks;
  }
};

}  // namespace

extern "C" {

Lane *lane_new(int seed) {
  auto *lane = new Lane(seed);
  lane->context.fatalOnError(false);
  lane->top.bus_valid_i = lane->top.run_i = lane->top.stop_i = 0;
  // Until the random values have left the pipelines: they would be written to tables, which hold nothing yet.
  lane->top.rst_i = 1;
  for (int n = 0; n < 64; ++n) lane->clock();
  lane->top.rst_i = 0;
  return lane;
}

void lane_delete(Lane *lane) {
  lane->top.final();
  delete lane;
}

std::uint64_t lane_clocks(const Lane *lane) { return lane->clocks; }

int lane_errors(const Lane *lane) { return lane->context.errorCount(); }

int lane_busy(const Lane *lane) { return lane->top.busy_o; }

// Returns what was read, or -1 if the access did not end in time.
std::int64_t lane_access(Lane *lane, int write, int region, std::uint32_t index, std::uint32_t data) {
  auto &top = lane->top;
  top.bus_valid_i = 1;
  top.bus_write_i = write;
  top.bus_region_i = region;
  top.bus_index_i = index;
  top.bus_data_i = data;
  std::int64_t read = -1;
  for (int n = 0; n < 2000 && read < 0; ++n) {
    lane->clock();
    if (top.bus_done_o) read = top.bus_data_o;
  }
  lane->clock();
  top.bus_valid_i = 0;
  lane->clock();
  return read;
}

void lane_run(Lane *lane, std::uint64_t steps) {
  lane->top.run_i = 1;
  lane->top.run_steps_i = steps;
  lane->clock();
  lane->top.run_i = 0;
  lane->top.eval();
}

void lane_stop(Lane *lane) {
  lane->top.stop_i = 1;
  lane->clock();
  lane->top.stop_i = 0;
}

// Runs until idle, `most` clocks at most; returns how many it took.
std::uint64_t lane_wait(Lane *lane, std::uint64_t most) {
  std::uint64_t begin = lane->clocks;
  do lane->clock();
  while (lane->top.busy_o && lane->clocks - begin < most);
  return lane->clocks - begin;
}

void lane_clock(Lane *lane, std::uint64_t count) {
  while (count--) lane->clock();
}
}
