#include "runtime/core/tier/replay/eviction_heap.h"

#include <algorithm>

namespace sial {
namespace {

bool leaves_later(const EvictionHeap::Entry& a, const EvictionHeap::Entry& b) { return a.key < b.key; }

}  // namespace

void EvictionHeap::push(const Entry& entry) {
  entries_.push_back(entry);
  std::push_heap(entries_.begin(), entries_.end(), leaves_later);
}

void EvictionHeap::pop() {
  std::pop_heap(entries_.begin(), entries_.end(), leaves_later);
  entries_.pop_back();
}

void EvictionHeap::make() { std::make_heap(entries_.begin(), entries_.end(), leaves_later); }

}  // namespace sial
