#include "app/lab/dialogs/storage_dialog.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/widgets/status_strip.h"

#include <QPointer>

namespace attn {

void MainWindow::askStorage(const StorageChoice& model, Storage storage, const QString& accept,
                            std::function<void(Storage)> chosen, std::function<void()> cancelled) {
    auto* dialog = new StorageDialog(model, storage, accept, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [dialog, chosen = std::move(chosen)] { chosen(dialog->storage()); });
    if (cancelled) connect(dialog, &QDialog::rejected, this, std::move(cancelled));
    dialog->open();
    connect(dialog, &QDialog::finished, this, [this] { measuring_.cancel(); });
    measuring_.start<WeightSpeed>(
        "storage", // nobody reads why there is no speed: opening the model says so
        [choice = bench_.device(), model](const std::atomic<bool>& isStopped) {
            return measureWeightSpeed(choice, model, [&] { return isStopped.load(); });
        },
        [dialog = QPointer(dialog)](std::variant<WeightSpeed, Failure> measured) {
            if (!dialog) return;
            if (const auto* speed = std::get_if<WeightSpeed>(&measured))
                dialog->setSpeed(*speed);
            else
                dialog->setSpeedUnknown();
        },
        tr("Measure how fast the weights are read").toStdString());
}

void MainWindow::changeStorage() {
    const QString path = QString::fromStdString(bench_.snapshot()->path());
    opening_.start<StorageChoice>(
        path.toStdString(), [path](const std::atomic<bool>&) { return storageChoice(path.toStdString()); },
        [this, path](std::variant<StorageChoice, Failure> found) {
            status_->setWork({});
            if (const auto* failure = std::get_if<Failure>(&found)) return showFailure(*failure);
            const Storage now = bench_.hasModel() ? bench_.snapshot()->model->storage : Storage::F32;
            askStorage(std::get<StorageChoice>(found), now, tr("Open again"), [this, path, now](Storage storage) {
                if (storage == now || !bench_.hasModel()) return;
                if (!path.startsWith("builtin:")) rememberStorage(path, storage);
                SessionDocument next = document();
                next.storage = storage;
                pushModelStep(
                    tr("keeping weights as %1").arg(QString::fromStdString(std::string(storageName(storage)))), path,
                    [this, next] { bringBack(next); });
                bringBack(next);
            });
        });
    showOpening(path);
}

} // namespace attn
