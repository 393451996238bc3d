#pragma once

#include "engine/io/image.h"

#include <memory>
#include <string>
#include <vector>

namespace attn {

/// The text that a person types or chooses. What a model reads of it is a TextInput. Commands, sequences, sessions,
/// undo, examples and comparisons carry it whole: what is added here reaches all of them.
struct GivenText {
    std::string text;          ///< for a model with an encoder: the source
    std::vector<int> tokens{}; ///< token ids that replace `text`; empty: the tokenizer reads `text`
    std::string second{};      ///< the second text of a pair; empty: none
    std::vector<int> target{}; ///< tokens that follow the text, or that translate it, as if the model had written them
    /// The dependency tree of the words: for each the number of the one above it, from 1; 0 for the root. Empty: the
    /// one of the model's composition, if it has one.
    std::vector<int> parents{};
    bool empty() const { return text.empty() && tokens.empty(); }
    bool operator==(const GivenText&) const = default;
};

/// The picture that a person gives to a vision model.
struct GivenPicture {
    std::shared_ptr<const Image> image{}; ///< null: none
    std::vector<int> hidden{};            ///< patches replaced by the mean colour, in rising order
    /// The picture that changes and analyses copy values from; null: none. In changes, an empty text names `image`
    /// without hidden patches, and any other text names this one.
    std::shared_ptr<const Image> other{};
    bool operator==(const GivenPicture&) const = default;
};

/// All that a person gives to a model. A model uses what it reads of it.
struct Given {
    GivenText text{};
    GivenPicture picture{};
    bool operator==(const Given&) const = default;
};

} // namespace attn
