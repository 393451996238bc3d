#include "engine/core/error.h"
#include "engine/io/checksums.h"
#include "engine/io/json_file.h"
#include "engine/io/run_folder.h"
#include "engine/io/weight_source.h"
#include "engine/models/bundled.h"
#include "engine/models/config_reader.h"
#include "engine/models/family.h"
#include "engine/models/memory_source.h"
#include "engine/models/model_builder.h"
#include "engine/models/model_cost.h"
#include "engine/models/patch_stream.h"
#include "engine/models/preprocessor_config.h"
#include "engine/models/unread.h"
#include "engine/models/written_configs.h"
#include "engine/system/folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

namespace attn {
namespace {

namespace fs = std::filesystem;

/// Whether a model of transformers answers with classes of a text, by the name of its class.
bool answersWithClasses(const std::string& architecture) {
    constexpr std::array<std::string_view, 5> kEnds{"ForSequenceClassification", "ForTokenClassification",
                                                    "ForQuestionAnswering", "ForMultipleChoice",
                                                    "ForNextSentencePrediction"};
    return std::ranges::any_of(kEnds, [&](std::string_view end) { return architecture.ends_with(end); });
}

/// A folder with a model.
class FolderSource : public ModelSource {
public:
    FolderSource(const fs::path& path, const std::optional<ImageSize>& size)
        : weights_(path), names_(weights_), family_(familyOf(reader(), names_)),
          config_(configIn(family_, reader(), names_)), trainedGrid_(config_.patches.grid()),
          configText_(weights_.config().dump(2)), dtype_(weights_.dtype()) {
        verifyChecksums(weights_.folder(), kModelFiles);
        std::error_code error;
        config_.name = folderTitle(fs::weakly_canonical(weights_.folder(), error));
        requireAffordable(config_, weights_.configFile());
        const std::set<std::string> used = checkTensors();
        if (config_.axis == AxisKind::Patches)
            readPictures(size);
        else
            readTexts();
        findLeftOut(used);
        for (const std::string& warning : rules_.warnings) warnings_.push_back(warning);
        for (const Tokenizer* each :
             std::initializer_list<const Tokenizer*>{tokenizer(), sourceTokenizer_ ? &*sourceTokenizer_ : nullptr})
            if (each) warnings_.insert(warnings_.end(), each->warnings().begin(), each->warnings().end());
    }

    const ModelSpec& config() const override { return config_; }
    const std::string& configText() const override { return configText_; }
    std::string familyTitle() const override { return std::string(family_.title); }
    std::string dtype() const override { return dtype_; }
    const Tokenizer* tokenizer() const override { return tokenizer_ ? &*tokenizer_ : nullptr; }
    const Tokenizer* sourceTokenizer() const override { return sourceTokenizer_ ? &*sourceTokenizer_ : tokenizer(); }
    std::string example() const override { return tokenizer_ ? example_ : ""; }
    const std::vector<int>& stopTokens() const override { return rules_.stopTokens; }
    const GenerationRules& generation() const override { return rules_; }
    std::string tokenizerProblem() const override { return tokenizerProblem_; }
    const ImagePreprocessing& preprocessing() const override { return preprocessing_; }
    std::string sourceName(const std::string& parameter) const override {
        return weights_.storedName(recipeOf(family_, config_, parameter, names_).source);
    }
    const std::vector<std::string>& warnings() const override { return warnings_; }
    const LeftOut& leftOut() const override { return leftOut_; }

    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        const WeightRecipe recipe = recipeOf(family_, config_, parameter, names_);
        if (parameter == vision_names::kPositions && config_.patches.grid() != trainedGrid_)
            return readPositions(recipe, shape, write);
        return readRecipe(weights_, recipe, shape, write);
    }

private:
    ConfigReader reader() const { return {weights_.config(), weights_.configFile(), &weights_.fieldLog()}; }

    /// Reads what a model of texts has beside its weights.
    void readTexts() {
        rules_ = GenerationRules::read(weights_.folder(), weights_.config(), config_.tokens.vocabulary);
        try {
            readTokenizers();
        } catch (const Error& error) { // no reason not to run the model: token ids remain
            tokenizer_.reset();
            sourceTokenizer_.reset();
            tokenizerProblem_ = error.what();
        }
        const bool readsSource = config_.source(AxisKind::Tokens) != nullptr;
        if (readsSource) example_ = "translate English to German: The house is small.";
        example_ = reader().optionalText("example_prompt").value_or(example_);
        if (readsSource && rules_.startToken) config_.startToken = *rules_.startToken;
    }
    void readTokenizers() {
        if (auto pair =
                config_.source(AxisKind::Tokens) ? Tokenizer::ofTranslationFolder(weights_.folder()) : std::nullopt) {
            sourceTokenizer_ = std::move(pair->source);
            tokenizer_ = std::move(pair->target);
        } else {
            tokenizer_ = Tokenizer::ofFolder(weights_.folder());
        }
    }

    /// Reads how pictures are prepared, and takes their size.
    void readPictures(const std::optional<ImageSize>& size) {
        FolderPreprocessing folder =
            readPreprocessing(weights_.folder(), weights_.config(), config_, &weights_.fieldLog());
        warnings_ = std::move(folder.warnings);
        preprocessing_ = size ? folder.preprocessing.forSize(*size) : folder.preprocessing;
        config_.patches.image = resultSize(preprocessing_, config_);
        requireAffordable(config_, weights_.configFile());
        buildForListing(config_); // throws if the patches do not divide the size
        const ImageSize grid = config_.patches.grid();
        if (grid != trainedGrid_ && config_.positions == Positions::Learned)
            warnings_.push_back(fmt::format("positions of {} x {} patches are interpolated to {} x {}",
                                            trainedGrid_.width, trainedGrid_.height, grid.width, grid.height));
    }

    /// Interpolates the positions of patches to another grid. The positions of prefix tokens stay.
    int64_t readPositions(const WeightRecipe& recipe, const Shape& shape, const RowWriter& write) const {
        const ImageSize now = config_.patches.grid();
        const int64_t C = config_.modelWidth, before = shape[0] - now.area();
        std::vector<float> stored(static_cast<size_t>((before + trainedGrid_.area()) * C));
        const int64_t strange = weights_.read(recipe.source, 0, stored);
        const auto patches = std::span(stored).subspan(static_cast<size_t>(before * C));
        const std::vector<float> grid = resampledGrid(patches, trainedGrid_, now, C, family_.positionFilter);
        std::vector<float> rows(stored.begin(), stored.begin() + before * C);
        rows.insert(rows.end(), grid.begin(), grid.end());
        writeRows(rows, shape, write);
        return strange;
    }

    /// Checks all tensors before any is loaded. @return the names of those that are used
    std::set<std::string> checkTensors() const {
        const ModelGraph model = buildForListing(config_);
        std::set<std::string> used;
        for (const Node* node : storedParameters(*model.graph)) {
            const WeightRecipe recipe = recipeOf(family_, config_, node->name, names_);
            checkRecipe(weights_, recipe, node->outputs[0].shape);
            used.insert(recipe.source);
        }
        return used;
    }

    /// Notes that "layer_types" needs no reading where it says what the layers do.
    void passLayerTypes() {
        constexpr const char* kField = "layer_types";
        const ConfigReader asked(weights_.config(), weights_.configFile());
        if (!asked.has(kField)) return;
        std::vector<std::string> types;
        for (const LayerAttention& layer : config_.layers) {
            const bool seesAll = layer.spec.mask == MaskExpression() || layer.spec.mask == MaskExpression::causal();
            types.emplace_back(seesAll ? "full_attention" : "sliding_attention");
        }
        if (*asked.value(kField) == nlohmann::json(types)) weights_.fieldLog().note(kField);
    }

    /// Notes fields that ask for nothing in this model: how a decoder sees, and what two stacks share.
    void passIdleFields() {
        const auto seesAll = [](const LayerAttention& layer) { return layer.spec.mask == MaskExpression(); };
        if (config_.axis == AxisKind::Patches || std::ranges::all_of(config_.layers, seesAll))
            weights_.fieldLog().note("is_causal");
        if (config_.streams().size() == 1) weights_.fieldLog().note("tie_encoder_decoder");
    }

    /// What the folder holds that nothing reads, and which readout predictions use where that is not clear.
    void findLeftOut(const std::set<std::string>& used) {
        std::vector<std::string> tables; // of tokens
        for (const char* parameter : {"embed.W_E", "encoder.embed.W_E", "decoder.embed.W_E"})
            if (config_.axis == AxisKind::Tokens && config_.tokens.isOwn == (parameter[1] != 'm'))
                tables.push_back(recipeOf(family_, config_, parameter, names_).source);
        if (!tables.empty()) noteReadout(tables.back()); // that of the stack that says tokens
        passLayerTypes();
        passIdleFields();
        leftOut_ = {.tensors = unreadTensors(weights_, used, family_.leftovers, tables),
                    .repeats = weights_.repeats(),
                    .fields = unreadFields(weights_.config(), weights_.fieldLog()),
                    .files = weights_.otherFiles()};
        for (const std::string& name : reader().texts("architectures"))
            if (config_.axis == AxisKind::Tokens && config_.classReadout().labels.empty() && answersWithClasses(name))
                leftOut_.fields.push_back({"architectures", shownJson(name)});
        std::ranges::copy(weights_.warnings(), std::back_inserter(warnings_));
        for (const auto& [read, other] : family_.twins)
            if (const std::string one(read), two(other); config_.tokenReadout().unembedBias && names_.contains(one) &&
                                                         names_.contains(two) && !isSameTable(weights_, one, two))
                warnings_.push_back(
                    fmt::format("{} differs from {} although both are one vector: predictions use {}", two, one, one));
        if (family_.remarks != nullptr)
            std::ranges::move(family_.remarks(weights_, config_), std::back_inserter(warnings_));
        std::ranges::move(sentencesOf(leftOut_), std::back_inserter(warnings_));
    }

    void noteReadout(const std::string& embedding) {
        const std::string stored(family_.tie.stored);
        if (stored.empty() || !predictsTokens(config_.readout())) return;
        const bool isStored = names_.contains(stored), isAsked = family_.tie.asked(reader());
        if (!isStored && !isAsked)
            warnings_.push_back(fmt::format("the configuration asks for a readout of its own (tie_word_embeddings is "
                                            "false), but the files hold no {}: predictions use the embedding",
                                            stored));
        if (isStored && isAsked && weights_.storedName(stored) != weights_.storedName(embedding) &&
            !isSameTable(weights_, stored, embedding))
            warnings_.push_back(fmt::format("{} differs from the embedding although the configuration ties them "
                                            "(tie_word_embeddings is true): predictions use {}",
                                            stored, config_.tokenReadout().tiedEmbedding ? "the embedding" : stored));
    }

    WeightSource weights_;
    TensorNames names_;
    const ModelFamily& family_;
    ModelSpec config_;
    ImageSize trainedGrid_;                                         ///< of the table of positions
    std::string configText_, dtype_, example_ = "Once upon a time"; ///< unless the config has its own
    std::optional<Tokenizer> tokenizer_, sourceTokenizer_;          ///< the second only if it differs
    GenerationRules rules_;
    std::string tokenizerProblem_;
    ImagePreprocessing preprocessing_;
    std::vector<std::string> warnings_;
    LeftOut leftOut_;
};

/// A value of a model that has none of its own.
template <class T> const T& nothing() {
    static const T kNone{};
    return kNone;
}

} // namespace

const std::string& ModelSource::configText() const { return nothing<std::string>(); }
const std::vector<int>& ModelSource::stopTokens() const { return nothing<std::vector<int>>(); }
const GenerationRules& ModelSource::generation() const { return nothing<GenerationRules>(); }
const ImagePreprocessing& ModelSource::preprocessing() const { return nothing<ImagePreprocessing>(); }
const std::vector<std::string>& ModelSource::warnings() const { return nothing<std::vector<std::string>>(); }
const LeftOut& ModelSource::leftOut() const { return nothing<LeftOut>(); }

std::unique_ptr<ModelSource> openModelSource(const std::string& path, std::optional<ImageSize> size) {
    if (path == "builtin:induction") return makeInductionSource();
    return std::make_unique<FolderSource>(modelFolder(path), size);
}

std::optional<AxisKind> axisOfModel(const std::string& path) {
    if (path == "builtin:induction") return AxisKind::Tokens;
    try {
        const WeightSource weights(modelFolder(path));
        return familyOf({weights.config(), weights.configFile()}, TensorNames(weights)).axis;
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::vector<fs::path> examplePictures(const std::string& path) {
    std::vector<fs::path> found;
    std::error_code error;
    for (const auto& entry : entriesOf(modelFolder(path) / "examples", error))
        if (fs::is_regular_file(entry, error)) found.push_back(entry);
    std::ranges::sort(found);
    return found;
}

} // namespace attn
