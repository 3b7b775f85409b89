// io_uring: one thread starts the operations of the queue and takes their completions in batches. All of the ring
// belongs to that thread; who adds transfers wakes it through an eventfd when it may be asleep in the system.

#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/core/base/check.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/tier/file_engine.h"

namespace sial {
namespace {

class Ring {
 public:
  Ring() : usable_(::io_uring_queue_init(2 * uring_operations, &ring_, 0) == 0) {}
  ~Ring() {
    if (usable_) ::io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Whether the kernel lets us, and knows the operations.
  bool usable() {
    if (!usable_) return false;
    ::io_uring_probe* const probe = ::io_uring_get_probe_ring(&ring_);
    if (!probe) return false;
    const bool known =
        ::io_uring_opcode_supported(probe, IORING_OP_READ) && ::io_uring_opcode_supported(probe, IORING_OP_WRITE);
    ::io_uring_free_probe(probe);
    return known;
  }
  ::io_uring* get() { return &ring_; }

 private:
  ::io_uring ring_{};
  bool usable_;
};

class UringEngine final : public FileEngine {
 public:
  UringEngine(PieceQueue& queue, int file, std::unique_ptr<Ring> ring, Descriptor signal)
      : queue_(queue), file_(file), ring_(std::move(ring)), signal_(std::move(signal)) {
    for (std::size_t slot = pieces_.size(); slot-- > 0;) free_slots_.push_back(slot);
    thread_ = std::thread([this] { work(); });
  }
  ~UringEngine() override {
    wake();
    thread_.join();
  }
  UringEngine(const UringEngine&) = delete;
  UringEngine& operator=(const UringEngine&) = delete;

  std::string kind() const override { return "io_uring"; }

  void wake() override {
    if (!asleep_.exchange(false)) return;
    const std::uint64_t one = 1;
    SIAL_CHECK(::write(signal_.get(), &one, sizeof one) == sizeof one, "eventfd: {}", std::strerror(errno));
  }

 private:
  static constexpr std::uint64_t signal_slot = uring_operations;

  void work() {
    listen();
    while (true) {
      // Asleep first, the queue after: whoever adds a transfer that is not seen here sees that this thread sleeps.
      asleep_.store(true);
      begin_all();
      if (free_slots_.size() == pieces_.size() && queue_.exhausted()) return;
      const int result = ::io_uring_submit_and_wait(ring_->get(), 1);
      asleep_.store(false);
      SIAL_CHECK(result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY, "io_uring: {}",
                 std::strerror(-result));
      take_completions();
    }
  }

  void begin_all() {
    while (!free_slots_.empty()) {
      std::optional<Piece> piece = queue_.begin();
      if (!piece) return;
      const std::size_t slot = free_slots_.back();
      free_slots_.pop_back();
      pieces_[slot] = *piece;
      start_rest(slot);
    }
  }

  /// There are more places in the ring than operations.
  ::io_uring_sqe* place(std::uint64_t slot) {
    ::io_uring_sqe* const entry = ::io_uring_get_sqe(ring_->get());
    SIAL_CHECK(entry != nullptr, "io_uring has no place for operation {}", slot);
    return entry;
  }

  void start_rest(std::size_t slot) {
    const Piece& piece = pieces_[slot];
    ::io_uring_sqe* const entry = place(slot);
    const auto bytes = static_cast<unsigned>(piece.rest_bytes());
    if (piece.write) ::io_uring_prep_write(entry, file_, piece.rest_memory(), bytes, piece.rest_at());
    else ::io_uring_prep_read(entry, file_, piece.rest_memory(), bytes, piece.rest_at());
    ::io_uring_sqe_set_data64(entry, slot);
  }

  void listen() {
    ::io_uring_sqe* const entry = place(signal_slot);
    ::io_uring_prep_read(entry, signal_.get(), &signals_, sizeof signals_, 0);
    ::io_uring_sqe_set_data64(entry, signal_slot);
  }

  struct Completion {
    std::uint64_t slot;
    int result;
  };

  /// The places of the ring are free again before transfers are told, which may take a while.
  void take_completions() {
    std::array<Completion, 2 * uring_operations> ended;
    std::array<::io_uring_cqe*, 2 * uring_operations> entries;
    const unsigned count = ::io_uring_peek_batch_cqe(ring_->get(), entries.data(), entries.size());
    for (unsigned i = 0; i < count; ++i) ended[i] = {::io_uring_cqe_get_data64(entries[i]), entries[i]->res};
    ::io_uring_cq_advance(ring_->get(), count);
    for (unsigned i = 0; i < count; ++i) take(ended[i]);
  }

  void take(const Completion& completion) {
    if (completion.slot == signal_slot) return listen();
    const auto slot = static_cast<std::size_t>(completion.slot);
    if (!piece_ended(pieces_[slot], completion.result, queue_.alignment())) return start_rest(slot);
    queue_.end(pieces_[slot]);
    free_slots_.push_back(slot);
  }

  PieceQueue& queue_;
  const int file_;
  std::unique_ptr<Ring> ring_;
  Descriptor signal_;
  std::uint64_t signals_ = 0;
  std::array<Piece, uring_operations> pieces_;
  std::vector<std::size_t> free_slots_;
  std::atomic<bool> asleep_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<FileEngine> make_uring_engine(PieceQueue& queue, int file) {
  auto ring = std::make_unique<Ring>();
  Descriptor signal(::eventfd(0, EFD_CLOEXEC));
  if (!ring->usable() || signal.get() < 0) return nullptr;
  try {
    return std::make_unique<UringEngine>(queue, file, std::move(ring), std::move(signal));
  } catch (const std::system_error&) { return nullptr; }  // no thread can be started
}

}  // namespace sial
