// Prints how a prefetcher learns in the cache model, in fixed point and in float. The number of accesses may
// be given, a multiple of 10; README.md shows the output.
#include <cstdio>

#include "cache_model.hpp"

int main(int argc, char **argv) {
    const uint64_t accesses = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 400000, seed = 1;
    using Fixed = qstep::FixedPlanes<qstep::Pythia>;
    Machine<Fixed> without(seed, false), fixed(seed);
    Machine<qstep::FloatPlanes<qstep::Pythia>> real(seed);
    double fixed_sum = 0, real_sum = 0;
    std::printf("accesses  misses without  misses, fixed  misses, float  reward, fixed  reward, float\n");
    for (int part = 1; part <= 10; part++) {
        const Counts none = without.run(accesses / 10), in_fixed = fixed.run(accesses / 10),
                     in_real = real.run(accesses / 10);
        fixed_sum += in_fixed.rewards;
        real_sum += in_real.rewards;
        std::printf("%8llu  %13.1f%%  %12.1f%%  %12.1f%%  %13.3f  %13.3f\n",
                    (unsigned long long)(part * (accesses / 10)), 100 * none.miss_rate(),
                    100 * in_fixed.miss_rate(), 100 * in_real.miss_rate(), in_fixed.mean_reward(),
                    in_real.mean_reward());
    }
    std::printf("mean reward of an access: %.4f in fixed point, %.4f in float\n", fixed_sum / double(accesses),
                real_sum / double(accesses));
}
