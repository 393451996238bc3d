#include "engine/models/class_tokens.h"

#include <algorithm>
#include <array>
#include <utility>

namespace attn {

ClassTokens classTokensOf(std::string_view modelType) {
    constexpr ClassTokens kGpt2{.begin = 50256, .end = 50256}, kLlama{.begin = 1, .end = 2},
        kRoberta{.begin = 0, .end = 2, .padding = 1}, kBert{.padding = 0};
    static constexpr std::array<std::pair<std::string_view, ClassTokens>, 15> kClasses{
        {{"gpt2", kGpt2},
         {"gpt_neo", kGpt2},
         {"gpt_neox", {.begin = 0, .end = 2}},
         {"llama", kLlama},
         {"mistral", kLlama},
         {"bert", kBert},
         {"distilbert", kBert},
         {"roberta", kRoberta},
         {"xlm-roberta", kRoberta},
         {"camembert", kRoberta},
         {"xlnet", {.begin = 1, .end = 2, .padding = 5}},
         {"t5", {.end = 1, .padding = 0}},
         {"mt5", {.end = 1, .padding = 0, .start = 0}},
         {"bart", {.begin = 0, .end = 2, .padding = 1, .start = 2, .lastEnd = 2}},
         {"marian", {.end = 0, .padding = 58100, .start = 58100, .lastEnd = 0}}}};
    const auto found = std::ranges::find(kClasses, modelType, [](const auto& entry) { return entry.first; });
    return found == kClasses.end() ? ClassTokens{} : found->second;
}

} // namespace attn
