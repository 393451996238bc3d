#pragma once

#include "app/scope/long_pattern.h"
#include "app/scope/model_subject.h"
#include "app/scope/pattern_plot.h"

#include <memory>

namespace attn::scope {

/// One head, as a plot that fills the window.
class PatternPage : public View {
public:
    PatternPage(Subject& subject, std::unique_ptr<PatternSource> source)
        : subject_(subject), source_(std::move(source)) {}

    void draw(const Area& area, const Look& look, UserRequests& requests) override;
    bool prepare(const std::function<void()>& finishFrame) override;
    std::span<const Picture> pictures() const override { return {&plot_.picture(), 1}; }
    std::string facts() const override { return source_->facts(); }
    void fit() override { plot_.fit(); }
    bool looksAtHead() const override { return true; }
    bool looksAtTokens() const override { return true; }

    const PatternPlot& plot() const { return plot_; }
    const PatternSource& source() const { return *source_; }

private:
    Subject& subject_;
    std::unique_ptr<PatternSource> source_;
    PatternPlot plot_;
};

std::unique_ptr<View> makeHeadView(Subject& subject);
std::unique_ptr<View> makeLongPatternView(Subject& subject);

} // namespace attn::scope
