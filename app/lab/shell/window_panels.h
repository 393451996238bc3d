#pragma once

#include "app/lab/panels/catalogue.h"

#include <vector>

namespace attn {

/// Every panel of the window, in the order of the View menu: the catalogue, the start page, and the lessons, which use
/// the catalogue.
const std::vector<PanelDescriptor>& windowPanels();

} // namespace attn
