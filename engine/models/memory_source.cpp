#include "engine/models/memory_source.h"

#include "engine/models/induction.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// @return the number of values that are NaN or infinite
int64_t writeFrom(const WeightSet& weights, const std::string& parameter, const Shape& shape, const RowWriter& write) {
    const std::vector<float>& values = weights.values.at(parameter);
    writeRows(values, shape, write);
    return std::ranges::count_if(values, [](float value) { return !std::isfinite(value); });
}

class MemorySource : public ModelSource {
public:
    explicit MemorySource(std::shared_ptr<const WeightSet> weights) : weights_(std::move(weights)) {}

    const DecoderConfig& config() const override { return weights_->model->config; }
    const std::string& configText() const override { return weights_->model->configText; }
    std::string familyTitle() const override { return weights_->model->familyTitle; }
    std::string dtype() const override { return "F32"; }
    const Tokenizer* tokenizer() const override { return weights_->model->tokenizer.get(); }
    std::string example() const override { return weights_->model->example; }
    const std::vector<int>& stopTokens() const override { return weights_->model->stopTokens; }
    std::string sourceName(const std::string&) const override { return {}; }

    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        return writeFrom(*weights_, parameter, shape, write);
    }

private:
    std::shared_ptr<const WeightSet> weights_;
};

class MemoryVisionSource : public VisionSource {
public:
    explicit MemoryVisionSource(std::shared_ptr<const WeightSet> weights) : weights_(std::move(weights)) {}

    const VisionConfig& config() const override { return weights_->model->vision->config; }
    const ImagePreprocessing& preprocessing() const override { return weights_->model->vision->preprocessing; }
    const std::vector<std::string>& labels() const override { return weights_->model->vision->labels; }
    const std::vector<std::string>& warnings() const override { return warnings_; }
    const std::string& configText() const override { return weights_->model->configText; }
    std::string familyTitle() const override { return weights_->model->familyTitle; }
    std::string dtype() const override { return "F32"; }
    std::string sourceName(const std::string&) const override { return {}; }
    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        return writeFrom(*weights_, parameter, shape, write);
    }

private:
    std::shared_ptr<const WeightSet> weights_;
    std::vector<std::string> warnings_; ///< none
};

} // namespace

std::unique_ptr<ModelSource> makeMemorySource(std::shared_ptr<const WeightSet> weights) {
    return std::make_unique<MemorySource>(std::move(weights));
}

std::unique_ptr<VisionSource> makeMemoryVisionSource(std::shared_ptr<const WeightSet> weights) {
    return std::make_unique<MemoryVisionSource>(std::move(weights));
}

std::unique_ptr<ModelSource> makeInductionSource() {
    constexpr const char* kText = R"({
  "model_type": "induction",
  "note": "set by formula: layer 0, head 0 attends to the previous letter; layer 1, head 0 completes repetitions"
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
