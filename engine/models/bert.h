#pragma once

#include "engine/models/recipes.h"

namespace attn {

class ConfigReader;

/// The description of an encoder whose config.json has the fields of BERT's. @throws Error as ModelFamily::config
ModelSpec bertConfig(const ConfigReader& read, bool hasHead, bool isTied);

/// Names of the tensors in a block of BERT.
const NameTable& bertBlockNames();

} // namespace attn
