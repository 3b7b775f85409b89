#include "runtime/store/spill/use_record.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"

namespace sial {

namespace {

constexpr std::uint64_t words_per_commit = std::uint64_t{1} << 17;  // words

std::uint64_t pack(const UseRecord::Word& w) {
  return std::uint64_t{w.block} | std::uint64_t{static_cast<std::uint8_t>(w.event)} << 32 |
         std::uint64_t{w.begins_group} << 36 | std::uint64_t{w.who} << 37;
}

std::uint64_t words_of(BlockEvent event) {
  switch (event) {
    case BlockEvent::shares: return 2;
    case BlockEvent::defined:
    case BlockEvent::phase_ends: return 3;
    default: return 1;
  }
}

bool is_use(BlockEvent event) { return event != BlockEvent::defined && event != BlockEvent::phase_ends; }

}  // namespace

UseRecord::UseRecord(Transport& transport, std::uint64_t limit) : transport_(transport), limit_(limit) {
  memory_ = transport.map_node_memory(sizeof(Header) + limit * sizeof(std::uint64_t), "the record of uses of blocks");
  memory_->commit(0, sizeof(Header));
}

UseRecord::Word UseRecord::unpack(std::uint64_t w) {
  return {static_cast<std::uint32_t>(w), static_cast<BlockEvent>(w >> 32 & 0xf), (w >> 36 & 1) != 0,
          static_cast<std::uint16_t>(w >> 37 & 0xfff)};
}

std::span<const std::uint64_t> UseRecord::words() const {
  return {word_at(0), static_cast<std::size_t>(std::min(load(header().words), load(header().committed)))};
}

std::int64_t UseRecord::bytes_moved() const {
  const Header& h = header();
  return load(h.full) ? load(h.moved_when_full) : load(h.moved);
}

void UseRecord::clear() {
  Header& h = header();
  const auto used = static_cast<std::size_t>(std::min(load(h.words), load(h.committed)));
  std::fill_n(word_at(0), used, 0);
  h.words = 0;
  h.uses = h.unrecorded = h.moved = h.moved_when_full = 0;
  h.full = false;
}

/// False when the system has no memory for that.
bool UseRecord::commit(std::uint64_t words) {
  Header& h = header();
  const SpinGuard guard(h.lock, [this] { transport_.pause(); });
  while (h.committed.load(std::memory_order_relaxed) < words) {
    const std::uint64_t from = h.committed.load(std::memory_order_relaxed);
    const std::uint64_t step = std::min(words_per_commit, limit_ - from);
    try {
      memory_->commit(sizeof(Header) + from * sizeof(std::uint64_t), step * sizeof(std::uint64_t));
    } catch (const EnvironmentError&) { return false; }
    h.committed.store(from + step, std::memory_order_release);
  }
  return true;
}

void UseRecord::add(const Word& word, std::uint64_t second, std::uint64_t third) {
  Header& h = header();
  const std::uint64_t n = words_of(word.event);
  const bool counts = is_use(word.event);
  const bool was_full = h.full.load(std::memory_order_relaxed);
  const std::uint64_t at = was_full ? limit_ : h.words.fetch_add(n, std::memory_order_relaxed);
  if (at + n > limit_ || (at + n > h.committed.load(std::memory_order_acquire) && !commit(at + n))) {
    if (!was_full && !h.full.exchange(true, std::memory_order_relaxed)) h.moved_when_full = load(h.moved);
    if (counts) h.unrecorded.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::uint64_t* to = word_at(at);
  if (n > 1) to[1] = second;
  if (n > 2) to[2] = third;
  to[0] = pack(word);
  if (counts) h.uses.fetch_add(1, std::memory_order_relaxed);
}

void UseRecorder::define(Entry& e, std::int64_t doubles) {
  if (e.recorded != 0) return;
  e.recorded = record_.new_number();
  add(e.recorded, BlockEvent::defined, e.array, static_cast<std::uint64_t>(doubles));
}

void UseRecorder::note(Entry& e, BlockEvent event, std::int64_t doubles) {
  if (event == BlockEvent::dies && e.recorded == 0) return;
  define(e, doubles);
  add(event == BlockEvent::dies ? std::exchange(e.recorded, 0) : e.recorded, event);
}

void UseRecorder::note_shared(Entry& e, std::uint32_t from, std::int64_t doubles) {
  define(e, doubles);
  add(e.recorded, BlockEvent::shares, from);
}

void UseRecorder::end_phase(std::int64_t own_bytes, std::int64_t shared_bytes) {
  begin_group();
  add(0, BlockEvent::phase_ends, static_cast<std::uint64_t>(own_bytes), static_cast<std::uint64_t>(shared_bytes));
}

}  // namespace sial
