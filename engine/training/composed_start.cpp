#include "engine/training/composed_start.h"

#include "engine/attention/head_counts.h"
#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/models/folder_writer.h"
#include "engine/models/model_builder.h"
#include "engine/models/site_problem.h"
#include "engine/models/trainable_family.h"
#include "engine/models/vision_family.h"
#include "engine/models/vision_grid.h"
#include "engine/training/composed_sites.h"
#include "engine/training/recipe_fields.h"
#include "engine/training/starting_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace attn {
namespace {

/// Names the slots in which a spec differs from another, and those that a person has named.
std::string textBeside(const AttentionSpec& spec, const AttentionSpec& own,
                       const std::map<Slot, std::string_view>& named) {
    return textNaming(spec, [&](Slot slot) {
        if (slot == Slot::Mask) return spec.mask != own.mask;
        return named.contains(slot) || spec.parts.at(slot) != own.parts.at(slot);
    });
}

/// The expressions of the layers, without those that repeat.
std::string alternating(std::vector<std::string> layers) {
    const auto repeats = [&](size_t period) {
        return std::equal(layers.begin() + static_cast<std::ptrdiff_t>(period), layers.end(), layers.begin());
    };
    size_t period = 1;
    while (!repeats(period)) ++period;
    layers.resize(period);
    return fmt::format("{}", fmt::join(layers, "; "));
}

/// Whether new attention takes the place of a model's table of positions: it names positions, none or others than those
/// that the attention had beside the table, as Swin's has.
bool dropsTable(const Architecture& architecture, const std::vector<AttentionSpec>& specs,
                const std::vector<LayerAttention>& own) {
    if (!saysPositions(architecture)) return false;
    for (size_t layer = 0; layer < own.size(); ++layer) {
        const std::string now = specs[layer % specs.size()].id(Slot::Position);
        if (now == "none" || now != own[layer].spec.id(Slot::Position)) return true;
    }
    return false;
}

/// Whether the files of a model's family can have the layers: they differ from the model's only in the number of
/// key/value heads, which is the same in all.
bool fitsFamily(const ModelSpec& config, const std::vector<AttentionSpec>& specs) {
    const auto families = trainableFamilies();
    if (std::ranges::none_of(families, [&](const TrainableFamily* family) {
            return family->id == config.family && family->hasKeyValueHeads;
        }))
        return false;
    const HeadCounts counts = headCounts(specs.front());
    for (size_t layer = 0; layer < config.layers.size(); ++layer) {
        AttentionSpec now = specs[layer % specs.size()], own = config.layers[layer].spec;
        const HeadCounts each = headCounts(now);
        setHeads(own, counts);
        if (each.heads != counts.heads || each.groups != counts.groups || now != own) return false;
    }
    return true;
}

/// Whether a parameter is one of the keys or values of all heads.
bool isOfKeyValueHeads(std::string_view name) {
    constexpr std::array kEnds{"attn.W_K", "attn.W_V", "attn.b_K", "attn.b_V"};
    return std::ranges::any_of(kEnds, [&](const char* end) { return name.ends_with(end); });
}

} // namespace

void requireAsked(const StartingPoint& start, const std::string& task, const Architecture& asked,
                  const Architecture& own) {
    const nlohmann::json wanted = toJson(Recipe{.architecture = asked}), given = toJson(Recipe{.architecture = own});
    for (const std::string& field : start.asked) {
        if (wanted.at(field) == given.at(field)) continue;
        if (field == "feed_forward" && asked.feedForward == 0) continue;
        if (field == "key_value_heads") continue; // see withKeyValueHeads()
        // Of a field that the family does not have, the recipe holds its default, which says nothing of the model.
        const bool isKnown = findRecipeField(field)->changesSomething(Recipe{.task = task, .architecture = own});
        throw Error({.what = fmt::format("{} {}, so that training which starts from it cannot have {}", start.model,
                                         isKnown ? fmt::format("has the value {} and keeps it", given.at(field).dump())
                                                 : "keeps what it has of its own",
                                         wanted.at(field).dump()),
                     .where = "recipe: " + field,
                     .hint = fmt::format("leave {} out, or train a new model without \"from\"; of the model's "
                                         "description, only its attention can be replaced",
                                         field)});
    }
}

std::string withKeyValueHeads(const Architecture& asked, const Architecture& own) {
    const int64_t groups = asked.keyValueHeads == 0 ? own.heads : asked.keyValueHeads;
    if (groups == (own.keyValueHeads == 0 ? own.heads : own.keyValueHeads)) return asked.attention;
    if (own.heads % groups != 0)
        throw Error({.what = fmt::format("{} key/value heads do not divide the model's {} heads", groups, own.heads),
                     .where = "recipe: key_value_heads",
                     .hint = fmt::format("choose a number that divides {}", own.heads)});
    const std::string heads = groups == own.heads ? fmt::format("heads=multi_head({})", own.heads)
                                                  : fmt::format("heads=grouped_query({}, {})", own.heads, groups);
    const bool hasSource = trainableFamilyNamed(own.family).hasSource;
    if (asked.attention.empty())
        return hasSource ? fmt::format("encoder: {0}; decoder: {0}; cross: {0}", heads) : heads;
    std::vector<std::string> expressions;
    for (const std::string& expression : expressionsOf(asked.attention)) {
        if (hasSource || slotsIn(expression).contains(Slot::Heads))
            throw Error({.what = "the attention is composed, and key/value heads are given beside it",
                         .where = "recipe: key_value_heads",
                         .hint = "name the heads in the attention: heads=grouped_query(...)"});
        expressions.push_back(expression + ", " + heads);
    }
    return fmt::format("{}", fmt::join(expressions, "; "));
}

std::string compositionOf(const std::vector<LayerAttention>& layers) {
    std::string text;
    for (size_t layer = 0; layer < layers.size(); ++layer) text += (layer == 0 ? "" : "; ") + layers[layer].spec.text();
    return text;
}

std::string compositionFrom(const std::vector<LayerAttention>& own, const std::string& wanted) {
    const std::vector<std::string> expressions = expressionsOf(wanted);
    std::vector<std::string> texts;
    bool isOther = false;
    for (size_t layer = 0; layer < own.size(); ++layer) {
        const std::string& expression = expressions[layer % expressions.size()];
        AttentionSpec merged = specWith(own[layer].spec, expression);
        const auto named = slotsIn(expression);
        isOther = isOther || merged != own[layer].spec || named.contains(Slot::Position); // a table of the model's own
        AttentionSpec before = own[layer].spec;
        if (saysOnlyCount(merged) &&
            merged.parts.at(Slot::Heads) == before.parts.at(Slot::Heads)) { // the architecture's
            merged.reset(Slot::Heads);
            before.reset(Slot::Heads);
        }
        texts.push_back(textBeside(merged, before, named));
    }
    return isOther ? alternating(std::move(texts)) : std::string();
}

namespace {

/// The composition is one that can be trained. @param own the model's layers  @throws Error with the nearest that can
void requireTrainable(const Architecture& architecture, const std::vector<LayerAttention>& own) {
    const auto problem = attentionProblem(architecture);
    if (!problem) return;
    std::string nearest;
    if (!problem->nearest.empty()) { // as it replaces what it names of the model's
        const std::vector<AttentionSpec> specs = specsIn(problem->nearest);
        std::vector<std::string> texts;
        for (size_t layer = 0; layer < own.size(); ++layer)
            texts.push_back(textBeside(specs[layer % specs.size()], own[layer].spec, {}));
        nearest = alternating(std::move(texts));
        Architecture mended = architecture;
        mended.attention = compositionFrom(own, nearest);
        if (mended.attention.empty() || attentionProblem(mended)) nearest.clear();
    }
    throw Error({.what = problem->sentence,
                 .where = "recipe: attention",
                 .hint = nearest.empty() ? "choose another composition, or leave it empty to keep the model's"
                                         : "the nearest valid composition: " + nearest});
}

bool recomposeText(ModelSpec& config, const Architecture& architecture) {
    if (config.readsStream()) {
        if (!composeSites(config, architecture.attention)) return false;
        if (const auto problem = siteProblem(config))
            throw Error({.what = *problem,
                         .where = "recipe: attention",
                         .hint = "choose another composition, or leave it empty to keep the model's"});
        requireWritable(config, "recipe: attention");
        return true;
    }
    if (architecture.attention.empty() || architecture.attention == compositionOf(config.layers)) return false;
    const std::vector<AttentionSpec> specs = attentionOf(architecture);
    bool isSame = true;
    for (size_t layer = 0; layer < config.layers.size(); ++layer)
        isSame = isSame && specs[layer % specs.size()] == config.layers[layer].spec;
    const bool losesTable = config.positions != Positions::None && dropsTable(architecture, specs, config.layers);
    if (!losesTable && isSame) return false;
    if (config.hasQueryStream)
        throw Error({.what = fmt::format("the format of {} has no composed attention", config.family),
                     .where = "recipe: attention",
                     .hint = "leave it empty, or start from a model of another family"});
    requireTrainable(architecture, config.layers);
    if (losesTable || !fitsFamily(config, specs)) config.family = "attention-lab";
    for (size_t layer = 0; layer < config.layers.size(); ++layer) {
        LayerAttention& attention = config.layers[layer];
        attention.spec = specs[layer % specs.size()];
        attention.headWidth = headWidth(attention.spec, config.modelWidth);
    }
    if (losesTable) config.positions = Positions::None;
    requireWritable(config, "recipe: attention");
    return true;
}

bool recomposePictures(ModelSpec& config, const Architecture& architecture) {
    if (architecture.attention.empty() || architecture.attention == compositionOf(config.layers)) return false;
    const std::vector<AttentionSpec> specs = attentionOf(architecture);
    std::vector<LayerAttention> layers;
    for (int64_t layer = 0; layer < std::ssize(config.layers); ++layer) {
        AttentionSpec spec = specs[static_cast<size_t>(layer) % specs.size()];
        multiplyHeads(spec, int64_t{1} << config.patches.mergesUpTo(layer));
        const int64_t heads = headCounts(spec).heads;
        layers.push_back(visionLayer(config.widthOf(layer), heads, std::move(spec)));
    }
    const bool losesTable = config.positions != Positions::None && dropsTable(architecture, specs, config.layers);
    if (layers == config.layers && !losesTable) return false;
    requireTrainable(architecture, config.layers);
    config.layers = std::move(layers);
    if (losesTable) config.positions = Positions::None;
    requireGrid(config);
    placeOnGrid(config);
    config.family = std::string(writtenFamily(config).id);
    return true;
}

} // namespace

bool recompose(ModelSpec& config, const Architecture& architecture) {
    return config.axis == AxisKind::Patches ? recomposePictures(config, architecture)
                                            : recomposeText(config, architecture);
}

StartingParameters::StartingParameters(const Graph& before, const Graph& now, bool isOther, int64_t headWidth)
    : isRecomposed(isOther) {
    std::map<std::string, Shape> shapes;
    for (const Node* node : storedParameters(before)) shapes.emplace(node->name, node->outputs[0].shape);
    for (const Node* node : storedParameters(now)) {
        const Shape& shape = node->outputs[0].shape;
        const auto found = shapes.find(node->name);
        if (found != shapes.end() && found->second != shape && isOfKeyValueHeads(node->name)) {
            const int64_t had = found->second[0], has = shape[0];
            if (had % headWidth == 0 && has % headWidth == 0 && (had % has == 0 || has % had == 0) &&
                had * shape.elements() == has * found->second.elements()) {
                regrouped.emplace(node->name, had);
                isJoined_ = had > has;
            }
        }
        if (found != shapes.end() && (found->second == shape || regrouped.contains(node->name)))
            taken.insert(node->name);
        else
            fresh.push_back(node->name);
    }
    for (const auto& [name, shape] : shapes)
        if (!taken.contains(name)) left.push_back(name);
    width_ = headWidth;
}

std::vector<float> StartingParameters::read(const StartingModel& start, const std::string& parameter,
                                            const Shape& shape) const {
    const auto found = regrouped.find(parameter);
    if (found == regrouped.end()) return start.read(parameter, shape);
    std::vector<int64_t> extents = shape.extents();
    extents[0] = found->second;
    const std::vector<float> old = start.read(parameter, Shape(extents)); // [heads, width, ...]
    const auto head = static_cast<size_t>(width_ * (shape.elements() / shape[0]));
    const size_t had = old.size() / head, has = static_cast<size_t>(shape.elements()) / head,
                 joined = std::max<size_t>(had / has, 1); // heads that become one
    std::vector<float> values(has * head);
    for (size_t at = 0; at < values.size(); ++at) {
        const size_t first = at / head * had / has;
        double sum = 0;
        for (size_t each = first; each < first + joined; ++each)
            sum += static_cast<double>(old[each * head + at % head]);
        values[at] = static_cast<float>(sum / static_cast<double>(joined));
    }
    return values;
}

void StartingParameters::renewRows(const std::vector<std::optional<int>>& before,
                                   const std::function<bool(const std::string&)>& isRow) {
    const auto had = std::ranges::count_if(before, [](const auto& row) { return row.has_value(); });
    known = {static_cast<size_t>(had), before.size()};
    rows.clear();
    std::ranges::copy_if(taken, std::back_inserter(rows), isRow);
}

void StartingParameters::renew(std::string_view begin) {
    std::erase_if(taken, [&](const std::string& name) {
        if (!name.starts_with(begin)) return false;
        fresh.push_back(name);
        isRecomposed = true;
        return true;
    });
}

std::string StartingParameters::sentence(std::span<const std::string> blocks) const {
    if (!isRecomposed && !known) return {};
    const size_t all = taken.size() + fresh.size();
    std::string text = fmt::format("{} of {} parameters are the model's", taken.size() - rows.size(), all);
    if (!rows.empty())
        text += fmt::format("; rows of the {} of {} {} that the model has: {}", known->first, known->second,
                            rows.front().starts_with("head.") ? "classes" : "tokens", kindsOf(rows, blocks));
    if (!regrouped.empty()) {
        std::vector<std::string> names;
        for (const auto& [name, had] : regrouped) names.push_back(name);
        text += fmt::format(
            "; {}: {}", isJoined_ ? "means of the model's key/value heads" : "copies of the model's key/value heads",
            kindsOf(names, blocks));
    }
    if (!fresh.empty()) text += "; new: " + kindsOf(fresh, blocks);
    if (!left.empty()) text += "; left out: " + kindsOf(left, blocks);
    return text;
}

} // namespace attn
