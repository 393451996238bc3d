#include "app/lab/shell/measure_window.h"

#include "app/lab/shell/main_window.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/map_grid.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/thumbnail_grid_view.h"

#include <QAction>
#include <QApplication>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPlainTextEdit>
#include <QTimer>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

namespace attn {
namespace {

constexpr int kRepetitions = 20;
constexpr int kLongestMs = 20'000;
constexpr int kRestMs = 400; ///< between two actions, so that animations and refinements of the last one are over

/// Notices the first paint event of a widget, or of one in it, that comes while a condition holds.
class PaintWatch : public QObject {
public:
    explicit PaintWatch(QWidget& widget) : widget_(widget) { qApp->installEventFilter(this); }
    void start(std::function<bool()> condition) {
        condition_ = std::move(condition);
        isSeen_ = false;
    }
    bool isSeen() const { return isSeen_; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Paint && !isSeen_ && condition_ && isHere(watched)) isSeen_ = condition_();
        return QObject::eventFilter(watched, event);
    }

private:
    bool isHere(const QObject* watched) const {
        for (; watched; watched = watched->parent())
            if (watched == &widget_) return true;
        return false;
    }

    QWidget& widget_;
    std::function<bool()> condition_;
    bool isSeen_ = false;
};

void runFor(int ms) {
    QElapsedTimer since;
    for (since.start(); since.elapsed() < ms; std::this_thread::sleep_for(std::chrono::microseconds(500)))
        QCoreApplication::processEvents();
}

/// @return milliseconds until the widget has been painted while the condition holds; -1 on a time-out
double timeOf(const std::function<void()>& action, std::function<bool()> condition, PaintWatch& paints) {
    QElapsedTimer since;
    since.start();
    paints.start(std::move(condition));
    action();
    while (since.elapsed() < kLongestMs) {
        QCoreApplication::processEvents();
        if (paints.isSeen()) return static_cast<double>(since.nsecsElapsed()) / 1e6;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return -1;
}

void print(const char* what, std::vector<double> times) {
    std::ranges::sort(times);
    if (times.size() == 1)
        std::printf("%-40s %8.1f ms\n", what, times.front());
    else
        std::printf("%-40s %8.1f ms   longest %.1f ms of %zu\n", what, times[times.size() / 2], times.back(),
                    times.size());
    std::fflush(stdout);
}

class Measurement {
public:
    explicit Measurement(MainWindow& window) : window_(window), bench_(window.workbench()) {}

    void firstOpenings() {
        PaintWatch maps(*window_.findChild<MapGrid*>()), head(child<HeatmapView>("attentionHeatmap")),
            state(child<QWidget>("trainState"));
        print("first opening: playground's maps",
              {timeOf([&] { trigger("workspace.build"); },
                      [&] { return !bench_.playground().snapshot()->maps.empty(); }, maps)});
        rest();
        print("first opening: a head's heatmap", {timeOf([&] { trigger("workspace.inspect"); },
                                                         [&] { return bench_.snapshot()->detail != nullptr; }, head)});
        for (const char* id : {"lenses", "kinds", "interventions", "profile", "heads", "curves", "compare", "start"}) {
            rest();
            PaintWatch panel(child<Panel>(id));
            print((std::string("first opening: panel ") + id).c_str(),
                  {timeOf([&] { trigger((std::string("panel.") + id).c_str()); }, [] { return true; }, panel)});
        }
        rest();
        trigger("workspace.train");
        rest();
        const auto& training = bench_.training();
        print("first opening: first step of training",
              {timeOf([&] { trigger("trainPlay"); }, [&] { return training.snapshot()->step > 0; }, state)});
        trigger("trainPlay");
        rest();
        PaintWatch picture(child<PatchOverlayView>("attentionPicture"));
        trigger("panel.attention");
        trigger("attentionHead");
        print("first opening: attention of a picture",
              {timeOf([&] { window_.open("builtin:vit-shapes"); }, [&] { return bench_.snapshot()->answer != nullptr; },
                      picture)});
        rest();
        trigger("new");
        wait([&] { return !bench_.readsPictures() && bench_.snapshot()->sequence; });
    }

    void keys() {
        trigger("workspace.write");
        trigger("panel.attention");
        trigger("attentionAll");
        rest();
        auto& prompt = child<QPlainTextEdit>("prompt");
        prompt.setFocus();
        prompt.moveCursor(QTextCursor::End);
        PaintWatch paints(child<ThumbnailGridView>("attentionGrid"));
        std::vector<double> times;
        const QString text = QStringLiteral(" and then we went home");
        for (int i = 0; i < kRepetitions; ++i) {
            rest();
            const auto before = bench_.snapshot()->sequence;
            times.push_back(timeOf([&] { type(prompt, text[i]); },
                                   [&] { return bench_.snapshot()->sequence != before && bench_.snapshot()->grid; },
                                   paints));
        }
        print("key in the prompt to views", times);
    }

    void thumbnails() {
        auto& grid = child<ThumbnailGridView>("attentionGrid");
        PaintWatch paints(child<HeatmapView>("attentionHeatmap"));
        std::vector<double> times;
        for (int i = 0; i < kRepetitions; ++i) {
            trigger("attentionAll");
            rest();
            const int site = i % bench_.snapshot()->model->layers, head = (i / 2) % bench_.snapshot()->model->heads;
            const QRectF thumbnail = grid.figure().thumbnailRect(grid.figureLayout(), site, head);
            times.push_back(timeOf([&] { click(grid, thumbnail.center()); },
                                   [&] {
                                       const auto& tile = bench_.snapshot()->detail;
                                       return tile && tile->site == site && tile->head == head;
                                   },
                                   paints));
        }
        print("click on a thumbnail to its heatmap", times);
    }

    void textSize() {
        PaintWatch paints(window_);
        const auto size = [] { return QApplication::font().pointSizeF(); };
        std::vector<double> times;
        for (const char* step :
             {"textLarger", "textLarger", "textLarger", "textSmaller", "textSmaller", "textSmaller"}) {
            rest();
            const double before = size();
            times.push_back(timeOf([&] { trigger(step); },
                                   [&] { return size() != before && window_.font().pointSizeF() == size(); }, paints));
        }
        print("a step of the text size", times);
    }

    /// The time between two frames of a clock of 60 Hz while a model trains: what another part of the window would have
    /// to wait for.
    void trainingFrames() {
        constexpr int kFrameMs = 16, kTrainingMs = 10'000;
        trigger("workspace.train");
        rest();
        const auto& training = bench_.training();
        const auto first = training.snapshot()->step;
        trigger("trainPlay");
        wait([&] { return training.snapshot()->step > first; });
        std::vector<double> times;
        QElapsedTimer since;
        QTimer frames;
        frames.setTimerType(Qt::PreciseTimer);
        QObject::connect(&frames, &QTimer::timeout, [&] {
            times.push_back(static_cast<double>(since.nsecsElapsed()) / 1e6);
            since.start();
        });
        const auto begin = training.snapshot()->step;
        since.start();
        frames.start(kFrameMs);
        runFor(kTrainingMs);
        frames.stop();
        std::printf("%-40s %8lld\n", "steps of training in 10 s",
                    static_cast<long long>(training.snapshot()->step - begin));
        print("from frame to frame while training", times);
        trigger("trainPlay");
    }

private:
    template <class T> T& child(const char* name) { return *window_.findChild<T*>(name); }
    void trigger(const char* action) { child<QAction>(action).trigger(); }
    void wait(const std::function<bool()>& condition) {
        QElapsedTimer since;
        for (since.start(); !condition() && since.elapsed() < kLongestMs;) runFor(5);
    }
    void rest() {
        runFor(kRestMs);
        wait([&] { return window_.bridge().latest()->status.activity == Activity::Idle && !window_.isOpening(); });
    }
    static void type(QWidget& widget, QChar letter) {
        for (const QEvent::Type kind : {QEvent::KeyPress, QEvent::KeyRelease}) {
            QKeyEvent event(kind, letter.toUpper().unicode(), Qt::NoModifier, letter);
            QApplication::sendEvent(&widget, &event);
        }
    }
    static void click(QWidget& widget, const QPointF& at) {
        for (const QEvent::Type kind : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
            QMouseEvent event(kind, at, widget.mapToGlobal(at), Qt::LeftButton, Qt::LeftButton, Qt::NoModifier);
            QApplication::sendEvent(&widget, &event);
        }
    }

    MainWindow& window_;
    Workbench& bench_;
};

} // namespace

void measureAndQuit(MainWindow& window) {
    Measurement measurement(window);
    measurement.firstOpenings();
    measurement.keys();
    measurement.thumbnails();
    measurement.textSize();
    measurement.trainingFrames();
    QApplication::exit(0);
}

} // namespace attn
