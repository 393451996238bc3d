#include "app/figures/vision_figures.h"
#include "app/lab/panels/compare_panel.h"
#include "app/lab/panels/model_panel.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "engine/io/decode_image.h"
#include "tests/lab/vision_test.h"
#include "tests/models/model_folder.h"
#include "tests/support/hover.h"

using namespace attn;

namespace {

/// The rollout of the newest answer; null until it is there.
const Rollout* rollout(LabWindow& lab) {
    const auto found = lab.snapshot().analyses.find("rollout");
    if (found == lab.snapshot().analyses.end()) return nullptr;
    const auto* result = static_cast<const Rollout*>(found->second.get());
    return result->inputVersion == lab.snapshot().sequenceVersion ? result : nullptr;
}

std::optional<int> rolloutClass(LabWindow& lab) {
    const Rollout* result = rollout(lab);
    return result && result->target ? std::optional(result->target->token) : std::nullopt;
}

void chooseTab(LabWindow& lab, const char* title) {
    auto& tabs = lab.find<QTabWidget>("modelTabs");
    for (int at = 0; at < tabs.count(); ++at)
        if (tabs.tabText(at) == QLatin1String(title)) return tabs.setCurrentIndex(at);
    FAIL(title);
}

QPoint centreOf(const PatchOverlayView& view, int patch) { return view.patchRect(patch).center().toPoint(); }

} // namespace

TEST_CASE("lab: opening a vision model shows where CLS looks, as the model has it", "[lab][vision]") {
    GoldenWindow lab("vit");
    const Snapshot shown = lab.snapshot();
    const auto& overlay = lab.find<PatchOverlayView>("attentionPicture");
    lab.find<QSpinBox>("attentionHeadNumber").setValue(1);
    lab.find<QSpinBox>("attentionLayer").setValue(0);
    const auto tokens = static_cast<size_t>(shown.model->tokens());
    const std::vector<float>& pattern = shown.answer->patterns[0].values;
    const std::vector<NumberArray> numbers = lab.find<AttentionPanel>("attention").numbers().arrays();
    REQUIRE(numbers.size() == 1);
    for (size_t patch = 0; patch + 1 < tokens; ++patch)
        CHECK(numbers[0].values[patch] == pattern[tokens * tokens + patch + 1]); // head 1, from CLS
    CHECK(overlay.figure().title.contains("CLS"));
    const auto& answers = lab.find<QTreeWidget>("classes");
    CHECK(answers.isVisible());
    CHECK(answers.topLevelItemCount() == shown.model->classes);
    const std::string said = lab.find<QLabel>("classesText").text().toStdString(); // which classes, and how sure
    CHECK_THAT(said, CONTAINS("It knows " + std::to_string(shown.model->classes) + " classes: "));
    for (int index = 0; index < shown.model->classes; ++index) CHECK_THAT(said, CONTAINS(shown.model->labelOf(index)));
    const QString answer = answers.topLevelItem(0)->text(0) + ", " + answers.topLevelItem(0)->text(1);
    CHECK(lab.find<QLabel>("classesAnswer").text() == answer);
}

TEST_CASE("lab: a picture's labels have probabilities of their own, or are numbers", "[lab][vision]") {
    for (const auto& [type, sentence, counted, name, title] :
         {std::tuple("multi_label_classification", "they need not sum to 100 %", "It knows ", "Class", "Probability"),
          std::tuple("regression", "It is a regression", "It answers with ", "Quantity", "Answer")}) {
        test::ModelFolder folder("vit");
        folder.edit("config.json", [&, type = type](nlohmann::json& config) { config["problem_type"] = type; });
        LabWindow lab(QString::fromStdString(folder.path().string()));
        REQUIRE(lab.waitFor([&] { return lab.snapshot().answer != nullptr; }));
        REQUIRE(lab.settle());
        const PictureAnswer& answer = *lab.snapshot().answer;
        const auto best = static_cast<size_t>(std::ranges::max_element(answer.logits) - answer.logits.begin());
        const double logit = static_cast<double>(answer.logits[best]);
        const double said = type == std::string("regression") ? logit : 1 / (1 + std::exp(-logit));
        CHECK(static_cast<double>(answer.probabilities[best]) == Approx(said));
        CHECK_THAT(lab.find<QLabel>("classesText").text().toStdString(), CONTAINS(sentence));
        CHECK_THAT(lab.find<QLabel>("classesText").text().toStdString(), CONTAINS(counted));
        CHECK(lab.find<QTreeWidget>("classes").headerItem()->text(0).toStdString() == name);
        CHECK(lab.find<QTreeWidget>("classes").headerItem()->text(1).toStdString() == title);
        const bool isRegression = type == std::string("regression"); // whose logits are its answers
        lab.showPanel("lenses");
        auto& pages = lab.find<QComboBox>("lensPage");
        pages.setCurrentIndex(pages.findData("attribution"));
        CHECK(lab.find<QLabel>("lensTargetTitle").text() == (isRegression ? "Answer for" : "Logit"));
        const char* begins = isRegression ? "The answer for “" : "The logit of “";
        const auto& summary = lab.find<QLabel>("lensSummary");
        CHECK(lab.waitFor([&] { return summary.text().startsWith(begins); }, 60'000));
    }
}

TEST_CASE("lab: a model of classes and one of numbers are compared without a difference", "[lab][vision]") {
    test::ModelFolder folder("vit");
    folder.edit("config.json", [](nlohmann::json& config) { config["problem_type"] = "regression"; });
    GoldenWindow lab("vit");
    lab.showPanel("compare");
    lab.find<QLineEdit>("comparePath").setText(QString::fromStdString(folder.path().string()));
    lab.find<QComboBox>("compareWith").setCurrentIndex(3);
    const auto& table = lab.find<QTreeWidget>("compareNext");
    REQUIRE(lab.waitFor([&] { return table.topLevelItemCount() > 0; }));
    for (int row = 0; row < table.topLevelItemCount(); ++row) {
        const QTreeWidgetItem& item = *table.topLevelItem(row);
        CHECK(item.text(1).endsWith(" %"));
        CHECK_FALSE(item.text(2).endsWith(" %"));
        CHECK(item.text(3).isEmpty());
    }
}

TEST_CASE("lab: a picture model opens over a text model with fewer layers", "[lab][vision]") {
    LabWindow lab("builtin:induction", "abab");
    REQUIRE(lab.settle());
    const int before = lab.snapshot().model->siteCount();
    // The selection moves to the last layer while panels still show the text model, which has none there.
    lab.window().files().open("builtin:vit-fashion");
    REQUIRE(answers(lab, "vit-fashion"));
    CHECK(lab.snapshot().model->siteCount() > before);
    CHECK(selection(lab).site == lab.snapshot().model->siteCount() - 1);
}

TEST_CASE("lab: panels for texts leave the window while a model reads pictures, and come back", "[lab][vision]") {
    LabWindow lab("builtin:induction", "abab");
    const auto isShown = [&](const char* id) { return !lab.find<QDockWidget>(id).isHidden(); };
    lab.find<QDockWidget>("dock.beams").close(); // by the user
    lab.showPanel("text");
    lab.window().files().open("builtin:vit-shapes");
    REQUIRE(lab.waitFor([&] { return lab.window().workbench().reads(AxisKind::Patches); }));
    REQUIRE(lab.settle());
    for (const char* id : {"dock.text", "dock.branches"}) CHECK_FALSE(isShown(id));
    CHECK(lab.waitFor([&] { return !lab.find<QWidget>("attention").visibleRegion().isEmpty(); }));
    CHECK_FALSE(lab.action("panel.text").isEnabled());
    lab.act("workspace.inspect");
    CHECK_FALSE(isShown("dock.cell"));
    CHECK(isShown("dock.heads"));
    CHECK(lab.waitFor(
        [&] { return lab.find<QLabel>("pictureModel").text().contains("Training task: Shapes. Finds the shape"); }));
    lab.window().files().open("builtin:induction");
    REQUIRE(lab.waitFor([&] { return lab.window().workbench().reads(AxisKind::Tokens); }));
    REQUIRE(lab.settle());
    CHECK(isShown("dock.cell"));
    lab.act("workspace.write");
    for (const char* id : {"dock.text", "dock.branches"}) CHECK(isShown(id));
    CHECK_FALSE(isShown("dock.beams"));
    CHECK(lab.waitFor([&] { return !lab.find<QWidget>("attention").visibleRegion().isEmpty(); }));
    CHECK(lab.action("panel.text").isEnabled());
}

TEST_CASE("lab: pointing at a patch shows where it looks, clicking stays with it", "[lab][vision]") {
    GoldenWindow lab("vit");
    auto& overlay = lab.find<PatchOverlayView>("attentionPicture");
    const auto fromCls = overlayValues(lab);
    hover(overlay, centreOf(overlay, 5));
    REQUIRE(lab.waitFor([&] { return overlay.figure().hovered == 5; }));
    CHECK(overlayValues(lab) != fromCls);
    QTest::mouseClick(&overlay, Qt::LeftButton, {}, centreOf(overlay, 5));
    CHECK(overlay.figure().marked == 5);
    QTest::keyClick(&overlay, Qt::Key_Right);
    CHECK(overlay.figure().marked == 6);
    hover(overlay, QPoint(1, 1));
    auto& back = lab.find<QPushButton>("attentionFrom");
    REQUIRE(back.isEnabled());
    QTest::mouseClick(&back, Qt::LeftButton);
    CHECK_FALSE(overlay.figure().marked);
    REQUIRE(lab.waitFor([&] { return overlayValues(lab) == fromCls; }));
}

TEST_CASE("lab: a head's thumbnail enlarges it, and rollout goes through all layers", "[lab][vision]") {
    GoldenWindow lab("vit");
    auto& heads = lab.find<PointedView>("headsPictures");
    clickHead(lab, 0, 1);
    CHECK(lab.find<QSpinBox>("attentionLayer").value() == 0);
    CHECK(shownHead(lab) == 1);
    QTest::keyClick(&heads, Qt::Key_Down);
    CHECK(lab.find<QSpinBox>("attentionLayer").value() == 1);
    auto& view = lab.find<QComboBox>("attentionView");
    view.setFocus();
    QTest::keyClick(&view, Qt::Key_Down);
    CHECK(lab.find<PatchOverlayView>("attentionPicture").figure().note == "Computing the rollout…");
    CHECK(lab.find<QComboBox>("attentionFusion").isVisible());
    CHECK_FALSE(lab.find<QSpinBox>("attentionHeadNumber").isVisible());
    REQUIRE(lab.waitFor([&] { return rollout(lab) != nullptr; }));
    const auto rolled = overlayValues(lab);
    const std::vector<float> map = rollout(lab)->map.values;
    for (size_t patch = 0; patch < rolled.size(); ++patch) CHECK(rolled[patch] == map[patch + 1]);
    auto& fusion = lab.find<QComboBox>("attentionFusion");
    fusion.setFocus();
    QTest::keyClick(&fusion, Qt::Key_Down);
    REQUIRE(lab.waitFor([&] { return overlayValues(lab) != rolled; }));
}

TEST_CASE("lab: a Swin Transformer shows its stages, each with its own heads and tokens", "[lab][vision]") {
    GoldenWindow lab("swin");
    CHECK(lab.find<QLabel>("pictureModel").text().contains("4 layers of 2 to 4 heads"));
    auto& overlay = lab.find<PatchOverlayView>("attentionPicture");
    clickHead(lab, 0, 3); // there are two
    CHECK(shownHead(lab) != 3);
    clickHead(lab, 3, 3);
    CHECK(lab.find<QSpinBox>("attentionLayer").value() == 3);
    CHECK(shownHead(lab) == 3);
    QTest::mouseClick(&overlay, Qt::LeftButton, {}, centreOf(overlay, 9)); // row 1, column 1 of 8 x 8: token 0 of 4 x 4
    const SitePattern pattern = lab.snapshot().answer->patterns[3];
    const auto& shown = overlay.figure();
    REQUIRE(shown.tokens == pattern.layout.tokenOf);
    const std::vector<float> values = overlayValues(lab);
    for (size_t patch = 0; patch < values.size(); ++patch)
        CHECK(values[patch] == pattern.values[3 * 16 * 16 + static_cast<size_t>(pattern.layout.tokenOf[patch])]);
    clickHead(lab, 0, 1);
    CHECK(overlay.figure().tokens.empty()); // as many tokens as patches
    lab.showPanel("profile");
    lab.showPanel("model");
    for (const char* page : {"Patch positions", "Patch filters"}) {
        chooseTab(lab, page);
        REQUIRE(lab.settle());
    }
    CHECK(lab.find<QLabel>("pictureModel").isVisible());
}

TEST_CASE("lab: the pictures of a folder are offered by name, and arrows go through them", "[lab][vision]") {
    GoldenWindow lab("vit");
    const auto before = setup(lab).given.image;
    const std::filesystem::path folder = (lab.folder() + "/album").toStdString();
    input(lab).openPictures(QString::fromStdString(folder.string()));
    REQUIRE(reads(lab));
    CHECK(lab.find<QLabel>("pictureMessage").text().contains("contains no pictures"));
    std::filesystem::create_directories(folder);
    for (const uint8_t grey : {10, 90, 240})
        writePpm(folder / (std::to_string(100 + grey) + ".ppm"),
                 {.height = 16, .width = 16, .rgb = std::vector<uint8_t>(768, grey)});
    input(lab).openPictures(QString::fromStdString(folder.string()));
    REQUIRE(reads(lab));
    CHECK(setup(lab).given.image->rgb.front() == 10);
    auto& pictures = lab.find<QComboBox>("pictureChoice");
    CHECK(pictures.currentText() == "110.ppm");
    pictures.setFocus();
    QTest::keyClick(&pictures, Qt::Key_Down);
    REQUIRE(reads(lab));
    CHECK(setup(lab).given.image->rgb.front() == 90);
    QTest::keyClick(&pictures, Qt::Key_Down);
    REQUIRE(reads(lab));
    CHECK(setup(lab).given.image->rgb.front() == 240);
    lab.press(lab.action("undo")); // what was gone through is one change
    CHECK(setup(lab).given.image == before);
    CHECK(pictures.findText("From a folder…") > 0);
    CHECK(lab.find<QPushButton>("pictureOpen").isVisible());
}

TEST_CASE("lab: dragging hides patches, the answer follows, and undo brings them back", "[lab][vision]") {
    GoldenWindow lab("vit");
    const auto plain = lab.snapshot().answer->probabilities;
    auto& overlay = lab.find<PatchOverlayView>("attentionPicture");
    QTest::mouseClick(&lab.find<QCheckBox>("pictureHide"), Qt::LeftButton);
    QTest::mousePress(&overlay, Qt::LeftButton, {}, centreOf(overlay, 0));
    hover(overlay, centreOf(overlay, 1));
    REQUIRE(lab.waitFor([&] { return setup(lab).given.hidden.size() == 2; }));
    QTest::mouseRelease(&overlay, Qt::LeftButton, {}, centreOf(overlay, 1));
    CHECK(setup(lab).given.hidden == std::vector<int>{0, 1});
    REQUIRE(lab.waitFor(
        [&] { return lab.snapshot().picture->hidden.size() == 2 && lab.snapshot().answer->probabilities != plain; }));
    CHECK_FALSE(lab.find<QTreeWidget>("classes").isColumnHidden(2));
    lab.press(lab.action("undo"));
    CHECK(setup(lab).given.hidden.empty());
    REQUIRE(lab.waitFor(
        [&] { return lab.snapshot().picture->hidden.empty() && lab.snapshot().answer->probabilities == plain; }));
    lab.press(lab.action("redo"));
    const QString session = lab.folder() + "/hidden.attnlab";
    lab.saveSession(session);
    lab.click("pictureShowAll");
    REQUIRE(setup(lab).given.hidden.empty());
    lab.window().files().open(session);
    CHECK(lab.waitFor([&] { return setup(lab).given.hidden == std::vector<int>{0, 1}; }));
    input(lab).restoreView({{"hidden", QJsonArray{1, 1'000'000, -1, "x"}}}); // as a broken file has it
    CHECK(setup(lab).given.hidden == std::vector<int>{1});
}

TEST_CASE("lab: a picture keeps its shape: the model sees the square in its middle, and it is said", "[lab][vision]") {
    LabWindow lab("builtin:vit-shapes");
    REQUIRE(lab.waitFor([&] { return lab.window().workbench().reads(AxisKind::Patches) && reads(lab); }));
    QImage wide(96, 32, QImage::Format_RGB32);
    wide.fill(Qt::red);
    for (int y = 0; y < 32; ++y)
        for (int x = 32; x < 64; ++x) wide.setPixelColor(x, y, Qt::blue);
    REQUIRE(wide.save(lab.folder() + "/wide.png"));
    input(lab).openPicture(lab.folder() + "/wide.png");
    REQUIRE(lab.waitFor([&] { return setup(lab).name.endsWith("wide.png"); }));
    const Image& shown = *setup(lab).given.image;
    CHECK(shown.size() == ImageSize{32, 32});
    CHECK(shown.at(0, 0, 0) == 0); // nothing of the red sides
    CHECK(shown.at(31, 31, 2) == 255);
    CHECK(lab.find<QLabel>("pictureHint").text().contains("cropped to a square"));
    CHECK(lab.find<QLabel>("pictureModel").text().contains("light on a dark ground"));
}

TEST_CASE("lab: a picture that cannot be read is a sentence, and what was shown stays", "[lab][vision]") {
    GoldenWindow lab("vit");
    const auto before = setup(lab);
    const QString path = lab.folder() + "/broken.png";
    writeText(path, "\x89PNG\r\n\x1a\nthis is no picture");
    input(lab).openPicture(path);
    REQUIRE(reads(lab));
    CHECK(lab.find<QLabel>("pictureMessage").isVisible());
    CHECK(lab.find<QLabel>("pictureMessage").text().contains("broken.png"));
    CHECK(setup(lab) == before);
}

TEST_CASE("lab: clicking a class rolls attention out by its gradient", "[lab][vision]") {
    GoldenWindow lab("vit");
    auto& answers = lab.find<QTreeWidget>("classes");
    const auto& weighted = lab.find<QComboBox>("attentionWeighted");
    CHECK(weighted.count() == lab.snapshot().model->classes + 1);
    const QTreeWidgetItem* second = answers.topLevelItem(1);
    const int label = second->data(0, Qt::UserRole).toInt();
    const QRect row = answers.visualItemRect(second);
    const QString name = second->text(0); // the list is made again
    QTest::mouseClick(answers.viewport(), Qt::LeftButton, {}, row.center());
    REQUIRE(lab.waitFor([&] { return rolloutClass(lab) == label; }));
    CHECK(weighted.currentData().toInt() == label);
    CHECK_FALSE(lab.find<QComboBox>("attentionFusion").isEnabled());
    const auto relevance = overlayValues(lab);
    const std::vector<float> map = rollout(lab)->map.values;
    for (size_t patch = 0; patch < relevance.size(); ++patch) CHECK(relevance[patch] == map[patch + 1]);
    CHECK(lab.find<PatchOverlayView>("attentionPicture").figure().title.contains(name));
    // By keyboard: the next class, then back to no class.
    answers.setCurrentItem(answers.topLevelItem(1));
    answers.setFocus();
    QTest::keyClick(&answers, Qt::Key_Down);
    QTest::keyClick(&answers, Qt::Key_Return);
    REQUIRE(lab.waitFor([&] { return rolloutClass(lab) && rolloutClass(lab) != label; }));
    CHECK(overlayValues(lab) != relevance);
    lab.find<QComboBox>("attentionWeighted").setCurrentIndex(0);
    REQUIRE(lab.waitFor([&] { return rollout(lab) && !rolloutClass(lab); }));
    CHECK(lab.find<QComboBox>("attentionFusion").isEnabled());
}

TEST_CASE("lab: a dot of attention distance chooses its head, also by keyboard", "[lab][vision]") {
    GoldenWindow lab("vit");
    lab.showPanel("profile");
    lab.layOut();
    auto& view = lab.find<PointedView>("profilePicture");
    REQUIRE(lab.waitFor([&] { return view.isVisible(); }));
    const auto& figure = dynamic_cast<const DistanceFigure&>(*view.figure());
    CHECK(figure.distances == lab.snapshot().answer->distances);
    const QPointF dot = figure.dot(figure.itemOf(0, 2), figure.plot(view.rect(), view.theme()));
    hover(view, dot.toPoint());
    REQUIRE(lab.waitFor([&] { return view.figure()->hovered == 2; }));
    CHECK(view.accessibleDescription().startsWith("L0 H2: "));
    QTest::mouseClick(&view, Qt::LeftButton, {}, dot.toPoint());
    CHECK(lab.find<QSpinBox>("attentionLayer").value() == 0);
    CHECK(shownHead(lab) == 2);
    QTest::keyClick(&view, Qt::Key_Right);
    CHECK(lab.find<QSpinBox>("attentionLayer").value() == 1);
    CHECK(shownHead(lab) == 2);
    CHECK(lab.find<Panel>("profile").numbers().csv().startsWith("layer,head,pixels\r\n"));
}

TEST_CASE("lab: positions and filters are read when they are looked at", "[lab][vision]") {
    GoldenWindow lab("vit");
    const auto isKnown = [&] { return lab.snapshot().analyses.contains("patch_embedding"); };
    CHECK_FALSE(isKnown());
    lab.showPanel("model");
    chooseTab(lab, "Patch positions");
    auto& positions = lab.find<PointedView>("modelPositions");
    REQUIRE(lab.waitFor([&] { return positions.figure()->items() == 16; }));
    REQUIRE(lab.settle());
    QTest::keyClick(&positions, Qt::Key_Down);
    QTest::keyClick(&positions, Qt::Key_Down);
    CHECK(lab.find<PatchOverlayView>("attentionPicture").figure().marked.value_or(-1) ==
          4); // the same patch in the picture
    CHECK(positions.accessibleDescription().toStdString() == "Patch 1, 0");
    chooseTab(lab, "Patch filters");
    auto& filters = lab.find<PointedView>("modelFilters");
    CHECK(filters.figure()->items() == 23); // 24 filters about their mean
    CHECK(lab.find<ModelPanel>("model").numbers().arrays()[0].shape == std::vector<int64_t>{23, 3, 4, 4});
    lab.find<QComboBox>("modelFilterKind").setCurrentIndex(1);
    CHECK(filters.figure()->items() == 24);
    REQUIRE(isKnown());
    CHECK(lab.find<ModelPanel>("model").numbers().arrays()[0].values ==
          static_cast<const PatchEmbeddingMaps&>(*lab.snapshot().analyses.at("patch_embedding")).rawFilters);
}

TEST_CASE("lab: another picture and another model stand beside the first, with what differs", "[lab][vision]") {
    GoldenWindow lab("vit");
    lab.showPanel("compare");
    auto& panel = lab.find<ComparePanel>("compare");
    auto& with = lab.find<QComboBox>("compareWith");
    const auto& message = lab.find<QLabel>("compareMessage");
    const auto& map = lab.find<PatchOverlayView>("comparePictureB");
    const auto& difference = lab.find<PatchOverlayView>("comparePictureDifference");
    const auto second = [&]() -> const Snapshot& { return *panel.second().snapshot(); };
    CHECK_FALSE(map.isVisible());
    with.setCurrentIndex(SecondRun::OtherInput);
    CHECK(with.currentText() == "Same model on another picture");
    CHECK(message.text() == "Choose the other picture.");
    auto& other = lab.find<QComboBox>("comparePicture");
    other.setCurrentIndex(other.findData("stripes"));
    emit other.activated(other.currentIndex());
    REQUIRE(lab.waitFor([&] { return second().answer != nullptr && map.isVisible(); }));
    const auto differs = [&] {
        const auto first = lab.find<PatchOverlayView>("attentionPicture").figure().numbers()[0].values,
                   shown = map.figure().numbers()[0].values, found = difference.figure().numbers()[0].values;
        for (size_t i = 0; i < first.size(); ++i)
            if (found[i] != first[i] - shown[i]) return false;
        return first != shown;
    };
    CHECK(differs());
    CHECK(map.figure().title.startsWith("B: From "));
    CHECK(difference.figure().title.startsWith("A − B: From "));
    CHECK(difference.width() > 2 * map.width()); // one is large
    lab.find<PatchOverlayView>("comparePictureB").setFocus();
    QTest::keyClick(&lab.find<PatchOverlayView>("comparePictureB"), Qt::Key_Return);
    lab.layOut();
    CHECK(map.width() > 2 * difference.width());
    QTest::mouseDClick(&lab.find<PatchOverlayView>("comparePictureDifference"), Qt::LeftButton);
    lab.layOut();
    CHECK(difference.width() > 2 * map.width());
    lab.find<QSpinBox>("attentionLayer").setValue(0);
    CHECK(differs()); // both follow the view
    CHECK(lab.find<QTreeWidget>("compareNext").isVisible());
    CHECK(lab.find<QTreeWidget>("compareNext").topLevelItemCount() >= 5);
    const auto& heads = lab.find<QTreeWidget>("compareHeads");
    CHECK(heads.topLevelItemCount() == 2 * 3);
    CHECK(heads.topLevelItem(0)->text(1).toDouble() > heads.topLevelItem(5)->text(1).toDouble());
    // Without a change: only the layer after it differs.
    lab.closeGate(0, 0, 0);
    with.setCurrentIndex(SecondRun::Original);
    REQUIRE(lab.waitFor([&] {
        return lab.snapshot().originalAnswer && second().answer &&
               second().answer->logits == lab.snapshot().originalAnswer->logits && heads.topLevelItemCount() == 6;
    }));
    CHECK(heads.topLevelItem(2)->text(0).startsWith("L1 "));
    CHECK(heads.topLevelItem(2)->text(1).toDouble() > 0);
    CHECK(heads.topLevelItem(3)->text(1).toDouble() == 0);
    // A model with other labels, and as many patches.
    const auto compareWith = [&](const QString& path) {
        with.setCurrentIndex(SecondRun::OtherModel);
        lab.find<QLineEdit>("comparePath").setText(path);
        lab.click("compareRun");
    };
    const auto hasAnswered = [&](const char* model) {
        return lab.waitFor([&] { return second().model && second().model->name == model && second().answer; });
    };
    compareWith(QString::fromStdString((test::kGoldenRoot / "deit").string()));
    REQUIRE(hasAnswered("deit"));
    CHECK(second().picture->image == setup(lab).given.image);
    CHECK(differs());
    // One that cuts another grid has no difference, one of text nothing to compare, and one that is none a sentence.
    compareWith(QString::fromStdString((test::kGoldenRoot / "vit_features").string()));
    REQUIRE(hasAnswered("vit_features"));
    CHECK(map.isVisible());
    CHECK_FALSE(difference.isVisible());
    lab.layOut();
    CHECK(lab.find<PatchOverlayView>("comparePictureA").width() > 2 * map.width()); // the large place is not empty
    compareWith("builtin:induction");
    REQUIRE(lab.waitFor([&] { return message.text().startsWith("Both models must read texts"); }));
    compareWith("/no/such/folder");
    REQUIRE(lab.waitFor([&] { return message.text().contains("/no/such/folder"); }));
    with.setCurrentIndex(SecondRun::Nothing);
    CHECK_FALSE(map.isVisible());
    CHECK(lab.snapshot().answer);
    // As session files had it when the comparison of pictures was apart.
    lab.window().panels().setView("compare", {{"picture", QJsonObject{{"compare", "picture:shapes"}}}});
    REQUIRE(lab.waitFor([&] { return setup(lab).otherName == "shapes" && second().answer; }));
    CHECK(with.currentIndex() == SecondRun::OtherInput);
    lab.window().panels().setView("compare", {{"picture", QJsonObject{{"compare", "model:/no/such/folder"}}}});
    CHECK(with.currentIndex() == SecondRun::OtherModel);
    REQUIRE(lab.waitFor([&] { return message.text().contains("/no/such/folder"); }));
}
