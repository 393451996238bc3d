#include "app/lab/workbench/hidden_words.h"

#include "app/lab/workbench/session_file.h"
#include "app/lab/workbench/undo_commands.h"
#include "app/lab/workbench/workbench.h"

#include <algorithm>
#include <utility>

namespace attn {

SetPromptCommand withWord(const Sequence& sequence, const TokenInfo& token, const std::string& word) {
    SetPromptCommand prompt{sequence.given};
    prompt.given.tokens.clear(); // the text is another one
    (token.isSecond ? prompt.given.second : prompt.given.text)
        .replace(token.word.begin, token.word.end - token.word.begin, word);
    return prompt;
}

void changePrompt(Workbench& bench, SetPromptCommand prompt) {
    Command before = SessionDocument::fromSnapshot(*bench.snapshot()).restoreCommand();
    bench.undoStack().push(
        new PromptStep(bench.poster(), std::move(before), std::move(prompt), bench.undoSteps().step()));
}

void WordHider::click(int token) {
    const Snapshot& snapshot = *bench_.snapshot();
    Sequence sequence = *snapshot.sequence;
    TokenInfo clicked = sequence.tokens[static_cast<size_t>(token)];
    if (clicked.word.begin == clicked.word.end) return; // [CLS] and the like stand for no word
    const std::string mask = snapshot.model->tokenTexts.at(static_cast<size_t>(*snapshot.model->maskToken));
    if (hidden_ && hidden_->text == sequence.given.text && hidden_->second == sequence.given.second) {
        const Hidden shown = *std::exchange(hidden_, {});
        (shown.isSecond ? sequence.given.second : sequence.given.text)
            .replace(shown.begin, shown.mask.size(), shown.word);
        if (clicked.isSecond == shown.isSecond && clicked.word.begin == shown.begin)
            return changePrompt(bench_, {sequence.given});
        if (clicked.isSecond == shown.isSecond && clicked.word.begin > shown.begin) {
            clicked.word.begin += shown.word.size() - shown.mask.size(); // may wrap around, as unsigned sums do
            clicked.word.end += shown.word.size() - shown.mask.size();
        }
    }
    if (clicked.id == *snapshot.model->maskToken) return bench_.selectRow(token); // the person has typed it
    const std::string& text = clicked.isSecond ? sequence.given.second : sequence.given.text;
    const std::string word = text.substr(clicked.word.begin, clicked.word.end - clicked.word.begin);
    SetPromptCommand prompt = withWord(sequence, clicked, mask);
    hidden_ = Hidden{prompt.given.text, prompt.given.second, clicked.isSecond, clicked.word.begin, word, mask};
    isNew_ = true;
    changePrompt(bench_, std::move(prompt));
}

void WordHider::follow(const Snapshot& snapshot) {
    const Sequence& sequence = *snapshot.sequence;
    if (!isNew_ || hidden_->text != sequence.given.text || hidden_->second != sequence.given.second) return;
    isNew_ = false;
    const auto mask = std::ranges::find_if(sequence.tokens, [this](const TokenInfo& each) {
        return each.isSecond == hidden_->isSecond && each.word.begin == hidden_->begin &&
               each.word.end > each.word.begin;
    });
    if (mask != sequence.tokens.end()) bench_.selectRow(static_cast<int>(mask - sequence.tokens.begin()));
}

} // namespace attn
