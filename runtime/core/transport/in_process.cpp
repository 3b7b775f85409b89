#include "runtime/core/transport/in_process.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

namespace sial {

NodeLayout::NodeLayout(int worker_count, int ranks_per_node, int servers, bool homes_on_workers)
    : NodeLayout(std::vector<int>(static_cast<std::size_t>(worker_count + servers), 0), ranks_per_node, servers,
                 homes_on_workers) {}

NodeLayout::NodeLayout(const std::vector<int>& host_of, int ranks_per_node, int servers, bool homes_on_workers)
    : workers(static_cast<int>(host_of.size()) - servers) {
  SIAL_CHECK(workers > 0 && servers >= 0, "{} workers, {} servers", workers, servers);
  std::map<int, NodeId> filling;  // host → the node that takes its next worker
  for (int r = 0; r < static_cast<int>(host_of.size()); ++r) {
    const auto open = r < workers ? filling.find(host_of[static_cast<std::size_t>(r)]) : filling.end();
    const bool joins = open != filling.end() &&
                       (ranks_per_node <= 0 || static_cast<int>(ranks[open->second.at()].size()) < ranks_per_node);
    const NodeId node = joins ? open->second : NodeId(static_cast<int>(ranks.size()));
    if (!joins) {
      ranks.emplace_back();
      if (r < workers) filling[host_of[static_cast<std::size_t>(r)]] = node;
      if (servers == 0 || homes_on_workers == (r < workers)) home_nodes.push_back(node);
    }
    ranks[node.at()].push_back(r);
    node_of.push_back(node);
  }
}

void CommitBudget::take(std::size_t bytes, const std::string& purpose) {
  const std::lock_guard lock(mutex_);
  if (bytes > limit_ - used_)
    throw EnvironmentError(
        fmt::format("no room for {} more bytes of {}: the ranks of this node may use {} bytes and have used {}", bytes,
                    purpose, limit_, used_),
        "give the pretend node a larger limit, or the program less data");
  used_ += bytes;
}

void CommitBudget::give_back(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

namespace {

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

class PrivateMemory final : public NodeMemory {
 public:
  PrivateMemory(std::size_t bytes, std::string purpose, CommitBudget* budget)
      : purpose_(std::move(purpose)), budget_(budget) {
    page_ = page_size();
    reserved_ = (bytes + page_ - 1) / page_ * page_;
    void* p = mmap(nullptr, std::max(reserved_, page_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      throw EnvironmentError(fmt::format("cannot reserve an address range of {} bytes for {}", reserved_, purpose_),
                             "ask for less memory per rank with `--memory`, or raise `ulimit -v`");
    base_ = static_cast<std::byte*>(p);
    usable_.assign(reserved_ / page_ / word_bits + 1, 0);
  }
  ~PrivateMemory() override { munmap(base_, std::max(reserved_, page_)); }
  PrivateMemory(const PrivateMemory&) = delete;
  PrivateMemory& operator=(const PrivateMemory&) = delete;

  std::byte* base() const override { return base_; }
  std::size_t reserved() const override { return reserved_; }
  std::size_t committed() const override { return committed_.load(); }

  void commit(std::size_t offset, std::size_t bytes) override {
    if (bytes == 0) return;
    SIAL_CHECK(offset <= reserved_ && bytes <= reserved_ - offset, "commit of [{}, +{}) in {} bytes of {}", offset,
               bytes, reserved_, purpose_);
    const std::size_t first = offset / page_, last = (offset + bytes + page_ - 1) / page_;
    const std::lock_guard lock(mutex_);
    const std::size_t fresh = (last - first - count(first, last)) * page_;
    if (fresh == 0) return;
    if (budget_) budget_->take(fresh, purpose_);
    if (mprotect(base_ + first * page_, (last - first) * page_, PROT_READ | PROT_WRITE) != 0)
      throw EnvironmentError(fmt::format("the system has no room for {} more bytes of {}", fresh, purpose_),
                             "ask for less memory per rank with `--memory`");
    for_each_word(first, last, [&](std::uint64_t& word, std::uint64_t mask) { word |= mask; });
    committed_ += fresh;
  }
  std::size_t uncommitted(std::size_t offset, std::size_t bytes) const override {
    const std::lock_guard lock(mutex_);
    const std::size_t first = offset / page_, last = (offset + bytes + page_ - 1) / page_;
    return (last - first - count(first, last)) * page_;
  }
  void uncommit(std::size_t offset, std::size_t bytes) override {
    const std::size_t first = (offset + page_ - 1) / page_, last = (offset + bytes) / page_;
    const std::lock_guard lock(mutex_);
    for (std::size_t begin = next(first, last, true); begin < last;) {
      const std::size_t end = next(begin, last, false);
      for_each_word(begin, end, [&](std::uint64_t& word, std::uint64_t mask) { word &= ~mask; });
      // Still accessible: protection of its own would cost as much again.
      const std::size_t freed = (end - begin) * page_;
      madvise(base_ + begin * page_, freed, MADV_DONTNEED);
      committed_ -= freed;
      if (budget_) budget_->give_back(freed);
      begin = next(end, last, true);
    }
  }

 private:
  static constexpr std::size_t word_bits = 64;

  /// Parts of words that hold the bits of [first, last), with masks of these.
  template <class Visit>
  void for_each_word(std::size_t first, std::size_t last, const Visit& visit) {
    while (first < last) {
      const std::size_t bit = first % word_bits, bits = std::min(word_bits - bit, last - first);
      visit(usable_[first / word_bits], (bits == word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1)
                                            << bit);
      first += bits;
    }
  }
  /// Usable pages of [first, last).
  std::size_t count(std::size_t first, std::size_t last) const {
    std::size_t found = 0;
    const_cast<PrivateMemory*>(this)->for_each_word(first, last, [&](const std::uint64_t& word, std::uint64_t mask) {
      found += static_cast<std::size_t>(std::popcount(word & mask));
    });
    return found;
  }
  /// The first page from `first` on that is usable, or is not; `last`: none is.
  std::size_t next(std::size_t first, std::size_t last, bool usable) const {
    while (first < last) {
      const std::uint64_t word = usable ? usable_[first / word_bits] : ~usable_[first / word_bits];
      if (const std::uint64_t rest = word >> (first % word_bits); rest != 0)
        return std::min(last, first + static_cast<std::size_t>(std::countr_zero(rest)));
      first += word_bits - first % word_bits;
    }
    return last;
  }

  std::string purpose_;
  CommitBudget* budget_;
  std::size_t page_ = 0, reserved_ = 0;
  std::byte* base_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> usable_;  // a bit per page
  std::atomic<std::size_t> committed_{0};
};

}  // namespace

std::shared_ptr<NodeMemory> make_private_memory(std::size_t reserve_bytes, const std::string& purpose,
                                                CommitBudget* budget) {
  return std::make_shared<PrivateMemory>(reserve_bytes, purpose, budget);
}

std::shared_ptr<NodeMemory> NodeMemories::map(std::size_t reserve_bytes, const std::string& purpose) {
  Entry& e = entries_[purpose];
  if (!e.memory) e.memory = make_private_memory(reserve_bytes, purpose, &budget_);
  SIAL_CHECK(e.memory->reserved() - reserve_bytes < page_size(), "ranks of a node ask for different sizes of {}",
             purpose);
  std::shared_ptr<NodeMemory> memory = e.memory;
  if (++e.mapped == ranks_) entries_.erase(purpose);
  return memory;
}

}  // namespace sial
