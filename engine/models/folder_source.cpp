#include "engine/core/error.h"
#include "engine/io/checksums.h"
#include "engine/io/run_folder.h"
#include "engine/io/weight_source.h"
#include "engine/models/bundled.h"
#include "engine/models/config_reader.h"
#include "engine/models/family.h"
#include "engine/models/memory_source.h"
#include "engine/models/model_cost.h"
#include "engine/models/unread.h"
#include "engine/models/vision_family.h"
#include "engine/models/written_configs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

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
          config_(configIn(family_, reader(), names_)), configText_(weights_.config().dump(2)),
          dtype_(weights_.dtype()),
          rules_(GenerationRules::read(weights_.folder(), weights_.config(), config_.vocabulary)) {
        verifyChecksums(weights_.folder(), kModelFiles);
        std::error_code error;
        config_.name = folderTitle(std::filesystem::weakly_canonical(weights_.folder(), error));
        requireAffordable(config_, weights_.configFile());
        const std::set<std::string> used = checkTensors();
        readTokenizers();
        if (config_.hasEncoder()) example_ = "translate English to German: The house is small.";
        example_ = reader().optionalText("example_prompt").value_or(example_);
        if (config_.hasEncoder() && rules_.startToken) config_.startToken = *rules_.startToken;
        findLeftOut(used);
        for (const std::string& warning : rules_.warnings) warnings_.push_back(warning);
        for (const Tokenizer* each :
             std::initializer_list<const Tokenizer*>{tokenizer(), sourceTokenizer_ ? &*sourceTokenizer_ : nullptr})
            if (each) warnings_.insert(warnings_.end(), each->warnings().begin(), each->warnings().end());
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
    std::string sourceName(const std::string& parameter) const override {
        return weights_.storedName(recipeOf(family_, config_, parameter, names_).source);
    }
    const std::vector<std::string>& warnings() const override { return warnings_; }
    const LeftOut& leftOut() const override { return leftOut_; }

    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        return readRecipe(weights_, recipeOf(family_, config_, parameter, names_), shape, write);
    }

private:
    ConfigReader reader() const { return {weights_.config(), weights_.configFile(), &weights_.fieldLog()}; }

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

    /// Checks all tensors before any is loaded. @return the names of those that are used
    std::set<std::string> checkTensors() const {
        const ModelGraph decoder = buildForListing(config_);
        std::set<std::string> used;
        for (const Node* node : storedParameters(*decoder.graph)) {
            const WeightRecipe recipe = recipeOf(family_, config_, node->name, names_);
            checkRecipe(weights_, recipe, node->outputs[0].shape);
            used.insert(recipe.source);
        }
        return used;
    }

    /// What the folder holds that nothing reads, and which readout predictions use where that is not clear.
    void findLeftOut(const std::set<std::string>& used) {
        std::vector<std::string> tables;
        for (const char* parameter : {"embed.W_E", "encoder.embed.W_E", "decoder.embed.W_E"})
            if (config_.hasOwnEmbedding == (parameter[1] != 'm'))
                tables.push_back(recipeOf(family_, config_, parameter, names_).source);
        noteReadout(tables.front());
        leftOut_ = {.tensors = unreadTensors(weights_, used, family_.leftovers, tables),
                    .repeats = weights_.repeats(),
                    .fields = unreadFields(weights_.config(), weights_.fieldLog()),
                    .files = weights_.otherFiles()};
        std::ranges::copy(weights_.warnings(), std::back_inserter(warnings_));
        std::ranges::move(sentencesOf(leftOut_), std::back_inserter(warnings_));
    }

    void noteReadout(const std::string& embedding) {
        const std::string stored(family_.tie.stored);
        if (stored.empty() || !predictsTokens(config_.readout)) return;
        const bool isStored = names_.contains(stored), isAsked = family_.tie.asked(reader());
        if (!isStored && !isAsked)
            warnings_.push_back(fmt::format("the configuration asks for a readout of its own (tie_word_embeddings is "
                                            "false), but the files hold no {}: predictions use the embedding",
                                            stored));
        if (isStored && isAsked && weights_.storedName(stored) != weights_.storedName(embedding) &&
            !isSameTable(weights_, stored, embedding))
            warnings_.push_back(fmt::format("{} differs from the embedding although the configuration ties them "
                                            "(tie_word_embeddings is true): predictions use {}",
                                            stored, config_.tiedEmbedding ? "the embedding" : stored));
    }

    WeightSource weights_;
    TensorNames names_;
    const ModelFamily& family_;
    DecoderConfig config_;
    std::string configText_, dtype_, example_ = "Once upon a time"; ///< unless the config has its own
    std::optional<Tokenizer> tokenizer_, sourceTokenizer_;          ///< the second only if it differs
    GenerationRules rules_;
    std::string tokenizerProblem_;
    std::vector<std::string> warnings_;
    LeftOut leftOut_;
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
