#pragma once

#include "app/lab/common/playground_setup.h"
#include "engine/session/commands.h"
#include "engine/session/snapshot.h"

#include <QUndoCommand>

#include <functional>

namespace attn {

using PostCommand = std::function<void(Command)>;

/// A new prompt. Undoing brings back the old one with every branch that was tried on it. Typing is one step for each
/// word, and after each pause.
class PromptStep : public QUndoCommand {
public:
    /// @param before brings back what was there  @param step UndoSteps::step()
    PromptStep(PostCommand post, Command before, SetPromptCommand after, int step);

    void undo() override;
    void redo() override;
    int id() const override { return 1; }
    bool mergeWith(const QUndoCommand* other) override;

private:
    PostCommand post_;
    Command before_;
    SetPromptCommand after_;
    int step_;
};

/// A move in the branch tree: taking a token or going back to one. Undoing goes back to where it started.
class BranchMove : public QUndoCommand {
public:
    BranchMove(PostCommand post, int fromNode, Command move, const QString& text);

    void undo() override { post_(GoToBranchCommand{fromNode_}); }
    void redo() override { post_(move_); }

private:
    PostCommand post_;
    int fromNode_;
    Command move_;
};

/// A change of a value that several panels share, or of a panel's settings. Changes of the same setting in the same
/// step of undo are merged.
/// @tparam kId identifies this kind of change, for merging
template <class State, int kId> class StateStep : public QUndoCommand {
public:
    using Show = std::function<void(const State&)>;
    /// @param text for the Edit menu  @param what names the setting that changed  @param step UndoSteps::step()
    StateStep(const QString& text, Show show, State before, State after, QString what, int step)
        : QUndoCommand(text), show_(std::move(show)), before_(std::move(before)), after_(std::move(after)),
          what_(std::move(what)), step_(step) {}

    void undo() override { show_(before_); }
    void redo() override { show_(after_); }
    int id() const override { return kId; }
    bool mergeWith(const QUndoCommand* other) override {
        const auto* next = static_cast<const StateStep*>(other);
        if (next->what_ != what_ || next->step_ != step_) return false;
        after_ = next->after_;
        return true;
    }

private:
    Show show_;
    State before_, after_;
    QString what_;
    int step_;
};
using PlaygroundStep = StateStep<PlaygroundSetup, 3>;

} // namespace attn
