#include "app/lab/panels/catalogue.h"
#include "app/lab/workbench/input_kind.h"
#include "tests/support/catch.h"
#include "tests/support/samples.h"

#include <QJsonObject>
#include <QStringList>

using namespace attn;

namespace {

/// Every kind of axis. A kind that is added to AxisKind and not here does not compile without a warning.
std::vector<AxisKind> allAxes() {
    std::vector<AxisKind> all;
    for (std::optional<AxisKind> axis = AxisKind::Tokens; axis;) {
        all.push_back(*axis);
        switch (*axis) {
        case AxisKind::Tokens:
            axis = AxisKind::Patches;
            break;
        case AxisKind::Patches:
            axis.reset();
            break;
        }
    }
    return all;
}

/// A run on a picture of 2 x 3 patches after one token.
Snapshot pictureSnapshot() {
    Snapshot snapshot = *samples::snapshot(3, 2, 0);
    auto model = std::make_shared<ModelInfo>(*snapshot.model);
    model->structure.axes = {{.kind = AxisKind::Patches, .length = 7}};
    model->grid = {.height = 2, .width = 3};
    model->prefix = {"CLS"};
    model->patch = 8;
    snapshot.model = model;
    snapshot.sequence.reset();
    return snapshot;
}

/// The ids of the panels that show nothing of a model.
QStringList uselessFor(const ModelInfo& model) {
    QStringList ids;
    for (const PanelDescriptor& panel : panelCatalogue())
        if (panel.serves && !panel.serves(model)) ids << panel.id;
    return ids;
}

ModelInfo textModel(std::optional<Readout::Kind> readout) {
    ModelInfo model;
    model.structure.axes = {{.kind = AxisKind::Tokens, .length = 8}};
    if (readout) model.structure.readouts = {{.kind = *readout, .stream = 0, .choices = 5}};
    return model;
}

} // namespace

TEST_CASE("input kinds: every kind of axis has one description, with all its words and a place in session files") {
    QJsonObject view; // the pages of a panel, in a session file
    for (const AxisKind axis : allAxes()) {
        const InputKind& kind = inputKind(axis);
        CAPTURE(nameOf(axis));
        CHECK(&inputKind(kind.axis()) == &kind); // its own, or one that is drawn alike
        kind.keepView(view, {{"of", QString::fromStdString(std::string(nameOf(axis)))}});
        for (const auto words : {&InputWords::noun, &InputWords::noInput, &InputWords::paint, &InputWords::headTiles,
                                 &InputWords::kindsMeasured, &InputWords::noOtherInput, &InputWords::otherAnswer})
            CHECK_FALSE(kind.say(words).isEmpty());
    }
    for (const AxisKind axis : {AxisKind::Tokens, AxisKind::Patches})
        CHECK(inputKind(axis).viewIn(view)["of"].toString().toStdString() == nameOf(axis));
}

TEST_CASE("input kinds: a snapshot has the kind of its model's first axis, and a text without a model") {
    CHECK(inputKind(Snapshot()).axis() == AxisKind::Tokens);
    CHECK(inputKind(*samples::snapshot(1, 1, 2)).axis() == AxisKind::Tokens);
    CHECK(inputKind(pictureSnapshot()).axis() == AxisKind::Patches);
    CHECK_FALSE(canAnalyse(Snapshot()));
    CHECK(canAnalyse(*samples::snapshot(1, 1, 2)));
    CHECK_FALSE(canAnalyse(*samples::snapshot(1, 1, 0)));
    Snapshot picture = pictureSnapshot();
    CHECK_FALSE(canAnalyse(picture));
    picture.answer = std::make_shared<PictureAnswer>();
    CHECK(canAnalyse(picture));
}

TEST_CASE("input kinds: rows are the tokens of a text, and the patches of a picture after its other tokens") {
    const Snapshot text = *samples::snapshot(3, 2, 4), picture = pictureSnapshot();
    const InputKind &ofText = inputKind(text), &ofPicture = inputKind(picture);
    CHECK(ofText.rowCount(text) == 4);
    CHECK(ofText.rowNames(text).size() == 4);
    CHECK(ofText.rowsAtSite(text, 1) == 4);
    CHECK(ofText.rowNames(text)[1].startsWith("1 “"));
    CHECK(ofText.titleOf(1, "cat") == "token 1 “cat”");
    CHECK(ofPicture.rowCount(picture) == 6);
    const std::vector<QString> names = ofPicture.rowNames(picture);
    REQUIRE(names.size() == 7);
    CHECK(names.front() == "CLS");
    CHECK(names.back() == "patch 1, 2");
    CHECK(ofPicture.rowsAtSite(picture, 2) == 7);
    CHECK(ofPicture.titleOf(6, names.back()) == "patch 1, 2");
}

TEST_CASE("input kinds: a model opens at its last site, where a text is translated, or where it was") {
    ModelInfo translator = textModel(Readout::Kind::NextToken);
    translator.readsSource = true;
    translator.structure.sites = {{.name = "a"}, {.name = "b", .queryStream = 1, .keyStream = 0}, {.name = "c"}};
    const InputKind &text = inputKind(AxisKind::Tokens), &picture = inputKind(AxisKind::Patches);
    CHECK(text.firstSite(translator, false) == 1);
    CHECK_FALSE(text.firstSite(translator, true));
    CHECK_FALSE(text.firstSite(textModel({}), false));
    CHECK(picture.firstSite(*pictureSnapshot().model, true) == 2);
    CHECK(std::string(text.task(translator)) == "translation");
    CHECK(std::string(text.task(textModel({}))) == "text");
}

TEST_CASE("input kinds: panels say which models they serve") {
    CHECK(uselessFor(textModel(Readout::Kind::NextToken)).isEmpty());
    CHECK(uselessFor(textModel(Readout::Kind::MaskedToken)) == QStringList{"branches", "text", "beams"});
    CHECK(uselessFor(*pictureSnapshot().model) == QStringList{"branches", "cell", "text", "beams"});
}
