#include "engine/models/memory_source.h"

#include "engine/models/induction.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// A source whose weights are in memory. @tparam Source ModelSource or VisionSource
template <class Source> class MemorySource : public Source {
public:
    explicit MemorySource(std::shared_ptr<const WeightSet> weights) : weights_(std::move(weights)) {}

    const std::string& configText() const override { return weights_->model->configText; }
    std::string familyTitle() const override { return weights_->model->familyTitle; }
    std::string dtype() const override { return "F32"; }
    std::string sourceName(const std::string&) const override { return {}; }
    const TensorStore* stored() const override { return weights_->stored.get(); }
    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        const std::vector<float>& values = weights_->values.at(parameter);
        writeRows(values, shape, write);
        return std::ranges::count_if(values, [](float value) { return !std::isfinite(value); });
    }

protected:
    const WeightSet::Model& model() const { return *weights_->model; }

private:
    std::shared_ptr<const WeightSet> weights_;
};

class MemoryTextSource : public MemorySource<ModelSource> {
public:
    using MemorySource::MemorySource;
    const DecoderConfig& config() const override { return model().config; }
    const Tokenizer* tokenizer() const override { return model().tokenizer.get(); }
    std::string example() const override { return model().example; }
    const std::vector<int>& stopTokens() const override { return model().stopTokens; }
};

class MemoryVisionSource : public MemorySource<VisionSource> {
public:
    using MemorySource::MemorySource;
    const VisionConfig& config() const override { return model().vision->config; }
    const ImagePreprocessing& preprocessing() const override { return model().vision->preprocessing; }
    const std::vector<std::string>& labels() const override { return model().vision->labels; }
};

} // namespace

std::unique_ptr<ModelSource> makeMemorySource(std::shared_ptr<const WeightSet> weights) {
    return std::make_unique<MemoryTextSource>(std::move(weights));
}

std::unique_ptr<VisionSource> makeMemoryVisionSource(std::shared_ptr<const WeightSet> weights) {
    return std::make_unique<MemoryVisionSource>(std::move(weights));
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
