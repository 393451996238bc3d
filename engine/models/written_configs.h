#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace attn {

class ConfigReader;
class TensorNames;
struct DecoderConfig;
struct ModelFamily;

// The config.json of models that the program trains, by family: see ModelFamily::describe.
nlohmann::json describeLlama(const DecoderConfig& config);
nlohmann::json describeBert(const DecoderConfig& config);
nlohmann::json describeXlnet(const DecoderConfig& config);
nlohmann::json describeT5(const DecoderConfig& config);
nlohmann::json describeBart(const DecoderConfig& config); ///< and Marian

/// The description of a model in a folder: that of its family, and what any family may have: a prefix, a picture
/// that it writes, and a readout of classes with its labels. @throws Error as ModelFamily::config
DecoderConfig configIn(const ModelFamily& family, const ConfigReader& read, const TensorNames& names);
/// Writes config.json, which configIn() reads. @pre the family has `describe`
nlohmann::json describeIn(const ModelFamily& family, const DecoderConfig& config);

} // namespace attn
