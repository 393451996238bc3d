#pragma once

#include "engine/session/snapshot.h"

#include <QString>

namespace attn {

/// The display piece of a token id, or "#id" for models without a tokenizer.
QString tokenText(const Snapshot& snapshot, int token);

/// A token as a label on one line: leading space, newline and tab are made visible.
QString tokenLabel(const QString& text);

} // namespace attn
