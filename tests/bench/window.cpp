#include "app/lab/bridge/playground_bridge.h"
#include "app/lab/bridge/session_bridge.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/common/number_locale.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/shell/screenshot.h"
#include "app/lab/widgets/figure_view.h"
#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/widgets/map_grid.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/thumbnail_grid_view.h"
#include "tests/bench/benches.h"

#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QSlider>
#include <QStyle>
#include <QTemporaryDir>
#include <QTimer>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>

// Uses the window with keys and clicks as a person would, and prints how long it takes to answer.

namespace attn {
namespace {

constexpr int kRepetitions = 20;
constexpr int kLongestMs = 20'000;
constexpr int kRestMs = 400; ///< between two actions, so that animations and refinements of the last one are over
constexpr int kQuietMs = 50; ///< without a paint event, after which views count as complete

/// Notices the first paint event of some widgets, or of one in them, that comes while a condition holds.
class PaintWatch : public QObject {
public:
    explicit PaintWatch(QWidget& widget) : PaintWatch(std::vector<QWidget*>{&widget}) {}
    explicit PaintWatch(std::vector<QWidget*> widgets) : widgets_(std::move(widgets)) {
        qApp->installEventFilter(this);
    }
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
            if (std::ranges::find(widgets_, watched) != widgets_.end()) return true;
        return false;
    }

    std::vector<QWidget*> widgets_;
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
    if (times.empty())
        std::printf("%-40s no view was painted\n", what);
    else if (times.size() == 1)
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
              {timeOf([&] { window_.files().open("builtin:vit-shapes"); },
                      [&] { return bench_.snapshot()->answer != nullptr; }, picture)});
        rest();
        trigger("new");
        wait([&] { return bench_.reads(AxisKind::Tokens) && bench_.snapshot()->sequence; });
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

    /// Every slider that changes a view. Those of the speeds, of the weight to paint and of a recipe change only a
    /// number beside them; those of the first lesson change one small drawing.
    void sliders() {
        trigger("workspace.write");
        trigger("panel.attention");
        trigger("attentionAll");
        dragAll("next");
        trigger("panel.interventions");
        rest();
        child<QPushButton>("interventionAdd").click();
        rest();
        drag(child<QSlider>("interventionAmount"));
        bench_.restoreOriginal();
        trigger("workspace.inspect");
        trigger("attentionAll");
        drag(child<QSlider>("gate"));
        trigger("attentionHead");
        rest();
        drag(child<QSlider>("gate"), ", one head shown");

        trigger("workspace.build");
        auto& playground = child<Panel>("playground");
        const auto build = [&](const char* tab, const char* spec, const char* input) {
            playground.restoreView({{"tab", tab}, {"spec", spec}, {"kind", input}});
            rest();
            dragAll(QByteArray(tab) == "maps" ? "playControls" : "positionLengths", QByteArray(", ") + input);
        };
        build("maps", "heads=grouped_query(4,2), position=t5, mask=causal & window(8)", "random");
        build("maps", "heads=multi_head(4), position=rope, mask=causal", "sentence");
        build("maps", "heads=multi_head(4), mask=causal", "picture");
        build("positions", "heads=multi_head(4), position=rope, mask=causal", "random");

        trigger("panel.attention");
        trigger("attentionHead");
        window_.files().open("builtin:vit-shapes");
        wait([&] { return bench_.snapshot()->answer != nullptr; });
        drag(child<QSlider>("attentionOpacity"));
        child<QComboBox>("attentionView").setCurrentIndex(1);
        drag(child<QSlider>("attentionDiscard"));
        trigger("new");
        wait([&] { return bench_.reads(AxisKind::Tokens) && bench_.snapshot()->sequence; });
    }

    /// @pre a run has checkpoints
    void timeline() { drag(child<QSlider>("timeline")); }

private:
    template <class T> T& child(const char* name) { return *window_.findChild<T*>(name); }

    /// Drags every slider in a widget.
    void dragAll(const char* name, const QByteArray& condition = {}) {
        for (QSlider* slider : child<QWidget>(name).findChildren<QSlider*>())
            if (slider->isVisible() && slider->isEnabled()) drag(*slider, condition);
    }

    /// Presses the mouse on a slider, drags it to and fro, and measures how long each step takes until the last view
    /// that it changes has been painted.
    void drag(QSlider& slider, const QByteArray& condition = {}) {
        std::vector<QWidget*> views;
        for (QWidget* widget : window_.findChildren<QWidget*>())
            if (widget->isVisible() &&
                (dynamic_cast<FigureWidget*>(widget) || qobject_cast<QAbstractItemView*>(widget)))
                views.push_back(widget);
        PaintWatch paints(views);
        const QString name = slider.accessibleName().section(", ", 0, 0);
        const int initial = slider.value(), range = slider.maximum() - slider.minimum();
        std::vector<double> times;
        rest();
        mouse(slider, QEvent::MouseButtonPress, placeOf(slider, initial));
        for (int i = 1; i <= kRepetitions; ++i) {
            const double share = 1 - std::abs(1 - 2.0 * i / kRepetitions);
            const int value = slider.minimum() + static_cast<int>(std::lround(share * range));
            const double time = untilQuiet([&] { mouse(slider, QEvent::MouseMove, placeOf(slider, value)); }, paints);
            if (time >= 0) times.push_back(time);
        }
        mouse(slider, QEvent::MouseMove, placeOf(slider, initial));
        mouse(slider, QEvent::MouseButtonRelease, placeOf(slider, initial));
        print(("slider " + name.toUtf8() + condition).constData(), times);
    }
    static QPointF placeOf(const QSlider& slider, int value) {
        const int handle = slider.style()->pixelMetric(QStyle::PM_SliderLength, nullptr, &slider);
        return {QStyle::sliderPositionFromValue(slider.minimum(), slider.maximum(), value, slider.width() - handle) +
                    handle / 2.0,
                slider.height() / 2.0};
    }
    /// @return milliseconds until the last paint event, after which the program has nothing to do; -1: there was none
    double untilQuiet(const std::function<void()>& action, PaintWatch& paints) {
        QElapsedTimer since;
        since.start();
        double last = -1;
        paints.start([] { return true; });
        action();
        for (double now = 0, busy = 0; now < busy + kQuietMs && now < kLongestMs;) {
            QCoreApplication::processEvents();
            now = static_cast<double>(since.nsecsElapsed()) / 1e6;
            if (paints.isSeen()) {
                last = busy = now;
                paints.start([] { return true; });
            }
            if (!window_.bridge().waitIdle(0) || !bench_.playground().session().waitIdle(0)) busy = now;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        return last;
    }
    void trigger(const char* action) { child<QAction>(action).trigger(); }
    void wait(const std::function<bool()>& condition) {
        QElapsedTimer since;
        for (since.start(); !condition() && since.elapsed() < kLongestMs;) runFor(5);
    }
    void rest() {
        runFor(kRestMs);
        wait([&] {
            return window_.bridge().latest()->status.activity == Activity::Idle && !window_.files().isOpening();
        });
    }
    static void type(QWidget& widget, QChar letter) {
        for (const QEvent::Type kind : {QEvent::KeyPress, QEvent::KeyRelease}) {
            QKeyEvent event(kind, letter.toUpper().unicode(), Qt::NoModifier, letter);
            QApplication::sendEvent(&widget, &event);
        }
    }
    static void click(QWidget& widget, const QPointF& at) {
        for (const QEvent::Type kind : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) mouse(widget, kind, at);
    }
    static void mouse(QWidget& widget, QEvent::Type kind, const QPointF& at) {
        QMouseEvent event(kind, at, widget.mapToGlobal(at), Qt::LeftButton, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&widget, &event);
    }

    MainWindow& window_;
    Workbench& bench_;
};

/// Measures the first openings of what makes the device work; then keys in the prompt, clicks on thumbnails, steps of
/// the text size and sliders, each with its median and its longest time.
/// @pre the first picture is on screen
void measureAll(MainWindow& window) {
    Measurement measurement(window);
    measurement.firstOpenings();
    measurement.keys();
    measurement.thumbnails();
    measurement.textSize();
    measurement.sliders();
    measurement.trainingFrames();
    measurement.timeline();
}

struct BenchWindowOptions {
    DeviceChoice device;
    std::string path = "builtin:english";
};

int benchWindow(const BenchWindowOptions& options) {
    QElapsedTimer sinceStart;
    sinceStart.start();
    const QTemporaryDir folder; // of settings and runs
    QCoreApplication::setApplicationName("attention-bench");
    QCoreApplication::setOrganizationName("attention-bench");
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, folder.path());
    int count = 1;
    char name[] = "attention-bench";
    char* names[] = {name, nullptr};
    QApplication application(count, names);
    writeNumbersWithPoint();
    MainWindow window({.preferences = {},
                       .device = options.device,
                       .path = QString::fromStdString(options.path),
                       .autosaveFolder = folder.path(),
                       .runsFolder = folder.path() + "/runs",
                       .asksStorage = false});
    bool isMeasured = false;
    QObject::connect(
        &window.workbench(), &Workbench::snapshotShown, &window, [&](const std::shared_ptr<const Snapshot>& snapshot) {
            if (isMeasured || !hasPicture(*snapshot, window.workbench())) return;
            isMeasured = true;
            // A zero timer fires after the paint events that the snapshot has caused.
            QTimer::singleShot(0, &window, [&] {
                print("from the start to the first picture", {static_cast<double>(sinceStart.nsecsElapsed()) / 1e6});
                measureAll(window);
                QApplication::exit(0);
            });
        });
    window.show();
    return QApplication::exec();
}

} // namespace

namespace cli {

void addBenchWindow(Command& command) {
    const auto options = std::make_shared<BenchWindowOptions>();
    command.about("Uses the window with keys, clicks and drags, and prints how long it takes to answer. Each time ends "
                  "when the views have been painted. Settings and training runs are of a folder of its own.");
    command.argument("PATH", options->path, "model that the window opens").defaultText(options->path);
    addDevice(command, options->device);
    command.example("attention-bench window");
    command.action([=] { return benchWindow(*options); });
}

} // namespace cli
} // namespace attn
