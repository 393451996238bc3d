#pragma once

#include "app/arguments/arguments.h"

#include "engine/core/storage.h"
#include "engine/inference/input.h"
#include "engine/io/image.h"
#include "engine/runtime/device.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

// What the subcommands share. Each has a file of its own; catalogue.cpp lists them.

class QSize;
namespace attn {
class LanguageModel;
class Tokenizer;
class VisionModel;
struct Encoding;
struct Figure;
struct FigureTheme;
} // namespace attn

namespace attn::cli {

/// Exit codes: 0 done, 1 the work failed (a message says why). Command::parse gives 2 for a wrong command line.
enum ExitCode { kDone = 0, kFailed = 1 };

/// Options of every subcommand that opens a model.
struct ModelOptions {
    std::string path;
    DeviceChoice device;
    bool validation = false;
    Storage storage = Storage::F32; ///< of the weights

    void addTo(Command& command);
    /// Opens the model, with progress on standard error when that is a terminal.
    std::unique_ptr<LanguageModel> open(bool inspects) const;
    /// Opens a model that reads pictures. @param size at which it reads them; none: its own
    std::unique_ptr<VisionModel> openVision(const std::optional<ImageSize>& size) const;

private:
    DeviceChoice choice() const;
};

/// A picture and the size at which a vision model reads it.
struct ImageOptions {
    std::string image;
    std::optional<ImageSize> asked; ///< empty: the model's own

    /// @param isRequired false where a prompt may be given instead
    void addTo(Command& command, bool isRequired);
    /// @throws Error if the file cannot be read as a picture
    Image read() const;
};

/// Says on standard error that the tokens behind the last word of a tree have no position, if there are any.
/// @param end of the tree  @param length of the text, both in tokens
void noteTokensBehindTree(int64_t end, int64_t length);

/// A prompt as text or as token ids.
struct PromptOptions {
    std::optional<std::string> text, tokens, second, types, tree, source, sourceTokens;

    void addTo(Command& command);
    /// Adds the options of encoders: the second text of a pair, and token types.
    void addPairTo(Command& command);
    /// Adds the option of models with positions in a tree.
    void addTreeTo(Command& command);
    /// Adds the options of models that read a source and write a target.
    void addSourceTo(Command& command);
    /// The tokens with their types and their source. @throws Error as encode()
    TextInput encodeInput(const LanguageModel& model) const;
    /// The tree of the text as TextInput::parents; empty if none was given. @throws Error if the model reads none
    /// @param length of the text, in tokens
    std::vector<int> readTree(const LanguageModel& model, size_t length) const;
    /// The tokens of the source; empty for a model without an encoder. @throws Error as encode()
    std::vector<int> encodeSource(const LanguageModel& model) const;
    /// The model's own example when neither was given; in a model that reads a source, a target that has just begun.
    /// @throws Error if the prompt is empty or needs a tokenizer that the model lacks
    std::vector<int> encode(const LanguageModel& model) const;
};

/// A text that the command line gives to a model, or a pair of texts, as tokens. Warns of what has no token, and of a
/// second token for the beginning. @throws Error as Tokenizer::read()
Encoding readText(const Tokenizer& tokenizer, const std::string& text,
                  const std::optional<std::string>& second = std::nullopt, bool addSpecialTokens = true);

/// Adds --device and --kernels.
void addDevice(Command& command, DeviceChoice& choice);
void addJson(Command& command, bool& isJson);
/// Prints JSON. Bytes that are not UTF-8, as in the name of a folder, become U+FFFD.
void print(const nlohmann::json& json);
/// "light", "dark" or "projector"; light for anything else.
FigureTheme themeFromKey(const std::string& key);
/// Writes a figure at `size` in logical pixels, in the format of the path's ending. @throws Error
/// @param theme for themeFromKey
void writeFigure(const Figure& figure, const QSize& size, const std::string& path, const std::string& theme = "light");

} // namespace attn::cli
