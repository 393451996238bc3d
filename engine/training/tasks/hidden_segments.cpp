#include "engine/data/draws.h"
#include "engine/data/word_pieces.h"
#include "engine/training/recipe.h"
#include "engine/training/segment_problem.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/hidden_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace attn {
namespace {

constexpr std::string_view kId = "cpc";

constexpr std::array kParams{
    Param{"segments", "Segments", "Segments of a row, each with a global token", Param::Kind::Integer, 2, 64, 1, 4},
    Param{"length", "Length of a segment", "Number of tokens in a segment", Param::Kind::Integer, 2, 128, 1, 15},
    Param{"hidden_segments", "Hidden segments", "Segments of a row whose words are all hidden", Param::Kind::Integer, 1,
          63, 1, 1},
    Param{"hidden", "Hidden share", "Share of the other tokens that the model must fill in", Param::Kind::Real, 0.01,
          0.9, 0.01, 0.15},
    kVocabularyParam};

Segments segmentsIn(const TaskValues& values) {
    return {.count = values.integer("segments"), .length = values.integer("length")};
}

/// Rows are windows of the text behind a global token for each of its segments, with BERT's separator at the end. The
/// words of some segments are all hidden; of the other segments, some words are hidden and targets. Training draws
/// new windows and hidden segments each time; validation reads the last tenth of the text in consecutive windows, and
/// hides always the same. Test is the same as validation.
class HiddenSegments : public TaskInstance {
public:
    HiddenSegments(TextCorpus corpus, const TaskValues& values, uint64_t seed)
        : TaskInstance(std::move(corpus.tokenizerJson), static_cast<int>(segmentsIn(values).end())),
          segments_(segmentsIn(values)), train_(std::move(corpus.train)), validation_(std::move(corpus.validation)),
          hiddenCount_(values.integer("hidden_segments")), share_(values.real("hidden")), seed_(seed),
          global_(*tokenizer().beginId()), separator_(*tokenizer().endId()), mask_(*tokenizer().maskId()) {
        if (hiddenCount_ >= segments_.count)
            failParameter(kId, "hidden_segments",
                          fmt::format("{} of {} segments leave nothing to read", hiddenCount_, segments_.count),
                          fmt::format("choose at most {}", segments_.count - 1));
        if (train_.size() >= window() && validation_.size() >= window()) return;
        failParameter(kId, "segments",
                      fmt::format("{} segments of {} tokens are too long for a text with {} tokens for training and {} "
                                  "for validation",
                                  segments_.count, segments_.length, train_.size(), validation_.size()),
                      "choose fewer or shorter segments, or a longer text");
    }

    Batch batch(Split split, uint64_t index, int rows) const override {
        requireRows(rows);
        Batch batch;
        for (int at = 0; at < rows; ++at) {
            Row row = rowAt(split, index * static_cast<uint64_t>(rows) + static_cast<uint64_t>(at));
            Batch one{.rows = 1};
            one[Batch::kInputs] = std::move(row.inputs);
            one[Batch::kTargets] = std::move(row.targets);
            one[Batch::kWhole] = std::move(row.whole);
            one[Batch::kHidden] = std::move(row.hidden);
            batch.append(one);
        }
        return batch;
    }

    /// A row and the words of its hidden segments.
    Example example(Split split, uint64_t index) const override {
        Row row = rowAt(split, split == Split::Train ? index : index % windowCount());
        Example example{.prompt = std::move(row.inputs)};
        for (int64_t segment = 0; segment < segments_.count; ++segment)
            if (row.hidden[static_cast<size_t>(segment)] != 0)
                example.answer.insert(example.answer.end(), row.whole.begin() + segments_.begin(segment),
                                      row.whole.begin() + segments_.begin(segment + 1));
        return example;
    }

    std::optional<uint64_t> rowCount(Split split) const override {
        return split == Split::Train ? std::nullopt : std::optional(windowCount());
    }

private:
    struct Row {
        std::vector<int32_t> inputs, targets, whole, hidden;
    };

    size_t window() const { return static_cast<size_t>(segments_.count * segments_.length) - 1; }
    uint64_t windowCount() const { return validation_.size() / window(); }

    Row rowAt(Split split, uint64_t index) const {
        const bool isTrain = split == Split::Train;
        const auto context = static_cast<size_t>(contextLength()), count = static_cast<size_t>(segments_.count);
        Row row{.inputs = {},
                .targets = std::vector<int32_t>(context, Batch::kIgnored),
                .whole = std::vector<int32_t>(context, global_),
                .hidden = std::vector<int32_t>(count, 0)};
        Draws draws(isTrain ? seed_ : 0, index, isTrain ? 0 : 1);
        if (isTrain || index < windowCount()) { // beyond the end: no targets
            const std::vector<int32_t>& tokens = isTrain ? train_ : validation_;
            const size_t begin = isTrain
                                     ? static_cast<size_t>(draws.below(static_cast<int>(tokens.size() - window() + 1)))
                                     : index * window();
            std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(begin), window(),
                        row.whole.begin() + segments_.begin(0));
            row.whole.back() = separator_;
            hide(row, draws);
        }
        if (row.inputs.empty()) row.inputs = row.whole;
        return row;
    }

    void hide(Row& row, Draws& draws) const {
        row.inputs = row.whole;
        std::vector<size_t> order(row.hidden.size());
        std::iota(order.begin(), order.end(), size_t{0});
        draws.shuffle(std::span(order));
        for (const size_t segment : std::span(order).first(static_cast<size_t>(hiddenCount_))) row.hidden[segment] = 1;
        // Words of the other segments, with all their pieces.
        std::vector<std::vector<size_t>> words;
        size_t readable = 0;
        for (auto place = static_cast<size_t>(segments_.begin(0)); place + 1 < row.whole.size(); ++place) {
            const auto segment = static_cast<size_t>(segments_.of(static_cast<int64_t>(place)));
            if (row.hidden[segment] != 0) {
                row.inputs[place] = mask_;
                continue;
            }
            ++readable;
            const bool continues = !words.empty() && words.back().back() + 1 == place &&
                                   tokenizer().token(row.whole[place]).value_or("").starts_with("##");
            if (!continues) words.emplace_back();
            words.back().push_back(place);
        }
        draws.shuffle(std::span(words));
        size_t left = std::max<size_t>(1, static_cast<size_t>(share_ * static_cast<double>(readable) + 0.5));
        for (const std::vector<size_t>& word : words) {
            if (left == 0) break;
            if (word.size() > left) continue; // as BERT: it would hide too much
            for (const size_t place : word) {
                row.targets[place] = row.whole[place];
                row.inputs[place] = hiddenToken(row.whole[place], mask_, vocabularySize(), draws);
            }
            left -= std::min(left, word.size());
        }
    }

    Segments segments_;
    std::vector<int32_t> train_, validation_;
    int hiddenCount_;
    double share_;
    uint64_t seed_;
    int32_t global_, separator_, mask_;
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<HiddenSegments>(readWordPieces(kId, settings.data, values.integer("vocabulary")), values,
                                            settings.seed);
}

} // namespace

constinit const Task kHiddenSegmentsTask{
    .id = kId,
    .title = "Hidden segments (CPC)",
    .summary = "Learns to tell which piece of your own text is missing, out of all pieces of the batch, and to fill in "
               "hidden words",
    .hint = "Watch: the first rows are global tokens, one for each segment of the text. Words look at their own and at "
            "other global tokens, and these at one another: so the summary of a hidden segment is guessed.",
    .citation = "Ainslie et al. 2020, arXiv:2004.08483, section 3; van den Oord et al. 2018, arXiv:1807.03748, section "
                "2.3 (the loss)",
    .params = kParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy of hidden segments",
    .successLevel = 0.05,
    .readsText = true,
    .readout = TextReadout::MaskedToken,
    .segments = segmentsIn,
    .make = make,
    .suggest =
        [](Recipe& recipe) { recipe.architecture.attention = segmentedAttention(segmentsOf(kHiddenSegmentsTask, {})); },
};

} // namespace attn
