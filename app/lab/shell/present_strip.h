#pragma once

#include <QToolBar>

class QLabel;

namespace attn {

class CandidateModel;
class ElidedLabel;
class TokenStrip;
class Workbench;
struct Snapshot;

/// What stands below the figure while it is presented: the source of a translation; the text, in which a click selects
/// a token; the most probable answers of the model; and the keys.
class PresentStrip : public QToolBar {
    Q_OBJECT

public:
    explicit PresentStrip(Workbench& bench, QWidget* parent = nullptr);

signals:
    void left(); ///< the user has asked for the whole window

private:
    void showRun(); ///< the text and the answers
    void showPlace();
    QString answers(const Snapshot& snapshot) const; ///< empty: there are none
    QString titleOf(const Snapshot& snapshot) const; ///< of the answers
    bool isAtSource() const;                         ///< whether the words are those of the source

    Workbench& bench_;
    ElidedLabel* source_;
    TokenStrip* words_;
    QLabel *place_, *answers_, *keys_;
    CandidateModel* candidates_;
};

} // namespace attn
