#include "engine/data/draws.h"
#include "tests/training/tasks_test.h"

#include <fmt/format.h>

using namespace attn;
using attn::test::refuses;
using Values = std::map<std::string, double, std::less<>>;

namespace {

constexpr std::array kSplits{Split::Train, Split::Validation, Split::Test};

/// Tasks over sequences without a text, which need nothing but parameters.
std::vector<const Task*> selfContained() {
    std::vector<const Task*> tasks;
    for (const Task* task : taskCatalogue())
        if (!task->readsText && !task->hasImages()) tasks.push_back(task);
    return tasks;
}

/// The tokens that an example asks about.
std::vector<int32_t> questionOf(const Example& example) {
    return example.source.empty() ? example.prompt : example.source;
}

std::unique_ptr<TaskInstance> instance(const Task& task, Values values = {}, uint64_t seed = 0) {
    return makeTask(task, {.values = std::move(values), .seed = seed});
}

void checkBatch(const TaskInstance& task, const Batch& batch, int rows) {
    CHECK(batch.rows == rows);
    CHECK(batch.width("targets") == task.contextLength());
    REQUIRE(batch["inputs"].size() == static_cast<size_t>(batch.rows * batch.width("targets")));
    REQUIRE(batch["targets"].size() == batch["inputs"].size());
    const auto isToken = [&](int32_t id) { return id >= 0 && id < task.vocabularySize(); };
    CHECK(std::ranges::all_of(batch["inputs"], isToken));
    CHECK(std::ranges::all_of(batch["targets"], [&](int32_t id) { return id == Batch::kIgnored || isToken(id); }));
    for (int row = 0; row < rows; ++row) {
        const auto begin = batch["targets"].begin() + row * batch.width("targets");
        CHECK(std::any_of(begin, begin + batch.width("targets"), [](int32_t id) { return id != Batch::kIgnored; }));
    }
}

} // namespace

TEST_CASE("tasks: the catalogue is complete and describes itself", "[training]") {
    std::set<std::string_view> ids;
    for (const Task* task : taskCatalogue()) {
        CAPTURE(std::string(task->id));
        CHECK(ids.insert(task->id).second);
        CHECK(&taskNamed(task->id) == task);
        CHECK_FALSE(task->title.empty());
        CHECK_FALSE(task->summary.empty());
        CHECK_FALSE(task->hint.empty());
        CHECK(task->successLevel > 0);
        for (const Param& param : task->params) {
            CAPTURE(std::string(param.id));
            CHECK(param.minimum <= param.initial);
            CHECK(param.initial <= param.maximum);
            CHECK_FALSE(param.help.empty());
        }
    }
    CHECK(refuses([] { taskNamed("sorting"); }, "copy, reverse, sort"));
}

TEST_CASE("tasks: targets are the following inputs, or the end of the answer", "[training]") {
    for (const Task* each : selfContained()) {
        if (each->readout != TextReadout::NextToken) continue; // targets are classes
        CAPTURE(std::string(each->id));
        const auto task = instance(*each);
        for (const Split split : kSplits) {
            const Batch batch = task->batch(split, 3, 16);
            checkBatch(*task, batch, 16);
            for (size_t i = 0; i < batch["targets"].size(); ++i) {
                const bool isLastColumn = (i + 1) % static_cast<size_t>(batch.width("targets")) == 0;
                if (batch["targets"][i] != Batch::kIgnored && !isLastColumn)
                    CHECK(batch["targets"][i] == batch["inputs"][i + 1]);
            }
        }
    }
}

TEST_CASE("tasks: examples are the rows of batches", "[training]") {
    for (const Task* each : selfContained()) {
        if (each->id == "stories") continue; // its examples ask about pronouns in new stories
        if (each->readout != TextReadout::NextToken) continue;
        CAPTURE(std::string(each->id));
        const auto task = instance(*each);
        const Batch batch = task->batch(Split::Validation, 2, 8);
        const auto columns = static_cast<size_t>(batch.width("targets"));
        for (size_t row = 0; row < 8; ++row) {
            const Example example = task->example(Split::Validation, 2 * 8 + row);
            REQUIRE(example.prompt.size() + example.answer.size() <= columns + 1);
            REQUIRE_FALSE(example.answer.empty());
            for (size_t i = 0; i < example.prompt.size(); ++i)
                CHECK(batch["inputs"][row * columns + i] == example.prompt[i]);
            for (size_t i = 0; i < example.answer.size(); ++i)
                CHECK(batch["targets"][row * columns + example.prompt.size() - 1 + i] == example.answer[i]);
        }
    }
}

TEST_CASE("tasks: seed and index decide a batch, in whatever order it is asked for", "[training]") {
    for (const Task* each : selfContained()) {
        CAPTURE(std::string(each->id));
        const auto task = instance(*each), same = instance(*each), other = instance(*each, {}, 1);
        const Batch second = same->batch(Split::Train, 1, 8), first = same->batch(Split::Train, 0, 8);
        CHECK(task->batch(Split::Train, 0, 8) == first);
        CHECK(task->batch(Split::Train, 1, 8) == second);
        CHECK(first != second);
        CHECK(other->batch(Split::Train, 0, 8) != first);
        CHECK(task->example(Split::Test, 5) == same->example(Split::Test, 5));
        // A batch of 8 is two of 4.
        Batch joined = task->batch(Split::Train, 0, 4);
        const Batch rest = task->batch(Split::Train, 1, 4);
        joined["inputs"].insert(joined["inputs"].end(), rest["inputs"].begin(), rest["inputs"].end());
        CHECK(joined["inputs"] == first["inputs"]);
    }
}

TEST_CASE("tasks: no example is in two splits, whatever the seeds", "[training]") {
    // Small enough for prompts to repeat: about half of 30,000 draws are new.
    const std::map<std::string_view, Values> small{
        {"copy", {{"length", 3}}},
        {"reverse", {{"length", 3}}},
        {"sort", {{"length", 4}}},
        {"add", {{"digits", 2}}},
        {"associative-recall", {{"pairs", 2}, {"queries", 1}, {"keys", 4}}},
        {"delayed-recall", {{"items", 2}, {"delay", 4}}},
        {"brackets", {{"length", 8}}},
        {"compare", {{"length", 3}}},
        {"induction", {{"context", 8}, {"symbols", 8}}},
        {"pixels", {{"size", 4}, {"levels", 2}, {"kinds", 2}}},
    };
    for (const Task* each : selfContained()) {
        if (each->id == "stories") continue;
        CAPTURE(std::string(each->id));
        const auto found = small.find(each->id);
        const Values values = found == small.end() ? Values{} : found->second;
        const auto task = instance(*each, values), heldOut = instance(*each, values, 99);
        std::array<std::set<std::vector<int32_t>>, 3> prompts;
        for (size_t i = 0; i < 10000; ++i) {
            const auto add = [&](size_t split, const Example& example) {
                std::vector<int32_t> question = questionOf(example);
                if (task->picture()) question.insert(question.end(), example.answer.begin(), example.answer.end());
                prompts[split].insert(std::move(question));
            };
            add(0, task->example(Split::Train, i));
            add(1, heldOut->example(Split::Validation, i));
            add(2, heldOut->example(Split::Test, i));
        }
        const auto common = [&](size_t a, size_t b) {
            return std::ranges::count_if(prompts[a], [&](const auto& prompt) { return prompts[b].contains(prompt); });
        };
        CHECK(common(0, 1) == 0);
        CHECK(common(0, 2) == 0);
        CHECK(common(1, 2) == 0);
    }
}

TEST_CASE("tasks: every parameter works at its limits", "[training]") {
    for (const Task* each : selfContained())
        for (const Param& param : each->params)
            for (const double value : {param.minimum, param.maximum}) {
                CAPTURE(std::string(each->id), std::string(param.id), value);
                Values values{{std::string(param.id), value}};
                if (each->id == "associative-recall") { // these limits bound each other
                    const bool isFew = value == param.minimum && param.id != "values" && param.id != "queries";
                    values.emplace("pairs", isFew ? 1 : 52);
                    values.emplace("keys", 52);
                    values.emplace("queries", 1);
                }
                if (param.id.starts_with("block_")) values.emplace("size", param.maximum); // that blocks fill
                const auto task = instance(*each, values);
                for (const Split split : kSplits) {
                    checkBatch(*task, task->batch(split, 0, 4), 4);
                    const Example example = task->example(split, 0);
                    if (each->readout == TextReadout::NextToken)
                        CHECK(example.prompt.size() + example.answer.size() <=
                              static_cast<size_t>(task->contextLength() + 1));
                }
            }
}

TEST_CASE("tasks: a wrong parameter is refused with its name and range", "[training]") {
    for (const Task* each : selfContained())
        for (const Param& param : each->params) {
            const std::string id(param.id);
            CAPTURE(std::string(each->id), id);
            for (const double value : {param.minimum - 1, param.maximum + 1, std::nan("")}) {
                CHECK(refuses([&] { instance(*each, {{id, value}}); }, fmt::format("{}: {}", each->id, id)));
                CHECK(refuses([&] { instance(*each, {{id, value}}); }, fmt::format("{} ", param.minimum)));
            }
            if (param.kind != Param::Kind::Real)
                CHECK(refuses(
                    [&] {
                        instance(*each, {{id, param.minimum + 0.5}});
                    },
                    fmt::format("{} is out of range", param.minimum + 0.5)));
        }
    CHECK(refuses([] { test::task("sort", {{"depth", 3}}); }, "length, values, varied"));
    CHECK(refuses([] { test::task("associative-recall", {{"pairs", 30}}); }, "26 keys are too few for 30 pairs"));
    CHECK(refuses([] { test::task("associative-recall", {{"queries", 9}}); }, "choose 1 to 8 queries"));
    CHECK(refuses([] { test::task("sort")->batch(Split::Train, 0, 0); }, "0 rows"));
}

TEST_CASE("tasks: token texts cover the ids, and typed prompts give the ids that were trained", "[training]") {
    for (const Task* each : selfContained()) {
        CAPTURE(std::string(each->id));
        const auto task = instance(*each);
        const Tokenizer& tokenizer = task->tokenizer();
        std::set<std::string> texts;
        for (int id = 0; id < task->vocabularySize(); ++id) {
            REQUIRE(tokenizer.token(id).has_value());
            CHECK(texts.insert(tokenizer.tokenText(id)).second);
        }
        CHECK(tokenizer.endId().has_value());
        for (uint64_t i = 0; i < 20; ++i) {
            const std::vector<int32_t> question = questionOf(task->example(Split::Train, i));
            const std::string typed = tokenizer.decode(question, true); // what a person would type
            CHECK(std::ranges::equal(tokenizer.encode(typed).ids, question));
        }
    }
}

TEST_CASE("draws: bounded numbers are even and repeatable", "[training]") {
    std::array<int, 7> counts{};
    for (uint64_t index = 0; index < 70; ++index) {
        Draws draws(5, index, 0), again(5, index, 0), other(5, index, 1);
        int differences = 0;
        for (int i = 0; i < 1000; ++i) {
            const int value = draws.below(7);
            REQUIRE(value == again.below(7));
            differences += value != other.below(7);
            ++counts[static_cast<size_t>(value)];
        }
        CHECK(differences > 700);
    }
    for (const int count : counts) CHECK(std::abs(count - 10000) < 400); // 4 standard deviations
}

TEST_CASE("splits: hashes fall into the shares asked for", "[training]") {
    std::map<Split, int> counts;
    for (int32_t i = 0; i < 10000; ++i) ++counts[splitOf(hashOf(std::span(&i, 1)), 0.6)];
    CHECK(std::abs(counts[Split::Train] - 6000) < 200);
    CHECK(std::abs(counts[Split::Validation] - 2000) < 160);
    CHECK(std::abs(counts[Split::Test] - 2000) < 160);
}
