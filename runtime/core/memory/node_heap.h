#pragma once
// The heap of a node: one arena per rank in memory that all ranks of the node map, possibly at different addresses, so
// links are offsets. A chunk is a 64-byte header and 64-byte aligned data; it has a reference count and goes back to
// the arena it came from when the last reference is dropped: at once by the arena's own rank, through a lock-free list
// by the others. A full arena takes from its siblings. Memory is committed in steps as the arena grows; in steady
// state nothing here calls the system. The budget is one of addresses at first: free chunks keep their memory. Where
// memory can be handed back (HeapHooks::uncommit), arenas have several times the address range, and once no arena has
// a piece that is large enough, though there are enough bytes, the budget becomes one of bytes: free chunks give their
// memory back for others, and no gap is too small. Where blocks may go elsewhere (HeapHooks::spills) it is so from the
// start. Zero-filled memory is a valid empty heap. Safe to use from several threads and ranks. A rank that takes chunks
// of its own arena and gives them back pays for the arena's lock both times and for no other atomic step.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/base/fault_injection.h"
#include "runtime/core/memory/resource.h"
#include "runtime/core/memory/spin_lock.h"

namespace sial {

/// In front of every piece of memory. `rank`, `sequence`, `scalar` and `next` of a chunk in use belong to its user.
struct alignas(64) Chunk {
  std::uint64_t bytes;  // header included
  std::uint64_t next;   // offset of the next chunk in a list
  std::int64_t doubles;
  std::atomic<std::uint32_t> references;
  std::uint8_t free;  // while in a free list of its arena: FreeKind of its memory; else 0
  std::uint8_t use;   // NodeHeap::Use: counted as own of the rank of arena `owner`, as the node's, as spare, or as kept
  std::uint16_t arena;
  std::int32_t owner;
  std::int32_t rank;
  std::uint64_t sequence;
  double scalar;
  std::atomic<std::uint64_t>
      content;  // number of what it holds, see NodeHeap::changed(); 0 while it is free or arriving

  double* data() { return reinterpret_cast<double*>(this + 1); }
  const double* data() const { return reinterpret_cast<const double*>(this + 1); }
  static Chunk* of(const void* data) { return const_cast<Chunk*>(static_cast<const Chunk*>(data) - 1); }
};
static_assert(sizeof(Chunk) == 64);

/// The peak of one phase (the time between two barriers).
struct PhasePeak {
  std::int64_t own = 0, shared = 0;
};

struct HeapHooks {
  std::function<void(std::size_t offset, std::size_t bytes)> commit;  // may throw EnvironmentError
  std::function<void()> pause;                                        // waiting for another rank
  /// No arena has room: gives back what can be had again, about so many bytes; false when there was nothing. May be
  /// empty.
  std::function<bool(std::uint64_t bytes)> reclaim = {};
  /// Blocks may go elsewhere where memory is short (`--spill`): what others give back while this rank waits has then to
  /// be reclaimed by itself. The last three are needed then.
  bool spills = false;
  std::function<std::string()> problem = {};  // why nothing more goes elsewhere; empty: no reason is known
  // Functions for memory that can be handed back: all three.
  std::function<std::size_t()> committed = {};  // bytes of all
  std::function<std::size_t(std::size_t offset, std::size_t bytes)> uncommitted = {};
  std::function<void(std::size_t offset, std::size_t bytes)> uncommit = {};
  /// The arenas in the order in which they are asked when `own` has no room; `used`: share of each that is in use.
  /// Empty: `own` and those after it, in a ring.
  std::function<std::vector<int>(int own, std::span<const double> used)> fallback_arenas = {};
};

class NodeHeap {
 public:
  static constexpr std::uint64_t failed_content = ~std::uint64_t{0};   // of a chunk that could not be read
  static constexpr std::uint64_t awaited_content = ~std::uint64_t{1};  // of one that is arriving, and waited for
  enum class Use : std::uint8_t { own = 0, node = 1, spare = 2, cached = 3 };

  /// Bytes that a chunk for `doubles` doubles takes.
  static std::uint64_t chunk_bytes(std::int64_t doubles);

  /// Bytes of `arenas` arenas of `bytes_per_arena`, bookkeeping included.
  /// `hands_back`: HeapHooks::uncommit is there.
  static std::size_t bytes_needed(int arenas, std::size_t bytes_per_arena, bool hands_back = false);

  /// The heap occupies [at, at + bytes_needed()) behind `base`; `at` is a multiple of 64. Commits its bookkeeping.
  NodeHeap(std::byte* base, std::size_t at, int arenas, std::size_t bytes_per_arena, HeapHooks hooks);

  /// A chunk for `doubles` doubles with one reference, taken from `arena` or, when that is full, from a sibling. Null
  /// when no arena has room; `reason` is then set if the system refused to commit memory.
  Chunk* try_allocate(int arena, std::int64_t doubles, std::string* reason = nullptr, bool shared = false) {
    return try_allocate({doubles, arena, shared ? Use::node : Use::own, arena}, reason);
  }
  /// The same, after reclaiming if need be; throws EnvironmentError naming `what()`, the bytes and the budget instead
  /// of returning null.
  template <class What>
  Chunk* allocate(int arena, std::int64_t doubles, What&& what, bool shared = false) {
    Chunk* c = shared ? nullptr : take_last(arena, doubles);
    return c ? c : allocate_or_throw({doubles, arena, shared ? Use::node : Use::own, arena}, what);
  }
  /// The same two for the node's use; `first` is the arena that is asked before all others.
  Chunk* try_allocate_shared(int arena, int first, std::int64_t doubles) {
    return try_allocate({doubles, arena, Use::node, first}, nullptr);
  }
  template <class What>
  Chunk* allocate_shared(int arena, int first, std::int64_t doubles, What&& what) {
    return allocate_or_throw({doubles, arena, Use::node, first}, what);
  }

  /// Calls the hook of allocate() for arenas without room; false: there was nothing to give back.
  bool reclaim(std::uint64_t bytes) { return hooks_.reclaim && hooks_.reclaim(bytes); }

  /// A chunk out of the surplus of one arena, which its user gives back when others need the memory: see wanted().
  /// Counted neither as anybody's own nor as the node's until it is kept. Null when the arena has no room.
  Chunk* try_allocate_spare(int arena, std::int64_t doubles);
  /// A spare chunk becomes the owner's own.
  void keep(Chunk* c);
  /// A chunk for what can be computed again: counted by itself, see bytes_cached(), and not as in use, since its user
  /// gives it back whenever others need the memory (HeapHooks::reclaim). Null when no arena has room.
  Chunk* try_allocate_cached(int arena, std::int64_t doubles);
  std::int64_t bytes_cached() const;  // all arenas
  /// Somebody on the node waits for memory that others may give back.
  bool wanted() const { return arena(0).waiting.load(std::memory_order_relaxed) > 0; }
  /// Whether a rank holds memory that it can do without and only itself can give back, which it does when it sees that
  /// somebody has wanted() some. Who finds none waits as long as any rank of the node says so.
  void set_reclaimable(int a, bool reclaimable) { arena(a).reclaimable.store(reclaimable, std::memory_order_release); }
  /// References that a thread beside the ranks drops in time, whatever the ranks do: who finds no memory waits as long
  /// as there is one. `a`: the arena of the thread's rank, which counts a reference that it has before the thread gets
  /// it.
  void begin_passing(int a) { arena(a).passing.fetch_add(1, std::memory_order_relaxed); }
  bool has_passing() const {
    for (int a = 0; a < arenas_; ++a)
      if (arena(a).passing.load(std::memory_order_acquire) > 0) return true;
    return false;
  }
  void drop_passing(Chunk* c, int a) noexcept {
    drop_reference(c, -1);
    arena(a).passing.fetch_sub(1, std::memory_order_release);
  }
  /// Bytes of a rank's own chunks.
  std::int64_t own_in_use(int a) const { return arena(a).own_in_use(); }
  /// Bytes used in one arena, by whomever.
  std::int64_t arena_in_use(int a) const { return arena(a).in_use(); }
  std::size_t arena_budget() const { return bytes_per_arena_; }

  void add_reference(Chunk* c) { c->references.fetch_add(1, std::memory_order_relaxed); }
  /// The chunk's content was changed in place: it gets another number, as it does whenever it is allocated. Numbers are
  /// those of the node.
  void changed(Chunk* c) {
    if (!fault_enabled(Fault::device_content))
      set_content(c, arena(c->arena).changes.fetch_add(1, std::memory_order_relaxed) + 1, 1);
  }
  /// The chunk's content is still to be read from a tier: it has no number until then. Before anybody else sees it.
  static void begin_arrival(Chunk* c) { c->content.store(0, std::memory_order_relaxed); }
  static bool is_arriving(const Chunk* c) {
    const std::uint64_t content = c->content.load(std::memory_order_acquire);
    return content == 0 || content == awaited_content;
  }
  /// Somebody waits for it: whoever reads it may see that.
  static void await_arrival(Chunk* c) {
    std::uint64_t arriving = 0;
    c->content.compare_exchange_strong(arriving, awaited_content, std::memory_order_relaxed);
  }
  static bool is_awaited(const Chunk* c) { return c->content.load(std::memory_order_relaxed) == awaited_content; }
  /// ... or it could not be read: nobody may use it.
  static bool is_not_there(const Chunk* c) {
    const std::uint64_t content = c->content.load(std::memory_order_acquire);
    return content == 0 || content >= awaited_content;
  }
  /// By whoever has filled it; any thread.
  void end_arrival(Chunk* c) {
    set_content(c, arena(c->arena).changes.fetch_add(1, std::memory_order_relaxed) + 1, 1, std::memory_order_release);
  }
  /// It could not be read from the tier of that number: `error` is an errno, which arrival_error() gives to whoever
  /// waits for it; else 0.
  static void fail_arrival(Chunk* c, int error, std::uint32_t tier) {
    c->sequence = static_cast<std::uint64_t>(error);
    c->rank = static_cast<std::int32_t>(tier);
    c->content.store(failed_content, std::memory_order_release);
  }
  static int arrival_error(const Chunk* c) {
    return c->content.load(std::memory_order_acquire) == failed_content ? static_cast<int>(c->sequence) : 0;
  }
  static std::size_t failed_tier(const Chunk* c) { return static_cast<std::size_t>(c->rank); }
  /// True when the caller's reference is the only one: nobody else can read the chunk.
  bool sole_reference(const Chunk* c) const { return c->references.load(std::memory_order_acquire) == 1; }
  /// Drops one reference; the last one frees. `arena`: the arena of the calling rank, -1 on a helper thread. Never
  /// waits.
  void drop_reference(Chunk* c, int arena) noexcept;

  std::uint64_t offset(const void* p) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - base_);
  }
  Chunk* chunk(std::uint64_t offset) const { return reinterpret_cast<Chunk*>(base_ + offset); }

  ResourceStats stats(int arena) const;
  /// The committed memory of the arena that the chunk lies in: it only grows, at its end. None where memory is handed
  /// back; where it is not yet, it is not from now on.
  std::span<const std::byte> committed(const Chunk* c) const;
  /// Part of the memory taken from the arena so far that is in free lists, 0..1.
  double fragmentation(int arena) const;
  /// Free chunks of the arena that were looked at in vain or not: what looking for memory has cost so far.
  std::uint64_t chunks_looked_at(int a) const {
    const SpinGuard guard(arena(a).lock, hooks_.pause);
    return arena(a).chunks_looked_at;
  }
  std::int64_t bytes_in_use() const;  // all arenas
  /// Bytes that are neither in use, nor kept, nor bookkeeping: of all arenas, in pieces of any size.
  std::int64_t bytes_free() const {
    return static_cast<std::int64_t>(budget()) - bytes_in_use() - bytes_not_counted() - bytes_cached();
  }
  /// The bytes of chunks that not_counted() has marked.
  std::int64_t bytes_not_counted() const;
  /// Largest amounts in use since the last call: of a rank's own, and of what is shared on the node (0 unless `first`).
  /// For a rank that has met all others of the node since; `first`: one rank of the node. Begins the rank's next phase.
  PhasePeak close_phase(int arena, bool first);
  /// The shared part for a node whose ranks never close a phase: largest amount in use since the last call.
  std::int64_t close_shared() {
    Arena& node = arena(0);
    return node.shared_high_water[0].exchange(node.shared_in_use.load(std::memory_order_relaxed),
                                              std::memory_order_relaxed);
  }
  /// The place of the arena's chunks: offset and bytes, of its whole address range.
  std::pair<std::size_t, std::size_t> arena_range(int a) const { return {start_of(a), range_per_arena_}; }
  int arenas() const { return arenas_; }
  std::size_t budget() const { return bytes_per_arena_ * static_cast<std::size_t>(arenas_); }
  /// A chunk of a rank's own becomes the node's: leave_own() before others can see it, count_shared() with its result
  /// after that, so that what it replaces is given back first.
  std::int64_t leave_own(Chunk* c);
  void count_shared(std::int64_t bytes, int arena);
  /// Marks a chunk as the heap user's own bookkeeping: not counted as in use.
  void not_counted(const Chunk* c);

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  // Chunks up to 2 kB have a class per 64 bytes, larger ones 32 per power of two; a class holds sizes from its own
  // up to the next.
  static constexpr int n_classes = 32 + 32 * 37;
  static int class_of(std::uint64_t bytes) {
    if (bytes < 2048) return static_cast<int>(bytes / 64);
    const int log = std::bit_width(bytes) - 1;  // >= 11
    return std::min(n_classes - 1, 32 + (log - 11) * 32 + static_cast<int>((bytes >> (log - 5)) & 31));
  }
  static constexpr std::uint64_t page = 4096, smallest_chunk = 128, smallest_handed_back = 65536;
  /// The kinds of Chunk::free: it has its memory, has handed it back, has some of it, or has handed it back but for the
  /// ends of smaller chunks that it was made of.
  enum FreeKind : std::uint8_t { whole = 1, handed_back = 2, partly = 3, ends = 4 };
  static bool has_memory(std::uint8_t kind) { return kind == whole || kind == partly; }
  static std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
  struct alignas(64) Arena {
    std::atomic<std::uint64_t> returned;                 // freed by other ranks; their only access to the arena
    std::atomic<std::uint64_t> changes;                  // numbers given to changed chunks
    alignas(64) SpinLock lock;                           // guards the rest
    std::uint64_t freed_since_merge;                     // bytes
    std::uint32_t chunks_freed, chunks_free;             // since the last merge; in lists
    std::uint64_t chunks_looked_at;                      // in merges, and for memory to hand back
    bool thorough;                                       // of the request that is carried out, see Request
    std::atomic<std::uint64_t> to_hand_back;             // bytes of free chunks, at most; written under the lock
    std::uint64_t top, committed;                        // bytes from the arena's start; at most so many, where spills
    std::atomic<std::int64_t> hits, misses, high_water;  // requests of either kind; written under the lock
    // Bytes in use, and of these its rank's own, wherever they lie, are sums: of what its rank took and gave back of it
    // under the lock, and of the rest.
    std::atomic<std::int64_t> own_here, other_in_use, other_own;
    std::atomic<std::int64_t> uncounted, cached, own_high_water;  // the last: of the present phase
    std::int64_t in_use() const {
      return own_here.load(std::memory_order_relaxed) + other_in_use.load(std::memory_order_relaxed);
    }
    std::int64_t own_in_use() const {
      return own_here.load(std::memory_order_relaxed) + other_own.load(std::memory_order_relaxed);
    }
    std::atomic<std::uint32_t> phase;                        // of its rank, modulo 2
    std::atomic<bool> reclaimable;                           // its rank, see set_reclaimable()
    std::atomic<std::int64_t> passing;                       // references, see begin_passing()
    std::array<std::uint64_t, n_classes / 64 + 1> occupied;  // bit per class with a free chunk
    std::array<std::uint64_t, n_classes> first;              // free lists
    // Counts of the whole node, in its first arena only. Ranks may be in two phases at once, hence two marks.
    alignas(64) std::atomic<std::int64_t> shared_in_use, spare_in_use;
    std::atomic<std::int32_t> waiting;  // for spare chunks to be given back
    std::array<std::atomic<std::int64_t>, 2> shared_high_water;
    std::atomic<std::uint32_t> budget_kind;  // BudgetKind
  };
  Arena& arena(int a) const {
    return *reinterpret_cast<Arena*>(base_ + at_ + sizeof(Arena) * static_cast<std::size_t>(a));
  }
  /// The unit of the budget; for good where somebody relies on what is committed.
  enum BudgetKind : std::uint32_t { of_addresses = 0, of_bytes = 1, of_lasting_addresses = 2 };
  bool by_bytes() const { return hooks_.spills || arena(0).budget_kind.load(std::memory_order_relaxed) == of_bytes; }
  std::uint64_t start_of(int a) const { return data_at_ + range_per_arena_ * static_cast<std::size_t>(a); }

  /// `owner`: the arena of the rank that asks, not necessarily the chunk's, which is `first` if that has room.
  /// `thorough`: all free chunks are looked at for memory, however little may be found; else only where enough was
  /// freed since the last look.
  struct Request {
    std::int64_t doubles;
    int owner;
    Use use;
    int first;
    bool thorough = false;
  };
  bool gaps_can_close(std::uint64_t bytes);
  Chunk* take_anywhere(const Request& request, std::string* reason);
  Chunk* take_last(int own, std::int64_t doubles) noexcept;
  bool drop_last(Chunk* c, int own) noexcept;
  void drop_shared(Chunk* c, int own) noexcept;
  void give_to(Arena& a, Chunk* c, int own) noexcept;
  static void count_own_here(Arena& a, std::int64_t bytes);
  Chunk* take(int a, const Request& request, std::string* reason);
  Chunk* find(Arena& a, int index, std::uint64_t bytes, std::string* reason);
  static void mark_taken(Arena& a, Chunk* c, const Request& request);
  static void raise_high_water(Arena& a);
  static Request thorough(Request request);
  Chunk* try_allocate(const Request& request, std::string* reason);
  Chunk* allocate_or_throw(const Request& request, const std::function<std::string()>& what);
  /// The free chunks that are looked at: those that have at least some of their memory still, or all.
  enum class Free : std::uint8_t { with_memory, any };
  std::uint64_t* find_listed(Arena& a, int k, std::uint64_t bytes, Free which);
  Chunk* take_listed(Arena& a, std::uint64_t bytes, Free which);
  Chunk* take_larger(Arena& a, int index, std::uint64_t bytes, Free which);
  Chunk* find_in_budget(Arena& a, int index, std::uint64_t bytes, std::string* reason);
  Chunk* take_fresh(Arena& a, int index, std::uint64_t bytes, std::string* reason);
  void count(const Chunk* c, std::int64_t bytes);
  /// `n`: of those of its arena that are given to chunks that are `changed` (1), or taken (0).
  static void set_content(Chunk* c, std::uint64_t n, std::uint64_t changed,
                          std::memory_order order = std::memory_order_relaxed) {
    c->content.store(n << 17 | changed << 16 | std::uint64_t{c->arena}, order);
  }
  Chunk* wait_for_spare(const Request& request);
  /// Takes the chunk that `link` names out of the list of its class.
  Chunk* unlink(Arena& a, int k, std::uint64_t* link) {
    Chunk* c = chunk(*link);
    *link = c->next;
    --a.chunks_free;
    if (a.first[k] == 0) a.occupied[k / 64] &= ~(std::uint64_t{1} << (k % 64));
    return c;
  }
  bool back(Arena& a, int index, std::uint64_t at, std::uint64_t bytes, std::string* reason);
  void hand_back(Arena& a, int index, std::size_t limit);
  bool try_commit(std::uint64_t at, std::uint64_t bytes, std::string* reason);
  bool commit_up_to(Arena& a, int index, std::uint64_t end, std::string* reason);
  void accept_returned(Arena& a);
  void merge_neighbours(Arena& a, int index);
  void push(Arena& a, Chunk* c, std::uint8_t free = whole) {
    push_again(a, c, free);
    if (free != handed_back && c->bytes >= smallest_handed_back) count_to_hand_back(a, c->bytes);
  }
  /// The same for one that was in a list just now: what it may hand back has been counted.
  void push_again(Arena& a, Chunk* c, std::uint8_t free) {
    const int k = class_of(c->bytes);
    c->free = free;
    c->next = a.first[k];
    a.first[k] = offset(c);
    a.occupied[k / 64] |= std::uint64_t{1} << (k % 64);
    ++a.chunks_free;
  }
  static void count_to_hand_back(Arena& a, std::uint64_t bytes) {
    a.to_hand_back.store(a.to_hand_back.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  /// Under the arena's lock: it was in use.
  void put_back(Arena& a, Chunk* c) {
    push(a, c);
    a.freed_since_merge += c->bytes;
    ++a.chunks_freed;
  }
  /// A merge looks at all free chunks: it is worth its time once a part of them is new.
  static bool merge_is_due(const Arena& a) {
    return a.thorough ? a.chunks_freed > 0 : a.chunks_freed >= std::max(8U, a.chunks_free / 8);
  }

  std::byte* base_;
  std::size_t at_, data_at_;
  int arenas_;
  std::size_t bytes_per_arena_, range_per_arena_;
  HeapHooks hooks_;
  std::size_t committed_at_first_ = 0;  // beside the arenas
};

}  // namespace sial
