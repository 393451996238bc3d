#include "engine/models/memory_source.h"

#include "engine/models/induction.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

class MemorySource : public ModelSource {
public:
    explicit MemorySource(std::shared_ptr<const WeightSet> weights) : weights_(std::move(weights)) {}

    const ModelSpec& config() const override { return model().config; }
    const std::string& configText() const override { return model().configText; }
    std::string familyTitle() const override { return model().familyTitle; }
    const TensorStore* stored() const override { return weights_->stored.get(); }
    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        const std::vector<float>& values = weights_->values.at(parameter);
        writeRows(values, shape, write);
        return std::ranges::count_if(values, [](float value) { return !std::isfinite(value); });
    }
    const Tokenizer* tokenizer() const override { return model().tokenizer.get(); }
    std::string example() const override { return model().example; }
    const std::vector<int>& stopTokens() const override { return model().stopTokens; }
    const ImagePreprocessing& preprocessing() const override { return model().preprocessing; }

private:
    const WeightSet::Model& model() const { return *weights_->model; }

    std::shared_ptr<const WeightSet> weights_;
};

} // namespace

std::unique_ptr<ModelSource> makeMemorySource(std::shared_ptr<const WeightSet> weights) {
    return std::make_unique<MemorySource>(std::move(weights));
}

std::unique_ptr<ModelSource> makeInductionSource() {
    constexpr const char* kText = R"({
  "model_type": "induction",
  "note": "set by formula: layer 0, head 0 attends to the previous letter; layer 1, head 0 finds what came after the same letter before, and copies it"
})";
    const auto model = std::make_shared<WeightSet::Model>(
        WeightSet::Model{.config = inductionConfig(),
                         .familyTitle = "Constructed: induction",
                         .configText = kText,
                         .example = kInductionExample,
                         .tokenizer = std::make_shared<const Tokenizer>(Tokenizer::characters(inductionAlphabet()))});
    return makeMemorySource(std::make_shared<const WeightSet>(WeightSet{model, inductionWeights()}));
}

} // namespace attn
