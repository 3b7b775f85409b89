#pragma once
// What the ranks of a node take from their heap and give back, in order, as `sialrun --record-heap FILE` writes it: one
// file per rank, FILE.RANK, with a HeapTraceHeader and then HeapEvents in the byte order of the machine. `sequence`
// orders the events of all ranks of a node: it comes from a counter in the node's memory, which a taken chunk draws
// from once it is taken, and one that is given back before others can have it. The offset of a chunk therefore names
// it from the event that takes it to the event that gives it back. Requests that found no memory are not recorded.
// Owned by the heap that it belongs to. Safe to use from several threads of a rank.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/output_file.h"

namespace sial {

struct HeapTraceHeader {
  static constexpr std::array<char, 8> expected_magic = {'S', 'I', 'A', 'L', 'H', 'E', 'A', 'P'};
  static constexpr std::uint32_t current_version = 1;

  std::array<char, 8> magic = expected_magic;
  std::uint32_t version = current_version;
  std::int32_t rank = 0, node = 0;  // that wrote the file
  std::int32_t arena = 0;           // of the rank, within its node
  std::int32_t arenas = 0;          // of the node
  std::uint32_t spills = 0;         // 1: free chunks hand their memory back, see HeapHooks::spills
  std::uint64_t bytes_per_arena = 0;
};
static_assert(sizeof(HeapTraceHeader) == 40);

struct HeapEvent {
  enum class Kind : std::uint8_t {
    take = 0,       // `doubles` are wanted for `use`
    give_back = 1,  // the last reference was dropped
    use = 2,        // the chunk is counted differently from now on
    phase = 3       // the rank has met the others: the next phase begins
  };
  static constexpr std::uint8_t not_counted = 4;  // a use beside NodeHeap::Use, of a heap user's own bookkeeping

  std::uint64_t sequence = 0;
  std::uint64_t chunk = 0;   // offset in the node's memory
  std::int64_t doubles = 0;  // asked for
  std::uint64_t bytes = 0;   // of the chunk
  Kind kind = Kind::take;
  std::uint8_t use = 0;     // NodeHeap::Use, or not_counted
  std::int16_t caller = 0;  // arena of the rank that calls; -1: a helper thread
  std::uint16_t arena = 0;  // that the chunk lies in
  std::uint16_t unused = 0;
};
static_assert(sizeof(HeapEvent) == 40);

class HeapRecorder {
 public:
  /// Throws EnvironmentError when the file cannot be written.
  HeapRecorder(const std::string& path, const HeapTraceHeader& header);
  /// Completes the file. What could not be written is said on the error stream: the job itself is not harmed.
  ~HeapRecorder();
  HeapRecorder(const HeapRecorder&) = delete;
  HeapRecorder& operator=(const HeapRecorder&) = delete;

  /// `sequence`: the node's counter.
  void record(std::atomic<std::uint64_t>& sequence, HeapEvent event) noexcept;

 private:
  void write() noexcept;

  std::mutex mutex_;
  std::optional<OutputFile> file_;  // until something goes wrong
  std::string path_, problem_;
  std::vector<HeapEvent> events_;  // not written yet
};

}  // namespace sial
