#pragma once
// What is done to the blocks of a node, by all its ranks in one order: the offline optimum of a run is computed from it
// (use_optimum.h). Lies in node memory of its own, 8 bytes a use, up to a limit; what comes after it is counted. A
// block has a number from its first use until it is gone, which its directory entry holds. Any thread of any rank adds
// to it, with the entry's lock held.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/memory/spin_lock.h"
#include "runtime/store/local/directory.h"
#include "runtime/transport/transport.h"

namespace sial {

enum class BlockEvent : std::uint8_t {
  none,
  read,
  write,   // the whole value
  update,  // from the value there was
  dies,
  shares,     // has the value of the block whose number the next word is
  defined,    // what the number stands for; next words: array, elements
  phase_ends  // of one rank; next words: bytes of its own, and of the node's blocks, at most
};

class UseRecord {
 public:
  static constexpr std::uint64_t max_words = std::uint64_t{1} << 22;

  /// Beside blocks of so many bytes: the record, and what the optimum is computed with, take about a third of that.
  static std::uint64_t limit_for(std::size_t memory) {
    return std::clamp<std::uint64_t>(memory / 128, std::uint64_t{1} << 12, max_words);
  }
  /// Collective over the ranks of the node.
  UseRecord(Transport& transport, std::uint64_t limit = max_words);

  struct Word {
    std::uint32_t block = 0;
    BlockEvent event = BlockEvent::none;
    bool begins_group = false;  // `who` has nothing in use that it used before
    std::uint16_t who = 0;      // up to 4095
  };
  static Word unpack(std::uint64_t word);
  /// All words, when nobody adds any.
  std::span<const std::uint64_t> words() const;
  std::int64_t uses() const { return load(header().uses); }
  std::int64_t unrecorded() const { return load(header().unrecorded); }
  /// Of those moved to and from tiers, the bytes up to the last recorded use.
  std::int64_t bytes_moved() const;
  /// Begins anew: blocks keep their numbers. When nobody adds any.
  void clear();

  // --- for who adds to it
  std::uint32_t new_number() { return header().numbers.fetch_add(1, std::memory_order_relaxed) + 1; }
  void add(const Word& word, std::uint64_t second = 0, std::uint64_t third = 0);
  void note_moved(std::int64_t bytes) { header().moved.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  struct alignas(64) Header {
    std::atomic<std::uint64_t> words, committed;
    std::atomic<std::uint32_t> numbers;
    std::atomic<bool> full;
    std::atomic<std::int64_t> uses, unrecorded, moved, moved_when_full;
    SpinLock lock;  // to commit
  };
  template <class T>
  static T load(const std::atomic<T>& value) {
    return value.load(std::memory_order_relaxed);
  }
  Header& header() const { return *reinterpret_cast<Header*>(memory_->base()); }
  std::uint64_t* word_at(std::uint64_t i) const {
    return reinterpret_cast<std::uint64_t*>(memory_->base() + sizeof(Header)) + i;
  }
  bool commit(std::uint64_t words);

  Transport& transport_;
  const std::uint64_t limit_;
  std::shared_ptr<NodeMemory> memory_;
};

/// One thread's part of it. What it uses between two calls of begin_group() is in use at once.
class UseRecorder {
 public:
  /// `who`: no other thread of the node has this number. `alone`: each use stands for itself, as on helpers.
  UseRecorder(UseRecord& record, int who, bool alone)
      : record_(record), who_(static_cast<std::uint16_t>(who)), alone_(alone) {}

  void begin_group() { begins_ = true; }
  /// A block that the directory has: its number is its entry's.
  void note(Entry& e, BlockEvent event, std::int64_t doubles);
  /// A read of a block whose number was kept; 0: of none.
  void note_read(std::uint32_t number) {
    if (number != 0) add(number, BlockEvent::read);
  }
  /// `from`: the number of the block whose value it has.
  void note_shared(Entry& e, std::uint32_t from, std::int64_t doubles);
  /// Gives it a number.
  void define(Entry& e, std::int64_t doubles);
  void end_phase(std::int64_t own_bytes, std::int64_t shared_bytes);
  void note_moved(std::int64_t bytes) { record_.note_moved(bytes); }
  UseRecord& record() { return record_; }

 private:
  void add(std::uint32_t number, BlockEvent event, std::uint64_t second = 0, std::uint64_t third = 0) {
    record_.add({number, event, begins_ || alone_, who_}, second, third);
    begins_ = false;
  }

  UseRecord& record_;
  const std::uint16_t who_;
  const bool alone_;
  bool begins_ = true;
};

}  // namespace sial
