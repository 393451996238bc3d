#include "app/lab/models/candidate_model.h"

#include "app/lab/panels/next_token_panel.h"
#include "tests/lab_widgets/windows.h"

// What Next token says of a text's classes.

using namespace attn;

namespace {

std::shared_ptr<Snapshot> classesOf(ClassActivation activation) {
    auto snapshot = samples::snapshot(1, 1, 3);
    snapshot->classes = std::make_shared<TextClasses>(
        TextClasses{.activation = activation, .labels = {"calm", "glad", "sad"}, .logits = {-1.5f, 3, 0.25f}});
    return snapshot;
}

std::string shown(const CandidateModel& model, int row, int column, int role = Qt::DisplayRole) {
    return model.data(model.index(row, column), role).toString().toStdString();
}

} // namespace

TEST_CASE("candidates: the labels of a text have probabilities of their own, or are numbers", "[lab]") {
    CandidateModel model;
    const auto help = [&] {
        return model.headerData(CandidateModel::ProbabilityColumn, Qt::Horizontal, Qt::ToolTipRole)
            .toString()
            .toStdString();
    };
    model.rank(*classesOf(ClassActivation::Sigmoid), {});
    REQUIRE(model.rowCount() == 3);
    CHECK(shown(model, 0, CandidateModel::TokenColumn) == "glad");
    CHECK(shown(model, 0, CandidateModel::ProbabilityColumn) == "95.3 %"); // 1 / (1 + e^-3)
    CHECK(shown(model, 1, CandidateModel::ProbabilityColumn) == "56.2 %");
    CHECK(model.data(model.index(2, 0), CandidateModel::ProbabilityRole).toDouble() == Approx(1 / (1 + std::exp(1.5))));
    CHECK_THAT(help(), CONTAINS("need not sum to 100 %"));
    model.rank(*classesOf(ClassActivation::None), {});
    CHECK(shown(model, 0, CandidateModel::ProbabilityColumn) == "3.0000");
    CHECK(model.data(model.index(0, 0), CandidateModel::ProbabilityRole).toDouble() == 0); // no bar
    CHECK_FALSE(model.data(model.index(2, 0), Qt::ForegroundRole).isValid());              // a negative number is shown
    CHECK_THAT(help(), CONTAINS("regression"));
    CHECK(model.headerData(CandidateModel::ProbabilityColumn, Qt::Horizontal, Qt::DisplayRole) == "Answer");
    model.rank(*classesOf(ClassActivation::Softmax), {});
    CHECK(shown(model, 0, CandidateModel::ProbabilityColumn) == "93.0 %");
    CHECK(model.headerData(CandidateModel::ProbabilityColumn, Qt::Horizontal, Qt::DisplayRole) == "Probability");
}

TEST_CASE("candidates: a token that the sampling leaves out names the step that does it", "[lab]") {
    auto snapshot = samples::snapshot(1, 1, 3);
    // Probabilities of 0.5, 0.3, 0.15 and 0.05.
    snapshot->next = std::make_shared<NextToken>(
        NextToken{.logits = {std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)}});
    CandidateModel model;
    const auto probability = [&](int row) { return shown(model, row, CandidateModel::ProbabilityColumn); };
    model.rank(*snapshot, {.greedy = false, .topK = 3, .topP = 0.8f});
    REQUIRE(model.rowCount() == 4);
    CHECK(probability(0) == "62.5 %");
    CHECK(probability(1) == "37.5 %");
    CHECK(probability(2) == "cut by top-p"); // of the three that are left, two have 84 %
    CHECK(probability(3) == "cut by top-k");
    CHECK_THAT(shown(model, 3, CandidateModel::TokenColumn, Qt::ToolTipRole), CONTAINS("left out by top-k"));
    model.rank(*snapshot, {.greedy = false, .minP = 0.25f});
    CHECK(probability(2) == "15.8 %");
    CHECK(probability(3) == "cut by min-p");
    model.rank(*snapshot, {.greedy = true, .topK = 1});
    CHECK(probability(3) == "5.0 %"); // without drawing, nothing is left out
}

TEST_CASE("candidates: a number of a regression stands once, and is no logit", "[lab]") {
    QUndoStack undo;
    QUndoGroup group;
    group.addStack(&undo);
    group.setActiveStack(&undo);
    Workbench bench(group, [](const Command&) {});
    NextTokenPanel panel(bench);
    const auto* list = panel.findChild<QTreeView*>("candidates");
    REQUIRE(list);
    const auto show = [&](ClassActivation activation) {
        const auto snapshot = classesOf(activation);
        bench.setSnapshot(snapshot);
        panel.setSnapshot(snapshot);
    };
    show(ClassActivation::None);
    CHECK(list->isColumnHidden(CandidateModel::LogitColumn));
    CHECK_FALSE(list->isColumnHidden(CandidateModel::ProbabilityColumn));
    CHECK(panel.numbers().csv() == "token,text,answer\n1,\"glad\",3\n2,\"sad\",0.25\n0,\"calm\",-1.5\n");
    CHECK(panel.numbers().arrays().size() == 2);
    show(ClassActivation::Softmax);
    CHECK_FALSE(list->isColumnHidden(CandidateModel::LogitColumn));
    CHECK(panel.numbers().csv().startsWith("token,text,probability,logit\n1,"));
}
