#include "app/lab/bridge/sampling_fields.h"
#include "app/lab/lessons/average_exercise.h"
#include "app/lab/lessons/lesson_calls.h"
#include "app/lab/panels/attention_panel.h"
#include "app/lab/shell/main_window.h"
#include "app/lab/widgets/spec_line.h"
#include "engine/attention/mask/bit_row.h"
#include "engine/core/error.h"

#include <QJsonArray>
#include <QJsonObject>
#include <QTabWidget>

#include <algorithm>

namespace attn {
namespace {

namespace argument = lesson_argument;

QString pairProblem(const QJsonValue& value) { return argument::numbers(value, 2); }

const AttentionSettings& attentionOf(MainWindow& window) {
    return static_cast<AttentionPanel&>(window.panel("attention")).settings();
}

bool isHead(MainWindow& window, const QJsonValue& value) {
    const HeadChoice& choice = attentionOf(window).choice;
    return choice.site == argument::layerOf(value) && choice.head == value.toArray()[1].toInt();
}

QString levelProblem(const QJsonValue& value) { return argument::ids(value, {"all", "head", "cell"}); }

bool isLevel(MainWindow& window, const QJsonValue& value) {
    const QStringList levels{"all", "head", "cell"};
    return static_cast<int>(attentionOf(window).level) == levels.indexOf(value.toString());
}

/// Whether the screen shows the arithmetic of this query and key.
bool isExplained(MainWindow& window, const QJsonValue& value) {
    const auto& cell = window.snapshot()->explanation;
    return cell && attentionOf(window).level == AttentionLevel::OneCell && cell->query == value.toArray()[0].toInt() &&
           cell->key == value.toArray()[1].toInt();
}

float gateOf(MainWindow& window, int layer, int head) {
    const auto& [model, gates] = std::pair(window.snapshot()->model, window.snapshot()->headGates);
    if (!gates || !model || layer >= model->layers || head >= model->heads) return 1;
    return (*gates)[static_cast<size_t>(layer * model->heads + head)];
}

bool isGateBelow(MainWindow& window, const QJsonValue& value) {
    const QJsonArray list = value.toArray();
    return static_cast<double>(gateOf(window, argument::layerOf(value), list[1].toInt())) < list[2].toDouble();
}

bool areGatesOn(MainWindow& window, const QJsonValue&) {
    const auto& gates = window.snapshot()->headGates;
    return !gates || std::ranges::all_of(*gates, [](float gate) { return gate == 1; });
}

/// Whether the prompt is this text. Ignores spaces, capitals and a final full stop.
bool isPrompt(MainWindow& window, const QJsonValue& value) {
    const auto& sequence = window.snapshot()->sequence;
    const auto plain = [](QString text) {
        text = text.simplified().toLower();
        while (text.endsWith('.')) text.chop(1);
        return text;
    };
    return sequence && plain(QString::fromStdString(sequence->prompt)) == plain(value.toString());
}

/// Whether the model has generated this many tokens after the prompt.
bool hasWritten(MainWindow& window, const QJsonValue& value) {
    const auto& sequence = window.snapshot()->sequence;
    return sequence &&
           std::ranges::count(sequence->tokens, false, &TokenInfo::isPrompt) >= static_cast<int>(value.toDouble());
}

/// Whether the branch tree has this many ends.
bool hasBranches(MainWindow& window, const QJsonValue& value) {
    const auto& tree = window.snapshot()->branches;
    if (!tree) return false;
    const auto ends = std::ranges::count_if(tree->nodes, [](const BranchNode& node) { return node.children.empty(); });
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
bool isSampling(MainWindow& window, const QJsonValue& value) {
    const Sampling sampling = window.sampling();
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

QString specProblem(const QJsonValue& value) {
    if (!value.isString()) return argument::text(value);
    try {
        AttentionSpec::parse(value.toString().toStdString());
    } catch (const Error& error) {
        return sentenceOf(error);
    }
    return {};
}

/// Whether the playground shows the patterns of this attention.
bool isComposed(MainWindow& window, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *window.playground().snapshot();
    return !shown.maps.empty() && shown.query.spec == AttentionSpec::parse(value.toString().toStdString());
}

/// Whether the shown attention has this mask. Its other parts do not matter.
bool isMasked(MainWindow& window, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *window.playground().snapshot();
    return !shown.maps.empty() && shown.query.spec.mask == MaskExpression::parse(value.toString().toStdString());
}

/// Whether the mask lets this query see this key.
bool isCellOpen(MainWindow& window, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *window.playground().snapshot();
    const auto query = static_cast<int64_t>(value.toArray()[0].toDouble()),
               key = static_cast<int64_t>(value.toArray()[1].toDouble());
    if (shown.maps.empty() || query >= shown.query.tokens || key >= shown.query.tokens) return false;
    BitRow row;
    shown.query.spec.mask.row({.queries = shown.query.tokens, .keys = shown.query.tokens}, query, row);
    return row.test(key);
}

QString maskProblem(const QJsonValue& value) {
    if (!value.isString()) return argument::text(value);
    try {
        MaskExpression::parse(value.toString().toStdString());
    } catch (const Error& error) {
        return sentenceOf(error);
    }
    return {};
}

/// Whether the shown attention has this position part. Its other parts do not matter.
bool hasPosition(MainWindow& window, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *window.playground().snapshot();
    return !shown.maps.empty() && shown.query.spec.id(Slot::Position) == value.toString().toStdString();
}

QString seedProblem(const QJsonValue& value) { return argument::count(value); }

bool hasOtherSeed(MainWindow& window, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *window.playground().snapshot();
    return !shown.maps.empty() && shown.query.seed != static_cast<uint64_t>(value.toDouble());
}

bool hasWidth(MainWindow& window, const QJsonValue& value) {
    const PlaygroundSnapshot& shown = *window.playground().snapshot();
    return !shown.maps.empty() && static_cast<double>(shown.query.width) >= value.toDouble();
}

bool isTab(MainWindow& window, const QJsonValue& value) {
    const auto* views = window.findChild<QTabWidget*>("playViews");
    return views && views->currentIndex() == playgroundTabs().indexOf(value.toString());
}

bool isAverage(MainWindow& window, const QJsonValue& value) {
    const auto* exercise = window.findChild<AverageExercise*>();
    return exercise && exercise->isReached(value.toDouble());
}

bool hasTrained(MainWindow& window, const QJsonValue& value) {
    const TrainingSnapshot& training = *window.training().snapshot();
    return training.state != TrainingSnapshot::State::Preparing &&
           training.folder == window.runs().active().toStdString() && !training.folder.empty() &&
           static_cast<double>(training.step) >= value.toDouble();
}

/// Whether the views show this step of a training run.
bool isMoment(MainWindow& window, const QJsonValue& value) {
    const auto& shown = window.snapshot()->shown;
    return shown && shown->title == "step " + std::to_string(static_cast<int64_t>(value.toDouble()));
}

bool isInFront(MainWindow& window, const QJsonValue& value) {
    return window.hasPanel(value.toString()) && !window.panel(value.toString()).visibleRegion().isEmpty();
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
    {"spec", specProblem, isComposed},
    {"mask", maskProblem, isMasked},
    {"maskShows", pairProblem, isCellOpen},
    {"position", argument::text, hasPosition},
    {"seedIsNot", seedProblem, hasOtherSeed},
    {"widthAtLeast", argument::count, hasWidth},
    {"playgroundTab", playgroundTabProblem, isTab},
    {"average", argument::count, isAverage},
    {"trained", argument::count, hasTrained},
    {"moment", argument::count, isMoment},
    {"panel", argument::text, isInFront},
};

} // namespace

std::span<const LessonCondition> lessonConditions() { return kConditions; }

bool holds(MainWindow& window, const LessonCall& condition) {
    const auto found = std::ranges::find(kConditions, condition.name,
                                         [](const LessonCondition& each) { return QString::fromLatin1(each.name); });
    return window.snapshot() && found != std::end(kConditions) && found->holds(window, condition.argument);
}

} // namespace attn
