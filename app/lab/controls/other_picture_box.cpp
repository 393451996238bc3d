#include "app/lab/controls/other_picture_box.h"

#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/picture_bench.h"

#include <QSignalBlocker>

#include <algorithm>

namespace attn {

OtherPictureBox::OtherPictureBox(const char* id, Workbench& bench) : bench_(bench) {
    named(this, id, tr("Other picture"),
          tr("The picture whose run is compared, and whose values are used by changes and by activation patching"));
    setLeastCharacters(*this, 6);
    connect(this, &QComboBox::activated, this, [this](int item) { choose(itemData(item).toString()); });
    for (const auto signal : {&PictureBench::changed, &PictureBench::choicesChanged})
        connect(&bench.pictures(), signal, this, &OtherPictureBox::list);
    list();
}

void OtherPictureBox::list() {
    const QSignalBlocker quiet(this);
    clear();
    addItem(tr("no other picture"), QString());
    for (const auto& [title, name] : bench_.pictures().choices()) addItem(title, name);
    addItem(tr("From a file…"), QStringLiteral("file:"));
    setCurrentIndex(std::max(0, findData(bench_.pictures().setup().otherName)));
}

void OtherPictureBox::choose(const QString& name) {
    if (name != QLatin1String("file:")) return bench_.pictures().requestOther(name);
    auto* dialog = makeFileDialog(this, tr("Choose a picture"), QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, &bench_.pictures(), &PictureBench::requestOther);
    connect(dialog, &QFileDialog::finished, this, &OtherPictureBox::list);
    dialog->open();
}

} // namespace attn
