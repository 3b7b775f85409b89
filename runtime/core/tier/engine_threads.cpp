#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/tier/file_engine.h"

namespace sial {
namespace {

ssize_t move_rest(const Piece& piece, int file) {
  const auto at = static_cast<off_t>(piece.rest_at());
  const ssize_t moved = piece.write ? ::pwrite(file, piece.rest_memory(), piece.rest_bytes(), at)
                                    : ::pread(file, piece.rest_memory(), piece.rest_bytes(), at);
  return moved < 0 ? -errno : moved;
}

class ThreadEngine final : public FileEngine {
 public:
  ThreadEngine(PieceQueue& queue, int file, int threads) : queue_(queue), file_(file) {
    try {
      for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {  // some are enough
      if (threads_.empty())
        throw EnvironmentError(fmt::format("cannot start a thread for disk transfers: {}", error.what()),
                               "raise `ulimit -u`");
    }
  }
  ~ThreadEngine() override {
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadEngine(const ThreadEngine&) = delete;
  ThreadEngine& operator=(const ThreadEngine&) = delete;

  std::string kind() const override { return "threads"; }
  void wake() override {}  // the queue wakes those that wait in it

 private:
  void work() {
    while (std::optional<Piece> piece = queue_.begin_or_wait()) {
      while (!piece_ended(*piece, move_rest(*piece, file_), queue_.alignment())) {}
      queue_.end(*piece);
    }
  }

  PieceQueue& queue_;
  const int file_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<FileEngine> make_thread_engine(PieceQueue& queue, int file, int threads) {
  return std::make_unique<ThreadEngine>(queue, file, threads);
}

}  // namespace sial
