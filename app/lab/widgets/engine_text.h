#pragma once

#include <QString>

#include <string_view>

namespace attn {

/// Converts a UTF-8 text of the engine.
inline QString fromEngine(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace attn
