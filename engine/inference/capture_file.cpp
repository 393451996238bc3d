#include "engine/inference/capture_file.h"

#include "engine/core/error.h"
#include "engine/inference/finite_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

namespace attn {

void writeCapture(const std::string& path, const ModelInfo& model, const Input& input,
                  const std::vector<CapturedHook>& hooks) {
    std::vector<WrittenTensor> tensors;
    const auto addTokens = [&](const char* name, const std::vector<int>& tokens) {
        tensors.push_back({.name = name, .shape = {std::ssize(tokens)}, .integers = tokens});
    };
    if (input.isText() && model.readsSource) addTokens("source_tokens", input.source());
    if (input.isText())
        addTokens("tokens", input.tokens());
    else
        tensors.push_back(
            {.name = "patches",
             .shape = {model.grid.area(), static_cast<int64_t>(input.patches().size()) / model.grid.area()},
             .values = input.patches()});
    for (const CapturedHook& hook : hooks)
        tensors.push_back({.name = hook.name, .shape = hook.shape.extents(), .values = hook.values});
    if (path.ends_with(".safetensors"))
        writeSafetensors(path, tensors, {{"format", "pt"}, {"model", model.name}, {"family", model.family}});
    else if (path.ends_with(".npz"))
        writeNpz(path, tensors);
    else
        throw Error({.what = "the format is unknown", .where = path, .hint = "use the ending .safetensors or .npz"});
}

int64_t strangeValues(const CapturedHook& hook, const ModelInfo& model) {
    FiniteCount count;
    if (hook.name != "logits") {
        count.add(hook.values);
        return count.wrong();
    }
    int64_t strange = 0;
    const auto row = static_cast<size_t>(hook.shape.columns());
    for (size_t at = 0; at < hook.values.size(); at += row)
        strange += wrongLogits(std::span(hook.values).subspan(at, row), model.activation);
    return strange;
}

std::vector<int> parseTokenIds(const std::string& text) {
    std::vector<int> ids;
    constexpr const char* kBlanks = " \t\n";
    bool wantsNumber = true; // at the beginning and behind a comma
    for (const char each : text) {
        if (each == ',' && std::exchange(wantsNumber, true))
            throw Error({.what = "there is a comma without a number before it",
                         .where = "tokens",
                         .hint = "give whole numbers separated by commas, e.g. 1,403,407"});
        if (each != ',' && std::string_view(kBlanks).find(each) == std::string_view::npos) wantsNumber = false;
    }
    for (size_t at = 0; at < text.size();) {
        const size_t begin = text.find_first_not_of(", \t\n", at);
        if (begin == std::string::npos) break;
        at = std::min(text.find_first_of(", \t\n", begin), text.size());
        int id = 0;
        const auto [end, error] = std::from_chars(text.data() + begin, text.data() + at, id);
        if (error != std::errc() || end != text.data() + at || id < 0)
            throw Error({.what = fmt::format("\"{}\" is not a token id", text.substr(begin, at - begin)),
                         .where = "tokens",
                         .hint = "give whole numbers separated by commas, e.g. 1,403,407"});
        ids.push_back(id);
    }
    return ids;
}

} // namespace attn
