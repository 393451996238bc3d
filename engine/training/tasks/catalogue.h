#pragma once

#include "engine/training/tasks/task.h"

namespace attn {

/// All training tasks, in the order of menus and lists.
std::span<const Task* const> taskCatalogue();

/// The task with an id. @throws Error listing the ids if there is none
const Task& taskNamed(std::string_view id);

extern const Task kCopyTask, kReverseTask, kSortTask, kAddTask, kModularAdditionTask, kInductionTask,
    kAssociativeRecallTask, kBracketsTask, kMajorityTask, kCompareTask, kDelayedRecallTask, kParityTask, kTextTask,
    kPrefixTextTask, kMaskedTextTask, kPermutedTextTask, kHiddenSegmentsTask, kClassifyTask, kTextLabelsTask,
    kTextNumbersTask, kPictureLabelsTask, kPictureNumbersTask, kTagTask, kDependenciesTask, kAnswerTask,
    kNextSentenceTask, kNumbersTask, kDatesTask, kTranslationTask, kTextToTextTask, kSpanCorruptionTask, kDenoisingTask,
    kStoriesTask, kPixelsTask, kShapesTask, kFashionMnistTask, kImagesTask;

} // namespace attn
