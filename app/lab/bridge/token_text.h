#pragma once

#include "engine/session/snapshot.h"

#include <QString>

#include <optional>

namespace attn {

/// The display piece of a token id, or "#id" for models without a tokenizer.
QString tokenText(const Snapshot& snapshot, int token);

/// The index of the hidden word that Snapshot::next predicts, for a model that fills words in; none if no word is
/// hidden.
std::optional<int> predictedWord(const Snapshot& snapshot);

} // namespace attn
