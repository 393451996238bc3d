#pragma once

namespace attn {

/// Examples for training, for decisions during training, and for a single test at the end. The hash of an example
/// decides its split, so no example is in two splits with any seed.
enum class Split { Train, Validation, Test };

} // namespace attn
