#include "runtime/python/native/in_process.h"

#include <algorithm>
#include <ios>
#include <mutex>
#include <new>
#include <ostream>
#include <span>
#include <sstream>
#include <streambuf>

#include "compiler/diag/render.h"
#include "compiler/pipeline.h"
#include "runtime/bytecode/write.h"
#include "runtime/kernels/jit/jit.h"
#include "runtime/session.h"
#include "runtime/transport/loopback.h"

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

std::int64_t elements(const std::vector<std::int64_t>& extents) {
  std::int64_t n = 1;
  for (const std::int64_t extent : extents) n *= extent;
  return n;
}

/// A saved array as a whole, with zeros where it has no blocks.
class DenseArray {
 public:
  explicit DenseArray(const SavedLayout& layout) : layout_(layout) {
    for (const std::vector<std::int64_t>& segments : layout.extents) {
      std::vector<std::int64_t>& begins = begins_.emplace_back(1, 0);
      for (const std::int64_t extent : segments) begins.push_back(begins.back() + extent);
      array_.extents.push_back(begins.back());
    }
    array_.data.assign(static_cast<std::size_t>(elements(array_.extents)), 0.0);
  }

  void put(const BlockIndex& block, std::span<const double> data) {
    const std::size_t rank = layout_.extents.size();
    if (data.empty()) return;
    std::vector<std::int64_t> extent(rank), at(rank, 0);
    std::int64_t first = 0, stride = 1;
    std::vector<std::int64_t> strides(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      const auto segment = static_cast<std::size_t>(block.segment[d] - layout_.first_segment[d]);
      extent[d] = layout_.extents[d].at(segment);
      strides[d] = stride;
      first += begins_[d][segment] * stride;
      stride *= array_.extents[d];
    }
    const std::int64_t run = extent.front();
    for (std::int64_t from = 0; from < std::ssize(data); from += run) {
      std::int64_t to = first;
      for (std::size_t d = 1; d < rank; ++d) to += at[d] * strides[d];
      std::copy_n(data.data() + from, run, array_.data.data() + to);
      for (std::size_t d = 1; d < rank && ++at[d] == extent[d]; ++d) at[d] = 0;
    }
  }

  DataArray take() { return std::move(array_); }

 private:
  const SavedLayout& layout_;
  std::vector<std::vector<std::int64_t>> begins_;  // of the segments
  DataArray array_;
};

void take_results(const JobRunner& runner, const RankState& state, const StoreSnapshots& saved,
                  InProcessResults& results) {
  for (const ProgramOutcome& outcome : runner.outcomes()) {
    for (const auto& [name, value] : outcome.scalars) results.scalars[name] = value;
    for (const auto& [name, value] : outcome.ints) results.ints[name] = value;
    for (const auto& [name, array] : outcome.statics) results.statics[name] = array;
  }
  results.saved_scalars = state.saved_scalars;
  results.saved_arrays = state.saved_statics;
  for (const auto& [label, layout] : state.saved_remote) {
    DenseArray whole(layout);
    for (const BlockIndex& block : saved.saved_blocks(label)) whole.put(block, saved.saved_block(label, block));
    results.saved_arrays[label] = whole.take();
  }
}

Job stated_job(InProcessJob& given) {
  Job job;
  job.results_path = job.run_json_path = "none";
  for (const InProcessProgram& program : given.programs) job.programs.push_back(program.name);
  for (const std::string& text : given.segments) apply_segments(job, text);
  for (const std::string& text : given.values) apply_set(job, text);
  for (auto& [name, array] : given.arrays) {
    job.given_arrays.insert(name);
    job.data.arrays[name] = std::move(array);
  }
  given.arrays.clear();
  if (!given.memory.empty()) job.memory_per_rank = parse_memory(given.memory);
  return job;
}

int run_job(InProcessJob& given, std::ostream& out, std::ostream& messages, InProcessResults& results) {
  const Job job = stated_job(given);
  SessionOptions options = session_options(job);
  options.machine.between_statements = given.between_statements;
  options.take_results = [&](const JobRunner& runner, const RankState& state, const StoreSnapshots& saved) {
    take_results(runner, state, saved, results);
  };
  const CompileFile compile = [&](const std::string& name, const std::vector<std::string>&,
                                  const std::vector<std::string>&, std::ostream&) {
    const auto program = std::ranges::find(given.programs, name, &InProcessProgram::name);
    return program == given.programs.end() ? std::vector<std::byte>{} : *program->module;
  };
  generated_code.keep();
  const std::unique_ptr<Transport> transport = make_loopback();
  Session session(*transport, options, compile, out, messages);
  session.start();
  const int code = session.run(job);
  out.flush();
  transport->finish();
  return code;
}

}  // namespace

CompiledProgram compile_in_process(const std::string& name, const std::optional<std::string>& text,
                                   const std::vector<std::string>& include_dirs, int optimisation) {
  CompileOptions options;
  options.include_dirs = include_dirs;
  options.optimisation = optimisation;
  SourceTexts texts;
  if (text) {
    texts[name] = *text;
    options.texts = &texts;
    options.imports_files = true;
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
    results.code = run_job(job, out, messages, results);
  } catch (const SialError& error) { fail(error); } catch (const std::bad_alloc&) {
    fail(EnvironmentError("out of memory beside the block data", "lower `memory`, or end other programs"));
  }
  results.messages = messages.str();
  return results;
}

void drop_generated_code() { generated_code.drop(); }

}  // namespace sial
