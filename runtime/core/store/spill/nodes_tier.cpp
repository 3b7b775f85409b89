#include "runtime/core/store/spill/nodes_tier.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

namespace sial {
namespace {

constexpr std::uint64_t piece_bytes = std::uint64_t{2} << 20;
/// The bytes of a chunk: more where much was received already, so that asking is rare.
constexpr std::uint64_t min_chunk = std::uint64_t{1} << 20, max_chunk = std::uint64_t{32} << 20, chunk_part = 8;
/// A provider that had nothing is not asked in so many rounds.
constexpr std::uint64_t rounds_of_rest = 16;

}  // namespace

/// The pieces of one transfer: copies of at most piece_bytes, each within one chunk.
struct NodesTier::Pieces {
  struct Piece final : RemoteCopy {
    Pieces* all = nullptr;
    void completed(int error) noexcept override {
      if (error != 0) all->error.store(error, std::memory_order_relaxed);
      Pieces& pieces = *all;
      if (pieces.left.fetch_sub(1, std::memory_order_acq_rel) == 1) pieces.tier->ended(pieces, writes);
    }
  };
  NodesTier* tier = nullptr;
  TierTransfer* transfer = nullptr;
  double begun = 0;
  std::atomic<std::size_t> left{0};
  std::atomic<int> error{0};
  std::vector<Piece> pieces;
};

NodesTier::NodesTier(Transport& transport, std::unique_ptr<MemoryProvider> provider, std::vector<ProviderNode> nodes,
                     std::size_t workers_at)
    : transport_(transport), nodes_(std::move(nodes)), workers_at_(workers_at), provider_(std::move(provider)) {
  for (const ProviderNode& n : nodes_) capacity_ += n.most / alignment() * alignment();
  const std::size_t bytes = sizeof(Shared) + max_extents * sizeof(Extent);
  memory_ = transport.map_node_memory(bytes, "bookkeeping of the memory of other nodes");
  memory_->commit(0, bytes);
  remote_ = transport.open_remote_memory(*provider_);
}

NodesTier::~NodesTier() {
  while (true) {
    {
      const std::lock_guard guard(mutex_);
      if (under_way_.empty()) return;
    }
    remote_->progress();
    try {
      transport_.pause();
    } catch (...) {  // the job ends
      std::this_thread::yield();
    }
  }
}

std::uint64_t NodesTier::reserved() const {
  const std::uint32_t n = shared().count.load(std::memory_order_acquire);
  return n == 0 ? 0 : extents()[n - 1].begin + extents()[n - 1].bytes;
}

std::uint64_t NodesTier::usable() const { return reserved(); }

/// One chunk more, of whoever has one.
bool NodesTier::request_memory(std::uint64_t needed) {
  Shared& s = shared();
  const std::uint32_t n = s.count.load(std::memory_order_relaxed);
  if (n == max_extents) return false;
  const std::uint64_t begin = reserved();
  const std::uint64_t wanted =
      std::max(needed, std::clamp(begin / chunk_part / nodes_.size(), min_chunk, max_chunk)) / 64 * 64;
  const std::uint64_t turn = s.turns.fetch_add(1, std::memory_order_relaxed) + transport_.node().at();
  const std::uint64_t round = s.rounds.fetch_add(1, std::memory_order_relaxed);
  for (const auto& [from, to] : {std::pair{std::size_t{0}, workers_at_}, std::pair{workers_at_, nodes_.size()}})
    for (std::size_t i = 0; i < to - from; ++i) {
      const std::size_t provider = from + (turn + i) % (to - from);
      auto& not_before = s.not_before[provider % s.not_before.size()];
      if (not_before.load(std::memory_order_relaxed) > round) continue;
      const RemoteChunk chunk = remote_->ask(transport_.ranks_of_node(nodes_[provider].node).front(), wanted);
      if (chunk.bytes < std::min(wanted, min_chunk))
        not_before.store(round + rounds_of_rest, std::memory_order_relaxed);
      if (chunk.bytes == 0) continue;
      extents()[n] = {begin, chunk.bytes, chunk.at, provider};
      s.count.store(n + 1, std::memory_order_release);
      return true;
    }
  return false;
}

bool NodesTier::reserve(std::uint64_t bytes) {
  if (bytes > capacity_) {
    throw EnvironmentError(
        fmt::format("{} is full: blocks need {} of its {}", name(), bytes_text(static_cast<std::int64_t>(bytes)),
                    bytes_text(static_cast<std::int64_t>(capacity_))),
        "raise the limit of `--spill nodes`, or `--memory`");
  }
  const SpinGuard guard(shared().lock, [this] { transport_.pause(); });
  for (std::uint64_t have = reserved(); have < bytes; have = reserved())
    if (!request_memory((bytes - have + 63) / 64 * 64)) return false;
  return true;
}

void NodesTier::start(TierTransfer& t, bool write, CopyPriority priority) {
  const std::size_t count = shared().count.load(std::memory_order_acquire);
  const Extent* const end = extents() + count;
  SIAL_CHECK(t.bytes > 0 && t.at + t.bytes <= reserved(), "a transfer of {} bytes at {} of {}", t.bytes, t.at,
             reserved());
  auto owned = std::make_unique<Pieces>();
  Pieces& p = *owned;
  p.tier = this;
  p.transfer = &t;
  const Extent* e = std::upper_bound(static_cast<const Extent*>(extents()), end, t.at,
                                     [](std::uint64_t at, const Extent& x) { return at < x.begin; }) -
                    1;
  for (std::size_t done = 0; done < t.bytes;) {
    const std::uint64_t at = t.at + done;
    while (at >= e->begin + e->bytes) ++e;
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>({t.bytes - done, piece_bytes, e->begin + e->bytes - at}));
    Pieces::Piece& piece = p.pieces.emplace_back();
    const auto& ranks = transport_.ranks_of_node(nodes_[e->provider].node);
    piece.all = &p;
    piece.rank = ranks[static_cast<std::size_t>(transport_.node_rank()) % ranks.size()];
    piece.at = e->at + (at - e->begin);
    piece.memory = t.memory + done;
    piece.bytes = n;
    piece.writes = write;
    piece.priority = priority;
    done += n;
  }
  p.left = p.pieces.size();
  {
    const std::lock_guard guard(mutex_);
    p.begun = transport_.now();
    meter_.begin(write, p.begun);
    under_way_.emplace(&t, std::move(owned));
  }
  for (std::size_t i = 0, n = p.pieces.size(); i < n; ++i) remote_->start(p.pieces[i]);
}

void NodesTier::ended(Pieces& p, bool write) noexcept {
  TierTransfer& t = *p.transfer;
  const int error = p.error.load(std::memory_order_relaxed);
  {
    const std::lock_guard guard(mutex_);
    const double now = transport_.now();
    meter_.end(write, error == 0 ? t.bytes : 0, p.begun, now);
    under_way_.erase(&t);  // with its pieces
  }
  t.completed(error);
}

void NodesTier::raise(TierTransfer& t) {
  const std::lock_guard guard(mutex_);
  const auto found = under_way_.find(&t);
  if (found == under_way_.end()) return;
  for (Pieces::Piece& piece : found->second->pieces) remote_->raise(piece);
}

TierSpeed NodesTier::speed() const {
  const std::lock_guard guard(mutex_);
  return meter_.speed();
}

}  // namespace sial
