#include "app/scope/views/catalogue.h"

#include "app/scope/model_subject.h"
#include "app/scope/views/grid_view.h"
#include "app/scope/views/pattern_views.h"

#include <algorithm>
#include <array>

namespace attn::scope {

std::span<const ViewDescriptor> viewCatalogue() {
    static constexpr std::array kViews{
        ViewDescriptor{ViewId::Grid, "grid", "Grid", "Patterns of all layers and heads", true, true, makeGridView},
        ViewDescriptor{ViewId::Head, "head", "Head", "One head's pattern, cell by cell", true, true, makeHeadView},
        ViewDescriptor{ViewId::Lens, "lens", "Lens", "One head's pattern at any length: coarse at once, then exact",
                       false, true, makeLensView},
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
