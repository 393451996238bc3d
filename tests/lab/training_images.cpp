#include "app/lab/models/image_prediction_model.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/panels/samples_panel.h"
#include "app/lab/widgets/predictions_view.h"
#include "app/lab/widgets/recipe_form.h"
#include "engine/io/decode_image.h"
#include "engine/training/recipe.h"
#include "tests/lab/vision_test.h"

using namespace attn;

namespace {

using ImageState = TrainingSnapshot::State;

/// A run over pictures that takes seconds.
void setSmallRecipe(LabWindow& lab) {
    Recipe recipe{.task = "shapes", .batch = 8};
    recipe.settings.values = {{"odd", 1}, {"arrow", 0}, {"shapes", 1}};
    recipe.architecture = {.family = "vit", .layers = 2, .heads = 2, .width = 16, .activation = "gelu", .patch = 16};
    recipe.schedule.steps = 10;
    recipe.evaluateEvery = recipe.checkpointEvery = 5;
    lab.window().workbench().requestRecipe(recipe);
}

const TrainingSnapshot& imageTraining(LabWindow& lab) { return *lab.window().workbench().training().snapshot(); }

bool trains(LabWindow& lab) {
    REQUIRE(lab.settle());
    setSmallRecipe(lab);
    lab.press(lab.action("trainPlay"));
    return lab.waitFor([&] { return imageTraining(lab).state == ImageState::Finished; });
}

/// Whether the views show the model's answer at this checkpoint.
bool showsStep(LabWindow& lab, const std::string& end) {
    return lab.waitFor(
        [&] { return lab.snapshot().answer && lab.snapshot().shown && lab.snapshot().shown->title == end; });
}

} // namespace

TEST_CASE("lab: training on pictures fills the samples and the views follow", "[lab][training][vision]") {
    LabWindow lab;
    lab.showPanel("attention");
    REQUIRE(trains(lab));
    REQUIRE(showsStep(lab, "step 10"));
    CHECK(lab.snapshot().model->labels == std::vector<std::string>{"circle", "square", "triangle", "cross"});
    CHECK(lab.snapshot().model->layers == 2);

    lab.showPanel("samples");
    auto& view = lab.find<PredictionsView>("sightsView");
    CHECK(view.isVisible());
    CHECK_FALSE(lab.find<QTreeView>("samples").isVisible());
    CHECK(view.model().rowCount() == 48);
    CHECK(view.confusion().rows() == 4);
    for (int row = 0; row < 4; ++row) {
        float sum = 0;
        for (int column = 0; column < 4; ++column) sum += view.confusion().valueAt({row, column});
        CHECK(static_cast<double>(sum) == Approx(1).margin(1e-5));
    }
    // A picture that is clicked is looked at.
    auto& list = lab.find<QListView>("sights");
    QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, list.visualRect(view.model().index(1)).center());
    REQUIRE(lab.waitFor([&] {
        const auto& picture = setup(lab).given.image;
        return picture && *picture == imageTraining(lab).answers.predictions->examples[1].example.picture;
    }));
    REQUIRE(lab.waitFor([&] { return lab.snapshot().picture->image == setup(lab).given.image; }));
}

TEST_CASE("lab: the timeline restores the weights of a vision model", "[lab][training][vision]") {
    LabWindow lab;
    lab.showPanel("attention");
    REQUIRE(trains(lab));
    REQUIRE(showsStep(lab, "step 10"));
    const std::vector<float> end = lab.snapshot().answer->logits;
    lab.showPanel("train");
    auto& timeline = lab.find<QSlider>("timeline");
    REQUIRE(lab.waitFor([&] { return timeline.maximum() == 2; })); // 0, 5, 10
    timeline.setFocus();
    QTest::keyClick(&timeline, Qt::Key_Home);
    lab.showPanel("attention");
    REQUIRE(showsStep(lab, "step 0"));
    CHECK(lab.snapshot().answer->logits != end);
    lab.showPanel("train");
    QTest::keyClick(&timeline, Qt::Key_End);
    lab.showPanel("attention");
    REQUIRE(showsStep(lab, "step 10"));
    const std::vector<float> again = lab.snapshot().answer->logits;
    REQUIRE(again.size() == end.size());
    for (size_t i = 0; i < end.size(); ++i)
        CHECK(static_cast<double>(again[i]) == Approx(static_cast<double>(end[i])).margin(1e-5));
}

TEST_CASE("lab: a run over pictures is exported as an animation of the picture", "[lab][training][vision]") {
    LabWindow lab;
    lab.showPanel("attention");
    REQUIRE(trains(lab));
    REQUIRE(showsStep(lab, "step 10"));
    auto& attention = lab.find<AttentionPanel>("attention");
    attention.setFocus();
    QTest::mouseClick(attention.figure(), Qt::LeftButton);
    const QString path = lab.folder() + "/run.gif";
    lab.window().exports().exportRun(path);
    REQUIRE(lab.waitFor([&] { return QFile::exists(path) && QImageReader(path).imageCount() == 3; }));
}

TEST_CASE("lab: a run that could not begin begins once its pictures are there", "[lab][training]") {
    LabWindow lab;
    const std::filesystem::path data = (lab.folder() + "/pictures").toStdString();
    std::filesystem::create_directories(data);
    Recipe recipe{.task = "images", .batch = 4};
    recipe.settings.data.pictures = data;
    recipe.settings.values = {{"size", 16}};
    recipe.architecture = {.family = "vit", .layers = 1, .heads = 2, .width = 16, .activation = "gelu", .patch = 8};
    recipe.schedule.steps = 2;
    lab.window().workbench().requestRecipe(recipe);
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return imageTraining(lab).failure.has_value(); }));
    CHECK(imageTraining(lab).failure->what.find("no training pictures") != std::string::npos);
    for (const char* name : {"dark", "light"})
        for (int i = 0; i < 40; ++i) {
            std::filesystem::create_directories(data / name);
            writePpm(data / name / (std::to_string(i) + ".ppm"),
                     {.height = 16, .width = 16, .rgb = std::vector<uint8_t>(768, *name == 'd' ? 10 : 240)});
        }
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return imageTraining(lab).state == ImageState::Finished; }));
    CHECK(lab.window().workbench().runs().runs().size() == 1);
}

TEST_CASE("lab: the form notices pictures that are added to its folder", "[lab][training]") {
    LabWindow lab;
    const QString data = lab.folder() + "/data";
    const auto add = [&](const QString& name) {
        QImage clear(16, 16, QImage::Format_ARGB32);
        clear.fill(Qt::transparent);
        REQUIRE(QDir().mkpath(QFileInfo(data + name).path()));
        REQUIRE(clear.save(data + name));
    };
    add("/light/a.png");
    Recipe recipe{.task = "images", .batch = 4};
    recipe.settings.data.pictures = data.toStdString();
    recipe.settings.values = {{"size", 16}};
    recipe.architecture = {.family = "vit", .layers = 1, .heads = 2, .width = 16, .activation = "gelu", .patch = 8};
    lab.window().workbench().requestRecipe(recipe);
    const auto& warning = lab.find<QLabel>("recipeWarning");
    lab.showPanel("train");
    REQUIRE(lab.waitFor([&] { return warning.text().startsWith("1 of 1 files"); }));
    CHECK(warning.isVisible());
    add("/light/b.png");
    REQUIRE(lab.waitFor([&] { return warning.text().startsWith("2 of 2 files"); }));
    add("/dark/c.png"); // of a class of its own
    REQUIRE(lab.waitFor([&] { return warning.text().startsWith("3 of 3 files"); }));
    QImage filled(16, 16, QImage::Format_RGB32); // another program overwrites one of them
    filled.fill(Qt::gray);
    REQUIRE(filled.save(data + "/light/a.png"));
    emit qApp->applicationStateChanged(Qt::ApplicationActive);
    REQUIRE(lab.waitFor([&] { return warning.text().startsWith("2 of 3 files"); }));
}

TEST_CASE("lab: pictures with several labels or numbers train, and their answers are listed and exported",
          "[lab][training][vision]") {
    const bool isNumber = GENERATE(false, true);
    LabWindow lab;
    const std::filesystem::path data = (lab.folder() + "/pictures").toStdString();
    std::filesystem::create_directories(data);
    QByteArray table = isNumber ? "file_name,score\n" : "file_name,labels\n";
    for (int i = 0; i < 80; ++i) {
        const std::string name = std::to_string(i) + ".ppm";
        const bool isLight = i % 2 == 1;
        writePpm(data / name, {.height = 16, .width = 16, .rgb = std::vector<uint8_t>(768, isLight ? 240 : 10)});
        table += QByteArray::fromStdString(name) + (isNumber  ? (isLight ? ",0.9\n" : ",0.1\n")
                                                    : isLight ? ",light|grey\n"
                                                              : ",dark|grey\n");
    }
    writeText(QString::fromStdString((data / "metadata.csv").string()), table);
    Recipe recipe{.task = isNumber ? "picture-numbers" : "picture-labels", .batch = 4};
    recipe.settings.data.pictures = data;
    recipe.settings.values = {{"size", 16}};
    recipe.architecture = {.family = "vit", .layers = 1, .heads = 2, .width = 16, .activation = "gelu", .patch = 8};
    recipe.schedule.steps = 4;
    lab.window().workbench().requestRecipe(recipe);
    lab.press(lab.action("trainPlay"));
    REQUIRE(lab.waitFor([&] { return imageTraining(lab).state == ImageState::Finished; }));
    lab.showPanel("samples");
    auto& view = lab.find<PredictionsView>("sightsView");
    REQUIRE(lab.waitFor([&] { return view.isVisible() && view.model().rowCount() > 0; }));
    CHECK_FALSE(lab.find<QWidget>("confusion").isVisible());
    const QString hint = lab.find<QLabel>("samplesHint").text();
    CHECK(hint.contains(isNumber ? "the numbers are wrong by" : "right; the others are marked"));
    const ExportNumbers numbers = lab.window().panels().the<SamplesPanel>().numbers();
    REQUIRE(numbers.csv);
    CHECK(numbers.csv().startsWith("picture,right_answer,given_answer\n1,\""));
    CHECK(numbers.csv().count('\n') == view.model().rowCount() + 1);
}

TEST_CASE("lab: the form shows what belongs to tasks over pictures", "[lab][training]") {
    LabWindow lab;
    lab.showPanel("train");
    auto& task = lab.find<QComboBox>("task");
    const auto choose = [&](const char* title) {
        task.setCurrentIndex(task.findText(title));
        REQUIRE(task.currentIndex() >= 0);
        emit task.activated(task.currentIndex());
    };
    lab.find<QAbstractButton>("modelSection").setChecked(true);
    choose("Shapes");
    CHECK(lab.find<QComboBox>("pooling").isVisibleTo(&lab.window()));
    CHECK_FALSE(lab.find<QComboBox>("family").isVisibleTo(&lab.window()));
    CHECK(lab.find<QPushButton>("train.play").isEnabled());
    choose("Pictures in a folder");
    CHECK(lab.find<QLineEdit>("dataPath").isVisibleTo(&lab.window()));
    CHECK_FALSE(lab.find<QPushButton>("train.play").isEnabled()); // until a folder is named
    CHECK(lab.find<QLabel>("trainState").text().contains("folder of pictures"));
    CHECK(lab.find<QLineEdit>("dataPath").toolTip().contains("CIFAR-10"));
    choose("Labels of pictures");
    CHECK(lab.find<QLineEdit>("dataPath").isVisibleTo(&lab.window()));
    CHECK(lab.find<QLabel>("trainState").text().contains("metadata.csv"));
    CHECK(lab.find<QLineEdit>("dataPath").toolTip().contains("metadata.csv"));
    writeText(lab.folder() + "/metadata.csv", "file_name,labels\n");
    auto& form = *lab.window().findChild<RecipeForm*>();
    REQUIRE(form.takes(lab.folder() + "/metadata.csv"));
    form.take(lab.folder() + "/metadata.csv");
    REQUIRE(form.recipe());
    CHECK(form.recipe()->settings.data.pictures == (lab.folder() + "/metadata.csv").toStdString());
    choose("Pictures in a folder");
    CHECK_FALSE(form.takes(lab.folder() + "/metadata.csv"));
    choose("Sort");
    CHECK(lab.find<QComboBox>("family").isVisibleTo(&lab.window()));
    CHECK_FALSE(lab.find<QComboBox>("pooling").isVisibleTo(&lab.window()));
    CHECK_FALSE(lab.find<QLineEdit>("dataPath").isVisibleTo(&lab.window()));
    CHECK(lab.find<QPushButton>("train.play").isEnabled());
}
