#include "runtime/interp/job_run.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/base/check.h"

namespace sial {
namespace {

/// Labels that `programs` restore: the only snapshots worth keeping for them.
std::vector<std::string> restored_labels(std::span<const std::shared_ptr<const Module>> programs) {
  std::vector<std::string> labels;
  for (const auto& module : programs)
    for (const Instruction& in : module->code)
      if (in.op == Opcode::restore_persistent) labels.push_back(module->strings[in.c]);
  return labels;
}

constexpr std::size_t gather_round_bytes = std::size_t{8} << 20;

}  // namespace

JobRunner::JobRunner(const Environment& environment, const JobRunOptions& options, std::int32_t first_sequence)
    : env_(environment), options_(options), sequence_(first_sequence), first_sequence_(first_sequence) {
  store_begin_ = env_.store.stats();
  begin_ = env_.transport.now();
}

void JobRunner::run(std::span<const std::shared_ptr<const Module>> programs) {
  for (std::size_t i = 0; i < programs.size(); ++i) {
    run_modules_.push_back(programs[i]);
    Machine machine(*programs[i], sequence_++, env_, options_.machine);
    machine.run();
    outcomes_.push_back(outcome_of(machine));
    if (!options_.keep_saved) {
      const std::vector<std::string> needed = restored_labels(programs.subspan(i + 1));
      env_.store.drop_labels_except(needed);
      std::erase_if(env_.state.saved_remote,
                    [&](const auto& entry) { return std::find(needed.begin(), needed.end(), entry.first) == needed.end(); });
    }
  }
}

ProgramOutcome JobRunner::outcome_of(const Machine& machine) const {
  const Module& m = machine.module();
  ProgramOutcome outcome;
  outcome.program = m.program;
  for (std::size_t i = 0; i < m.scalars.size(); ++i) outcome.scalars[m.scalars[i].name] = machine.scalar(static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < m.ints.size(); ++i) outcome.ints[m.ints[i].name] = machine.integer(static_cast<std::int32_t>(i));
  if (!options_.keep_saved || env_.transport.rank() != 0) return outcome;
  for (std::size_t i = 0; i < m.arrays.size(); ++i) {
    if (m.arrays[i].kind != ArrayKind::static_) continue;
    DataArray array = machine.static_array(static_cast<std::int32_t>(i));
    if (!array.data.empty()) outcome.statics[m.arrays[i].name] = std::move(array);
  }
  return outcome;
}

void JobRunner::gather_saved(const std::string& label,
                             const std::function<void(const BlockIndex&, std::span<const double>)>& on_rank_0) {
  const std::vector<BlockIndex> mine = env_.store.saved_blocks(label);
  std::size_t next = 0;
  for (bool more = true; more;) {
    std::vector<std::byte> message(1);  // first byte: whether this rank has more after this round
    while (next < mine.size() && message.size() < gather_round_bytes) {
      const std::vector<double> data = env_.store.saved_block(label, mine[next]);
      const std::uint64_t n = data.size();
      const std::size_t at = message.size();
      message.resize(at + sizeof(BlockIndex) + sizeof n + n * sizeof(double));
      std::memcpy(&message[at], &mine[next], sizeof(BlockIndex));
      std::memcpy(&message[at + sizeof(BlockIndex)], &n, sizeof n);
      if (n) std::memcpy(&message[at + sizeof(BlockIndex) + sizeof n], data.data(), n * sizeof(double));
      ++next;
    }
    message[0] = std::byte{next < mine.size()};
    const auto all = env_.transport.all_gather(message, {CollectiveKind::gather, {sequence_, -1}});
    more = false;
    for (const std::vector<std::byte>& bytes : all) {
      more |= bytes[0] != std::byte{0};
      if (env_.transport.rank() != 0) continue;
      std::vector<double> data;
      for (std::size_t at = 1; at < bytes.size();) {
        BlockIndex block;
        std::uint64_t n = 0;
        std::memcpy(&block, &bytes[at], sizeof block);
        std::memcpy(&n, &bytes[at + sizeof block], sizeof n);
        at += sizeof block + sizeof n;
        SIAL_CHECK(at + n * sizeof(double) <= bytes.size(), "block of {} numbers in {} bytes", n, bytes.size() - at);
        data.resize(n);
        if (n) std::memcpy(data.data(), &bytes[at], n * sizeof(double));
        at += n * sizeof(double);
        on_rank_0(block, data);
      }
    }
  }
}

JobStats JobRunner::collect_stats() {
  Stats stats = env_.state.stats;
  const StoreStats s = env_.store.stats();
  const StoreStats& z = store_begin_;
  const ResourceStats buffers = env_.store.buffers().stats();
  stats[Counter::wall_time] = env_.transport.now() - begin_;
  stats[Counter::fetch_wait_time] = s.fetch_wait_seconds - z.fetch_wait_seconds;
  stats[Counter::lock_time] = s.lock_seconds - z.lock_seconds;
  stats[Counter::handler_time] = s.handler_seconds - z.handler_seconds;
  stats[Counter::barrier_time] += s.barrier_seconds - z.barrier_seconds;
  stats[Counter::overhead_time] = std::max(0.0, stats[Counter::wall_time] - stats[Counter::compute_time] - stats[Counter::fetch_wait_time] -
                                                    stats[Counter::lock_time] - stats[Counter::barrier_time]);
  const auto count = [](std::int64_t now, std::int64_t before) { return static_cast<double>(now - before); };
  stats[Counter::accesses] = count(s.accesses, z.accesses);
  stats[Counter::blocked_accesses] = count(s.blocked_accesses, z.blocked_accesses);
  stats[Counter::gets] = count(s.gets, z.gets);
  stats[Counter::puts] = count(s.puts, z.puts);
  stats[Counter::accumulates] = count(s.accumulates, z.accumulates);
  stats[Counter::scalar_puts] = count(s.scalar_puts, z.scalar_puts);
  stats[Counter::bytes_leased] = count(s.bytes_leased, z.bytes_leased);
  stats[Counter::bytes_copied] = count(s.bytes_copied, z.bytes_copied);
  stats[Counter::bytes_received] = count(s.bytes_received, z.bytes_received);
  stats[Counter::bytes_sent] = count(s.bytes_sent, z.bytes_sent);
  stats[Counter::messages_sent] = count(s.messages_sent, z.messages_sent);
  stats[Counter::requests_served] = count(s.requests_served, z.requests_served);
  stats[Counter::buffer_requests] = static_cast<double>(buffers.requests);
  stats[Counter::buffer_cache_hits] = static_cast<double>(buffers.cache_hits);
  stats[Counter::buffer_bytes_high_water] = static_cast<double>(buffers.bytes_high_water);
  for (const AccessStats& a : env_.store.access_stats()) {
    const std::int32_t program = a.place.program - first_sequence_;
    if (program < 0 || static_cast<std::size_t>(program) >= run_modules_.size()) continue;
    const Module& m = *run_modules_[program];
    if (a.place.pc < 0 || static_cast<std::size_t>(a.place.pc) >= m.places.size()) continue;
    const SourcePlace& place = m.places[a.place.pc];
    stats.accesses.push_back({m.program, m.files.at(place.file), m.arrays.at(a.array).name, place.line, a.accesses, a.blocked, a.bytes,
                              a.wait_seconds});
  }
  std::vector<Stats> ranks;
  for (const auto& bytes : env_.transport.all_gather(pack_stats(stats), {CollectiveKind::gather, {sequence_, -2}}))
    ranks.push_back(unpack_stats(bytes));
  return reduce_stats(std::move(ranks));
}

}  // namespace sial
