#pragma once

namespace attn {

/// What a map of pointers holds for a key, made if there is nothing yet. If making it throws, the map stays as it was.
template <class Map, class Make> auto& madeOnce(Map& map, const typename Map::key_type& key, const Make& make) {
    auto found = map.find(key);
    if (found == map.end()) found = map.emplace(key, make()).first;
    return *found->second;
}

} // namespace attn
