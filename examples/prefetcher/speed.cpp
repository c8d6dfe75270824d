// Times the learner: choices and updates per second of processor time.
#include <cstdio>
#include <ctime>
#include <vector>

#include "pythia.hpp"

template <class Learner>
static void report(const char *name) {
    constexpr std::size_t count = 1 << 20;
    std::vector<typename Learner::Features> features;
    uint64_t word = 1;
    for (std::size_t i = 0; i < count; i++) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        features.push_back({0x400000 + (word >> 58) * 4, (word >> 50)});
    }
    Learner learner;
    double best = 0;
    uint64_t total = 0;
    for (int round = 0; round < 10; round++) {
        const std::clock_t start = std::clock();
        typename Learner::State last_state{};
        uint32_t last = 0;
        for (std::size_t i = 1; i < count; i++) {
            const typename Learner::State state = Learner::state(features[i]);
            const uint32_t action = learner.chooseAction(state);
            learner.learn(last_state, last, action == i % 15 ? 20 : -8, state, action);
            last_state = state;
            last = action;
            total += action;
        }
        best = std::max(best, double(count) * CLOCKS_PER_SEC / double(std::clock() - start));
    }
    std::printf("%s: %.1f million pairs of a choice and an update per second (checksum %llu)\n", name, best / 1e6,
                (unsigned long long)total);
}

int main() {
    report<qstep::FixedPlanes<qstep::Pythia>>("fixed point");
    report<qstep::FloatPlanes<qstep::Pythia>>("float");
}
