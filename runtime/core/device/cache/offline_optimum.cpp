#include "runtime/core/device/cache/offline_optimum.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "runtime/core/device/cache/device_pool.h"

namespace sial {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

class Replay {
 public:
  explicit Replay(std::int64_t elements) : free_(elements) {}

  void on_device(const OfflineOptimum::Key& key, std::int64_t elements, std::uint64_t operation, Intent intent,
                 std::int64_t next) {
    Cached& u = blocks_[key];
    const bool has_values = u.block != nullptr;
    if (u.block && intent != Intent::read && u.block->sharers.size() > 1) leave(u);  // others keep what they share
    if (!u.block) {
      const std::int64_t size = DevicePool::rounded(elements);
      evict_for(size, operation);
      u.block = std::make_shared<Block>();
      u.block->elements = elements;
      u.block->size = size;
      u.block->sharers.insert(&u);
      free_ -= size;
      if (!has_values && intent != Intent::write) moved_.in.add(elements);
    }
    by_next_.erase({u.block->next, u.block.get()});
    u.block->operation = operation;
    u.block->next = next;
    by_next_.insert({next, u.block.get()});
    if (intent != Intent::read) u.host_valid = false;
  }

  void on_host(const OfflineOptimum::Key& key, Intent intent) {
    const auto found = blocks_.find(key);
    if (found == blocks_.end()) return;
    if (intent != Intent::write) copy_out(found->second);
    found->second.host_valid = true;
    if (intent != Intent::read) leave(found->second);
  }

  void ended(const OfflineOptimum::Key& key) {
    const auto found = blocks_.find(key);
    if (found == blocks_.end()) return;
    leave(found->second);
    blocks_.erase(found);
  }

  void shared(const OfflineOptimum::Key& key, const OfflineOptimum::Key& alias_key, std::int64_t next) {
    const auto found = blocks_.find(key);
    if (found == blocks_.end() || !found->second.block) return;
    ended(alias_key);
    Cached& alias = blocks_[alias_key];
    alias.block = found->second.block;
    alias.block->sharers.insert(&alias);
    by_next_.erase({alias.block->next, alias.block.get()});
    alias.block->next = std::min(alias.block->next, next);
    by_next_.insert({alias.block->next, alias.block.get()});
  }

  const OfflineOptimum::Moved& moved() const { return moved_; }

 private:
  struct Cached;
  struct Block {
    std::int64_t elements = 0, size = 0, next = never;
    std::uint64_t operation = 0;
    std::set<Cached*> sharers;
  };
  struct Cached {
    std::shared_ptr<Block> block;
    bool host_valid = true;
  };

  void copy_out(Cached& u) {
    if (!u.host_valid && u.block) moved_.out.add(u.block->elements);
    u.host_valid = true;
  }
  void leave(Cached& u) {
    if (!u.block) return;
    u.block->sharers.erase(&u);
    if (u.block->sharers.empty()) {
      free_ += u.block->size;
      by_next_.erase({u.block->next, u.block.get()});
    }
    u.block.reset();
  }
  void evict_for(std::int64_t size, std::uint64_t operation) {
    while (free_ < size) {
      const auto last = std::find_if(by_next_.rbegin(), by_next_.rend(),
                                     [&](const auto& entry) { return entry.second->operation != operation; });
      if (last == by_next_.rend()) return;
      const std::set<Cached*> sharers = last->second->sharers;
      for (Cached* u : sharers) {
        copy_out(*u);
        leave(*u);
      }
    }
  }

  std::int64_t free_;
  std::map<OfflineOptimum::Key, Cached> blocks_;
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
void OfflineOptimum::shared(const Key& block, const Key& alias) {
  events_.push_back({block, alias, 0, 0, What::shared, Intent::read});
}

/// Per event: the number of the next one that wants what the block holds on the device.
std::vector<std::int64_t> OfflineOptimum::next_uses() const {
  std::vector<std::int64_t> result(events_.size(), never);
  std::map<Key, std::int64_t> upcoming;
  const auto next = [&](const Key& key) {
    const auto found = upcoming.find(key);
    return found == upcoming.end() ? never : found->second;
  };
  for (std::size_t i = events_.size(); i-- > 0;) {
    const Event& e = events_[i];
    switch (e.what) {
      case What::on_device:
        result[i] = next(e.block);
        upcoming[e.block] = e.intent == Intent::write ? never : static_cast<std::int64_t>(i);
        break;
      case What::shared:
        upcoming[e.block] = result[i] = std::min(next(e.block), next(e.alias));
        upcoming.erase(e.alias);
        break;
      case What::ended: upcoming.erase(e.block); break;
      case What::on_host:
        if (e.intent != Intent::read) upcoming.erase(e.block);
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
      case What::shared: replay.shared(e.block, e.alias, next[i]); break;
    }
  }
  return replay.moved();
}

}  // namespace sial
