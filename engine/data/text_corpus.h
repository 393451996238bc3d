#pragma once

#include "engine/data/data_settings.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The tokens of the two parts of a text, and their vocabulary.
struct TextCorpus {
    std::string tokenizerJson;
    std::vector<int32_t> train{}, validation{};
};

/// Reads DataSettings::text and cuts it into tokens as DataSettings::tokens prescribes. The first 90 % are for
/// training; merges of BPE are learned from them.
/// @param task id, for messages  @param specials special tokens, which have the last ids
/// @throws Error naming the file or the setting, the problem and the remedy
TextCorpus readTextCorpus(std::string_view task, const DataSettings& settings,
                          const std::vector<std::string>& specials = {});

} // namespace attn
