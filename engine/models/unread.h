#pragma once

#include "engine/io/weight_source.h"
#include "engine/models/left_out.h"

#include <nlohmann/json_fwd.hpp>

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The fields that nobody read, without those that change no number of a run, and without values that switch nothing
/// on.
std::vector<LeftOut::Field> unreadFields(const nlohmann::json& config, const FieldLog& log);

/// The tensors that no parameter is read from. Copies of a table are none of them.
/// @param used      the tensors that parameters are read from, as recipes name them
/// @param leftovers globs of the tensors that files of the family hold for other purposes
/// @param tables    tensors of `used` that files store again under other names: the embedding and the readout
std::vector<std::string> unreadTensors(const WeightSource& weights, const std::set<std::string>& used,
                                       std::span<const std::string_view> leftovers,
                                       std::span<const std::string> tables = {});

/// Whether two tensors of the same shape hold the same values: in all rows, or in 1024 rows of a larger table.
bool isSameTable(const WeightSource& weights, const std::string& first, const std::string& second);

} // namespace attn
