#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace attn::test {

/// The objects that a list in a JSON file below tests/ holds, their fields as texts.
std::vector<std::map<std::string, std::string>> listedIn(const std::string& file, const std::string& list);

/// Runs cases of a JSON file below tests/: {"group": [[what is given, a part of the answer, another part, ...], ...]}.
/// A part "= text" is the whole answer.
/// @param group   one group of the file, or nothing for all
/// @param answer  from what is given, a text or JSON as a text, to what is said of it
void checkAnswers(const std::string& file, const std::string& group,
                  const std::function<std::string(const std::string& given)>& answer);

} // namespace attn::test
