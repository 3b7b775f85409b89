// Whole jobs on four ranks that are threads, with look-ahead, accumulating puts, several nodes and checkpoints; also
// run under TSan.
#include <catch2/catch.hpp>

#include <iostream>
#include <sstream>

#include "compiler/diag/render.h"
#include "compiler/pipeline/pipeline.h"
#include "runtime/core/bytecode/write.h"
#include "runtime/core/interp/context/checkpoints.h"
#include "runtime/core/transport/threads.h"
#include "runtime/program/session/session.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;

namespace {

constexpr const char* program = R"(sial four
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
aoindex k = 1:norb
index step = 1:3
distributed a[i,j]
distributed b[i,j]
served v[i,j]
temp t[i,j]
temp s[i,j]
scalar e
scalar x
scalar total
create a
create b
pardo i, j
  t[i,j] = 1.0
  put a[i,j] = t[i,j]
  prepare v[i,j] = t[i,j]
endpardo i, j
sip_barrier
server_barrier
do step
  pardo i, j
    t[i,j] = 0.0
    do k
      get a[i,k]
      request v[k,j]
      s[i,j] = a[i,k]*v[k,j]
      t[i,j] += s[i,j]
    enddo k
    put b[i,j] += t[i,j]
  endpardo i, j
  sip_barrier
enddo step
pardo i, j
  get b[i,j]
  x = b[i,j]*b[i,j]
  e += x
endpardo i, j
sip_barrier
collective total += e
println total
set_persistent b "b"
endsial four
)";

std::vector<std::byte> compiled(const std::string& path, const std::vector<std::string>&,
                                const std::vector<std::string>&, std::ostream& diagnostics) {
  SourceManager sources;
  Emitter emitter;
  const CompileResult result = compile_file(path, {}, sources, emitter);
  diagnostics << render_list(emitter.all(), sources);
  return result.module ? write_module(*result.module) : std::vector<std::byte>();
}

}  // namespace

TEST_CASE("threads: whole jobs on four ranks") {
  const Folder folder;
  Job job;
  job.programs = {folder.write("four.sialx", program)};
  job.data.ints["norb"] = 4;
  job.data.segments[IndexKind::ao] = {3, 2, 3, 1};
  job.memory_per_rank = std::size_t{16} << 20;
  job.output_dir = folder.path("out");
  job.run_json_path = "none";
  job.print_format = "plain";
  const CompileFile compile = compiled;
  for (const ThreadsOptions& layout : {ThreadsOptions{4, 0, 0}, ThreadsOptions{4, 2, 0}, ThreadsOptions{4, 1, 0}})
    // None, at each barrier, and behind the computation.
    for (const double every : {CheckpointOptions::never, 0.0, 1e-9}) {
      INFO(layout.ranks_per_node << " ranks per node, checkpoints every " << every << " s");
      const bool saves = every != CheckpointOptions::never;
      job.checkpoint_every = every;
      std::ostringstream out, err;
      job.look_ahead = saves ? -1 : 8;
      REQUIRE_NOTHROW(run_threads(layout, [&](Transport& t) {
        SessionOptions options;
        options.checkpoints = saves;
        options.version = "1";
        std::ostringstream mine, words;
        Session session(t, options, compile, t.rank() == 0 ? out : mine, t.rank() == 0 ? err : words);
        session.start();
        if (session.run(job) != 0) throw SialError(err.str());
        t.finish();
      }));
      INFO(err.str());
      CHECK(out.str().find("59049") != std::string::npos);  // (3*9)^2 in each of 81 elements
    }
}
