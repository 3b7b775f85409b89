// Every reader that can be called by itself, on damaged inputs of its kind, in this process: under the address and
// undefined-behaviour sanitizers this shows that none leaves its buffers. What comes is a value or a SialError with a
// text. SIALX_SECONDS bounds all kinds together, SIALX_SEED sets the first seed.
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <random>

#include "compiler/diag/render.h"
#include "compiler/pipeline/pipeline.h"
#include "runtime/chemistry/basis/basis.h"
#include "runtime/chemistry/files/fcidump.h"
#include "runtime/chemistry/files/molecule_in_results.h"
#include "runtime/chemistry/legacy/legacy_job.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/bytecode/write.h"
#include "runtime/core/checkpoint/index.h"
#include "runtime/core/job/array_source.h"
#include "runtime/core/job/results.h"
#include "runtime/core/stats/stats.h"
#include "runtime/program/job/job_file.h"
#include "tests/unit/main/source_path.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;

namespace {

using Random = std::mt19937_64;
using Reader = std::function<void(const std::string& text, const std::string& path)>;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); }

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void damage(std::string& text, Random& random) {
  static constexpr std::string_view words[] = {"0",  "-1", "1e999", "nan",  "2147483648", "99999999999999999999",
                                               "\"", "[",  "]",     "{",    "}",          "=",
                                               "\n", "..", "/",     "\x1b", "d",          "(",
                                               "*",  "^"};
  static constexpr std::int64_t numbers[] = {0, 1, -1, 2, 255, 65536, 2147483647, -2147483648LL, 1LL << 32, 1LL << 62};
  const std::size_t at = below(random, text.size() + 1);
  switch (below(random, 7)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ static_cast<char>(1u << below(random, 8)));
      break;
    case 1:
      if (at < text.size()) text[at] = static_cast<char>(random());
      break;
    case 2: text.erase(at, 1 + below(random, 12)); break;
    case 3: text.insert(at, text.substr(below(random, text.size() + 1), 1 + below(random, 40))); break;
    case 4: text.insert(at, words[below(random, std::size(words))]); break;
    case 5:
      if (below(random, 8) == 0) text.resize(at);
      break;
    default: {
      const std::size_t width = below(random, 2) == 0 ? 4 : 8;
      const std::int64_t number = numbers[below(random, std::size(numbers))];
      const std::size_t place = at - at % 4;
      if (place + width <= text.size()) std::memcpy(&text[place], &number, width);
    }
  }
}

/// Numbers in the attributes and lists of a results file. Of what HDF5 keeps between them the library trusts every
/// byte.
void damage_numbers(std::string& text, Random& random) {
  static constexpr std::int64_t values[] = {0,         1,         -1,          2, 3, 7, 2147483647, -2147483648LL,
                                            1LL << 32, 1LL << 62, -(1LL << 62)};
  std::vector<std::size_t> places;
  for (const std::vector<std::int64_t>& run : {std::vector<std::int64_t>{2, 1, 1, 2}, {1, 2}, {2, 2}}) {
    const std::string_view bytes(reinterpret_cast<const char*>(run.data()), run.size() * 8);
    const std::string_view in(text);
    for (std::size_t at = in.find(bytes); at != std::string_view::npos; at = in.find(bytes, at + 1))
      for (std::size_t k = 0; k < run.size(); ++k) places.push_back(at + 8 * k);
  }
  if (places.empty()) return;
  std::memcpy(&text[places[below(random, places.size())]], &values[below(random, std::size(values))], 8);
}

struct Kind {
  std::string name, file;  // of the damaged input
  std::vector<std::string> seeds;
  Reader read;
  void (*damage_text)(std::string&, Random&) = &damage;
};

std::string results_file(const Folder& folder, std::int64_t dense_limit) {
  ResultsWriter writer(folder.path("r.h5"), dense_limit);
  writer.program({"p", "abc", {}, {}});
  writer.scalar("e", 1.5);
  writer.saved_scalar("energy", 2.5);
  writer.saved_static("c", {{2, 2}, {1, 2, 3, 4}});
  writer.begin_saved("t", {"t", {1, 2}, {{2, 1}, {1, 2}}});
  BlockIndex block;
  block.rank = 2;
  block.segment = {1, 2};
  writer.saved_block(block, std::vector<double>{1, 2});
  writer.end_saved();
  writer.finish();
  return content(folder.path("r.h5"));
}

void read_results(const std::string& path) {
  ResultsReader reader(path);
  reader.saved_scalars();
  reader.saved_statics();
  Molecule molecule;
  molecule.atoms = {{8, "O", {0, 0, 0.25}}, {1, "H", {0, 1, 2}}};
  molecule_difference(reader.file(), molecule);
  for (const std::string& label : reader.saved_arrays()) {
    reader.layout(label);
    for (const BlockIndex& block : reader.blocks(label)) reader.block(label, block);
  }
}

std::string index_text() {
  CheckpointIndex index;
  index.version = "1";
  index.job_id = "_2026Jan01_000000";
  index.serial = 12;
  index.files = {{"12.rank0", {100, 7}}, {"12.rank1", {200, 8}}};
  index.job.programs = {{"p.sialx", "0123"}};
  index.job.ints = {{"norb", "2"}};
  return to_text(index);
}

void read_index(const std::string& text, const std::string& path) {
  checkpoint_index_from(text, path);
  is_checkpoint_index(text);
}

std::vector<Kind> kinds(const Folder& folder) {
  const std::string corpus = source_path("tests/fuzz/corpus/");
  for (const char* name : {"water.xyz", "oh.g94", "blocks.sialx", "saved.sialx"})
    std::filesystem::copy_file(corpus + name, folder.path(name));
  const std::string source = content(corpus + "blocks.sialx"), other = content(corpus + "saved.sialx"),
                    job = content(corpus + "job.toml");
  folder.write("job.toml", job);
  Job stated = read_job_file(folder.path("job.toml"));
  read_arrays(stated.data);
  const LegacyDat dat = to_legacy_dat(stated);
  std::string big, little;
  for (const std::byte b : format_legacy_dat(dat, ByteOrder::big)) big += static_cast<char>(b);
  for (const std::byte b : format_legacy_dat(dat)) little += static_cast<char>(b);
  const auto compiled = [&folder](const std::string& name) {
    SourceManager sources;
    Emitter emitter;
    const CompileResult result = compile_file(folder.path(name), {}, sources, emitter);
    REQUIRE(result.module);
    std::string bytes;
    for (const std::byte b : write_module(*result.module)) bytes += static_cast<char>(b);
    return bytes;
  };
  const auto bytes_of = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  const std::vector<Atom> atoms = {{8, "O", {0, 0, 0}}, {1, "H", {0, 0, 1.8}}};
  const Reader legacy = [](const std::string&, const std::string& path) {
    Job read = legacy_job(read_legacy_file(path), path);
    to_legacy_dat(read);
  };
  const Reader front = [](const std::string&, const std::string& path) {
    SourceManager sources;
    Emitter emitter;
    compile_file(path, {}, sources, emitter);
    for (const Diagnostic& d : emitter.all()) (render_text(d, sources), render_json(d, sources));
  };
  std::vector<Kind> all = {
      {"xyz",
       "m.xyz",
       {content(corpus + "water.xyz"), content(corpus + "h2.xyz"),
        "2\ncharge=1 spin=0.5\nGh(O1) 0 0 0\n2H 0 0 1.0*^0\n"},
       [](const std::string&, const std::string& path) {
         std::vector<std::string> warnings;
         XyzElectrons electrons;
         read_xyz(path, warnings, &electrons);
       }},
      {"fcidump",
       "m.FCIDUMP",
       {content(corpus + "h2.FCIDUMP")},
       [](const std::string&, const std::string& path) {
         std::vector<std::string> warnings;
         read_fcidump(path, warnings);
       }},
      {"basis",
       "b.g94",
       {content(corpus + "oh.g94"),
        "BASIS \"ao\" CARTESIAN\nO SP\n 1.0 0.1 0.5\n 0.5 1.0 1.0\nH S\n 1.0 0.5 0.0\n 0.2 0.5 1.0\nEND\nECP\nO nelec 2\nO ul\n2 "
        "1.5 0.5\nO S\n1 0.5 0.25\nEND\n"},
       [atoms](const std::string&, const std::string& path) {
         (read_basis(path, atoms, true), read_ecps(path, atoms));
       }},
      {"ecp",
       "e.g94",
       {content(corpus + "oh.g94") +
        "\n****\nO 0\nO-ECP 2 2\nd potential\n1\n2 1.5 0.5\ns-d potential\n2\n2 1.0 2.0\n1 0.5 0.25\n"},
       [atoms](const std::string&, const std::string& path) { read_ecps(path, atoms); }},
      {"dat", "d.dat", {little, big}, legacy},
      {"json", "d.json", {format_legacy_json(dat)}, legacy},
      {"job",
       "j.toml",
       {job, "programs = [\"p.sialx\"]\n[restore]\nfile = \"none.h5\"\n[run]\ncheckpoint_every = \"30m\"\n"},
       [](const std::string&, const std::string& path) {
         Job job = read_job_file(path);
         read_arrays(job.data);
       }},
      {"module",
       "m.siox",
       {compiled("blocks.sialx"), compiled("saved.sialx")},
       [bytes_of](const std::string& text, const std::string&) { disassemble(read_module(bytes_of(text), "m.siox")); }},
      {"index", "index.json", {index_text()}, read_index},
      {"results",
       "r.h5",
       {results_file(folder, 1000), results_file(folder, 1)},
       [](const std::string&, const std::string& path) { read_results(path); },
       &damage_numbers},
      {"statistics",
       "s",
       {std::string(400, '\0')},
       [bytes_of](const std::string& text, const std::string&) { unpack_stats(bytes_of(text)); }},
      {"source", "p.sialx", {source, other}, front},
  };
  return all;
}

}  // namespace

TEST_CASE("readers of damaged files") {
  const Folder folder;
  const std::vector<Kind> all = kinds(folder);
  const std::uint64_t first = setting("SIALX_SEED", 1);
  const auto limit =
      std::chrono::duration<double>(static_cast<double>(setting("SIALX_SECONDS", 4)) / static_cast<double>(all.size()));
  for (const Kind& kind : all) {
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t done = 0, accepted = 0;
    for (; std::chrono::steady_clock::now() - start < limit; ++done) {
      Random random(first + done);
      std::string text = kind.seeds[below(random, kind.seeds.size())];
      for (std::size_t n = below(random, 4) + 1; n > 0; --n) kind.damage_text(text, random);
      const std::string path = folder.write(kind.file, text);
      std::string problem;
      try {
        kind.read(text, path);
        ++accepted;
      } catch (const SialError& error) {
        if (std::strlen(error.what()) == 0) problem = "an error without words";
      } catch (const std::exception& error) { problem = error.what(); }
      if (!problem.empty()) FAIL(kind.name << ", seed " << first + done << ": " << problem);
    }
    std::cout << kind.name << ": " << done << " inputs, " << accepted << " accepted\n";
    CHECK(done > 0);
  }
}
