#pragma once

#include "engine/session/snapshot.h"

#include <QString>

namespace attn {

/// The display piece of a token id, or "#id" for models without a tokenizer.
QString tokenText(const Snapshot& snapshot, int token);

} // namespace attn
