#include "app/lab/bridge/playground_bridge.h"
#include "app/lab/bridge/sampling_fields.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/lessons/average_exercise.h"
#include "app/lab/lessons/lesson_calls.h"
#include "app/lab/lessons/lesson_stage.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/workbench/workbench.h"
#include "engine/core/bit_row.h"

#include <QJsonArray>
#include <QJsonObject>
#include <QWidget>

#include <algorithm>

namespace attn {
namespace {

namespace argument = lesson_argument;

QString pairProblem(const QJsonValue& value) { return argument::numbers(value, 2); }

const Snapshot& snapshotOf(LessonStage& stage) { return *stage.workbench().snapshot(); }

bool isHead(LessonStage& stage, const QJsonValue& value) {
    const Selection& selection = stage.workbench().selection();
    return selection.site == argument::layerOf(value) && selection.head == value.toArray()[1].toInt();
}

QString levelProblem(const QJsonValue& value) { return argument::ids(value, {"all", "head", "cell"}); }

bool isLevel(LessonStage& stage, const QJsonValue& value) { return stage.view("attention")["level"] == value; }

/// Whether the screen shows the arithmetic of this query and key.
bool isExplained(LessonStage& stage, const QJsonValue& value) {
    const auto& cell = snapshotOf(stage).explanation;
    return cell && isLevel(stage, "cell") && cell->query == value.toArray()[0].toInt() &&
           cell->key == value.toArray()[1].toInt();
}

/// The changes in the session's snapshot.
Changes changesOf(LessonStage& stage) {
    const auto& changes = snapshotOf(stage).changes;
    return changes ? *changes : Changes{};
}

bool isGateBelow(LessonStage& stage, const QJsonValue& value) {
    const QJsonArray list = value.toArray();
    return static_cast<double>(changesOf(stage).gate(argument::layerOf(value), list[1].toInt())) < list[2].toDouble();
}

bool areGatesOn(LessonStage& stage, const QJsonValue&) { return changesOf(stage).gates.empty(); }

/// Whether the prompt is this text. Ignores spaces, capitals and a final full stop.
bool isPrompt(LessonStage& stage, const QJsonValue& value) {
    const auto& sequence = snapshotOf(stage).sequence;
    const auto plain = [](QString text) {
        text = text.simplified().toLower();
        while (text.endsWith('.')) text.chop(1);
        return text;
    };
    return sequence && plain(QString::fromStdString(sequence->given.text)) == plain(value.toString());
}

/// Whether the model has generated this many tokens after the prompt.
bool hasWritten(LessonStage& stage, const QJsonValue& value) {
    const auto& sequence = snapshotOf(stage).sequence;
    return sequence &&
           std::ranges::count(sequence->tokens, false, &TokenInfo::isPrompt) >= static_cast<int>(value.toDouble());
}

/// Whether the branch tree has this many ends.
bool hasBranches(LessonStage& stage, const QJsonValue& value) {
    const auto& tree = snapshotOf(stage).branches;
    if (!tree) return false;
    const auto ends = std::ranges::count_if(tree->children(), &std::vector<int>::empty);
    return static_cast<double>(ends) >= value.toDouble();
}

QString samplingProblem(const QJsonValue& value) {
    if (!value.isObject() || value.toObject().isEmpty()) return argument::object(value);
    for (const QJsonValue& range : value.toObject())
        if (const QString problem = argument::numbers(range, 2); !problem.isEmpty())
            return QStringLiteral("each field takes a list of its minimum and maximum: %1").arg(problem);
    return {};
}

/// Whether each sampling field lies in its range.
bool isSampling(LessonStage& stage, const QJsonValue& value) {
    const Sampling sampling = stage.workbench().sampling();
    const QJsonObject fields = value.toObject();
    for (auto each = fields.begin(); each != fields.end(); ++each) {
        const double now = samplingValue(sampling, each.key().toStdString());
        constexpr double kRounding = 1e-6; // sampling fields are floats
        if (now < each.value().toArray()[0].toDouble() - kRounding ||
            now > each.value().toArray()[1].toDouble() + kRounding)
            return false;
    }
    return true;
}

/// Whether the playground shows the patterns of this attention.
bool isComposed(LessonStage& stage, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *stage.workbench().playground().snapshot();
    return !shown.maps.empty() && shown.query.spec == AttentionSpec::parse(value.toString().toStdString());
}

/// Whether the shown attention has this mask, with any other parts.
bool isMasked(LessonStage& stage, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *stage.workbench().playground().snapshot();
    return !shown.maps.empty() && shown.query.spec.mask == MaskExpression::parse(value.toString().toStdString());
}

/// Whether the mask lets this query see this key.
bool isCellOpen(LessonStage& stage, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *stage.workbench().playground().snapshot();
    const auto query = static_cast<int64_t>(value.toArray()[0].toDouble()),
               key = static_cast<int64_t>(value.toArray()[1].toDouble());
    if (shown.maps.empty() || query >= shown.query.tokens || key >= shown.query.tokens) return false;
    BitRow row;
    shown.query.spec.mask.row({.queries = shown.query.tokens, .keys = shown.query.tokens}, query, row);
    return row.test(key);
}

QString maskProblem(const QJsonValue& value) {
    return argument::parsed(value, [](const std::string& text) { MaskExpression::parse(text); });
}

/// Whether the shown attention has this position part, with any other parts.
bool hasPosition(LessonStage& stage, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *stage.workbench().playground().snapshot();
    return !shown.maps.empty() && shown.query.spec.id(Slot::Position) == value.toString().toStdString();
}

bool hasOtherSeed(LessonStage& stage, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *stage.workbench().playground().snapshot();
    return !shown.maps.empty() && shown.query.seed != static_cast<uint64_t>(value.toDouble());
}

bool hasWidth(LessonStage& stage, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *stage.workbench().playground().snapshot();
    return !shown.maps.empty() && static_cast<double>(shown.query.width) >= value.toDouble();
}

bool isTab(LessonStage& stage, const QJsonValue& value) { return stage.view("playground")["tab"] == value; }

bool isAverage(LessonStage& stage, const QJsonValue& value) {
    const auto* exercise = qobject_cast<AverageExercise*>(findControl(stage.controls(), "average"));
    return exercise && exercise->isReached(value.toDouble());
}

bool hasTrained(LessonStage& stage, const QJsonValue& value) {
    const TrainingSnapshot& training = *stage.workbench().training().snapshot();
    return training.state != TrainingSnapshot::State::Preparing &&
           training.folder == stage.workbench().runs().active().toStdString() && !training.folder.empty() &&
           static_cast<double>(training.step) >= value.toDouble();
}

/// Whether the views show this step of a training run.
bool isShownStep(LessonStage& stage, const QJsonValue& value) {
    const auto& shown = snapshotOf(stage).shown;
    return shown && shown->title == "step " + std::to_string(static_cast<int64_t>(value.toDouble()));
}

bool isInFront(LessonStage& stage, const QJsonValue& value) {
    const QWidget* panel = findControl(stage.controls(), value.toString());
    return panel && !panel->visibleRegion().isEmpty();
}

constexpr LessonCondition kConditions[] = {
    {"head", argument::head, isHead},
    {"level", levelProblem, isLevel},
    {"cell", pairProblem, isExplained},
    {"gateBelow", argument::gate, isGateBelow},
    {"gatesOn", argument::flag, areGatesOn},
    {"prompt", argument::text, isPrompt},
    {"written", argument::count, hasWritten},
    {"branches", argument::count, hasBranches},
    {"sampling", samplingProblem, isSampling},
    {"spec", argument::spec, isComposed},
    {"mask", maskProblem, isMasked},
    {"maskShows", pairProblem, isCellOpen},
    {"position", argument::text, hasPosition},
    {"seedIsNot", argument::count, hasOtherSeed},
    {"widthAtLeast", argument::count, hasWidth},
    {"playgroundTab", playgroundTabProblem, isTab},
    {"average", argument::count, isAverage},
    {"trained", argument::count, hasTrained},
    {"moment", argument::count, isShownStep},
    {"panel", argument::text, isInFront},
};

} // namespace

std::span<const LessonCondition> lessonConditions() { return kConditions; }

bool holds(LessonStage& stage, const LessonCall& condition) {
    const auto found = std::ranges::find(kConditions, condition.name,
                                         [](const LessonCondition& each) { return QString::fromLatin1(each.name); });
    return stage.workbench().snapshot() && found != std::end(kConditions) && found->holds(stage, condition.argument);
}

} // namespace attn
