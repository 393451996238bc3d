#pragma once

#include "app/lab/common/playground_setup.h"

#include <QJsonObject>
#include <QWidget>

class QComboBox;
class QLabel;

namespace attn {

class ParamControls;
struct Snapshot;

/// Chooses the queries, keys and values: random numbers, a sentence in one layer of the open model, or the patches of a
/// picture.
class InputControls : public QWidget {
    Q_OBJECT

public:
    explicit InputControls(QWidget* parent = nullptr);

    void setSetup(const PlaygroundSetup& setup);
    /// Sets the model and the text that the sentence input uses.
    void setSnapshot(const Snapshot& snapshot);

    static constexpr int kMostTokens = 256, kMostDoublings = 6;
    /// @return the setup with the tokens and the window that follow from its choice of random numbers
    static PlaygroundSetup completed(PlaygroundSetup setup);
    /// @return the setup of a session file, limited to valid values
    static PlaygroundSetup restored(const QJsonObject& view, PlaygroundSetup first);
    /// Whether a spec, applied to the queries, keys and values of a model's layer, is the attention of that layer.
    /// Ignores the block around it.
    static bool isOwn(const AttentionSpec& spec, AttentionSpec own);
    static QJsonObject saved(const PlaygroundSetup& setup);

signals:
    /// @param what the changed setting, for undo
    void changed(const attn::PlaygroundSetup& setup, const QString& what);

private:
    void choosePicture(int index);
    void set(const QString& id, double value);
    void showSentence();

    PlaygroundSetup setup_;
    QComboBox *kind_, *picture_;
    QLabel* sentence_;
    ParamControls *tokens_, *part_, *layer_, *grid_, *numbers_;
    QString text_; ///< the prompt; empty: none
    QString model_;
    int layers_ = 0;
};

} // namespace attn
