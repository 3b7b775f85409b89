// The placement policy of DmRT as published (the description is cited in README.md): small requests (below 512 B) take
// a free piece of exactly their size, or are cut from the first that is larger; normal ones (below 2 MB) are a good fit
// among classes of sizes; large ones take the largest free piece. Neighbours merge at once. Memory is in nodes, one per
// rank: ideal below 10 % use, light below 0.7 of the mean use, heavy above 1.3 of it. A request goes to its own node
// unless that is heavy, then to nodes that share the load (neither ideal nor heavy), then to ideal ones, then to any
// that has a piece. Its lists are ordered trees beside the region: it shows where blocks are placed, not how fast.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "allocators.h"

namespace heapbench {

namespace {

constexpr std::size_t unit = 64, small = 512, normal = std::size_t{2} << 20;

/// The free pieces of a node, by address and by size.
class Node {
 public:
  Node(std::byte* begin, std::size_t bytes) : bytes_(bytes) { add(begin, bytes); }

  std::byte* take(std::size_t bytes, std::size_t asked) {
    const auto at = choose(bytes, asked);
    if (at == by_size_.end()) return nullptr;
    const auto [size, p] = *at;
    by_size_.erase(at);
    by_address_.erase(p);
    if (size > bytes) add(p + bytes, size - bytes);
    used_ += bytes;
    return p;
  }

  void give_back(std::byte* p, std::size_t bytes) {
    used_ -= bytes;
    auto next = by_address_.lower_bound(p);
    if (next != by_address_.end() && p + bytes == next->first) {
      bytes += next->second;
      by_size_.erase({next->second, next->first});
      next = by_address_.erase(next);
    }
    if (next != by_address_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == p) {
        p = before->first;
        bytes += before->second;
        by_size_.erase({before->second, before->first});
        by_address_.erase(before);
      }
    }
    add(p, bytes);
  }

  double use() const { return static_cast<double>(used_) / static_cast<double>(bytes_); }

 private:
  using BySize = std::set<std::pair<std::size_t, std::byte*>>;

  void add(std::byte* p, std::size_t bytes) {
    by_address_[p] = bytes;
    by_size_.insert({bytes, p});
  }

  BySize::iterator choose(std::size_t bytes, std::size_t asked) {
    if (asked >= normal)
      return !by_size_.empty() && by_size_.rbegin()->first >= bytes ? std::prev(by_size_.end()) : by_size_.end();
    // Of normal sizes any piece of a class is as good, classes being a sixteenth of a power of two: the first by
    // address of the class, as its list would have it.
    const auto least = by_size_.lower_bound({bytes, nullptr});
    if (asked < small || least == by_size_.end()) return least;
    std::size_t step = unit;
    while (step * 32 <= least->first) step *= 2;
    const auto end = by_size_.lower_bound({(least->first / step + 1) * step, nullptr});
    return std::min_element(least, end, [](const auto& a, const auto& b) { return a.second < b.second; });
  }

  std::size_t bytes_, used_ = 0;
  std::map<std::byte*, std::size_t> by_address_;
  BySize by_size_;
};

class DmrtPolicy final : public Allocator {
 public:
  explicit DmrtPolicy(const Setup& setup) : region_(setup.capacity, 4096) {
    share_ = setup.capacity / static_cast<std::size_t>(setup.ranks) / unit * unit;
    for (int i = 0; i < setup.ranks; ++i)
      nodes_.emplace_back(region_.begin() + share_ * static_cast<std::size_t>(i), share_);
  }

  void* take(std::size_t asked, int rank) override {
    const std::size_t bytes = round_up(std::max<std::size_t>(asked, 1), unit);
    double mean = 0;
    for (const Node& n : nodes_) mean += n.use() / static_cast<double>(nodes_.size());
    enum class Load : std::uint8_t { own, light, shared, ideal, heavy };
    const auto load = [&](std::size_t i) {
      const double use = nodes_[i].use();
      const bool heavy = nodes_.size() > 1 && use > 1.3 * mean;
      if (i == static_cast<std::size_t>(rank) && !heavy) return Load::own;
      if (heavy) return Load::heavy;
      return use < 0.1 ? Load::ideal : use < 0.7 * mean ? Load::light : Load::shared;
    };
    std::vector<std::pair<Load, std::size_t>> order;
    for (std::size_t i = 0; i < nodes_.size(); ++i) order.emplace_back(load(i), i);
    std::ranges::sort(order);
    for (const auto& [unused, i] : order)
      if (std::byte* p = nodes_[i].take(bytes, asked)) return p;
    return nullptr;
  }

  void give_back(void* p, std::size_t bytes, int) override {
    auto* at = static_cast<std::byte*>(p);
    nodes_[static_cast<std::size_t>(at - region_.begin()) / share_].give_back(
        at, round_up(std::max<std::size_t>(bytes, 1), unit));
  }
  std::size_t taken(const void*, std::size_t bytes) const override {
    return round_up(std::max<std::size_t>(bytes, 1), unit);
  }
  std::size_t committed() override { return region_.resident(); }

 private:
  Region region_;
  std::size_t share_;
  std::vector<Node> nodes_;
};

}  // namespace

std::unique_ptr<Allocator> make_dmrt_policy(const Setup& setup) { return std::make_unique<DmrtPolicy>(setup); }

}  // namespace heapbench
