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
        ViewDescriptor{ViewId::Lens, "lens", "Lens", "One head's pattern at any length: coarse at once, then exact",
                       false, true, makeLensView},
        ViewDescriptor{ViewId::Tensors, "tensors", "Tensors", "Hooks and weights as pictures, with statistics", true,
                       true, makeTensorView},
        ViewDescriptor{ViewId::Norms, "norms", "Norms", "Norms of the residual stream, by layer and token", true, true,
                       makeNormsView},
        ViewDescriptor{ViewId::Timeline, "timeline", "Timeline", "Where the time of a step goes, op by op", true, true,
                       makeTimelineView},
        ViewDescriptor{ViewId::Plan, "plan", "Plan", "The ops of a step and where their tensors lie in memory", true,
                       true, makePlanView},
        ViewDescriptor{ViewId::Device, "device", "Device", "The device, and what its memory is used for", false, false,
                       makeDeviceView},
        ViewDescriptor{ViewId::Shaders, "shaders", "Shaders", "The kernels of a step, and what the driver says of them",
                       true, true, makeShaderView},
    };
    return kViews;
}

const ViewDescriptor& descriptorOf(ViewId id) { return *std::ranges::find(viewCatalogue(), id, &ViewDescriptor::id); }

const ViewDescriptor* viewNamed(const std::string& name) {
    for (const ViewDescriptor& view : viewCatalogue())
        if (name == view.name) return &view;
    return nullptr;
}

std::string refusalOf(const ViewDescriptor& view, Subject& subject) {
    ModelSubject* model = subject.model();
    if (view.needsModel && model == nullptr) return "Random queries and keys are looked at through the lens only.";
    if (view.needsPlaces && model != nullptr) return model->microscope().refusal();
    return {};
}

} // namespace attn::scope
