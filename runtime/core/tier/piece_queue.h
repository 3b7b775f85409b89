#pragma once
// The transfers of a disk that have not ended, cut into pieces. Engines take the piece that is due next: demands before
// prefetches before writes, each in the order of arrival. Of what nobody waits for only so much is under way that a
// demand soon gets its turn. A transfer ends when its pieces under way have ended and none is left, or one failed.
// Threads: all functions may be called by any thread. completed() of a transfer is called without a lock.

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "runtime/core/tier/bounce_buffers.h"
#include "runtime/core/tier/piece.h"
#include "runtime/core/tier/speed_meter.h"
#include "runtime/core/tier/tier.h"

namespace sial {

/// The demands of the file on operations.
struct FileRules {
  std::uint64_t alignment = 4096;
  std::size_t memory_alignment = 1;  // 1: any memory will do
};

class PieceQueue {
 public:
  static constexpr std::size_t max_direct_bytes = 2 << 20;       // of a piece
  static constexpr std::size_t max_background_bytes = 16 << 20;  // under way, of prefetches and writes
  /// `operations`: under way at most; one in four, at least one, is kept for demands.
  PieceQueue(const FileRules& rules, int operations);
  ~PieceQueue();
  PieceQueue(const PieceQueue&) = delete;
  PieceQueue& operator=(const PieceQueue&) = delete;

  void add(TierTransfer& transfer, bool write, TierPriority priority);
  /// Makes a transfer of which pieces are left a demand.
  void raise(TierTransfer& transfer);

  /// The next piece, ready for its operation; none: nothing may begin now.
  std::optional<Piece> begin();
  /// Waits for one; none: the queue is closed and empty.
  std::optional<Piece> begin_or_wait();
  /// To be called once for each piece that was begun.
  void end(Piece& piece);

  /// No transfer comes any more.
  void close();
  /// Closed, and nothing left to begin.
  bool exhausted() const;
  TierSpeed speed() const;
  std::uint64_t alignment() const { return rules_.alignment; }

 private:
  std::optional<Piece> take();
  std::optional<Piece> cut(TransferJob& job);
  bool may_begin(TierPriority priority, std::size_t bytes) const;
  std::size_t direct_bytes(const TransferJob& job) const;
  void raise_awaited();
  TransferJob* remove_later(const TierTransfer& transfer);
  bool nothing_queued() const;
  void stop(TransferJob& job);

  const FileRules rules_;
  const int operations_, background_operations_;
  mutable std::mutex mutex_;
  std::condition_variable due_;
  std::array<std::deque<TransferJob*>, 3> queued_;  // by priority; those of which a piece is left
  BounceBuffers bounce_;
  SpeedMeter meter_;
  int under_way_ = 0;
  int background_ = 0;
  std::size_t background_bytes_ = 0;
  bool closed_ = false;
};

}  // namespace sial
