#pragma once

#include "app/scope/model_subject.h"
#include "app/scope/view.h"

#include <memory>
#include <vector>

namespace attn::scope {

/// A tensor in a plan's arena, from the op that writes it to the last op that reads it.
struct ArenaSpan {
    uint32_t tensor = 0; ///< index in Plan::tensors
    uint32_t firstOp = 0, lastOp = 0;
    bool isResult = false; ///< kept until the plan ends
};
/// The spans of all tensors in the arena, in the order of Plan::tensors.
std::vector<ArenaSpan> arenaSpans(const Plan& plan);

/// A step as a list of ops with their shapes and buffers, and a chart of the arena: ops from left to right, addresses
/// from top to bottom.
class PlanView : public View {
public:
    explicit PlanView(ModelSubject& subject) : subject_(subject) {}

    void drawTools(UserRequests& requests) override;
    void draw(const Area& area, const Look& look, UserRequests& requests) override;
    bool prepare(const std::function<void()>& finishFrame) override;
    std::string facts() const override;

private:
    void drawMap(const Area& area);
    void drawTable(const Area& area);
    std::string tensorText(uint32_t tensor) const;

    ModelSubject& subject_;
    Microscope::Phase phase_ = Microscope::Phase::Decode;
    std::shared_ptr<const Plan> plan_;
    uint64_t changesVersion_ = 0; ///< version of the model's changes in plan_
    std::vector<ArenaSpan> spans_;
    int marked_ = -1; ///< op under the pointer
};

std::unique_ptr<View> makePlanView(Subject& subject);

} // namespace attn::scope
