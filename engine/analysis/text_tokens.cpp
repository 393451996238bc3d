#include "engine/analysis/text_tokens.h"

#include "engine/inference/capture_file.h"
#include "engine/inference/language_model.h"

namespace attn {

std::shared_ptr<AnalysisResult> TextTokensAnalysis::run(RunningModel& running, const AnalysisContext&) const {
    LanguageModel& model = languageModel(running);
    auto result = std::make_shared<TextTokens>();
    result->text = text;
    result->tokens = model.tokenizer() ? model.tokenizer()->readWhole(text).ids : parseTokenIds(text);
    return result;
}

} // namespace attn
