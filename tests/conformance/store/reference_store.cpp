#include "reference_store.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "runtime/core/base/error.h"

namespace sial::suite {

namespace {

/// Memory with a budget. Every buffer has a number that no other had before.
class ReferenceBuffers final : public BufferResource {
 public:
  explicit ReferenceBuffers(std::int64_t budget) : budget_(budget) {}

  double* allocate(std::int64_t n) override {
    if (!fits(n * 8) && yield_) yield_();
    if (!fits(n * 8)) throw EnvironmentError("the reference store is full");
    auto memory = std::make_unique<double[]>(static_cast<std::size_t>(std::max<std::int64_t>(n, 1)));
    double* p = memory.get();
    buffers_[p] = {std::move(memory), n, 1, ++numbers_};
    stats_.bytes_in_use += n * 8;
    return p;
  }
  void deallocate(double* p, std::int64_t) noexcept override { drop(p); }
  bool share(const double* p) override { return ++buffers_.at(p).holders > 0; }
  bool sole(const double* p) const override { return buffers_.at(p).holders == 1; }
  std::uint64_t content(const double* p) const override {
    const auto found = buffers_.find(p);
    return found == buffers_.end() ? 0 : found->second.number;
  }
  ResourceStats stats() const override { return stats_; }

  void drop(const double* p) noexcept {
    const auto found = buffers_.find(p);
    if (--found->second.holders > 0) return;
    stats_.bytes_in_use -= found->second.size * 8;
    buffers_.erase(found);
  }
  /// Whether there is room for so many bytes more beside blocks and what is kept; `part` of the budget stays free.
  bool fits(std::int64_t bytes, std::int64_t part = 0) const {
    return stats_.bytes_in_use + (cache_bytes_ ? cache_bytes_() : 0) + bytes <= budget_ - part;
  }
  std::int64_t budget() const { return budget_; }
  void set_cache(std::function<std::int64_t()> bytes, std::function<void()> yield) {
    cache_bytes_ = std::move(bytes);
    yield_ = std::move(yield);
  }

 private:
  struct Buffer {
    std::unique_ptr<double[]> memory;
    std::int64_t size = 0;
    int holders = 0;
    std::uint64_t number = 0;
  };
  std::map<const double*, Buffer> buffers_;
  std::int64_t budget_;
  std::uint64_t numbers_ = 0;
  ResourceStats stats_;
  std::function<std::int64_t()> cache_bytes_;
  std::function<void()> yield_;
};

/// A value of a block; shared by whoever has it, freed with the last of them. Only a private copy is ever written.
class Value {
 public:
  Value(ReferenceBuffers& buffers, std::int64_t size) : size(size), data(buffers.allocate(size)), buffers_(buffers) {}
  ~Value() { buffers_.drop(data); }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  const std::int64_t size;
  double* const data;

 private:
  ReferenceBuffers& buffers_;
};
using Shared = std::shared_ptr<Value>;
using Blocks = std::map<BlockIndex, Shared>;

/// What all interfaces work on.
struct Contents {
  explicit Contents(const StoreOptions& options) : buffers(static_cast<std::int64_t>(options.memory_per_rank)) {}

  /// What this rank holds of a block in the present phase.
  struct View {
    bool fetched = false, stale = false;
    Shared shared_copy, private_copy;
    Place got;
  };
  struct Array {
    Blocks blocks;
    std::map<BlockIndex, View> views;
    std::string restored_from;
  };
  struct Label {
    bool exists = false;
    Blocks blocks;
  };

  static Shared find(const Blocks& blocks, const BlockIndex& block) {
    const auto found = blocks.find(block);
    return found == blocks.end() ? nullptr : found->second;
  }
  const View* view(ArrayId array, const BlockIndex& block) const {
    const auto a = arrays.find(array);
    if (a == arrays.end()) return nullptr;
    const auto found = a->second.views.find(block);
    return found == a->second.views.end() ? nullptr : &found->second;
  }
  Shared copy(const double* data, std::int64_t size) {
    auto v = std::make_shared<Value>(buffers, size);
    std::copy_n(data, size, v->data);
    return v;
  }
  static std::vector<double> values(const Value& v) { return {v.data, v.data + v.size}; }

  ReferenceBuffers buffers;  // outlives all values
  std::map<ArrayId, Array> arrays;
  std::map<std::string, Label> labels;
  std::map<ArrayId, std::string> marked;
  StoreStats stats;
};

class ReferenceFetch final : public BlockFetch {
 public:
  explicit ReferenceFetch(Contents& all) : all_(all) {}

  void get(ArrayId id, const BlockIndex& block, std::int64_t size, Place place) override {
    ++all_.stats.gets;
    Contents::Array& a = all_.arrays[id];
    Contents::View& v = a.views[block];
    if ((v.fetched || v.private_copy) && !v.stale) return;
    v = {true, false, Contents::find(a.blocks, block), nullptr, place};
    if (v.shared_copy) all_.stats.bytes_leased += size * 8;
  }
  const double* read(ArrayId id, const BlockIndex& block, std::int64_t size, Place) override {
    const Contents::View* v = all_.view(id, block);
    if (!v) throw SialError("the block was not fetched in this phase");
    ++all_.stats.accesses;
    const Shared& value = v->private_copy ? v->private_copy : v->shared_copy;
    if (!value) throw SialError("the block does not exist");
    if (value->size != size) throw SialError("the block has another size");
    return value->data;
  }
  bool held(ArrayId id, const BlockIndex& block) const override { return all_.view(id, block) != nullptr; }
  const double* at_hand(ArrayId id, const BlockIndex& block, std::int64_t size) override {
    const Contents::View* v = all_.view(id, block);
    const Shared value = !v ? nullptr : v->private_copy ? v->private_copy : v->shared_copy;
    return value && value->size == size ? value->data : nullptr;
  }
  Place got_at(ArrayId id, const BlockIndex& block) const override {
    const Contents::View* v = all_.view(id, block);
    return v && v->fetched && !v->private_copy ? v->got : Place{};
  }
  const double* own_copy(ArrayId id, const BlockIndex& block) const override {
    const Contents::View* v = all_.view(id, block);
    return v && v->private_copy ? v->private_copy->data : nullptr;
  }
  double* private_copy(ArrayId id, const BlockIndex& block, std::int64_t size, bool keep, Place place) override {
    const double* from = keep ? read(id, block, size, place) : nullptr;
    Contents::View& v = all_.arrays[id].views[block];
    if (!v.private_copy) v.private_copy = from ? all_.copy(from, size) : std::make_shared<Value>(all_.buffers, size);
    return v.private_copy->data;
  }

 private:
  Contents& all_;
};

class ReferenceLookAhead final : public BlockLookAhead {
 public:
  explicit ReferenceLookAhead(Contents& all) : all_(all) {}

  Prefetch prefetch(ArrayId, const BlockIndex&, std::int64_t, Place) override { return Prefetch::here; }
  Foreseen foreseen(ArrayId id, const BlockIndex& block, std::int64_t size, bool) override {
    const Contents::View* v = all_.view(id, block);
    if (v && (v->private_copy || v->stale)) return {};
    const Shared value = v ? v->shared_copy : Contents::find(all_.arrays[id].blocks, block);
    if (!value || value->size != size) return {};
    all_.buffers.share(value->data);
    return {value->data, false};
  }
  void set_live_set_known(bool) override {}
  double fetch_seconds(std::int64_t) const override { return 0; }
  void set_incoming(IncomingPlaces*) noexcept override {}

 private:
  Contents& all_;
};

class ReferenceUpdate final : public BlockUpdate {
 public:
  explicit ReferenceUpdate(Contents& all) : all_(all) {}

  void put(ArrayId id, const BlockIndex& block, std::int64_t size, const double* data, Place) override {
    ++all_.stats.puts;
    set(id, block, all_.copy(data, size));
  }
  void accumulate(ArrayId id, const BlockIndex& block, std::int64_t size, const double* data, Place) override {
    ++all_.stats.accumulates;
    change(id, block, size, true, [&](double old, std::int64_t i) { return old + data[i]; });
  }
  void fill(ArrayId id, const BlockIndex& block, std::int64_t size, double value, Place) override {
    ++all_.stats.scalar_puts;
    change(id, block, size, true, [&](double, std::int64_t) { return value; });
  }
  void increment(ArrayId id, const BlockIndex& block, std::int64_t size, double value, Place) override {
    ++all_.stats.scalar_puts;
    change(id, block, size, true, [&](double old, std::int64_t) { return old + value; });
  }
  void scale(ArrayId id, const BlockIndex& block, std::int64_t size, double value, Place) override {
    ++all_.stats.scalar_puts;
    change(id, block, size, false, [&](double old, std::int64_t) { return old * value; });
  }
  Stored stored() const override { return {}; }
  void put_alias(ArrayId id, const BlockIndex& block, std::int64_t size, const double* data, Place at) override {
    put(id, block, size, data, at);
  }
  bool put_held(ArrayId id, const BlockIndex& block, std::int64_t size, ArrayId from, const BlockIndex& from_block,
                Place) override {
    const Contents::View* source = all_.view(from, from_block);
    if (!source || !source->fetched || source->private_copy || !source->shared_copy ||
        source->shared_copy->size != size)
      return false;
    ++all_.stats.puts;
    ++all_.stats.shared_puts;
    set(id, block, source->shared_copy);
    return true;
  }
  void accumulate_later(ArrayId id, const BlockIndex& block, std::int64_t size, const double* data, Place at) override {
    accumulate(id, block, size, data, at);
  }
  void relieve_sums() override {}
  bool leaves_node(ArrayId, const BlockIndex&) override { return false; }
  bool memory_is_short(std::uint64_t more) const override {
    return !all_.buffers.fits(static_cast<std::int64_t>(more), all_.buffers.budget() / 4);
  }
  void put_from(std::unique_ptr<OutgoingBlock> values, bool add, ArrayId id, const BlockIndex& block, std::int64_t size,
                Place at) override {
    const auto host = std::make_shared<Value>(all_.buffers, size);
    values->copy_to(host->data);
    values->complete();
    add ? accumulate(id, block, size, host->data, at) : put(id, block, size, host->data, at);
  }
  void drop_outgoing() noexcept override {}

 private:
  void set(ArrayId id, const BlockIndex& block, Shared value) {
    Contents::Array& a = all_.arrays[id];
    a.blocks[block] = std::move(value);
    if (const auto v = a.views.find(block); v != a.views.end()) v->second.stale = true;
  }
  template <class F>
  void change(ArrayId id, const BlockIndex& block, std::int64_t size, bool create, F f) {
    const Shared old = Contents::find(all_.arrays[id].blocks, block);
    if (!old && !create) throw SialError("the block cannot be scaled: it does not exist");
    if (old && old->size != size) throw SialError("the block has another size");
    auto fresh = std::make_shared<Value>(all_.buffers, size);
    for (std::int64_t i = 0; i < size; ++i) fresh->data[i] = f(old ? old->data[i] : 0.0, i);
    set(id, block, std::move(fresh));
  }

  Contents& all_;
};

class ReferenceSynchronization final : public StoreSynchronization {
 public:
  explicit ReferenceSynchronization(Contents& all) : all_(all) {}

  void begin_program(std::int32_t, std::vector<RemoteArrayInfo>, PlaceNamer) override { all_.arrays.clear(); }
  void end_program(Place) override {
    for (const auto& [id, label] : all_.marked) all_.labels[label] = {true, all_.arrays[id].blocks};
    all_.marked.clear();
    all_.arrays.clear();
  }
  bool barrier(Place, bool wants_attention) override {
    for (auto& [id, a] : all_.arrays) a.views.clear();
    for (auto& [name, label] : all_.labels) label.exists = true;
    return wants_attention;
  }
  void erase(ArrayId id, Place) override { all_.arrays.erase(id); }
  void keep_copies(ArrayId, KeepCopies) override {}
  void discard_values(ArrayId) override {}

 private:
  Contents& all_;
};

class ReferenceSnapshots final : public StoreSnapshots {
 public:
  explicit ReferenceSnapshots(Contents& all) : all_(all) {}

  void save_at_end(ArrayId id, const std::string& label, Place) override {
    if (!all_.marked.emplace(id, label).second) throw SialError("the array is already to be saved");
  }
  void restore(ArrayId id, const std::string& label, Place) override {
    if (!has_label(label)) throw SialError("nothing was saved under the label");
    all_.arrays[id] = {all_.labels[label].blocks, {}, label};
  }
  bool has_label(const std::string& label) const override {
    const auto found = all_.labels.find(label);
    return found != all_.labels.end() && found->second.exists;
  }
  std::vector<std::string> labels() const override {
    std::vector<std::string> names;
    for (const auto& [name, label] : all_.labels)
      if (label.exists) names.push_back(name);
    return names;
  }
  void drop_labels_except(const std::vector<std::string>& needed) override {
    std::erase_if(all_.labels, [&](const auto& l) {
      return l.second.exists && std::find(needed.begin(), needed.end(), l.first) == needed.end();
    });
  }
  std::vector<BlockIndex> saved_blocks(const std::string& label) const override {
    return names(all_.labels.at(label).blocks);
  }
  std::vector<double> saved_block(const std::string& label, const BlockIndex& block) const override {
    return Contents::values(*all_.labels.at(label).blocks.at(block));
  }
  LeasedValues hold_saved_block(const std::string& label, const BlockIndex& block) const override {
    return held(saved_block(label, block));
  }
  std::optional<LeasedValues> find_saved_block(const std::string& label, const BlockIndex& block) const override {
    const auto& blocks = all_.labels.at(label).blocks;
    if (!blocks.contains(block)) return std::nullopt;
    return hold_saved_block(label, block);
  }
  void load_saved_block(const std::string& label, const BlockIndex& block, std::span<const double> data) override {
    all_.labels[label].blocks[block] = all_.copy(data.data(), static_cast<std::int64_t>(data.size()));
  }
  void load_label(const std::string& label) override { all_.labels[label]; }
  std::vector<BlockIndex> array_blocks(ArrayId id) override { return names(all_.arrays[id].blocks); }
  std::optional<std::vector<double>> array_block(ArrayId id, const BlockIndex& block) override {
    return Contents::values(*all_.arrays[id].blocks.at(block));
  }
  std::optional<LeasedValues> hold_array_block(ArrayId id, const BlockIndex& block) override {
    return held(*array_block(id, block));
  }
  void load_array_block(ArrayId id, const BlockIndex& block, std::span<const double> data) override {
    all_.arrays[id].blocks[block] = all_.copy(data.data(), static_cast<std::int64_t>(data.size()));
  }
  const std::string& restored_from(ArrayId id) override { return all_.arrays[id].restored_from; }
  bool is_as_restored(ArrayId id, const BlockIndex& block) override {
    const Contents::Array& a = all_.arrays[id];
    const Shared mine = Contents::find(a.blocks, block);
    return mine && has_label(a.restored_from) && mine == Contents::find(all_.labels[a.restored_from].blocks, block);
  }

 private:
  static LeasedValues held(std::vector<double> values) {
    const auto copy = std::make_shared<const std::vector<double>>(std::move(values));
    return {*copy, copy, true};
  }
  static std::vector<BlockIndex> names(const Blocks& blocks) {
    std::vector<BlockIndex> all;
    for (const auto& [block, value] : blocks) all.push_back(block);
    return all;
  }

  Contents& all_;
};

class ReferenceIntegralCache final : public IntegralCache {
 public:
  explicit ReferenceIntegralCache(Contents& all) : all_(all) {
    all_.buffers.set_cache([this] { return bytes_; }, [this] { drop_all(); });
  }

  const double* find_cached(const BlockIndex& block, std::int64_t size) override {
    const auto found = blocks_.find(block);
    if (found == blocks_.end() || static_cast<std::int64_t>(found->second->size()) != size) return nullptr;
    return held_.insert(found->second).first->get()->data();
  }
  void release_cached(const double* data) override {
    std::erase_if(held_, [&](const auto& v) { return v->data() == data; });
  }
  double* allocate_cached(std::int64_t size) override {
    if (2 * (bytes_ + size * 8) > all_.buffers.budget() || !all_.buffers.fits(size * 8, all_.buffers.budget() / 4))
      return nullptr;
    return (*held_.insert(std::make_shared<std::vector<double>>(size)).first)->data();
  }
  void keep_block(const BlockIndex& block, double* data) override {
    for (const auto& v : held_)
      if (v->data() == data && blocks_.emplace(block, v).second) bytes_ += static_cast<std::int64_t>(v->size()) * 8;
  }
  void clear() override { drop_all(); }

 private:
  void drop_all() {
    blocks_.clear();
    bytes_ = 0;
  }

  Contents& all_;
  std::map<BlockIndex, std::shared_ptr<std::vector<double>>> blocks_;
  std::set<std::shared_ptr<std::vector<double>>> held_;  // by the rank, each once
  std::int64_t bytes_ = 0;
};

class ReferenceMonitor final : public StoreMonitor {
 public:
  explicit ReferenceMonitor(Contents& all) : all_(all) {}

  StoreStats stats() const override { return all_.stats; }
  std::vector<AccessStats> access_stats() const override { return {}; }
  const std::vector<PhasePeak>& phase_peaks() const override { return no_peaks_; }
  std::int64_t server_peak() override { return 0; }
  std::vector<std::pair<std::string, std::int64_t>> memory_held() const override { return {}; }
  void set_trace(Trace*) override {}

 private:
  Contents& all_;
  std::vector<PhasePeak> no_peaks_;
};

class ReferenceStore final : public BlockStore {
 public:
  explicit ReferenceStore(const StoreOptions& options) : all_(options) {
    set_parts(
        {&fetch_, &look_ahead_, &update_, &synchronization_, &snapshots_, &integral_cache_, &monitor_, &all_.buffers});
  }

 private:
  Contents all_;
  ReferenceFetch fetch_{all_};
  ReferenceLookAhead look_ahead_{all_};
  ReferenceUpdate update_{all_};
  ReferenceSynchronization synchronization_{all_};
  ReferenceSnapshots snapshots_{all_};
  ReferenceIntegralCache integral_cache_{all_};
  ReferenceMonitor monitor_{all_};
};

}  // namespace

std::unique_ptr<BlockStore> make_reference_store(const StoreOptions& options) {
  return std::make_unique<ReferenceStore>(options);
}

}  // namespace sial::suite
