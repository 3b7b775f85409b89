#include "runtime/core/transport/work_queue.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <vector>

#include "runtime/core/base/check.h"
#include "runtime/core/base/iteration_shares.h"

namespace sial {

namespace {

/// The rest of a node's share of one pardo instance. Free unless its phase is the table's.
struct Slot {
  std::int64_t phase_plus_one = 0, instance = 0;
  std::int32_t program = 0, loop = 0;
  std::int64_t next = 0, end = 0;
  std::int32_t victims_done = 0;  // of the other nodes, in the order in which this one asks them, had nothing left
};

/// Head of the node memory, zero-filled at first; slots follow. Everything but `lock` belongs to who holds it.
struct Table {
  std::atomic<std::uint32_t> lock;
  std::int64_t
      phase_plus_one;  // of the slots in use; those of earlier phases are free, since all ranks have finished with them
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Iterations that a rank of the node has set aside for itself, and not yet begun; empty when first == last.
struct Reservation {
  PardoKey key;
  std::int64_t first = 0, last = 0;
};

struct StealMessage {
  std::byte kind = work_queue_message;
  PardoKey key;
  std::int64_t total = 0;
};

constexpr std::size_t table_bytes = 64;
static_assert(sizeof(Table) <= table_bytes);

class TableLock {
 public:
  TableLock(Table& table, Transport& transport) : lock_(table.lock) {
    while (lock_.exchange(1, std::memory_order_acquire) != 0) transport.pause();
  }
  ~TableLock() { lock_.store(0, std::memory_order_release); }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  std::atomic<std::uint32_t>& lock_;
};

class NodeQueue final : public WorkQueue {
 public:
  NodeQueue(Transport& transport, std::size_t slots);
  std::optional<IterationRange> draw(const PardoKey& key, Candidates candidates) override;
  std::optional<IterationRange> reserve(const PardoKey& key, Candidates candidates, std::int64_t least) override;
  void new_phase(std::int64_t phase) override {
    std::erase_if(divided_, [&](const PardoKey& k) { return k.phase < phase; });
  }
  /// A chunk for a thief from another node, or an empty one; also called on a helper thread.
  IterationRange give(const PardoKey& key, std::int64_t total);

 private:
  Slot* find_or_insert(const PardoKey& key, std::int64_t total);
  IterationRange cut(Slot& slot, std::int64_t least = 0) const;
  void set_aside(const PardoKey& key, Slot* slot, std::int64_t total);
  IterationRange begin_piece(const PardoKey& key, const Slot* slot, int wheres);
  IterationRange take_reserved(const PardoKey& key);
  IterationRange ask(NodeId node, const PardoKey& key, std::int64_t total);
  int share_victims_done(const PardoKey& key, std::int64_t total);
  IterationRange share(std::int64_t total, std::int64_t ranks_before, std::int64_t ranks) const;
  Table& table() const { return *reinterpret_cast<Table*>(memory_->base()); }
  Reservation& reservation(std::int64_t node_rank) const {
    return reinterpret_cast<Reservation*>(memory_->base() + table_bytes)[node_rank];
  }
  std::size_t slots_offset() const { return table_bytes + static_cast<std::size_t>(node_ranks_) * sizeof(Reservation); }
  Slot& slot(std::size_t i) const { return reinterpret_cast<Slot*>(memory_->base() + slots_offset())[i]; }

  Transport& transport_;
  std::size_t slots_;
  std::shared_ptr<NodeMemory> memory_;
  std::int64_t node_ranks_ = 0, ranks_before_ = 0;
  int worker_nodes_ = 0;
  // The rank's own thread only:
  PardoKey current_{-1, -1, -1, -1};
  bool done_ = false;           // the current instance has nothing more for this rank
  int victims_done_ = 0;        // nodes that had nothing left of the current instance
  double begun_ = -1;           // the first instance
  double in_vain_ = 0;          // seconds of questions that brought nothing
  double round_trip_ = 0;       // of one, at least
  std::set<PardoKey> divided_;  // instances of which this rank has had its static part
};

NodeQueue::NodeQueue(Transport& transport, std::size_t slots) : transport_(transport), slots_(slots) {
  SIAL_CHECK(slots > 0, "a work queue without slots");
  if (transport.is_server()) return;
  node_ranks_ = transport.node_size();
  const std::size_t bytes = slots_offset() + slots * sizeof(Slot);
  memory_ = transport.map_node_memory(bytes, "the work queue");
  memory_->commit(0, bytes);
  worker_nodes_ = transport.worker_nodes();
  for (NodeId n(0); n < transport.node(); n = NodeId(n.number() + 1))
    ranks_before_ += std::ssize(transport.ranks_of_node(n));
}

/// The part of [0, total) that is due to `ranks` workers when `ranks_before` others come first.
IterationRange NodeQueue::share(std::int64_t total, std::int64_t ranks_before, std::int64_t ranks) const {
  const std::int64_t workers = transport_.size();
  return {share_before(total, workers, ranks_before), share_before(total, workers, ranks_before + ranks)};
}

/// Null when the table has no room for the key. No slot becomes free before the next phase, so that all ranks of the
/// node, and thieves, find the same answer for a key whenever they ask.
Slot* NodeQueue::find_or_insert(const PardoKey& key, std::int64_t total) {
  Table& t = table();
  const std::int64_t phase = key.phase + 1;
  SIAL_CHECK(phase >= t.phase_plus_one, "draw for phase {} after phase {}", key.phase, t.phase_plus_one - 1);
  t.phase_plus_one = phase;
  std::uint64_t h = mix_hash(static_cast<std::uint64_t>(key.instance), static_cast<std::uint64_t>(key.phase));
  h = mix_hash(h, static_cast<std::uint64_t>(key.program) << 32 | static_cast<std::uint32_t>(key.loop));
  for (std::size_t probe = 0; probe < slots_; ++probe) {
    Slot& s = slot((h + probe) % slots_);
    if (s.phase_plus_one != phase) {
      const IterationRange mine = share(total, ranks_before_, node_ranks_);
      s = {phase, key.instance, key.program, key.loop, mine.first, mine.last, 0};
      return &s;
    }
    if (s.instance == key.instance && s.program == key.program && s.loop == key.loop) return &s;
  }
  return nullptr;
}

IterationRange NodeQueue::cut(Slot& s, std::int64_t least) const {
  const std::int64_t first = s.next, left = s.end - first;
  transport_.yield_point();  // the simulator looks for ranks that do not respect the lock
  s.next = first + chunk_to_set_aside(left, node_ranks_, least);
  return {first, s.next};
}

/// Takes the iterations that this rank sets aside next: a chunk of the node's share, or half of what another one has
/// set aside. Nothing where it has some already. The table is locked.
void NodeQueue::set_aside(const PardoKey& key, Slot* s, std::int64_t total) {
  Reservation& mine = reservation(transport_.node_rank());
  if (mine.key == key && mine.first < mine.last) return;
  IterationRange chunk;
  if (s) {
    chunk = cut(*s);
    if (chunk.first == chunk.last) chunk = take_reserved(key);
  } else if (divided_.insert(key).second) {
    chunk = share(total, ranks_before_ + transport_.node_rank(), 1);
  }
  mine = {key, chunk.first, chunk.last};
}

/// The first iterations of what this rank has set aside.
IterationRange NodeQueue::begin_piece(const PardoKey& key, const Slot* s, int wheres) {
  Reservation& mine = reservation(transport_.node_rank());
  if (mine.key != key || mine.first == mine.last) return {};
  const std::int64_t first = mine.first, aside = mine.last - first;
  mine.first += s ? piece_to_begin(aside, aside + s->end - s->next, node_ranks_, wheres) : aside;
  return {first, mine.first};
}

std::optional<IterationRange> NodeQueue::draw(const PardoKey& key, Candidates candidates) {
  SIAL_CHECK(memory_ != nullptr && candidates.total >= 0, "draw of {} iterations, or on a server", candidates.total);
  transport_.yield_point();
  if (key != current_) {
    current_ = key;
    victims_done_ = 0;
    done_ = false;
    if (begun_ < 0) begun_ = transport_.now();
  }
  if (done_) return std::nullopt;
  {
    const TableLock lock(table(), transport_);
    Slot* const s = find_or_insert(key, candidates.total);
    set_aside(key, s, candidates.total);
    const IterationRange piece = begin_piece(key, s, candidates.wheres);
    if (piece.first < piece.last) return piece;
  }
  // Another node's work, beginning with the next one. Who had nothing left will hardly have anything later.
  while ((victims_done_ = share_victims_done(key, candidates.total)) < std::min(worker_nodes_ - 1, max_asked) &&
         may_ask(in_vain_, round_trip_, transport_.now() - begun_)) {
    const double asked = transport_.now();
    const IterationRange chunk =
        ask(NodeId((transport_.node().number() + 1 + victims_done_) % worker_nodes_), key, candidates.total);
    if (chunk.first < chunk.last) {
      const TableLock lock(table(), transport_);
      reservation(transport_.node_rank()) = {key, chunk.first, chunk.last};
      return begin_piece(key, find_or_insert(key, candidates.total), candidates.wheres);
    }
    const double took = transport_.now() - asked;
    in_vain_ += took;
    round_trip_ = round_trip_ > 0 ? std::min(round_trip_, took) : took;
    ++victims_done_;
  }
  done_ = true;
  return std::nullopt;
}

/// The finding of one rank of a node need not be asked for by the others again.
int NodeQueue::share_victims_done(const PardoKey& key, std::int64_t total) {
  const TableLock lock(table(), transport_);
  Slot* const s = find_or_insert(key, total);
  if (!s) return victims_done_;
  s->victims_done = std::max(s->victims_done, victims_done_);
  return s->victims_done;
}

std::optional<IterationRange> NodeQueue::reserve(const PardoKey& key, Candidates candidates, std::int64_t least) {
  SIAL_CHECK(memory_ != nullptr && candidates.total >= 0, "{} iterations set aside, or on a server", candidates.total);
  transport_.yield_point();
  const TableLock lock(table(), transport_);
  Reservation& mine = reservation(transport_.node_rank());
  if (mine.key != key || mine.first == mine.last) {
    if (key == current_ && (done_ || victims_done_ > 0)) return std::nullopt;
    Slot* s = find_or_insert(key, candidates.total);
    if (!s) return std::nullopt;
    const IterationRange chunk = cut(*s, least);
    mine = {key, chunk.first, chunk.last};
  }
  return mine.first < mine.last ? std::optional(IterationRange{mine.first, mine.last}) : std::nullopt;
}

/// The later half of the largest range that a rank of this node has set aside. For those that have nothing else to do.
IterationRange NodeQueue::take_reserved(const PardoKey& key) {
  Reservation* largest = nullptr;
  for (std::int64_t r = 0; r < node_ranks_; ++r) {
    Reservation& other = reservation(r);
    if (other.key == key && other.first < other.last &&
        (!largest || other.last - other.first > largest->last - largest->first))
      largest = &other;
  }
  if (!largest) return {};
  transport_.yield_point();
  const std::int64_t last = largest->last;
  largest->last -= (last - largest->first + 1) / 2;
  return {largest->last, last};
}

IterationRange NodeQueue::ask(NodeId node, const PardoKey& key, std::int64_t total) {
  const StealMessage message{work_queue_message, key, total};
  const auto& ranks = transport_.ranks_of_node(node);
  const int to = ranks[static_cast<std::size_t>(transport_.rank()) % ranks.size()];  // spread over their helpers
  const auto pending = transport_.request(to, std::as_bytes(std::span(&message, 1)), {}, {}, Priority::demand);
  pending->wait();
  IterationRange chunk;
  SIAL_CHECK(pending->reply_header().size() == sizeof chunk, "work queue answer of {} bytes",
             pending->reply_header().size());
  std::memcpy(&chunk, pending->reply_header().data(), sizeof chunk);
  return chunk;
}

IterationRange NodeQueue::give(const PardoKey& key, std::int64_t total) {
  const TableLock lock(table(), transport_);
  // A node that has not come to this loop yet can be helped too: the thief opens its slot.
  Slot* s = find_or_insert(key, total);
  if (!s) return {};
  const IterationRange chunk = cut(*s);
  return chunk.first < chunk.last ? chunk : take_reserved(key);
}

}  // namespace

std::unique_ptr<WorkQueue> make_work_queue(Transport& transport, std::size_t slots) {
  return std::make_unique<NodeQueue>(transport, slots);
}

Reply serve_work_queue_message(WorkQueue& queue, std::span<const std::byte> header) {
  StealMessage message;
  SIAL_CHECK(header.size() == sizeof message, "work queue message of {} bytes", header.size());
  std::memcpy(&message, header.data(), sizeof message);
  const IterationRange chunk = dynamic_cast<NodeQueue&>(queue).give(message.key, message.total);
  Reply reply;
  reply.header.resize(sizeof chunk);
  std::memcpy(reply.header.data(), &chunk, sizeof chunk);
  return reply;
}

}  // namespace sial
