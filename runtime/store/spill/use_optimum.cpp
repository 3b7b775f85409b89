#include "runtime/store/spill/use_optimum.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "runtime/tier/replay/replay.h"

namespace sial {

namespace {

/// What stays free between blocks of several sizes, as the dry run has it.
std::int64_t without_gaps(std::int64_t bytes) { return std::max<std::int64_t>(bytes, 0) / 17 * 16; }

/// Turns events of blocks into accesses to values: several blocks may have one, which dies with the last of them.
class Reader {
 public:
  Reader(std::uint16_t first_rank, std::int64_t budget) : first_rank_(first_rank), budget_(budget) {
    result_.sequence.begin_part();
    result_.sequence.add_array("all");
  }

  RecordedUses read(std::span<const std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size();) {
      const UseRecord::Word w = UseRecord::unpack(words[i++]);
      const auto next = [&] { return i < words.size() ? words[i++] : 0; };
      if (w.event == BlockEvent::none) break;
      enter_group(w);
      switch (w.event) {
        case BlockEvent::none: break;
        case BlockEvent::read: access(value_of(w.block), AccessKind::read); break;
        case BlockEvent::write: access(own_value(w.block), AccessKind::write); break;
        case BlockEvent::update: update(w.block); break;
        case BlockEvent::dies: release(w.block); break;
        case BlockEvent::shares: share(w.block, static_cast<std::uint32_t>(next())); break;
        case BlockEvent::defined: {
          next();  // array
          doubles_[w.block] = static_cast<std::int64_t>(next());
          break;
        }
        case BlockEvent::phase_ends: {
          const auto own = static_cast<std::int64_t>(next()), shared = static_cast<std::int64_t>(next());
          end_phase(w.who, own, shared);
          break;
        }
      }
    }
    for (const auto& [own, shared] : phases_) result_.capacity.push_back(std::max(shared, without_gaps(budget_ - own)));
    result_.capacity.push_back(without_gaps(budget_));
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t no_value = ~std::uint32_t{0};

  void enter_group(const UseRecord::Word& w) {
    if (w.begins_group) result_.sequence.begin_group(w.who);
    else result_.sequence.continue_group(w.who);
  }
  void access(std::uint32_t value, AccessKind kind) { result_.sequence.access(value, kind, 0); }

  std::uint32_t new_value(std::uint32_t block) {
    const std::int64_t bytes = doubles_[block] * 8;
    const auto in_memory = static_cast<std::int64_t>(NodeHeap::chunk_bytes(doubles_[block]));
    holders_.push_back(1);
    return values_[block] = result_.sequence.add_block(0, in_memory, in_memory - bytes);
  }
  /// Where the record does not say how it came about: it was there before.
  std::uint32_t value_of(std::uint32_t block) {
    if (const auto found = values_.find(block); found != values_.end()) return found->second;
    const std::uint32_t value = new_value(block);
    access(value, AccessKind::write);
    return value;
  }
  /// To be replaced: what others have stays theirs.
  std::uint32_t own_value(std::uint32_t block) {
    const auto found = values_.find(block);
    if (found != values_.end() && holders_[found->second] == 1) return found->second;
    release(block);
    return new_value(block);
  }
  void update(std::uint32_t block) {
    const std::uint32_t value = value_of(block);
    if (holders_[value] == 1) return access(value, AccessKind::update);
    access(value, AccessKind::read);
    access(own_value(block), AccessKind::write);
  }
  void release(std::uint32_t block) {
    const auto found = values_.find(block);
    if (found == values_.end()) return;
    if (--holders_[found->second] == 0) access(found->second, AccessKind::dies);
    values_.erase(found);
  }
  void share(std::uint32_t block, std::uint32_t from) {
    if (from == 0) return access(own_value(block), AccessKind::write);
    const std::uint32_t value = value_of(from);
    if (const auto found = values_.find(block); found != values_.end() && found->second == value) return;
    release(block);
    values_[block] = value;
    ++holders_[value];
  }

  void end_phase(std::uint16_t who, std::int64_t own, std::int64_t shared) {
    const std::size_t phase = ended_[who]++;
    if (phase >= phases_.size()) phases_.resize(phase + 1);
    phases_[phase].first += own;
    phases_[phase].second = std::max(phases_[phase].second, shared);
    if (who != first_rank_) return;
    result_.sequence.begin_phase();
    result_.sequence.begin_part();
  }

  const std::uint16_t first_rank_;
  const std::int64_t budget_;
  RecordedUses result_;
  std::unordered_map<std::uint32_t, std::int64_t> doubles_;
  std::unordered_map<std::uint32_t, std::uint32_t> values_;    // by block: number in the sequence
  std::vector<std::uint32_t> holders_;                         // per value
  std::vector<std::pair<std::int64_t, std::int64_t>> phases_;  // bytes of the ranks' own, and of blocks
  std::map<std::uint16_t, std::size_t> ended_;                 // phases, by rank
};

}  // namespace

RecordedUses recorded_uses(const UseRecord& record, std::uint16_t first_rank, std::int64_t budget) {
  return Reader(first_rank, budget).read(record.words());
}

TierOptimum take_optimum(UseRecord& record, std::uint16_t first_rank, std::int64_t budget) {
  TierOptimum result;
  result.uses = record.uses();
  result.unrecorded = record.unrecorded();
  result.bytes_moved = record.bytes_moved();
  if (result.bytes_moved > 0) {  // else nothing moves at best, too
    const RecordedUses recorded = recorded_uses(record, first_rank, budget);
    const TierTraffic best = offline_optimum(recorded.sequence, Capacity(recorded.capacity)).total;
    result.bytes_read = best.bytes_read;
    result.bytes_written = best.bytes_written;
  }
  record.clear();
  return result;
}

}  // namespace sial
