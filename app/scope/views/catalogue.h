#pragma once

#include "app/scope/subject.h"
#include "app/scope/view.h"

#include <memory>
#include <span>

namespace attn::scope {

/// A view as menus, keys and the command line know it.
struct ViewDescriptor {
    ViewId id;
    const char* name;  ///< on the command line
    const char* title; ///< on its button
    const char* help;
    bool needsModel;  ///< random queries and keys have nothing for it
    bool needsPlaces; ///< shows what Microscope may refuse
    std::unique_ptr<View> (*make)(Subject& subject);
};

/// In the order of their keys, 1 and up.
std::span<const ViewDescriptor> viewCatalogue();
const ViewDescriptor& descriptorOf(ViewId id);
/// Null if there is none of that name.
const ViewDescriptor* viewNamed(const std::string& name);
/// Why a view cannot show this, as a sentence; empty if it can.
std::string refusalOf(const ViewDescriptor& view, Subject& subject);

} // namespace attn::scope
