#include "app/lab/undo_commands.h"

#include "app/lab/session_file.h"

#include <QCoreApplication>

namespace attn {
namespace {}

PromptEdit::PromptEdit(PostCommand post, const Snapshot& before, SetPromptCommand after)
    : QUndoCommand(QCoreApplication::translate("attn::Undo", "prompt edit")), post_(std::move(post)),
      before_(SessionDocument::fromSnapshot(before).restoreCommand()), after_(std::move(after)) {
    sinceEdit_.start();
}

void PromptEdit::undo() { post_(before_); }

void PromptEdit::redo() { post_(after_); }

bool PromptEdit::mergeWith(const QUndoCommand* other) {
    const auto* next = static_cast<const PromptEdit*>(other); // the id says so
    if (sinceEdit_.elapsed() > kMergePauseMs) return false;
    after_ = next->after_;
    sinceEdit_.restart();
    return true;
}

BranchMove::BranchMove(PostCommand post, int fromNode, Command move, const QString& text)
    : QUndoCommand(text), post_(std::move(post)), fromNode_(fromNode), move_(std::move(move)) {}

GateChange::GateChange(PostCommand post, std::vector<SetHeadGateCommand> before, SetHeadGateCommand after)
    : QUndoCommand(QCoreApplication::translate("attn::Undo", "gate change")), post_(std::move(post)),
      before_(std::move(before)), after_(after) {
    sinceEdit_.start();
}

void GateChange::undo() {
    for (const SetHeadGateCommand& gate : before_) post_(gate);
}

bool GateChange::mergeWith(const QUndoCommand* other) {
    const auto* next = static_cast<const GateChange*>(other);
    if (next->after_.layer != after_.layer || next->after_.head != after_.head || sinceEdit_.elapsed() > kMergePauseMs)
        return false;
    after_ = next->after_;
    sinceEdit_.restart();
    return true;
}

} // namespace attn
