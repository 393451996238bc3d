#include "engine/training/starting_loss.h"

#include "engine/core/error.h"
#include "engine/training/trainer.h"

#include <fmt/format.h>

namespace attn {
namespace {

double startingLoss(Trainer& trainer) {
    constexpr int64_t kMostExamples = 256;
    return trainer.evaluate(Split::Validation, kMostExamples).loss;
}

} // namespace

std::string startSentence(Trainer& trainer, const DeviceChoice& choice) {
    std::string sentence = trainer.objective().startSentence();
    if (sentence.empty() || trainer.stepsDone() > 0) return sentence;
    sentence += fmt::format("; validation loss before training {:.4f}", startingLoss(trainer));
    Recipe own = trainer.recipe();
    own.architecture.attention.clear();
    try {
        Trainer before(own, choice);
        sentence += fmt::format(", with the model's own attention {:.4f}", startingLoss(before));
    } catch (const Error&) { // the task does not fit the model's own attention: its context is longer
        sentence += ", and the model's own attention cannot read this task";
    }
    return sentence;
}

} // namespace attn
