#pragma once
// A tier in a file. Transfers are cut into pieces (piece_queue.h), which an engine carries out: io_uring where the
// kernel lets us, a few threads otherwise.

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "runtime/core/tier/file_engine.h"
#include "runtime/core/tier/piece_queue.h"
#include "runtime/core/tier/spill_file.h"
#include "runtime/core/tier/tier.h"

namespace sial {

enum class EngineKind : std::uint8_t { automatic, uring, threads };

class DiskTier final : public Tier {
 public:
  /// Takes one of the engines; throws EnvironmentError when there is no io_uring.
  explicit DiskTier(std::unique_ptr<SpillFile> file, EngineKind engine = EngineKind::automatic);
  ~DiskTier() override;
  DiskTier(const DiskTier&) = delete;
  DiskTier& operator=(const DiskTier&) = delete;

  std::string name() const override { return file_->place(); }
  std::string kind() const override { return "disk"; }
  std::uint64_t capacity() const override { return file_->capacity(); }
  std::uint64_t alignment() const override { return file_->alignment(); }
  bool reserve(std::uint64_t bytes) override {
    file_->reserve(bytes);
    return true;
  }
  void write(TierTransfer& transfer) override;
  void read(TierTransfer& transfer, TierPriority priority) override;
  void raise(TierTransfer& transfer) override;
  TierSpeed speed() const override { return queue_->speed(); }

  /// "io_uring" or "threads".
  std::string engine() const { return engine_->kind(); }
  const SpillFile& file() const { return *file_; }

 private:
  /// A small read that is there only to be timed: blocks may be large all.
  struct LatencyProbe final : TierTransfer {
    LatencyProbe();
    void completed(int error) noexcept override;
    alignas(64) std::array<std::byte, 512> target;
    std::atomic<bool> under_way = false;
    std::atomic<unsigned> reads = 0;  // of others, so far
  };

  void start(EngineKind engine);
  void measure_latency(std::uint64_t at);
  void make_queue(int operations);

  std::unique_ptr<SpillFile> file_;
  LatencyProbe probe_;
  std::unique_ptr<PieceQueue> queue_;
  std::unique_ptr<FileEngine> engine_;
};

/// Whether this machine has io_uring, for programs that were built with it.
bool has_uring();

}  // namespace sial
