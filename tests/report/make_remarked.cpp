// make_remarked PROGRAM OUT: compiles a program without optimisation and gives its module remarks that every face of
// the report must show as they are: with awkward characters, of all kinds, with and without amounts, arrays and advice.

#include <cstdio>
#include <fstream>

#include "compiler/diag/render.h"
#include "compiler/pipeline/pipeline.h"
#include "runtime/core/bytecode/write.h"

using namespace sial;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  SourceManager sources;
  Emitter emitter;
  CompileOptions options;
  options.optimisation = 0;
  CompileResult result = compile_file(argv[1], options, sources, emitter);
  for (const Diagnostic& d : emitter.all()) std::fputs(render_text(d, sources).c_str(), stderr);
  if (!result.module) return 1;
  Module& m = *result.module;
  m.optimisation = 2;
  const auto index = [&](const char* name) {
    for (std::size_t i = 0; i < m.indices.size(); ++i)
      if (m.indices[i].name == name) return IndexId(i);
    return no_index;
  };
  const auto array = [&](const char* name) {
    for (std::size_t i = 0; i < m.arrays.size(); ++i)
      if (m.arrays[i].name == name) return ArrayId(i);
    return no_array;
  };
  const Cost block = Cost::extent(index("i")) * Cost::extent(index("k")) * 8.0;
  const Cost trips = Cost::count(index("i")) * Cost::count(index("j")) * Cost::count(index("k"));
  m.remarks.push_back({RemarkKind::passed,
                       "in-place",
                       "used-where-it-lies",
                       {0, 25, 5},
                       array("d"),
                       "`d` is used where it lies",
                       "",
                       block,
                       {},
                       trips});
  m.remarks.push_back({RemarkKind::missed,
                       "redundant-get",
                       "may-change",
                       {0, 24, 5},
                       array("d"),
                       "the second get of `d` stays: \"i\" may equal 'j' & <k> is free",
                       "move it before `do k`",
                       block,
                       {},
                       trips});
  m.remarks.push_back({RemarkKind::missed,
                       "contract-into-target",
                       "no-room",
                       {0, 26, 5},
                       no_array,
                       "cheap: a line of its own",
                       "rewrite # it: {so}",
                       Cost::constant(8),
                       Cost::constant(100),
                       Cost::constant(1)});
  m.remarks.push_back({RemarkKind::analysis,
                       "ranges",
                       "trips",
                       {0, 19, 1},
                       no_array,
                       "the loop runs over the upper triangle",
                       "",
                       {},
                       {},
                       Cost::count(index("i")) * Cost::count(index("i"))});
  m.remarks.push_back(
      {RemarkKind::analysis, "look-ahead", "depth", {0, 22, 3}, array("d"), "two blocks ahead", "", {}, {}, {}});
  const std::vector<std::byte> bytes = write_module(m);
  std::ofstream(argv[2], std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}
