// A small cache with a prefetcher that learns, in which anyone can see it learn: no simulator is needed.
//
// Time is counted in accesses. A cache of 256 sets and 8 ways is filled from a memory that answers after
// `latency` accesses. Programs of fixed strides and one of random accesses share it. In each access, the
// evaluation queue rewards an earlier prefetch of this block, the learner chooses an offset for this one,
// and the entry that leaves the queue is learned: the order of Pythia (Bera et al., MICRO 2021).
#ifndef CACHE_MODEL_HPP
#define CACHE_MODEL_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <random>
#include <unordered_map>
#include <vector>

#include "pythia.hpp"

// Pythia's offsets in blocks; action 14 does not prefetch. Blocks have 64 bytes, pages 64 blocks.
inline constexpr std::array<int, qstep::Pythia::actions> offsets = {1,  3,  4,  5,  10, 11, 12, 22,
                                                                   23, 30, 32, -1, -3, -6, 0};
inline constexpr qstep::Rewards pythia_rewards = {20, 12, -8};
inline constexpr double no_prefetch = -4, out_of_page = -12;

struct Access {
    uint64_t pc, block;
};

// Strides in blocks, one program each, and one program without a pattern.
class Programs {
public:
    explicit Programs(uint64_t seed) : random_(seed) {
        for (int stride : {1, 2, 3, 5, -1, -3}) streams_.push_back({stride, 0, 0});
    }

    Access next() {
        const uint64_t draw = random_();
        const std::size_t chosen = draw % (streams_.size() + 1);
        if (chosen == streams_.size()) return {0x500000, pages + (draw >> 8) % (1 << 20)};
        Stream &own = streams_[chosen];
        if (own.left == 0) {
            own.left = blocks / std::abs(own.stride);
            own.block = (draw >> 8) % pages * blocks + (own.stride > 0 ? 0 : blocks - 1);
        } else {
            own.block += own.stride;
        }
        own.left--;
        return {0x400000 + 64 * chosen, own.block};
    }

private:
    static constexpr uint64_t pages = 1 << 20, blocks = 64;

    struct Stream {
        int stride, left;
        uint64_t block;
    };

    std::mt19937_64 random_;
    std::vector<Stream> streams_;
};

// Least recently used blocks are replaced.
class Cache {
public:
    bool contains(uint64_t block) const { return find(set_of(block), block) != set_of(block).end(); }

    // Makes a block the most recently used one; returns whether it was there.
    bool touch(uint64_t block) {
        Set &set = set_of(block);
        const auto found = find(set, block);
        if (found == set.end()) return false;
        set.erase(found);
        set.push_back(block);
        return true;
    }

    void fill(uint64_t block) {
        if (touch(block)) return;
        Set &set = set_of(block);
        if (set.size() == ways) set.erase(set.begin());
        set.push_back(block);
    }

private:
    static constexpr std::size_t sets = 256, ways = 8;
    using Set = std::vector<uint64_t>;

    static Set::const_iterator find(const Set &set, uint64_t block) {
        return std::find(set.begin(), set.end(), block);
    }
    Set &set_of(uint64_t block) { return sets_[block % sets]; }
    const Set &set_of(uint64_t block) const { return sets_[block % sets]; }

    std::array<Set, sets> sets_;
};

struct Counts {
    uint64_t accesses = 0, hits = 0, late = 0;  // late: the block is on its way
    double rewards = 0;                         // of the entries that left the queue
};

template <class Learner>
class Machine {
public:
    explicit Machine(uint64_t seed)
        : programs_(seed), learner_(seed), queue_({pythia_rewards, pythia_rewards}) {}

    // Makes accesses and returns what happened in them.
    Counts run(uint64_t accesses) {
        counts_ = {};
        for (; accesses > 0; accesses--) step();
        return counts_;
    }

private:
    static constexpr uint64_t latency = 10;

    struct Pending {
        uint64_t block, arrives;
    };

    void step() {
        const Access access = programs_.next();
        for (now_++; !pending_.empty() && pending_.front().arrives <= now_; pending_.pop_front()) {
            cache_.fill(pending_.front().block);
            queue_.fill(pending_.front().block);
        }
        counts_.accesses++;
        if (cache_.touch(access.block)) {
            counts_.hits++;
        } else {
            counts_.late += is_pending(access.block);
            cache_.fill(access.block);
        }

        queue_.demand(access.block);
        const typename Learner::State state = Learner::state(features(access));
        const uint32_t action = learner_.chooseAction(state);
        const uint64_t target = access.block + uint64_t(int64_t(offsets[action]));
        std::optional<double> reward;
        if (target / 64 != access.block / 64) {
            reward = out_of_page;
        } else if (offsets[action] == 0 || cache_.contains(target) || is_pending(target)) {
            reward = no_prefetch;
        } else {
            pending_.push_back({target, now_ + latency});
        }
        if (const auto learn = queue_.insert(target, state, action, reward)) {
            learner_.learn(learn->state, learn->action, learn->reward, learn->next_state, learn->next_action);
            counts_.rewards += learn->reward;
        }
    }

    // Pythia's two features: the program counter, and with it the step since the last access to the page.
    typename Learner::Features features(const Access &access) {
        const auto [last, is_new] = last_in_page_.try_emplace(access.block / 64, access.block);
        const int64_t delta = int64_t(access.block - last->second);
        last->second = access.block;
        return {access.pc, (access.pc << 7) + uint64_t(delta < 0 ? 64 - delta : delta)};
    }

    bool is_pending(uint64_t block) const {
        return std::any_of(pending_.begin(), pending_.end(),
                           [&](const Pending &own) { return own.block == block; });
    }

    Programs programs_;
    Learner learner_;
    qstep::EvaluationQueue<typename Learner::State> queue_;
    Cache cache_;
    std::deque<Pending> pending_;
    std::unordered_map<uint64_t, uint64_t> last_in_page_;
    uint64_t now_ = 0;
    Counts counts_;
};

#endif
