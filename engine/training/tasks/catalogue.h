#pragma once

#include "engine/training/tasks/task.h"

namespace attn {

/// Every training task, in the order of menus and listings. Tests sweep over it.
std::span<const Task* const> taskCatalogue();

/// @throws Error listing the ids if there is none with this one
const Task& taskNamed(std::string_view id);

extern const Task kCopyTask, kReverseTask, kSortTask, kAddTask, kModularAdditionTask, kInductionTask,
    kAssociativeRecallTask, kBracketsTask, kMajorityTask, kCompareTask, kDelayedRecallTask, kParityTask, kTextTask,
    kStoriesTask, kShapesTask, kFashionMnistTask, kImagesTask;

} // namespace attn
