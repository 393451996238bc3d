#pragma once

#include "app/scope/subject.h"
#include "engine/session/edits.h"
#include "engine/session/microscope.h"

#include <array>
#include <chrono>
#include <deque>

namespace attn::scope {

/// A model with its text, to which tokens are written one by one.
class ModelSubject : public Subject {
public:
    /// Runs the prompt. @throws Error if the layer or head does not exist or the prompt does not fit
    ModelSubject(LanguageModel& model, std::vector<int> prompt, int layer, int head);

    gpu::Context& context() override { return language_.context(); }
    int layers() const override { return language_.info().layers; }
    int heads() const override { return language_.info().heads; }
    int tokenCount() const override { return static_cast<int>(labels_.size()); }
    std::string facts() const override;
    ModelSubject* model() override { return this; }

    LanguageModel& language() { return language_; }
    const LanguageModel& language() const { return language_; }
    Microscope& microscope() { return microscope_; }
    /// The likeliest next token, quoted, with its probability, e.g. "“y” 99 %".
    const std::string& next() const { return next_; }
    /// Grows whenever the tokens change.
    uint64_t version() const { return version_; }
    /// The first token that is not as it was at an earlier version; 0 where that is not known any more.
    int firstChanged(uint64_t since) const;

    /// Writes the likeliest token. At the context's end a notice says so. @return whether a token was written
    bool generate();
    void reset(); ///< back to the prompt
    /// Other tokens; those at the beginning that are the same are not run again.
    /// @param promptLength how many of them reset() goes back to @throws Error if they do not fit: nothing is changed
    void setTokens(const std::vector<int>& tokens, size_t promptLength);
    const std::vector<int>& tokens() const { return language_.tokens(); }
    size_t promptLength() const { return prompt_.size(); }
    /// Runs the model so from now on. @param gates of all heads, layer by layer; none: every gate is open
    /// @throws Error if it cannot: it then runs as before
    void setEdits(const Edits& edits, std::vector<float> gates);
    const Edits& edits() const { return edits_; }
    /// How many things are changed about the model: interventions, patterns set by hand, gates that are not open.
    int changeCount() const;
    bool isByHand() const;                                  ///< the pattern of the head that is looked at is set
    uint64_t editsVersion() const { return editsVersion_; } ///< grows whenever they change

    /// How much the newest rows glow, the newest first: 1 when written, 0 a little later.
    std::array<float, 4> glow() const;
    bool isGlowing() const { return glow().front() > 0; }

private:
    void describeText(int firstChanged);
    /// Works edits out for a prompt, which forgets all tokens.
    void workOut(const Edits& edits, const std::vector<int>& prompt);

    LanguageModel& language_;
    Microscope microscope_;
    std::vector<int> prompt_;
    Edits edits_;
    std::string next_;
    uint64_t version_ = 0, editsVersion_ = 0;
    std::deque<std::pair<uint64_t, int>> changes_; ///< version, first token that changed with it; the newest last
    std::deque<std::chrono::steady_clock::time_point> written_; ///< when the newest tokens were, the newest first
};

/// ", with 2 changes", for what is said of a step; empty where there is none.
std::string withChanges(int count);

/// A token on one line: “␣the”, “↵”. At most `mostCharacters` characters, then an ellipsis.
std::string tokenLabel(const std::string& text, size_t mostCharacters);

} // namespace attn::scope
