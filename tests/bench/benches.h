#pragma once

#include "app/cli/command.h"

// What attention-bench measures: a file each.

namespace attn::cli {

void addBenchKernels(Command& command);
void addBenchLongPattern(Command& command);
void addBenchMemory(Command& command);
void addBenchOps(Command& command);
void addBenchPrecision(Command& command);
void addBenchTexts(Command& command);
void addBenchTrain(Command& command);
void addBenchWindow(Command& command);

} // namespace attn::cli
