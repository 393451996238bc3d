#pragma once

#include "engine/session/snapshot.h"

#include <QString>

namespace attn {

/// The display piece of a token id: from the model's vocabulary, else from a place where the token was already used,
/// else "#id", as for models without a tokenizer.
QString tokenText(const Snapshot& snapshot, int token);

/// A token as a label on one line: leading space, newline and tab are made visible.
QString tokenLabel(const QString& text);

} // namespace attn
