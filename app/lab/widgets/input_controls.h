#pragma once

#include "app/lab/playground_setup.h"

#include <QJsonObject>
#include <QWidget>

class QComboBox;
class QLabel;

namespace attn {

class ParamControls;

/// Where the queries, keys and values come from: random numbers, a sentence through a layer of the open model, or the
/// patches of a picture.
class InputControls : public QWidget {
    Q_OBJECT

public:
    explicit InputControls(QWidget* parent = nullptr);

    void setSetup(const PlaygroundSetup& setup);
    /// The model and its sequence, for the sentence.
    void setSnapshot(const Snapshot& snapshot);

    static constexpr int kMostTokens = 256, kMostDoublings = 6;
    /// With the tokens and the window that the choice makes of random numbers.
    static PlaygroundSetup completed(PlaygroundSetup setup);
    /// What a session file says, within what exists.
    static PlaygroundSetup restored(const QJsonObject& view, PlaygroundSetup first);
    static QJsonObject saved(const PlaygroundSetup& setup);

signals:
    /// @param what was changed, for undo
    void changed(const attn::PlaygroundSetup& setup, const QString& what);

private:
    void choosePicture(int index);
    void set(const QString& id, double value);
    void showSentence();

    PlaygroundSetup setup_;
    QComboBox *kind_, *picture_;
    QLabel* sentence_;
    ParamControls *tokens_, *part_, *layer_, *grid_, *numbers_;
    QString text_; ///< of the sequence; empty: none
    QString model_;
    int layers_ = 0;
};

} // namespace attn
