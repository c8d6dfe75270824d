// SPDX-License-Identifier: Apache-2.0
// A netlist of gates, 128 simulations at once: each net is a word, each bit of it another simulation.
//
// "gates.h", which bit_slices.py writes, gives the widths of the ports, the number of registers, and one
// clock of the gates. In arrays of operands a row is a clock and a column, a lane, is a simulation.

#include <cstdint>

typedef std::uint32_t Word __attribute__((vector_size(16)));

#include "gates.h"

namespace {

constexpr long GROUPS = sizeof(Word) / 4;

// Bit j of word i becomes bit i of word j (Warren, "Hacker's Delight", section 7-3, from the other end).
void transpose(std::uint32_t (&words)[32]) {
    std::uint32_t mask = 0x0000FFFF;
    for (int half = 16; half; half >>= 1, mask ^= mask << half)
        for (int k = 0; k < 32; k = (k + half + 1) & ~half) {
            const std::uint32_t swapped = (words[k] >> half ^ words[k + half]) & mask;
            words[k] ^= swapped << half;
            words[k + half] ^= swapped;
        }
}

void slice(const std::uint32_t *lanes, int width, Word *nets) {
    for (long group = 0; group < GROUPS; group++) {
        std::uint32_t words[32];
        for (int k = 0; k < 32; k++) words[k] = lanes[32 * group + k];
        transpose(words);
        for (int bit = 0; bit < width; bit++) nets[bit][group] = words[bit];
    }
}

void join(const Word *nets, int width, std::uint32_t *lanes) {
    for (long group = 0; group < GROUPS; group++) {
        std::uint32_t words[32] = {};
        for (int bit = 0; bit < width; bit++) words[bit] = nets[bit][group];
        transpose(words);
        for (int k = 0; k < 32; k++) lanes[32 * group + k] = words[k];
    }
}

}  // namespace

extern "C" const long qs_lanes = 32 * GROUPS;

// Every register begins at 0. An input of stride 0 is the same in each clock; outputs are those before the
// clock's edge.
extern "C" void qs_run(long clocks, long lanes, const std::uint32_t *const *inputs, const long *strides,
                       std::uint32_t *const *outputs) {
    for (long first = 0; first < lanes; first += 32 * GROUPS) {
        Word in[INPUT_BITS], state[REGISTERS] = {}, out[OUTPUT_BITS];
        for (long clock = 0; clock < clocks; clock++) {
            Word *nets = in;
            for (int port = 0; port < INPUTS; nets += INPUT_WIDTHS[port++])
                if (clock == 0 || strides[port])
                    slice(inputs[port] + clock * strides[port] + first, INPUT_WIDTHS[port], nets);
            step(in, state, out);
            nets = out;
            for (int port = 0; port < OUTPUTS; nets += OUTPUT_WIDTHS[port++])
                join(nets, OUTPUT_WIDTHS[port], outputs[port] + clock * lanes + first);
        }
    }
}
