#pragma once

#include <QString>

#include <utility>
#include <vector>

namespace attn {

/// Prompts worth trying on a bundled model, each with a short title, from prompts.json in its folder. Empty if there
/// are none. @param path of the open model, such as "builtin:stories"
std::vector<std::pair<QString, QString>> promptSuggestions(const QString& path);

} // namespace attn
