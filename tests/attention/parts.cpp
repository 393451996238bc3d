#include "tests/attention/attention_case.h"
#include "tests/support/slope.h"

#include "engine/attention/mask/catalogue.h"
#include "engine/ops/gradient.h"
#include "engine/runtime/cpu_executor.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace attn;
using test::AttentionCase;
using test::onDevice;
using test::specWith;

namespace {

void requireNear(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
        INFO("element " << i << ": " << found[i] << ", expected " << expected[i]);
        REQUIRE(std::abs(found[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])));
    }
}

/// Every part of the catalogue in a spec, also with each of its toggles the other way, and with factors.
template <class Check> void forEveryPart(Check&& check) {
    for (const Part* part : partCatalogue()) {
        std::vector<AttentionSpec> specs{specWith(*part)};
        for (const Param& param : part->params)
            if (param.kind == Param::Kind::Toggle) {
                specs.push_back(specs.back());
                specs.back().setValue(part->slot, param.id, 1 - param.initial);
            } else if (param.id == "factors") {
                specs.push_back(specs.back());
                specs.back().setValue(part->slot, param.id, 3);
            }
        for (const AttentionSpec& spec : specs) {
            INFO(nameOf(part->slot) << " " << part->id);
            AttentionCase test{.spec = spec};
            INFO(test.spec.text());
            check(*part, test);
        }
    }
}

} // namespace

TEST_CASE("parts: rope turns an odd share of the features as transformers does", "[attention]") {
    struct Case {
        double fraction;
        int64_t width, features; ///< int(width * fraction)
    };
    // The frequencies are base^(-2 m / features), for every 2 m below the features.
    for (const Case& each : {Case{0.4, 8, 3}, {0.7, 8, 5}, {0.2, 8, 1}, {0.5, 8, 4}, {1, 8, 8}, {0.3, 10, 3}}) {
        CAPTURE(each.fraction, each.width);
        const AttentionSpec spec = AttentionSpec::parse(fmt::format("position=rope(fraction={})", each.fraction));
        const Rotation rotation = spec.part(Slot::Position).position.rotation(spec.values(Slot::Position), each.width);
        size_t count = 0;
        for (int64_t feature = 0; feature < each.features; feature += 2, ++count) {
            REQUIRE(count < rotation.frequencies.size());
            CHECK(rotation.frequencies[count] ==
                  Approx(1 / std::pow(10000, static_cast<double>(feature) / static_cast<double>(each.features))));
        }
        CHECK(count == rotation.frequencies.size());
    }
}

TEST_CASE("every part says what it is, and where it comes from", "[attention]") {
    std::set<std::pair<Slot, std::string_view>> seen;
    for (const Part* part : partCatalogue()) {
        INFO(nameOf(part->slot) << " " << part->id);
        CHECK(seen.insert({part->slot, part->id}).second);
        CHECK_FALSE(part->title.empty());
        CHECK(std::ranges::count(part->idea, '.') >= 2);
        CHECK_FALSE(part->formula.empty());
        CHECK_FALSE(part->source.authors.empty());
        CHECK(part->source.year >= 1990);
        CHECK_FALSE(part->source.title.empty());
        CHECK_FALSE(part->source.where.empty());
        CHECK_FALSE(part->source.address.empty());
        CHECK_FALSE(part->time.empty());
        CHECK_FALSE(part->memory.empty());
        for (const Param& param : part->params) {
            INFO(param.id);
            CHECK(param.minimum <= param.initial);
            CHECK(param.initial <= param.maximum);
            CHECK(param.step > 0);
            CHECK_FALSE(param.help.empty());
        }
    }
}

TEST_CASE("every part in a graph equals its plain loops, and its pattern gives its output", "[attention]") {
    forEveryPart([](const Part&, AttentionCase& test) {
        for (const auto& [queries, width] : {std::pair<int64_t, int64_t>{6, 4}, {9, 6}, {1, 4}}) {
            test.queries = test.keys = queries;
            test.width = width;
            test.batch = 2;
            test.build();
            const auto found = test.onHost();
            for (int64_t sequence = 0; sequence < test.batch; ++sequence) {
                const ReferenceFlow expected = test.reference(sequence);
                const auto part = [&](const std::string& name, const Dense& dense) {
                    const auto size = static_cast<std::ptrdiff_t>(dense.data.size());
                    const auto begin = found.at(name).begin() + sequence * size;
                    INFO(name);
                    requireNear({begin, begin + size}, dense.data, 1e-6); // constants are rounded to float
                };
                part("z", expected.z);
                if (found.contains("pattern") && !expected.pattern.data.empty()) part("pattern", expected.pattern);
            }
        }
    });
}

TEST_CASE("every part on the device equals its plain loops", "[attention][gpu]") {
    test::TestDevice device;
    forEveryPart([&](const Part&, AttentionCase& test) {
        test.build();
        const auto found = onDevice(device, test, test.outputs), expected = test.onHost();
        for (const auto& [name, values] : expected) {
            INFO(name);
            requireNear(found.at(name), values, 2e-4); // fp32 exponentials and sums of up to 64 terms
        }
    });
}

TEST_CASE("every part's gradient equals central finite differences in double", "[attention]") {
    forEveryPart([](const Part& part, AttentionCase& test) {
        // Memories stop gradients on purpose: what flows differs from what changes.
        if (part.slot == Slot::Memory && part.id != "none") return;
        test.build();
        Graph& graph = *test.graph;
        const Shape shape = test.outputs.at("z").shape();
        std::vector<double>& direction = test.values["direction"];
        for (int64_t i = 0; i < shape.elements(); ++i) direction.push_back(std::sin(static_cast<double>(3 * i + 1)));
        Tensor loss = sum(multiply(test.outputs.at("z"), graph.input("direction", {.shape = shape})));
        for (const Tensor penalty : test.penalties) loss = add(loss, penalty);
        std::vector<std::string> names{"q", "k", "v"};
        names.insert(names.end(), test.learned.begin(), test.learned.end());
        std::vector<Tensor> sources;
        for (const std::string& name : names) {
            uint32_t id = 0;
            while (graph.node(id).name != name) ++id;
            sources.push_back({&graph, id, 0});
        }
        const auto gradients = gradient(loss, sources);
        std::map<std::string, Tensor> outputs{{"loss", loss}};
        for (size_t i = 0; i < names.size(); ++i)
            if (gradients[i]) outputs["d " + names[i]] = gradients[i];
        const auto plan = compile(test.graph, outputs);
        CpuExecutor executor(plan);
        std::set<std::string> planned;
        for (const PlannedTensor& tensor : plan->tensors)
            if (tensor.home != Home::Arena) {
                planned.insert(tensor.name);
                executor.set(tensor.name, test.values.at(tensor.name));
            }
        const auto lossNow = [&] {
            executor.run({});
            return executor.get("loss")[0];
        };
        lossNow();
        std::map<std::string, std::vector<double>> found;
        for (const std::string& name : names)
            if (outputs.contains("d " + name)) found[name] = executor.get("d " + name);
        for (const std::string& name : names) {
            if (!planned.contains(name)) continue;
            std::vector<double>& values = test.values[name];
            for (size_t trial = 0; trial < 6; ++trial) {
                const size_t at = trial * 7919 % values.size();
                const double difference = test::slopeOf(values, at, [&] {
                    executor.set(name, values);
                    return lossNow();
                });
                const double derivative = found.contains(name) ? found[name][at] : 0;
                INFO("d loss / d " << name << "[" << at << "]");
                CHECK(std::abs(derivative - difference) <= 1e-5 * (1 + std::abs(difference)));
            }
        }
    });
}

TEST_CASE("every part's spec is read from its expression and from JSON", "[attention]") {
    forEveryPart([](const Part&, AttentionCase& test) {
        CHECK(AttentionSpec::parse(test.spec.text()) == test.spec);
        nlohmann::json json{{"mask", test.spec.mask.text()}};
        for (const auto& [slot, choice] : test.spec.parts) {
            nlohmann::json& entry = json[std::string(nameOf(slot))] = {{"id", choice.id}};
            const Part& part = partNamed(slot, choice.id);
            for (size_t i = 0; i < part.params.size(); ++i) entry[std::string(part.params[i].id)] = choice.values[i];
            if (part.takesList)
                entry[std::string(part.params.back().id)] =
                    std::vector<double>(choice.values.begin() + std::ssize(part.params) - 1, choice.values.end());
        }
        CHECK(attentionSpecFromJson(json) == test.spec);
        CHECK(attentionSpecFromJson(test.spec.text()) == test.spec);
    });
}

TEST_CASE("a list in JSON is an array of numbers", "[attention]") {
    const auto specWithTree = [](const nlohmann::json& tree) {
        return attentionSpecFromJson({{"position", {{"id", "dependency_tree"}, {"clip", 2}, {"tree", tree}}}});
    };
    CHECK(specWithTree({2, 0, 2}).text() == "position=dependency_tree(clip = 2, tree = 2, 0, 2)");
    for (const nlohmann::json& bad : {nlohmann::json(3), nlohmann::json::array(), nlohmann::json::array({"a"})})
        CHECK_THROWS_WITH(specWithTree(bad), CONTAINS("is not a list of numbers"));
}

TEST_CASE("every part's parameters work at their limits and are refused beyond", "[attention]") {
    for (const Part* part : partCatalogue()) {
        if (part->slot == Slot::Mask) continue; // tests/attention/mask_terms.cpp
        for (size_t i = 0; i < part->params.size(); ++i) {
            const Param& param = part->params[i];
            INFO(part->id << "." << param.id);
            std::vector<double> values = initialValues(*part);
            AttentionSpec spec = specWith(*part);
            for (const double beyond : {param.minimum - param.step, param.maximum + param.step}) {
                values[i] = beyond;
                CHECK_THROWS_WITH(spec.set(part->slot, part->id, values), CONTAINS(std::string(param.id)));
            }
            for (const double limit : {param.minimum, param.maximum}) {
                if (limit > 1024 && param.kind == Param::Kind::Integer) continue; // rows of a table: memory alone
                values[i] = limit;
                spec.set(part->slot, part->id, values);
                if (!check(spec, {.headWidth = 4}).empty()) continue;
                AttentionCase test{.spec = spec};
                test.build();
                const auto results = test.onHost();
                const auto& z = results.at("z");
                CHECK(std::ranges::all_of(z, [](double value) { return std::isfinite(value); }));
            }
        }
    }
}

TEST_CASE("every part that can be causal leaks nothing, unless it says so", "[attention]") {
    forEveryPart([](const Part& part, AttentionCase& test) {
        if (!check(test.spec, {.isCausalTask = true, .headWidth = 4}).empty()) return;
        test.queries = test.keys = 8;
        test.build();
        const auto before = test.onHost();
        constexpr int64_t kChanged = 5;
        for (const char* name : {"q", "k", "v"})
            for (int64_t h = 0; h < (std::string_view(name) == "q" ? test.heads : test.groups); ++h)
                for (int64_t i = kChanged; i < 8; ++i)
                    for (int64_t d = 0; d < test.width; ++d)
                        test.values[name][static_cast<size_t>((h * 8 + i) * test.width + d)] *= -1.5;
        const auto after = test.onHost();
        bool leaks = false;
        for (int64_t h = 0; h < test.heads; ++h)
            for (int64_t i = 0; i < kChanged * test.width; ++i) {
                const auto at = static_cast<size_t>(h * 8 * test.width + i);
                leaks = leaks || before.at("z")[at] != after.at("z")[at];
            }
        CHECK(leaks <= !part.caution.empty());
    });
}
