#include "runtime/core/store/phases/rank_snapshots.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

namespace sial {

void RankSnapshots::begin_program() {
  marked_.clear();
  mark_order_.clear();
}

void RankSnapshots::save_at_end(ArrayId id, const std::string& label, Place place) {
  if (const auto found = marked_.find(id); found != marked_.end())
    throw SialError(fmt::format("array {} is already to be saved under label \"{}\" at the end of this program",
                                context_.arrays.name(id), found->second),
                    "use one set_persistent per array and program", context_.arrays.place(place));
  marked_[id] = label;
  mark_order_.push_back(id);
}

void RankSnapshots::take_marked() {
  // The last array counts where a label was marked twice.
  std::map<std::string, ArrayId> last;
  for (const ArrayId id : mark_order_) last[marked_[id]] = id;
  for (const auto& [label_name, id] : last) {
    Label& label = labels_.at(label_name);
    context_.arrays.set_name(label.number, label_name);
    if (label.exists) {
      const BlockKey old{label.number, label.generation, {}};
      requests_.drop({&old, 1});
      ++label.generation;
    }
    label.exists = true;
    label.placement = context_.arrays.at(id).placement;
    requests_.transfer(context_.arrays.key(id, {}), label.number, label.generation, true);
  }
  marked_.clear();
  mark_order_.clear();
}

void RankSnapshots::restore(ArrayId id, const std::string& label_name, Place place) {
  const Label* label = labels_.find(label_name);
  if (!label) {
    std::string known;
    for (const std::string& n : labels_.names()) known += (known.empty() ? "\"" : ", \"") + n + "\"";
    throw SialError(
        fmt::format("nothing was saved under label \"{}\" for array {}", label_name, context_.arrays.name(id)),
        known.empty() ? "no remote array has been saved by an earlier program of this job: use set_persistent there"
                      : "saved are: " + known,
        context_.arrays.place(place));
  }
  deletions_.erase(id, place);
  RemoteArray& array = context_.arrays.at(id);
  array.placement = label->placement;
  array.restored_from = label_name;
  array.deleted.reset();
  context_.transport.barrier({CollectiveKind::persist, place});
  requests_.transfer({label->number, label->generation, {}}, context_.arrays.number(id), array.generation, false);
  context_.transport.barrier({CollectiveKind::persist, place});
}

void RankSnapshots::drop_labels_except(const std::vector<std::string>& needed) {
  for (const std::string& n : labels_.names()) {
    if (std::find(needed.begin(), needed.end(), n) != needed.end()) continue;
    Label& label = labels_.at(n);
    requests_.advance(label.number, label.generation);
    ++label.generation;
    label.exists = false;
  }
  puts_.complete_all();
}

std::vector<BlockIndex> RankSnapshots::saved_blocks(const std::string& label_name) const {
  const Label* label = labels_.find(label_name);
  SIAL_CHECK(label, "no label \"{}\"", label_name);
  return requests_.share_of_blocks(label->number, label->generation);
}

std::vector<double> RankSnapshots::saved_block(const std::string& label_name, const BlockIndex& block) const {
  const Label* label = labels_.find(label_name);
  SIAL_CHECK(label, "no label \"{}\"", label_name);
  std::optional<std::vector<double>> data =
      requests_.copy_of_block({label->number, label->generation, block}, label->placement);
  SIAL_CHECK(data, "label \"{}\" has no block {}", label_name, block_name("", block));
  return std::move(*data);
}

std::optional<LeasedValues> RankSnapshots::find_saved_block(const std::string& label_name,
                                                            const BlockIndex& block) const {
  const Label* label = labels_.find(label_name);
  SIAL_CHECK(label, "no label \"{}\"", label_name);
  return requests_.hold_block({label->number, label->generation, block}, label->placement);
}

LeasedValues RankSnapshots::hold_saved_block(const std::string& label_name, const BlockIndex& block) const {
  std::optional<LeasedValues> held = find_saved_block(label_name, block);
  SIAL_CHECK(held, "label \"{}\" has no block {}", label_name, block_name("", block));
  return std::move(*held);
}

void RankSnapshots::load_label(const std::string& label_name) {
  Label& label = labels_.at(label_name);
  if (std::find(new_labels_.begin(), new_labels_.end(), label_name) != new_labels_.end()) return;
  new_labels_.push_back(label_name);
  context_.arrays.set_name(label.number, label_name);
}

void RankSnapshots::load_saved_block(const std::string& label_name, const BlockIndex& block,
                                     std::span<const double> data) {
  load_label(label_name);
  const Label& label = labels_.at(label_name);
  requests_.set_block({label.number, label.generation, block}, label.placement, data);
}

std::vector<BlockIndex> RankSnapshots::array_blocks(ArrayId id) {
  return requests_.share_of_blocks(context_.arrays.number(id), context_.arrays.at(id).generation);
}

std::optional<std::vector<double>> RankSnapshots::array_block(ArrayId id, const BlockIndex& block) {
  std::optional<std::vector<double>> data =
      requests_.copy_of_block(context_.arrays.key(id, block), context_.arrays.at(id).placement);
  SIAL_CHECK(data || context_.arrays.at(id).discarded_before > 0, "no block {}",
             block_name(context_.arrays.name(id), block));
  return data;
}

std::optional<LeasedValues> RankSnapshots::hold_array_block(ArrayId id, const BlockIndex& block) {
  std::optional<LeasedValues> held =
      requests_.hold_block(context_.arrays.key(id, block), context_.arrays.at(id).placement);
  SIAL_CHECK(held || context_.arrays.at(id).discarded_before > 0, "no block {}",
             block_name(context_.arrays.name(id), block));
  return held;
}

void RankSnapshots::load_array_block(ArrayId id, const BlockIndex& block, std::span<const double> data) {
  requests_.set_block(context_.arrays.key(id, block), context_.arrays.at(id).placement, data);
}

bool RankSnapshots::is_as_restored(ArrayId id, const BlockIndex& block) {
  const RemoteArray& array = context_.arrays.at(id);
  const Label* label = labels_.find(array.restored_from);
  return label && requests_.are_same(context_.arrays.key(id, block), array.placement,
                                     {label->number, label->generation, block}, label->placement);
}

void RankSnapshots::exchange_new(Place place) {
  std::vector<std::byte> mine;
  for (const std::string& n : new_labels_) {
    const std::uint64_t size = n.size();
    for (const auto bytes : {std::as_bytes(std::span(&size, 1)), std::as_bytes(std::span(n))})
      mine.insert(mine.end(), bytes.begin(), bytes.end());
  }
  new_labels_.clear();
  for (const auto& part : context_.transport.all_gather(mine, {CollectiveKind::gather, place})) {
    for (std::size_t at = 0; at < part.size();) {
      std::uint64_t size = 0;
      std::memcpy(&size, &part[at], sizeof size);
      const std::string n(reinterpret_cast<const char*>(part.data()) + at + sizeof size, size);
      at += sizeof size + size;
      Label& label = labels_.at(n);
      label.exists = true;
      context_.arrays.set_name(label.number, n);
    }
  }
}

}  // namespace sial
