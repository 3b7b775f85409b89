#include "runtime/core/tier/piece_queue.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/core/base/check.h"

namespace sial {

struct TransferJob {
  TierTransfer* transfer = nullptr;
  bool write = false;
  TierPriority priority = TierPriority::demand;
  std::size_t begun = 0;  // bytes of the transfer of which pieces were begun
  int under_way = 0;      // pieces
  int error = 0;          // the first

  std::size_t left() const { return transfer->bytes - begun; }
};

namespace {

/// Up to here a copy costs less than one more operation.
constexpr std::size_t copied_as_a_whole = BounceBuffers::small_bytes;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The bytes that a write moves, and a padded read leaves, beyond the transfer's own are defined.
void fill_bounce(Piece& piece) {
  if (!piece.bounce || !piece.write) return;
  std::memcpy(piece.bounce, piece.user_memory, piece.user_bytes);
  std::memset(piece.bounce + piece.user_bytes, 0, piece.bytes - piece.user_bytes);
}

void empty_bounce(const Piece& piece) {
  if (piece.bounce && !piece.write && piece.error == 0) std::memcpy(piece.user_memory, piece.bounce, piece.user_bytes);
}

}  // namespace

PieceQueue::PieceQueue(const FileRules& rules, int operations)
    : rules_(rules), operations_(operations), background_operations_(operations - std::max(1, operations / 4)) {}

PieceQueue::~PieceQueue() { SIAL_CHECK(nothing_queued() && under_way_ == 0, "a tier ends with transfers under way"); }

void PieceQueue::add(TierTransfer& transfer, bool write, TierPriority priority) {
  SIAL_CHECK(transfer.bytes > 0 && transfer.at % rules_.alignment == 0, "a transfer of {} bytes at {}, alignment {}",
             transfer.bytes, transfer.at, rules_.alignment);
  auto* const job = new TransferJob{&transfer, write, priority};
  {
    const std::lock_guard lock(mutex_);
    SIAL_CHECK(!closed_, "a transfer for a tier that has ended");
    queued_[static_cast<std::size_t>(priority)].push_back(job);
  }
  due_.notify_one();
}

void PieceQueue::raise(TierTransfer& transfer) {
  {
    const std::lock_guard lock(mutex_);
    TransferJob* const job = remove_later(transfer);
    if (!job) return;
    job->priority = TierPriority::demand;
    queued_[static_cast<std::size_t>(TierPriority::demand)].push_back(job);
  }
  due_.notify_one();
}

/// From the queues after that of the demands; null when it is in none. With the lock.
TransferJob* PieceQueue::remove_later(const TierTransfer& transfer) {
  for (const TierPriority priority : {TierPriority::prefetch, TierPriority::write}) {
    auto& jobs = queued_[static_cast<std::size_t>(priority)];
    const auto found = std::ranges::find(jobs, &transfer, [](const TransferJob* job) { return job->transfer; });
    if (found == jobs.end()) continue;
    TransferJob* const job = *found;
    jobs.erase(found);
    return job;
  }
  return nullptr;
}

std::size_t PieceQueue::direct_bytes(const TransferJob& job) const {
  const TierTransfer& t = *job.transfer;
  if (reinterpret_cast<std::uintptr_t>(t.memory) % rules_.memory_alignment != 0) return 0;
  if (rules_.memory_alignment == 1 && !job.write) return t.bytes;
  const std::size_t whole = t.bytes / rules_.alignment * rules_.alignment;
  return whole == t.bytes || t.bytes > copied_as_a_whole ? whole : 0;
}

bool PieceQueue::may_begin(TierPriority priority, std::size_t bytes) const {
  if (under_way_ >= operations_) return false;
  if (priority == TierPriority::demand || background_ == 0) return true;
  return background_ < background_operations_ && background_bytes_ + bytes <= max_background_bytes;
}

/// None: there is no bounce buffer, or too much is under way.
std::optional<Piece> PieceQueue::cut(TransferJob& job) {
  const std::size_t direct = direct_bytes(job);
  const bool bounced = job.begun >= direct;
  Piece piece;
  piece.user_bytes =
      bounced ? std::min(job.left(), BounceBuffers::large_bytes) : std::min(direct - job.begun, max_direct_bytes);
  if (!may_begin(job.priority, piece.user_bytes)) return std::nullopt;
  piece.bytes = piece.user_bytes;
  piece.memory = piece.user_memory = job.transfer->memory + job.begun;
  if (bounced) {
    piece.bytes = (piece.user_bytes + rules_.alignment - 1) / rules_.alignment * rules_.alignment;
    piece.bounce = bounce_.take(piece.bytes);
    if (!piece.bounce) return std::nullopt;
    piece.memory = piece.bounce;
  }
  piece.job = &job;
  piece.write = job.write;
  piece.background = job.priority != TierPriority::demand;
  piece.at = job.transfer->at + job.begun;
  return piece;
}

/// Prefetches that another rank waits for. With the lock.
void PieceQueue::raise_awaited() {
  auto& prefetches = queued_[static_cast<std::size_t>(TierPriority::prefetch)];
  std::erase_if(prefetches, [&](TransferJob* job) {
    if (!job->transfer->is_awaited()) return false;
    job->priority = TierPriority::demand;
    queued_[static_cast<std::size_t>(TierPriority::demand)].push_back(job);
    return true;
  });
}

/// With the lock.
std::optional<Piece> PieceQueue::take() {
  raise_awaited();
  for (auto& jobs : queued_) {
    if (jobs.empty()) continue;
    TransferJob& job = *jobs.front();
    std::optional<Piece> piece = cut(job);
    if (!piece) continue;
    job.begun += piece->user_bytes;
    ++job.under_way;
    if (job.left() == 0) jobs.pop_front();
    ++under_way_;
    if (piece->background) {
      ++background_;
      background_bytes_ += piece->bytes;
    }
    piece->begun = seconds_now();
    meter_.begin(piece->write, piece->begun);
    return piece;
  }
  return std::nullopt;
}

std::optional<Piece> PieceQueue::begin() {
  std::unique_lock lock(mutex_);
  std::optional<Piece> piece = take();
  lock.unlock();
  if (piece) fill_bounce(*piece);
  return piece;
}

std::optional<Piece> PieceQueue::begin_or_wait() {
  std::unique_lock lock(mutex_);
  std::optional<Piece> piece;
  while (!(piece = take())) {
    if (closed_ && nothing_queued()) {
      due_.notify_all();
      return std::nullopt;
    }
    due_.wait(lock);
  }
  const bool more = !nothing_queued();
  lock.unlock();
  if (more) due_.notify_one();  // whoever was woken wakes the next
  fill_bounce(*piece);
  return piece;
}

/// Begins no more pieces of a transfer that failed. With the lock.
void PieceQueue::stop(TransferJob& job) {
  if (job.left() == 0) return;
  job.begun = job.transfer->bytes;
  std::erase(queued_[static_cast<std::size_t>(job.priority)], &job);
}

void PieceQueue::end(Piece& piece) {
  empty_bounce(piece);
  TransferJob& job = *piece.job;
  std::unique_lock lock(mutex_);
  if (piece.bounce) bounce_.give_back(piece.bounce);
  meter_.end(piece.write, piece.error ? 0 : piece.bytes, piece.begun, seconds_now());
  --under_way_;
  if (piece.background) {
    --background_;
    background_bytes_ -= piece.bytes;
  }
  if (piece.error && !job.error) job.error = piece.error;
  if (job.error) stop(job);
  const bool ended = --job.under_way == 0 && job.left() == 0;
  const bool more = !nothing_queued();
  lock.unlock();
  if (more) due_.notify_one();
  if (!ended) return;
  job.transfer->completed(job.error);
  delete &job;
}

void PieceQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  due_.notify_all();
}

bool PieceQueue::nothing_queued() const {
  return std::ranges::all_of(queued_, [](const auto& jobs) { return jobs.empty(); });
}

bool PieceQueue::exhausted() const {
  const std::lock_guard lock(mutex_);
  return closed_ && nothing_queued();
}

TierSpeed PieceQueue::speed() const {
  const std::lock_guard lock(mutex_);
  return meter_.speed();
}

}  // namespace sial
