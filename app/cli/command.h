#pragma once

#include "engine/session/language_model.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>

// One file per subcommand; each adds itself to the parser and returns what to run.

class QSize;
namespace attn {
struct Figure;
struct FigureTheme;
} // namespace attn

namespace attn::cli {

/// Exit codes: 0 done, 1 the work failed (a message says why), 2 the command line was wrong.
enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2 };

/// Options that every subcommand which opens a model has.
struct ModelOptions {
    std::string path;
    std::string device;
    bool validation = false;

    void addTo(CLI::App& app);
    /// Opens the model, with progress on standard error when that is a terminal.
    std::unique_ptr<LanguageModel> open(bool inspects) const;
};

/// A prompt as text or as token ids.
struct PromptOptions {
    std::string text;
    std::string tokens;

    void addTo(CLI::App& app);
    /// The model's own example when neither was given.
    /// @throws Error if the prompt is empty or needs a tokenizer that the model lacks
    std::vector<int> encode(const LanguageModel& model) const;
};

/// "light", "dark" or "projector"; light for anything else.
FigureTheme themeFromKey(const std::string& key);
/// Writes a picture at `size` in logical pixels, in the format of the path's ending. @throws Error
/// @param theme for themeFromKey
void writeFigure(const Figure& figure, const QSize& size, const std::string& path, const std::string& theme = "light");

using Run = std::function<int()>;
/// Each adds a subcommand; `run` is set when it was chosen.
void addDevices(CLI::App& app, Run& run);
void addModels(CLI::App& app, Run& run);
void addGenerate(CLI::App& app, Run& run);
void addCapture(CLI::App& app, Run& run);
void addRender(CLI::App& app, Run& run);
void addClassify(CLI::App& app, Run& run);
void addParts(CLI::App& app, Run& run);
void addMask(CLI::App& app, Run& run);
void addAttend(CLI::App& app, Run& run);
void addCost(CLI::App& app, Run& run);
void addExtrapolate(CLI::App& app, Run& run);
void addBench(CLI::App& app, Run& run);
void addBenchLongPattern(CLI::App& bench, Run& run);
void addBenchTrain(CLI::App& bench, Run& run);
void addTrain(CLI::App& app, Run& run);
void addEval(CLI::App& app, Run& run);
void addPerplexity(CLI::App& app, Run& run);
void addLens(CLI::App& app, Run& run);
void addAblate(CLI::App& app, Run& run);
void addPatch(CLI::App& app, Run& run);
void addDetect(CLI::App& app, Run& run);

} // namespace attn::cli
