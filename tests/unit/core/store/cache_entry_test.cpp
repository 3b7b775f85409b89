// Every state and event of a rank's copy of a block, and the table of them in runtime/core/store/README.md.
#include <catch2/catch.hpp>

#include "runtime/core/store/local/cache_table.h"
#include "tests/unit/main/transitions.h"

using namespace sial;

namespace {

constexpr const char* states[] = {"untouched", "put",   "put_retained", "got",
                                  "evicted",   "stale", "retained",     "retained_unsure"};
constexpr const char* events[] = {"get", "put", "retain_put", "write_private", "evict", "drop", "keep", "keep_unsure"};

CacheEntry in_state(CopyState state) {
  CacheEntry h;
  h.state = state;
  return h;
}

}  // namespace

TEST_CASE("each event of a copy leads from each state where the page says, or does not happen there") {
  check_transitions<CacheEntry, CopyEvent>(copy_transitions, states, events, "runtime/core/store/README.md");
}

TEST_CASE("a get after a put of this rank fetches the block, whatever was there") {
  for (std::size_t i = 0; i < copy_states; ++i) {
    CacheEntry h = in_state(static_cast<CopyState>(i));
    if (h.is_retained()) h.record(CopyEvent::evict);
    h.record(CopyEvent::put);
    CHECK(h.was_put());
    h.record(CopyEvent::get);
    CHECK((h.was_got() && !h.was_put()));
  }
}

TEST_CASE("a value from before a put of this rank is never evicted: it cannot be fetched any more") {
  const auto& evict = copy_transitions[static_cast<std::size_t>(CopyEvent::evict)];
  CHECK(!evict[static_cast<std::size_t>(CopyState::stale)]);
  const auto& keep = copy_transitions[static_cast<std::size_t>(CopyEvent::keep)];
  CHECK(!keep[static_cast<std::size_t>(CopyState::stale)]);
}
