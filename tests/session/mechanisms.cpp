#include "engine/attention/catalogue.h"
#include "engine/attention/findings.h"
#include "engine/core/error.h"
#include "engine/playground/attention_cost.h"
#include "engine/playground/part_growth.h"
#include "engine/training/attention_recipe.h"
#include "tests/support/catch.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

using namespace attn;
namespace fs = std::filesystem;

namespace {

const fs::path kRoot = fs::path(ATTN_SOURCE_DIR).lexically_normal();
const fs::path kTable = kRoot / "docs" / "mechanisms.md", kTimes = kRoot / "docs" / "part-times.tsv";

std::string textOf(const fs::path& file) {
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

/// Whether a line of a script or of a recipe has a composition with the part.
bool isNamedIn(const std::string& line, const Part& part) {
    const auto isOfWord = [](char letter) {
        return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
    };
    const std::string slot = fmt::format("{}=", nameOf(part.slot)), name(part.id);
    const size_t key = line.find_first_not_of(' '); // of a table of masks
    if (part.slot == Slot::Mask && key != std::string::npos && line.compare(key, name.size() + 1, '"' + name) == 0 &&
        !isOfWord(line[key + name.size() + 1]))
        return true;
    for (size_t at = line.find(slot); at != std::string::npos; at = line.find(slot, at + 1)) {
        const size_t begin = at + slot.size();
        const size_t end = part.slot == Slot::Mask ? line.find_first_of("\"';", begin) : begin + name.size();
        const std::string value = line.substr(begin, end == std::string::npos ? end : end - begin);
        for (size_t in = value.find(name); in != std::string::npos; in = value.find(name, in + 1)) {
            const char before = in == 0 ? ' ' : value[in - 1];
            const char after = begin + in + name.size() < line.size() ? line[begin + in + name.size()] : ' ';
            if (!isOfWord(before) && !isOfWord(after)) return true;
        }
    }
    return false;
}

/// The scripts that compute a part again in Python, from its paper or the authors' code, and the recipes that PyTorch
/// trains beside the program.
std::string scriptsOf(const Part& part) {
    std::string scripts;
    const fs::path folder = kRoot / "tests" / "golden";
    std::vector<fs::path> files;
    for (const fs::path& in : {folder, folder / "training"})
        for (const auto& entry : fs::directory_iterator(in))
            if (entry.path().extension() == ".py" || (in != folder && entry.path().extension() == ".json"))
                files.push_back(entry.path());
    std::ranges::sort(files);
    if (fs::exists(folder / "attention" / (std::string(part.id) + ".safetensors"))) scripts = "content_attention.py";
    for (const fs::path& file : files) {
        std::ifstream stream(file);
        for (std::string line; std::getline(stream, line);)
            if (isNamedIn(line, part)) {
                scripts += (scripts.empty() ? "" : ", ") + file.filename().string();
                break;
            }
    }
    return scripts;
}

/// The task that trains a part, or why it cannot be trained by itself.
std::pair<std::string, std::string> trainingOf(const Part& part) {
    const AttentionSpec spec = part.whole.empty() ? specOfPart(part) : AttentionSpec::parse(part.whole);
    const Recipe recipe = suggestedRecipe(spec, part.slot);
    if (const auto problem = attentionProblem(recipe.architecture)) return {"", problem->sentence};
    return {recipe.task, ""};
}

/// A text in a table of Markdown, where | ends a cell.
std::string inCell(std::string_view text) {
    std::string cell;
    for (const char letter : text) cell += letter == '|' ? std::string("\\|") : std::string(1, letter);
    return cell;
}

/// What views show of a part.
std::string drawnOf(const Part& part) {
    if (isOfBlock(part))
        return part.slot == Slot::Norm          ? "rows before and after"
               : part.slot == Slot::FeedForward ? "hidden features"
               : part.slot == Slot::Residual    ? "lengths of the residual stream"
                                                : "updates of the layers";
    if (part.slot == Slot::Mask && part.mask.row) return "mask";
    const AttentionSpec spec = specOfPart(part);
    const AttentionGraph built = attentionGraph(spec, {.queries = 12, .keys = 12, .width = 16}, false);
    std::set<std::string> names;
    for (const auto& [name, tensor] : built.flow.shown) names.insert(name);
    if (built.flow.pattern) names.insert("pattern");
    names.insert("output");
    return fmt::format("{}", fmt::join(names, ", "));
}

/// Exponents of T.
struct Growth {
    double operations, memory;
};
constexpr std::array<int64_t, 4> kLengths{512, 1024, 2048, 4096};

/// How the operations and the memory of a plan grow from 512 to 4,096 tokens.
Growth countedGrowth(const Part& part) {
    std::vector<std::pair<double, double>> operations, memory;
    for (const int64_t tokens : kLengths) {
        const AttentionCost cost =
            attentionCost(specOfPart(part, tokens), {.queries = tokens, .keys = tokens, .width = 16});
        operations.emplace_back(tokens, cost.operations);
        memory.emplace_back(tokens, cost.bytes);
    }
    return {growthExponent(operations), growthExponent(memory)};
}
std::string growthOf(const Part& part) {
    if (isOfBlock(part)) return std::string(part.time);
    const Growth growth = countedGrowth(part);
    return fmt::format("T^{:.1f}, T^{:.1f}", std::abs(growth.operations), growth.memory); // not "-0.0"
}

/// The growth of the time from 512 tokens on, from the file that `attention-cli cost --parts` wrote; none: it has
/// no such part.
std::optional<double> measuredGrowth(const Part& part) {
    std::ifstream table(kTimes);
    std::string line, slot, id, milliseconds;
    std::getline(table, line); // the lengths, which kLengths repeats
    while (std::getline(table, line)) {
        std::istringstream columns(line);
        columns >> slot >> id;
        if (slot != nameOf(part.slot) || id != part.id) continue;
        std::vector<std::pair<double, double>> points;
        for (const int64_t tokens : kLengths)
            if (columns >> milliseconds; milliseconds != "-") points.emplace_back(tokens, std::stod(milliseconds));
        return growthExponent(points);
    }
    return {};
}

std::string table() {
    std::string text =
        "# Mechanisms\n\nA test makes this page from the catalogues: `ATTN_WRITE_MECHANISMS=1` makes it write the page "
        "(`./dev docs` does so).\n\n"
        "- *Computed again in*: the script in tests/golden that computes the part from its paper's equations, in NumPy "
        "or "
        "PyTorch and float64.\n"
        "- *Trained by*: the task that the part's card suggests. Where a part cannot be trained by itself, its card "
        "says why.\n"
        "- *Drawn*: what views show of it. The pattern of parts that never form one is computed for display.\n"
        "- *Growth*: exponents of the operations and of the memory of one attention from 512 to 4,096 tokens, "
        "counted "
        "from its plan (two heads of width 16; a grid has as many places as there are tokens). Of the block's parts, "
        "the formula.\n"
        "- *Time*: exponent of the time from 512 to 4,096 tokens, measured on a processor with two cores by "
        "`attention-cli cost --parts --width 16 --out docs/part-times.tsv`. A part of the block does not run by "
        "itself. An asterisk: its card says why the time grows otherwise than the count.\n";
    std::string_view slot;
    for (const Part* part : partCatalogue()) {
        if (nameOf(part->slot) != slot) {
            slot = nameOf(part->slot);
            text +=
                fmt::format("\n## {}\n\n| part | computed again in | trained by | drawn | growth | time | source |\n"
                            "|---|---|---|---|---|---|---|\n",
                            slot);
        }
        const auto [task, reason] = trainingOf(*part);
        const auto measured = measuredGrowth(*part);
        const std::string time =
            measured ? fmt::format("T^{:.1f}{}", *measured, growthRemark(*part).empty() ? "" : "*") : "—";
        text += fmt::format("| `{}` {} | {} | {} | {} | {} | {} | {} {}, {} |\n", part->id, part->title,
                            scriptsOf(*part), task.empty() ? "—" : task, drawnOf(*part), growthOf(*part), time,
                            part->source.authors, part->source.year, part->source.address);
    }
    text += "\n## Claims of papers, measured here\n\n| part | claim | measured | command |\n|---|---|---|---|\n";
    for (const Finding& finding : findings())
        text += fmt::format("| `{}` | {} | {} | `{}` |\n", finding.part, finding.claim, inCell(finding.result),
                            inCell(finding.command));
    return text;
}

} // namespace

TEST_CASE("mechanisms: the table in the documents is that of the catalogues", "[session]") {
    const std::string expected = table();
    if (std::getenv("ATTN_WRITE_MECHANISMS") != nullptr) std::ofstream(kTable) << expected;
    CHECK(textOf(kTable) == expected);
}

TEST_CASE("mechanisms: every empty cell of the table has a reason", "[session]") {
    for (const Part* part : partCatalogue()) {
        INFO(nameOf(part->slot) << " " << part->id);
        const auto [task, reason] = trainingOf(*part);
        CHECK((!task.empty() || reason.size() > 20)); // the card says it
        CHECK_FALSE(drawnOf(*part).empty());
        CHECK_FALSE(growthOf(*part).empty());
        CHECK_FALSE(scriptsOf(*part).empty());
    }
}

TEST_CASE("mechanisms: the time of every part grows as what was counted, or its card says why not", "[session]") {
    constexpr double kBound = 0.35; // small attentions spend a share of their time on starting kernels
    for (const Part* part : partCatalogue()) {
        if (isOfBlock(*part)) continue;
        INFO(nameOf(part->slot) << " " << part->id);
        const auto measured = measuredGrowth(*part);
        REQUIRE(measured);
        const Growth counted = countedGrowth(*part);
        const double law = std::max(counted.operations, counted.memory); // every number is read or written
        if (growthRemark(*part).empty()) CHECK(std::abs(*measured - law) <= kBound);
        CHECK(std::abs(*measured - law) <= 0.6); // never linear for quadratic
    }
}

TEST_CASE("mechanisms: the exponent is that of a power of the length", "[session]") {
    const auto points = [](double exponent) {
        std::vector<std::pair<double, double>> result;
        for (const double tokens : {512, 1024, 4096}) result.emplace_back(tokens, 3e-4 * std::pow(tokens, exponent));
        return result;
    };
    CHECK(growthExponent(points(1.5)) == Approx(1.5));
    CHECK(growthExponent(points(0)) == Approx(0).margin(1e-12));
}

TEST_CASE("mechanisms: every finding names a part, what was measured and a command", "[session]") {
    CHECK(findings().size() >= 10);
    for (const Finding& finding : findings()) {
        INFO(finding.part);
        const Part* part = findPart(finding.slot, finding.part);
        REQUIRE(part != nullptr);
        CHECK(findingOf(*part) == &finding);
        CHECK(finding.claim.ends_with("."));
        CHECK(finding.result.find_first_of("0123456789") != std::string_view::npos);
        CHECK(finding.command.starts_with("attention-cli "));
    }
}
