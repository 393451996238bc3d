#pragma once

#include "app/lab/workbench/panel.h"

#include <QStringList>

#include <functional>

class QScrollArea;
class QToolButton;
class QVBoxLayout;

namespace attn {

/// The ways to start: three short tours, what can be continued, and the bundled models, each with an image.
class StartPanel : public Panel {
    Q_OBJECT

public:
    /// The work that the user can continue.
    struct Offers {
        QString lesson;      ///< title of the unfinished lesson; empty: none
        QStringList recent;  ///< paths
        bool mayOpen = true; ///< false: opening is locked
        bool operator==(const Offers&) const = default;
    };
    enum class Tour { Write, Look, Train };

    explicit StartPanel(Workbench& bench, QWidget* parent = nullptr);

    /// What a bundled model does: "translates numbers in words"; empty: nobody has said it.
    static QString blurbOf(const QString& model);
    void setOffers(const Offers& offers);

signals:
    void tourChosen(attn::StartPanel::Tour tour);
    void lessonContinued();
    void openAsked();
    void lessonsAsked();

private:
    void makeContent();
    void makeTours(QVBoxLayout* column);
    void makeContinue(QVBoxLayout* column);
    void makeModels(QVBoxLayout* column);
    QToolButton* card(const QString& name, const QString& text, const QString& help, std::function<void()> chosen);

    Offers offers_;
    QScrollArea* scroll_;
};

} // namespace attn
