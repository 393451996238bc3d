#pragma once

#include "app/scope/matrix_plot.h"
#include "app/scope/model_subject.h"

#include <memory>
#include <vector>

namespace attn::scope {

/// Norms of the residual stream by token: one row for the embedding and one after each layer, from top to bottom.
class NormsView : public View {
public:
    explicit NormsView(ModelSubject& subject) : subject_(subject) {}

    void draw(const Area& area, const Look& look, UserRequests& requests) override;
    bool prepare(const std::function<void()>& finishFrame) override;
    std::span<const Picture> pictures() const override { return {&plot_.picture(), isPlaced_ ? 1u : 0u}; }
    void fit() override { plot_.fit(); }
    bool looksAtTokens() const override { return true; }

    const MatrixPlot& plot() const { return plot_; }
    float norm(int row, int token) const; ///< row 0 is the embedding

private:
    ModelSubject& subject_;
    std::optional<Microscope::DeviceTensor> shown_;
    uint64_t version_ = 0;
    MatrixPlot plot_;
    bool isPlaced_ = false; ///< plot_ shows shown_
};

std::unique_ptr<View> makeNormsView(Subject& subject);

} // namespace attn::scope
