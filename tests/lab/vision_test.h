#pragma once

#include "app/figures/head_overlays_figure.h"
#include "app/lab/panels/attention_panel.h"
#include "app/lab/panels/picture_input_panel.h"
#include "app/lab/widgets/pointed_view.h"
#include "app/lab/workbench/snapshot_views.h"
#include "tests/lab/lab_window.h"
#include "tests/models/vision_folder.h"

namespace attn {

inline PictureInputPanel& input(LabWindow& lab) {
    auto* found = lab.window().findChild<PictureInputPanel*>();
    REQUIRE(found);
    return *found;
}

/// The picture that is given to the model.
inline const PictureSetup& setup(LabWindow& lab) { return lab.window().workbench().pictures().setup(); }
inline const Changes& changes(LabWindow& lab) { return lab.window().workbench().changes(); }
inline const Selection& selection(LabWindow& lab) { return lab.window().workbench().selection(); }

/// What the picture shows in the Attention panel: the weights of the patches.
inline std::vector<float> overlayValues(LabWindow& lab) {
    const auto arrays = lab.find<AttentionPanel>("attention").numbers().arrays();
    return arrays.empty() ? std::vector<float>() : arrays.front().values;
}

/// The head that is shown over the picture, or an aggregate.
inline int shownHead(LabWindow& lab) { return lab.window().workbench().pictures().look().head; }

/// Until the picture that was asked for is open, or was refused.
inline bool reads(LabWindow& lab) {
    return lab.waitFor([&] { return !input(lab).isReading(); });
}

/// Until a vision model has answered.
inline bool answers(LabWindow& lab, const std::string& model) {
    return lab.waitFor([&] {
        const auto& snapshot = lab.window().workbench().snapshot();
        return snapshot && snapshot->answer && snapshot->model->name == model;
    });
}

/// Opens a small model of the goldens, which looks at the first built-in picture.
inline void openGolden(LabWindow& lab, const std::string& name) {
    REQUIRE(lab.settle());
    lab.window().files().open(QString::fromStdString((test::kGoldenRoot / name).string()));
    REQUIRE(answers(lab, name));
    REQUIRE(input(lab).isVisible());
}

/// The window on a small model of the goldens.
class GoldenWindow : public LabWindow {
public:
    explicit GoldenWindow(const std::string& name) { openGolden(*this, name); }
};

/// Clicks a head of the Heads panel.
inline void clickHead(LabWindow& lab, int layer, int head) {
    auto& heads = lab.find<PointedView>("headsPictures");
    const auto& figure = static_cast<const HeadOverlaysFigure&>(*heads.figure());
    const QRectF at = figure.overlayRect(layer * figure.heads + head, heads.rect(), heads.theme());
    QTest::mouseClick(&heads, Qt::LeftButton, {}, at.center().toPoint());
}

} // namespace attn
