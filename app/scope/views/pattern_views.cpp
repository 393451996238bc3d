#include "app/scope/views/pattern_views.h"

#include "app/scope/head_pattern.h"

namespace attn::scope {

void PatternPage::draw(const Area& area, const Look& look, UserRequests&) {
    plot_.draw(area, look, subject_, *source_);
    if (const ModelSubject* model = subject_.model()) plot_.setGlow(model->tokenCount() - 1, model->glow());
}

bool PatternPage::prepare(const std::function<void()>& finishFrame) { return plot_.prepare(*source_, finishFrame); }

std::unique_ptr<View> makeHeadView(Subject& subject) {
    return std::make_unique<PatternPage>(subject, std::make_unique<HeadPattern>(*subject.model()));
}

std::unique_ptr<View> makeLongPatternView(Subject& subject) {
    auto source = subject.model() ? std::make_unique<LongPattern>(*subject.model())
                                  : std::make_unique<LongPattern>(dynamic_cast<RandomSubject&>(subject));
    return std::make_unique<PatternPage>(subject, std::move(source));
}

} // namespace attn::scope
