/* Q-learning in C, as fast as plain C gets: the yardstick of the compiled Python in
 * sw/qstep/baselines/numba_table.py. Same operations in the same order, same random numbers, so the
 * tables are equal bit for bit. ACTIONS, 1 or more, is given on the command line, so that the
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
