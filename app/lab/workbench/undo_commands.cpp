#include "app/lab/workbench/undo_commands.h"

#include <QCoreApplication>

namespace attn {
namespace {

/// Runs of characters that are no spaces; token ids each count as one.
size_t wordCount(const GivenText& prompt) {
    size_t count = prompt.tokens.size();
    bool wasSpace = true;
    for (const char c : prompt.text) {
        const bool isSpace = c == ' ' || c == '\n' || c == '\t';
        count += wasSpace && !isSpace;
        wasSpace = isSpace;
    }
    return count;
}

} // namespace

PromptStep::PromptStep(PostCommand post, Command before, SetPromptCommand after, int step)
    : QUndoCommand(QCoreApplication::translate("attn::Undo", "editing the prompt")), post_(std::move(post)),
      before_(std::move(before)), after_(std::move(after)), step_(step) {}

void PromptStep::undo() { post_(before_); }

void PromptStep::redo() { post_(after_); }

bool PromptStep::mergeWith(const QUndoCommand* other) {
    const auto* next = static_cast<const PromptStep*>(other); // the id says so
    if (next->step_ != step_ || wordCount(next->after_.given) > wordCount(after_.given)) return false;
    after_ = next->after_;
    return true;
}

BranchMove::BranchMove(PostCommand post, int fromNode, Command move, const QString& text)
    : QUndoCommand(text), post_(std::move(post)), fromNode_(fromNode), move_(std::move(move)) {}

} // namespace attn
