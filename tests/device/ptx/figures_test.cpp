// Figures of texts whose figures are known.
#include <catch2/catch.hpp>

#include <array>

#include "tests/device/ptx/figures.h"

using namespace ptx;

namespace {

const Gpu& gpu(const std::string& arch) {
  for (const Gpu& g : gpus())
    if (g.arch == arch) return g;
  FAIL("no " << arch);
  return gpus().front();
}

/// Thread t of 64 stores at out[t * step + first], and at shared memory's t * pitch.
struct Measured {
  Program program;
  std::vector<double> out = std::vector<double>(4096);
  Memory memory;
  AccessObserver observer;
  Work work;
  Measured(int step, int first, int pitch, unsigned threads = 64)
      : program(parse(".extern .shared .align 16 .b8 s[];\n.visible .entry k(\n.param .align 8 .b8 p[8]\n)\n{\n"
                      ".reg .b32 %r<4>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd0, [p];\nmov.u32 %r0, %tid.x;\n"
                      "mul.wide.u32 %rd1, %r0, " +
                      std::to_string(8 * step) + ";\nadd.s64 %rd2, %rd0, %rd1;\nmul.wide.u32 %rd3, %r0, " +
                      std::to_string(8 * pitch) +
                      ";\nmov.u64 %rd4, s;\nadd.s64 %rd5, %rd3, %rd4;\nst.shared.f64 [%rd5], 0d3FF0000000000000;\n"
                      "st.global.f64 [%rd2], 0d3FF0000000000000;\nret;\n}\n")) {
    double* p = out.data();
    while (reinterpret_cast<std::uint64_t>(p) % 256 != 0) ++p;
    p += first;
    memory.add(p, 2048 * 8);
    Machine machine(program, memory);
    machine.launch({1, threads, 32 * 1024}, std::as_bytes(std::span(&p, 1)), &observer);
    work = work_of(program, machine.executed(), observer);
  }
};

}  // namespace

TEST_CASE("occupancy is that of NVIDIA's calculator") {
  CHECK(occupancy(gpu("sm_80"), 32, 256, 0) == 1.0);
  CHECK(occupancy(gpu("sm_80"), 33, 256, 0) == 0.75);  // 40 registers: 12 warps in each quarter
  CHECK(occupancy(gpu("sm_80"), 64, 256, 0) == 0.5);
  CHECK(occupancy(gpu("sm_80"), 255, 256, 0) == 0.125);
  CHECK(occupancy(gpu("sm_80"), 32, 1024, 0) == 1.0);
  CHECK(occupancy(gpu("sm_80"), 32, 32, 0) == 0.5);  // 32 blocks
  CHECK(occupancy(gpu("sm_80"), 32, 33, 0) == 1.0);  // of two warps
  CHECK(occupancy(gpu("sm_80"), 32, 256, 48 * 1024) == 0.375);
  CHECK(occupancy(gpu("sm_70"), 32, 256, 48 * 1024) == 0.25);
  CHECK(occupancy(gpu("sm_90"), 32, 256, 48 * 1024) == 0.5);
  CHECK(occupancy(gpu("sm_100"), 32, 256, 24 * 1024) == 1.0);
}

TEST_CASE("accesses of a warp fall together, or do not") {
  CHECK(Measured(1, 0, 1).work.store_efficiency == 1.0);
  CHECK(Measured(1, 1, 1).work.store_efficiency == Approx(8.0 / 9.0));
  CHECK(Measured(2, 0, 1).work.store_efficiency == 0.5);
  CHECK(Measured(4, 0, 1).work.store_efficiency == 0.25);
  CHECK(Measured(1, 0, 1).work.ways == 1.0);
  CHECK(Measured(1, 0, 2).work.ways == 2.0);
  CHECK(Measured(1, 0, 16).work.ways == 16.0);
  CHECK(Measured(1, 0, 17).work.ways == 1.0);
  const Measured m(1, 0, 1);
  CHECK(m.work.elements == 64);
  CHECK(m.work.store_bytes == 512);
  CHECK(m.work.integers == 64 * 6);
  CHECK(std::string(bound(gpu("sm_90"), m.work).by) == "memory");
}

TEST_CASE("registers that are alive together") {
  // %rd2, %rd3 and %rd4, two each.
  CHECK(live_registers(Measured(1, 0, 1).program) == 6);
  CHECK(live_registers(parse(".visible .entry k(\n.param .align 8 .b8 p[8]\n)\n{\nret;\n}\n")) == 0);
  // What a loop needs stays alive all the way.
  CHECK(live_registers(parse(".visible .entry k(\n.param .align 8 .b8 p[8]\n)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n"
                             "mov.u32 %r0, 0;\nmov.u32 %r1, 5;\n$L:\nadd.s32 %r2, %r0, 1;\nmov.u32 %r0, %r2;\n"
                             "setp.lt.u32 %p1, %r0, %r1;\n@%p1 bra $L;\nret;\n}\n")) == 2);
}
