// The C++ learner and queue with C calls, for tb/planes_cpp.py. CONFIG is the name of a struct.
#include "config.hpp"

using Fixed = qstep::FixedPlanes<qstep::CONFIG>;
using Float = qstep::FloatPlanes<qstep::CONFIG>;

// Requests are rows of a table: learns, action, reward, next_action, terminated, rows, next_rows.
template <class Learner>
static void serve(Learner &learner, const int32_t *request, int64_t count, double *answers) {
    constexpr int planes = Learner::all_planes;
    for (; count > 0; count--, request += 5 + 2 * planes) {
        typename Learner::State rows, next_rows;
        std::copy_n(request + 5, planes, rows.begin());
        std::copy_n(request + 5 + planes, planes, next_rows.begin());
        if (request[0]) {
            learner.update(rows, request[1], typename Learner::Sum(request[2]), next_rows, request[3],
                           request[4] != 0);
        } else {
            const auto choice = learner.choose(rows, request[1]);
            *answers++ = choice.action;
            *answers++ = double(choice.value);
            *answers++ = choice.explored;
        }
    }
}

template <class Learner>
static void run(uint64_t seed, const int32_t *requests, int64_t count, double *answers, double *weights) {
    Learner learner(seed);
    serve(learner, requests, count, answers);
    for (int p = 0; p < Learner::all_planes; p++)
        for (int row = 0; row < qstep::CONFIG::rows; row++)
            for (int a = 0; a < qstep::CONFIG::actions; a++) *weights++ = learner.weight(p, row, a);
}

extern "C" {

void run_fixed(uint64_t seed, const int32_t *requests, int64_t count, double *answers, double *weights) {
    run<Fixed>(seed, requests, count, answers, weights);
}

void run_float(uint64_t seed, const int32_t *requests, int64_t count, double *answers, double *weights) {
    run<Float>(seed, requests, count, answers, weights);
}

void hash_rows(const uint64_t *words, int64_t count, uint32_t *rows) {
    for (; count > 0; count--, words += qstep::CONFIG::groups) {
        Fixed::Features features;
        std::copy_n(words, features.size(), features.begin());
        const auto found = Fixed::state(features);
        rows = std::copy_n(found.begin(), found.size(), rows);
    }
}

// Events are rows of a table: kind (insert, fill, demand), key, set, whether a reward follows, reward. Entry
// number n has state n and action n mod 5. Returns how many updates were written, in rows of 5.
int64_t run_queue(const int64_t *event, int64_t count, int64_t *learns, int64_t *unknown) {
    using Queue = qstep::EvaluationQueue<int64_t, 3>;
    Queue queue({{{20, 12, -8}, {21, 13, -14}}});
    int64_t inserted = 0, emitted = 0;
    for (; count > 0; count--, event += 5) {
        if (event[0] == 0) {
            std::optional<double> reward;
            if (event[3]) reward = double(event[4]);
            const auto learn = queue.insert(event[1], inserted, inserted % 5, reward, int(event[2]));
            inserted++;
            if (!learn) continue;
            for (double value : {double(learn->state), double(learn->action), learn->reward,
                                 double(learn->next_state), double(learn->next_action)})
                *learns++ = int64_t(value);
            emitted++;
        } else if (event[0] == 1) {
            queue.fill(event[1]);
        } else {
            queue.demand(event[1], int(event[2]));
        }
    }
    *unknown = int64_t(queue.unknown());
    return emitted;
}
}
