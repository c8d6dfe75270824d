// Prints how a prefetcher learns in the cache model, in fixed point and in float: README.md shows it.
#include <cstdio>

#include "cache_model.hpp"

static void print(const Counts &counts) {
    const double all = double(counts.accesses);
    std::printf("  %6.1f%%  %6.1f%%  %7.3f", 100 * double(counts.hits) / all, 100 * double(counts.late) / all,
                counts.rewards / all);
}

int main() {
    constexpr uint64_t accesses = 400000, seed = 1;
    Machine<qstep::FixedPlanes<qstep::Pythia>> fixed(seed);
    Machine<qstep::FloatPlanes<qstep::Pythia>> real(seed);
    double fixed_rewards = 0, real_rewards = 0;
    std::printf("until access  fixed: hits     late   reward  float: hits     late   reward\n");
    for (uint64_t done = 0, part = accesses / 64; done < accesses; done += part, part = done) {
        const Counts in_fixed = fixed.run(part), in_real = real.run(part);
        std::printf("%12llu     ", (unsigned long long)(done + part));
        print(in_fixed);
        std::printf("     ");
        print(in_real);
        std::printf("\n");
        fixed_rewards += in_fixed.rewards;
        real_rewards += in_real.rewards;
    }
    std::printf("mean reward: %.4f in fixed point, %.4f in float\n", fixed_rewards / accesses,
                real_rewards / accesses);
}
