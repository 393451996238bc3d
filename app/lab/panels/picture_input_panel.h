#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/picture_files.h"
#include "app/lab/workbench/workbench.h"
#include "engine/core/failure.h"
#include "engine/io/image.h"

#include <QString>
#include <QStringList>

#include <atomic>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

class QCheckBox;
class QComboBox;
class QLabel;
class QMimeData;
class QPushButton;

namespace attn {

/// Takes the picture for a vision model: built in, from the model's examples, from a file or a folder, dropped or
/// pasted. Hides patches of it.
class PictureInputPanel : public Panel {
    Q_OBJECT

public:
    explicit PictureInputPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QString titleNow() const override { return tr("Picture"); }
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;

    /// Opens a built-in picture or a file. Shows a message if it cannot be read.
    void openPicture(const QString& name);
    /// Lists the pictures of a folder by name and opens the first. Shows a message if there are none.
    void openPictures(const QString& folder);
    /// Reads the picture that changes and analyses copy values from. @param name empty: none  @param pixels as session
    /// files keep them; empty: read the file of that name
    void openOther(const QString& name, const QString& pixels = {});
    /// Whether a picture or a folder is being read that is to be opened.
    bool isReading() const { return reading_.isRunning() || readingOther_.isRunning() || listingExamples_.isRunning(); }
    void cancelReading();

signals:
    /// @param what is being read, a sentence; empty: nothing more
    void readingChanged(const QString& what);

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    /// Lists the pictures that belong to the model, and shows the first unless a picture was chosen for it.
    void listExamples();
    /// Starts a task that the window shows and can cancel.
    template <class Result>
    void read(BackgroundTask& task, const QString& name,
              std::function<std::variant<Result, Failure>(const std::atomic<bool>& isStopped)> work,
              std::function<void(std::variant<Result, Failure>)> done);
    void stop(BackgroundTask& task);
    using Reader = std::function<void(const QString& name, const std::shared_ptr<const Image>& picture)>;
    /// Reads a picture: a built-in one at once, a file on another thread. @param pixels of a session file; empty: read
    /// the file of that name  @param then gets null after a failure, which is shown
    void readAside(BackgroundTask& task, const QString& name, const QString& pixels, Reader then);
    void decodeAside(BackgroundTask& task, const QString& name, std::function<std::variant<Image, Failure>()> decode,
                     Reader then);
    /// Shows the picture of a session file, without a step of undo.
    void restorePicture(const QString& name, const QString& pixels, const std::vector<int>& hidden);
    QString keptText(const QString& name, const std::shared_ptr<const Image>& picture) const;
    Reader opener(); ///< shows the picture that was read
    /// Opens a picture that was dropped or copied. @param name shown on screen  @return false if there is none
    bool openData(const QMimeData& mime, const QString& name);
    void showPictures(const QString& folder, QStringList paths);
    /// Shows another picture without hidden patches.
    /// @param isOfStep another step of undo leads back from it
    void editPicture(const QString& name, std::shared_ptr<const Image> picture, bool isOfStep = false);
    /// The same without a step of undo. @param hidden patches
    void showPicture(const QString& name, const std::shared_ptr<const Image>& picture,
                     const std::vector<int>& hidden = {});
    bool isModelComing() const; ///< a picture that is chosen now is for the next model
    /// Gives the chosen picture to a model that waits for one.
    void endWaiting();
    void showProblem(const QString& text);
    void choosePicture(int index);
    void pastePicture();
    void drawPicture();
    void listPictures();
    void showSetup();
    void showModel();
    void showMessage();
    void cross(int patch, bool isFirst);

    PictureBench& pictures_;
    mutable KeptPictures kept_; ///< of the last saved sessions
    std::shared_ptr<const Snapshot> snapshot_;
    QStringList examples_, others_;         ///< paths: of the model, and of an opened folder
    QString task_;                          ///< what the model was trained to do; empty: its folder does not say
    double brightness_ = 0.5;               ///< of the examples, from 0 to 1
    PictureSetup before_;                   ///< before a drag over patches
    bool hidesMore_ = true;                 ///< whether the drag hides patches or shows them
    BackgroundTask reading_, readingOther_; ///< of the picture or a folder, and of the other picture
    BackgroundTask listingExamples_;
    QString problem_;           ///< of the last picture or folder; empty: it could be read
    bool picksExample_ = false; ///< the model that was opened waits for the first of its examples
    bool isChosen_ = false;     ///< a picture was chosen for a model that is still loading

    QWidget* controls_;
    QLabel *modelText_, *message_;
    QComboBox* picture_;
    QCheckBox* hide_;
    QPushButton* showAll_;
};

} // namespace attn
