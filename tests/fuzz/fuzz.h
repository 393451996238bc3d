#pragma once

#include "engine/core/error.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

/// What libFuzzer calls with each input. Every target of this folder defines it; the replay gives each another name.
/// @return 0
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace attn::fuzz {

inline std::string_view textOf(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

/// Ends the program with a message unless a claim holds: libFuzzer then keeps the input.
void require(bool holds, const char* claim);

/// Parses a text as the program parses the file of that name, and gives the JSON to a reader. @throws Error
void withJson(std::string_view text, const std::string& file, const std::function<void(const nlohmann::json&)>& read);

/// Runs a reader. It may refuse its input with an Error that says why; nothing else may leave it.
template <class Action> void mayRefuse(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        require(!error.message().empty(), "an error says what is wrong");
    }
}

} // namespace attn::fuzz
