#include "app/lab/dialogs/preferences_dialog.h"

#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/gpu/device_list.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QSpinBox>

#include <algorithm>

namespace attn {

PreferencesDialog::PreferencesDialog(const Preferences& preferences, QWidget* parent)
    : QDialog(parent), theme_(new QComboBox(this)), textSize_(new WholeBox(this)), device_(new QComboBox(this)),
      threads_(new WholeBox(this)), kernels_(new QComboBox(this)),
      autosaves_(new QCheckBox(tr("Save the session every 10 seconds, and open it at the next start"), this)),
      moves_(new QCheckBox(tr("Animate what changes on screen"), this)) {
    setWindowTitle(tr("Preferences"));
    auto* form = new QFormLayout(this);
    const auto addRow = [&](const QString& title, QWidget* field, const QString& help) {
        field->setAccessibleName(title);
        field->setToolTip(help);
        form->addRow(title, field);
    };
    theme_->addItem(tr("Light"), themeKey(ThemeId::Light));
    theme_->addItem(tr("Dark"), themeKey(ThemeId::Dark));
    theme_->addItem(tr("Projector"), themeKey(ThemeId::Projector));
    theme_->setCurrentIndex(theme_->findData(themeKey(preferences.theme)));
    addRow(tr("Theme"), theme_, tr("The projector theme has large text and high contrast"));
    textSize_->setRange(60, 250);
    textSize_->setSingleStep(10);
    textSize_->setSuffix(tr(" %"));
    textSize_->setValue(preferences.textSize);
    addRow(tr("Text size"), textSize_, tr("Size of all text, relative to the theme's own size"));
    device_->setEditable(true);
    device_->addItem(tr("Automatic: the fastest"), QString());
    for (const gpu::DeviceInfo& device : gpu::listDevices())
        if (device.unusableBecause.empty())
            device_->addItem(QString::fromStdString(device.traits.name), QString::fromStdString(device.traits.name));
    if (!preferences.device.isEmpty()) {
        if (device_->findData(preferences.device) < 0) device_->addItem(preferences.device, preferences.device);
        device_->setCurrentIndex(device_->findData(preferences.device));
    }
    addRow(tr("Compute device"), device_, tr("The number of a Vulkan device or part of its name"));
    threads_->setRange(-1, 256);
    threads_->setSpecialValueText(tr("Chosen by the model"));
    threads_->setValue(preferences.softwareThreads);
    addRow(tr("Software Vulkan threads"), threads_, tr("The number of threads of Mesa's software device"));
    kernels_->addItem(tr("Automatic: the fastest"), "auto");
    kernels_->addItem(tr("Shaders, on any device"), "shader");
    kernels_->setCurrentIndex(std::max(kernels_->findData(preferences.kernels), 0));
    addRow(
        tr("Kernels"), kernels_,
        tr("Where the compute device is the processor, kernels of the processor are several times as fast as shaders. "
           "A graphics card always runs shaders."));
    autosaves_->setChecked(preferences.autosaves);
    autosaves_->setAccessibleName(tr("Autosave"));
    autosaves_->setToolTip(tr("Saves a copy in the program's own folder and never changes your session files"));
    form->addRow(autosaves_);
    moves_->setChecked(preferences.moves);
    moves_->setAccessibleName(tr("Motion"));
    moves_->setToolTip(tr("Columns and messages slide in. Switch this off if motion disturbs you."));
    form->addRow(moves_);
    auto* note = plainLabel(
        tr("A new device, number of threads or choice of kernels takes effect when you restart the program."), this);
    note->setProperty("hint", true);
    form->addRow(note);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    form->addRow(buttons);
}

Preferences PreferencesDialog::preferences() const {
    // Typed text is a device name. A listed entry contains its device as data.
    const int chosen = device_->findText(device_->currentText());
    return {.theme = themeFromKey(theme_->currentData().toString()),
            .textSize = textSize_->value(),
            .device = chosen >= 0 ? device_->itemData(chosen).toString() : device_->currentText().trimmed(),
            .softwareThreads = threads_->value(),
            .kernels = kernels_->currentData().toString(),
            .autosaves = autosaves_->isChecked(),
            .moves = moves_->isChecked()};
}

} // namespace attn
