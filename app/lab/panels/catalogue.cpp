#include "app/lab/panels/catalogue.h"

#include "app/lab/panels/attention_panel.h"
#include "app/lab/panels/beams_panel.h"
#include "app/lab/panels/branches_panel.h"
#include "app/lab/panels/by_input_panel.h"
#include "app/lab/panels/cell_panel.h"
#include "app/lab/panels/changes_panel.h"
#include "app/lab/panels/compare_panel.h"
#include "app/lab/panels/curves_panel.h"
#include "app/lab/panels/generate_panel.h"
#include "app/lab/panels/head_kinds_panel.h"
#include "app/lab/panels/heads_panel.h"
#include "app/lab/panels/lenses_panel.h"
#include "app/lab/panels/model_panel.h"
#include "app/lab/panels/next_token_panel.h"
#include "app/lab/panels/picture_classes.h"
#include "app/lab/panels/picture_input_panel.h"
#include "app/lab/panels/playground_panel.h"
#include "app/lab/panels/profile_panel.h"
#include "app/lab/panels/runs_panel.h"
#include "app/lab/panels/samples_panel.h"
#include "app/lab/panels/text_panel.h"
#include "app/lab/panels/train_panel.h"

#include <QCoreApplication>

namespace attn {
namespace {

template <class T> Panel* make(Workbench& bench, QWidget* parent) { return new T(bench, parent); }

/// A panel for texts and one for pictures in one dock.
template <class Text, class Picture> Panel* makeByInput(Workbench& bench, QWidget* parent) {
    return new ByInputPanel(bench, new Text(bench), new Picture(bench), {}, parent);
}

Panel* makeInput(Workbench& bench, QWidget* parent) {
    return new ByInputPanel(bench, new GeneratePanel(bench), new PictureInputPanel(bench), ByInputPanel::tr("Picture"),
                            parent);
}

Panel* makeNext(Workbench& bench, QWidget* parent) {
    return new ByInputPanel(bench, new NextTokenPanel(bench), new PictureClasses(bench), ByInputPanel::tr("Prediction"),
                            parent);
}

constexpr PanelDescriptor kPanels[] = {
    {"generate", QT_TRANSLATE_NOOP("attn::Panel", "Generate"), nullptr, makeInput},
    {"attention", QT_TRANSLATE_NOOP("attn::Panel", "Attention"), nullptr, make<AttentionPanel>},
    {"next", QT_TRANSLATE_NOOP("attn::Panel", "Next token"), nullptr, makeNext},
    {"branches", QT_TRANSLATE_NOOP("attn::Panel", "Branches"), nullptr, makeByInput<BranchesPanel, NothingForPictures>},
    {"heads", QT_TRANSLATE_NOOP("attn::Panel", "Heads"), nullptr, make<HeadsPanel>},
    {"profile", QT_TRANSLATE_NOOP("attn::Panel", "Profile"), nullptr, make<ProfilePanel>},
    {"cell", QT_TRANSLATE_NOOP("attn::Panel", "One cell"), "cell", makeByInput<CellPanel, NothingForPictures>},
    {"model", QT_TRANSLATE_NOOP("attn::Panel", "Model"), "model", make<ModelPanel>},
    {"train", QT_TRANSLATE_NOOP("attn::Panel", "Train"), nullptr, make<TrainPanel>},
    {"curves", QT_TRANSLATE_NOOP("attn::Panel", "Curves"), nullptr, make<CurvesPanel>},
    {"samples", QT_TRANSLATE_NOOP("attn::Panel", "Samples"), nullptr, make<SamplesPanel>},
    {"runs", QT_TRANSLATE_NOOP("attn::Panel", "Training runs"), nullptr, make<RunsPanel>},
    {"playground", QT_TRANSLATE_NOOP("attn::Panel", "Playground"), "playground", make<PlaygroundPanel>},
    {"interventions", QT_TRANSLATE_NOOP("attn::Panel", "Changes"), "heads", make<ChangesPanel>},
    {"kinds", QT_TRANSLATE_NOOP("attn::Panel", "Head kinds"), "inspect", make<HeadKindsPanel>},
    {"lenses", QT_TRANSLATE_NOOP("attn::Panel", "Lenses"), "inspect", make<LensesPanel>},
    {"compare", QT_TRANSLATE_NOOP("attn::Panel", "Compare"), "inspect", make<ComparePanel>},
    {"text", QT_TRANSLATE_NOOP("attn::Panel", "Text"), "inspect", makeByInput<TextPanel, NothingForPictures>},
    {"beams", QT_TRANSLATE_NOOP("attn::Panel", "Beam search"), nullptr, makeByInput<BeamsPanel, NothingForPictures>},
};

} // namespace

std::span<const PanelDescriptor> panelCatalogue() { return kPanels; }

QString panelTitle(const PanelDescriptor& descriptor) {
    return QCoreApplication::translate("attn::Panel", descriptor.title);
}

} // namespace attn
