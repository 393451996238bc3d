#include "engine/core/error.h"
#include "engine/io/run_folder.h"
#include "engine/io/weight_source.h"
#include "engine/models/bundled.h"
#include "engine/models/family.h"
#include "engine/models/memory_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// A Hugging Face folder.
class FolderSource : public ModelSource {
public:
    explicit FolderSource(const std::filesystem::path& path)
        : weights_(path), family_(familyOf(weights_.config(), weights_.configFile())), names_(weights_.names()),
          config_(family_.config(weights_.config(), weights_.configFile(), names_)),
          configText_(weights_.config().dump(2)), dtype_(weights_.dtype()) {
        std::error_code error;
        config_.name = std::filesystem::weakly_canonical(weights_.folder(), error).filename().string();
        config_.family = std::string(family_.id);
        checkTensors();
        if (const auto file = weights_.folder() / "tokenizer.json";
            std::filesystem::exists(std::filesystem::symlink_status(file)))
            tokenizer_.emplace(Tokenizer::load(file));
        if (const auto example = weights_.config().find("example_prompt");
            example != weights_.config().end() && example->is_string())
            example_ = example->get<std::string>();
        const auto field = weights_.config().find("eos_token_id");
        if (field == weights_.config().end()) return;
        for (const auto& id : field->is_array() ? *field : nlohmann::json::array({*field}))
            if (id.is_number_integer() && id >= 0 && id < config_.vocabulary) stopTokens_.push_back(id.get<int>());
    }

    const DecoderConfig& config() const override { return config_; }
    const std::string& configText() const override { return configText_; }
    std::string familyTitle() const override { return std::string(family_.title); }
    std::string dtype() const override { return dtype_; }
    const Tokenizer* tokenizer() const override { return tokenizer_ ? &*tokenizer_ : nullptr; }
    std::string example() const override { return tokenizer_ ? example_ : ""; }
    const std::vector<int>& stopTokens() const override { return stopTokens_; }
    std::string sourceName(const std::string& parameter) const override {
        return family_.recipe(config_, parameter, names_).source;
    }

    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        const WeightRecipe recipe = family_.recipe(config_, parameter, names_);
        const StoredTensor& stored = weights_.tensor(recipe.source);
        checkShape(stored, recipe, shape);
        if (shape.rank() == 1 || recipe.transposed) return readWhole(recipe, stored, shape, write);

        int64_t strange = 0;
        const int64_t columns = shape.columns();
        const auto stride = static_cast<size_t>(shape.rowStride());
        write([&](int64_t firstRow, std::span<float> padded) {
            const auto count = static_cast<int64_t>(padded.size() / stride);
            if (recipe.group == 0 &&
                stride == static_cast<size_t>(columns)) { // the usual case: straight from file to device
                strange += weights_.read(recipe.source, firstRow * columns, padded);
                return;
            }
            for (int64_t row = 0; row < count; ++row)
                strange +=
                    weights_.read(recipe.source, sourceRow(recipe, firstRow + row) * columns,
                                  padded.subspan(static_cast<size_t>(row) * stride, static_cast<size_t>(columns)));
        });
        return strange;
    }

private:
    /// Finds out what is missing or misshapen before anything is loaded.
    void checkTensors() const {
        const DecoderGraph decoder = buildForListing(config_);
        for (uint32_t id = 0; id < decoder.graph->size(); ++id) {
            const Node& node = decoder.graph->node(id);
            if (node.kind != NodeKind::Parameter || decoder_names::isComputed(node.name)) continue;
            const WeightRecipe recipe = family_.recipe(config_, node.name, names_);
            checkShape(weights_.tensor(recipe.source), recipe, node.outputs[0].shape);
            weights_.read(recipe.source, 0, {}); // refuses a dtype that is no number
        }
    }

    /// Files hold tensors of a composed model's parts as matrices.
    static Shape flat(const Shape& shape) { return shape.rank() <= 2 ? shape : Shape{shape.rows(), shape.columns()}; }

    static int64_t sourceRow(const WeightRecipe& recipe, int64_t row) {
        return recipe.group == 0 ? row : recipe.offset + row / recipe.group * recipe.stride + row % recipe.group;
    }

    void checkShape(const StoredTensor& stored, const WeightRecipe& recipe, const Shape& whole) const {
        const Shape shape = flat(whole);
        const int64_t neededRows = sourceRow(recipe, shape[0] - 1) + 1;
        std::vector<int64_t> extents = stored.shape;
        if (recipe.transposed) std::ranges::reverse(extents);
        const bool fits = static_cast<int>(extents.size()) == shape.rank() &&
                          (shape.rank() < 2 || extents[1] == shape[1]) &&
                          (recipe.group == 0 ? extents[0] == shape[0] : extents[0] >= neededRows);
        if (!fits)
            throw Error({.what = fmt::format("tensor \"{}\" is {} but the config asks for {}{}", recipe.source,
                                             Shape(stored.shape).text(), recipe.group == 0 ? "" : "part of it as ",
                                             shape.text()),
                         .where = weights_.fileOf(recipe.source).string(),
                         .hint = "check that config.json belongs to the weights"});
    }

    /// Vectors and transposed matrices pass through host memory.
    int64_t readWhole(const WeightRecipe& recipe, const StoredTensor& stored, const Shape& shape,
                      const RowWriter& write) const {
        std::vector<float> values(static_cast<size_t>(stored.elements()));
        weights_.read(recipe.source, 0, values);
        const int64_t fileColumns = stored.shape.size() == 2 ? stored.shape[1] : 1;
        const auto at = [&](int64_t row, int64_t column) {
            const int64_t source = sourceRow(recipe, row);
            return values[static_cast<size_t>(recipe.transposed ? column * fileColumns + source
                                                                : source * fileColumns + column)];
        };
        int64_t strange = 0;
        const auto put = [&](float& to, float value) {
            to = value;
            strange += std::isfinite(value) ? 0 : 1;
        };
        const auto stride = static_cast<size_t>(shape.rowStride());
        write([&](int64_t firstRow, std::span<float> padded) {
            if (shape.rank() == 1) {
                for (int64_t i = 0; i < shape[0]; ++i) put(padded[static_cast<size_t>(i)], at(i, 0));
                return;
            }
            for (size_t row = 0; row < padded.size() / stride; ++row)
                for (int64_t column = 0; column < shape.columns(); ++column)
                    put(padded[row * stride + static_cast<size_t>(column)],
                        at(firstRow + static_cast<int64_t>(row), column));
        });
        return strange;
    }

    WeightSource weights_;
    const ModelFamily& family_;
    TensorNames names_;
    DecoderConfig config_;
    std::string configText_, dtype_, example_ = "Once upon a time"; ///< unless the config has its own
    std::optional<Tokenizer> tokenizer_;
    std::vector<int> stopTokens_;
};

} // namespace

std::unique_ptr<ModelSource> openModelSource(const std::string& path) {
    constexpr std::string_view kBuiltin = "builtin:";
    if (path == "builtin:induction") return makeInductionSource();
    if (path.starts_with(kBuiltin)) {
        std::string all = "builtin:induction";
        for (const BundledModel& model : bundledModels()) {
            if (path == model.path) return std::make_unique<FolderSource>(model.folder);
            all += ", " + model.path;
        }
        throw Error({.what = fmt::format("there is no built-in model \"{}\"", path.substr(kBuiltin.size())),
                     .where = path,
                     .hint = "there are " + all});
    }
    if (path.empty())
        throw Error(
            {.what = "no model was named", .where = {}, .hint = "name a Hugging Face folder or builtin:induction"});
    std::error_code error;
    if (!std::filesystem::exists(std::filesystem::path(path) / "config.json", error) && !error) // a run that goes on
        if (const auto all = checkpoints(path); !all.empty()) return std::make_unique<FolderSource>(all.back());
    return std::make_unique<FolderSource>(path);
}

} // namespace attn
