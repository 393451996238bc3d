#include "engine/models/induction_source.h"

#include "engine/models/induction.h"

#include <algorithm>

namespace attn {
namespace {

class InductionSource : public ModelSource {
public:
    const DecoderConfig& config() const override { return config_; }
    const std::string& configText() const override { return text_; }
    std::string familyTitle() const override { return "Constructed: induction"; }
    std::string dtype() const override { return "F32"; }
    const Tokenizer* tokenizer() const override { return &tokenizer_; }
    std::string example() const override { return kInductionExample; }
    const std::vector<int>& stopTokens() const override { return stopTokens_; }
    std::string sourceName(const std::string&) const override { return {}; }

    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        const std::vector<float>& values = weights_.at(parameter);
        const auto columns = static_cast<size_t>(shape.columns()), stride = static_cast<size_t>(shape.rowStride());
        write([&](int64_t firstRow, std::span<float> rows) {
            for (size_t row = 0; row < rows.size() / stride; ++row)
                std::copy_n(values.begin() +
                                static_cast<std::ptrdiff_t>((static_cast<size_t>(firstRow) + row) * columns),
                            columns, rows.begin() + static_cast<std::ptrdiff_t>(row * stride));
        });
        return 0;
    }

private:
    DecoderConfig config_ = inductionConfig();
    std::map<std::string, std::vector<float>> weights_ = inductionWeights();
    Tokenizer tokenizer_ = Tokenizer::characters(inductionAlphabet());
    std::vector<int> stopTokens_; // it never ends by itself
    std::string text_ = R"({
  "model_type": "induction",
  "note": "weights are set by formula: layer 0 head 0 looks one letter back, layer 1 head 0 completes repetitions"
})";
};

} // namespace

std::unique_ptr<ModelSource> makeInductionSource() { return std::make_unique<InductionSource>(); }

} // namespace attn
