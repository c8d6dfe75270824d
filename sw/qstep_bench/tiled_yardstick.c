/* Q-learning in an integer world seen through tiles, as fast as plain C gets: the yardstick of
 * sw/qstep/golden/tiled_kernel.py, to which its weights are equal bit for bit. The command line defines
 * ACTIONS, TILINGS (a power of two), GROUPS of two coordinates each, and COORDINATES: 2 for Mountain Car,
 * 4 for CartPole. */

#include "yardstick.c"

enum { PLANES = GROUPS * TILINGS };

typedef struct {
    int32_t low, most, radix, scale, shift;
} coordinate_t;

typedef struct {
    const int16_t *columns; /* of 1024 entries, one after the other */
    coordinate_t coordinates[COORDINATES];
    int32_t pick[GROUPS][2]; /* the coordinates of a group */
    int32_t reward, limit, stride, fraction;
    int64_t alpha, kappa, low, high;
    uint32_t threshold;
} tiled_t;

typedef struct {
    uint64_t word;
    int64_t action, episode_steps;
    int64_t terminations, truncations, saturations;
    int32_t state[COORDINATES];
} tiled_agent_t;

/* docs/features.md has the arithmetic, and sw/qstep/spec/integer_worlds.py defines it. */
#if COORDINATES == 2
enum { WALL = -10066330, GOAL = 4194304, FASTEST = 587203, ENGINE = 8389, VALLEY = -5033164 };

static inline void start(int32_t *state, uint32_t draw) {
    state[0] = VALLEY + (int32_t)((51 * draw) >> 1);
    state[1] = 0;
}

static inline bool move(const int16_t *columns, int32_t *state, int32_t action) {
    int32_t velocity = state[1] + (action - 1) * ENGINE + columns[(state[0] - WALL) >> 14];
    velocity = velocity < -FASTEST ? -FASTEST : velocity > FASTEST ? FASTEST : velocity;
    int32_t position = state[0] + velocity;
    if (position <= WALL) position = WALL, velocity = velocity < 0 ? 0 : velocity;
    state[0] = position, state[1] = velocity;
    return position >= GOAL;
}

static inline void observe(const int32_t *state, int32_t *seen) {
    seen[0] = state[0] >> 9, seen[1] = state[1] >> 5;
}
#else
enum { FARTHEST = 161061273, STEEPEST = 14055247 };

static inline void start(int32_t *state, uint32_t draw) {
    for (int k = 0; k < 4; k++)
        state[k] = (2 * (int32_t)(draw >> (12 - 4 * k) & 15) - 15) * (k % 2 ? 4194 : 209715);
}

static inline bool move(const int16_t *columns, int32_t *state, int32_t action) {
    const int16_t *column = columns + (state[2] >> 15) + 512;
    const int32_t square = ((state[3] >> 9) * (state[3] >> 9)) >> 16, sign = action ? 1 : -1;
    const int32_t turn = (column[0] << 2) - ((column[1024] * square) >> 12) - sign * (column[2048] << 4);
    const int32_t speed_up = column[3072] + ((column[4096] * square) >> 13) + sign * (column[5120] << 3);
    state[0] += state[1], state[2] += state[3];
    state[1] += speed_up, state[3] += turn;
    return state[0] > FARTHEST || state[0] < -FARTHEST || state[2] > STEEPEST || state[2] < -STEEPEST;
}

static inline void observe(const int32_t *state, int32_t *seen) {
    seen[0] = state[0] >> 14, seen[1] = state[1] >> 14;
    seen[2] = state[2] >> 11, seen[3] = state[3] >> 11;
}
#endif

/* Writes the first entry of the row in each plane. */
static inline void locate(const tiled_t *in, const int32_t *state, int32_t *entries) {
    int32_t seen[COORDINATES], unit[COORDINATES];
    observe(state, seen);
    for (int k = 0; k < COORDINATES; k++) {
        const coordinate_t c = in->coordinates[k];
        const int32_t u = (int32_t)((int64_t)(seen[k] - c.low) * c.scale >> c.shift);
        unit[k] = u < 0 ? 0 : u > c.most ? c.most : u;
    }
    for (int g = 0; g < GROUPS; g++) {
        const int32_t first = in->pick[g][0], second = in->pick[g][1];
        for (int t = 0; t < TILINGS; t++) {
            const int32_t row = (unit[first] + t) / TILINGS * in->coordinates[second].radix +
                                (unit[second] + 3 * t % TILINGS) / TILINGS;
            entries[g * TILINGS + t] = (g * TILINGS + t) * in->stride + row * ACTIONS;
        }
    }
}

static inline int32_t valued(const int32_t *w, const int32_t *entries, int32_t action) {
    int32_t total = 0;
    for (int p = 0; p < PLANES; p++) total += w[entries[p] + action];
    return total;
}

static inline int32_t best_of(const int32_t *w, const int32_t *entries, int32_t *lowest) {
    int32_t best = valued(w, entries, 0);
    *lowest = 0;
    for (int a = 1; a < ACTIONS; a++) {
        const int32_t value = valued(w, entries, a);
        *lowest = value > best ? a : *lowest;
        best = value > best ? value : best;
    }
    return best;
}

/* Steps of one agent that has begun, with constant epsilon and rounding to nearest. Values have at most 16
 * bits. */
void act_through_tiles(int32_t *restrict w, const tiled_t *restrict given,
                       tiled_agent_t *restrict agent, int64_t steps) {
    const tiled_t in = *given;
    tiled_agent_t own = *agent;
    int32_t entries[PLANES], next[PLANES];
    locate(&in, own.state, entries);
    for (int64_t i = 0; i < steps; i++) {
        own.word ^= own.word << 13;
        own.word ^= own.word >> 7;
        own.word ^= own.word << 17;
        uint32_t upper = own.word >> 32, lower = own.word;
        for (int round = 0; round < 4; round++) {
            const uint32_t mixed = lower ^ mixing(upper);
            lower = upper, upper = mixed;
        }
        const bool terminated = move(in.columns, own.state, (int32_t)own.action);
        const bool truncated = ++own.episode_steps == in.limit && !terminated;
        int32_t greedy;
        locate(&in, own.state, next);
        int64_t target = best_of(w, next, &greedy);
        if (terminated | truncated) {
            if (terminated) target = 0;
            start(own.state, upper & 0xFFFF);
            locate(&in, own.state, next);
            best_of(w, next, &greedy);
            own.episode_steps = 0;
            own.terminations += terminated;
            own.truncations += truncated;
        }
        const int64_t old = valued(w, entries, (int32_t)own.action);
        const int64_t sum = in.alpha * (in.reward - old) + in.kappa * target;
        const int64_t change = (sum + ((int64_t)1 << (in.fraction - 1))) >> in.fraction;
        bool clipped = false;
        for (int p = 0; p < PLANES; p++) {
            const int64_t exact = w[entries[p] + own.action] + change;
            const int64_t value = exact < in.low ? in.low : exact > in.high ? in.high : exact;
            clipped |= value != exact;
            w[entries[p] + own.action] = (int32_t)value;
            entries[p] = next[p];
        }
        own.saturations += clipped;
        own.action = lower >> 16 < in.threshold ? (lower & 0xFFFF) * ACTIONS >> 16 : (uint32_t)greedy;
    }
    *agent = own;
}
