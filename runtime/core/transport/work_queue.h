#pragma once
// Dynamic pardo scheduling (runtime/core/interp/README.md): per pardo instance a counter from which ranks draw raw ranges of
// the iteration space. Per-node queues in node-shared memory, guided chunk sizes, stealing between nodes at the end.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/core/base/iteration_shares.h"
#include "runtime/core/transport/transport.h"

namespace sial {

/// One execution of one pardo: the same on every rank that takes part. `instance` counts this loop's executions since
/// the last barrier, `phase` the barriers of the job.
struct PardoKey {
  std::int32_t program = 0, loop = 0;
  std::int64_t phase = 0, instance = 0;
  auto operator<=>(const PardoKey&) const = default;
};

struct IterationRange {
  std::int64_t first = 0, last = 0;
};  // [first, last)

class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  /// Next chunk of [0, candidates.total) for this rank, or nullopt when nothing is left for it. Every rank must draw
  /// until nullopt: each iteration is handed out exactly once among all ranks. `phase` never decreases from draw to
  /// draw.
  virtual std::optional<IterationRange> draw(const PardoKey& key, Candidates candidates) = 0;
  /// Sets aside what this rank's next draws will return, in one or several pieces, so that it can look ahead into it:
  /// the same range until it is drawn, of `least` iterations or more where its part of what is left has so many. Ranks
  /// without work take from what others have set aside, so that a draw may return another range, or nothing.
  virtual std::optional<IterationRange> reserve(const PardoKey& key, Candidates candidates, std::int64_t least) = 0;
  /// Forget all instances of phases before `phase` (called after a barrier, with the phase the next draws will name).
  virtual void new_phase(std::int64_t phase) = 0;
};

/// Collective (servers need none). Uses node memory of `transport` and, with several nodes, requests (its messages
/// begin with the byte `work_queue_message`; the service set on the transport must hand those to
/// serve_work_queue_message). `slots`: pardo instances a node can follow between two barriers; later ones are divided
/// statically within the node.
std::unique_ptr<WorkQueue> make_work_queue(Transport& transport, std::size_t slots = 4096);
inline constexpr std::byte work_queue_message{0x57};
Reply serve_work_queue_message(WorkQueue& queue, std::span<const std::byte> header);

}  // namespace sial
