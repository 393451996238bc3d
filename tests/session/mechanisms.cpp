#include "engine/attention/catalogue.h"
#include "engine/attention/findings.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/core/error.h"
#include "engine/playground/attention_cost.h"
#include "engine/training/attention_recipe.h"
#include "tests/support/catch.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

using namespace attn;
namespace fs = std::filesystem;

namespace {

const fs::path kRoot = fs::path(ATTN_SOURCE_DIR).lexically_normal();
const fs::path kTable = kRoot / "docs" / "mechanisms.md";

std::string textOf(const fs::path& file) {
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

bool isOfBlock(const Part& part) { return std::ranges::find(kBlockSlots, part.slot) != kBlockSlots.end(); }

/// The part in a composition of two heads that works, under a causal mask where it can be.
AttentionSpec specWith(const Part& part) {
    AttentionSpec spec;
    setHeads(spec, {2, 2});
    spec.mask = MaskExpression::causal();
    if (part.slot == Slot::Mask)
        spec.mask = MaskExpression::parse(termText(part, initialValues(part)));
    else
        spec.set(part.slot, part.id, part.slot == Slot::Heads ? std::vector{2.0} : initialValues(part));
    for (int round = 0; round < 8; ++round) {
        const auto problems = check(spec, {.headWidth = 16});
        if (problems.empty() || !problems.front().nearest) break;
        spec = *problems.front().nearest;
    }
    return spec;
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
    const AttentionSpec spec = part.whole.empty() ? specWith(part) : AttentionSpec::parse(part.whole);
    const Recipe recipe = suggestedRecipe(spec, part.slot);
    if (const auto problem = attentionProblem(recipe.architecture)) return {"", problem->sentence};
    return {recipe.task, ""};
}

/// What views show of a part.
std::string drawnOf(const Part& part) {
    if (isOfBlock(part))
        return part.slot == Slot::Norm          ? "rows before and after"
               : part.slot == Slot::FeedForward ? "hidden features"
               : part.slot == Slot::Residual    ? "lengths of the residual stream"
                                                : "updates of the layers";
    if (part.slot == Slot::Mask && part.maskRow) return "mask";
    const AttentionSpec spec = specWith(part);
    const AttentionGraph built = attentionGraph(spec, {.queries = 12, .keys = 12, .width = 16}, false);
    std::set<std::string> names;
    for (const auto& [name, tensor] : built.flow.shown) names.insert(name);
    if (built.flow.pattern) names.insert("pattern");
    names.insert("output");
    return fmt::format("{}", fmt::join(names, ", "));
}

/// How the operations and the memory of a plan grow from 1,024 to 4,096 tokens: the exponents of T.
std::string growthOf(const Part& part) {
    if (isOfBlock(part)) return std::string(part.time);
    const AttentionSpec spec = specWith(part);
    const auto at = [&](int64_t tokens) {
        return attentionCost(spec, {.queries = tokens, .keys = tokens, .width = 16});
    };
    const AttentionCost few = at(1024), many = at(4096);
    const auto exponent = [](double from, double to) { return std::log2(to / from) / 2; };
    return fmt::format("T^{:.1f}, T^{:.1f}", exponent(few.operations, many.operations),
                       exponent(few.bytes, many.bytes));
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
        "- *Growth*: exponents of the operations and of the memory of one attention from 1,024 to 4,096 tokens, "
        "counted "
        "from its plan (heads of width 16). Of the block's parts, the formula.\n";
    std::string_view slot;
    for (const Part* part : partCatalogue()) {
        if (nameOf(part->slot) != slot) {
            slot = nameOf(part->slot);
            text += fmt::format("\n## {}\n\n| part | computed again in | trained by | drawn | growth | source |\n"
                                "|---|---|---|---|---|---|\n",
                                slot);
        }
        const auto [task, reason] = trainingOf(*part);
        text += fmt::format("| `{}` {} | {} | {} | {} | {} | {} {}, {} |\n", part->id, part->title, scriptsOf(*part),
                            task.empty() ? "—" : task, drawnOf(*part), growthOf(*part), part->source.authors,
                            part->source.year, part->source.address);
    }
    text += "\n## Claims of papers, measured here\n\n| part | claim | measured | command |\n|---|---|---|---|\n";
    for (const Finding& finding : findings())
        text +=
            fmt::format("| `{}` | {} | {} | `{}` |\n", finding.part, finding.claim, finding.result, finding.command);
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
