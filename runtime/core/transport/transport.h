#pragma once
// The seam between a rank and the other ranks of its job. A Transport is owned by one rank and used by its interpreter
// thread only, except that a Service may be called on a helper thread (mpi, several nodes). Implementations: loopback
// (one rank), simulated (N ranks in one process, one running at a time, seeded switching at seam calls, virtual clock),
// mpi. Data on one's own node does not travel through here: ranks of a node share NodeMemory and the store works in it
// directly.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/memory/outgoing.h"
#include "runtime/core/transport/remote_memory.h"
#include "runtime/core/watch/activity.h"
#include "runtime/core/watch/watch_options.h"

namespace sial {

enum class CollectiveKind : std::int32_t {
  barrier = 1,
  sum = 2,
  broadcast = 3,
  gather = 4,
  delete_array = 5,
  persist = 6,
  end_of_program = 7,
  other = 8,
  end_of_job = 9
};

/// The operation that a rank believes it is in. All ranks must agree on (kind, place); the transport numbers
/// collectives itself. A mismatch stops the job with a SialError naming both places; nobody hangs.
struct CollectiveTag {
  CollectiveKind kind = CollectiveKind::other;
  Place place;
};

/// Turns a place into "prog.sialx:12:3" for messages.
using PlaceNamer = std::function<std::string(Place)>;

/// Thrown by seam calls when another rank is ending the job: unwinds this rank without a message of its own.
/// Deliberately no std::exception, so that nobody mistakes it for an error to report; let it pass.
struct JobEnding {};

/// Memory mapped by all ranks of one node at possibly different addresses: store offsets in it, never pointers.
/// Reserved once; `commit(offset, bytes)` makes that part usable (posix_fallocate; callable by any rank of the node,
/// safe concurrently and repeatedly; throws EnvironmentError with the remedy when /dev/shm is too small). Unlinked as
/// soon as all ranks mapped it.
class NodeMemory {
 public:
  virtual ~NodeMemory() = default;
  virtual std::byte* base() const = 0;
  virtual std::size_t reserved() const = 0;
  virtual std::size_t committed() const = 0;                       // bytes, by all ranks together
  virtual void commit(std::size_t offset, std::size_t bytes) = 0;  // [offset, offset+bytes) becomes usable
  /// Bytes that commit() would have to find.
  virtual std::size_t uncommitted(std::size_t offset, std::size_t bytes) const = 0;
  /// Gives back what lies wholly within; what it held is lost. Nobody may use it, or commit it, meanwhile.
  virtual void uncommit(std::size_t offset, std::size_t bytes) = 0;
};

/// Request classes: the owner and the requester both serve demand before prefetch.
enum class Priority : std::int32_t { demand = 0, prefetch = 1 };

/// The owner's answer. `payload` is sent from where it lies and must stay valid until `release` is called (after the
/// send completed). Both may be empty.
struct Reply {
  std::vector<std::byte> header;
  std::span<const std::byte> payload;
  std::function<void()> release;
};

/// The owner's side of request(). For each request: first payload_buffer (where to receive `bytes` of payload; never
/// called for 0 bytes), then serve with that buffer filled. May run on a helper thread. Of the Transport it may
/// call pause() and yield_point() only, and must do so while it waits for a lock. An exception ends the job: this
/// rank's own thread throws it at its next seam call.
class Service {
 public:
  virtual ~Service() = default;
  virtual std::span<std::byte> payload_buffer(int from, std::span<const std::byte> header, std::size_t bytes) = 0;
  virtual Reply serve(int from, std::span<const std::byte> header, std::span<std::byte> payload) = 0;
};

/// The data of a request. `growing`, which may be null, says how much of it is there: the rest is sent as it comes, in
/// calls of the requester.
struct Payload {
  Payload() = default;
  Payload(std::span<const std::byte> all, Growing* grows) : bytes(all), growing(grows) {}
  template <class T>
    requires std::convertible_to<T, std::span<const std::byte>>
  Payload(T&& all) : bytes(std::forward<T>(all)) {}  // NOLINT: any bytes will do
  std::span<const std::byte> bytes;
  Growing* growing = nullptr;
};

/// The memory that receives the payload of a reply. `piece`: bytes at a time in which it should come, for whoever asks
/// how far it has; 0: nobody does.
struct ReplyBuffer {
  ReplyBuffer() = default;
  ReplyBuffer(std::span<std::byte> all, std::size_t at_a_time) : bytes(all), piece(at_a_time) {}
  template <class T>
    requires std::convertible_to<T, std::span<std::byte>>
  ReplyBuffer(T&& all) : bytes(std::forward<T>(all)) {}  // NOLINT: any bytes will do
  std::span<std::byte> bytes;
  std::size_t piece = 0;
};

/// A request under way. Owned by the requester; payload and reply buffers must stay put until done. Destruction waits.
class PendingRequest {
 public:
  virtual ~PendingRequest() = default;
  virtual bool test() = 0;  // true when the reply has arrived
  virtual void wait() = 0;
  virtual std::span<const std::byte> reply_header() const = 0;  // valid when done
  virtual std::size_t reply_bytes() const = 0;                  // payload bytes written to the reply buffer
  /// Payload bytes from the front of the reply buffer that are there by now, as far as the transport knows; never fewer
  /// than before. Never waits.
  virtual std::size_t received() { return 0; }
  /// A prefetch has become a demand: from when the owner hears of it, it no longer waits behind prefetches. No effect
  /// later.
  virtual void raise() {}
};

/// The speed of requests to other nodes, where that is a setting and need not be measured.
struct LinkSpeed {
  double latency = 0, bandwidth = 0;
};  // seconds one way, bytes per second (0: no limit)

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual NodeId node() const = 0;
  virtual int node_count() const = 0;
  virtual const std::vector<int>& ranks_of_node(NodeId node) const = 0;  // ascending
  int node_rank() const;                                                 // position of rank() within its node
  int node_size() const;
  int worker_nodes() const;  // those of servers come last

  /// With `--servers K` size() counts the workers only; they are ranks 0..size()-1. Servers are ranks
  /// size()..size()+K-1, each a node of its own (the last K nodes, counted by node_count()), and take part in no
  /// collective but map_node_memory: they set a service and call serve_forever(), which returns when the workers have
  /// finished.
  virtual bool is_server() const { return false; }
  virtual void serve_forever();
  /// Nodes that are homes of blocks, ascending: the servers' if there are any, else all.
  virtual const std::vector<NodeId>& home_nodes() const = 0;

  /// Collective over the node's ranks, once per purpose. Zero-filled.
  virtual std::shared_ptr<NodeMemory> map_node_memory(std::size_t reserve_bytes, const std::string& purpose) = 0;

  virtual void barrier(CollectiveTag tag) = 0;
  virtual double sum(double value, CollectiveTag tag) = 0;  // same bits on every rank
  virtual void broadcast(std::span<std::byte> data, int root, CollectiveTag tag) = 0;
  /// Broadcasts a text of a length that only the root knows.
  void broadcast_text(std::string& text, int root, CollectiveTag tag);
  virtual std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine, CollectiveTag tag) = 0;

  /// Used to name places in messages about mismatched collectives.
  virtual void set_place_namer(PlaceNamer namer) = 0;
  /// End of the job, called once by every worker; helper threads end here. Workers still at another collective make it
  /// a mismatch. Only now() and destruction may follow.
  virtual void finish() = 0;

  /// After finish(): where a launcher would remark on an exit code other than 0, ends the processes of the job without
  /// that. Collective; the largest code of all counts.
  virtual void leave(int /*exit_code*/) {}

  /// Requests that arrive before it is set wait for it. Whoever owns the service sets nullptr before it goes away (in
  /// its destructor, so that errors unwind cleanly): that waits until no call is running and every reply is released,
  /// unless the job is ending.
  virtual void set_service(Service* service) = 0;
  /// Whether the caller is not the rank itself but what serves its requests.
  virtual bool in_helper() const { return false; }
  /// Only with several nodes. Sends header (copied) and payload to rank `to`, whose service answers; the reply's
  /// payload is received into `reply_buffer`.
  virtual std::unique_ptr<PendingRequest> request(int to, std::span<const std::byte> header, Payload payload,
                                                  ReplyBuffer reply_buffer, Priority priority) = 0;
  /// Only with several nodes, and collective over all ranks, servers included: what `provider` provides may be used by
  /// all.
  virtual std::unique_ptr<RemoteMemory> open_remote_memory(MemoryProvider& provider);
  /// Whether payloads may lie in the memory of a GPU.
  virtual bool reads_device_memory() const { return false; }
  /// Has the thread of messages, where there is one, call `f`, once, before it does anything else.
  virtual void prepare_helper(std::function<void()> /*f*/) {}

  /// Between computations: lets what is under way move on where messages only do when the rank looks. Cheap when there
  /// is nothing.
  virtual void progress() {}

  /// The activity of this rank, for those who look after the job. Waits in calls of the transport are noted by it.
  RankActivity& activity() { return activity_; }
  /// From here on the job is looked after (runtime/core/watch/watcher.h), where ranks are processes. Once, by all
  /// ranks.
  virtual void start_watch(const WatchOptions& /*options*/) {}
  /// The host of this rank, for messages; empty where all ranks are on one host.
  virtual std::string host_name() const { return {}; }

  virtual std::optional<LinkSpeed> link_speed() const { return {}; }

  /// Called again and again while this rank's thread waits for other ranks, in whatever call; `f` uses no transport.
  /// Null: nothing is. What others wait for meanwhile would else wait for the end of this rank's wait, which may be
  /// waiting for them.
  virtual void set_while_waiting(std::function<void()> /*f*/) {}
  /// To be called in every loop that waits for another rank (spin, then yield; simulated: switches rank). Throws
  /// JobEnding when the job is being ended by another rank (under MPI it just never returns: the process is about to be
  /// killed).
  virtual void pause() = 0;
  /// Lets the others go on for so many seconds, or until none of them can without this rank.
  virtual void linger(double seconds);
  /// A point where the simulator may switch ranks; free elsewhere.
  virtual void yield_point() {}
  virtual double now() const = 0;                      // seconds; virtual in the simulator
  virtual bool has_real_time() const { return true; }  // now(): threads beside the ranks go on while it does
  virtual void charge_compute(double /*seconds*/) {}   // advances the simulator's clock

  /// Ends the whole job: exactly one rank's message reaches stderr, every process ends with `exit_code`, promptly.
  [[noreturn]] virtual void abort_job(const std::string& message, int exit_code) = 0;

 private:
  RankActivity activity_;
};

}  // namespace sial
