#pragma once

#include <nlohmann/json_fwd.hpp>

namespace attn {

struct DecoderConfig;

// The config.json of models that the program trains, by family: see ModelFamily::describe.
nlohmann::json describeLlama(const DecoderConfig& config);
nlohmann::json describeBert(const DecoderConfig& config);
nlohmann::json describeT5(const DecoderConfig& config);
nlohmann::json describeBart(const DecoderConfig& config); ///< and Marian

} // namespace attn
