#include "engine/analysis/head_circuits.h"
#include "engine/analysis/weighted_attention.h"
#include "engine/attention/catalogue.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/attention/parts.h"
#include "engine/core/error.h"
#include "tests/analysis/small_model.h"
#include "tests/support/catch.h"

// Circuits are products of weights. Each is what a run of the model computes, or is refused.

using namespace attn;
using namespace attn::test;

namespace {

constexpr int kVocabulary = 12, kHead = 1;

/// The embedding of a token as a layer norm leaves it, without weights: the norm divides by this.
double deviation(const std::vector<float>& table, int token, size_t width, double epsilon) {
    double mean = 0, squares = 0;
    const auto begin = table.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(token) * width);
    for (size_t c = 0; c < width; ++c) mean += static_cast<double>(begin[static_cast<std::ptrdiff_t>(c)]);
    mean /= static_cast<double>(width);
    for (size_t c = 0; c < width; ++c) {
        const double value = static_cast<double>(begin[static_cast<std::ptrdiff_t>(c)]) - mean;
        squares += value * value;
    }
    return std::sqrt(squares / static_cast<double>(width) + epsilon);
}

/// The value of a circuit for a token and another one.
double valueOf(const HeadCircuits::Pairs& pairs, size_t row, int id) {
    for (size_t choice = 0; choice < pairs.choices; ++choice)
        if (pairs.ids[row * pairs.choices + choice] == id)
            return static_cast<double>(pairs.values[row * pairs.choices + choice]);
    throw std::runtime_error("there is no such pair");
}

std::vector<float> captured(LanguageModel& model, const std::vector<int>& tokens, const std::string& hook) {
    TextInput input;
    input.tokens = tokens;
    return model.capture(input, hook).front().values;
}

/// Compares the circuits with what runs of one and of two tokens compute.
/// @param comparesReads whether scores are products alone, without positions
void compare(LanguageModel& model, const HeadCircuits& found, bool comparesReads) {
    const auto C = static_cast<size_t>(model.info().modelWidth);
    const std::vector<float> table = model.store().read("embed.W_E"), last = model.store().read("ln_final.w");
    const double epsilon = model.config().normEpsilon;
    const int heads = model.info().heads;
    for (int head = 0; head < heads; ++head) model.setGate(0, head, head == kHead ? 1 : 0);
    for (size_t row = 0; row < found.tokens.size(); ++row) {
        const int token = found.tokens[row];
        const double own = deviation(table, token, C, epsilon);
        // a token alone attends to itself, so the head adds its value
        const std::vector<float> out = captured(model, {token}, "blocks.0.hook_attn_out");
        for (int said = 0; said < kVocabulary; ++said) {
            double logit = 0, mean = 0;
            for (size_t c = 0; c < C; ++c) mean += static_cast<double>(out[c]) / static_cast<double>(C);
            for (size_t c = 0; c < C; ++c) // the final norm takes away the mean, and its division is left out
                logit += static_cast<double>(table[static_cast<size_t>(said) * C + c]) * static_cast<double>(last[c]) *
                         (static_cast<double>(out[c]) - mean);
            CHECK(valueOf(found.writes, row, said) == Approx(logit * own).margin(1e-3));
        }
        if (!comparesReads) continue;
        for (int key = 0; key < kVocabulary; ++key) {
            const std::vector<float> scores = captured(model, {key, token}, "blocks.0.attn.hook_attn_scores");
            const double score = static_cast<double>(scores[static_cast<size_t>(kHead * 4 + 2)]); // [H,T,S]
            CHECK(valueOf(found.reads, row, key) ==
                  Approx(score * own * deviation(table, key, C, epsilon)).margin(1e-3));
        }
    }
}

} // namespace

TEST_CASE("circuits: with every part they are what a run computes, or are refused", "[analysis][gpu]") {
    int described = 0, refused = 0;
    for (const Part* part : partCatalogue()) {
        if (part->slot == Slot::Mask || part->slot == Slot::FeedForward) continue;
        INFO(nameOf(part->slot) << " " << part->id);
        std::unique_ptr<LanguageModel> model;
        try {
            AttentionSpec spec = AttentionSpec::parse("heads=multi_head(2), mask=causal");
            spec.set(part->slot, part->id);
            if (part->slot == Slot::Heads) spec.put(part->slot, part->id, initialValues(*part));
            model = modelOf(smallDecoder(spec));
            (void)captured(*model, {3}, "blocks.0.hook_attn_out");
        } catch (const Error&) {
            continue; // not in a decoder
        }
        HeadCircuitsAnalysis analysis;
        analysis.head = model->info().heads > kHead ? kHead : 0;
        analysis.choices = kVocabulary;
        analysis.tokens = {3, 5};
        std::shared_ptr<HeadCircuits> found;
        try {
            found = std::static_pointer_cast<HeadCircuits>(analysis.run(*model, {.input = std::vector<int>{3, 5}}));
        } catch (const Error& error) {
            CHECK_THAT(error.message(), CONTAINS("circuits need") && CONTAINS(std::string(part->title)));
            CHECK_THROWS_AS(CompositionScoresAnalysis().run(*model, {.input = std::vector<int>{3, 5}}), Error);
            ++refused;
            continue;
        }
        ++described;
        if (analysis.head != kHead) continue;
        const bool isPlace = part->slot == Slot::Position;
        if (isPlace && part != &kNoPosition) continue; // positions are left out
        compare(*model, *found, true);
    }
    CHECK(described >= 15);
    CHECK(refused >= 15);
}

TEST_CASE("weighted attention: outputs that no slice of W_O gives are refused", "[analysis][gpu]") {
    const auto run = [](const char* parts) {
        const auto model =
            modelOf(smallDecoder(AttentionSpec::parse(std::string("heads=multi_head(2), mask=causal, ") + parts)));
        return WeightedAttentionAnalysis().run(*model, {.input = std::vector<int>{3, 5}});
    };
    CHECK_NOTHROW(run("output=plain"));
    CHECK_THROWS_WITH(run("output=talking"), CONTAINS("before W_O"));
    CHECK_THROWS_WITH(run("output=gated"), CONTAINS("before W_O"));
    CHECK_THROWS_WITH(run("position=shaw"), CONTAINS("depends on the query"));
}
