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

template <class Page> Panel* ofTexts(Workbench& bench, QWidget* parent) {
    return new ByInputPanel(bench, {{AxisKind::Tokens, new Page(bench)}}, parent);
}

template <class Text, class Picture> Panel* ofBoth(Workbench& bench, QWidget* parent) {
    return new ByInputPanel(bench, {{AxisKind::Tokens, new Text(bench)}, {AxisKind::Patches, new Picture(bench)}},
                            parent);
}

bool writesText(const ModelInfo& model) { return model.writesText(); }
bool readsTokens(const ModelInfo& model) { return model.inputAxis() == AxisKind::Tokens; }

constexpr PanelDescriptor kPanels[] = {
    {"generate", QT_TRANSLATE_NOOP("attn::Panel", "Generate"), nullptr, ofBoth<GeneratePanel, PictureInputPanel>},
    {"attention", QT_TRANSLATE_NOOP("attn::Panel", "Attention"), nullptr, make<AttentionPanel>},
    {"next", QT_TRANSLATE_NOOP("attn::Panel", "Next token"), nullptr, ofBoth<NextTokenPanel, PictureClasses>},
    {"branches", QT_TRANSLATE_NOOP("attn::Panel", "Branches"), nullptr, ofTexts<BranchesPanel>, writesText},
    {"heads", QT_TRANSLATE_NOOP("attn::Panel", "Heads"), nullptr, make<HeadsPanel>},
    {"profile", QT_TRANSLATE_NOOP("attn::Panel", "Profile"), nullptr, ofBoth<ProfilePanel, PictureProfile>},
    {"cell", QT_TRANSLATE_NOOP("attn::Panel", "One cell"), "cell", ofTexts<CellPanel>, readsTokens},
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
    {"text", QT_TRANSLATE_NOOP("attn::Panel", "Text"), "inspect", ofTexts<TextPanel>, writesText},
    {"beams", QT_TRANSLATE_NOOP("attn::Panel", "Beam search"), nullptr, ofTexts<BeamsPanel>, writesText},
};

} // namespace

std::span<const PanelDescriptor> panelCatalogue() { return kPanels; }

QString panelTitle(const PanelDescriptor& descriptor) {
    return QCoreApplication::translate("attn::Panel", descriptor.title);
}

} // namespace attn
