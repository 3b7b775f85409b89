// PTX of generated GPU kernels: what it may not contain, what the assembler says of it where there is one, how it is
// kept, and what builds without a code generator say.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/core/base/error.h"
#include "tests/conformance/kernels/device_cases.h"

using namespace sial;
using namespace sial::kernels;

namespace {

namespace fs = std::filesystem;

/// Keys of kernels that programs come upon, and of the largest that can be.
std::vector<CodeKey> representative() {
  Numbers numbers(1);
  std::vector<CodeKey> keys;
  const auto add = [&](const Extents& extent, int rank,
                       const std::vector<std::pair<FusedOp, std::array<int, max_rank>>>& chain,
                       std::int64_t first = 32) {
    // Addresses only: plans do not look at memory.
    MutableView t;
    t.data = reinterpret_cast<double*>(std::uintptr_t{1} << 40) + first;
    t.rank = rank;
    t.extent = extent;
    std::int64_t stride = 1;
    for (int d = 0; d < rank; ++d) t.label[d] = d, t.stride[d] = stride, stride *= extent[d];
    EnergyDifferences energies;
    energies.rank = rank;
    for (int d = 0; d < rank; ++d) energies.energy[d].assign(static_cast<std::size_t>(extent[d]), d);
    std::vector<FusedStep> steps;
    for (const auto& [op, order] : chain) {
      FusedStep s;
      s.op = op;
      s.value = 0.5;
      ConstView c;
      c.data = t.data + (std::int64_t{1} << 34) * static_cast<std::int64_t>(steps.size() + 1);
      c.rank = rank;
      std::int64_t along = 1;
      for (int d = 0; d < rank; ++d)
        c.label[d] = order[d], c.extent[d] = extent[order[d]], c.stride[d] = along, along *= c.extent[d];
      REQUIRE(fused_source(t, c, s.a));
      s.b = s.a;
      if (op == FusedOp::divide || op == FusedOp::multiply) s.energies = &energies;
      steps.push_back(s);
    }
    for (const DeviceLaunch& l : plan_device_fused(t, steps)) keys.push_back(l.key);
    if (std::any_of(steps.begin(), steps.end(), [](const FusedStep& s) { return s.energies != nullptr; })) return;
    const std::vector<FusedWork> batch(3, FusedWork{t, steps});
    for (const DeviceLaunch& l : plan_device_fused(batch)) keys.push_back(l.key);
  };
  const std::array<int, max_rank> swapped{3, 1, 2, 0, 4, 5, 6, 7}, transposed{1, 0, 2, 3, 4, 5, 6, 7},
      back{5, 4, 3, 2, 1, 0, 6, 7}, all_back{7, 6, 5, 4, 3, 2, 1, 0}, inner{0, 2, 1, 3, 4, 5, 6, 7};
  const Extents e30{30, 30, 30, 30, 1, 1, 1, 1}, e5{5, 6, 7, 5, 6, 5, 1, 1}, e8{3, 4, 5, 3, 4, 5, 3, 4};
  using enum FusedOp;
  add(e30, 4, {{fill, as_is}});
  add(e30, 4, {{copy, swapped}});
  add(e30, 4, {{accumulate, swapped}, {divide, as_is}});
  add(e30, 4, {{copy, transposed}, {accumulate, transposed}, {accumulate, as_is}});
  add(e30, 4, {{sum, inner}, {scale, as_is}, {add_scalar, as_is}});
  add(e30, 4, {{divide, as_is}, {multiply, as_is}});
  add(e5, 6, {{copy, back}});
  add(e8, 8, {{copy, all_back}});
  add(e8, 8, {{scaled_copy, all_back}, {divide, as_is}});
  add(e5, 6, {{scaled_copy, back}, {divide, as_is}});
  add({3000, 3000, 1, 1, 1, 1, 1, 1}, 2, {{divide, as_is}});
  add({50000, 50000, 1, 1, 1, 1, 1, 1}, 2, {{copy, transposed}});
  std::vector<std::pair<FusedOp, std::array<int, max_rank>>> sums(8, {sum, inner});
  add(e30, 4, sums);  // pairs of sixteen sources
  add(e30, 4, sums, 33);
  add({40, 40, 40, 40, 40, 1, 1, 1}, 6, {{sum, inner}, {divide, as_is}, {accumulate, as_is}});
  const auto product = [&](const Extents& extent, int rank, const std::array<int, max_rank>& order) {
    ConstView a, b;
    a.rank = b.rank = rank;
    a.data = reinterpret_cast<double*>(std::uintptr_t{1} << 40);
    b.data = a.data + (std::int64_t{1} << 34);
    std::int64_t in_a = 1, in_b = 1;
    for (int d = 0; d < rank; ++d) {
      a.label[d] = d, a.extent[d] = extent[d], a.stride[d] = in_a, in_a *= a.extent[d];
      b.label[d] = order[d], b.extent[d] = extent[order[d]], b.stride[d] = in_b, in_b *= b.extent[d];
    }
    for (const DeviceLaunch& l : DotPlan(a, b).launches) keys.push_back(l.key);
  };
  product(e30, 4, as_is);
  product(e30, 4, inner);
  product(e30, 4, swapped);
  product(e5, 6, back);
  product(e8, 8, all_back);
  product({50000, 50000, 1, 1, 1, 1, 1, 1}, 2, transposed);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::string assembler() {
  std::vector<fs::path> places{"/usr/local/cuda/bin"};
  const char* path = std::getenv("PATH");
  std::string rest = path ? path : "";
  for (std::size_t end; !rest.empty(); rest = end == std::string::npos ? "" : rest.substr(end + 1)) {
    end = rest.find(':');
    places.emplace_back(rest.substr(0, end));
  }
  for (const fs::path& place : places)
    if (!place.empty() && access((place / "ptxas").c_str(), X_OK) == 0) return place / "ptxas";
  return {};
}

struct Folder {
  explicit Folder(const char* name)
      : path(fs::temp_directory_path() / ("sialx_ptx_" + std::string(name) + std::to_string(getpid()))) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool can_generate() {
  if (why_no_device_code().empty()) return true;
  WARN(why_no_device_code() << ": skipped");
  return false;
}

}  // namespace

TEST_CASE("PTX says whose it is, rounds every operation on its own and keeps out of local memory") {
  if (!can_generate()) return;
  for (const int major : {8, 9, 12}) {
    const auto source = make_device_code_source(major, 0, "");
    CHECK(source->target() == (major == 8 ? "sm_80" : "sm_90"));
    int divisions = 0, products = 0;
    for (const CodeKey& key : representative()) {
      const std::string& text = source->ptx(key);
      const std::string name = code_name(key);
      CAPTURE(name);
      CHECK(text.substr(0, text.find('\n')) == "// sialx " + name);
      CHECK(text.find(".visible .entry " + name + "(") != std::string::npos);
      CHECK(text.find(".target " + source->target()) != std::string::npos);
      CHECK(&source->ptx(key) == &text);
      for (const char* never :
           {"fma", "mad.f64", "mad.rn", ".local", "div.full", "div.approx", "rcp", "div.s", "div.u", "rem.", "mul.f64",
            "add.f64", "sub.f64", "div.f64"}) {  // the last: without a rounding mode the assembler may fuse
        CAPTURE(never);
        CHECK(text.find(never) == std::string::npos);
      }
      divisions += text.find("div.rn.f64") != std::string::npos ? 1 : 0;
      products += text.find("mul.rn.f64") != std::string::npos ? 1 : 0;
      DeviceFusedCode code;
      if (read_device_fused_key(key, code)) {
        bool divides = false;
        for (const DeviceStep& s : code.steps) divides |= s.op == FusedOp::divide;
        CHECK(divides == (text.find("div.rn.f64") != std::string::npos));
        CHECK((code.box_dims > 0 || code.energy_units > 0 || code.products) ==
              (text.find("bar.sync") != std::string::npos));
        if (code.pairs) CHECK(text.find("st.global.v2.f64") != std::string::npos);
      }
    }
    CHECK(divisions >= 4);
    CHECK(products >= 8);
  }
}

TEST_CASE("the assembler takes all PTX and spills no registers") {
  if (!can_generate()) return;
  const std::string ptxas = assembler();
  if (ptxas.empty()) {
    WARN("no ptxas on this machine: skipped");
    return;
  }
  Folder folder("as");
  std::string table;
  for (const int major : {8, 9}) {
    const auto source = make_device_code_source(major, 0, "");
    for (const CodeKey& key : representative()) {
      const std::string name = code_name(key);
      CAPTURE(name);
      const fs::path in = folder.path / "kernel.ptx", log = folder.path / "log";
      std::ofstream(in, std::ios::binary) << source->ptx(key);
      const std::string command = ptxas + " -v -arch=" + source->target() + " -o " +
                                  (folder.path / "kernel.cubin").string() + " " + in.string() + " >" + log.string() +
                                  " 2>&1";
      const int status = std::system(command.c_str());
      const std::string said = read(log);
      CAPTURE(said);
      CHECK(status == 0);
      CHECK(said.find("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") != std::string::npos);
      const std::size_t used = said.find("Used ");
      REQUIRE(used != std::string::npos);
      const int registers = std::stoi(said.substr(used + 5));
      CHECK(registers <= 128);  // two thread blocks on every multiprocessor
      table += source->target() + " " + name + ": " + std::to_string(registers) + " registers\n";
    }
  }
  std::fputs(table.c_str(), stdout);
}

TEST_CASE("PTX is kept on disk, and damaged or foreign files are made again") {
  if (!can_generate()) return;
  Folder folder("cache");
  DeviceFusedCode code;
  code.steps = {{FusedOp::fill, DeviceForm::absent, DeviceForm::absent, 0}};
  const CodeKey key = device_fused_key(code), other{CodeKind::device_sum, {}};
  const std::string text = make_device_code_source(8, 0, folder.path)->ptx(key);
  const auto files = [&] {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  };
  REQUIRE(files().size() == 1);
  const fs::path file = files().front();
  CHECK(file.filename() == code_name(key) + ".ptx");
  const std::string good = read(file);
  const auto again = [&](int major, bool from_disk) {
    const auto source = make_device_code_source(major, 0, folder.path);
    const std::string found = source->ptx(key);
    CHECK((found == text) == (major == 8));
    CHECK(source->stats().from_disk == (from_disk ? 1 : 0));
    CHECK(source->stats().compiled == (from_disk ? 0 : 1));
  };
  again(8, true);
  again(9, false);  // another processor's is not ours
  again(9, true);
  for (const std::string& bad : {std::string(), good.substr(0, good.size() - 1),
                                 good.substr(0, good.size() / 2) + "x" + good.substr(good.size() / 2 + 1)}) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bad;
    again(8, false);
    CHECK(read(file) == good);
  }
  make_device_code_source(8, 0, folder.path)->ptx(other);
  fs::copy_file(file.parent_path() / (code_name(other) + ".ptx"), file, fs::copy_options::overwrite_existing);
  again(8, false);
}

TEST_CASE("GPUs that are too old, keys that are none and builds without a generator are refused with a remedy") {
  try {
    make_device_code_source(7, 5, "");
    FAIL("no error");
  } catch (const SialError& error) {
    CHECK(std::string(error.what()).find("7.5") != std::string::npos);
    CHECK(error.hint().find("--device host") != std::string::npos);
  }
  const auto source = make_device_code_source(8, 6, "");
  const bool none = !why_no_device_code().empty();
  for (const CodeKey& key :
       {CodeKey{CodeKind::device_fused, {-1}}, CodeKey{CodeKind::device_sum, {1}}, CodeKey{CodeKind::tile, {1, 1}}}) {
    try {
      source->ptx(key);
      FAIL("no error");
    } catch (const SialError& error) {
      CHECK(error.hint().find(none ? "llvm-19-dev" : "--device host") != std::string::npos);
    }
  }
  CHECK(source->stats().failed == 3);
  CHECK(source->stats().compiled == 0);
}
