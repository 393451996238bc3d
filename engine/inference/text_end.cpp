#include "engine/inference/text_end.h"

#include "engine/core/quoting.h"
#include "engine/inference/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

std::string counted(size_t tokens) { return fmt::format("{} token{}", groupDigits(tokens), tokens == 1 ? "" : "s"); }

std::string shownToken(const LanguageModel& model, int token) {
    const std::string text = model.tokenizer() ? model.tokenizer()->tokenText(token) : std::string();
    return text.empty() ? fmt::format("#{}", token) : inQuotes(text);
}

} // namespace

std::string_view nameOf(TextEnd end) {
    constexpr std::array<std::string_view, 6> kNames{"end-token",    "max-tokens",       "folder-limit",
                                                     "context-full", "picture-complete", "stopped"};
    return kNames.at(static_cast<size_t>(end));
}

std::optional<TextEnd> endAtToken(const LanguageModel& model, std::span<const int> tokens) {
    if (tokens.empty()) return {};
    if (std::ranges::count(model.source().stopTokens(), tokens.back()) > 0) return TextEnd::EndToken;
    const auto& picture = model.config().picture;
    if (picture && std::ssize(tokens) == picture->tokens()) return TextEnd::PictureComplete;
    return {};
}

std::string sentenceOf(TextEnd end, const LanguageModel& model, std::span<const int> tokens, size_t given) {
    const GenerationRules& rules = model.source().generation();
    switch (end) {
    case TextEnd::EndToken:
        return fmt::format("The model ended the text with its token {}.", shownToken(model, tokens.back()));
    case TextEnd::MaxTokens:
        return fmt::format("The model wrote {}, as many as it was asked for.", counted(tokens.size() - given));
    case TextEnd::FolderLimit:
        return rules.maxNewTokens
                   ? fmt::format("{} lets the model write no more than {} (max_new_tokens).", rules.file,
                                 counted(static_cast<size_t>(*rules.maxNewTokens)))
                   : fmt::format("{} ends a text at {} (max_length), and this one has {}.", rules.file,
                                 counted(static_cast<size_t>(rules.maxLength.value_or(0))), tokens.size());
    case TextEnd::ContextFull:
        return fmt::format("The context of {} is full{}.", counted(static_cast<size_t>(model.capacity())),
                           model.whyNoMore());
    case TextEnd::PictureComplete:
        return "The picture is complete.";
    case TextEnd::Stopped:
        return "The model was stopped.";
    }
    return {};
}

} // namespace attn
