#pragma once

#include "engine/inference/input.h"
#include "engine/models/structure.h"

#include <cstddef>

namespace attn {

/// The rows of a result over a whole text: the tokens of the source, if the model reads one, then those of the text.
class TextRows {
public:
    TextRows(const ModelStructure& structure, const Input& text)
        : hasSource_(structure.hasTwoStacks()), source_(text.source().size()), tokens_(text.tokens().size()) {}

    size_t all() const { return source_ + tokens_; }
    size_t source() const { return source_; }
    /// The first row of a stream, and their number. @param stream index into ModelStructure::streams
    size_t first(int stream) const { return isOfSource(stream) ? 0 : source_; }
    size_t count(int stream) const { return isOfSource(stream) ? source_ : tokens_; }

private:
    bool isOfSource(int stream) const { return hasSource_ && stream == 0; }

    bool hasSource_;
    size_t source_, tokens_;
};

} // namespace attn
