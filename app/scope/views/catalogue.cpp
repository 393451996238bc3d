#include "app/scope/views/catalogue.h"

#include "app/scope/model_subject.h"
#include "app/scope/views/device_view.h"
#include "app/scope/views/grid_view.h"
#include "app/scope/views/norms_view.h"
#include "app/scope/views/pattern_views.h"
#include "app/scope/views/plan_view.h"
#include "app/scope/views/tensor_view.h"
#include "app/scope/views/timeline_view.h"

#include <algorithm>
#include <array>

namespace attn::scope {

std::span<const ViewDescriptor> viewCatalogue() {
    static constexpr std::array kViews{
        ViewDescriptor{ViewId::Grid, "grid", "Grid", "Patterns of all layers and heads", true, true, makeGridView},
        ViewDescriptor{ViewId::Head, "head", "Head", "One head's pattern, cell by cell", true, true, makeHeadView},
        ViewDescriptor{ViewId::LongPattern, "long-pattern", "Long pattern",
                       "One head's pattern at any length: coarse at first, then exact", false, true,
                       makeLongPatternView},
        ViewDescriptor{ViewId::Tensors, "tensors", "Tensors", "Hooks and parameters as images, with statistics", true,
                       true, makeTensorView},
        ViewDescriptor{ViewId::Norms, "norms", "Norms", "Norms of the residual stream, by layer and token", true, true,
                       makeNormsView},
        ViewDescriptor{ViewId::Timeline, "timeline", "Timeline", "The time of each op in a step", true, true,
                       makeTimelineView},
        ViewDescriptor{ViewId::Plan, "plan", "Plan", "The ops of a step and the memory of their tensors", true, true,
                       makePlanView},
        ViewDescriptor{ViewId::Device, "device", "Device", "The device and the use of its memory", false, false,
                       makeDeviceView},
        ViewDescriptor{ViewId::Shaders, "shaders", "Shaders", "The kernels of a step and the driver's statistics", true,
                       true, makeShaderView},
    };
    return kViews;
}

const ViewDescriptor& descriptorOf(ViewId id) { return *std::ranges::find(viewCatalogue(), id, &ViewDescriptor::id); }

const ViewDescriptor* viewNamed(const std::string& name) {
    if (name == "lens") return &descriptorOf(ViewId::LongPattern); // the old name, in scripts and older programs
    for (const ViewDescriptor& view : viewCatalogue())
        if (name == view.name) return &view;
    return nullptr;
}

std::string refusalOf(const ViewDescriptor& view, Subject& subject) {
    ModelSubject* model = subject.model();
    if (view.needsModel && model == nullptr) return "Only the Long pattern view can show random queries and keys.";
    if (view.needsPlaces && model != nullptr) return model->microscope().refusal();
    return {};
}

} // namespace attn::scope
