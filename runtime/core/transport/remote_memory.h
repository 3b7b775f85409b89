#pragma once
// Memory that ranks provide to other nodes, beside requests: whoever copies to and from it needs neither the provider's
// threads nor its service, so that two nodes that provide to each other never wait for each other.
// Transport::open_remote_memory() makes it on every rank of the job. Functions are called by any thread of the process.

#include <cstddef>
#include <cstdint>

namespace sial {

/// A piece of memory of a provider: where it knows it by, and bytes; 0 bytes: it provides none.
struct RemoteChunk {
  std::uint64_t at = 0, bytes = 0;
};

/// The services of a rank for others. Called on any thread; must not wait for other ranks.
class MemoryProvider {
 public:
  virtual ~MemoryProvider() = default;
  /// At most so many bytes, for good; fewer, or none, where it needs the rest itself.
  virtual RemoteChunk provide(std::uint64_t bytes) = 0;
  /// The memory provided to whomever, by this rank or another one of its node.
  virtual std::byte* provided(std::uint64_t at) = 0;
};

/// The order of service: somebody waits for it, somebody will ask for it, nobody does.
enum class CopyPriority : std::uint8_t { demand = 0, prefetch = 1, write = 2 };

/// One copy to or from memory of other nodes. Owned by whoever starts it; it and its memory stay in place until
/// completed() was called.
class RemoteCopy {
 public:
  virtual ~RemoteCopy() = default;
  /// Once, on any thread, never within start(); `error` is 0, or ECANCELED where the job ends. Must not wait, nor start
  /// another one.
  virtual void completed(int error) noexcept = 0;

  int rank = 0;          // of the provider's node
  std::uint64_t at = 0;  // in its memory
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  bool writes = false;
  CopyPriority priority = CopyPriority::demand;
};

class RemoteMemory {
 public:
  /// All copies of this rank have completed. Waits until those of all workers have; a server's fail then.
  virtual ~RemoteMemory() = default;
  /// Waits for the answer, which comes whatever the provider does.
  virtual RemoteChunk ask(int rank, std::uint64_t bytes) = 0;
  virtual void start(RemoteCopy& copy) = 0;
  /// Somebody waits for it now. No effect when it has left.
  virtual void raise(RemoteCopy& copy) = 0;
  /// Lets copies go on, as a thread of its own does whenever it finds a core. Never waits.
  virtual void progress() {}
};

}  // namespace sial
