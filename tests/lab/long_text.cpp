#include "app/lab/widgets/generated_text.h"
#include "app/lab/widgets/status_strip.h"
#include "tests/lab/lab_window.h"
#include "tests/lab/small_session.h"
#include "tests/models/model_folder.h"

// Text of a megabyte, which Qt may take minutes to lay out.

using namespace attn;

namespace {

constexpr int kMegabyte = 1 << 20;

void paste(QPlainTextEdit& editor, const QString& text) {
    QGuiApplication::clipboard()->setText(text);
    editor.selectAll();
    editor.paste();
}

} // namespace

TEST_CASE("prompt: a text that is too long is refused, wherever it comes from", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    auto& count = lab.find<QLabel>("promptCount");
    const QString megabyte(kMegabyte, QChar('a'));
    paste(prompt, megabyte);
    CHECK(prompt.toPlainText() == "abcabc");
    CHECK(count.text().contains("(limit 262,144). Use the Text tab"));
    auto& scored = lab.find<QPlainTextEdit>("scoredText");
    paste(scored, megabyte);
    CHECK(scored.toPlainText().isEmpty());
    CHECK(lab.find<QLabel>("textSummary").text().contains("(limit 200,000)"));

    lab.window().bridge().post(SetPromptCommand{{.text = megabyte.toStdString()}});
    REQUIRE(lab.waitFor([&] { return banner(lab, "failureBanner").isVisible(); }));
    CHECK(banner(lab, "failureBanner")
              .text()
              .contains("1,048,576 bytes; the limit is 262,144; shorten the text, or score it in the Text tab"));
    lab.window().bridge().post(SetPromptCommand{{.text = std::string(70'000, 'a'), .tokens = {}}});
    REQUIRE(lab.waitFor(
        [&] { return banner(lab, "failureBanner").text().contains("70,000 tokens; the limit is 65,536"); }));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->given.text == "abcabc");

    SessionDocument document = smallSession();
    document.given.text = megabyte.toStdString();
    const auto result = sessionFromJson(sessionToJson(document), "long.attnlab");
    REQUIRE(std::holds_alternative<Failure>(result));
    CHECK_THAT(std::get<Failure>(result).sentence(), CONTAINS("at most 262144"));
}

TEST_CASE("prompt: a long text without spaces is laid out once", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    GeneratedText text;
    std::vector<TokenInfo> tokens(4000, {.id = 1,
                                         .text = "a",
                                         .written = "a",
                                         .branchNode = 0,
                                         .isSpecial = false,
                                         .isPrompt = true,
                                         .probability = {}});
    int changes = 0;
    QObject::connect(text.document(), &QTextDocument::contentsChange, &text, [&] { ++changes; });
    text.resize(400, 200);
    text.show();
    text.setTokens(tokens);
    CHECK(changes <= 3); // each is followed by a layout of the whole paragraph
    CHECK(text.count() == 4000);
    CHECK(text.toPlainText().size() == 4000);
    CHECK(text.wordWrapMode() == QTextOption::WrapAnywhere);
    tokens.resize(3);
    text.setTokens(tokens);
    CHECK(text.toPlainText() == "aaa");

    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    paste(prompt, QString(5000, QChar('b')));
    REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence->given.text.size() == 5000; }));
    CHECK(prompt.toPlainText().size() == 5000);
    CHECK(prompt.wordWrapMode() == QTextOption::WrapAnywhere);
}

TEST_CASE("prompt: a long one stands in the box before it is read, can be stopped and is read later", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    auto& count = lab.find<QLabel>("promptCount");
    auto& stop = lab.find<QPushButton>("stop");
    const std::string text(10'000, 'b');
    const auto show = [&](Activity activity) {
        Snapshot snapshot = lab.snapshot(); // as the session's, on a slow machine
        snapshot.status.activity = activity;
        snapshot.unread = std::make_shared<RestoreBranchesCommand>(RestoreBranchesCommand{.given = {.text = text}});
        snapshot.readsUnread = activity == Activity::Prefilling;
        lab.window().workbench().setSnapshot(std::make_shared<const Snapshot>(snapshot));
        lab.window().findChild<StatusStrip*>()->setSnapshot(snapshot);
    };
    show(Activity::Prefilling);
    CHECK(prompt.toPlainText().toStdString() == text);
    CHECK(count.text() == "Reading the prompt: 10,000 characters…");
    CHECK(stop.isEnabled());
    CHECK(lab.find<QToolButton>("cancel").isVisible());
    CHECK(lab.window().session().document().given.text == text); // an autosave takes it
    show(Activity::Idle);
    CHECK(prompt.toPlainText().toStdString() == text);
    CHECK(count.text() == "The model has not read this prompt. Run reads it.");
    CHECK_FALSE(stop.isEnabled());
    CHECK_FALSE(lab.find<QToolButton>("cancel").isVisible());
    CHECK(lab.window().session().document().given.text == "abcabc"); // what was read
    lab.find<QSpinBox>("amount").setValue(1);
    lab.click("run");
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->given.text == text);
    CHECK(lab.snapshot().sequence->text.size() > 64);
    CHECK_FALSE(lab.snapshot().sequence->tokens.back().isPrompt);

    SessionDocument document = smallSession(); // in place of it, with more tokens than any model reads here
    document.modelPath = "builtin:sort";
    document.branches.clear();
    document.current = -1;
    document.given = {.text = std::string(70'000, '3')};
    lab.window().session().restore(document);
    REQUIRE(lab.settle());
    CHECK(prompt.toPlainText().toStdString() == document.given.text);
    CHECK(lab.window().session().document().given == document.given);
}

TEST_CASE("messages: quoted text of a megabyte is shortened", "[lab]") {
    LabWindow lab;
    lab.window().files().open("/nowhere/" + QString(kMegabyte, QChar('x')));
    REQUIRE(lab.waitFor([&] { return banner(lab, "failureBanner").isVisible(); }));
    CHECK(banner(lab, "failureBanner").text().size() < 10'000);
    const Failure failure{std::string(kMegabyte, 'a'), std::string(kMegabyte, 'b'), std::string(kMegabyte, 'c')};
    CHECK(failure.sentence().size() < 20'000);
}

TEST_CASE("prompt: where a model allows more tokens than the program reads, the count says whose limit it is",
          "[lab]") {
    test::ModelFolder folder("llama");
    folder.edit("config.json", [](nlohmann::json& config) { config["max_position_embeddings"] = 1 << 20; });
    LabWindow lab(QString::fromStdString(folder.path().string()), "1,2,3");
    REQUIRE(lab.settle());
    const auto& count = lab.find<QLabel>("promptCount");
    CHECK_THAT(count.text().toStdString(), CONTAINS("of 524,288 tokens (Attention Lab's limit)"));
    CHECK_THAT(count.toolTip().toStdString(),
               CONTAINS("at most 524,288 of the 1,048,576 tokens that this model allows"));
    lab.showPanel("model");
    const auto labels = lab.window().findChildren<QLabel*>();
    CHECK(std::ranges::any_of(labels, [](const QLabel* label) { return label->text().contains("for each token, "); }));
    lab.window().files().open("builtin:induction"); // whose limit is its own
    REQUIRE(lab.settle());
    CHECK_THAT(lab.find<QLabel>("promptCount").text().toStdString(), !CONTAINS("limit"));
}
