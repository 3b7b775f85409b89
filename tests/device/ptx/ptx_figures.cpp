// ptx_figures [--markdown]: static figures of generated kernels, as a table; exits with 1 where a kernel misses a limit
// and no reason is known. Registers are those of `ptxas -v` where there is one, else what is alive together in the
// text.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/kernels/gpu/device_layout.h"
#include "tests/device/ptx/figures.h"
#include "tests/device/ptx/runner.h"

namespace {

namespace fs = std::filesystem;
using namespace sial;
using namespace sial::kernels;
using Extents = std::array<std::int64_t, max_rank>;
using Order = std::array<int, max_rank>;

/// What a kernel must keep to, and why one that does not is left as it is.
struct Limits {
  double occupancy = 0.5, coalesced = 0.7, ways = 2.0;
};
constexpr Limits limits;

struct Example {
  std::string name;
  std::vector<DeviceLaunch> launches;
  std::string reason;  // why accesses are not coalesced, empty: they are
};

/// Blocks of random numbers that live as long as the program.
class Blocks {
 public:
  explicit Blocks(ptx::Memory& memory) : registered_(memory) {}
  MutableView block(int rank, const Extents& extent, const Order& order, std::int64_t first = 0) {
    MutableView v;
    v.rank = rank;
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
      v.label[d] = order[d];
      v.extent[d] = extent[static_cast<std::size_t>(order[d])];
      v.stride[d] = stride;
      stride *= v.extent[d];
    }
    auto& values =
        kept_.emplace_back(std::make_unique<std::vector<double>>(static_cast<std::size_t>(stride + first + 32)));
    std::iota(values->begin(), values->end(), 1.0);
    double* p = values->data();
    while (reinterpret_cast<std::uintptr_t>(p) % 256 != 0) ++p;  // as the driver gives memory
    v.data = p + first;
    registered_.add_view(v, "a block", false);
    return v;
  }
  double* numbers(std::int64_t n) { return block(1, {n, 1, 1, 1, 1, 1, 1, 1}, {}).data; }

 private:
  ptx::Registered registered_;
  std::vector<std::unique_ptr<std::vector<double>>> kept_;
};

constexpr Order as_is{0, 1, 2, 3, 4, 5, 6, 7}, swapped{3, 1, 2, 0, 4, 5, 6, 7}, transposed{1, 0, 2, 3, 4, 5, 6, 7},
    back{5, 4, 3, 2, 1, 0, 6, 7}, all_back{7, 6, 5, 4, 3, 2, 1, 0}, inner{0, 2, 1, 3, 4, 5, 6, 7};

class Examples {
 public:
  explicit Examples(Blocks& blocks) : blocks_(blocks) {
    using enum FusedOp;
    const Extents e30{30, 30, 30, 30, 1, 1, 1, 1}, odd{31, 29, 30, 27, 1, 1, 1, 1}, e5{8, 9, 8, 7, 8, 9, 1, 1},
        e8{5, 4, 5, 4, 5, 4, 5, 4}, matrix{1000, 701, 1, 1, 1, 1, 1, 1}, small{10, 9, 10, 9, 1, 1, 1, 1};
    add("fill", e30, 4, {{fill, as_is}});
    add("scale, add a number", e30, 4, {{scale, as_is}, {add_scalar, as_is}});
    add("accumulate, same order", e30, 4, {{accumulate, as_is}});
    add("accumulate, same order, odd extents", odd, 4, {{accumulate, as_is}});
    add("copy (ijkl) = (ikjl)", e30, 4, {{copy, inner}});
    add("copy (ij) = (ji), 1000 x 701", matrix, 2, {{copy, transposed}});
    add("copy (ijkl) = (ljki)", e30, 4, {{copy, swapped}});
    add("copy (ijkl) = (ljki), odd extents", odd, 4, {{copy, swapped}});
    add("copy (ijkl) = (ljki), 10 x 9 x 10 x 9", small, 4, {{copy, swapped}});
    add("copy, six indices reversed", e5, 6, {{copy, back}});
    add("copy, eight indices reversed", e8, 8, {{copy, all_back}});
    add("accumulate (ljki), divide by differences", e30, 4, {{accumulate, swapped}, {divide, as_is}});
    add("divide, multiply by differences", e30, 4, {{divide, as_is}, {multiply, as_is}});
    add("divide by differences from a table", {700, 600, 1, 1, 1, 1, 1, 1}, 2, {{divide, as_is}},
        "the energies of a pair's two elements are read one by one: the second finds them in the L1 cache");
    add("two transposed sources and one as it is", e30, 4,
        {{copy, transposed}, {accumulate, transposed}, {accumulate, as_is}});
    add("sum (ikjl) + (ikjl), scale, add", e30, 4, {{sum, inner}, {scale, as_is}, {add_scalar, as_is}});
    add("eight accumulations", {20, 20, 20, 20, 1, 1, 1, 1}, 4, std::vector<Step>(8, {accumulate, inner}));
    batch("batch of 40 copies (ljki)", small, {copy, swapped});
    batch("batch of 40 accumulations", small, {accumulate, as_is});
    dot("inner product, same order", e30, as_is);
    dot("inner product with (ljki)", e30, swapped);
    dot("inner product with (ikjl)", e30, inner);
  }
  std::vector<Example> all;

 private:
  using Step = std::pair<FusedOp, Order>;

  void steps_on(const MutableView& target, const Extents& extent, int rank, const std::vector<Step>& chain,
                std::vector<FusedStep>& steps) {
    for (const auto& [op, order] : chain) {
      FusedStep s;
      s.op = op;
      s.value = 0.5;
      if (op == FusedOp::sum || op == FusedOp::copy || op == FusedOp::accumulate || op == FusedOp::scaled_copy)
        fused_source(target, as_const(blocks_.block(rank, extent, order)), s.a);
      if (op == FusedOp::sum) fused_source(target, as_const(blocks_.block(rank, extent, order)), s.b);
      if (op == FusedOp::divide || op == FusedOp::multiply) {
        auto& e = energies_.emplace_back(std::make_unique<EnergyDifferences>());
        e->rank = rank;
        for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d)
          e->energy[d].assign(static_cast<std::size_t>(extent[d]), d % 2 == 1 ? 20.0 : -20.0);
        s.energies = e.get();
      }
      steps.push_back(s);
    }
  }
  void add(const std::string& name, const Extents& extent, int rank, const std::vector<Step>& chain,
           const std::string& reason = "") {
    const MutableView target = blocks_.block(rank, extent, as_is);
    std::vector<FusedStep> steps;
    steps_on(target, extent, rank, chain, steps);
    all.push_back({name, plan_device_fused(target, steps), reason});
  }
  void batch(const std::string& name, const Extents& extent, const Step& step) {
    std::vector<std::vector<FusedStep>> steps(40);
    std::vector<FusedWork> work;
    for (auto& s : steps) {
      const MutableView target = blocks_.block(4, extent, as_is);
      steps_on(target, extent, 4, {step}, s);
      work.push_back({target, s});
    }
    all.push_back({name, plan_device_fused(work), ""});
  }
  void dot(const std::string& name, const Extents& extent, const Order& order) {
    const ConstView a = as_const(blocks_.block(4, extent, as_is)), b = as_const(blocks_.block(4, extent, order));
    all.push_back({name, plan_device_dot(a, b, [&](std::int64_t n) { return blocks_.numbers(n); }), ""});
  }

  Blocks& blocks_;
  std::vector<std::unique_ptr<EnergyDifferences>> energies_;
};

std::string assembler() {
  std::string path = "/usr/local/cuda/bin:";
  if (const char* rest = std::getenv("PATH")) path += rest;
  while (!path.empty()) {
    const std::size_t end = path.find(':');
    const fs::path file = fs::path(path.substr(0, end)) / "ptxas";
    if (access(file.c_str(), X_OK) == 0) return file;
    path = end == std::string::npos ? "" : path.substr(end + 1);
  }
  return {};
}

struct Assembled {
  int registers = 0, spilled = 0;  // bytes
};

/// What `ptxas -v` says; throws where it refuses the text.
Assembled assemble(const std::string& ptxas, const std::string& text, const std::string& arch, const fs::path& folder) {
  std::ofstream(folder / "kernel.ptx", std::ios::binary) << text;
  const std::string command =
      fmt::format("{} -v -arch={} -o {} {} >{} 2>&1", ptxas, arch, (folder / "kernel.cubin").string(),
                  (folder / "kernel.ptx").string(), (folder / "log").string());
  const int status = std::system(command.c_str());
  std::ifstream in(folder / "log");
  const std::string said{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::size_t used = said.find("Used "), stores = said.find(" bytes spill stores");
  if (status != 0 || used == std::string::npos || stores == std::string::npos)
    throw std::runtime_error(fmt::format("ptxas for {}: {}", arch, said));
  const std::size_t begin = said.rfind(' ', stores - 1) + 1;
  return {std::stoi(said.substr(used + 5)), std::stoi(said.substr(begin, stores - begin))};
}

/// The text for an older or newer processor: only its head differs (a test of ptx_conformance holds that).
std::string for_target(std::string text, const std::string& arch) {
  const std::size_t version = text.find(".version"), size = text.find(".address_size");
  return text.replace(version, size - version,
                      fmt::format(".version {}\n.target {}\n",
                                  arch == "sm_75"    ? "6.3"
                                  : arch == "sm_100" ? "8.6"
                                                     : "7.8",
                                  arch));
}

struct Row {
  std::string name, kernel, shape;
  std::vector<double> occupancy;
  std::vector<int> registers;
  int alive = 0;
  ptx::Work work;
  std::string reason;
};

int run(bool markdown) {
  if (const std::string why = why_no_device_code(); !why.empty()) {
    std::cout << "no code generator (" << why << "): skipped\n";
    return 77;
  }
  ptx::Runner runner;
  Blocks blocks(runner.memory);
  Examples examples(blocks);
  const std::string ptxas = assembler();
  const fs::path folder = fs::temp_directory_path() / fmt::format("sialx_ptx_figures_{}", getpid());
  fs::create_directories(folder);
  std::vector<Row> rows;
  int missed = 0;
  const auto miss = [&](const Row& r, const std::string& what) {
    ++missed;
    std::cerr << "figures: " << r.name << " (" << r.kernel << "): " << what << "\n";
  };
  for (const Example& e : examples.all)
    for (const DeviceLaunch& l : e.launches) {
      // Kernels of one key in several examples: each by itself.
      ptx::Runner::Kernel& k = runner.kernel(l.key);
      const std::vector<std::uint64_t> before = k.machine->executed();
      ptx::AccessObserver observer;
      runner.run({l}, &observer);
      std::vector<std::uint64_t> executed = k.machine->executed();
      for (std::size_t i = 0; i < executed.size(); ++i) executed[i] -= before[i];
      Row r{e.name + (l.key.kind == CodeKind::device_sum ? ": sum" : ""),
            code_name(l.key),
            fmt::format("{} x {}, {}", l.blocks, l.threads, l.shared_bytes),
            {},
            {},
            ptx::live_registers(k.program),
            ptx::work_of(k.program, executed, observer),
            e.reason};
      for (const ptx::Gpu& gpu : ptx::gpus()) {
        Assembled a{r.alive + 12, 0};  // addresses and what the assembler moves forward
        if (!ptxas.empty()) a = assemble(ptxas, for_target(runner.text(l.key), gpu.assembled), gpu.assembled, folder);
        r.registers.push_back(a.registers);
        r.occupancy.push_back(ptx::occupancy(gpu, a.registers, l.threads, l.shared_bytes));
        if (a.spilled > 0) miss(r, fmt::format("{} bytes of spilled registers on {}", a.spilled, gpu.arch));
        if (r.occupancy.back() < limits.occupancy)
          miss(r, fmt::format("occupancy {:.2f} on {} ({} registers)", r.occupancy.back(), gpu.arch, a.registers));
      }
      const bool tail = l.key.kind == CodeKind::device_sum;  // one block
      if (r.reason.empty() && !tail && std::min(r.work.load_efficiency, r.work.store_efficiency) < limits.coalesced)
        miss(r, fmt::format("loads move {:.2f} and stores {:.2f} useful bytes a byte", r.work.load_efficiency,
                            r.work.store_efficiency));
      if (r.work.ways > limits.ways && !tail) miss(r, fmt::format("{:.1f} ways of bank conflicts", r.work.ways));
      rows.push_back(std::move(r));
    }
  fs::remove_all(folder);
  const char* between = markdown ? " | " : "  ";
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text = markdown ? "| " : "";
    for (std::size_t c = 0; c < cells.size(); ++c)
      text += (markdown ? cells[c]
                        : fmt::format("{:<{}}", cells[c],
                                      c == 0   ? 42
                                      : c == 1 ? 17
                                               : 13)) +
              (c + 1 < cells.size() ? between : "");
    std::cout << text << (markdown ? " |" : "") << "\n";
  };
  line({"kernel", "blocks x threads, shared bytes", "registers", "alive", "occupancy", "loads, stores", "in a block",
        "bank ways", "integer operations", "flops", "bytes", "share of bandwidth"});
  if (markdown) line(std::vector<std::string>(12, "---"));
  for (const Row& r : rows) {
    const ptx::Work& w = r.work;
    std::string registers, occupancy, bounds;
    for (std::size_t g = 0; g < ptx::gpus().size(); ++g) {
      registers += fmt::format("{}{}", g ? " " : "", r.registers[g]);
      occupancy += fmt::format("{}{:.2f}", g ? " " : "", r.occupancy[g]);
      const ptx::Bound b = ptx::bound(ptx::gpus()[g], w);
      bounds += fmt::format("{}{:.2f}", g ? " " : "", b.of_bandwidth);
    }
    line({r.name, r.shape, registers, std::to_string(r.alive), occupancy,
          fmt::format("{:.2f}, {:.2f}{}", w.load_efficiency, w.store_efficiency, r.reason.empty() ? "" : " (cached)"),
          fmt::format("{:.2f}", w.block_efficiency), fmt::format("{:.2f}", w.ways),
          fmt::format("{:.0f}", w.integers / w.elements), fmt::format("{:.1f}", w.flops / w.elements),
          fmt::format("{:.1f}", (w.load_bytes + w.store_bytes) / w.elements), bounds});
  }
  std::cout
      << "\nOf each kernel: registers and occupancy on sm_70, sm_80, sm_90, sm_100"
      << (ptxas.empty() ? " (no ptxas: estimated)" : "")
      << "; useful bytes of those that a warp's loads and stores move, worst instruction; operations and bytes an element;\n"
         "share of the bandwidth of a V100, A100, H200, B200 that integer operations and arithmetic leave.\n";
  return missed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool markdown = argc == 2 && std::strcmp(argv[1], "--markdown") == 0;
  if (argc > 1 && !markdown) {
    std::cerr << "usage: ptx_figures [--markdown]\n";
    return 2;
  }
  try {
    return run(markdown);
  } catch (const std::exception& e) {
    std::cerr << "ptx_figures: " << e.what() << "\n";
    return 1;
  }
}
