#include "runtime/core/interp/context/checkpoints.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/printable.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

/// Rank 0 asks the others whether what is pending has reached their disks.
constexpr double between_questions = 0.05;

std::string local_time(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

std::string signal_name(int number) {
  switch (number) {
    case SIGTERM: return "SIGTERM";
    case SIGINT: return "SIGINT";
    case SIGUSR1: return "SIGUSR1";
    default: return fmt::format("signal {}", number);
  }
}

std::string amount(std::uint64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (b >= 1e9) return fmt::format("{:.1f} GB", b / 1e9);
  if (b >= 1e6) return fmt::format("{:.1f} MB", b / 1e6);
  return fmt::format("{:.1f} kB", b / 1e3);
}

}  // namespace

Checkpoints::Checkpoints(const CheckpointOptions& options, Transport& transport, std::ostream& err, JobIdentity job)
    : options_(options),
      transport_(transport),
      err_(err),
      job_(std::move(job)),
      job_id_(local_time("_%Y%b%d_%H%M%S")),
      last_time_(transport.now()) {
  transport.activity().set_advice("there is no checkpoint yet; `--checkpoint-every` writes them");
}

void Checkpoints::continue_from(const CheckpointIndex& index, std::optional<CheckpointIndex> previous) {
  last_ = index;
  previous_ = std::move(previous);
  // Two indices that are left after a crash may be the same.
  if (previous_ && previous_->serial >= last_.serial) previous_.reset();
  serial_ = index.serial;
  job_id_ = index.job_id;
  advise_to_continue(index.written);
}

std::string Checkpoints::file_name(std::int64_t serial) const {
  return checkpoint_file_name(serial, static_cast<std::size_t>(transport_.rank()));
}

std::string Checkpoints::path(const std::string& name) const { return (fs::path(options_.folder) / name).string(); }

Checkpoints::Request Checkpoints::request() const {
  if (options_.stop_signal)
    if (const int number = options_.stop_signal()) return {Reason::signal, number};
  if (transport_.rank() != 0) return {};
  if (options_.time_limit > 0 && transport_.now() >= options_.time_limit) return {Reason::time_limit, 0};
  if (options_.every == 0 || (options_.every > 0 && transport_.now() - last_time_ >= options_.every))
    return {Reason::interval, 0};
  return {};
}

bool Checkpoints::pending_is_complete() const {
  return pending_ && (!pending_->completed.valid() ||
                      pending_->completed.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
}

bool Checkpoints::wanted() const {
  if (pending_ && transport_.rank() == 0 && transport_.now() >= asked_ + between_questions && pending_is_complete())
    return true;
  const Reason reason = request().reason;
  return reason != Reason::none && (reason != Reason::interval || !pending_);
}

/// Also whether what is pending is complete on all ranks; if so it is concluded.
Checkpoints::Request Checkpoints::agree() {
  Request mine = request();
  mine.completed = !pending_ || pending_is_complete() ? 1 : 0;
  asked_ = transport_.now();
  Request strongest;
  for (const auto& bytes : transport_.all_gather(std::as_bytes(std::span(&mine, 1)), tag(CollectiveKind::gather))) {
    Request theirs;
    SIAL_CHECK(bytes.size() == sizeof theirs, "a request of {} bytes", bytes.size());
    std::memcpy(&theirs, bytes.data(), sizeof theirs);
    const std::int32_t completed = strongest.completed & theirs.completed;
    if (theirs.reason > strongest.reason) strongest = theirs;
    strongest.completed = completed;
  }
  // A run that ends waits for what is on its way.
  if (pending_ && (strongest.completed != 0 || strongest.reason > Reason::interval)) conclude_pending();
  if (pending_ && strongest.reason == Reason::interval) strongest.reason = Reason::none;
  return strongest;
}

void Checkpoints::at_barrier(std::int32_t program, const std::string& place, const MachinePart& machine) {
  if (const Request agreed = agree(); agreed.reason != Reason::none) save_or_stop(agreed, program, place, &machine);
}

void Checkpoints::between_programs(std::int32_t program, const std::string& place) {
  Request agreed = agree();
  if (agreed.reason == Reason::none && options_.every != CheckpointOptions::never && !pending_)
    agreed.reason = Reason::interval;
  if (agreed.reason != Reason::none) save_or_stop(agreed, program, place, nullptr);
}

void Checkpoints::save_or_stop(Request request, std::int32_t program, const std::string& place,
                               const MachinePart* machine) {
  if (request.reason == Reason::interval && behind()) return write_behind(program, place, machine);
  const bool saved = write(program, place, machine);
  if (request.reason == Reason::interval && (options_.stop_after == 0 || written_ < options_.stop_after)) return;
  if (transport_.rank() == 0) {
    const std::string why = request.reason == Reason::signal       ? signal_name(request.signal)
                            : request.reason == Reason::time_limit ? "the time limit"
                                                                   : "`--stop-after`";
    if (saved)
      err_ << printable(fmt::format(
          "stopped by {} {}: checkpoint `{}` written ({}, {:.2f} s)\n  hint: continue with the same command and `--restart`",
          why, place, options_.folder, amount(last_total_), last_.seconds));
    else if (last_.files.empty())
      err_ << printable(fmt::format(
          "error: stopped by {} {} without a checkpoint\n  hint: the job must be started again", why, place));
    else
      err_ << printable(fmt::format(
          "error: stopped by {} {} without a new checkpoint\n  hint: continue from the one of {} ({}) with the same command and `--restart`",
          why, place, last_.written, last_.place));
    err_ << std::endl;
  }
  throw JobStopped{saved};
}

/// Should the job be ended from outside its program.
void Checkpoints::advise_to_continue(const std::string& written) const {
  transport_.activity().set_advice(
      fmt::format("continue from the checkpoint of {} with the same command and `--restart`", written));
}

std::int64_t Checkpoints::begin_attempt(std::string& problem) {
  std::int64_t serial = 0;  // none: another job has the folder
  if (transport_.rank() == 0) {
    std::error_code failure;
    fs::create_directories(options_.folder, failure);  // of what goes wrong here, opening the file tells
    try {
      if (!lock_) lock_.emplace(path(checkpoint_index_name), checkpoint_remedy);
      serial = serial_ = std::max(serial_ + 1, next_serial(options_.folder));
    } catch (const EnvironmentError& error) { problem = error.what(); }
  }
  transport_.broadcast(std::as_writable_bytes(std::span(&serial, 1)), 0, tag(CollectiveKind::other));
  return serial;
}

bool Checkpoints::write(std::int32_t program, const std::string& place, const MachinePart* machine) {
  const double begin = transport_.now();
  Attempt outcome = attempt(program, place, machine);
  if (outcome == Attempt::again) outcome = attempt(program, place, machine);
  last_time_ = transport_.now();
  seconds_ += last_time_ - begin;
  if (outcome != Attempt::written) return false;
  ++written_;
  return true;
}

void Checkpoints::write_behind(std::int32_t program, const std::string& place, const MachinePart* machine) {
  const double start = transport_.now();
  pending_ = begin(program, place, machine, transport_.has_real_time());
  // A rank that went on would change blocks that another one has still to save.
  transport_.barrier(tag(CollectiveKind::other));
  if (pending_->writer)
    pending_->completed =
        std::async(std::launch::async,
                   [this, writer = pending_->writer.get(), records = std::move(pending_->records),
                    serial = pending_->serial]() mutable { return complete(*writer, std::move(records), serial); });
  last_time_ = transport_.now();
  seconds_ += last_time_ - start;
}

void Checkpoints::conclude_pending() {
  const double start = transport_.now();
  Pending pending = std::move(*pending_);
  pending_.reset();
  if (pending.completed.valid()) {
    Written written = pending.completed.get();
    pending.problem = std::move(written.problem);
    pending.seal = written.seal;
  }
  const Attempt outcome = conclude(std::move(pending));
  seconds_ += transport_.now() - start;
  // The disk was full, and an older checkpoint has made room: the next barrier tries again.
  if (outcome == Attempt::again) last_time_ = -options_.every;
  if (outcome == Attempt::written) ++written_;
}

Checkpoints::Attempt Checkpoints::attempt(std::int32_t program, const std::string& place, const MachinePart* machine) {
  const double start = transport_.now();
  Pending pending = begin(program, place, machine, false);
  if (pending.writer) {
    Written written = complete(*pending.writer, nullptr, pending.serial);
    pending.problem = std::move(written.problem);
    pending.seal = written.seal;
  }
  pending.seconds = transport_.now() - start;
  return conclude(std::move(pending));
}

/// This rank's state is with the system, or `deferred`: held or copied.
Checkpoints::Pending Checkpoints::begin(std::int32_t program, const std::string& place, const MachinePart* machine,
                                        bool deferred) {
  const double start = transport_.now();
  Pending pending;
  pending.program = program;
  pending.inside = machine != nullptr;
  pending.place = place;
  pending.written = local_time("%Y-%m-%d %H:%M:%S");
  pending.serial = begin_attempt(pending.problem);
  try {
    if (pending.serial > 0) {
      std::error_code failure;
      fs::create_directories(options_.folder, failure);  // of another machine, perhaps
      auto writer = std::make_unique<RecordWriter>(first_path(pending.serial));
      auto records = deferred ? std::make_unique<DeferredRecords>(*writer) : nullptr;
      RecordSink& sink = deferred ? static_cast<RecordSink&>(*records) : *writer;
      pending.common = job_part_.own(sink);
      if (machine) machine->own(sink);
      job_part_.blocks(sink);
      if (machine) machine->blocks(sink);
      pending.writer = std::move(writer);
      pending.records = std::move(records);
    }
  } catch (const EnvironmentError& error) { pending.problem = error.what(); }
  pending.seconds = transport_.now() - start;
  return pending;
}

/// On this host's disk, where there is one; hosts may share it after all.
std::string Checkpoints::first_path(std::int64_t serial) const {
  if (options_.local.empty()) return path(file_name(serial));
  return (fs::path(options_.local) / fmt::format("sialx{}.{}", job_id_, file_name(serial))).string();
}

/// On any thread. Records that are not written are dropped, with the blocks that they hold.
Checkpoints::Written Checkpoints::complete(RecordWriter& writer, std::unique_ptr<DeferredRecords> records,
                                           std::int64_t serial) const {
  try {
    if (records && !records->write(stop_writing_)) return {"the run has ended", {}};
    const FileSeal seal = writer.end();
    writer.complete(options_.local.empty() ? std::string() : path(file_name(serial)));
    return {{}, seal};
  } catch (const EnvironmentError& error) { return {error.what(), {}}; }
}

/// Collective: when all ranks have succeeded, the index.
Checkpoints::Attempt Checkpoints::conclude(Pending pending) {
  const bool written = pending.writer && pending.problem.empty();
  Packer mine;
  mine.text(pending.problem);
  mine.value(pending.seal);
  mine.value(pending.common);
  CheckpointIndex index;
  std::uint64_t total = 0;
  std::string somebodys_problem;
  const auto all = transport_.all_gather(mine.bytes(), tag(CollectiveKind::gather));
  for (std::size_t r = 0; r < all.size(); ++r) {
    Unpacker theirs(all[r]);
    const std::string text = theirs.text();
    if (somebodys_problem.empty()) somebodys_problem = text;
    index.files.push_back({checkpoint_file_name(pending.serial, r), theirs.value<FileSeal>()});
    index.uniform = index.uniform && theirs.value<std::uint64_t>() == pending.common;
    total += index.files.back().seal.bytes;
  }
  Attempt outcome = Attempt::failed;
  if (transport_.rank() == 0) {
    index.version = options_.version;
    index.job_id = job_id_;
    index.written = pending.written;
    index.serial = pending.serial;
    index.program = pending.program;
    index.inside = pending.inside;
    index.place = pending.place;
    index.seconds = pending.seconds;
    index.job = job_;
    try {
      if (somebodys_problem.empty()) {
        publish(std::move(index));
        outcome = Attempt::written;
        last_total_ = total;
      }
    } catch (const EnvironmentError& error) { somebodys_problem = error.what(); }
    if (outcome != Attempt::written) outcome = failed(somebodys_problem);
  }
  transport_.broadcast(std::as_writable_bytes(std::span(&outcome, 1)), 0, tag(CollectiveKind::other));
  if (outcome == Attempt::written) {
    bytes_ += static_cast<std::int64_t>(pending.seal.bytes);
    advise_to_continue(pending.written);
  } else if (written) {
    std::error_code ignored;
    fs::remove(path(file_name(pending.serial)), ignored);
  }
  return outcome;
}

/// The present checkpoint becomes the one before it.
void Checkpoints::publish(CheckpointIndex index) {
  if (!last_.files.empty()) write_checkpoint_index(last_, options_.folder, previous_index_name);
  write_checkpoint_index(index, options_.folder);
  if (!last_.files.empty()) previous_ = std::move(last_);
  last_ = std::move(index);
  std::vector<const CheckpointIndex*> keep{&last_};
  if (previous_) keep.push_back(&*previous_);
  remove_old_files(options_.folder, keep);
}

/// On rank 0. The disk may be full: the checkpoint before the last one makes room.
Checkpoints::Attempt Checkpoints::failed(const std::string& problem) {
  if (previous_) {
    previous_.reset();
    const CheckpointIndex* keep = &last_;
    remove_old_files(options_.folder, {&keep, 1});
    return Attempt::again;
  }
  err_ << printable(fmt::format("warning: no checkpoint could be written: {}; {}", problem,
                                last_.files.empty() ? "the run goes on without one"
                                                    : fmt::format("the one of {} stays valid", last_.written)))
       << std::endl;
  return Attempt::failed;
}

void Checkpoints::job_done() {
  // Files on their way to the disk are of no use any more: their writer removes them.
  if (pending_) {
    stop_writing_.store(true, std::memory_order_relaxed);
    if (pending_->completed.valid() && pending_->completed.get().problem.empty()) {
      std::error_code gone;
      fs::remove(path(file_name(pending_->serial)), gone);
    }
    pending_.reset();
    transport_.barrier(tag(CollectiveKind::other));
  }
  transport_.activity().set_advice({});
  if (transport_.rank() != 0) return;
  std::error_code ignored;
  if (!last_.files.empty()) remove_old_files(options_.folder, {});
  lock_.reset();                                                                         // its file lies in the folder
  if (fs::is_directory(options_.folder, ignored)) fs::remove(options_.folder, ignored);  // what is not empty stays
}

}  // namespace sial
