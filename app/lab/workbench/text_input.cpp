#include "app/figures/token_label.h"
#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/second_run.h"
#include "app/lab/workbench/workbench.h"

#include <QCoreApplication>

#include <algorithm>
#include <iterator>
#include <utility>

// A text: rows are tokens.

namespace attn {
namespace {

constexpr InputWords kTextWords{
    .noun = QT_TRANSLATE_NOOP("attn::Input", "text"),
    .noInput = QT_TRANSLATE_NOOP("attn::Input", "Type a prompt in the Generate panel."),
    .paint =
        QT_TRANSLATE_NOOP("attn::Input", "Change the pattern: paint cells, pin it to a token, or make it uniform."),
    .headTiles = QT_TRANSLATE_NOOP("attn::Input", "Its stripes show where %1 looks."),
    .headTilesHelp = QT_TRANSLATE_NOOP(
        "attn::Input", "L0 H1 is head 1 of layer 0; both count from 0. A stripe stands for each token, the first at "
                       "the left. The stronger its colour, the more %1 looks there. The bar below is the "
                       "gate: how much of the head the model uses."),
    .kindsMeasured = QT_TRANSLATE_NOOP("attn::Input", "Measured on repeated random tokens and a short text of the "
                                                      "program's own, not on the prompt."),
    .noOtherInput = QT_TRANSLATE_NOOP("attn::Input", "Type the other text and press Compare."),
    .otherAnswer = QT_TRANSLATE_NOOP("attn::Input", "Answer"),
    .shares = ""};

/// The first attention from a target to its source: the one that changes while the target is written.
int crossSite(const ModelInfo& model) {
    const auto& sites = model.structure.sites;
    const auto found = std::ranges::find_if(sites, [](const Site& site) { return site.queryStream != site.keyStream; });
    return found == sites.end() ? 0 : static_cast<int>(found - sites.begin());
}

/// The text of a run for another model, which may split it into other tokens, and may not read all that belongs to it.
/// @param other null: not known yet
GivenText textFor(const Snapshot& run, const ModelInfo* other) {
    GivenText text = run.textSoFar();
    const ModelInfo& model = *run.model;
    const bool hasSameTokens =
        other && other->tokenTexts == model.tokenTexts && other->readsSource == model.readsSource;
    if (model.hasTokenizer && !hasSameTokens) {
        if (!model.readsSource && text.second.empty())
            text.text = run.sequence->text; // also what the model has written
        text.tokens.clear();
        text.target.clear();
    }
    if (!other || !other->readsPairs) text.second.clear();
    if (!other || !other->readsTrees) text.parents.clear();
    return text;
}

class TextKind final : public InputKind {
public:
    TextKind() : InputKind(AxisKind::Tokens, "", kTextWords) {}

    int rowCount(const Snapshot& snapshot) const override {
        return snapshot.sequence ? static_cast<int>(snapshot.sequence->tokens.size()) : 0;
    }
    std::vector<QString> rowNames(const Snapshot& snapshot) const override {
        std::vector<QString> names = tokenLabels(snapshot.sequence.get());
        for (size_t row = 0; row < names.size(); ++row) names[row] = QStringLiteral("%1 “%2”").arg(row).arg(names[row]);
        return names;
    }
    int rowsAtSite(const Snapshot& snapshot, int site) const override {
        return static_cast<int>(snapshot.queries(site).size());
    }
    QString titleOf(int row, const QString& name) const override {
        return QCoreApplication::translate("attn::Input", "token %1 “%2”").arg(row).arg(name);
    }

    std::optional<int> firstSite(const ModelInfo& model, bool isSameFolder) const override {
        return model.readsSource && !isSameFolder ? std::optional(crossSite(model)) : std::nullopt;
    }
    void showHead(Workbench& bench, int site, int head) const override { bench.selectHead(site, head); }

    LensSubject subject(const Snapshot& snapshot, bool) const override {
        std::vector<QString> names = tokenLabels(snapshot.sequence->source);
        const size_t sourceRows = names.size();
        std::ranges::move(tokenLabels(snapshot.sequence.get()), std::back_inserter(names));
        return {
            .model = *snapshot.model, .axis = inputAxis(*snapshot.model, std::move(names)), .sourceRows = sourceRows};
    }
    bool keepsResults() const override { return true; }
    bool namesHeadsByInput() const override { return false; }
    QString otherText(const Workbench&, const QString& typed) const override { return typed; }

    std::optional<SecondInput> secondInput(const Workbench& bench, const SecondRun& second) const override {
        const Snapshot& first = *bench.snapshot();
        const bool isReady = bench.tokenCount() > 0 && first.status.activity == Activity::Idle;
        if (!isReady || (second.with() == SecondRun::OtherInput && second.text().isEmpty())) return {};
        SecondInput input;
        input.given.text = second.with() == SecondRun::OtherInput   ? GivenText{.text = second.text().toStdString()}
                           : second.with() == SecondRun::OtherModel ? textFor(first, second.snapshot()->model.get())
                                                                    : first.textSoFar();
        return input;
    }
    bool hasOther(const Workbench&, const SecondRun& second) const override { return !second.text().isEmpty(); }

    const char* task(const ModelInfo& model) const override { return model.readsSource ? "translation" : "text"; }
};

} // namespace

const InputKind& textInput() {
    static const TextKind kind;
    return kind;
}

} // namespace attn
