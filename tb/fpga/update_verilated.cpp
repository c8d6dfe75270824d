// SPDX-License-Identifier: Apache-2.0
// qs_update by Verilator, to be run as bit slices are (bit_slices.cpp), one lane after the other.

#include "Vqs_update.h"

extern "C" const long qs_lanes = 1;

extern "C" void qs_run(long clocks, long lanes, const std::uint32_t *const *inputs, const long *strides,
                       std::uint32_t *const *outputs) {
    for (long lane = 0; lane < lanes; lane++) {
        VerilatedContext context;
        Vqs_update top{&context};
        top.eval();  // at the first evaluation not every net follows what is initial
        for (long clock = 0; clock < clocks; clock++) {
            int port = 0;
            const auto next = [&] {
                const long k = port++;
                return inputs[k][clock * strides[k] + lane];
            };
            top.rst_i = next();
            top.valid_i = next();
            top.alpha_i = next();
            top.kappa_i = next();
            top.reward_i = next();
            top.entry_i = next();
            top.max_i = next();
            top.greedy_i = next();
            top.terminated_i = next();
            top.bias_i = next();
            top.take_far_i = next();
            top.join_far_i = next();
            top.take_near_i = next();
            top.join_near_i = next();
            top.value_index_i = next();
            top.clk_i = 0;
            top.eval();
            port = 0;
            for (const std::uint32_t value : {std::uint32_t{top.value_o}, std::uint32_t{top.not_value_o},
                                              std::uint32_t{top.max_o}, std::uint32_t{top.greedy_o},
                                              std::uint32_t{top.saturated_o}})
                outputs[port++][clock * lanes + lane] = value;
            top.clk_i = 1;
            top.eval();
        }
    }
}
