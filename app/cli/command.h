#pragma once

#include "app/arguments/arguments.h"

#include "engine/core/storage.h"
#include "engine/inference/input.h"
#include "engine/io/image.h"
#include "engine/runtime/device.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Code that several subcommands use. Each subcommand has its own file; catalogue.cpp lists them.

class QSize;
namespace attn {
class LanguageModel;
class Tokenizer;
class VisionModel;
struct Encoding;
struct Figure;
struct FigureTheme;
struct ModelInfo;
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
    std::string_view without{};     ///< an option that the command cannot use and does not offer: "--kernels"

    void addTo(Command& command);
    /// Opens the model, with progress on standard error when that is a terminal.
    std::unique_ptr<LanguageModel> open(bool inspects) const;
    /// Opens a model that reads pictures. @param size to which it scales them; none: its own
    std::unique_ptr<VisionModel> openVision(const std::optional<ImageSize>& size) const;

private:
    DeviceChoice choice() const;
};

/// Refuses options that have no effect on what is asked for.
/// @param with what they have no effect: "--view rollout"  @param readers what they are for: "--view attention"
/// @throws Error that names the first of them on the command line
void refuseIdle(const Command& command, std::initializer_list<std::string_view> options, std::string_view with,
                std::string_view readers);

/// A picture and the size at which a vision model reads it.
struct ImageOptions {
    std::string image;
    std::optional<ImageSize> asked;   ///< empty: the model's own
    const Command* command = nullptr; ///< whose options these are; null: of none

    /// @param isRequired false if a prompt may be given instead
    void addTo(Command& given, bool isRequired);
    /// @throws Error if the file cannot be read as a picture, or if options of texts are given too
    Image read() const;
};

/// What a person should know of a picture that a model reads: a remark on its file, and what preparing it changed.
/// Writes the latter to standard error, as ImageOptions::read() does the remark.
std::vector<std::string> notesOn(const Image& image, const VisionModel& model);

/// Reports on standard error how many tokens after the last word of a tree have no position, if any.
/// @param end of the tree  @param length of the text, both in tokens
void noteTokensBehindTree(int64_t end, int64_t length);

/// A prompt as text or as token ids.
struct PromptOptions {
    std::optional<std::string> text, tokens, second, types, tree, source, sourceTokens;

    void addTo(Command& command);
    /// Adds the options for encoders: the second text of a pair, and token types.
    void addPairTo(Command& command);
    /// Adds the option for models with positions in a tree.
    void addTreeTo(Command& command);
    /// Adds the options for models that read a source and write a target.
    void addSourceTo(Command& command);
    /// The tokens with their types and their source. @throws Error as encode()
    TextInput encodeInput(const LanguageModel& model) const;
    /// The tree of the text as TextInput::parents; empty if none was given. @throws Error if the model has no tree
    /// positions
    /// @param length of the text, in tokens
    std::vector<int> readTree(const LanguageModel& model, size_t length) const;
    /// The tokens of the source; empty for a model without an encoder. @throws Error as encode()
    std::vector<int> encodeSource(const LanguageModel& model) const;
    /// The tokens of the prompt. By default the model's own example, or the beginning of a target if the model reads a
    /// source.
    /// @throws Error if the prompt is empty or needs a tokenizer that the model lacks
    std::vector<int> encode(const LanguageModel& model) const;

private:
    /// @throws Error if a model that finds answers in a passage has none to look in
    void requirePassage(const LanguageModel& model, const std::vector<int>& ids, const std::vector<int>& given) const;
};

/// The tokens of a text from the command line, or of a pair of texts. Warns about characters without a token and about
/// a second token for the beginning. @throws Error as Tokenizer::read()
Encoding readText(const Tokenizer& tokenizer, const std::string& text,
                  const std::optional<std::string>& second = std::nullopt, bool addSpecialTokens = true);

/// Numbers from the first on, each twice the one before, and at the end the last. @pre 1 <= first <= last
std::vector<int64_t> doublingUpTo(int64_t first, int64_t last);

/// Adds --device and --kernels.
/// @param computes false for a command that runs nothing: it has no --kernels
void addDevice(Command& command, DeviceChoice& choice, bool computes = true);
void addJson(Command& command, bool& isJson);
void printWarnings(const std::vector<std::string>& warnings); ///< to standard error
/// Prints JSON with the warnings of the model that was opened for it. @param input warnings about what the model reads
void print(nlohmann::json json, const ModelInfo& model, const std::vector<std::string>& input = {});
/// Prints JSON. Bytes that are not UTF-8, for example in folder names, become U+FFFD.
void print(const nlohmann::json& json);
/// "light", "dark" or "projector". Any other key gives light.
FigureTheme themeFromKey(const std::string& key);
/// Writes a figure in the format of the path's ending. @throws Error
/// @param size in logical pixels  @param theme a key for themeFromKey()
void writeFigure(const Figure& figure, const QSize& size, const std::string& path, const std::string& theme = "light");

} // namespace attn::cli
