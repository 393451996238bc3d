#include "app/lab/dialogs/lock_dialog.h"

#include "app/lab/common/fit_screen.h"
#include "app/lab/widgets/widget_makers.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QPushButton>
#include <QScrollArea>

#include <algorithm>
#include <initializer_list>

namespace attn {
namespace {

/// Locks for a common use. Groups that are not named are free.
struct Preset {
    const char* title;
    const char* help;
    std::initializer_list<const char*> locked, hidden;
};

constexpr Preset kPresets[] = {
    {QT_TRANSLATE_NOOP("attn::LockDialog", "Read only"),
     QT_TRANSLATE_NOOP("attn::LockDialog", "Students look at everything and change nothing."),
     {"files", "prompt", "generation", "sampling", "candidates", "branches", "heads", "recipe", "training", "runs",
      "playground", "vision"},
     {}},
    {QT_TRANSLATE_NOOP("attn::LockDialog", "One head"),
     QT_TRANSLATE_NOOP("attn::LockDialog", "Students type and write, and see the head that you have chosen."),
     {"attention"},
     {"files", "sampling", "candidates", "branches", "heads", "model", "recipe", "training", "timeline", "runs",
      "playground", "vision", "inspect", "export"}},
    {QT_TRANSLATE_NOOP("attn::LockDialog", "Exam"),
     QT_TRANSLATE_NOOP("attn::LockDialog",
                       "Students see the attention of your text. What would tell the answers is hidden."),
     {"prompt", "generation"},
     {"files", "sampling", "candidates", "heads", "branches", "cell", "model", "recipe", "training", "timeline", "runs",
      "playground", "vision", "inspect", "export"}},
};

} // namespace

LockDialog::LockDialog(const ControlLocks& locks, QWidget* parent) : QDialog(parent) {
    setWindowTitle(tr("Lock for class"));
    auto* column = new QVBoxLayout(this);
    auto* lead =
        makeTextLabel({}, tr("Choose which controls your class may use, then save the session and hand out the file. "
                             "A locked control is visible but disabled. A hidden control does not appear. "
                             "Open this dialog again to unlock the controls."));
    column->addWidget(lead);
    auto* form = new QFormLayout;
    auto* presets = named(new QComboBox, "lockPreset", tr("Preset"), tr("Set all of the groups below at once"));
    presets->setPlaceholderText(tr("Choose a preset"));
    for (const Preset& preset : kPresets) {
        presets->addItem(tr(preset.title));
        presets->setItemData(presets->count() - 1, tr(preset.help), Qt::ToolTipRole);
    }
    presets->setCurrentIndex(-1);
    auto* meaning = makeHintLabel("lockPresetMeaning");
    connect(presets, &QComboBox::activated, this, [this, meaning](int preset) {
        use(preset);
        meaning->setText(tr(kPresets[preset].help));
    });
    auto* chosen = makeRow({labelFor(presets, tr("&Preset")), {presets, 1}});
    chosen->setSpacing(spacing::kWide);
    column->addLayout(chosen);
    column->addWidget(meaning);
    for (const ControlGroup& group : controlGroups()) {
        const QString title = QCoreApplication::translate("attn::ControlGroup", group.title);
        auto* choice = new QComboBox(this);
        choice->addItems({tr("Free"), tr("Locked"), tr("Hidden")});
        choice->setCurrentIndex(static_cast<int>(locks.value(group.id, ControlState::Free)));
        choice->setAccessibleName(title);
        choice->setToolTip(tr("Lock or hide: %1").arg(title));
        auto* label = plainLabel(title, this);
        label->setBuddy(choice);
        form->addRow(label, choice);
        choices_[group.id] = choice;
    }
    // More lines than a small screen with large type has room for.
    auto* content = new QWidget;
    content->setLayout(form);
    auto* scroll = spoken(new QScrollArea, "lockGroups", tr("Groups of controls"));
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidget(content);
    column->addWidget(scroll, 1);
    auto* buttons =
        new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel | QDialogButtonBox::Reset, this);
    buttons->button(QDialogButtonBox::Reset)->setText(tr("Unlock everything"));
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons->button(QDialogButtonBox::Reset), &QPushButton::clicked, this, [this, presets, meaning] {
        presets->setCurrentIndex(-1);
        meaning->clear();
        for (QComboBox* choice : std::as_const(choices_)) choice->setCurrentIndex(0);
    });
    column->addWidget(buttons);
    resize(sizeHint().width(), content->sizeHint().height() + fontMetrics().height() * 12);
    fitScreen(*this);
}

void LockDialog::use(int preset) {
    const auto isIn = [](std::initializer_list<const char*> ids, const QString& id) {
        return std::ranges::any_of(ids, [&](const char* each) { return id == QLatin1String(each); });
    };
    for (auto it = choices_.begin(); it != choices_.end(); ++it) {
        const ControlState state = isIn(kPresets[preset].hidden, it.key())   ? ControlState::Hidden
                                   : isIn(kPresets[preset].locked, it.key()) ? ControlState::Locked
                                                                             : ControlState::Free;
        it.value()->setCurrentIndex(static_cast<int>(state));
    }
}

ControlLocks LockDialog::locks() const {
    ControlLocks locks;
    for (auto it = choices_.begin(); it != choices_.end(); ++it)
        if (it.value()->currentIndex() > 0) locks[it.key()] = static_cast<ControlState>(it.value()->currentIndex());
    return locks;
}

} // namespace attn
