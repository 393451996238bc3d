#pragma once

#include "app/scope/model_subject.h"
#include "app/scope/view.h"

#include <memory>
#include <vector>

namespace attn::scope {

/// The time of a step: every op as a bar along the step and as a row of a sortable table.
class TimelineView : public View {
public:
    explicit TimelineView(ModelSubject& subject) : subject_(subject) {}

    void drawTools(UserRequests& requests) override;
    void draw(const Area& area, const Look& look, UserRequests& requests) override;
    bool prepare(const std::function<void()>& finishFrame) override;
    std::string facts() const override;
    bool looksAtTokens() const override { return true; }

    const StepProfile& profile() const { return profile_; }

private:
    void drawBars(const Area& area) const;
    void drawTable(const Area& area);
    void sort(int column, bool isRising);

    ModelSubject& subject_;
    Microscope::Phase phase_ = Microscope::Phase::Decode;
    StepProfile profile_;
    bool isMeasured_ = false;
    uint64_t changesVersion_ = 0; ///< version of the model's changes in profile_
    std::vector<size_t> order_;   ///< of the rows
    int marked_ = -1;             ///< op under the pointer
};

std::unique_ptr<View> makeTimelineView(Subject& subject);

} // namespace attn::scope
