#pragma once

#include "engine/core/error.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>
#include <string>

namespace attn::test {

/// tests/golden/text/goldens.json: texts, and per tokenizer its JSON, ids and decoded texts by Hugging Face's library.
inline const nlohmann::json& textGoldens() {
    static const nlohmann::json goldens = [] {
        nlohmann::json file = nlohmann::json::parse(std::ifstream(ATTN_TEST_DIR "/golden/text/goldens.json"));
        for (nlohmann::json& entry : file["cases"])
            entry["tokenizer"]["model"] = file["models"][entry["tokenizer"]["model"].get<size_t>()];
        return file;
    }();
    return goldens;
}

inline const nlohmann::json& goldenCase(const std::string& name) {
    for (const nlohmann::json& entry : textGoldens()["cases"])
        if (entry["name"] == name) return entry;
    throw std::runtime_error("there is no golden tokenizer " + name);
}

/// Whether the action throws an Error whose sentence has this part.
template <class Action> bool refuses(const Action& action, const std::string& part) {
    try {
        action();
    } catch (const Error& error) {
        return std::string(error.what()).find(part) != std::string::npos;
    }
    return false;
}

} // namespace attn::test
