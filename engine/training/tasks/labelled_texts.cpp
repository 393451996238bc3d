#include "engine/data/text_parts.h"
#include "engine/data/word_pieces.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/hidden_tokens.h"
#include "engine/training/tasks/readout_task.h"

#include <array>

// Texts with several labels, or with numbers.

namespace attn {
namespace {

constexpr std::array kParams{Param{"context", "Context", "Most tokens of a text or of a pair; longer ones are cut",
                                   Param::Kind::Integer, 4, 512, 1, 64},
                             kVocabularyParam};

class LabelledTexts : public ListedReadoutTask {
public:
    LabelledTexts(const Task& task, const TaskValues& values, const TaskSettings& settings)
        : ListedReadoutTask(read(task, values, settings), values.integer("context"), 0, settings.seed) {}

private:
    static Rows read(const Task& task, const TaskValues& values, const TaskSettings& settings) {
        if (settings.data.text.empty())
            failParameter(task.id, "text", "the task needs a table of texts to learn from",
                          "choose a table with the columns labels and text");
        const LabelledTable table =
            readLabelledTable(settings.data.text, settings.data.modelLabels, labelKindOf(task.activation), false);
        std::string train;
        for (const LabelledRow& each : table.rows)
            if (!isForValidation(each.text)) train += each.text + '\n' + each.second + '\n';
        Rows rows{.tokenizerJson = wordPieceTokenizer(settings.data, train, values.integer("vocabulary")),
                  .labels = table.labels};
        const Tokenizer tokenizer = Tokenizer::fromJson(rows.tokenizerJson);
        const auto context = static_cast<size_t>(values.integer("context"));
        for (const LabelledRow& each : table.rows) {
            settings.data.stopPoint();
            const std::string_view text = beginningOf(each.text, context);
            Encoding encoding = each.second.empty() ? tokenizer.encode(text)
                                                    : tokenizer.encodePair(text, beginningOf(each.second, context));
            shorten(encoding, tokenizer, context);
            (isForValidation(each.text) ? rows.validation : rows.train)
                .push_back({.tokens = std::move(encoding.ids),
                            .types = std::move(encoding.types),
                            .numbers = {each.targets.begin(), each.targets.end()}});
        }
        requireBoth(task.id, rows.train.size(), rows.validation.size());
        return rows;
    }
};

template <const Task& task> std::unique_ptr<TaskInstance> make(const TaskValues& values, const TaskSettings& settings) {
    return std::make_unique<LabelledTexts>(task, values, settings);
}

} // namespace

constinit const Task kTextLabelsTask{
    .id = "text-labels",
    .title = "Labels of texts",
    .summary = "Learns any number of labels of a text or of a pair, such as its topics, from your own table: CSV, JSON "
               "(an object a line) or fields with tabs, with the columns text (and second) and labels, several of them "
               "separated by | ; or a comma, as in a;b; or with a column of 1 and 0 for each label",
    .hint = "Watch: late layers look at the words that decide a label; each label may have heads of its own.",
    .citation = "Devlin et al. 2019, arXiv:1810.04805, section 4.1; Nam et al. 2014, arXiv:1312.5419, section 3 (loss)",
    .params = kParams,
    .metric = Task::Metric::ExactMatch,
    .metricName = "exact match",
    .successLevel = 0.8,
    .readsText = true,
    .readout = TextReadout::TextClass,
    .activation = ClassActivation::Sigmoid,
    .make = make<kTextLabelsTask>,
};

constinit const Task kTextNumbersTask{
    .id = "text-numbers",
    .title = "Numbers of texts",
    .summary = "Learns a number of a text or of a pair, such as a mark or a similarity, from your own table: CSV, JSON "
               "(an object a line) or fields with tabs, with the columns text (and second) and score, or with a column "
               "for each number; numbers have a decimal point, as in 1.5",
    .hint = "Watch: late layers look at the words that make the number larger or smaller.",
    .citation = "Devlin et al. 2019, arXiv:1810.04805, section 4.1 (STS-B)",
    .params = kParams,
    .metric = Task::Metric::Loss,
    .metricName = "mean squared error",
    .successLevel = 0.1,
    .readsText = true,
    .readout = TextReadout::TextClass,
    .activation = ClassActivation::None,
    .make = make<kTextNumbersTask>,
};

} // namespace attn
