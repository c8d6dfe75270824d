// SPDX-License-Identifier: Apache-2.0
// A first job of the agents on AXI: settings, one step of each agent, its counters.

#include "qstep_axi_first.h"

#include <stddef.h>

#include "qs_agents_regs.h"
#include "qstep_axi_config.h"

#define AT(name) offsetof(qs_agents_regs_t, name)

#define EPSILON_ONE (1u << 24)  // every action is drawn

#define LOWEST (1u << 31)  // of an observation's numbers; where agents see tiles, it stands for row 0 of each plane
#define FIRST (2u << 16)  // in the fourth word: not an answer, but the observation with which agents begin

// Write consecutive words of a memory; zeros if there are none to copy.
static void store(const struct qstep_bus *bus, int region, uint32_t index, const uint32_t *words, int count) {
    bus->write(AT(word_region), region);
    bus->write(AT(word_index), index);
    for (int n = 0; n < count; n++) bus->write(AT(word), words ? words[n] : 0);
}

// Memories are undefined after power-up: write them all.
static void prepare(const struct qstep_bus *bus) {
    for (uint32_t agent = 0; agent < QSTEP_AGENTS; agent++) {
        const uint32_t settings[4] = {QSTEP_KAPPA << 16 | QSTEP_ALPHA, EPSILON_ONE, 0, 0};
        const uint32_t context[5] = {agent + 1, 0, EPSILON_ONE, 0, 0};  // the generator's word, any but 0
        store(bus, QSTEP_SETTINGS, agent << QSTEP_SETTINGS_AGENT_BIT, settings, 4);
        store(bus, QSTEP_CONTEXT, agent << QSTEP_CONTEXT_AGENT_BIT, context, 5);
        store(bus, QSTEP_COUNTERS, agent << QSTEP_COUNTERS_AGENT_BIT, NULL, 1 << QSTEP_COUNTERS_AGENT_BIT);
        for (uint32_t table = 0; table < QSTEP_TABLES; table++)
            for (uint32_t state = 0; state < QSTEP_STATES; state++)
                store(bus, QSTEP_TABLE,
                      table << QSTEP_TABLE_TABLE_NUMBER_BIT | agent << QSTEP_TABLE_AGENT_BIT |
                          state << QSTEP_TABLE_STATE_BIT,
                      NULL, QSTEP_ACTIONS);
    }
    store(bus, QSTEP_SETTINGS, QSTEP_LIMIT_WORD, NULL, 1);  // no limit of steps
    // A world in which every action leads to state 0 without a reward, if the world is a table.
    // qstep.device.registers.world_writes makes the words of yours.
    for (uint32_t state = 0; QSTEP_OUTCOMES && state < QSTEP_STATES; state++)
        for (uint32_t action = 0; action < QSTEP_ACTIONS; action++)
            for (int slot = 0; slot < QSTEP_OUTCOMES; slot++)
                store(bus, QSTEP_WORLD,
                      state << QSTEP_WORLD_STATE_BIT | action << QSTEP_WORLD_ACTION_BIT |
                          slot << QSTEP_WORLD_SLOT_BIT,
                      NULL, 1 << QSTEP_WORLD_SLOT_BIT);
    for (int slot = 0; QSTEP_OUTCOMES && slot < QSTEP_START_SLOTS; slot++)
        store(bus, QSTEP_STARTS, slot << QSTEP_STARTS_START_BIT, NULL, 1 << QSTEP_STARTS_START_BIT);
}

const char *qstep_first(const struct qstep_bus *bus) {
    const char *wrong = qstep_identified(bus, AT(id), AT(digest), QSTEP_DIGEST);
    if (wrong) return wrong;
    while (bus->read(AT(status)) & 1) {
    }
    prepare(bus);

    // Episodes start in row 0 of the first plane, row 1 of the second, row 0 of the third, and so on; or where the
    // first observation says.
    for (uint32_t plane = 0; !QSTEP_NUMBERS && plane < QSTEP_PLANES; plane++)
        bus->write(AT(start_state), plane << 16 | (plane & 1));
    if (QSTEP_NUMBERS) {
        uint32_t first[QSTEP_RECORD_BYTES / 4] = {0, 0, 0, FIRST};
        for (int n = 0; n < QSTEP_NUMBERS; n++) first[4 + n] = LOWEST;
        bus->send(first);
    }
    bus->write(AT(steps), 1);
    bus->write(AT(steps_high), 0);
    bus->write(AT(control), 1);  // run
    // With the world at the streams, each action leads to row 1 of each plane, or back, with a reward.
    for (int n = 0; QSTEP_AT_PINS && n < QSTEP_AGENTS; n++) {
        uint32_t action[QSTEP_RECORD_BYTES / 4];
        bus->receive(action);
        uint32_t answer[QSTEP_RECORD_BYTES / 4] = {action[0], !QSTEP_NUMBERS, QSTEP_REWARD, 0};
        for (int number = 0; number < QSTEP_NUMBERS; number++) answer[4 + number] = LOWEST;
        for (int plane = 1; !QSTEP_NUMBERS && plane < QSTEP_PLANES; plane++) {
            const int word = 4 + (plane - 1) / 2, bit = (plane - 1) % 2 * 16;
            if ((action[word] >> bit & 0xFFFF) != (uint32_t)(plane & 1)) return "an agent does not start in its rows";
            answer[word] |= 1u << bit;
        }
        bus->send(answer);
    }
    while (bus->read(AT(status)) & 1) {
    }
    if (bus->read(AT(status)) != 0) return "the world missed a deadline";

    for (uint32_t agent = 0; agent < QSTEP_AGENTS; agent++) {
        bus->write(AT(word_region), QSTEP_COUNTERS);
        bus->write(AT(word_index), agent << QSTEP_COUNTERS_AGENT_BIT);
        if (bus->read(AT(word)) != 1) return "an agent did not make its step";
    }
    if (bus->read(AT(errors)) != 0) return "the device reports an error";
    return NULL;
}
