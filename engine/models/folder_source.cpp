#include "engine/core/error.h"
#include "engine/io/checksums.h"
#include "engine/io/run_folder.h"
#include "engine/io/weight_source.h"
#include "engine/models/bundled.h"
#include "engine/models/config_reader.h"
#include "engine/models/family.h"
#include "engine/models/memory_source.h"
#include "engine/models/model_cost.h"
#include "engine/models/vision_family.h"
#include "engine/models/written_configs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// The family of a config. @throws Error for a vision model, and as familyOf()
const ModelFamily& languageFamily(const WeightSource& weights, const TensorNames& names) {
    if (const VisionFamily* vision = visionFamilyOf({weights, names}))
        throw Error({.what = fmt::format("this is a vision model ({}); it reads pictures, not text", vision->title),
                     .where = weights.configFile(),
                     .hint = "give it a picture: 'attention-cli classify', 'capture' or 'render' PATH --image FILE, or "
                             "open it in attention-lab"});
    return familyOf(weights.config(), weights.configFile());
}

/// A Hugging Face folder.
class FolderSource : public ModelSource {
public:
    explicit FolderSource(const std::filesystem::path& path)
        : weights_(path), names_(weights_.names()), family_(languageFamily(weights_, names_)),
          config_(configIn(family_, weights_.config(), weights_.configFile(), names_)),
          configText_(weights_.config().dump(2)), dtype_(weights_.dtype()),
          rules_(GenerationRules::read(weights_.folder(), weights_.config(), config_.vocabulary)) {
        verifyChecksums(weights_.folder(), kModelFiles);
        std::error_code error;
        config_.name = folderTitle(std::filesystem::weakly_canonical(weights_.folder(), error));
        requireAffordable(config_, weights_.configFile());
        checkTensors();
        readTokenizers();
        if (config_.hasEncoder()) example_ = "translate English to German: The house is small.";
        example_ =
            ConfigReader(weights_.config(), weights_.configFile()).optionalText("example_prompt").value_or(example_);
        if (config_.hasEncoder() && rules_.startToken) config_.startToken = *rules_.startToken;
    }

    const DecoderConfig& config() const override { return config_; }
    const std::string& configText() const override { return configText_; }
    std::string familyTitle() const override { return std::string(family_.title); }
    std::string dtype() const override { return dtype_; }
    const Tokenizer* tokenizer() const override { return tokenizer_ ? &*tokenizer_ : nullptr; }
    const Tokenizer* sourceTokenizer() const override { return sourceTokenizer_ ? &*sourceTokenizer_ : tokenizer(); }
    std::string example() const override { return tokenizer_ ? example_ : ""; }
    const std::vector<int>& stopTokens() const override { return rules_.stopTokens; }
    const GenerationRules& generation() const override { return rules_; }
    std::string tokenizerProblem() const override { return tokenizerProblem_; }
    std::vector<std::string> textWarnings() const override {
        std::vector<std::string> all = rules_.warnings;
        for (const Tokenizer* each : {tokenizer(), sourceTokenizer_ ? &*sourceTokenizer_ : nullptr})
            if (each) all.insert(all.end(), each->warnings().begin(), each->warnings().end());
        return all;
    }
    std::string sourceName(const std::string& parameter) const override {
        return family_.recipe(config_, parameter, names_).source;
    }

    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        return readRecipe(weights_, family_.recipe(config_, parameter, names_), shape, write);
    }

private:
    /// A tokenizer that cannot be read is no reason not to run the model: token ids remain.
    void readTokenizers() {
        try {
            readTokenizerFiles();
        } catch (const Error& error) {
            tokenizer_.reset();
            sourceTokenizer_.reset();
            tokenizerProblem_ = error.what();
        }
    }
    void readTokenizerFiles() {
        if (auto pair = config_.hasEncoder() ? Tokenizer::ofTranslationFolder(weights_.folder()) : std::nullopt) {
            sourceTokenizer_ = std::move(pair->source);
            tokenizer_ = std::move(pair->target);
        } else {
            tokenizer_ = Tokenizer::ofFolder(weights_.folder());
        }
    }

    /// Checks all tensors before any is loaded.
    void checkTensors() const {
        const ModelGraph decoder = buildForListing(config_);
        for (const Node* node : storedParameters(*decoder.graph))
            checkRecipe(weights_, family_.recipe(config_, node->name, names_), node->outputs[0].shape);
    }

    WeightSource weights_;
    TensorNames names_;
    const ModelFamily& family_;
    DecoderConfig config_;
    std::string configText_, dtype_, example_ = "Once upon a time"; ///< unless the config has its own
    std::optional<Tokenizer> tokenizer_, sourceTokenizer_;          ///< the second only if it differs
    GenerationRules rules_;
    std::string tokenizerProblem_;
};

} // namespace

const GenerationRules& ModelSource::generation() const {
    static const GenerationRules kNone;
    return kNone;
}

std::unique_ptr<ModelSource> openModelSource(const std::string& path) {
    if (path == "builtin:induction") return makeInductionSource();
    return std::make_unique<FolderSource>(modelFolder(path));
}

} // namespace attn
