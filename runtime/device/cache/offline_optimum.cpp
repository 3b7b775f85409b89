#include "runtime/device/cache/offline_optimum.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "runtime/device/cache/device_pool.h"

namespace sial {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

class Replay {
 public:
  explicit Replay(std::int64_t elements) : room_(elements) {}

  void on_device(const OfflineOptimum::Key& key, std::int64_t elements, std::uint64_t operation, Intent intent,
                 std::int64_t next) {
    Unit& u = units_[key];
    const bool has_values = u.block != nullptr;
    if (u.block && intent != Intent::read && u.block->units.size() > 1) leave(u);  // others keep what they share
    if (!u.block) {
      const std::int64_t room = DevicePool::rounded(elements);
      make_room(room, operation);
      u.block = std::make_shared<Block>();
      u.block->elements = elements;
      u.block->room = room;
      u.block->units.insert(&u);
      room_ -= room;
      if (!has_values && intent != Intent::write) moved_.in.add(elements);
    }
    by_next_.erase({u.block->next, u.block.get()});
    u.block->operation = operation;
    u.block->next = next;
    by_next_.insert({next, u.block.get()});
    if (intent != Intent::read) u.host_valid = false;
  }

  void on_host(const OfflineOptimum::Key& key, Intent intent) {
    const auto found = units_.find(key);
    if (found == units_.end()) return;
    if (intent != Intent::write) copy_out(found->second);
    found->second.host_valid = true;
    if (intent != Intent::read) leave(found->second);
  }

  void ended(const OfflineOptimum::Key& key) {
    const auto found = units_.find(key);
    if (found == units_.end()) return;
    leave(found->second);
    units_.erase(found);
  }

  void shared(const OfflineOptimum::Key& key, const OfflineOptimum::Key& twin_key, std::int64_t next) {
    const auto found = units_.find(key);
    if (found == units_.end() || !found->second.block) return;
    ended(twin_key);
    Unit& twin = units_[twin_key];
    twin.block = found->second.block;
    twin.block->units.insert(&twin);
    by_next_.erase({twin.block->next, twin.block.get()});
    twin.block->next = std::min(twin.block->next, next);
    by_next_.insert({twin.block->next, twin.block.get()});
  }

  const OfflineOptimum::Moved& moved() const { return moved_; }

 private:
  struct Unit;
  struct Block {
    std::int64_t elements = 0, room = 0, next = never;
    std::uint64_t operation = 0;
    std::set<Unit*> units;
  };
  struct Unit {
    std::shared_ptr<Block> block;
    bool host_valid = true;
  };

  void copy_out(Unit& u) {
    if (!u.host_valid && u.block) moved_.out.add(u.block->elements);
    u.host_valid = true;
  }
  void leave(Unit& u) {
    if (!u.block) return;
    u.block->units.erase(&u);
    if (u.block->units.empty()) {
      room_ += u.block->room;
      by_next_.erase({u.block->next, u.block.get()});
    }
    u.block.reset();
  }
  void make_room(std::int64_t room, std::uint64_t operation) {
    while (room_ < room) {
      const auto last = std::find_if(by_next_.rbegin(), by_next_.rend(),
                                     [&](const auto& entry) { return entry.second->operation != operation; });
      if (last == by_next_.rend()) return;
      const std::set<Unit*> units = last->second->units;
      for (Unit* u : units) {
        copy_out(*u);
        leave(*u);
      }
    }
  }

  std::int64_t room_;
  std::map<OfflineOptimum::Key, Unit> units_;
  std::set<std::pair<std::int64_t, Block*>> by_next_;
  OfflineOptimum::Moved moved_;
};

}  // namespace

void OfflineOptimum::on_device(const Key& block, std::int64_t elements, std::uint64_t operation, Intent intent) {
  events_.push_back({block, {}, elements, operation, What::on_device, intent});
}
void OfflineOptimum::on_host(const Key& block, Intent intent) {
  events_.push_back({block, {}, 0, 0, What::on_host, intent});
}
void OfflineOptimum::ended(const Key& block) { events_.push_back({block, {}, 0, 0, What::ended, Intent::read}); }
void OfflineOptimum::shared(const Key& block, const Key& twin) {
  events_.push_back({block, twin, 0, 0, What::shared, Intent::read});
}

/// Per event: the number of the next one that wants what the block holds on the device.
std::vector<std::int64_t> OfflineOptimum::next_uses() const {
  std::vector<std::int64_t> result(events_.size(), never);
  std::map<Key, std::int64_t> coming;
  const auto next = [&](const Key& key) {
    const auto found = coming.find(key);
    return found == coming.end() ? never : found->second;
  };
  for (std::size_t i = events_.size(); i-- > 0;) {
    const Event& e = events_[i];
    switch (e.what) {
      case What::on_device:
        result[i] = next(e.block);
        coming[e.block] = e.intent == Intent::write ? never : static_cast<std::int64_t>(i);
        break;
      case What::shared:
        coming[e.block] = result[i] = std::min(next(e.block), next(e.twin));
        coming.erase(e.twin);
        break;
      case What::ended: coming.erase(e.block); break;
      case What::on_host:
        if (e.intent != Intent::read) coming.erase(e.block);
        break;
    }
  }
  return result;
}

OfflineOptimum::Moved OfflineOptimum::replay(std::int64_t bytes) const {
  const std::vector<std::int64_t> next = next_uses();
  Replay replay(bytes / 8);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Event& e = events_[i];
    switch (e.what) {
      case What::on_device: replay.on_device(e.block, e.elements, e.operation, e.intent, next[i]); break;
      case What::on_host: replay.on_host(e.block, e.intent); break;
      case What::ended: replay.ended(e.block); break;
      case What::shared: replay.shared(e.block, e.twin, next[i]); break;
    }
  }
  return replay.moved();
}

}  // namespace sial
