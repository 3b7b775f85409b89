#pragma once
// Dynamic pardo scheduling (design 3.2): per pardo instance a counter from which ranks draw raw ranges of the iteration
// space. Per-node queues in node-shared memory, guided chunk sizes, stealing between nodes at the end.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/transport/transport.h"

namespace sial {

/// One execution of one pardo: the same on every rank that takes part. `instance` counts this loop's executions since the
/// last barrier, `phase` the barriers of the job.
struct PardoKey { std::int32_t program = 0, loop = 0; std::int64_t phase = 0, instance = 0; auto operator<=>(const PardoKey&) const = default; };

struct IterationRange { std::int64_t first = 0, last = 0; };  // [first, last)

class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  /// Next chunk of [0, total) for this rank, or nullopt when all iterations have been handed out.
  virtual std::optional<IterationRange> draw(const PardoKey& key, std::int64_t total) = 0;
  /// Forget all instances of phases before `phase` (called after a barrier).
  virtual void new_phase(std::int64_t phase) = 0;
};

/// Collective. Uses node memory of `transport` and, with several nodes, requests (its messages begin with the byte
/// `work_queue_message`; the service set on the transport must hand those to serve_work_queue_message).
std::unique_ptr<WorkQueue> make_work_queue(Transport& transport);
inline constexpr std::byte work_queue_message{0x57};
Reply serve_work_queue_message(WorkQueue& queue, std::span<const std::byte> header);

}  // namespace sial
