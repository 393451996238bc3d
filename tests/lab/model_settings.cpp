#include "app/lab/models/candidate_model.h"
#include "tests/lab/lab_window.h"
#include "tests/models/model_folder.h"

#include <QLabel>
#include <QTreeWidget>

// What the window says of a model's files: the settings that are asked for and in force, and how the model writes.

using namespace attn;
using namespace attn::test;

namespace {

QString inForce(LabWindow& lab, const QString& setting) {
    auto& table = lab.find<QTreeWidget>("modelSettings");
    for (int row = 0; row < table.topLevelItemCount(); ++row)
        if (table.topLevelItem(row)->text(0) == setting)
            return table.topLevelItem(row)->text(1) + " -> " + table.topLevelItem(row)->text(2);
    return "(no such row)";
}

void writeIds(LabWindow& lab, const char* ids) {
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    prompt.setFocus();
    QTest::keyClick(&prompt, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(&prompt, ids);
    lab.settle();
}

/// Opens the model with rules, on three tokens.
void open(LabWindow& lab, const ModelFolder& folder, const std::string& rules) {
    writeFile(folder / "generation_config.json", rules);
    lab.window().files().open(QString::fromStdString(folder.path().string()));
    REQUIRE(lab.settle());
    lab.window().bridge().post(SetPromptCommand{{.tokens = {1, 5, 9}}});
    REQUIRE(lab.settle());
}

} // namespace

TEST_CASE("model panel: what is asked for stands beside what is in force, and what is left out", "[lab]") {
    ModelFolder folder("gpt_neo");
    folder.edit("config.json", [](nlohmann::json& config) { config["logit_scale"] = 0.5; });
    LabWindow lab(QString::fromStdString(folder.path().string()));
    lab.showPanel("model");
    CHECK(inForce(lab, "Windows")
              .endsWith("window_size 4 -> layers 0, 2: all earlier tokens; layer 1: the last 4 tokens"));
    CHECK(inForce(lab, "Positions") == " -> a learned table");
    CHECK(inForce(lab, "Fields left out") == "logit_scale 0.5 -> not used");
    CHECK(inForce(lab, "Tensors left out") == " -> none");
    CHECK(inForce(lab, "Files left out") == " -> none");
    const ModelFolder pictures("swin");
    LabWindow other(QString::fromStdString(pictures.path().string()));
    CHECK(inForce(other, "Windows") == "window_size 4 -> layers 0, 2: windows of 4 x 4 tokens; layers 1, 3: windows of "
                                       "4 x 4 tokens, shifted by 2");
}

TEST_CASE("warnings about a model: a mark counts them in every workspace, and leads to them", "[lab]") {
    const ModelFolder folder("gpt2");
    writeFile(folder / "adapter_config.json", "{}");
    const QString path = QString::fromStdString(folder.path().string());
    LabWindow lab(path);
    auto& mark = lab.find<QToolButton>("modelWarnings");
    REQUIRE(lab.snapshot().model->warnings.size() == 1);
    for (const char* workspace : {"write", "inspect", "compare", "train"}) {
        lab.act((std::string("workspace.") + workspace).c_str());
        CHECK(mark.isVisible());
        CHECK(mark.text() == "⚠ 1 warning");
    }
    CHECK(mark.toolTip().contains("runs without its adapter"));
    mark.click();
    CHECK(lab.waitFor([&] { return lab.find<QDockWidget>("dock.model").isVisible(); }));

    lab.window().files().open("builtin:induction");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "induction"; }));
    CHECK(lab.waitFor([&] { return !mark.isVisible(); }));

    // Those of the model that it is compared with.
    lab.window().workbench().requestComparison(path);
    REQUIRE(lab.waitFor([&] { return mark.isVisible(); }));
    CHECK(mark.toolTip().contains("runs without its adapter"));
    mark.click();
    CHECK(lab.waitFor([&] { return lab.find<QDockWidget>("dock.compare").isVisible(); }));
    lab.find<QComboBox>("compareWith").setCurrentIndex(0);
    REQUIRE(lab.settle());
    CHECK_FALSE(mark.isVisible());
}

TEST_CASE("model panel: a tokenizer that cannot be read leaves a model of ids, with the reason", "[lab]") {
    const ModelFolder folder("gpt2");
    writeFile(folder / "tokenizer.json", R"({"model": {"type": "Chars"}})");
    LabWindow lab(QString::fromStdString(folder.path().string()));
    writeIds(lab, "1, 5, 9");
    CHECK(lab.snapshot().sequence->tokens.size() == 3);
    CHECK_THAT(lab.snapshot().sequence->notice, CONTAINS("This model's tokenizer cannot be read: "));
    lab.act("run");
    CHECK(lab.snapshot().sequence->tokens.size() > 3);
}

TEST_CASE("generate: a model's folder chooses how the window writes, and bars tokens", "[lab]") {
    const ModelFolder folder("gpt2");
    const QString path = QString::fromStdString(folder.path().string());
    const auto firstWritten = [](LabWindow& lab) {
        writeIds(lab, "1, 5, 9");
        lab.act("step");
        const auto& tokens = lab.snapshot().sequence->tokens;
        REQUIRE(tokens.size() == 4);
        return tokens.back().id;
    };
    LabWindow free(path);
    const int first = firstWritten(free);
    writeFile(folder / "generation_config.json", R"({"do_sample": true, "temperature": 0.5, "top_k": 1, "num_beams": 2,
              "suppress_tokens": [)" + std::to_string(first) +
                                                     "]}");
    LabWindow ruled(path);
    CHECK(firstWritten(ruled) != first);
    CHECK_FALSE(ruled.window().workbench().sampling().greedy);
    CHECK(ruled.window().workbench().sampling().temperature == Approx(0.5f));
    CHECK(ruled.window().workbench().sampling().topK == 1);
    CHECK(std::ranges::any_of(ruled.snapshot().model->warnings, [](const std::string& warning) {
        return warning.find("does not draw tokens in a beam search") != std::string::npos;
    }));
}

TEST_CASE("writing: barred tokens stay in the list, with their reason and their probability", "[lab]") {
    const ModelFolder folder("gpt2");
    LabWindow lab;
    open(lab, folder, "{}");
    lab.showPanel("next");
    const auto& rows = *lab.find<QTreeView>("candidates").model();
    const QModelIndex best = rows.index(0, CandidateModel::ProbabilityColumn);
    const int token = best.data(CandidateModel::TokenRole).toInt();
    const QString percent = best.data(Qt::DisplayRole).toString();
    open(lab, folder, "{\"suppress_tokens\": [" + std::to_string(token) + "]}");
    CHECK(best.data(CandidateModel::TokenRole).toInt() == token);
    CHECK(best.data(Qt::DisplayRole).toString() == percent + ", barred");
    CHECK(best.data(CandidateModel::ProbabilityRole).toDouble() == 0); // no bar
    CHECK(best.data(Qt::ToolTipRole).toString().contains("suppress_tokens of generation_config.json bars it"));
    CHECK(best.data(Qt::ForegroundRole).isValid());
    CHECK(rows.index(1, CandidateModel::ProbabilityColumn).data(CandidateModel::ProbabilityRole).toDouble() > 0);
    CHECK(rows.rowCount() == CandidateModel::kLimit);
}

TEST_CASE("writing: the number of tokens starts as the folder says, unless a person has chosen another", "[lab]") {
    const ModelFolder folder("gpt2");
    LabWindow lab;
    auto& amount = lab.find<QSpinBox>("amount");
    const auto& notice = lab.find<QLabel>("textNotice");
    CHECK(amount.value() == 100);
    open(lab, folder, R"({"max_new_tokens": 7})");
    CHECK(amount.value() == 7);
    CHECK(notice.text().contains("at most 7 new tokens"));
    lab.clickAndSettle("run");
    CHECK(lab.find<QLabel>("textEnd").text() ==
          "generation_config.json lets the model write no more than 7 tokens (max_new_tokens).");
    open(lab, folder, R"({"max_length": 8})");
    CHECK(amount.value() == 5); // the prompt has three
    open(lab, folder, "{}");
    CHECK(amount.value() == 100);
    amount.setValue(6);
    open(lab, folder, R"({"max_new_tokens": 7})");
    CHECK(amount.value() == 6);
    CHECK(notice.text().contains("These controls differ: number of tokens."));
}

TEST_CASE("writing: the controls that differ from the folder are named, and a button puts them back", "[lab]") {
    const ModelFolder folder("gpt2");
    LabWindow lab;
    auto& bench = lab.window().workbench();
    const auto& notice = lab.find<QLabel>("textNotice");
    auto& button = lab.find<QPushButton>("useModelSettings");
    open(lab, folder, R"({"do_sample": true, "temperature": 0.5, "top_k": 9, "max_new_tokens": 7})");
    CHECK(notice.text() == "generation_config.json chooses how to write: temperature 0.5, top-k 9, at most 7 new "
                           "tokens. Change it below Next token.");
    CHECK_FALSE(button.isVisible());
    Sampling other = bench.sampling();
    other.temperature = 2;
    other.seed = 4;
    bench.setSampling(other);
    lab.find<QSpinBox>("amount").setValue(9);
    CHECK(notice.text().contains("These controls differ: Temperature, number of tokens."));
    REQUIRE(button.isVisible());
    button.click();
    CHECK(bench.sampling().temperature == 0.5f);
    CHECK(bench.sampling().seed == 4);
    CHECK(lab.find<QSpinBox>("amount").value() == 7);
    CHECK_FALSE(button.isVisible());
    CHECK(notice.text().startsWith("generation_config.json chooses how to write"));
}
