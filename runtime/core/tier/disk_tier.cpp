#include "runtime/core/tier/disk_tier.h"

#include <utility>

#include "runtime/core/base/error.h"

namespace sial {
namespace {

constexpr unsigned reads_per_probe = 256;

}  // namespace

DiskTier::DiskTier(std::unique_ptr<SpillFile> file, EngineKind engine) : file_(std::move(file)) { start(engine); }

DiskTier::~DiskTier() {
  queue_->close();
  engine_.reset();
}

void DiskTier::make_queue(int operations) {
  queue_ = std::make_unique<PieceQueue>(FileRules{file_->alignment(), file_->memory_alignment()}, operations);
}

/// Through the page cache each operation is a copy, which several threads do faster than one.
void DiskTier::start(EngineKind engine) {
  if (engine == EngineKind::uring || (engine == EngineKind::automatic && file_->direct())) {
    make_queue(uring_operations);
    engine_ = make_uring_engine(*queue_, file_->descriptor());
    if (engine_) return;
    if (engine == EngineKind::uring)
      throw EnvironmentError("this system has no io_uring, or does not let us use it",
                             "leave the choice to the program");
  }
  make_queue(thread_operations);
  engine_ = make_thread_engine(*queue_, file_->descriptor());
}

void DiskTier::write(TierTransfer& transfer) {
  queue_->add(transfer, true, TierPriority::write);
  engine_->wake();
}

DiskTier::LatencyProbe::LatencyProbe() {
  memory = target.data();
  bytes = target.size();
}

void DiskTier::LatencyProbe::completed(int /*error*/) noexcept { under_way = false; }

/// Reads at the place of a block that is read now anyway.
void DiskTier::measure_latency(std::uint64_t at) {
  if (probe_.reads++ % reads_per_probe != 0 || probe_.under_way.exchange(true)) return;
  probe_.at = at;
  queue_->add(probe_, false, TierPriority::demand);
}

void DiskTier::read(TierTransfer& transfer, TierPriority priority) {
  measure_latency(transfer.at);
  queue_->add(transfer, false, priority);
  engine_->wake();
}

void DiskTier::raise(TierTransfer& transfer) {
  queue_->raise(transfer);
  engine_->wake();
}

bool has_uring() {
  PieceQueue queue({}, uring_operations);
  queue.close();
  return make_uring_engine(queue, -1) != nullptr;
}

}  // namespace sial
