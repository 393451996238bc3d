#pragma once

#include "engine/inference/sequence.h"

#include <QString>

#include <span>
#include <string_view>
#include <vector>

namespace attn {

/// A token's text on one line, with invisible characters made visible: spaces at the edges as "␣", newline as "↵", tab
/// as "⇥", other control characters as their symbols, zero-width and direction marks as "U+200B". A single combining
/// mark is put on "◌".
QString visibleText(const QString& text);

/// A text of the engine that may come from a file (a class, a path, a sentence about them) with visible control
/// characters and direction marks. Lines and spaces stay.
QString shownText(std::string_view text);

/// The label of a token; "#id" if the model has no text for it.
QString tokenLabel(const TokenInfo& token);

/// A sentence about signs in a label such as "<0xC3>"; empty if it has none.
QString tokenRemark(const QString& label);

/// One label per token.
std::vector<QString> tokenLabels(std::span<const TokenInfo> tokens);
/// The labels of a sequence; empty if it is null.
std::vector<QString> tokenLabels(const Sequence* sequence);

} // namespace attn
