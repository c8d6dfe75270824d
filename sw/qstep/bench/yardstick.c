/* Q-learning in C, as fast as plain C gets: the yardstick of the compiled Python in
 * sw/qstep/baselines/numba_table.py and, in fixed point, of sw/qstep/acting/fast_steps.py. Same
 * operations in the same order, same random numbers, so the tables are equal bit for bit. ACTIONS, 1 or more, is given on the command line, so that the
 * maximum over a row unrolls there too. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steele, Lea and Flood, OOPSLA 2014. */
static inline uint64_t splitmix64(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline double maximum(const double *row) {
    double best = row[0];
    for (size_t a = 1; a < ACTIONS; a++)
        if (row[a] > best) best = row[a];
    return best;
}

/* The lowest of the best actions. The value is kept apart: comparing with row[lowest] takes a load
 * more and a fifth of the speed. */
static inline size_t greedy(const double *row) {
    double best = row[0];
    size_t lowest = 0;
    for (size_t a = 1; a < ACTIONS; a++)
        if (row[a] > best) best = row[a], lowest = a;
    return lowest;
}

/* Walks through an environment epsilon-greedily and learns from every step. Tables are flat, row by
 * row; a random action is taken where 32 random bits are below `threshold`. */
void learn(double *restrict q, const uint32_t *restrict next_state, const double *restrict reward,
           const bool *restrict terminated, uint32_t start, int64_t updates, double alpha,
           double gamma, uint64_t threshold, uint64_t counter) {
    size_t state = start;
    for (int64_t i = 0; i < updates; i++) {
        counter += 0x9E3779B97F4A7C15u;
        const uint64_t bits = splitmix64(counter);
        const size_t action = (bits & 0xFFFFFFFFu) < threshold ? ((bits >> 32) * ACTIONS) >> 32
                                                               : greedy(q + state * ACTIONS);
        const size_t entry = state * ACTIONS + action;
        double target = reward[entry];
        if (terminated[entry]) {
            state = start;
        } else {
            state = next_state[entry];
            target += gamma * maximum(q + state * ACTIONS);
        }
        q[entry] += alpha * (target - q[entry]);
    }
}

/* Applies recorded transitions in order. */
void replay(double *restrict q, const uint32_t *restrict state, const uint32_t *restrict action,
            const double *restrict reward, const uint32_t *restrict next_state,
            const bool *restrict terminated, int64_t count, double alpha, double gamma) {
    for (int64_t i = 0; i < count; i++) {
        double target = reward[i];
        if (!terminated[i]) target += gamma * maximum(q + (size_t)next_state[i] * ACTIONS);
        const size_t entry = (size_t)state[i] * ACTIONS + action[i];
        q[entry] += alpha * (target - q[entry]);
    }
}

static inline uint32_t rotated(uint32_t word, int by) { return word << by | word >> (32 - by); }

static inline uint32_t mixing(uint32_t word) {
    return (rotated(word, 1) & rotated(word, 8)) ^ rotated(word, 2);
}

static inline size_t lowest_best(const int32_t *row) {
    int32_t best = row[0];
    size_t lowest = 0;
    for (size_t a = 1; a < ACTIONS; a++)
        if (row[a] > best) best = row[a], lowest = a;
    return lowest;
}

typedef struct {
    uint64_t word;
    int64_t state, action, episode_steps;
    int64_t terminations, truncations, saturations, return_sum;
} agent_t;

typedef struct {
    const int32_t *next_state, *reward;
    const bool *terminated;
    const int32_t *start_split, *start_state;
    int32_t start_bits, limit;
} world_t;

typedef struct {
    int64_t alpha, beta, kappa, low, high;
    uint32_t threshold;
} how_t;

/* Steps of one agent that has begun, as docs/acting.md has them, where the world has no chance but in
 * its starts, epsilon is constant and rounding goes to the nearest. */
void act(int32_t *restrict q, const world_t *restrict world, const how_t *restrict how,
         agent_t *restrict agent, int64_t steps) {
    const world_t in = *world;
    const how_t by = *how;
    const int rest_bits = 16 - in.start_bits;
    agent_t own = *agent;
    for (int64_t i = 0; i < steps; i++) {
        own.word ^= own.word << 13;
        own.word ^= own.word >> 7;
        own.word ^= own.word << 17;
        uint32_t upper = own.word >> 32, lower = own.word;
        for (int round = 0; round < 4; round++) {
            const uint32_t mixed = lower ^ mixing(upper);
            lower = upper, upper = mixed;
        }
        const uint32_t draw = upper & 0xFFFF, slot = draw >> rest_bits;
        const bool second = (int32_t)(draw & ((1u << rest_bits) - 1)) >= in.start_split[slot];
        const size_t start = in.start_state[2 * slot + second];

        const size_t entry = own.state * ACTIONS + own.action;
        const bool terminated = in.terminated[entry];
        const bool truncated = ++own.episode_steps == in.limit && !terminated;
        size_t onward = terminated ? start : (size_t)in.next_state[entry];
        size_t greedy = lowest_best(q + onward * ACTIONS);
        const int64_t target = terminated ? 0 : q[onward * ACTIONS + greedy];
        if (truncated) onward = start, greedy = lowest_best(q + onward * ACTIONS);

        const int64_t sum = by.beta * q[entry] + by.alpha * in.reward[entry] + by.kappa * target;
        const int64_t exact = (sum + (1 << 14)) >> 15;
        const int64_t value = exact < by.low ? by.low : exact > by.high ? by.high : exact;
        q[entry] = (int32_t)value;
        own.terminations += terminated;
        own.truncations += truncated;
        own.saturations += value != exact;
        own.return_sum += in.reward[entry];
        if (terminated | truncated) own.episode_steps = 0;
        own.state = onward;
        own.action = lower >> 16 < by.threshold ? (lower & 0xFFFF) * ACTIONS >> 16 : greedy;
    }
    *agent = own;
}
