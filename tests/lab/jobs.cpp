#include "app/lab/bridge/job_bridge.h"
#include "app/lab/panels/jobs_button.h"
#include "engine/io/run_lock.h"
#include "engine/training/checkpoint.h"
#include "tests/lab/held_pool.h"
#include "tests/lab/training_test.h"

#include <QProgressBar>

// The list of jobs: the button in the status bar and what it opens.

using namespace attn;

namespace {

void trainFor(LabWindow& lab, int64_t steps) {
    lab.window().workbench().requestRecipe(smallRecipe(steps, 100'000));
    lab.press(lab.action("trainPlay"));
}

JobsButton& jobsButton(LabWindow& lab) { return lab.find<JobsButton>("jobsButton"); }
JobsView& jobsView(LabWindow& lab) { return *lab.window().findChild<JobsView*>(); }

/// The details of the row with this title; empty: there is none.
QString rowDetail(LabWindow& lab, const QString& title) {
    for (auto* label : jobsView(lab).findChildren<QLabel*>("jobTitle"))
        if (label->isVisible() && label->text() == title)
            return label->parentWidget()->findChild<QLabel*>("jobDetail")->text();
    return {};
}

QToolButton* rowButton(LabWindow& lab, const QString& title, const QString& text) {
    for (auto* label : jobsView(lab).findChildren<QLabel*>("jobTitle"))
        if (label->isVisible() && label->text() == title)
            for (auto* each : label->parentWidget()->findChildren<QToolButton*>())
                if (each->isVisible() && each->text() == text) return each;
    return nullptr;
}

bool pressRow(LabWindow& lab, const QString& title, const QString& text) {
    if (!lab.waitFor([&] { return rowButton(lab, title, text) != nullptr; })) return false;
    QTest::mouseClick(rowButton(lab, title, text), Qt::LeftButton);
    return true;
}

bool rowShows(LabWindow& lab, const QString& title, const QString& text) {
    return lab.waitFor([&] { return rowDetail(lab, title).contains(text); });
}

/// A folder as a program leaves it that was killed: its last checkpoint is that of step 5.
void leaveInterrupted(const QString& folder) {
    const std::filesystem::path run = folder.toStdString();
    {
        TrainingSession session({});
        session.start(run, smallRecipe(10, 100'000), false);
        for (int i = 0; i < 6; ++i) session.step();
        REQUIRE(session.waitIdle());
    }
    std::filesystem::remove_all(checkpoints(run).back()); // of step 6, which only an orderly end writes
    JobRecord record = readJob(run).value();
    record.status.state = JobState::Running;
    writeJob(run, record);
}

} // namespace

TEST_CASE("lab jobs: nothing is running at first, and keys open and close the list", "[lab][training]") {
    LabWindow lab;
    REQUIRE(lab.settle());
    // At the very first start the engine is prepared for training, which takes a while.
    const auto isIdle = [&] { return JobBridge::ofProgram().snapshot()->jobs.empty(); };
    REQUIRE(lab.waitFor([&] { return isIdle() && jobsButton(lab).text() == "Jobs"; }));
    lab.press(lab.action("jobs"));
    CHECK(jobsButton(lab).isOpen());
    CHECK(lab.find<QLabel>("jobsRemark").text() == "Nothing is running.");
    QTest::keyClick(lab.window().findChild<QFrame*>("jobsPopover"), Qt::Key_Escape);
    CHECK_FALSE(jobsButton(lab).isOpen());
    jobsButton(lab).setFocus();
    QTest::keyClick(&jobsButton(lab), Qt::Key_Space);
    CHECK(jobsButton(lab).isOpen());
}

TEST_CASE("lab jobs: the status bar names a run that trains, and the list pauses, continues and stops it",
          "[lab][training]") {
    LabWindow lab;
    lab.window().resize(1024, 700);
    trainFor(lab, 100'000);
    REQUIRE(lab.waitFor([&] { return training(lab).step > 3; }));
    REQUIRE(lab.waitFor(
        [&] { return jobsButton(lab).text().contains("Train reverse") && jobsButton(lab).text().contains("%"); }));
    CHECK(lab.window().width() == 1024);
    lab.press(lab.action("jobs"));
    REQUIRE(rowShows(lab, "Train reverse", "of 100000"));
    CHECK(rowDetail(lab, "Train reverse").startsWith("Running"));
    REQUIRE(pressRow(lab, "Train reverse", "Pause"));
    REQUIRE(lab.waitFor([&] { return training(lab).state == TrainingSnapshot::State::Paused; }));
    REQUIRE(rowShows(lab, "Train reverse", "Paused"));
    CHECK(lab.waitFor([&] { return jobsButton(lab).text() == "Jobs"; }));
    const int64_t step = training(lab).step;
    REQUIRE(pressRow(lab, "Train reverse", "Continue"));
    REQUIRE(lab.waitFor([&] { return training(lab).step > step; }));
    REQUIRE(pressRow(lab, "Train reverse", "Stop"));
    REQUIRE(lab.waitFor([&] { return training(lab).state == TrainingSnapshot::State::None; }));
    REQUIRE(rowShows(lab, "Train reverse", "Stopped")); // which can be continued
    REQUIRE(pressRow(lab, "Train reverse", "Continue"));
    CHECK_FALSE(jobsButton(lab).isOpen());
    REQUIRE(lab.waitFor([&] { return training(lab).step > step; }));
    lab.press(lab.action("trainPlay"));
}

TEST_CASE("lab jobs: a run whose program was killed continues from the list to its end", "[lab][training]") {
    LabWindow lab;
    const QString folder = lab.window().workbench().runs().folder() + "/killed";
    leaveInterrupted(folder); // after the window has read the folder
    lab.press(lab.action("jobs"));
    REQUIRE(rowShows(lab, "Train killed", "Interrupted"));
    CHECK(rowDetail(lab, "Train killed").contains("step 5 of 10"));
    CHECK(rowButton(lab, "Train killed", "Pause") == nullptr);
    REQUIRE(pressRow(lab, "Train killed", "Continue"));
    REQUIRE(trainsToItsEnd(lab));
    CHECK(training(lab).folder == folder.toStdString());
    const FolderJob job = jobAt(folder.toStdString()).value();
    CHECK(job.record.status.state == JobState::Finished);
    const std::vector<MetricPoint> points = readMetrics(folder.toStdString()).points;
    REQUIRE(points.size() == 10);
    for (size_t at = 0; at < points.size(); ++at) CHECK(points[at].step == static_cast<int64_t>(at) + 1);
}

TEST_CASE("lab jobs: a run of another program is asked by a file", "[lab][training]") {
    LabWindow lab;
    const QString folder = lab.window().workbench().runs().folder() + "/elsewhere";
    leaveInterrupted(folder);
    const RunLock lock(folder.toStdString()); // as the other program has it
    lab.press(lab.action("jobs"));
    REQUIRE(rowShows(lab, "Train elsewhere", "in another program"));
    REQUIRE(pressRow(lab, "Train elsewhere", "Pause"));
    CHECK(takeRequest(folder.toStdString()) == JobRequest::Pause);
    REQUIRE(pressRow(lab, "Train elsewhere", "Stop"));
    CHECK(takeRequest(folder.toStdString()) == JobRequest::Stop);
    REQUIRE(pressRow(lab, "Train elsewhere", "Show"));
    CHECK(lab.find<QTreeView>("runs").isVisible());
}

TEST_CASE("lab jobs: locks for a class hold in the list too", "[lab][training]") {
    LabWindow lab;
    trainFor(lab, 100'000);
    REQUIRE(lab.waitFor([&] { return training(lab).step > 1; }));
    lab.window().locks().setOwn({{"training", ControlState::Locked}});
    lab.press(lab.action("jobs"));
    REQUIRE(lab.waitFor([&] { return rowButton(lab, "Train reverse", "Stop") != nullptr; }));
    CHECK_FALSE(rowButton(lab, "Train reverse", "Stop")->isEnabled());
    CHECK_FALSE(rowButton(lab, "Train reverse", "Pause")->isEnabled());
    CHECK(rowButton(lab, "Train reverse", "Show")->isEnabled());
    lab.window().locks().setOwn({});
    REQUIRE(lab.waitFor([&] {
        const QToolButton* pause = rowButton(lab, "Train reverse", "Pause");
        return pause && pause->isEnabled();
    }));
    REQUIRE(pressRow(lab, "Train reverse", "Pause"));
    CHECK(lab.waitFor([&] { return training(lab).state == TrainingSnapshot::State::Paused; }));
}

TEST_CASE("lab jobs: work on files is listed while it waits, and stops from the list with a sentence", "[lab]") {
    LabWindow lab;
    const QString path = lab.folder() + "/note.txt";
    writeText(path, "some words");
    {
        HeldPool held;
        lab.window().files().open(path);
        lab.press(lab.action("jobs"));
        REQUIRE(rowShows(lab, "Read note.txt", "Waiting"));
        REQUIRE(pressRow(lab, "Read note.txt", "Stop"));
    }
    REQUIRE(lab.waitFor([&] { return !lab.window().files().isOpening(); }));
    CHECK(lab.waitFor([&] { return banner(lab, "failureBanner").text().contains("was stopped"); }));
}
