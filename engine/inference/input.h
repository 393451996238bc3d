#pragma once

#include <utility>
#include <vector>

namespace attn {

/// Tokens for a model of text.
struct TextInput {
    std::vector<int> tokens{};
    std::vector<int> types{};   ///< token types of the first tokens; those of the others are 0
    std::vector<int> source{};  ///< for a model with an encoder: the tokens that it reads
    std::vector<int> parents{}; ///< see GivenText::parents
    bool operator==(const TextInput&) const = default;
};

/// What a model reads: rows for its axes.
class Input {
public:
    Input() = default;
    Input(TextInput text) : text_(std::move(text)) {}                    // NOLINT(google-explicit-constructor)
    Input(std::vector<int> tokens) { text_.tokens = std::move(tokens); } // NOLINT(google-explicit-constructor)
    Input(std::vector<float> patches) : patches_(std::move(patches)) {}  // NOLINT(google-explicit-constructor)
    Input(TextInput text, std::vector<float> patches) : text_(std::move(text)), patches_(std::move(patches)) {}

    const TextInput& text() const { return text_; }
    const std::vector<int>& tokens() const { return text_.tokens; }
    const std::vector<int>& types() const { return text_.types; }
    const std::vector<int>& source() const { return text_.source; }
    const std::vector<int>& parents() const { return text_.parents; }
    /// Of a picture: normalised, [patches, channels * patch * patch], see VisionModel::patchesOf(). Empty: none. Beside
    /// a text, what the model reads as its source.
    const std::vector<float>& patches() const { return patches_; }
    bool isText() const { return patches_.empty() || !text_.tokens.empty(); }
    bool operator==(const Input&) const = default;

private:
    TextInput text_;
    std::vector<float> patches_;
};

} // namespace attn
