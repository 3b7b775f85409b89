#include <catch2/catch.hpp>

#include "runtime/core/base/error.h"
#include "runtime/core/interp/context/bind.h"

using namespace sial;

namespace {

Module sample() {
  Module m;
  m.program = "p";
  m.ints = {{"norb", true, 0}};
  m.n_int_registers = 1;
  m.indices = {{"i", IndexKind::ao, {false, 1}, {true, 0}, no_index},
               {"k", IndexKind::simple, {false, -1}, {false, 2}, no_index},
               {"ii", IndexKind::sub, {}, {}, IndexId(0)},
               {"m", IndexKind::mob, {false, 1}, {false, 2}, no_index}};
  m.arrays = {{"a", ArrayKind::static_, false, false, {IndexId(0), IndexId(1)}},
              {"s", ArrayKind::local, false, false, {IndexId(2), IndexId(0)}},
              {"b", ArrayKind::local, false, false, {IndexId(3)}}};
  return m;
}

JobData job() {
  JobData j;
  j.ints["norb"] = 3;
  j.segments[IndexKind::ao] = {4, 5, 7};
  return j;
}

}  // namespace

TEST_CASE("ranges and segment tables become numbers") {
  const Module m = sample();
  const JobData j = job();
  const BoundProgram b = bind_program(m, j);
  CHECK(b.indices[0].hi == 3);
  CHECK(b.indices[2].hi == 4);
  const BoundArray& a = b.arrays[0];
  CHECK(a.whole.extent[0] == 16);
  CHECK(a.whole.extent[1] == 4);
  CHECK(a.stride[1] == 16);
  CHECK(a.dim[0].offset_of(3) == 9);
  CHECK(a.dim[1].offset_of(2) == 3);
  CHECK(a.dim[1].extent_of(-1) == 1);
}

TEST_CASE("a dimension over a subindex has four combined segments per parent segment") {
  const Module m = sample();
  const JobData j = job();
  const BoundDim dim = bind_program(m, j).arrays[1].dim[0];
  CHECK(dim.lo == 4);
  CHECK(dim.hi == 15);
  // 5 elements are cut into 2, 1, 1, 1
  CHECK(dim.extent_of(combined_segment(2, 1)) == 2);
  CHECK(dim.extent_of(combined_segment(2, 4)) == 1);
  CHECK(dim.offset_of(combined_segment(2, 2)) == 6);
  CHECK(dim.total() == 16);
  BlockIndex block;
  block.rank = 2;
  block.segment = {combined_segment(2, 3), 1};
  CHECK(block_name(bind_program(m, j).arrays[1], block) == "s[2.3,1]");
}

TEST_CASE("subsegments: the first ones take the remainder, small segments leave empty ones") {
  CHECK(subsegment_extent(10, 1) == 3);
  CHECK(subsegment_extent(10, 2) == 3);
  CHECK(subsegment_extent(10, 3) == 2);
  CHECK(subsegment_offset(10, 4) == 8);
  CHECK(subsegment_extent(1, 2) == 0);
  CHECK(subsegment_offset(1, 4) == 1);
}

TEST_CASE("an index without segments is a problem only when it is used") {
  const Module m = sample();
  const JobData j = job();
  const BoundProgram b = bind_program(m, j);
  CHECK(b.indices[3].problem.find("kind mob") != std::string::npos);
  CHECK(b.indices[3].remedy.find("--segments mob=") != std::string::npos);
  CHECK(!b.arrays[2].problem.empty());
  JobData small = job();
  small.segments[IndexKind::ao] = {4, 5};
  CHECK(bind_program(m, small).indices[0].problem.find(
            "not enough segments: index `i` runs over 1:3 (`norb` is 3), and the job has 2 segments of kind ao") !=
        std::string::npos);
}

TEST_CASE("a missing predefined value names itself and the remedy") {
  const Module m = sample();
  JobData j = job();
  j.ints.clear();
  try {
    bind_program(m, j);
    FAIL("no error");
  } catch (const SialError& e) {
    CHECK(std::string(e.what()).find("`norb`") != std::string::npos);
    CHECK(e.hint().find("--set norb=") != std::string::npos);
  }
}

TEST_CASE("copies correspond by name, by leading names or by position") {
  ResolvedReference ij, ji, ijk, nn, mn;
  ij.rank = ji.rank = nn.rank = mn.rank = 2;
  ijk.rank = 3;
  ij.label = {0, 2};
  ji.label = {2, 0};
  ijk.label = {0, 2, 4};
  nn.label = {6, 106};  // repeated name
  mn.label = {8, 6};
  CHECK(copy_mode(ij, ji) == CopyMode::by_label);
  CHECK(copy_mode(ijk, ij) == CopyMode::leading);
  CHECK(copy_mode(ij, ijk) == CopyMode::leading);
  CHECK(copy_mode(nn, mn) == CopyMode::positional);
}
