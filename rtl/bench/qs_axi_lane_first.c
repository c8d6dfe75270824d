// SPDX-License-Identifier: Apache-2.0
// A first transition of the lane on AXI: settings, one transition, its result, its entry of the table.

#include "qstep_axi_first.h"

#include <stddef.h>

#include "qs_lane_regs.h"
#include "qstep_axi_config.h"

#define AT(name) offsetof(qs_lane_regs_t, name)

const char *qstep_first(const struct qstep_bus *bus) {
    const char *wrong = qstep_identified(bus, AT(id), AT(digest), QSTEP_DIGEST);
    if (wrong) return wrong;

    bus->write(AT(alpha), QSTEP_ALPHA);
    bus->write(AT(kappa), QSTEP_KAPPA);
    bus->write(AT(rounding), 0);
    bus->write(AT(noise_seed_x), 1);
    bus->write(AT(noise_seed_w), 0);
    bus->write(AT(control), 3);  // configure and clear
    while (bus->read(AT(status)) != 0) {
    }

    // From state 0 by action 1 to state 1, with a reward. Alpha is 1/2 and the table is 0.
    const uint32_t transition[4] = {0, 1, QSTEP_REWARD, 1};
    uint32_t result[4];
    bus->send(transition);
    bus->receive(result);
    if (result[0] != QSTEP_RESULT || result[3] != 0) return "the result is wrong";

    bus->write(AT(table_state), 0);
    bus->write(AT(table_action), 1);
    if (bus->read(AT(table_value)) != QSTEP_RESULT) return "the entry of the table is wrong";
    if (bus->read(AT(errors)) != 0) return "the device reports an error";
    return NULL;
}
