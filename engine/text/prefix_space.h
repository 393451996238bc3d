#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace attn {

class TokenizerFiles;

/// Sets in a tokenizer.json whether a space precedes the first word, by "add_prefix_space" and "legacy" of
/// tokenizer_config.json and by the tokenizer's class.
/// @param warnings gets a sentence if the class does not obey the first field
void followPrefixSpace(nlohmann::json& document, const TokenizerFiles& files, std::vector<std::string>& warnings);

/// A sentence about "add_prefix_space" of tokenizer_config.json, for a tokenizer that does not obey it; empty if the
/// field says what the tokenizer does. @param adds whether it puts a space before a text  @param source decides it
std::string prefixSpaceWarning(const TokenizerFiles& files, bool adds, const std::string& source);

} // namespace attn
