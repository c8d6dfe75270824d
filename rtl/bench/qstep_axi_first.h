// SPDX-License-Identifier: Apache-2.0
// The first transaction with QStep on AXI: run it before anything else on a new SoC.

#ifndef QSTEP_AXI_FIRST_H
#define QSTEP_AXI_FIRST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// How this SoC reaches the device. Offsets are bytes from its base address.
struct qstep_bus {
    uint32_t (*read)(uint32_t offset);
    void (*write)(uint32_t offset, uint32_t data);
    void (*send)(const uint32_t *words);  // a packet of QSTEP_RECORD_BYTES to the stream s_axis
    void (*receive)(uint32_t *words);     // the next QSTEP_RECORD_BYTES from the stream m_axis
};

// Returns NULL if the device at these offsets has a digest, or what is wrong.
static inline const char *qstep_identified(
    const struct qstep_bus *bus, uint32_t id_at, uint32_t digest_at, uint64_t digest) {
    if (bus->read(id_at) != 0x51535450u) return "there is no QStep at this address";
    if (bus->read(digest_at) != (uint32_t)digest || bus->read(digest_at + 4) != (uint32_t)(digest >> 32))
        return "the hardware was generated from another configuration";
    return 0;
}

// Returns NULL, or what is wrong.
const char *qstep_first(const struct qstep_bus *bus);

#ifdef __cplusplus
}
#endif

#endif
