// Every state and event of a block that a device has or had, and the table of them in runtime/core/device/README.md.
#include <catch2/catch.hpp>

#include "runtime/core/device/cache/cached_block.h"
#include "tests/unit/main/transitions.h"

using namespace sial;

namespace {

constexpr const char* states[] = {"host_made", "host_known",        "host_written_back",
                                  "both",      "both_written_back", "device_only"};
constexpr const char* events[] = {"copy_in", "write_on_device", "write_back", "read_by_host", "write_by_host", "evict"};

CachedBlock in_state(std::size_t state) {
  CachedBlock u;
  u.state = static_cast<BlockState>(state);
  return u;
}

}  // namespace

TEST_CASE("each event leads from each state where the page says, or does not happen there") {
  check_transitions<CachedBlock, BlockEvent>(block_transitions, states, events, "runtime/core/device/README.md");
}

TEST_CASE("no event loses the only present values of a block") {
  for (std::size_t state = 0; state < block_states; ++state) {
    const CachedBlock u = in_state(state);
    CHECK((u.on_host() || u.on_device()));
    const std::optional<BlockState> evicted = block_transitions[static_cast<std::size_t>(BlockEvent::evict)][state];
    CHECK(evicted.has_value() == u.on_host());
    if (evicted) CHECK(in_state(static_cast<std::size_t>(*evicted)).on_host());
  }
}
