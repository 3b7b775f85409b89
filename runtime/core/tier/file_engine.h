#pragma once
// The engine that carries out the pieces of a queue on a file. An engine has threads of its own, which call completed()
// of the transfers that end. Its queue and the file outlive it.

#include <memory>
#include <string>

#include "runtime/core/tier/piece_queue.h"

namespace sial {

class FileEngine {
 public:
  /// The queue is closed before; returns when it is empty and every piece has ended.
  virtual ~FileEngine() = default;
  /// "io_uring", "threads".
  virtual std::string kind() const = 0;
  /// To be called after something was added to the queue.
  virtual void wake() = 0;
};

/// Operations under way at most, for which the queue is made.
constexpr int uring_operations = 64, thread_operations = 8;

/// A few threads that read and write.
std::unique_ptr<FileEngine> make_thread_engine(PieceQueue& queue, int file, int threads = thread_operations);

/// Null where the system has no io_uring, forbids it, or sialx was built without liburing.
std::unique_ptr<FileEngine> make_uring_engine(PieceQueue& queue, int file);

}  // namespace sial
