#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/store/store_impl.h"

namespace sial {

// --- requests about whole arrays

void StoreImpl::control(int node, RequestHeader request) {
  if (node == transport_.node()) {
    switch (request.kind) {
      case RequestKind::drop: node_->drop(request.key.array, request.key.generation); break;
      case RequestKind::transfer:
        node_->transfer(request.key.array, request.key.generation, request.to_array, request.to_generation,
                        request.move);
        break;
      default: SIAL_CHECK(false, "request {} to this rank's own node", static_cast<int>(request.kind));
    }
    return;
  }
  request.access = access({program_, -1});
  ++stats_.messages_sent;
  transport_.request(transport_.ranks_of_node(node).front(), to_bytes(request), {}, {}, Priority::demand)->wait();
}

void StoreImpl::announce(int node, std::uint64_t array, const std::string& array_name) {
  if (node == transport_.node()) return;
  RequestHeader request;
  request.kind = RequestKind::announce;
  request.key.array = array;
  array_name.copy(request.name, sizeof(request.name) - 1);
  control(node, request);
}

std::vector<ListedBlock> StoreImpl::list(int node, std::uint64_t array, std::uint32_t generation) const {
  if (node == transport_.node()) return node_->list(array, generation);
  std::vector<ListedBlock> all;
  std::int64_t total = 1;
  while (static_cast<std::int64_t>(all.size()) < total) {
    RequestHeader request;
    request.kind = RequestKind::list;
    request.key = {array, generation, {}};
    request.size = static_cast<std::int64_t>(all.size());
    std::vector<ListedBlock> rows(static_cast<std::size_t>(rows_per_reply));
    const auto pending = transport_.request(transport_.ranks_of_node(node).front(), to_bytes(request), {},
                                            std::as_writable_bytes(std::span(rows)), Priority::demand);
    pending->wait();
    ++stats_.messages_sent;
    total = read_reply(pending->reply_header()).rows;
    rows.resize(pending->reply_bytes() / sizeof(ListedBlock));
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

void StoreImpl::advance(std::uint64_t array, std::uint32_t generation) {
  if (!node_->rank_advanced(array, generation)) return;
  for (const int node : transport_.home_nodes()) {
    if (node == transport_.node()) continue;
    Outbox::Item item;
    item.header.kind = RequestKind::node_advanced;
    item.header.key = {array, generation, {}};
    ++stats_.messages_sent;
    item.request =
        transport_.request(transport_.ranks_of_node(node).front(), to_bytes(item.header), {}, {}, Priority::demand);
    outbox_->post(std::move(item));
  }
}

// The memory comes free when the last rank gets here. Those that are early would fill the node beyond what the program
// needs if they went on at once; but they only give way, they do not insist: a rank that never comes is found out at
// the barrier.
void StoreImpl::wait_until_freed(std::uint64_t array, std::uint32_t generation) {
  constexpr int max_looks = 5000;
  constexpr double max_seconds = 0.05;
  const double start = transport_.now();
  for (int look = 0;
       look < max_looks && directory_->find_shelf(array, generation) && transport_.now() - start < max_seconds; ++look)
    transport_.pause();
}

void StoreImpl::erase(std::int32_t id, Place place) {
  // Other ranks may still use this generation; nothing of this rank may be on its way to it when it is counted out.
  for (HeldBlock& h : held_.all()) {
    if (h.array != id) continue;
    if (h.sum) send_sum(h);
    let_go(h);
  }
  complete_abandoned();
  outbox_->complete(id);
  Array& a = array(id);
  a.keep.reset();
  advance(number(id), a.generation);
  wait_until_freed(number(id), a.generation);
  ++a.generation;
  a.restored_from.clear();
  a.deleted = place;
  deletions_ = mix_hash(deletions_, static_cast<std::uint64_t>(id) + 1);
}

// --- labels

void StoreImpl::save_at_end(std::int32_t id, const std::string& label, Place place) {
  if (const auto found = marked_.find(id); found != marked_.end())
    throw SialError(fmt::format("array {} is already to be saved under label \"{}\" at the end of this program",
                                name(id), found->second),
                    "use one set_persistent per array and program", at(place));
  marked_[id] = label;
  mark_order_.push_back(id);
}

void StoreImpl::take_marked_labels() {
  // Where a label was marked twice, the last array counts.
  std::map<std::string, std::int32_t> last;
  for (const std::int32_t id : mark_order_) last[marked_[id]] = id;
  const std::vector<int> nodes = nodes_in_charge();
  for (const auto& [label_name, id] : last) {
    Label& label = labels_.at(label_name);
    names_.set(label.number, label_name);
    RequestHeader request;
    if (label.exists) {
      request.kind = RequestKind::drop;
      request.key = {label.number, label.generation, {}};
      for (const int node : nodes) control(node, request);
      ++label.generation;
    }
    label.exists = true;
    label.placement = array(id).placement;
    request.kind = RequestKind::transfer;
    request.key = key(id, {});
    request.to_array = label.number;
    request.to_generation = label.generation;
    request.move = true;
    for (const int node : nodes) control(node, request);
  }
  marked_.clear();
  mark_order_.clear();
}

void StoreImpl::restore(std::int32_t id, const std::string& label_name, Place place) {
  const Label* label = labels_.find(label_name);
  if (!label) {
    std::string known;
    for (const std::string& n : labels_.names()) known += (known.empty() ? "\"" : ", \"") + n + "\"";
    throw SialError(fmt::format("nothing was saved under label \"{}\" for array {}", label_name, name(id)),
                    known.empty()
                        ? "no remote array has been saved by an earlier program of this job: use set_persistent there"
                        : "saved are: " + known,
                    at(place));
  }
  erase(id, place);
  array(id).placement = label->placement;
  array(id).restored_from = label_name;
  array(id).deleted.reset();
  transport_.barrier({CollectiveKind::persist, place});
  for (const int node : nodes_in_charge()) {
    RequestHeader request;
    request.kind = RequestKind::transfer;
    request.key = {label->number, label->generation, {}};
    request.to_array = number(id);
    request.to_generation = array(id).generation;
    control(node, request);
  }
  transport_.barrier({CollectiveKind::persist, place});
}

void StoreImpl::drop_labels_except(const std::vector<std::string>& needed) {
  for (const std::string& n : labels_.names()) {
    if (std::find(needed.begin(), needed.end(), n) != needed.end()) continue;
    Label& label = labels_.at(n);
    advance(label.number, label.generation);
    ++label.generation;
    label.exists = false;
  }
  outbox_->complete_all();
}

// --- bulk access

std::vector<std::pair<std::string, std::int64_t>> StoreImpl::memory_held() const {
  std::vector<std::pair<std::string, std::int64_t>> held;
  const auto add = [&](const std::string& what, std::uint64_t number, std::uint32_t generation) {
    std::int64_t bytes = 0;
    for (const ListedBlock& b : node_->list(number, generation)) bytes += b.size * 8;
    if (bytes > 0) held.emplace_back(what, bytes);
  };
  for (const Array& a : arrays_)
    if (!a.info.name.empty()) add(fmt::format("array `{}` on this node", a.info.name), number(a.info.id), a.generation);
  for (const std::string& label : labels_.names())
    add(fmt::format("what was saved as \"{}\" on this node", label), labels_.find(label)->number,
        labels_.find(label)->generation);
  if (const std::int64_t directory = heap_->bytes_not_counted(); directory > 0)
    held.emplace_back("the block directory", directory);
  if (copied_bytes_ > 0) held.emplace_back("copies of other nodes' blocks", static_cast<std::int64_t>(copied_bytes_));
  return held;
}

std::vector<BlockIndex> StoreImpl::share_of_blocks(std::uint64_t array, std::uint32_t generation) const {
  std::vector<BlockIndex> mine;
  if (config_.is_home) {
    const auto all = node_->list(array, generation);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (static_cast<int>(i) % transport_.node_size() == transport_.node_rank()) mine.push_back(all[i].block);
  }
  for (const int node : nodes_in_charge())
    if (node != transport_.node())
      for (const ListedBlock& b : list(node, array, generation)) mine.push_back(b.block);
  return mine;
}

std::optional<std::vector<double>> StoreImpl::copy_of_block(const BlockKey& k, std::uint64_t placement) const {
  const int node = home(placement, k.block);
  Access unchecked;
  unchecked.rank = transport_.rank();
  if (node == transport_.node()) {
    Chunk* c = nullptr;
    node_->lease(k, -1, unchecked, c);
    if (!c) return std::nullopt;
    std::vector<double> data(c->data(), c->data() + c->doubles);
    heap_->drop_reference(c, config_.arena);
    return data;
  }
  RequestHeader request;
  request.kind = RequestKind::get;
  request.key = k;
  request.access = unchecked;
  std::vector<double> data;
  while (true) {  // a size that is not the block's is answered with the right one
    request.size = static_cast<std::int64_t>(data.size());
    const auto pending = transport_.request(server_of(node, k.block), to_bytes(request), {},
                                            std::as_writable_bytes(std::span(data)), Priority::demand);
    pending->wait();
    ++stats_.messages_sent;
    const Outcome outcome = read_reply(pending->reply_header()).outcome;
    if (outcome.status == BlockStatus::absent) return std::nullopt;
    if (outcome.status == BlockStatus::ok) return data;
    data.resize(static_cast<std::size_t>(outcome.size));
  }
}

void StoreImpl::set_block(const BlockKey& k, std::uint64_t placement, std::span<const double> data) {
  RequestHeader request;
  request.kind = RequestKind::put;
  request.key = k;
  request.size = static_cast<std::int64_t>(data.size());
  request.access.rank = transport_.rank();
  const int node = home(placement, k.block);
  if (node == transport_.node()) {
    node_->put(request.key, request.size, data.data(), request.access);
    return;
  }
  ++stats_.messages_sent;
  transport_.request(server_of(node, k.block), to_bytes(request), std::as_bytes(data), {}, Priority::demand)->wait();
}

std::vector<BlockIndex> StoreImpl::saved_blocks(const std::string& label_name) const {
  const Label* label = labels_.find(label_name);
  SIAL_CHECK(label, "no label \"{}\"", label_name);
  return share_of_blocks(label->number, label->generation);
}

std::vector<double> StoreImpl::saved_block(const std::string& label_name, const BlockIndex& block) const {
  const Label* label = labels_.find(label_name);
  SIAL_CHECK(label, "no label \"{}\"", label_name);
  std::optional<std::vector<double>> data = copy_of_block({label->number, label->generation, block}, label->placement);
  SIAL_CHECK(data, "label \"{}\" has no block {}", label_name, block_name("", block));
  return std::move(*data);
}

void StoreImpl::load_label(const std::string& label_name) {
  Label& label = labels_.at(label_name);
  if (std::find(new_labels_.begin(), new_labels_.end(), label_name) != new_labels_.end()) return;
  new_labels_.push_back(label_name);
  names_.set(label.number, label_name);
}

void StoreImpl::load_saved_block(const std::string& label_name, const BlockIndex& block, std::span<const double> data) {
  load_label(label_name);
  const Label& label = labels_.at(label_name);
  set_block({label.number, label.generation, block}, label.placement, data);
}

std::vector<BlockIndex> StoreImpl::array_blocks(std::int32_t id) {
  return share_of_blocks(number(id), array(id).generation);
}

std::vector<double> StoreImpl::array_block(std::int32_t id, const BlockIndex& block) {
  std::optional<std::vector<double>> data = copy_of_block(key(id, block), array(id).placement);
  SIAL_CHECK(data, "no block {}", block_name(name(id), block));
  return std::move(*data);
}

bool StoreImpl::is_as_restored(std::int32_t id, const BlockIndex& block) {
  const Label* label = labels_.find(array(id).restored_from);
  if (!label) return false;
  const BlockKey saved{label->number, label->generation, block};
  if (home(label->placement, block) == transport_.node()) {
    // Restoring shares the values; whoever changes one gets another.
    Access unchecked;
    unchecked.rank = transport_.rank();
    Chunk *mine = nullptr, *labels = nullptr;
    node_->lease(key(id, block), -1, unchecked, mine);
    node_->lease(saved, -1, unchecked, labels);
    const bool same = mine && mine == labels;
    for (Chunk* c : {mine, labels})
      if (c) heap_->drop_reference(c, config_.arena);
    return same;
  }
  const auto data = copy_of_block(key(id, block), array(id).placement), theirs = copy_of_block(saved, label->placement);
  const auto bits_agree = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return data && theirs && std::equal(data->begin(), data->end(), theirs->begin(), theirs->end(), bits_agree);
}

void StoreImpl::load_array_block(std::int32_t id, const BlockIndex& block, std::span<const double> data) {
  set_block(key(id, block), array(id).placement, data);
}

void StoreImpl::exchange_new_labels(Place place) {
  std::vector<std::byte> mine;
  for (const std::string& n : new_labels_) {
    const std::uint64_t size = n.size();
    for (const auto bytes : {std::as_bytes(std::span(&size, 1)), std::as_bytes(std::span(n))})
      mine.insert(mine.end(), bytes.begin(), bytes.end());
  }
  new_labels_.clear();
  for (const auto& part : transport_.all_gather(mine, {CollectiveKind::gather, place})) {
    for (std::size_t at = 0; at < part.size();) {
      std::uint64_t size = 0;
      std::memcpy(&size, &part[at], sizeof size);
      const std::string n(reinterpret_cast<const char*>(part.data()) + at + sizeof size, size);
      at += sizeof size + size;
      Label& label = labels_.at(n);
      label.exists = true;
      names_.set(label.number, n);
    }
  }
}

}  // namespace sial
