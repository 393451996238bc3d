#pragma once

#include "engine/session/sequence.h"

#include <QString>

#include <vector>

namespace attn {

/// A token's text on one line, with everything invisible made visible: spaces at the edges as "␣", newline "↵", tab
/// "⇥", other controls as their picture, zero-width and direction marks as "U+200B". A lone combining mark sits on "◌".
QString visibleText(const QString& text);

/// The label of a token; "#id" when the model has no text for it.
QString tokenLabel(const TokenInfo& token);

/// One label per token; empty without a sequence.
std::vector<QString> tokenLabels(const Sequence* sequence);

} // namespace attn
