#pragma once

#include "app/lab/shell/window_parts.h"

#include <QList>
#include <QObject>

namespace attn {

class PresentStrip;

/// Shows one figure to a room: the attention, the text, and what the model answers. Everything else is out of sight,
/// and keys choose the head, the layer and the token.
class Presentation : public QObject {
    Q_OBJECT

public:
    explicit Presentation(const WindowParts& parts);
    ~Presentation() override;

    bool isOn() const { return strip_ != nullptr; }
    void toggle(); ///< @pre a model is open
    /// Starts once a model is open and restored, if the theme is that of a projector and the window is small.
    void startOnSmallScreen() { isExpected_ = true; }
    void goOn(); ///< a snapshot is on screen, and nothing is being restored

signals:
    void changed();
    void tokenAsked(); ///< the model is to write one

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void start();
    void end(); ///< the other panels are back
    void press(int key);
    void moveToken(int by);

    WindowParts parts_;
    PresentStrip* strip_ = nullptr; ///< null: off
    QList<QWidget*> hidden_;        ///< the other bars
    bool isExpected_ = false;
};

} // namespace attn
