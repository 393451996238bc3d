#pragma once

#include "app/scope/microscope.h"
#include "app/scope/subject.h"
#include "engine/inference/changes.h"

#include <array>
#include <deque>

namespace attn::scope {

/// A model with its text, which grows token by token.
class ModelSubject : public Subject {
public:
    /// Runs the prompt. @throws Error if the layer or head does not exist or the prompt does not fit
    ModelSubject(LanguageModel& model, std::vector<int> prompt, int layer, int head);

    Device& device() override { return language_.device(); }
    int layers() const override { return language_.info().layers; }
    int heads() const override { return language_.info().heads; }
    int tokenCount() const override { return static_cast<int>(labels_.size()); }
    std::string facts() const override;
    ModelSubject* model() override { return this; }

    LanguageModel& language() { return language_; }
    const LanguageModel& language() const { return language_; }
    Microscope& microscope() { return microscope_; }
    /// The most probable next token, quoted, with its probability, e.g. "“y” 99 %".
    const std::string& next() const { return next_; }
    /// Grows whenever the tokens change.
    uint64_t version() const { return version_; }
    /// The first token that has changed since an earlier version; 0 if that is no longer known.
    int firstChanged(uint64_t since) const;

    /// Generates the most probable token, or sets a notice if the context is full. @return whether a token was
    /// generated
    bool generate();
    void reset(); ///< back to the prompt
    /// Replaces the text. Equal tokens at the beginning are not run again.
    /// @param promptLength the number of tokens that reset() keeps
    /// @throws Error if they do not fit; then nothing changes
    void setText(const TextInput& text, size_t promptLength);
    const std::vector<int>& tokens() const { return language_.tokens(); }
    TextInput text() const { return language_.input().text(); }
    size_t promptLength() const { return prompt_.size(); }
    /// Runs the model with these changes from now on.
    /// @throws Error if the changes are not possible; then the model runs as before
    void setChanges(const Changes& changes);
    const Changes& changes() const { return runChanges_; }
    /// The number of changes to the model: changed values, changed patterns, and gates that are not open.
    int changeCount() const;
    bool hasChangedPattern() const;                             ///< the selected head has a changed pattern
    uint64_t changesVersion() const { return changesVersion_; } ///< grows whenever the changes change

    /// The glow of the newest rows, the newest first: 1 when generated, fading to 0.
    std::array<float, 4> glow() const;
    bool isGlowing() const { return glow().front() > 0; }
    void fade(float seconds); ///< lets the glow fade for this time

private:
    void describeText(int firstChanged);
    /// Applies changes to a prompt, and removes all tokens.
    void workOut(const Changes& changes, TextInput prompt);
    /// The first tokens of a text, with the other inputs for them.
    static TextInput beginning(TextInput text, size_t length);

    LanguageModel& language_;
    Microscope microscope_;
    std::vector<int> prompt_;
    Changes runChanges_;
    std::string next_;
    uint64_t version_ = 0, changesVersion_ = 0;
    std::deque<std::pair<uint64_t, int>> changes_; ///< version, first token that changed with it; the newest last
    std::deque<float> ages_; ///< seconds for which the newest tokens have glowed, the newest first
};

/// ", with 2 changes", for the description of a step; empty if there are none.
std::string withChanges(int count);

/// A token on one line: “␣the”, “↵”. After `mostCharacters` characters it ends in an ellipsis.
std::string tokenLabel(const std::string& text, size_t mostCharacters);

} // namespace attn::scope
