#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace attn::test {

/// The objects in a list of a JSON file below tests/, with their fields as texts.
std::vector<std::map<std::string, std::string>> listedIn(const std::string& file, const std::string& list);

/// Runs cases of a JSON file below tests/: {"group": [[input, a part of the answer, another part, ...], ...]}. A part
/// "= text" must be the whole answer.
/// @param group   one group of the file; empty: all
/// @param answer  maps an input (a text, or JSON as a text) to the answer
void checkAnswers(const std::string& file, const std::string& group,
                  const std::function<std::string(const std::string& given)>& answer);

} // namespace attn::test
