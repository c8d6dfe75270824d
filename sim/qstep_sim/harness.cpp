// The Verilated device behind a C interface of a few functions, which port.py calls.
//
// One call of qs_run simulates many clocks: it feeds bytes as the device takes them and collects its output.
// The byte build drives the device's stream ports; with QS_UART it drives the two serial lines, through a peer
// with 8 data bits, no parity, 1 stop bit. A failed assertion ends the device, not the process: its text is
// kept, and later calls do nothing.

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include "Vqstep.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

namespace {

// Verilator's output on this thread since the last call: the text of a failed assertion.
thread_local std::string printed;

// Bytes to and from the device during one call.
struct Traffic {
    const uint8_t* in;
    size_t in_size;
    uint8_t* out;
    size_t out_size;
    size_t consumed = 0;
    size_t produced = 0;
    bool saw_zero = false;

    void deliver(uint8_t byte) {
        out[produced++] = byte;
        saw_zero |= byte == 0;
    }
};

#ifdef QS_UART

// The far end of the serial lines.
class Peer {
public:
    uint32_t divisor = 16;  // clocks per bit
    bool breaks = false;    // the line to the device is held low

    void reset(Vqstep& model) {
        *this = Peer(divisor);
        model.rx = 1;
    }

    void drive(Vqstep& model, Traffic& traffic) {
        if (breaks) {
            send_left_ = 0;
            model.rx = 0;
            return;
        }
        if (send_left_ == 0 && traffic.consumed < traffic.in_size) {
            send_bits_ = 0x200U | static_cast<uint32_t>(traffic.in[traffic.consumed++]) << 1;
            send_left_ = 10;
            send_timer_ = divisor;
        }
        model.rx = send_left_ == 0 || (send_bits_ & 1U);
        if (send_left_ != 0 && --send_timer_ == 0) {
            send_timer_ = divisor;
            send_bits_ >>= 1;
            --send_left_;
        }
    }

    // A byte without its stop bit is delivered anyway, as by most UARTs; the next start bit then counts
    // only after the line has been high.
    void sample(Vqstep& model, Traffic& traffic) {
        const bool level = model.tx;
        if (receive_left_ == 0) {
            if (was_high_ && !level) {
                receive_left_ = 10;
                receive_timer_ = divisor / 2;
            }
        } else if (--receive_timer_ == 0) {
            receive_timer_ = divisor;
            --receive_left_;
            if (receive_left_ == 9) {
                if (level) receive_left_ = 0;  // a glitch, not a start bit
            } else if (receive_left_ != 0) {
                receive_bits_ = receive_bits_ >> 1 | (level ? 0x80U : 0U);
            } else {
                traffic.deliver(static_cast<uint8_t>(receive_bits_));
            }
        }
        was_high_ = level;
    }

    Peer() = default;

private:
    explicit Peer(uint32_t clocks_per_bit) : divisor(clocks_per_bit) {}

    uint32_t send_bits_ = 0;
    uint32_t send_left_ = 0;  // bits left to send, including start and stop bit
    uint32_t send_timer_ = 0;
    uint32_t receive_bits_ = 0;
    uint32_t receive_left_ = 0;
    uint32_t receive_timer_ = 0;
    bool was_high_ = false;
};

#else

// The far end of the byte streams; bytes have no rate, and there is no line to break.
class Peer {
public:
    uint32_t divisor = 0;
    bool breaks = false;

    void reset(Vqstep& model) {
        model.rx_valid = 0;
        model.tx_ready = 1;
    }

    void drive(Vqstep& model, Traffic& traffic) {
        model.rx_valid = traffic.consumed < traffic.in_size;
        if (model.rx_valid) model.rx_data = traffic.in[traffic.consumed];
    }

    void sample(Vqstep& model, Traffic& traffic) {
        traffic.consumed += model.rx_valid & model.rx_ready;
        if (model.tx_valid) traffic.deliver(model.tx_data);
    }
};

#endif

class Device {
public:
    std::string error;  // empty while the device works
    Peer peer;

    explicit Device(const char* trace_path) {
        context_.traceEverOn(trace_path != nullptr);
        model_ = std::make_unique<Vqstep>(&context_);
#if VM_TRACE
        if (trace_path != nullptr) {
            model_->trace(&trace_, 99);
            trace_.open(trace_path);
        }
#endif
        model_->eval();  // the first evaluation initialises the model
    }

    uint64_t clocks() const { return context_.time(); }

#if VM_COVERAGE
    void write_coverage(const char* path) {
        context_.coveragep()->forcePerInstance(true);
        context_.coveragep()->write(path);
        context_.coveragep()->zero();
    }
#endif

    void reset() {
        peer.reset(*model_);
        model_->rst = 1;
        for (int i = 0; i < 4; ++i) {
            fall();
            rise();
        }
        model_->rst = 0;
    }

    void run(Traffic& traffic, uint64_t max_clocks, bool stop_at_zero) {
        const uint64_t end = clocks() + max_clocks;
        while (clocks() < end && traffic.produced < traffic.out_size && !(stop_at_zero && traffic.saw_zero)) {
            // Inputs change while the clock is low; outputs are sampled just before it rises.
            peer.drive(*model_, traffic);
            fall();
            peer.sample(*model_, traffic);
            rise();
        }
    }

private:
    VerilatedContext context_;
    std::unique_ptr<Vqstep> model_;

#if VM_TRACE
    VerilatedVcdC trace_;
#endif

    // If lanes have their own clock, it is the same here: what they learn does not depend on it.
    template <typename Ports>
    static auto set_lanes_clk(Ports& ports, uint8_t clk, int) -> decltype(ports.lanes_clk, void()) {
        ports.lanes_clk = clk;
    }

    template <typename Ports>
    static void set_lanes_clk(Ports&, ...) {}

    // Sets the clock, and returns whether anything can follow from it. A simulated device has a tick instead,
    // of which each change is a whole clock.
    template <typename Ports>
    static auto set_clk(Ports& ports, uint8_t clk, int) -> decltype(ports.tick, bool()) {
        ports.tick ^= clk;
        return clk != 0;
    }

    template <typename Ports>
    static bool set_clk(Ports& ports, uint8_t clk, ...) {
        ports.clk = clk;
        set_lanes_clk(ports, clk, 0);
        return true;
    }

    void evaluate(uint8_t clk) {
        if (set_clk(*model_, clk, 0)) model_->eval();
#if VM_TRACE
        if (trace_.isOpen()) trace_.dump(2 * clocks() + clk);
#endif
    }

    void fall() { evaluate(0); }

    void rise() {
        evaluate(1);
        context_.timeInc(1);
    }
};

// Calls `body` unless the device has failed; an exception of the model becomes the device's error.
template <typename Body>
void guarded(Device& device, Body body) {
    if (!device.error.empty()) return;
    printed.clear();
    try {
        body();
    } catch (const std::exception& failure) {
        device.error = printed + failure.what();
    }
}

}  // namespace

// Verilator calls these for $error, $fatal, $stop and its own failures; throwing leaves its loops.
void vl_stop(const char* file, int line, const char*) {
    throw std::runtime_error(std::string("stopped at ") + file + ":" + std::to_string(line));
}

void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw std::runtime_error(std::string(message) + " at " + file + ":" + std::to_string(line));
}

// Everything else is hidden, so that calls inside the library are direct: this alone makes it 2.5 times as fast.
#pragma GCC visibility push(default)
extern "C" {

int qs_printf(const char* format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printed += text;
    return length;
}

// Makes a device that has not been reset. `trace_path` is a VCD file in a traced build, otherwise null.
Device* qs_create(const char* trace_path) { return new Device(trace_path); }

void qs_destroy(Device* device) { delete device; }

void qs_reset(Device* device) {
    guarded(*device, [&] { device->reset(); });
}

// Simulates until `max_clocks` have passed, `out` is full or, if requested, a zero byte has come out.
void qs_run(Device* device, const uint8_t* in, size_t in_size, size_t* consumed, uint8_t* out,
            size_t out_size, size_t* produced, uint64_t max_clocks, int stop_at_zero) {
    Traffic traffic{in, in_size, out, out_size};
    guarded(*device, [&] { device->run(traffic, max_clocks, stop_at_zero != 0); });
    *consumed = traffic.consumed;
    *produced = traffic.produced;
}

// Sets the clocks per bit of the far end; no effect in the byte build.
void qs_set_divisor(Device* device, uint32_t divisor) { device->peer.divisor = divisor; }

// Holds the serial line to the device low from now on, or releases it; no effect in the byte build.
void qs_set_break(Device* device, int breaks) { device->peer.breaks = breaks != 0; }

// Clocks simulated so far, including resets.
uint64_t qs_clocks(const Device* device) { return device->clocks(); }

#if VM_COVERAGE
// Writes how often each branch was taken since the last call to a file, in Verilator's format.
void qs_write_coverage(Device* device, const char* path) { device->write_coverage(path); }
#endif

// The reason why the device stopped, or an empty text while it works.
const char* qs_error(const Device* device) { return device->error.c_str(); }

}  // extern "C"
#pragma GCC visibility pop
