#pragma once

#include <QString>

#include <string_view>

namespace attn {

/// Converts a text of the engine, which is UTF-8.
inline QString fromEngine(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace attn
