#pragma once

#include "engine/session/training_session.h"

namespace attn {

class Trainer;

/// What the model answers to examples of the validation split, after the steps that it has made. Takes a while: a model
/// of texts writes its answers, and one of pictures is measured.
AnswersAtStep answersNow(Trainer& trainer);
/// The answers of all steps before, with these. Of long runs only some are kept.
AnswersBySteps withAnswers(AnswersBySteps before, const AnswersAtStep& now);

} // namespace attn
