#include "app/lab/dialogs/storage_dialog.h"

#include "app/figures/drawing.h"
#include "app/figures/lens_answer.h"
#include "app/figures/token_label.h"
#include "app/lab/common/fit_screen.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/whole_rows.h"
#include "app/lab/widgets/widget_makers.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLocale>
#include <QPushButton>
#include <QTreeWidget>

#include <cmath>
#include <utility>

namespace attn {
namespace {

constexpr int kMemory = 1, kSpeed = 2; ///< columns

QString sizeText(int64_t bytes) { return QLocale().formattedDataSize(bytes, 1, QLocale::DataSizeIecFormat); }

QString nameOf(Storage storage) { return QString::fromStdString(std::string(storageName(storage))); }

/// A sentence about the precision of a storage, compared with the file.
QString describe(Storage storage, const std::string& dtype) {
    const QString name = nameOf(storage);
    const auto withBits = [&](int bits) {
        const bool isOfFile = QString::fromStdString(dtype).compare(name, Qt::CaseInsensitive) == 0;
        return isOfFile ? StorageDialog::tr("%1: %2 bits, as in the file").arg(name, QString::number(bits))
                        : StorageDialog::tr("%1: %2 bits, rounded").arg(name, QString::number(bits));
    };
    switch (storage) {
    case Storage::F32:
        return dtype == "F32" ? withBits(32) : StorageDialog::tr("%1: 32 bits, not rounded").arg(name);
    case Storage::F16:
    case Storage::BF16:
        return withBits(16);
    case Storage::Q8_0:
        return StorageDialog::tr("%1: about 8 bits, rounded").arg(name);
    case Storage::Q4_0:
        return StorageDialog::tr("%1: about 4 bits, rounded coarsely").arg(name);
    case Storage::Q4_K:
        return StorageDialog::tr("%1: about 4 bits, rounded less coarsely").arg(name);
    }
    return name;
}

/// A rate with two digits, because it is an estimate. @param rate 0: unknown
QString aboutText(double rate) {
    if (rate <= 0) return StorageDialog::tr("unknown");
    const double unit = std::pow(10, std::floor(std::log10(rate)) - 1);
    const double rounded = std::round(rate / unit) * unit;
    return StorageDialog::tr("about %1 tokens/s")
        .arg(unit < 1 ? formatFixed(static_cast<float>(rounded), 1) : grouped(std::llround(rounded)));
}

} // namespace

StorageDialog::StorageDialog(StorageChoice model, Storage storage, const QString& accept, QWidget* parent)
    : QDialog(parent), model_(std::move(model)),
      table_(makePlainTable(
          "storages", tr("How to keep the weights"), tr("Choose a row. The first one keeps the weights exactly."),
          {{tr("Weights"), tr("How a weight is kept: 32 or 16 bits, or 8 or 4 bits with a scale for each block")},
           {tr("Memory"), tr("The memory that all weights take on the device")},
           {tr("Speed of writing"), tr("An estimate for writing one token after another, after a short text")}})),
      note_(makeHintLabel("storageNote")) {
    setObjectName("storageDialog");
    setWindowTitle(tr("How to keep the weights"));
    const QString lead =
        model_.writes()
            ? tr("%1 has %2 parameters. With fewer bits for each weight, a model takes less memory, and a large one "
                 "writes faster, but its weights are rounded, and its answers change a little. If you are not sure, "
                 "choose the first row.")
            : tr("%1 has %2 parameters. With fewer bits for each weight, a model takes less memory, but its weights "
                 "are rounded, and its answers change a little. If you are not sure, choose the first row.");
    table_->setColumnHidden(kSpeed, !model_.writes());
    const int64_t bytesAsQ8 = model_.needs.at(static_cast<size_t>(Storage::Q8_0)).parameterBytes;
    for (const StorageNeeds& needs : model_.needs) {
        QString text = needs.isAsQ8 ? tr("%1 is the same as q8_0 for this model").arg(nameOf(needs.storage))
                                    : describe(needs.storage, model_.dtype);
        if (!needs.isAsQ8 && needs.storage != Storage::Q8_0 && needs.parameterBytes == bytesAsQ8)
            text += tr(", but it takes as much memory as q8_0"); // short rows are padded
        QTreeWidgetItem* row = addPlainRow(table_, {text, sizeText(needs.parameterBytes), tr("measuring …")});
        if (needs.storage == storage) table_->setCurrentItem(row);
    }
    new WholeRows(*table_, static_cast<int>(model_.needs.size()));
    note_->setText(tr("The program is measuring how fast the device is …"));
    note_->setAlignment(Qt::AlignTop);
    note_->setMinimumHeight(2 * note_->fontMetrics().lineSpacing() + spacing::kGap); // room for its final text
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    buttons->button(QDialogButtonBox::Ok)->setText(accept);
    buttons->button(QDialogButtonBox::Ok)->setObjectName("storageAccept");
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(table_, &QTreeWidget::itemDoubleClicked, this, &QDialog::accept);
    makeColumn(this, spacing::kWide,
               {makeTextLabel("storageLead", lead.arg(shownText(model_.name), grouped(model_.parameterCount))), table_,
                note_, room(), buttons});
    const int width = fontMetrics().averageCharWidth() * 84;
    resize(width, layout()->totalHeightForWidth(width)); // Qt's hint ignores that the texts wrap
    fitScreen(*this);
    table_->setFocus();
}

Storage StorageDialog::storage() const {
    return model_.needs.at(static_cast<size_t>(table_->indexOfTopLevelItem(table_->currentItem()))).storage;
}

void StorageDialog::setSpeed(const WeightSpeed& speed) {
    showSpeeds([&](size_t row) { return aboutText(speed.tokensPerSecond[row]); });
    const QString free = sizeText(static_cast<int64_t>(speed.freeBytes)), device = QString::fromStdString(speed.device);
    note_->setText(model_.writes()
                       ? tr("The speeds are estimates from a short measurement on %1. It has about %2 of free memory.")
                             .arg(device, free)
                       : tr("%1 has about %2 of free memory.").arg(device, free));
    for (size_t i = 0; i < model_.needs.size(); ++i)
        if (static_cast<uint64_t>(model_.needs[i].parameterBytes) > speed.freeBytes)
            table_->topLevelItem(static_cast<int>(i))
                ->setText(kMemory, tr("%1, too much").arg(sizeText(model_.needs[i].parameterBytes)));
}

void StorageDialog::setSpeedUnknown() {
    showSpeeds([](size_t) { return tr("unknown"); });
    note_->setText(tr("The speed of the device could not be measured."));
}

void StorageDialog::showSpeeds(const std::function<QString(size_t)>& textOf) {
    if (!model_.writes()) return;
    for (size_t i = 0; i < model_.needs.size(); ++i)
        table_->topLevelItem(static_cast<int>(i))->setText(kSpeed, textOf(i));
}

} // namespace attn
