#include "engine/core/quoting.h"
#include "engine/data/labelled_rows.h"
#include "engine/data/text_parts.h"
#include "engine/data/word_pieces.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/hidden_tokens.h"
#include "engine/training/tasks/readout_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace attn {
namespace {

constexpr std::string_view kId = "classify";
constexpr size_t kMostClasses = 1000;

constexpr std::array kParams{
    Param{"context", "Context", "Most tokens of a text; longer ones are cut", Param::Kind::Integer, 4, 512, 1, 64},
    kVocabularyParam};

struct Labelled {
    std::string_view label, text;
};

/// @throws Error naming the line that is not a label, a tab and a text
std::vector<Labelled> readLines(std::string_view text) {
    std::vector<Labelled> examples;
    requireNoNames(kId, text);
    size_t number = 0;
    forEachLine(text, [&](std::string_view line) {
        ++number;
        if (line.empty()) return;
        const size_t tab = line.find('\t');
        if (tab == std::string_view::npos || tab == 0 || tab + 1 == line.size())
            failParameter(kId, "text", fmt::format("line {} is not a label, a tab and a text", number),
                          "write one example a line, such as: positive, a tab, I liked it");
        examples.push_back({line.substr(0, tab), line.substr(tab + 1)});
    });
    // A first line such as "sentiment" and "phrase" names columns, too, unless there are other examples of this class.
    if (!examples.empty() && (namesLabels(examples.front().label) || namesLabels(examples.front().text)) &&
        std::ranges::count(examples, examples.front().label, &Labelled::label) == 1)
        failParameter(kId, "text",
                      fmt::format("the first line, {} and {}, holds the names of columns",
                                  inQuotes(examples.front().label), inQuotes(examples.front().text)),
                      "remove this line");
    return examples;
}

/// A class for each text of a file of the user's.
class Classify : public ListedReadoutTask {
public:
    Classify(const TaskValues& values, const TaskSettings& settings)
        : ListedReadoutTask(read(values, settings), values.integer("context"), 1, settings.seed) {}

private:
    static Rows read(const TaskValues& values, const TaskSettings& settings) {
        if (settings.data.text.empty())
            failParameter(kId, "text", "the task needs labelled texts to learn from",
                          "choose a file with a label, a tab and a text on each line");
        const std::string file = readTaskText(kId, settings.data, {});
        const std::vector<Labelled> examples = readLines(file);
        std::set<std::string_view> classes;
        std::string train;
        for (const Labelled& each : examples) {
            classes.insert(each.label);
            if (!isForValidation(each.text)) train += std::string(each.text) + '\n';
        }
        if (classes.size() < 2 || classes.size() > kMostClasses)
            failParameter(kId, "text", fmt::format("the file has {} different labels", classes.size()),
                          fmt::format("choose a file with 2 to {}", kMostClasses));
        Rows rows{.tokenizerJson = wordPieceTokenizer(settings.data, train, values.integer("vocabulary")),
                  .labels = {classes.begin(), classes.end()}};
        const Tokenizer tokenizer = Tokenizer::fromJson(rows.tokenizerJson);
        for (const Labelled& each : examples) {
            settings.data.stopPoint();
            const auto context = static_cast<size_t>(values.integer("context"));
            Encoding encoding = tokenizer.encode(beginningOf(each.text, context));
            shorten(encoding, tokenizer, context);
            const auto label = std::ranges::lower_bound(rows.labels, each.label) - rows.labels.begin();
            (isForValidation(each.text) ? rows.validation : rows.train)
                .push_back({.tokens = std::move(encoding.ids), .targets = {static_cast<int32_t>(label)}});
        }
        requireBoth(kId, rows.train.size(), rows.validation.size());
        return rows;
    }
};

std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<Classify>(values, settings);
}

} // namespace

constinit const Task kClassifyTask{
    .id = kId,
    .title = "Classes of texts",
    .summary =
        "Learns the class of a text, such as its sentiment, from your own file with a label, a tab and a text on "
        "each line",
    .hint = "Watch: of BERT, the row of [CLS], which the answer is read from; of a decoder, the last row. Late layers "
            "look at the words that decide the class.",
    .citation = "Devlin et al. 2019, arXiv:1810.04805, section 4.1; Radford et al. 2018, section 3.2",
    .params = kParams,
    .metric = Task::Metric::TokenMatch,
    .metricName = "accuracy",
    .successLevel = 0.8,
    .readsText = true,
    .readout = TextReadout::TextClass,
    .make = make,
};

} // namespace attn
