#pragma once
// All protocols that are modelled.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/models/protocol.h"

namespace sial::models {

struct Listed {
  std::string name;
  std::string property;
  std::function<std::unique_ptr<Protocol>(Weakening)> make;
};

template <class P>
Listed listed(std::string name, std::string property) {
  return {std::move(name), std::move(property), [](Weakening w) { return std::make_unique<P>(std::move(w)); }};
}

std::vector<Listed> heap_protocols();
std::vector<Listed> directory_protocols();
std::vector<Listed> tier_protocols();
/// With steps in a wrong order: they have to fail.
std::vector<Listed> broken_protocols();

/// A SpinLock, in the models of what it guards; its own orders have a model of their own.
struct Lock {
  Atomic word;
  auto take(Thread& t) const { return t.await_change(word, 0, 1, std::memory_order_acquire); }
  auto leave(Thread& t) const { return t.store(word, 0, std::memory_order_release); }
};

}  // namespace sial::models
