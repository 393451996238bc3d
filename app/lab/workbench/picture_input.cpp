#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/second_run.h"
#include "app/lab/workbench/snapshot_views.h"
#include "app/lab/workbench/workbench.h"

#include <QCoreApplication>

// A picture: rows are patches, after tokens such as CLS.

namespace attn {
namespace {

constexpr InputWords kPictureWords{
    .noun = QT_TRANSLATE_NOOP("attn::Input", "picture"),
    .noInput = QT_TRANSLATE_NOOP("attn::Input", "Choose a picture."),
    .paint =
        QT_TRANSLATE_NOOP("attn::Input", "Change the pattern: paint patches, pin it to a token, or make it uniform."),
    .headTiles = QT_TRANSLATE_NOOP("attn::Input", "Bright patches get much attention."),
    .headTilesHelp = "",
    .kindsMeasured = QT_TRANSLATE_NOOP("attn::Input", "Measured on the picture, and on it with its patches shuffled."),
    .noOtherInput = QT_TRANSLATE_NOOP("attn::Input", "Choose the other picture."),
    .otherAnswer = QT_TRANSLATE_NOOP("attn::Input", "Class"),
    .shares = QT_TRANSLATE_NOOP("attn::Input", "It always divides 100 % among them, so a picture of anything else can "
                                               "get a high number, too.")};

class PictureKind final : public InputKind {
public:
    PictureKind() : InputKind(AxisKind::Patches, "picture", kPictureWords) {}

    int rowCount(const Snapshot& snapshot) const override { return static_cast<int>(snapshot.model->grid.area()); }
    std::vector<QString> rowNames(const Snapshot& snapshot) const override {
        return inputAxis(*snapshot.model, {}).names;
    }
    int rowsAtSite(const Snapshot& snapshot, int) const override { return snapshot.model->tokens(); }
    QString titleOf(int, const QString& name) const override { return name; }

    std::optional<int> firstSite(const ModelInfo& model, bool) const override { return model.siteCount() - 1; }
    void showHead(Workbench& bench, int site, int head) const override { bench.pictures().showHead(site, head); }

    LensSubject subject(const Snapshot& snapshot, bool isOriginal) const override {
        const PictureRun run = pictureRun(snapshot, isOriginal && snapshot.originalAnswer);
        return {.model = *run.model, .axis = run.axis(), .patterns = run.patterns};
    }
    bool keepsResults() const override { return false; } // an earlier picture had other patterns
    bool namesHeadsByInput() const override { return true; }
    QString otherText(const Workbench& bench, const QString&) const override {
        return bench.pictures().setup().otherName;
    }

    std::optional<SecondInput> secondInput(const Workbench& bench, const SecondRun& second) const override {
        const Snapshot& first = *bench.snapshot();
        SecondInput input;
        GivenPicture& picture = input.given.picture = bench.pictures().setup().given;
        if (second.with() == SecondRun::OtherInput) { // the changes refer to this model
            if (!picture.other) return {};
            picture.image = picture.other;
            input.changes = first.changes;
            input.run = first.run == ShownRun::Original ? ShownRun::Original : ShownRun::Changed;
        }
        const ModelInfo* other = second.snapshot()->model.get();
        const bool hasSameGrid = second.with() != SecondRun::OtherModel || (other && other->grid == first.model->grid);
        if (!hasSameGrid) picture.hidden.clear();
        return input;
    }
    bool hasOther(const Workbench& bench, const SecondRun&) const override {
        return bench.pictures().setup().given.other != nullptr;
    }

    const char* task(const ModelInfo&) const override { return "images"; }
};

} // namespace

const InputKind& pictureInput() {
    static const PictureKind kind;
    return kind;
}

} // namespace attn
