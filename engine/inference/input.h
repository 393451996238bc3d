#pragma once

#include <utility>
#include <variant>
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

/// A picture for a vision model.
struct PictureInput {
    std::vector<float> patches; ///< normalised, [patches, channels * patch * patch]: see VisionModel::patchesOf()
    bool operator==(const PictureInput&) const = default;
};

/// The data that a person gives to a model.
struct Input : std::variant<TextInput, PictureInput> {
    using variant::variant;
    Input(std::vector<int> tokens)
        : variant(TextInput{.tokens = std::move(tokens)}) {} // NOLINT(google-explicit-constructor)
    Input(std::vector<float> patches)
        : variant(PictureInput{std::move(patches)}) {} // NOLINT(google-explicit-constructor)

    bool isText() const { return std::holds_alternative<TextInput>(*this); }
    const std::vector<int>& tokens() const { return std::get<TextInput>(*this).tokens; }
    const std::vector<int>& types() const { return std::get<TextInput>(*this).types; }
    const std::vector<int>& source() const { return std::get<TextInput>(*this).source; }
    const std::vector<int>& parents() const { return std::get<TextInput>(*this).parents; }
    const std::vector<float>& patches() const { return std::get<PictureInput>(*this).patches; }
};

} // namespace attn
