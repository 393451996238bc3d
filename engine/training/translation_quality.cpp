#include "engine/training/translation_quality.h"

#include "engine/training/answers.h"
#include "engine/training/trainer.h"

namespace attn {

Bleu translationQuality(Trainer& trainer, Split split, int count) {
    const Tokenizer& tokenizer = sequencesOf(trainer)->instance().tokenizer();
    std::vector<std::string> written, expected;
    for (const TaskAnswer& answer : answersOf(trainer, split, 0, count, AnswerUntil::EndToken)) {
        if (answer.example.answer.empty()) continue; // beyond the end of the split
        written.push_back(tokenizer.decode(answer.given, true));
        expected.push_back(tokenizer.decode({answer.example.answer.begin(), answer.example.answer.end()}, true));
    }
    return corpusBleu(written, expected);
}

} // namespace attn
