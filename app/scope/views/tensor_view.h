#pragma once

#include "app/scope/matrix_plot.h"
#include "app/scope/model_subject.h"

#include <array>
#include <memory>
#include <vector>

namespace attn::scope {

/// Shows any hook or parameter of a model as an image, with its statistics.
class TensorView : public View {
public:
    explicit TensorView(ModelSubject& subject);

    void draw(const Area& area, const Look& look, UserRequests& requests) override;
    bool prepare(const std::function<void()>& finishFrame) override;
    std::span<const Picture> pictures() const override { return {&plot_.picture(), isPlaced_ ? 1u : 0u}; }
    std::string facts() const override;
    void fit() override { plot_.fit(); }
    bool looksAtTokens() const override { return true; }

    void choose(const std::string& name);
    const Microscope::DeviceTensor* shown() const { return shown_ ? &*shown_ : nullptr; }
    const MatrixPlot& plot() const { return plot_; }

private:
    struct Listed {
        std::string name, shape; ///< shape: only for parameters
        bool isHook = true;
    };
    void drawList(const Area& area);
    void drawStatistics(const Area& area) const;
    std::string describe(const Cell& cell);

    ModelSubject& subject_;
    std::vector<Listed> all_;
    std::array<char, 64> filter_{};
    std::string chosen_;
    std::optional<Microscope::DeviceTensor> shown_;
    uint64_t version_ = 0; ///< version of the tokens in shown_
    MatrixPlot plot_;
    bool isPlaced_ = false; ///< plot_ shows shown_
    std::optional<std::pair<Cell, float>> lastRead_;
};

std::unique_ptr<View> makeTensorView(Subject& subject);

} // namespace attn::scope
