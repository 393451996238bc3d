#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace attn {

class ConfigReader;
class TensorNames;
struct ModelSpec;
struct ModelFamily;

// The config.json of models that the program trains, by family: see ModelFamily::describe.
nlohmann::json describeLlama(const ModelSpec& config);
nlohmann::json describeBert(const ModelSpec& config);
nlohmann::json describeXlnet(const ModelSpec& config);
nlohmann::json describeT5(const ModelSpec& config);
nlohmann::json describeBart(const ModelSpec& config); ///< and Marian

/// The description of a model in a folder: that of its family, and what any family may have: a prefix, a picture
/// that it writes, and a readout of classes with its labels. @throws Error as ModelFamily::config
ModelSpec configIn(const ModelFamily& family, const ConfigReader& read, const TensorNames& names);
/// Writes config.json, which configIn() reads. @pre the family has `describe`
nlohmann::json describeIn(const ModelFamily& family, const ModelSpec& config);

} // namespace attn
