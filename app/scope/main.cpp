#include "app/arguments/run_program.h"
#include "app/scope/options.h"
#include "app/scope/scope.h"
#include "engine/system/address_space.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <variant>

namespace {
constexpr size_t kLeastBytes = size_t{384} << 20; ///< of address space, for the display and the device
} // namespace

int main(int argc, char** argv) {
    return attn::cli::runProgram("attention-scope", [&] {
        const auto parsed = attn::scope::parseOptions({argv + 1, argv + argc});
        if (const auto* message = std::get_if<attn::scope::Message>(&parsed)) {
            fmt::print(message->exitCode == 0 ? stdout : stderr, "{}", message->text);
            return message->exitCode;
        }
        attn::requireAddressSpace(kLeastBytes);
        const attn::scope::DisplayConnection display;
        attn::scope::Scope scope(display, std::get<attn::scope::Options>(parsed));
        scope.run();
        return 0;
    });
}
