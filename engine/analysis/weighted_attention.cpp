#include "engine/analysis/weighted_attention.h"

#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/models/hook_names.h"
#include "engine/ops/tensor_ops.h"

#include <fmt/format.h>

namespace attn {
namespace {

constexpr size_t kMostTokens = 1024; // limits the T x T numbers that are computed

Tensor lengths(Tensor x) { // [..,T,C] -> [..,T,1]
    return unary(reduce(unary(x, Unary::Square), Reduction::Sum, {-1}), Unary::SquareRoot);
}

} // namespace

std::shared_ptr<AnalysisResult> WeightedAttentionAnalysis::run(RunningModel& running,
                                                               const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    const auto& info = model.info();
    info.requireHead(site, head);
    const int layer = info.site(site).layer;
    if (context.input.tokens().size() > kMostTokens)
        throw Error({.what = fmt::format("{} tokens are too many for weighted patterns", context.input.tokens().size()),
                     .where = info.name,
                     .hint = fmt::format("use at most {}", kMostTokens)});
    WholeRun whole(model, context.input);
    const std::string prefix = attentionHook(layer, "");
    const Tensor v = whole.hook(prefix + "v"); // [T,G,D]
    const int64_t T = v.shape()[0], G = v.shape()[1], D = v.shape()[2], C = model.config().modelWidth;
    const auto group = static_cast<int64_t>(head) / (int64_t{info.heads} / G);
    const Tensor own = reshape(slice(v, 1, group, 1), {T, D});
    const Tensor output = slice(whole.weight(layer, "attn.W_O", {C, info.heads * D}), 1, head * D, D);       // [C,D]
    const Tensor values = lengths(own), outputs = lengths(batchedMatmul(own, output, {.transposeB = true})); // [T,1]
    const Tensor pattern = reshape(slice(whole.hook(prefix + "pattern"), 0, head, 1), {T, T});
    const auto weighted = [&](Tensor norms) { return multiply(pattern, reshape(norms, {1, T})); };
    whole.compile({{"pattern", pattern},
                   {"values", values},
                   {"outputs", outputs},
                   {"value_weighted", weighted(values)},
                   {"norm_weighted", weighted(outputs)}});
    whole.run();
    auto result = std::make_shared<WeightedAttention>();
    result->site = site;
    result->head = head;
    result->tokens = static_cast<int>(whole.tokens());
    const auto count = static_cast<size_t>(whole.tokens());
    const auto cells = [&](const char* name) { // without the padding
        const std::vector<float> all = whole.result(name);
        std::vector<float> square;
        for (size_t row = 0; row < count; ++row) {
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * static_cast<size_t>(T));
            square.insert(square.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
        }
        return square;
    };
    const auto row = [&](const char* name) {
        std::vector<float> all = whole.result(name);
        all.resize(count);
        return all;
    };
    result->pattern = cells("pattern");
    result->valueNorms = row("values");
    result->outputNorms = row("outputs");
    result->valueWeighted = cells("value_weighted");
    result->normWeighted = cells("norm_weighted");
    return result;
}

} // namespace attn
