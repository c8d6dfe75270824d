// SPDX-License-Identifier: Apache-2.0
// QStep's pooled learner and its evaluation queue in C++17, without dependencies.
//
// FixedPlanes is bit for bit qstep.golden.planes.PlanesModel, and so the hardware. FloatPlanes computes the same
// update in double and stores it as float, like the learner that Pythia's authors released. Both take a
// configuration: a struct of constants such as `qstep generate --preset pythia --cpp` writes.
//
//     #include "pythia.hpp"
//     using Learner = qstep::FixedPlanes<qstep::Pythia>;
//     Learner learner;
//     Learner::State state = Learner::state({pc, pc_and_delta});
//     uint32_t action = learner.chooseAction(state);
//     learner.learn(state, action, reward, next_state, next_action);
#ifndef QSTEP_PLANES_HPP
#define QSTEP_PLANES_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace qstep {

static_assert((-1 >> 1) == -1, "the arithmetic needs shifts that keep the sign");

// The generator of exploration: draws of agent 0 with a seed, as in qstep.spec.random.
class Draws {
public:
    explicit Draws(uint64_t seed) : word_(mixed(seed + 0x9E3779B97F4A7C15u)) {
        if (word_ == 0) word_ = 1;
    }

    struct Draw {
        uint32_t explore, action;  // 16 bits each
    };

    Draw next() {
        word_ ^= word_ << 13;
        word_ ^= word_ >> 7;
        word_ ^= word_ << 17;
        uint32_t high = uint32_t(word_ >> 32), low = uint32_t(word_);
        for (int round = 0; round < 4; round++) {
            const uint32_t rounded = low ^ ((rotated(high, 1) & rotated(high, 8)) ^ rotated(high, 2));
            low = high;
            high = rounded;
        }
        return {low >> 16, low & 0xFFFFu};
    }

private:
    static uint64_t mixed(uint64_t word) {
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
        word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
        return word ^ (word >> 31);
    }

    static uint32_t rotated(uint32_t word, int by) { return (word << by) | (word >> (32 - by)); }

    uint64_t word_;
};

// The hash of a feature, whose low bits are the row; `folded` is its upper half xor its lower half.
inline uint32_t hashed(uint32_t folded, uint32_t constant) {
    uint32_t k = folded ^ constant;
    k += k << 12;
    k ^= k >> 22;
    k += k << 4;
    k ^= k >> 9;
    k += k << 10;
    k ^= k >> 2;
    k += k << 7;
    return k ^ (k >> 12);
}

// Weights are integers of Config::width bits. An update is one exact sum, rounded half up, saturated.
template <class Config>
struct FixedArithmetic {
    using Weight = std::conditional_t<Config::width <= 16, int16_t, int32_t>;
    using Sum = std::conditional_t<Config::width <= 28, int32_t, int64_t>;  // 16 planes add 4 bits
    using Exact = int64_t;

    static constexpr Exact minimum = -(Exact(1) << (Config::width - 1));
    static constexpr Exact maximum = -minimum - 1;

    static constexpr Weight start() { return Weight(Config::start_raw); }

    static Exact updated(Exact value, Exact reward, Exact following) {
        return ((value << Config::coefficient_bits) + Config::alpha_raw * (reward - value) +
                Config::kappa_raw * following + (Exact(1) << (Config::coefficient_bits - 1))) >>
               Config::coefficient_bits;
    }

    static Weight stored(Exact value) { return Weight(std::min(std::max(value, minimum), maximum)); }

    // A reward in the weights' format: floor(reward 2^F + 0.5).
    static Sum quantised(double reward) {
        const double raw = std::floor(std::ldexp(reward, Config::fraction) + 0.5);
        if (!(raw >= double(minimum) && raw <= double(maximum)))
            throw std::out_of_range("reward is " + std::to_string(reward) + "; it must be from " +
                                    std::to_string(std::ldexp(double(minimum), -Config::fraction)) + " to " +
                                    std::to_string(std::ldexp(double(maximum), -Config::fraction)));
        return Sum(raw);
    }
};

// Weights are float, updated in double.
template <class Config>
struct FloatArithmetic {
    using Weight = float;
    using Sum = float;
    using Exact = double;

    static constexpr Weight start() { return Weight(Config::start); }

    static Exact updated(Exact value, Exact reward, Exact following) {
        return value + Config::alpha * (reward + Config::gamma * following - value);
    }

    static Weight stored(Exact value) { return Weight(value); }
    static Sum quantised(double reward) { return Sum(reward); }
};

template <class Config, class Arithmetic>
class Planes {
    static_assert(Config::groups >= 1 && Config::planes >= 1 && Config::groups * Config::planes <= 16,
                  "there must be 1 to 16 planes");
    static_assert(Config::rows >= 2 && Config::rows <= 65536 && (Config::rows & (Config::rows - 1)) == 0,
                  "rows must be a power of two from 2 to 65536");
    static_assert(Config::actions >= 2 && Config::actions <= 64, "actions must be from 2 to 64");
    static_assert(Config::groups == 1 || !Config::shared_error, "a shared error needs one group");

public:
    static constexpr int all_planes = Config::groups * Config::planes;
    static constexpr int no_action = -1;

    using Weight = typename Arithmetic::Weight;
    using Sum = typename Arithmetic::Sum;
    using Features = std::array<uint64_t, Config::groups>;  // one word of each group
    using State = std::array<uint32_t, all_planes>;         // the row in each plane, 0 to rows - 1

    struct Choice {
        int action;
        Sum value;  // of the action, raw
        bool explored;
    };

    explicit Planes(uint64_t seed = 0) : draws_(seed) {
        for (auto &plane : weights_)
            for (auto &row : plane) row.fill(Arithmetic::start());
    }

    static State state(const Features &features) {
        State rows{};
        for (int p = 0; p < all_planes; p++) {
            const uint64_t word = features[p / Config::planes];
            const uint32_t folded = uint32_t(word >> 32) ^ uint32_t(word);
            rows[p] = hashed(folded, Config::constants[p % Config::planes]) & (Config::rows - 1);
        }
        return rows;
    }

    // Pythia's two calls. The reward is a real number; fixed point throws std::out_of_range unless it fits.
    uint32_t chooseAction(const State &state) { return uint32_t(choose(state).action); }

    void learn(const State &state, uint32_t action, double reward, const State &next_state,
               uint32_t next_action) {
        update(state, int(action), Arithmetic::quantised(reward), next_state, int(next_action));
    }

    // The same in raw units. Rows and actions must be in range: nothing is checked here. `explore_action`
    // replaces the greedy action; with no_action, the learner's own generator decides.
    Choice choose(const State &state, int explore_action = no_action) {
        std::array<Sum, columns> values = sums(state, 0);
        for (int group = 1; group < Config::groups; group++) {
            const std::array<Sum, columns> other = sums(state, group);
            for (int a = 0; a < columns; a++) values[a] = std::max(values[a], other[a]);
        }
        for (int a = Config::actions; a < columns; a++) values[a] = values[0];
        std::array<Sum, columns> best = values;
        for (int half = columns / 2; half > 0; half /= 2)
            for (int a = 0; a < half; a++) best[a] = std::max(best[a], best[a + half]);
        int action = 0;
        if (!Config::floor || best[0] > 0)
            for (int a = Config::actions - 1; a >= 0; a--) action = values[a] == best[0] ? a : action;
        const Draws::Draw drawn = draws_.next();
        const bool own = explore_action == no_action, explored = !own || drawn.explore < Config::threshold;
        if (explored) action = own ? int(drawn.action * Config::actions >> 16) : explore_action;
        return {action, values[action], explored};
    }

    void update(const State &rows, int action, Sum reward, const State &next_rows, int next_action,
                bool terminated = false) {
        using Exact = typename Arithmetic::Exact;
        std::array<Exact, all_planes> old, following;
        for (int p = 0; p < all_planes; p++) {
            old[p] = weights_[p][rows[p]][action];
            following[p] = terminated ? Exact(0) : Exact(weights_[p][next_rows[p]][next_action]);
        }
        if constexpr (Config::shared_error) {
            Exact value = 0, target = 0;
            for (int p = 0; p < all_planes; p++) {
                value += old[p];
                target += following[p];
            }
            const Exact increment = Arithmetic::updated(value, reward, target) - value;
            for (int p = 0; p < all_planes; p++)
                weights_[p][rows[p]][action] = Arithmetic::stored(old[p] + increment);
        } else {
            for (int p = 0; p < all_planes; p++)
                weights_[p][rows[p]][action] =
                    Arithmetic::stored(Arithmetic::updated(old[p], reward, following[p]));
        }
    }

    Weight weight(int plane, int row, int action) const { return weights_[plane][row][action]; }

private:
    // Rows are padded to a power of two; the padding takes no part in a choice.
    static constexpr int columns = Config::actions <= 4    ? 4
                                   : Config::actions <= 8  ? 8
                                   : Config::actions <= 16 ? 16
                                   : Config::actions <= 32 ? 32
                                                           : 64;

    std::array<Sum, columns> sums(const State &rows, int group) const {
        std::array<Sum, columns> total{};
        for (int t = 0; t < Config::planes; t++) {
            const int p = group * Config::planes + t;
            const std::array<Weight, columns> &row = weights_[p][rows[p]];
            for (int a = 0; a < columns; a++) total[a] += row[a];
        }
        return total;
    }

    std::array<std::array<std::array<Weight, columns>, Config::rows>, all_planes> weights_;
    Draws draws_;
};

template <class Config>
using FixedPlanes = Planes<Config, FixedArithmetic<Config>>;

template <class Config>
using FloatPlanes = Planes<Config, FloatArithmetic<Config>>;

struct Rewards {
    double timely;  // demanded after the fill
    double late;    // demanded before the fill
    double unused;  // never demanded
};

// Actions that wait for their rewards: qstep.golden.evaluation_queue.EvaluationQueue.
template <class State, std::size_t Entries = 256, class Key = uint64_t>
class EvaluationQueue {
    static_assert(Entries >= 1, "the queue must have an entry");

public:
    struct Learn {
        State state;
        uint32_t action;
        double reward;
        State next_state;
        uint32_t next_action;
    };

    // The set of rewards that an event uses is selected by its number, 0 or 1.
    explicit EvaluationQueue(const std::array<Rewards, 2> &rewards) : rewards_(rewards) {}

    // Appends an action. If the queue is full, the head leaves, and the update of the entry that left before
    // is returned. `reward` is given if it is known at once.
    std::optional<Learn> insert(const Key &key, const State &state, uint32_t action,
                                std::optional<double> reward = std::nullopt, int set = 0) {
        std::optional<Learn> emitted;
        if (size_ == Entries) {
            Entry &head = entries_[head_];
            if (!head.reward) head.reward = rewards_[set].unused;
            if (evicted_)
                emitted = Learn{evicted_->state, evicted_->action, *evicted_->reward, head.state, head.action};
            evicted_ = head;
            head_ = (head_ + 1) % Entries;
            size_--;
        }
        entries_[(head_ + size_) % Entries] = Entry{key, state, action, reward, false};
        size_++;
        return emitted;
    }

    // Marks the oldest entry with this key as filled.
    void fill(const Key &key) {
        if (Entry *entry = oldest([&](const Entry &own) { return own.key == key; })) entry->filled = true;
    }

    // Rewards the oldest entry with this key that has no reward.
    void demand(const Key &key, int set = 0) {
        if (Entry *entry = oldest([&](const Entry &own) { return own.key == key && !own.reward; }))
            entry->reward = entry->filled ? rewards_[set].timely : rewards_[set].late;
    }

    std::size_t size() const { return size_; }
    uint64_t unknown() const { return unknown_; }  // fills and demands that found no entry

private:
    struct Entry {
        Key key;
        State state;
        uint32_t action;
        std::optional<double> reward;
        bool filled;
    };

    template <class Matches>
    Entry *oldest(Matches matches) {
        for (std::size_t age = 0; age < size_; age++) {
            Entry &entry = entries_[(head_ + age) % Entries];
            if (matches(entry)) return &entry;
        }
        unknown_++;
        return nullptr;
    }

    std::array<Rewards, 2> rewards_;
    std::array<Entry, Entries> entries_{};
    std::size_t head_ = 0, size_ = 0;
    std::optional<Entry> evicted_;
    uint64_t unknown_ = 0;
};

}  // namespace qstep

#endif
