#include "engine/models/recipes.h"

#include "engine/core/error.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>

namespace attn {

std::string lookUp(const NameTable& table, const std::string& parameter) {
    const size_t last = parameter.rfind('.') + 1; // 0 without a point
    const bool isWeight = parameter[last] == 'W' || parameter[last] == 'w';
    std::string module = parameter.substr(0, last);
    if (parameter.size() > last + 2) // W_Q
        module += parameter.substr(last + 2);
    else if (last > 0)
        module.pop_back();
    for (const auto& [name, tensor] : table) {
        if (name == parameter) return std::string(tensor);
        if (name == module) return std::string(tensor) + (isWeight ? ".weight" : ".bias");
    }
    throw Error({.what = "the family has no tensor for this parameter", .where = parameter});
}

std::string FamilyNames::tensorOf(const std::string& parameter, const TensorNames& names) const {
    const auto [layer, rest] = splitName(parameter);
    return names.resolve(prefix, layer < 0 ? lookUp(global, rest)
                                           : fmt::format("{}{}.{}", blocks, layer, lookUp(inBlock, rest)));
}

int projectionOf(const std::string& inBlock) {
    const size_t part = std::string_view("QKV").find(inBlock.back());
    return inBlock.starts_with("attn.") && part != std::string_view::npos ? static_cast<int>(part) : -1;
}

bool isOfClasses(const std::string& parameter) { return parameter.starts_with("classifier."); }

std::string classTensor(TextReadout readout, std::string_view ofTokens, const std::string& parameter) {
    const std::string_view layer = readout == TextReadout::Span         ? "qa_outputs"
                                   : readout == TextReadout::TokenClass ? ofTokens
                                                                        : "score";
    return lookUp({{"classifier", layer}}, parameter);
}

} // namespace attn
