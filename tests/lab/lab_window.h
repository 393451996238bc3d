#pragma once

#include "app/lab/shell/main_window.h"
#include "app/lab/widgets/banner.h"
#include "engine/analysis/analysis.h"
#include "tests/support/catch.h"

#include <QtTest>
#include <QtWidgets>

namespace attn {

/// Makes the one application of all tests if there is none yet, and keeps settings in a folder from now on.
void makeApplication(const QString& folder);

/// The real window on the real session, with settings of its own. Made once per test; the application lives on.
class LabWindow {
public:
    /// @param opens what the user opens besides `path`
    explicit LabWindow(const QString& path = "builtin:induction", const QString& prompt = {},
                       const QStringList& opens = {});

    MainWindow& window() { return *window_; }
    QString folder() const { return folder_.path(); }

    /// Runs the event loop until the condition holds.
    /// @return false after the time-out
    bool waitFor(const std::function<bool()>& condition, int timeoutMs = 300'000);
    /// The time that ends a step of undo goes by; the clock of undo stands still otherwise.
    void pause();
    /// Until no command is waiting and the newest snapshot is on screen.
    bool settle();
    /// Saves the session and waits until it is written.
    void saveSession(const QString& path);

    const Snapshot& snapshot() { return *window_->workbench().snapshot(); }
    std::string text() { return snapshot().sequence->text; }

    template <class T> T& find(const char* name) {
        T* found = window_->findChild<T*>(QString::fromLatin1(name));
        if (!found) throw std::runtime_error(std::string("no widget is named ") + name);
        return *found;
    }
    QAction& action(const char* name) { return find<QAction>(name); }
    void press(const QAction& action);
    /// Presses the keys of an action, and waits until the window has settled.
    void act(const char* name);
    /// Clicks a button.
    void click(const char* button);
    void clickAndSettle(const char* button);
    /// Until widgets stand where their contents put them.
    void layOut();
    /// Sets the gate of a head beside the other changes, without a step of undo.
    void closeGate(int site, int head, float gate);
    /// Brings a panel to the front.
    void showPanel(const char* id);

    /// The arguments of every scope that was asked for; none is started.
    const std::vector<QStringList>& startedScopes() const { return startedScopes_; }

    /// Every command since the last call of forget().
    const std::vector<Command>& posted() const { return posted_; }
    void forget() { posted_.clear(); }
    template <class T> std::vector<T> postedOf() const {
        std::vector<T> found;
        for (const Command& command : posted_)
            if (const T* match = std::get_if<T>(&command)) found.push_back(*match);
        return found;
    }
    /// How many analyses of a kind were asked for.
    template <class T> size_t askedOf() const {
        size_t count = 0;
        for (const auto& command : postedOf<RunAnalysisCommand>()) count += command.analysis->key() == T{}.key();
        return count;
    }

private:
    QTemporaryDir folder_;
    std::vector<Command> posted_;
    std::vector<QStringList> startedScopes_;
    qint64 undoTimeMs_ = 0;
    std::unique_ptr<MainWindow> window_;
};

/// The sentence that refuses a file, empty if it was read.
template <class Read> std::string refusal(const std::variant<Read, Failure>& result) {
    const auto* failure = std::get_if<Failure>(&result);
    return failure ? failure->sentence() : std::string();
}

/// JSON of an object with fields of another, given as JSON, in the place of its own.
QByteArray withFields(QJsonObject object, const std::string& fields);

/// Writes a file.
void writeText(const QString& path, const QByteArray& text);

/// The banner in a bar of the window: "failureBanner" or "offerBanner".
Banner& banner(LabWindow& lab, const char* bar);

} // namespace attn
