#include "engine/session/text_tokens.h"

#include "engine/session/capture_file.h"
#include "engine/session/language_model.h"

namespace attn {

std::shared_ptr<AnalysisResult> TextTokensAnalysis::run(LanguageModel& model, const AnalysisInput&) const {
    auto result = std::make_shared<TextTokens>();
    result->text = text;
    result->tokens = model.tokenizer() ? model.tokenizer()->encode(text).ids : parseTokenIds(text);
    return result;
}

} // namespace attn
