// Pythia's learning engine for ChampSim, replaced by QStep's: README.md says what to do with this file.
//
// It takes the place of the file of the same name in CMU-SAFARI/Pythia (inc) and in the ChampSim of the 4th Data
// Prefetching Championship (prefetcher/pythia), and accepts the calls of both. Include it where the original is
// included; `State` is Pythia's, of which it reads `pc` and `delta`.
#ifndef LEARNING_ENGINE_FEATUREWISE_H
#define LEARNING_ENGINE_FEATUREWISE_H

#include <cstdint>
#include <vector>

#include "pythia.hpp"

class LearningEngineFeaturewise {
public:
    // With FloatPlanes, it is the released learner; with FixedPlanes, the hardware.
    using Learner = qstep::FixedPlanes<qstep::Pythia>;

    // The knobs are those of the preset, so that what the simulator passes is ignored.
    template <class... Knobs>
    explicit LearningEngineFeaturewise(const Knobs &...) {}

    template <class State>
    uint32_t chooseAction(const State *state) {
        return learner_.chooseAction(rows(*state));
    }

    // The ratio only serves Pythia's dynamic degree, which this engine does not support.
    template <class State>
    uint32_t chooseAction(const State *state, float &max_to_avg_q_ratio, std::vector<bool> &consensus) {
        max_to_avg_q_ratio = 1;
        consensus.assign(qstep::Pythia::groups, true);
        return chooseAction(state);
    }

    template <class State, class... Unused>
    void learn(const State *state, uint32_t action, int32_t reward, const State *next_state,
               uint32_t next_action, const Unused &...) {
        learner_.learn(rows(*state), action, reward, rows(*next_state), next_action);
    }

    void dump_stats() {}

private:
    // The program counter, and with it the step since the last access to the page.
    template <class State>
    static Learner::State rows(const State &state) {
        const uint64_t pc = uint64_t(state.pc);
        const int64_t delta = int64_t(state.delta);
        return Learner::state({pc, (pc << 7) + uint64_t(delta < 0 ? 64 - delta : delta)});
    }

    Learner learner_;
};

#endif
