/* Q-learning in C, as fast as plain C gets: the yardstick of the compiled Python in
 * sw/qstep_bench/baselines/numba_table.py and, in fixed point, of sw/qstep/golden/agents_kernel.py. The random
 * numbers and the rounding are the same, so the tables are equal bit for bit. The command line defines
 * ACTIONS, 1 or more, so that the maximum over a row unrolls here too, and LANES. */

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

/* LANES agents with tables of their own, one array per quantity. */
typedef struct {
    uint64_t word[LANES];
    int64_t return_sum[LANES];
    int32_t base[LANES], entry[LANES], episode_steps[LANES];
    int32_t alpha[LANES], kappa[LANES], threshold[LANES];
    int32_t terminations[LANES], truncations[LANES], saturations[LANES];
} block_t;

typedef struct {
    const int32_t *reward, *onward; /* of an entry: base of the next row << 1 | terminated */
    const int32_t *start_split, *start_base;
    int32_t start_bits, limit, low, high; /* start_bits is -1 if there is one start */
} memory_t;

/* The same steps for many agents at once, in loops over the agents that the compiler vectorises. Values
 * have at most 16 bits: then 32 hold the sum of an update. Fewer than 2^31 steps. */
void act_together(int32_t *restrict q, const memory_t *restrict memory, block_t *restrict block,
                  int64_t steps) {
    const memory_t in = *memory;
    const int32_t *restrict reward_of = in.reward, *restrict onward_of = in.onward;
    uint32_t upper[LANES], lower[LANES];
    int32_t start[LANES], reward[LANES], truncated[LANES], place[LANES], value[LANES];
    for (int k = 0; k < LANES; k++) start[k] = in.start_base[0];
    for (int64_t i = 0; i < steps; i++) {
        for (int k = 0; k < LANES; k++) {
            uint64_t word = block->word[k];
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            block->word[k] = word;
            uint32_t left = word >> 32, right = word;
            for (int round = 0; round < 4; round++) {
                const uint32_t mixed = right ^ mixing(left);
                right = left, left = mixed;
            }
            upper[k] = left, lower[k] = right;
        }
        if (in.start_bits >= 0)
            for (int k = 0; k < LANES; k++) {
                const int rest_bits = 16 - in.start_bits;
                const int32_t draw = upper[k] & 0xFFFF, slot = draw >> rest_bits;
                const int32_t rest = draw & ((1 << rest_bits) - 1);
                start[k] = in.start_base[2 * slot + (rest >= in.start_split[slot])];
            }
        int32_t any = 0;
        for (int k = 0; k < LANES; k++) {
            const int32_t entry = block->entry[k], base = block->base[k], onward = onward_of[entry];
            const int32_t terminated = onward & 1, steps_now = block->episode_steps[k] + 1;
            const int32_t cut = (steps_now == in.limit) & ~terminated;
            reward[k] = reward_of[entry];
            truncated[k] = cut;
            any |= cut;
            block->episode_steps[k] = terminated | cut ? 0 : steps_now;
            block->terminations[k] += terminated;
            block->truncations[k] += cut;

            const int32_t next = terminated ? start[k] : onward >> 1;
            int32_t best = q[base + next], lowest = 0;
            for (int a = 1; a < ACTIONS; a++) {
                const int32_t other = q[base + next + a];
                lowest = other > best ? a : lowest;
                best = other > best ? other : best;
            }
            const int32_t target = terminated ? 0 : best, old = q[base + entry];
            /* Unsigned, as only the whole sum has to fit: it is beta Q + alpha r + kappa m. */
            const uint32_t sum = ((uint32_t)old << 15) + (uint32_t)block->alpha[k] * (reward[k] - old) +
                                 (uint32_t)block->kappa[k] * target + (1 << 14);
            const int32_t exact = (int32_t)sum >> 15;
            place[k] = base + entry;
            value[k] = exact < in.low ? in.low : exact > in.high ? in.high : exact;
            block->saturations[k] += value[k] != exact;
            const int32_t drawn = (lower[k] & 0xFFFF) * ACTIONS >> 16;
            block->entry[k] = next + ((int32_t)(lower[k] >> 16) < block->threshold[k] ? drawn : lowest);
        }
        if (any)
            for (int k = 0; k < LANES; k++)
                if (truncated[k]) {
                    const int32_t drawn = (lower[k] & 0xFFFF) * ACTIONS >> 16;
                    const int32_t greedy = lowest_best(q + block->base[k] + start[k]);
                    const bool explores = (int32_t)(lower[k] >> 16) < block->threshold[k];
                    block->entry[k] = start[k] + (explores ? drawn : greedy);
                }
        for (int k = 0; k < LANES; k++) block->return_sum[k] += reward[k];
        for (int k = 0; k < LANES; k++) q[place[k]] = value[k];
    }
}
