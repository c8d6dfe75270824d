// SPDX-License-Identifier: Apache-2.0
// qs_update by Verilator: operands of one clock after the other, and the results before each clock's edge.

#include "Vqs_update.h"

static VerilatedContext context;
static Vqs_update top{&context};

extern "C" void run(long clocks, int valid, int alpha, int kappa, const std::int32_t *reward, const std::int32_t *entry,
                    const std::int32_t *maximum, const std::int32_t *bias, const std::uint8_t *flags,
                    std::int32_t *value, std::int32_t *not_value, std::int32_t *max, std::uint8_t *saturated) {
    top.valid_i = valid;
    top.alpha_i = alpha;
    top.kappa_i = kappa;
    top.greedy_i = 2;  // the lowest action wins a tie; the values are the same
    top.value_index_i = 1;
    for (long clock = 0; clock < clocks; clock++) {
        top.reward_i = reward[clock];
        top.entry_i = entry[clock];
        top.max_i = maximum[clock];
        top.bias_i = bias[clock];
        top.terminated_i = flags[clock] & 1;
        top.far_replaces_entry_i = flags[clock] >> 1 & 1;
        top.near_replaces_entry_i = flags[clock] >> 2 & 1;
        top.far_joins_max_i = flags[clock] >> 3 & 1;
        top.near_joins_max_i = flags[clock] >> 4 & 1;
        top.clk_i = 0;
        top.eval();
        value[clock] = top.value_o;
        not_value[clock] = top.not_value_o;
        max[clock] = top.max_o;
        saturated[clock] = top.saturated_o;
        top.clk_i = 1;
        top.eval();
    }
}
