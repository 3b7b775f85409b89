#include "runtime/core/store/store_impl.h"

#include <algorithm>

#include "runtime/core/store/spill/make_tiers.h"
#include "runtime/core/transport/collective.h"

namespace sial {

namespace {

StoreOptions complete(const Transport& transport, StoreOptions options) {
  if (transport.is_server() && options.memory_of_server > 0) options.memory_per_rank = options.memory_of_server;
  if (options.copy_budget == 0) options.copy_budget = options.memory_per_rank / 2;
  return options;
}

NodeBlocks::Config configuration(const Transport& transport, const StoreOptions& options,
                                 const BlockPlacement& placement) {
  const auto& homes = transport.home_nodes();
  NodeBlocks::Config config;
  config.arena = transport.node_rank();
  config.ranks = static_cast<std::uint32_t>(transport.node_size());
  config.nodes = 0;
  for (int n = 0; n < transport.node_count(); ++n)
    config.nodes += transport.ranks_of_node(NodeId(n)).front() < transport.size() ? 1 : 0;
  config.is_home = std::binary_search(homes.begin(), homes.end(), transport.node());
  config.deterministic = options.deterministic;
  config.values = options.values;
  config.placement = placement.several_nodes() ? &placement : nullptr;
  return config;
}

}  // namespace

std::unique_ptr<SpillArea> StoreImpl::make_area(Transport& transport, const StoreOptions& options, NodeHeap& heap) {
  TierList tiers = options.make_tiers ? options.make_tiers(transport) : make_tiers(transport, options, heap);
  return tiers.empty() ? nullptr : std::make_unique<SpillArea>(transport, std::move(tiers));
}

std::unique_ptr<SpilledBlocks> StoreImpl::make_spilled(bool on_rank_thread) {
  if (!area_) return nullptr;
  return std::make_unique<SpilledBlocks>(transport_, storage_.heap(), storage_.directory(), *area_,
                                         SpilledBlocks::Config{config_.arena, on_rank_thread, config_.placement},
                                         [this](const BlockKey& k) { return names_.block(k); });
}

std::unique_ptr<BlockStore> make_block_store(Transport& transport, WorkQueue* queue, const StoreOptions& options) {
  return std::make_unique<StoreImpl>(transport, queue, options);
}

StoreImpl::StoreImpl(Transport& transport, WorkQueue* queue, const StoreOptions& options)
    : transport_(transport),
      options_(complete(transport, options)),
      storage_(
          transport, options_, [this](std::uint64_t bytes) { return reclaim(bytes); }, [this] { return problem(); }),
      config_(configuration(transport, options, storage_.placement())),
      area_(make_area(transport, options, storage_.heap())),
      spilled_(make_spilled(true)),
      spilled_for_others_(transport.node_count() == 1 ? nullptr : make_spilled(false)),
      buffers_(storage_.heap(), config_.arena),
      node_(
          transport, storage_.heap(), storage_.directory(), config_,
          [this](const BlockKey& k) { return names_.block(k); }, spilled_.get()),
      service_(transport.node_count() == 1
                   ? nullptr
                   : std::make_unique<StoreService>(transport, queue, storage_.shared_heap(), storage_.directory(),
                                                    config_, names_, spilled_for_others_.get(), spilled_.get())),
      context_(transport, options_, storage_.heap(), node_, names_, config_.arena),
      copies_(context_),
      requests_(context_, copies_),
      prefetches_(context_, copies_, requests_),
      puts_(context_, copies_),
      accumulates_(context_, puts_),
      fetched_(context_, copies_, requests_, prefetches_, puts_, accumulates_),
      writer_(context_, copies_, prefetches_, fetched_, puts_, accumulates_),
      integral_cache_(transport, storage_.directory(), storage_.heap(), config_.arena),
      array_requests_(context_, storage_.directory(), puts_, config_.is_home),
      deletions_(context_, copies_, fetched_, prefetches_, puts_, accumulates_, array_requests_),
      retention_(context_, copies_, fetched_, prefetches_, puts_, accumulates_),
      relief_(context_, copies_, fetched_, prefetches_, accumulates_),
      snapshots_(context_, puts_, array_requests_, deletions_),
      phases_(context_, retention_, array_requests_, deletions_, snapshots_),
      monitor_(context_, copies_, snapshots_, phases_, service_.get(), spilled_for_others_.get(), storage_) {
  context_.spilled = spilled_.get();
  if (config_.placement) context_.placement = &storage_.placement();
  if (spilled_) {
    spilled_->set_is_dead([this](const BlockKey& key) { return context_.arrays.is_deleted(key); });
    spilled_->set_is_discarded(
        [this](const BlockKey& key, std::int64_t put_in) { return context_.arrays.is_discarded(key, put_in); });
  }
  transport.activity().set_namer(
      {[this](Place place) { return names_.place(place); },
       [this](std::uint64_t array, const BlockIndex& block) { return names_.block({array, 0, block}); },
       [](std::int32_t kind) { return collective_name(static_cast<CollectiveKind>(kind)); }});
  if (service_) transport.set_service(service_.get());
  if (service_ || spilled_) transport.set_while_waiting([this] { copies_.give(); });
  set_parts({&fetched_, &prefetches_, &writer_, &phases_, &snapshots_, &integral_cache_, &monitor_, &buffers_});
}

StoreImpl::~StoreImpl() {
  transport_.activity().set_namer({});
  if (service_ || spilled_) {
    transport_.set_while_waiting(nullptr);
    copies_.clear_reclaimable();  // whose helper may be waiting for it
  }
  if (service_) transport_.set_service(nullptr);
}

std::string StoreImpl::problem() const {
  const bool helper = transport_.in_helper();
  const SpilledBlocks* spilled = (helper ? spilled_for_others_ : spilled_).get();
  return spilled ? spilled->problem() : std::string();
}

// Other nodes' requests are answered on a thread of their own, which may not touch what this rank holds.
bool StoreImpl::reclaim(std::uint64_t bytes) {
  const bool helper = transport_.in_helper();
  return (!helper && relief_.reclaim(bytes)) ||
         drop_cached(storage_.directory(), storage_.heap(), helper ? -1 : config_.arena) ||
         (helper ? spilled_for_others_ && spilled_for_others_->make_room(bytes) : relief_.spill(bytes));
}

}  // namespace sial
