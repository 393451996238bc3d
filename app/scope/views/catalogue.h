#pragma once

#include "app/scope/subject.h"
#include "app/scope/view.h"

#include <memory>
#include <span>

namespace attn::scope {

/// A view's entry for buttons, keys and the command line.
struct ViewDescriptor {
    ViewId id;
    const char* name;  ///< on the command line
    const char* title; ///< on its button
    const char* help;
    bool needsModel;  ///< cannot show random queries and keys
    bool needsPlaces; ///< needs a model that Microscope supports
    std::unique_ptr<View> (*make)(Subject& subject);
};

/// All views, in the order of their keys from 1.
std::span<const ViewDescriptor> viewCatalogue();
const ViewDescriptor& descriptorOf(ViewId id);
/// Finds a view by its command-line name. Accepts "lens" for "long-pattern". @return null if there is none
const ViewDescriptor* viewNamed(const std::string& name);
/// The reason why a view cannot show this subject, as a sentence; empty if it can.
std::string refusalOf(const ViewDescriptor& view, Subject& subject);

} // namespace attn::scope
