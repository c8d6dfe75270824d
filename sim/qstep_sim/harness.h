// Included before every source of the library, Verilator's own included: Verilator reports through
// VL_PRINTF, so that the text of a failed assertion reaches the caller instead of stdout.
#pragma once

extern "C" int qs_printf(const char* format, ...);

#define VL_PRINTF qs_printf
#define VL_USER_STOP   // vl_stop and vl_fatal are defined in harness.cpp
#define VL_USER_FATAL
#define VL_TIME_CONTEXT
