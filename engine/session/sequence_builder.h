#pragma once

#include "engine/inference/language_model.h"
#include "engine/inference/sequence.h"
#include "engine/session/prompt.h"
#include "engine/session/token_path.h"
#include "engine/text/tokenizer.h"

#include <memory>
#include <optional>

namespace attn {

/// Describes the text of a session for its views. The tokens that a text shares with the last one are not described
/// again, so a text that grows takes O(1) for each token.
class SequenceBuilder {
public:
    /// @param prompt another object: another text, of which nothing is kept; null: there is no text yet
    /// @param first token of the path that the model still holds
    std::shared_ptr<Sequence> build(const LanguageModel& model, const TokenPath& path,
                                    const std::shared_ptr<const Prompt>& prompt, size_t first);

private:
    bool continues(const std::vector<int>& nodes, const BranchTree& tree, size_t first) const;
    void add(const LanguageModel& model, const BranchTree& tree, int node, size_t index, bool isPrompt);
    std::string noticeOf(const LanguageModel& model, size_t count, size_t first) const;

    std::shared_ptr<const Prompt> prompt_;
    std::optional<StreamDecoder> decoder_; ///< reads all tokens of the path, forgotten ones too
    GrowingList<TokenInfo> tokens_;        ///< from first_ on
    GrowingList<TokenInfo> source_;
    size_t first_ = 0;
};

} // namespace attn
