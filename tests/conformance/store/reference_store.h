#pragma once
// The store's interfaces as simply as they can be had: one rank, values in a map, every change makes a new value. No
// transport, no messages, no look-ahead, nothing held back. The suite runs on it as on the real store, so that what a
// rule expects is said by two implementations. Counts only what the rules of one rank look at. Owned by its caller, one
// thread; errors are SialError as from the real store, with shorter messages.

#include <memory>

#include "runtime/core/store/store.h"

namespace sial::suite {

std::unique_ptr<BlockStore> make_reference_store(const StoreOptions& options);

}  // namespace sial::suite
