#pragma once

#include "app/lab/panels/catalogue.h"

#include <vector>

namespace attn {

/// Every panel of the window, in the order of the View menu: the catalogue, and the lessons, which use it.
const std::vector<PanelDescriptor>& windowPanels();

} // namespace attn
