#include "runtime/python/native/in_process.h"

#include <algorithm>
#include <array>
#include <functional>
#include <ios>
#include <mutex>
#include <new>
#include <ostream>
#include <span>
#include <sstream>
#include <streambuf>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/diag/render.h"
#include "compiler/pipeline/pipeline.h"
#include "runtime/core/base/error_text.h"
#include "runtime/core/bytecode/write.h"
#include "runtime/core/interp/blocks/array_parts.h"
#include "runtime/core/job/segments.h"
#include "runtime/core/kernels/interface/jit.h"
#include "runtime/core/transport/loopback.h"
#include "runtime/program/session/session.h"

namespace sial {
namespace {

/// Hands on what is written to it, in pieces that end where the writer flushes.
class Outlet final : public std::streambuf {
 public:
  explicit Outlet(const std::function<void(std::string_view)>& write) : write_(write) {}

 protected:
  int_type overflow(int_type c) override {
    if (!traits_type::eq_int_type(c, traits_type::eof())) kept_ += traits_type::to_char_type(c);
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* text, std::streamsize n) override {
    kept_.append(text, static_cast<std::size_t>(n));
    return n;
  }
  int sync() override {
    if (kept_.empty()) return 0;
    const std::string text = std::exchange(kept_, {});
    write_(text);
    return 0;
  }

 private:
  const std::function<void(std::string_view)>& write_;
  std::string kept_;
};

/// Code that one run has made is there for the next one: in memory only.
class GeneratedCode {
 public:
  void keep() {
    const std::lock_guard lock(mutex_);
    if (!engine_) engine_ = kernels::make_code_engine({});
  }
  void drop() {
    const std::lock_guard lock(mutex_);
    engine_.reset();
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<kernels::CodeEngine> engine_;
};
GeneratedCode generated_code;

SessionOptions session_options(const Job& job) {
  SessionOptions options;
  options.store.memory_per_rank = job.memory_per_rank;
  options.time.emplace().keeps_integrals = job.keep_integrals;
  static const MachineSpeed speed = usual_speed();
  options.time->speed = speed;
  options.version = SIALX_VERSION;
  return options;
}

/// A saved array as a whole, with zeros where it has no blocks.
DataArray whole_array(const std::string& label, const SavedLayout& layout, const StoreSnapshots& saved) {
  const BoundArray array = array_of(layout);
  const std::vector<SegmentGroup> all = whole_part(array);
  DataArray whole;
  for (const SegmentGroup& g : all) whole.extents.push_back(g.extent);
  whole.data.assign(static_cast<std::size_t>(size_of(all)), 0.0);
  walk_part(array, all, [&](const BlockAt& at) {
    if (const std::optional<LeasedValues> held = saved.find_saved_block(label, at.block))
      copy_to_part(array, at, all, held->values.data(), whole.data.data());
  });
  return whole;
}

/// The blocks of a saved array that are this rank's.
std::vector<SavedPart> parts_of(const std::string& label, const SavedLayout& layout, const StoreSnapshots& saved) {
  const BoundArray array = array_of(layout);
  std::vector<SavedPart> parts;
  for (const BlockIndex& block : saved.saved_blocks(label)) {
    SavedPart& part = parts.emplace_back();
    for (int d = 0; d < array.rank; ++d) {
      part.first.push_back(array.dim[d].offset_of(block.segment[d]));
      part.values.extents.push_back(array.dim[d].extent_of(block.segment[d]));
    }
    part.values.data = saved.saved_block(label, block);
  }
  return parts;
}

void take_results(const JobRunner& runner, const RankState& state, const StoreSnapshots& saved, const Transport& ranks,
                  InProcessResults& results) {
  for (const ProgramOutcome& outcome : runner.outcomes()) {
    for (const auto& [name, value] : outcome.scalars) results.scalars[name] = value;
    for (const auto& [name, value] : outcome.ints) results.ints[name] = value;
    for (const auto& [name, array] : outcome.statics) results.statics[name] = array;
  }
  results.saved_scalars = state.saved_scalars;
  results.saved_arrays = state.saved_statics;
  for (const auto& [label, layout] : state.saved_remote) {
    results.parts[label] = ranks.size() > 1 ? parts_of(label, layout, saved) : std::vector<SavedPart>();
    if (ranks.rank() == 0) results.saved_arrays[label] = whole_array(label, layout, saved);
  }
}

Job stated_job(InProcessJob& stated) {
  Job job;
  job.results_path = job.run_json_path = "none";
  job.saved_arrays = stated.saved_arrays;
  for (const InProcessProgram& program : stated.programs) job.programs.push_back(program.name);
  for (const std::string& text : stated.segments) apply_segments(job, text);
  for (const std::string& text : stated.values) apply_set(job, text);
  for (auto& [name, array] : stated.arrays) {
    job.input_arrays.insert(name);
    job.data.arrays[name] = std::move(array);
  }
  stated.arrays.clear();
  if (!stated.memory.empty()) job.memory_per_rank = parse_memory(stated.memory);
  return job;
}

EnvironmentError out_of_memory() {
  return EnvironmentError("out of memory beside the block data", "lower `memory`, or end other programs");
}

/// What all ranks have to state alike.
struct Agreement {
  std::array<std::uint64_t, 5> hashes{};
  static constexpr std::array<std::string_view, 5> names = {"programs", "values", "segments", "arrays", "options"};
};

Agreement agreement_of(const InProcessJob& stated) {
  const auto hash = [](const std::string& text) { return std::hash<std::string>()(text); };
  std::string programs, arrays;
  for (const InProcessProgram& program : stated.programs)
    programs.append(reinterpret_cast<const char*>(program.module->data()), program.module->size()) += '\0';
  for (const auto& [name, array] : stated.arrays) arrays += fmt::format("{} {}\n", name, fmt::join(array.extents, ","));
  return {{hash(programs), hash(fmt::format("{}", fmt::join(stated.values, "\n"))),
           hash(fmt::format("{}", fmt::join(stated.segments, "\n"))), hash(arrays),
           hash(fmt::format("{}\n{}", stated.memory, fmt::join(stated.saved_arrays, "\n")))}};
}

void check_agreement(Transport& transport, const Agreement& mine) {
  const auto all = transport.all_gather(std::as_bytes(std::span(mine.hashes)), {CollectiveKind::gather, {}});
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    for (std::size_t i = 0; i < mine.hashes.size(); ++i) {
      const auto theirs = [&](std::size_t r) {
        return std::span(all[r]).subspan(i * sizeof mine.hashes[0], sizeof mine.hashes[0]);
      };
      if (!std::ranges::equal(theirs(0), theirs(rank)))
        throw InputError(
            fmt::format("ranks 0 and {} state different {}", rank, Agreement::names[i]),
            "all ranks of a run call it with the same programs, values, segments, options, and names and shapes of arrays");
    }
}

int run_job(Transport& transport, const Job& job, InProcessJob& stated, std::ostream& out, std::ostream& messages,
            InProcessResults& results) {
  SessionOptions options = session_options(job);
  options.machine.between_statements = stated.between_statements;
  if (stated.tell_progress) {
    options.machine.progress = ProgressMode::told;
    options.machine.tell_progress = stated.tell_progress;
  }
  options.take_results = [&](const JobRunner& runner, const RankState& state, const StoreSnapshots& saved) {
    take_results(runner, state, saved, transport, results);
  };
  const CompileFile compile = [&](const std::string& name, const std::vector<std::string>&,
                                  const std::vector<std::string>& saved_arrays, std::ostream&) {
    if (!saved_arrays.empty()) return stated.compile_saving(name, saved_arrays);
    const auto program = std::ranges::find(stated.programs, name, &InProcessProgram::name);
    return program == stated.programs.end() ? std::vector<std::byte>{} : *program->module;
  };
  generated_code.keep();
  Session session(transport, options, compile, out, messages);
  session.start();
  const int code = session.run(job);
  out.flush();
  transport.finish();
  return code;
}

/// An error of one rank ends all processes: others may write into this one's memory, or wait for it.
template <class Body>
void end_all_on_error(Transport& transport, std::ostream& out, Body body) {
  const auto end = [&](const SialError& error, int code) {
    if (transport.rank() != 0) transport.linger(0.3);  // rank 0 prints, and gets a moment to arrive
    out.flush();
    transport.abort_job(error_text(error, transport.rank(), transport.size(), transport.host_name()), code);
  };
  try {
    body();
  } catch (const SialError& error) { end(error, exit_code_of(error)); } catch (const std::bad_alloc&) {
    end(out_of_memory(), exit_environment_error);
  } catch (...) {
    end(SialError("an exception on one rank ends the run of all", "catch it within the function that raises it"),
        exit_program_error);
  }
}

int run_on_ranks(Transport& transport, InProcessJob& stated, std::ostream& out, std::ostream& messages,
                 InProcessResults& results) {
  if (transport.size() == 1) return run_job(transport, stated_job(stated), stated, out, messages, results);
  end_all_on_error(transport, out, [&] { check_agreement(transport, agreement_of(stated)); });
  std::optional<Job> job;
  try {
    job = stated_job(stated);
  } catch (const SialError&) {  // on all ranks, which go on
    transport.finish();
    throw;
  }
  int code = exit_ok;
  end_all_on_error(transport, out, [&] { code = run_job(transport, *job, stated, out, messages, results); });
  return code;
}

}  // namespace

CompiledProgram compile_in_process(const std::string& name, const std::optional<std::string>& text,
                                   const std::vector<std::string>& include_dirs, int optimisation,
                                   const std::vector<std::string>& saved) {
  CompileOptions options;
  options.include_dirs = include_dirs;
  options.optimisation = optimisation;
  options.saved = saved;
  SourceTexts buffers;
  if (text) {
    buffers[physical_path(name)] = *text;
    options.buffers = &buffers;
  }
  SourceManager sources;
  Emitter emitter;
  const CompileResult result = compile_file(name, options, sources, emitter);
  CompiledProgram program;
  if (result.module) program.module = write_module(*result.module);
  program.text = render_list(emitter.all(), sources);
  for (const Diagnostic& diagnostic : in_source_order(emitter.all()))
    program.diagnostics.push_back(render_json(diagnostic, sources));
  for (FileId f = text ? 1 : 0; f < sources.file_count(); ++f) program.files.push_back(sources.name(f));
  return program;
}

InProcessResults run_in_process(InProcessJob& job) {
  InProcessResults results;
  Outlet outlet(job.write);
  std::ostream out(&outlet);
  out.exceptions(std::ios::badbit);  // what the job's function throws
  std::ostringstream messages;
  const auto fail = [&](const SialError& error) {
    try {
      out.flush();  // what the program said before
    } catch (const std::ios_base::failure&) {}
    messages << error_text(error, 0, 1) << '\n';
    results = {};
    results.code = exit_code_of(error);
  };
  try {
    const std::unique_ptr<Transport> transport = job.connect ? job.connect() : make_loopback();
    results.code = run_on_ranks(*transport, job, out, messages, results);
  } catch (const SialError& error) { fail(error); } catch (const std::bad_alloc&) {
    fail(out_of_memory());
  }
  results.messages = messages.str();
  return results;
}

void drop_generated_code() { generated_code.drop(); }

}  // namespace sial
