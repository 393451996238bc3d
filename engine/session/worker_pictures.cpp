#include "engine/analysis/attention_distance.h"
#include "engine/core/error.h"
#include "engine/session/worker.h"

#include <algorithm>
#include <span>
#include <utility>

// Pictures: runs of vision models.

namespace attn {

void Session::Worker::on(const SetPictureCommand& command) {
    vision();
    const GivenPicture before = std::exchange(given_, command.picture);
    if (before.image != given_.image || before.hidden != given_.hidden) next_.originalAnswer.reset();
    next_.picture = std::make_shared<GivenPicture>(given_);
    hasStaleChanges_ = true;
    runPicture();
}

void Session::Worker::runPicture() {
    const bool isFirst = !next_.answer;
    next_.answer.reset(); // views keep the former one until the new one is there
    ++next_.sequenceVersion;
    if (!given_.image) return publish();
    next_.status.activity = Activity::Prefilling;
    if (isFirst) publish();
    refreshChanges();
    const bool isOriginal = next_.run == ShownRun::Original,
               hasChanges = model().isChanged() || (isOriginal && next_.changes);
    next_.isChanged = hasChanges && !isOriginal;
    const bool isKnown = hasChanges && next_.originalAnswer;
    if (!hasChanges) next_.originalAnswer.reset();
    if (hasChanges && !isKnown) {
        const Bypassed bypassed(model());
        next_.originalAnswer = answered();
    }
    next_.answer = hasChanges && isOriginal ? next_.originalAnswer : answered();
    publishIdle();
}

std::shared_ptr<const PictureAnswer> Session::Worker::answered() {
    PictureAnswer answer{.seen = std::make_shared<const Image>(vision().seen(*given_.image)),
                         .patterns = {},
                         .distances = {},
                         .logits = {},
                         .probabilities = {}};
    const std::vector<float> patches = givenPatches();
    const Clock::time_point start = Clock::now();
    VisionModel::PatternsAndLogits result = vision().patternsAndLogits(patches);
    answer.patterns = std::move(result.patterns);
    answer.logits = std::move(result.logits);
    const ModelInfo& info = model().info();
    for (const SitePattern& pattern : answer.patterns)
        answer.distances.push_back(pattern.values.empty() ? std::vector<float>()
                                                          : attentionDistances(pattern, info.grid.width, info.patch));
    answer.probabilities = saidOf(answer.logits, info.activation);
    answer.elapsedMs = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return std::make_shared<const PictureAnswer>(std::move(answer));
}

std::vector<float> Session::Worker::givenPatches() {
    std::vector<float> patches = vision().patchesOf(*given_.image);
    const size_t patch = patches.size() / static_cast<size_t>(vision().config().patches.grid().area());
    // In normalised values, 0 is the mean colour of the training data.
    for (const int hidden : given_.hidden)
        std::ranges::fill(std::span(patches).subspan(static_cast<size_t>(hidden) * patch, patch), 0.0f);
    return patches;
}

std::optional<Input> Session::Worker::otherPicture() {
    return given_.other ? std::optional<Input>(vision().patchesOf(*given_.other)) : std::nullopt;
}

Input Session::Worker::input() { return axis() == AxisKind::Patches ? Input(givenPatches()) : text().input(); }

Input Session::Worker::unchangedInput(bool needsPicture) {
    if (axis() == AxisKind::Patches)
        return needsPicture && given_.image ? vision().patchesOf(*given_.image) : std::vector<float>();
    TextInput input = prompt_ ? sidesOf(*prompt_) : TextInput{};
    input.tokens = promptTokens();
    input.types.resize(std::min(input.types.size(), input.tokens.size()));
    return input;
}

void Session::Worker::runInput() {
    if (axis() == AxisKind::Patches) return runPicture();
    if (path_.tokens().empty()) return publish();
    runPath();
}

} // namespace attn
