#include "engine/training/tasks/catalogue.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {

std::span<const Task* const> taskCatalogue() {
    static constexpr std::array kTasks{&kCopyTask,
                                       &kReverseTask,
                                       &kSortTask,
                                       &kAddTask,
                                       &kModularAdditionTask,
                                       &kInductionTask,
                                       &kAssociativeRecallTask,
                                       &kDelayedRecallTask,
                                       &kBracketsTask,
                                       &kMajorityTask,
                                       &kCompareTask,
                                       &kParityTask,
                                       &kTextTask,
                                       &kPrefixTextTask,
                                       &kMaskedTextTask,
                                       &kPermutedTextTask,
                                       &kHiddenSegmentsTask,
                                       &kClassifyTask,
                                       &kTextLabelsTask,
                                       &kTextNumbersTask,
                                       &kTagTask,
                                       &kDependenciesTask,
                                       &kAnswerTask,
                                       &kNextSentenceTask,
                                       &kNumbersTask,
                                       &kDatesTask,
                                       &kSpanCorruptionTask,
                                       &kDenoisingTask,
                                       &kTranslationTask,
                                       &kTextToTextTask,
                                       &kStoriesTask,
                                       &kPixelsTask,
                                       &kShapesTask,
                                       &kFashionMnistTask,
                                       &kImagesTask,
                                       &kPictureLabelsTask,
                                       &kPictureNumbersTask};
    return kTasks;
}

const Task& taskNamed(std::string_view id) {
    const auto found = std::ranges::find_if(taskCatalogue(), [&](const Task* task) { return task->id == id; });
    if (found != taskCatalogue().end()) return **found;
    std::vector<std::string_view> known;
    for (const Task* task : taskCatalogue()) known.push_back(task->id);
    throw Error({.what = fmt::format("there is no task \"{}\"", id),
                 .where = "task",
                 .hint = fmt::format("choose from: {}", fmt::join(known, ", "))});
}

} // namespace attn
