#include "runtime/core/store/remote/context.h"

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/fault_injection.h"

namespace sial {

void ArrayTable::begin(std::int32_t program, std::vector<RemoteArrayInfo> infos, PlaceNamer namer) {
  program_ = program;
  namer_ = std::move(namer);
  names_.set_places(namer_);
  arrays_.clear();
  for (RemoteArrayInfo& info : infos) {
    if (info.id.at() >= arrays_.size()) arrays_.resize(info.id.at() + 1);
    RemoteArray& a = at(info.id);
    a.placement = number(info.id);
    names_.set(number(info.id), info.name);
    a.info = std::move(info);
  }
}

void ArrayTable::end() {
  arrays_.clear();
  namer_ = nullptr;  // its program ends here
  names_.set_places(nullptr);
}

RemoteArray& ArrayTable::at(ArrayId id) {
  SIAL_CHECK(id != no_array && id.at() < arrays_.size(), "remote array {} of {}", id, arrays_.size());
  return arrays_[id.at()];
}

std::string ArrayTable::deletion(ArrayId id) {
  const std::optional<Place>& deleted = at(id).deleted;
  return deleted ? fmt::format("array {} was deleted at {}", name(id), place(*deleted)) : std::string();
}

bool ArrayTable::is_deleted(const BlockKey& key) const {
  const std::size_t id = key.array & 0xffffffff;
  return key.array >> 32 == static_cast<std::uint32_t>(program_) && id < arrays_.size() &&
         key.generation < arrays_[id].generation;
}

bool ArrayTable::is_discarded(const BlockKey& key, std::int64_t put_in) const {
  const std::size_t id = key.array & 0xffffffff;
  if (key.array >> 32 != static_cast<std::uint32_t>(program_) || id >= arrays_.size()) return false;
  const RemoteArray& a = arrays_[id];
  return key.generation == a.generation &&
         (put_in < a.discarded_before || (a.discarded_before > 0 && fault_enabled(Fault::discard_new_value)));
}

NodeId HomeMap::home(std::uint64_t placement, const BlockIndex& block) const {
  const auto& homes = transport_.home_nodes();
  return homes[home_of_block(placement, block, homes.size())];
}

int HomeMap::server_of(NodeId node, const BlockIndex& block) const {
  const auto& ranks = transport_.ranks_of_node(node);
  return ranks[(block_hash(block) >> 8) % ranks.size()];
}

std::vector<NodeId> HomeMap::in_charge() const {
  std::vector<NodeId> nodes;
  const auto& homes = transport_.home_nodes();
  for (std::size_t i = 0; i < homes.size(); ++i) {
    const int first = transport_.ranks_of_node(homes[i]).front();
    const int worker = first < transport_.size() ? first : static_cast<int>(i) % transport_.size();
    if (worker == transport_.rank()) nodes.push_back(homes[i]);
  }
  return nodes;
}

Access StoreContext::unchecked() const {
  Access nobody;
  nobody.rank = transport.rank();
  return nobody;
}

Chunk* StoreContext::new_chunk(ArrayId id, const BlockIndex& block, std::int64_t size) {
  return heap.allocate(arena, size, [&] { return "block " + block_name(arrays.name(id), block); });
}

}  // namespace sial
