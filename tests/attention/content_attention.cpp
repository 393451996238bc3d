#include "engine/io/safetensors.h"
#include "engine/ops/bucket_attention.h"
#include "engine/playground/attention_cost.h"
#include "tests/attention/attention_case.h"

#include <fmt/format.h>

using namespace attn;
using test::AttentionCase;

// Attentions that choose their keys by content, against tests/golden/content_attention.py.

namespace {

using Results = std::map<std::string, std::vector<double>>;

/// The tensors of a golden file.
class Golden {
public:
    explicit Golden(const char* name)
        : file_(std::string(ATTN_TEST_DIR "/golden/attention/") + name + ".safetensors") {}

    std::vector<int64_t> shape(const std::string& name) const { return file_.tensors().at(name).shape; }
    std::vector<double> read(const std::string& name) const {
        const StoredTensor& tensor = file_.tensors().at(name);
        std::vector<float> values(static_cast<size_t>(tensor.elements()));
        REQUIRE(file_.read(tensor, 0, values) == 0);
        return {values.begin(), values.end()};
    }
    bool has(const std::string& name) const { return file_.tensors().contains(name); }

private:
    SafetensorsFile file_;
};

/// A case of the sizes of a golden file's q [H,T,D], with its q, k and v.
AttentionCase goldenCase(const Golden& golden, const std::string& name, const std::string& spec) {
    const auto shape = golden.shape(name + ".q");
    AttentionCase test{.spec = AttentionSpec::parse(spec), .queries = shape[1], .keys = shape[1], .width = shape[2]};
    test.build();
    for (const char* each : {"q", "k", "v"})
        if (golden.has(name + "." + each)) test.values[each] = golden.read(name + "." + each);
    return test;
}

void requireNear(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
        INFO("element " << i << ": " << found[i] << ", expected " << expected[i]);
        REQUIRE(std::abs(found[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])));
    }
}

AttentionCase caseOf(const std::string& spec, int64_t tokens, int64_t width = 8) {
    AttentionCase test{.spec = AttentionSpec::parse(spec), .queries = tokens, .keys = tokens, .width = width};
    test.build();
    return test;
}

AttentionCost costOf(const std::string& spec, int64_t tokens) {
    return attentionCost(AttentionSpec::parse(spec), {.queries = tokens, .keys = tokens, .width = 32});
}

} // namespace

TEST_CASE("Reformer equals an implementation of the paper's algorithm, round by round", "[attention][gpu]") {
    const Golden golden("reformer");
    test::TestDevice device;
    for (const std::string name : {"short", "long"})
        for (const std::string mask : {"causal", "full"}) {
            INFO(name << ", " << mask);
            AttentionCase test = goldenCase(
                golden, name,
                fmt::format("heads=shared_query_key(2), normaliser=reformer(chunk = 8, rounds = 3), mask={}", mask));
            int rotations = 0;
            for (auto& [constant, values] : test.values) { // the golden rotations, with their opposites
                const size_t begin = constant.find("rotation");
                if (begin == std::string::npos) continue;
                const std::string stored = name + "." + constant.substr(begin, constant.find('#') - begin);
                const auto r = golden.read(stored);
                const auto shape = golden.shape(stored);
                const auto each = static_cast<std::ptrdiff_t>(shape[1] * shape[2]);
                REQUIRE(values.size() == 2 * r.size());
                values.clear();
                for (auto head = r.begin(); head != r.end(); head += each) {
                    values.insert(values.end(), head, head + each);
                    std::transform(head, head + each, std::back_inserter(values), std::negate{});
                }
                ++rotations;
            }
            CHECK(rotations == (name == "short" ? 3 : 6));
            const auto expected = golden.read(name + "." + mask);
            requireNear(test.onHost().at("z"), expected, 1e-6); // the file's floats
            requireNear(onDevice(device, test, test.outputs).at("z"), expected, 1e-4);
        }
}

TEST_CASE("Reformer sorts every token once in every round, by bucket", "[attention]") {
    const Results found = caseOf("heads=shared_query_key(2), normaliser=reformer(8, 2, 3), mask=causal", 40).onHost();
    const auto &order = found.at("lsh.order"), &bucket = found.at("lsh.buckets"); // [1,2,2,40]
    REQUIRE(order.size() == 160);
    for (size_t row = 0; row < 160; row += 40) {
        std::set<double> tokens(order.begin() + static_cast<std::ptrdiff_t>(row),
                                order.begin() + static_cast<std::ptrdiff_t>(row + 40));
        CHECK(tokens.size() == 40);
        CHECK(*tokens.rbegin() == 39);
        for (size_t i = row; i + 1 < row + 40; ++i)
            CHECK((bucket[i] < bucket[i + 1] || (bucket[i] == bucket[i + 1] && order[i] < order[i + 1])));
    }
    CHECK(std::vector(order.begin(), order.begin() + 40) != std::vector(order.begin() + 40, order.begin() + 80));
    CHECK(std::ranges::max(bucket) > 0);
}

TEST_CASE("Reformer leaves no row empty: a token without another key sees itself, and no other token does",
          "[attention]") {
    for (const char* mask : {"causal", "full"}) {
        INFO(mask);
        const auto pattern =
            caseOf(fmt::format("heads=shared_query_key(1), normaliser=reformer(8, 1, 3), mask={}", mask), 60)
                .onHost()
                .at("pattern");
        int alone = 0;
        for (size_t t = 0; t < 60; ++t) {
            const auto row = pattern.begin() + static_cast<std::ptrdiff_t>(60 * t);
            CHECK(std::accumulate(row, row + 60, 0.0) == Approx(1));
            const double own = pattern[61 * t];
            CHECK((own < 1e-100 || own == 1)); // e^-256
            alone += own == 1 ? 1 : 0;
        }
        CHECK(alone > 0);
        CHECK(alone < 30);
    }
}

TEST_CASE("Reformer costs less than full causal attention from 2,048 tokens on", "[attention]") {
    const std::string reformer = "heads=shared_query_key(1), normaliser=reformer, mask=causal";
    for (const int64_t tokens : {2048, 4096, 16384}) {
        INFO(tokens << " tokens");
        const AttentionCost found = costOf(reformer, tokens), full = costOf("mask=causal", tokens);
        CHECK(found.operations < full.operations / 2);
        CHECK(found.bytes < full.bytes);
        CHECK(found.pairs < full.pairs / 4);
    }
    // Neither grows with the square of the tokens.
    const double growth = costOf(reformer, 16384).operations / costOf(reformer, 4096).operations;
    CHECK(growth < 6);
    CHECK(costOf(reformer, 16384).bytes / costOf(reformer, 4096).bytes < 5);
}

TEST_CASE("cost counts the comparisons of sorting", "[attention]") {
    const auto graph = std::make_shared<Graph>();
    const Tensor order = sortOrder(graph->input("x", {.shape = {3, 500}}));
    const auto plan = compile(graph, {{"order", order}});
    // 128 with all of its block, then one place among 128 and one among 256.
    CHECK(operationsOf(*plan, plan->ops.front()) == 3 * 500 * (128 + 7 + 8));
}

TEST_CASE("Routing equals an implementation of the paper's algorithm, and so do the centroids after a step",
          "[attention][gpu]") {
    const Golden golden("routing");
    test::TestDevice device;
    for (const std::string mask : {"causal", "full"}) {
        INFO(mask);
        AttentionCase test = goldenCase(
            golden, "one", fmt::format("heads=multi_head(3), normaliser=routing(4, 5, 0.75), mask={}", mask));
        REQUIRE(test.values.contains("attn.normaliser.centroids"));
        test.values["attn.normaliser.centroids"] = golden.read("centroids");
        const Results host = test.onHost(), found = onDevice(device, test, test.outputs);
        std::vector<double> after = golden.read("after0");
        for (const double value : golden.read("after1")) after.push_back(value);
        for (const auto& [name, expected] :
             {std::pair{std::string("z"), golden.read("one." + mask)}, {"average.attn.normaliser.centroids", after}}) {
            INFO(name);
            requireNear(host.at(name), expected, 1e-6);
            requireNear(found.at(name), expected, 1e-4);
        }
    }
}

TEST_CASE("Routing leaves no row empty, and costs less than full attention", "[attention]") {
    for (const char* mask : {"causal", "full"}) {
        INFO(mask);
        const auto pattern = caseOf(fmt::format("heads=multi_head(2), normaliser=routing(6, 4), mask={}", mask), 50)
                                 .onHost()
                                 .at("pattern");
        int alone = 0;
        for (size_t row = 0; row < 100; ++row) {
            const auto begin = pattern.begin() + static_cast<std::ptrdiff_t>(50 * row);
            CHECK(std::accumulate(begin, begin + 50, 0.0) == Approx(1));
            alone += row > 50 && begin[static_cast<std::ptrdiff_t>(row - 50)] == 1 ? 1 : 0;
        }
        CHECK(alone > 0);
        CHECK(alone < 45);
    }
    const std::string routing = "heads=multi_head(2), normaliser=routing(32), mask=causal";
    for (const int64_t tokens : {2048, 4096})
        CHECK(costOf(routing, tokens).operations < costOf("heads=multi_head(2), mask=causal", tokens).operations / 2);
}

TEST_CASE("a routed head takes less time and memory than full attention from 2,048 tokens on", "[attention]") {
    for (const std::string mask : {"causal", "full"})
        for (const int64_t tokens : {2048, 4096, 16384}) {
            INFO(mask << ", " << tokens << " tokens");
            const AttentionCost found = costOf("normaliser=routing(32), mask=" + mask, tokens),
                                full = costOf("mask=" + mask, tokens);
            CHECK(found.operations < full.operations / 8);
            CHECK(found.bytes < full.bytes);
        }
    // Local and routed heads are computed side by side in one output, and their inputs are not copied.
    for (const std::string mask : {"causal", "full"})
        for (const int64_t tokens : {2048, 8192}) {
            INFO(mask << ", " << tokens << " tokens");
            const std::string heads = "heads=multi_head(8), ";
            CHECK(costOf(heads + "normaliser=routing, mask=" + mask, tokens).bytes <
                  costOf(heads + "mask=" + mask, tokens).bytes);
        }
}

TEST_CASE("Routing has no exact cache: under a causal mask too, a new token changes what earlier ones see",
          "[attention]") {
    const std::string spec = "heads=multi_head(1), normaliser=routing(4), mask=causal";
    AttentionCase longer = caseOf(spec, 44), shorter = caseOf(spec, 43); // 11 members of each cluster in both
    for (const char* name : {"q", "k", "v", "attn.normaliser.centroids"}) {
        std::vector<double>& values = shorter.values.at(name);
        std::copy_n(longer.values.at(name).begin(), values.size(), values.begin());
    }
    const auto before = shorter.onHost().at("z"), after = longer.onHost().at("z");
    int changed = 0;
    for (size_t row = 0; row < 43; ++row) {
        double most = 0;
        for (size_t d = row * 8; d < row * 8 + 8; ++d) most = std::max(most, std::abs(after[d] - before[d]));
        changed += most > 1e-3 ? 1 : 0;
    }
    CHECK(changed > 0);
    CHECK(changed < 43); // the rows of members before the one that was pushed out stay
}

TEST_CASE("memory-compressed attention equals torch's strided convolution", "[attention][gpu]") {
    const Golden golden("memory_compressed");
    test::TestDevice device;
    for (const std::string mask : {"causal", "full"}) {
        INFO(mask);
        AttentionCase test =
            goldenCase(golden, "one", fmt::format("heads=multi_head(2), normaliser=memory_compressed, mask={}", mask));
        for (const char* letter : {"K", "V"}) {
            const std::string name = std::string("attn.normaliser.") + letter;
            REQUIRE(test.values.contains(name));
            test.values[name] = golden.read(letter);
        }
        requireNear(test.onHost().at("z"), golden.read("one." + mask), 1e-6);
        requireNear(onDevice(device, test, test.outputs).at("z"), golden.read("one." + mask), 1e-4);
    }
}
