#include "runtime/core/store/spill/spill_area.h"

#include <algorithm>
#include <bit>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

namespace sial {

namespace {

constexpr auto relaxed_order = std::memory_order_relaxed;
constexpr std::size_t commit_step = std::size_t{1} << 20;
constexpr std::size_t max_copies = std::size_t{1} << 26, fewest_copies = std::size_t{1} << 16;

/// A copy takes a unit of a tier at least, and there are those without a part.
std::size_t copies_for(const std::vector<std::shared_ptr<Tier>>& tiers) {
  std::size_t n = fewest_copies;
  for (const auto& t : tiers)
    n += std::min<std::size_t>(t->capacity() / std::max<std::uint64_t>(t->alignment(), 1), max_copies);
  return std::min(2 * n, max_copies);
}

}  // namespace

SpillArea::SpillArea(Transport& transport, std::vector<std::shared_ptr<Tier>> tiers)
    : transport_(transport), tiers_(std::move(tiers)) {
  copies_at_ = sizeof(Header) + tiers_.size() * sizeof(Space);
  max_copies_ = copies_for(tiers_);
  memory_ = transport.map_node_memory(copies_at_ + max_copies_ * sizeof(TierCopy), "bookkeeping of spilled blocks");
  memory_->commit(0, copies_at_);
}

int SpillArea::class_of(std::uint64_t units) {
  if (units < 64) return static_cast<int>(units);
  const int log = std::bit_width(units) - 1;  // >= 6
  return std::min(n_classes - 1, 64 + (log - 6) * 8 + static_cast<int>((units >> (log - 3)) & 7));
}

std::uint64_t SpillArea::units(std::uint64_t bytes, std::size_t tier) const {
  const std::uint64_t unit = tiers_[tier]->alignment();
  return (bytes + unit - 1) / unit;
}

/// With the header's lock held.
TierCopy& SpillArea::new_copy() {
  Header& h = header();
  if (h.free_copies != 0) {
    TierCopy& c = copy(h.free_copies);
    h.free_copies = c.next;
    return c;
  }
  if (h.copies_made == max_copies_)
    throw EnvironmentError(fmt::format("more than {} blocks were spilled on one node", max_copies_),
                           "use larger segments, or more nodes");
  const std::size_t at = copies_at_ + h.copies_made * sizeof(TierCopy);
  if (at + sizeof(TierCopy) > copies_at_ + h.committed) {
    const std::size_t step = std::min(commit_step, max_copies_ * sizeof(TierCopy) - h.committed);
    memory_->commit(copies_at_ + h.committed, step);
    h.committed += step;
  }
  ++h.copies_made;
  return copy(at);
}

TierCopy& SpillArea::make(std::int64_t doubles) {
  accept_returned();
  const SpinGuard guard(header().lock, [this] { transport_.pause(); });
  TierCopy& c = new_copy();
  c.state.store(TierCopyState::empty, relaxed_order);
  c.users.store(1, relaxed_order);
  c.doubles = doubles;
  c.at = c.bytes = c.next = 0;
  c.tier = 0;
  return c;
}

void SpillArea::free_copy(TierCopy& c) {
  const SpinGuard guard(header().lock, [this] { transport_.pause(); });
  c.next = header().free_copies;
  header().free_copies = offset(c);
}

void SpillArea::drop_user(TierCopy& c) noexcept {
  if (c.users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::atomic<std::uint64_t>& returned = header().returned;
  std::uint64_t first = returned.load(relaxed_order);
  do c.next = first;
  while (!returned.compare_exchange_weak(first, offset(c), std::memory_order_release, relaxed_order));
}

void SpillArea::accept_returned() {
  if (header().returned.load(relaxed_order) == 0) return;
  std::uint64_t at = header().returned.exchange(0, std::memory_order_acquire);
  while (at != 0) {
    TierCopy& c = copy(at);
    at = c.next;
    if (c.bytes > 0) give_back_space(c);
    else free_copy(c);
  }
}

/// The copy stands for the free part from now on.
void SpillArea::give_back_space(TierCopy& c) {
  Space& s = space(c.tier);
  const SpinGuard guard(s.lock, [this] { transport_.pause(); });
  const int k = class_of(units(c.bytes, c.tier));
  c.next = s.first[static_cast<std::size_t>(k)];
  s.first[static_cast<std::size_t>(k)] = offset(c);
  s.used.fetch_sub(c.bytes, relaxed_order);
}

/// With the space's lock held: a free part of at least so many bytes, out of its list.
TierCopy* SpillArea::take_free(Space& s, std::size_t tier, std::uint64_t bytes) {
  for (int k = class_of(units(bytes, tier)); k < n_classes; ++k) {
    std::uint64_t* link = &s.first[static_cast<std::size_t>(k)];
    for (int looked = 0; *link != 0 && looked < 8; ++looked) {
      TierCopy& c = copy(*link);
      if (c.bytes >= bytes) {
        *link = c.next;
        return &c;
      }
      link = &c.next;
    }
  }
  return nullptr;
}

/// With the space's lock held: neighbouring free parts become one, and one at the end is not counted as used any more.
void SpillArea::merge_free(Space& s, std::size_t tier) {
  std::vector<TierCopy*> parts;
  for (std::uint64_t& first : s.first) {
    for (std::uint64_t at = first; at != 0; at = copy(at).next) parts.push_back(&copy(at));
    first = 0;
  }
  std::sort(parts.begin(), parts.end(), [](const TierCopy* a, const TierCopy* b) { return a->at < b->at; });
  std::vector<TierCopy*> merged;
  for (TierCopy* c : parts) {
    if (!merged.empty() && merged.back()->at + merged.back()->bytes == c->at) {
      merged.back()->bytes += c->bytes;
      free_copy(*c);
    } else {
      merged.push_back(c);
    }
  }
  if (!merged.empty() && merged.back()->at + merged.back()->bytes == s.top) {
    s.top = merged.back()->at;
    free_copy(*merged.back());
    merged.pop_back();
  }
  for (TierCopy* c : merged) {
    const auto k = static_cast<std::size_t>(class_of(units(c->bytes, tier)));
    c->next = s.first[k];
    s.first[k] = offset(*c);
  }
}

bool SpillArea::take_space(TierCopy& c, std::size_t tier) {
  const std::uint64_t bytes =
      std::max<std::uint64_t>(units(static_cast<std::uint64_t>(c.doubles) * 8, tier), 1) * tiers_[tier]->alignment();
  const std::uint64_t capacity = tiers_[tier]->capacity();
  Space& s = space(tier);
  const SpinGuard guard(s.lock, [this] { transport_.pause(); });
  const auto from_top = [&] {
    if (s.top > capacity || bytes > capacity - s.top) return false;
    if (s.top + bytes > s.reserved) {
      if (!tiers_[tier]->reserve(s.top + bytes)) return false;
      s.reserved = s.top + bytes;
    }
    c.at = s.top;
    s.top += bytes;
    return true;
  };
  const auto from_free = [&] {
    TierCopy* part = take_free(s, tier, bytes);
    if (!part) return false;
    c.at = part->at;
    part->at += bytes;
    part->bytes -= bytes;
    if (part->bytes == 0) {
      free_copy(*part);
    } else {
      const auto k = static_cast<std::size_t>(class_of(units(part->bytes, tier)));
      part->next = s.first[k];
      s.first[k] = offset(*part);
    }
    return true;
  };
  if (!from_free() && !from_top()) {
    merge_free(s, tier);
    if (!from_free() && !from_top()) return false;
  }
  c.tier = static_cast<std::uint32_t>(tier);
  c.bytes = bytes;
  const std::uint64_t used = s.used.fetch_add(bytes, relaxed_order) + bytes;
  if (used > s.high_water.load(relaxed_order)) s.high_water.store(used, relaxed_order);
  return true;
}

bool SpillArea::find_space(TierCopy& c) {
  SIAL_CHECK(c.bytes == 0, "a copy with {} bytes already", c.bytes);
  accept_returned();
  for (std::size_t first = 0; first < tiers_.size();) {
    std::size_t after = first + 1;
    while (after < tiers_.size() && tiers_[after]->kind() == tiers_[first]->kind()) ++after;
    const std::size_t n = after - first, turn = header().turn.fetch_add(1, relaxed_order);
    for (std::size_t i = 0; i < n; ++i)
      if (take_space(c, first + (turn + i) % n)) return true;
    first = after;
  }
  return false;
}

std::uint64_t SpillArea::bytes_in_use() const {
  std::uint64_t sum = 0;
  for (std::size_t t = 0; t < tiers_.size(); ++t) sum += space(t).used.load(relaxed_order);
  return sum;
}

std::uint64_t SpillArea::bytes_high_water() const {
  std::uint64_t sum = 0;
  for (std::size_t t = 0; t < tiers_.size(); ++t) sum += space(t).high_water.load(relaxed_order);
  return sum;
}

}  // namespace sial
