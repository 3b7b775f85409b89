#pragma once
// Blocks in the order in which they leave: the largest key first. A key that has changed is not looked for: the block
// enters again, and its earlier entries are passed over when they come up. Part of the replay of a sequence.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sial {

class EvictionHeap {
 public:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t block = 0;
  };

  void push(const Entry& entry);
  void pop();
  bool empty() const { return entries_.empty(); }
  const Entry& top() const { return entries_.front(); }
  std::size_t size() const { return entries_.size(); }
  /// Drops the entries for which `holds` is false.
  template <class Holds>
  void clean(Holds holds) {
    std::erase_if(entries_, [&](const Entry& entry) { return !holds(entry); });
    make();
  }
  /// The first entry for which `holds` is true; those before it are dropped.
  template <class Holds>
  std::optional<Entry> first(Holds holds) {
    while (!empty() && !holds(top())) pop();
    return empty() ? std::nullopt : std::optional(top());
  }

 private:
  void make();

  std::vector<Entry> entries_;
};

}  // namespace sial
