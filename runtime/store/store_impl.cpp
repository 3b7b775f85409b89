#include "runtime/store/store_impl.h"

#include <algorithm>
#include <bit>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace sial {

namespace {

constexpr std::size_t page = 4096;

std::size_t pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

}  // namespace

std::unique_ptr<BlockStore> make_block_store(Transport& transport, WorkQueue* queue, const StoreOptions& options) {
  return std::make_unique<StoreImpl>(transport, queue, options);
}

StoreImpl::StoreImpl(Transport& transport, WorkQueue* queue, const StoreOptions& options) : transport_(transport), options_(options) {
  const int arenas = transport.node_size();
  if (options_.copy_budget == 0) options_.copy_budget = options_.memory_per_rank / 2;
  sum_budget_ = options_.memory_per_rank / 16;
  const std::size_t share = pages(std::max<std::size_t>(options.memory_per_rank, page));
  const std::size_t chains = directory_chains(share * static_cast<std::size_t>(arenas));
  layout_.directory = 0;
  layout_.heap = pages(Directory::bytes_needed(chains));
  layout_.total = layout_.heap + NodeHeap::bytes_needed(arenas, share);
  memory_ = transport.map_node_memory(layout_.total, "block memory");

  const HeapHooks hooks{[memory = memory_](std::size_t offset, std::size_t bytes) { memory->commit(offset, bytes); }, [&transport] { transport.pause(); },
                        [this](std::uint64_t bytes) {
                          // Other nodes' requests are answered on a thread of their own, which may not touch what this rank holds.
                          const bool helper = std::this_thread::get_id() != rank_thread_;
                          return (!helper && reclaim(bytes)) || drop_kept(*directory_, *heap_, helper ? -1 : config_.arena);
                        },
                        [&transport] { transport.wake_node(); }};
  heap_ = std::make_shared<NodeHeap>(memory_->base(), layout_.heap, arenas, share, hooks);
  directory_ = std::make_unique<Directory>(memory_->base(), layout_.directory, chains, *heap_, transport.node_rank(), hooks);
  buffers_ = std::make_unique<ArenaPool>(*heap_, transport.node_rank());

  const auto& homes = transport.home_nodes();
  config_.arena = transport.node_rank();
  config_.ranks = static_cast<std::uint32_t>(arenas);
  config_.nodes = 0;
  for (int n = 0; n < transport.node_count(); ++n) config_.nodes += transport.ranks_of_node(n).front() < transport.size() ? 1 : 0;
  config_.is_home = std::binary_search(homes.begin(), homes.end(), transport.node());
  config_.deterministic = options.deterministic;
  node_ = std::make_unique<NodeBlocks>(transport, *heap_, *directory_, config_, [this](const BlockKey& k) { return names_.block(k); });
  outbox_ = std::make_unique<Outbox>(*heap_, config_.arena, bytes_under_way(options.memory_per_rank), [this](const Outbox::Item& item, const Outcome& outcome) {
    const RequestHeader& h = item.header;
    if (HeldBlock* held = h.kind == RequestKind::node_advanced ? nullptr : held_.find(item.array, h.key.block)) {
      --held->puts_under_way;
      if (item.payload && held->value == item.payload) held->home_version = outcome.version;  // retained
    }
    report(outcome, h.kind, item.array, h.key.block, h.size, h.access.place);
  });
  transport.set_meanwhile([this] {
    if (heap_->wanted() && std::this_thread::get_id() == rank_thread_) give_way();
  });
  if (transport.node_count() > 1) {
    service_ = std::make_unique<StoreService>(transport, queue, heap_, *directory_, config_, names_);
    transport.set_service(service_.get());
  }
}

StoreImpl::~StoreImpl() {
  heap_->give_back(config_.arena);  // nobody waits for what an error leaves here
  if (service_) transport_.set_service(nullptr);
  transport_.set_meanwhile(nullptr);
}

StoreImpl::Array& StoreImpl::array(std::int32_t id) {
  SIAL_CHECK(id >= 0 && static_cast<std::size_t>(id) < arrays_.size(), "remote array {} of {}", id, arrays_.size());
  return arrays_[static_cast<std::size_t>(id)];
}

int StoreImpl::home(std::uint64_t placement, const BlockIndex& block) const {
  const auto& homes = transport_.home_nodes();
  return homes[home_of_block(placement, block, homes.size())];
}

int StoreImpl::server_of(int node, const BlockIndex& block) const {
  const auto& ranks = transport_.ranks_of_node(node);
  return ranks[(block_hash(block) >> 8) % ranks.size()];
}

Access StoreImpl::access(Place place) { return {transport_.rank(), place, phase_, ++sequence_, options_.check}; }

std::vector<int> StoreImpl::nodes_in_charge() const {
  std::vector<int> nodes;
  const auto& homes = transport_.home_nodes();
  for (std::size_t i = 0; i < homes.size(); ++i) {
    const int first = transport_.ranks_of_node(homes[i]).front();
    const int worker = first < transport_.size() ? first : static_cast<int>(i) % transport_.size();
    if (worker == transport_.rank()) nodes.push_back(homes[i]);
  }
  return nodes;
}

void StoreImpl::begin_program(std::int32_t program, std::vector<RemoteArrayInfo> arrays, PlaceNamer namer) {
  program_ = program;
  namer_ = std::move(namer);
  transport_.set_place_namer(namer_);
  names_.set_places(namer_);
  arrays_.clear();
  for (RemoteArrayInfo& info : arrays) {
    if (static_cast<std::size_t>(info.id) >= arrays_.size()) arrays_.resize(static_cast<std::size_t>(info.id) + 1);
    Array& a = array(info.id);
    a.placement = number(info.id);
    names_.set(number(info.id), info.name);
    a.info = std::move(info);
  }
  for (const int node : nodes_in_charge())
    for (const Array& a : arrays_)
      if (!a.info.name.empty()) announce(node, number(a.info.id), a.info.name);
  marked_.clear();
  mark_order_.clear();
  sequence_ = 0;
}

void StoreImpl::release_everything() {
  send_sums();
  end_look_ahead();
  for (HeldBlock& h : held_.all()) let_go(h);
  outbox_->complete_all();
  held_.clear();
  copies_.clear();
  heap_->give_back(config_.arena);
}

bool StoreImpl::meet(CollectiveKind kind, Place place, bool wants_attention) {
  // One number says three things: how many want attention (high part), how many loaded labels, and what this rank has deleted
  // (low part: a hash). The sum over the ranks must stay below 2^53.
  const int count_bits = std::bit_width(static_cast<unsigned>(transport_.size()));
  const int hash_bits = std::min(24, 53 - 3 * count_bits);
  const auto one_loader = std::uint64_t{1} << (hash_bits + count_bits), one_wish = one_loader << count_bits;
  const std::uint64_t deleted = deletions_ & ((std::uint64_t{1} << hash_bits) - 1);
  const std::uint64_t mine = deleted + (new_labels_.empty() ? 0 : one_loader) + (wants_attention ? one_wish : 0);
  const auto sum = static_cast<std::uint64_t>(transport_.sum(static_cast<double>(mine), {kind, place}));
  const std::uint64_t loaders = sum % one_wish / one_loader;
  if (sum % one_loader != deleted * static_cast<std::uint64_t>(transport_.size()))
    throw SialError("the workers have not deleted or restored the same arrays, or not in the same order",
                    "delete, destroy and restore_persistent must be executed by all workers: move them out of conditions that differ between workers");
  ++phase_;
  phase_peaks_.push_back(heap_->close_phase(config_.arena, transport_.node_rank() == 0));
  if (loaders > 0) exchange_new_labels(place);
  return sum >= one_wish;
}

void StoreImpl::apply_contributions(CollectiveKind kind, Place place) {
  if (!options_.deterministic) return;
  if (config_.is_home) node_->apply_contributions();
  for (const int node : nodes_in_charge())
    if (node != transport_.node()) {
      RequestHeader request;
      request.kind = RequestKind::apply_contributions;
      control(node, request);
    }
  transport_.barrier({kind, place});
}

bool StoreImpl::barrier(Place place, bool wants_attention) {
  const double start = transport_.now();
  keep_or_let_go();
  const bool attention = meet(CollectiveKind::barrier, place, wants_attention);
  apply_contributions(CollectiveKind::barrier, place);
  count_barrier(start, place);
  return attention;
}

void StoreImpl::end_program(Place place) {
  const double start = transport_.now();
  release_everything();
  meet(CollectiveKind::end_of_program, place);
  apply_contributions(CollectiveKind::end_of_program, place);
  take_marked_labels();
  for (const int node : nodes_in_charge())
    for (std::size_t id = 0; id < arrays_.size(); ++id) {
      RequestHeader request;
      request.kind = RequestKind::drop;
      request.key = key(static_cast<std::int32_t>(id), {});
      control(node, request);
    }
  transport_.barrier({CollectiveKind::end_of_program, place});
  arrays_.clear();
  deletions_ = 0;
  namer_ = nullptr;  // its program ends here
  transport_.set_place_namer(nullptr);
  names_.set_places(nullptr);
  count_barrier(start, place);
}

void StoreImpl::count_barrier(double start, Place place) {
  const double end = transport_.now();
  stats_.barrier_seconds += end - start;
  if (trace_) trace_->add(TraceKind::barrier, place, start, end);
}

std::int64_t StoreImpl::server_peak() {
  std::int64_t most = 0;
  for (const int node : transport_.home_nodes()) {
    if (transport_.ranks_of_node(node).front() < transport_.size()) continue;
    RequestHeader request;
    request.kind = RequestKind::memory_peak;
    const auto pending = transport_.request(transport_.ranks_of_node(node).front(), to_bytes(request), {}, {}, Priority::demand);
    pending->wait();
    most = std::max(most, read_reply(pending->reply_header()).rows);
  }
  return most;
}

StoreStats StoreImpl::stats() const {
  StoreStats s = stats_;
  s.bytes_copied += node_->counters().bytes_copied;
  s.lock_seconds += node_->counters().lock_seconds;
  if (service_) {
    s.requests_served = service_->served();
    s.handler_seconds = service_->busy_seconds();
  }
  return s;
}

}  // namespace sial
