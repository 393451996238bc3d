#include "engine/models/vision_source.h"

#include "engine/core/error.h"
#include "engine/io/checksums.h"
#include "engine/io/run_folder.h"
#include "engine/models/bundled.h"
#include "engine/models/config_reader.h"
#include "engine/models/decoder.h"
#include "engine/models/model_cost.h"
#include "engine/models/preprocessor_config.h"
#include "engine/models/unread.h"
#include "engine/models/vision_encoder.h"
#include "engine/models/vision_family.h"
#include "engine/system/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

namespace attn {
namespace {

/// Class names from id2label (Hugging Face) or label_names (timm); empty if no class has a name.
std::vector<std::string> labelsOf(const nlohmann::json& config, int64_t classes) {
    std::vector<std::string> labels(static_cast<size_t>(classes));
    bool any = false;
    const auto name = [&](size_t index, const nlohmann::json& label) {
        if (index >= labels.size() || !label.is_string()) return;
        labels[index] = label.get<std::string>();
        any = true;
    };
    if (const auto ids = config.find("id2label"); ids != config.end() && ids->is_object())
        for (const auto& [id, label] : ids->items()) {
            size_t index = labels.size();
            std::from_chars(id.data(), id.data() + id.size(), index);
            name(index, label);
        }
    if (const auto names = config.find("label_names"); names != config.end() && names->is_array())
        for (size_t index = 0; index < names->size(); ++index) name(index, (*names)[index]);
    return any ? labels : std::vector<std::string>();
}

const VisionFamily& knownFamily(const VisionFolder& folder) {
    if (const VisionFamily* family = visionFamilyOf(folder)) return *family;
    std::vector<std::string_view> known;
    for (const VisionFamily* family : visionCatalogue()) known.push_back(family->id);
    throw Error({.what = "this is not a supported vision model",
                 .where = folder.weights.configFile(),
                 .hint = fmt::format("supported: {}", fmt::join(known, ", "))});
}

/// The config of the folder; for a checkpoint, that of its training run.
std::string nameOf(const std::filesystem::path& folder) {
    const bool isCheckpoint = checkpointStep(folder).has_value();
    return (isCheckpoint ? folder.parent_path().parent_path() : folder).filename().string();
}

class FolderVisionSource : public VisionSource {
public:
    FolderVisionSource(const std::string& path, std::optional<ImageSize> size)
        : weights_(path), names_(weights_.names()), family_(knownFamily({weights_, names_})),
          config_(family_.config({weights_, names_})), trainedGrid_(config_.grid()),
          configText_(weights_.config().dump(2)), dtype_(weights_.dtype()) {
        verifyChecksums(weights_.folder(), kModelFiles);
        std::error_code error;
        config_.name = nameOf(std::filesystem::weakly_canonical(weights_.folder(), error));
        config_.family = std::string(family_.id);
        requireAffordable(config_, weights_.configFile());
        labels_ = labelsOf(weights_.config(), config_.classes);
        config_.activation =
            classActivation({weights_.config(), weights_.configFile(), &weights_.fieldLog()}, config_.classes);
        const std::set<std::string> used = checkTensors();
        FolderPreprocessing folder =
            readPreprocessing(weights_.folder(), weights_.config(), config_, &weights_.fieldLog());
        warnings_ = std::move(folder.warnings);
        preprocessing_ = size ? folder.preprocessing.forSize(*size) : folder.preprocessing;
        config_.image = resultSize(preprocessing_, config_);
        requireAffordable(config_, weights_.configFile());
        buildVisionEncoder(config_); // throws if the patches do not divide the size
        if (config_.grid() != trainedGrid_ && config_.positions == VisionPositions::Learned)
            warnings_.push_back(fmt::format("positions of {} x {} patches are interpolated to {} x {}",
                                            trainedGrid_.width, trainedGrid_.height, config_.grid().width,
                                            config_.grid().height));
        const ConfigReader read{weights_.config(), weights_.configFile(), &weights_.fieldLog()};
        read.checkTypes();
        for (const std::string_view field : family_.spareFields) read.pass(std::string(field).c_str());
        leftOut_ = {.tensors = unreadTensors(weights_, used, family_.leftovers),
                    .repeats = weights_.repeats(),
                    .fields = unreadFields(weights_.config(), weights_.fieldLog()),
                    .files = weights_.otherFiles()};
        std::ranges::copy(weights_.warnings(), std::back_inserter(warnings_));
        std::ranges::move(sentencesOf(leftOut_), std::back_inserter(warnings_));
    }

    const VisionConfig& config() const override { return config_; }
    const ImagePreprocessing& preprocessing() const override { return preprocessing_; }
    const std::vector<std::string>& labels() const override { return labels_; }
    const std::vector<std::string>& warnings() const override { return warnings_; }
    const LeftOut& leftOut() const override { return leftOut_; }
    const std::string& configText() const override { return configText_; }
    std::string familyTitle() const override { return std::string(family_.title); }
    std::string dtype() const override { return dtype_; }
    std::string sourceName(const std::string& parameter) const override {
        return weights_.storedName(family_.recipe(config_, parameter, names_).source);
    }

    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        const WeightRecipe recipe = family_.recipe(config_, parameter, names_);
        if (parameter == vision_names::kPositions && config_.grid() != trainedGrid_)
            return readPositions(recipe, shape, write);
        return readRecipe(weights_, recipe, shape, write);
    }

private:
    /// Checks all tensors before any is loaded. @return the names of those that are used
    std::set<std::string> checkTensors() const {
        const ModelGraph encoder = buildVisionEncoder(config_);
        std::set<std::string> used;
        for (const Node* node : storedParameters(*encoder.graph)) {
            const WeightRecipe recipe = family_.recipe(config_, node->name, names_);
            checkRecipe(weights_, recipe, node->outputs[0].shape);
            used.insert(recipe.source);
        }
        return used;
    }

    /// Interpolates the positions of patches to another grid. The positions of prefix tokens stay.
    int64_t readPositions(const WeightRecipe& recipe, const Shape& shape, const RowWriter& write) const {
        const int64_t C = config_.modelWidth, before = shape[0] - config_.grid().area();
        std::vector<float> stored(static_cast<size_t>((before + trainedGrid_.area()) * C));
        const int64_t strange = weights_.read(recipe.source, 0, stored);
        const auto patches = std::span(stored).subspan(static_cast<size_t>(before * C));
        const std::vector<float> grid = resampledGrid(patches, trainedGrid_, config_.grid(), C, family_.positionFilter);
        std::vector<float> rows(stored.begin(), stored.begin() + before * C);
        rows.insert(rows.end(), grid.begin(), grid.end());
        writeRows(rows, shape, write);
        return strange;
    }

    WeightSource weights_;
    TensorNames names_;
    const VisionFamily& family_;
    VisionConfig config_;
    ImageSize trainedGrid_;
    std::string configText_, dtype_;
    ImagePreprocessing preprocessing_;
    std::vector<std::string> labels_, warnings_;
    LeftOut leftOut_;
};

} // namespace

std::unique_ptr<VisionSource> openVisionSource(const std::string& path, std::optional<ImageSize> size) {
    return std::make_unique<FolderVisionSource>(modelFolder(path).string(), size);
}

std::vector<std::filesystem::path> examplePictures(const std::string& path) {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    for (const auto& entry : entriesOf(modelFolder(path) / "examples", error))
        if (std::filesystem::is_regular_file(entry, error)) found.push_back(entry);
    std::ranges::sort(found);
    return found;
}

bool isVisionModel(const std::string& path) {
    if (path.empty() || path == "builtin:induction") return false;
    try {
        const WeightSource weights(modelFolder(path));
        const TensorNames names(weights.names());
        return visionFamilyOf({weights, names}) != nullptr;
    } catch (const Error&) {
        return false; // opening it reports the reason
    }
}

} // namespace attn
