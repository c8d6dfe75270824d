// A device, with registers and memories that begin with random values, behind a few C functions.

#include <cstdint>

#include "Vqstep_device.h"
#include "verilated.h"

namespace {

struct Device {
  VerilatedContext context;
  Vqstep_device top;

  // Registers and memories get their first values when the model is made: random ones, or 0 for a seed of 0.
  explicit Device(int seed)
      : top{(context.randReset(seed == 0 ? 0 : 2), context.randSeed(seed), &context)} {
    context.fatalOnError(false);
    top.tx_ready = 1;
    top.line_break = 0;
    top.build = 0;
  }
};

}  // namespace

extern "C" {

Device *device_new(int seed) { return new Device(seed); }

int device_delete(Device *device) {
  const int errors = device->context.errorCount();
  device->top.final();
  delete device;
  return errors;
}

// Forgets what has failed so far.
void device_forgive(Device *device) { device->context.errorCount(0); }

// Passes clocks with these inputs, each {reset, valid, data:8}, and writes what is seen before each rising edge:
// {rx_ready, tx_valid, tx_data:8, divisor:16}, with tx_data 0 unless it is valid.
void device_run(Device *device, const std::uint16_t *in, std::uint32_t *out, std::uint64_t clocks) {
  auto &top = device->top;
  for (std::uint64_t n = 0; n < clocks; ++n) {
    top.rst = in[n] >> 9 & 1;
    top.rx_valid = in[n] >> 8 & 1;
    top.rx_data = in[n] & 0xFF;
    top.clk = 0;
    top.eval();
    const std::uint32_t data = top.tx_valid ? top.tx_data : 0;
    out[n] = top.rx_ready << 25 | top.tx_valid << 24 | data << 16 | top.divisor;
    top.clk = 1;
    top.eval();
  }
}

}  // extern "C"
