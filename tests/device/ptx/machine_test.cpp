// The interpreter on texts of a few lines: what instructions compute, and that each misuse is an error that names
// kernel, block, thread and line.
#include <catch2/catch.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/device/ptx/machine.h"

using namespace ptx;

namespace {

/// Threads that write to out[number of the thread]; %rd1: address of that element, %r1: number within the block.
std::string kernel(const std::string& body, int parameters = 8) {
  return "// sialx k\n.version 7.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 sialx_shared[];\n"
         ".visible .entry k(\n\t.param .align 8 .b8 k_param_0[" +
         std::to_string(parameters) +
         "]\n)\n.maxntid 256, 1, 1\n{\n\t.reg .pred \t%p<9>;\n\t.reg .b32 \t%r<19>;\n\t.reg .b64 \t%rd<19>;\n"
         "\t.reg .f64 \t%fd<19>;\n\n"
         "\tld.param.u64 \t%rd0, [k_param_0];\n\tmov.u32 \t%r1, %tid.x;\n\tmov.u32 \t%r2, %ntid.x;\n"
         "\tmov.u32 \t%r3, %ctaid.x;\n\tmad.lo.s32 \t%r4, %r3, %r2, %r1;\n\tmul.wide.u32 \t%rd2, %r4, 8;\n"
         "\tadd.s64 \t%rd1, %rd0, %rd2;\n\tmul.wide.u32 \t%rd4, %r1, 8;\n\tmov.u64 \t%rd3, sialx_shared;\n"
         "\tadd.s64 \t%rd5, %rd3, %rd4;\n" +
         body + "\tret;\n}\n";
}

struct Run {
  std::array<double, 512> out{};
  std::string error;
  std::vector<std::uint64_t> executed;
};

Run run(const std::string& body, Launch launch = {1, 4, 64}, std::size_t elements = 512) {
  Run r;
  fill_with_poison(r.out.data(), sizeof r.out);
  try {
    const Program program = parse(kernel(body));
    Memory memory;
    memory.add(r.out.data(), elements * 8, "out");
    Machine machine(program, memory);
    const double* p = r.out.data();
    machine.launch(launch, std::as_bytes(std::span(&p, 1)));
    r.executed = machine.executed();
  } catch (const Error& e) { r.error = e.what(); }
  return r;
}

void fails(const std::string& body, const std::vector<std::string>& parts, Launch launch = {1, 4, 64},
           std::size_t elements = 512) {
  const Run r = run(body, launch, elements);
  for (const std::string& part : parts) {
    CAPTURE(body, part, r.error);
    CHECK(r.error.find(part) != std::string::npos);
  }
}

double one(const std::string& body) {
  const Run r = run(body + "\tst.global.f64 \t[%rd1], %fd1;\n", {1, 1, 0});
  CAPTURE(body);
  CHECK(r.error == "");
  return r.out[0];
}

/// A result of 32 or 64 bits, stored as it is.
std::uint64_t bits(const std::string& body) {
  const Run r = run(body + "\tst.global.u64 \t[%rd1], %rd9;\n", {1, 1, 0});
  CAPTURE(body);
  CHECK(r.error == "");
  return std::bit_cast<std::uint64_t>(r.out[0]);
}

}  // namespace

TEST_CASE("integers wrap, shift and divide as PTX says") {
  const auto narrow = [](const std::string& code) { return bits("\t" + code + "\n\tcvt.u64.u32 \t%rd9, %r9;\n"); };
  CHECK(narrow("add.s32 \t%r9, -1, 2;") == 1);
  CHECK(narrow("sub.s32 \t%r9, 1, 2;") == 0xffffffff);
  CHECK(narrow("mul.lo.s32 \t%r9, 65536, 65537;") == 65536);
  CHECK(narrow("mul.hi.u32 \t%r9, -1, -1;") == 0xfffffffe);
  CHECK(narrow("mad.lo.s32 \t%r9, 3, 4, -5;") == 7);
  CHECK(narrow("neg.s32 \t%r9, 5;") == 0xfffffffb);
  CHECK(narrow("shr.u32 \t%r9, -1, 28;") == 15);
  CHECK(narrow("shr.u32 \t%r9, -1, 32;") == 0);
  CHECK(narrow("shr.s32 \t%r9, -8, 40;") == 0xffffffff);
  CHECK(narrow("shl.b32 \t%r9, 1, 33;") == 0);
  CHECK(narrow("min.u32 \t%r9, -1, 3;") == 3);
  CHECK(narrow("min.s32 \t%r9, -1, 3;") == 0xffffffff);
  CHECK(bits("\tmul.wide.u32 \t%rd9, -1, 8;\n") == 0x7fffffff8);
  CHECK(bits("\tmul.wide.s32 \t%rd9, -1, 8;\n") == std::uint64_t{0} - 8);
  CHECK(bits("\tcvt.s64.s32 \t%rd9, -2;\n") == std::uint64_t{0} - 2);
  CHECK(bits("\tshl.b64 \t%rd9, 1, 40;\n") == std::uint64_t{1} << 40);
  for (const auto& [compare, expected] : {std::pair("lt.u32", 0), std::pair("lt.s32", 1), std::pair("gt.u32", 1),
                                          std::pair("ne.s32", 1), std::pair("eq.s32", 0)})
    CHECK(narrow("setp." + std::string(compare) + " \t%p1, -1, 1;\n\tselp.b32 \t%r9, 1, 0, %p1;") ==
          static_cast<std::uint64_t>(expected));
}

TEST_CASE("numbers are rounded once an instruction, and fused ones once in all") {
  // 1 + 2^-30 squared is 1 + 2^-29 + 2^-60: the last part is lost in a product, and is what the fused one leaves.
  CHECK(one("\tmul.rn.f64 \t%fd1, 0d3FF0000000400000, 0d3FF0000000400000;\n") == 1.0 + std::ldexp(1.0, -29));
  CHECK(one("\tfma.rn.f64 \t%fd1, 0d3FF0000000400000, 0d3FF0000000400000, 0dBFF0000000800000;\n") ==
        std::ldexp(1.0, -60));
  CHECK(one("\tdiv.rn.f64 \t%fd1, 0d3FF0000000000000, 0d4008000000000000;\n") == 1.0 / 3.0);
  CHECK(one("\tsub.rn.f64 \t%fd1, 0d0000000000000003, 0d0000000000000001;\n") ==
        2 * std::numeric_limits<double>::denorm_min());
  CHECK(std::signbit(one("\tneg.f64 \t%fd1, 0d0000000000000000;\n")));
  CHECK(std::isnan(one("\tsub.rn.f64 \t%fd1, 0d7FF0000000000000, 0d7FF0000000000000;\n")));
  const auto compared = [](const std::string& how) {
    return one("\tsetp." + how +
               ".f64 \t%p1, 0d7FF8000000000000, 0d7FF8000000000000;\n"
               "\tselp.f64 \t%fd1, 0d3FF0000000000000, 0d0000000000000000, %p1;\n");
  };
  CHECK(compared("eq") == 0.0);
  CHECK(compared("ne") == 0.0);
  CHECK(compared("neu") == 1.0);
  CHECK(compared("le") == 0.0);
}

TEST_CASE("threads take their own ways and meet again") {
  // Thread t goes through a loop t times.
  const Run r = run(
      "\tmov.f64 \t%fd1, 0d0000000000000000;\n\tmov.u32 \t%r5, 0;\n$L0:\n\tsetp.ge.u32 \t%p1, %r5, %r1;\n\t@%p1 bra \t$L1;\n"
      "\tadd.rn.f64 \t%fd1, %fd1, 0d3FF0000000000000;\n\tadd.s32 \t%r5, %r5, 1;\n\tbra.uni \t$L0;\n$L1:\n"
      "\tst.shared.f64 \t[%rd5], %fd1;\n\tbar.sync \t0;\n"
      "\txor.b32 \t%r6, %r1, 1;\n\tmul.wide.u32 \t%rd6, %r6, 8;\n\tadd.s64 \t%rd7, %rd3, %rd6;\n"
      "\tld.shared.f64 \t%fd2, [%rd7];\n\tsetp.eq.s32 \t%p2, %r1, 3;\n\t@%p2 neg.f64 \t%fd2, %fd2;\n"
      "\t@!%p2 add.rn.f64 \t%fd2, %fd2, %fd1;\n\tst.global.f64 \t[%rd1], %fd2;\n",
      {2, 100, 800});
  CHECK(r.error == "");
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t t = 0; t < 100; ++t)
      CHECK(r.out[100 * b + t] == (t == 3 ? -2.0 : static_cast<double>(t ^ 1) + static_cast<double>(t)));
}

TEST_CASE("what is not understood is refused with kernel and line") {
  for (const char* code :
       {"\tatom.global.add.f64 \t%fd1, [%rd1], %fd2;\n", "\tshfl.sync.down.b32 \t%r5, %r1, 1, 31, -1;\n",
        "\tmul.f64 \t%fd1, %fd1, %fd1;\n", "\tld.local.f64 \t%fd1, [%rd1];\n", "\tst.global.u32 \t[%rd1], %r1;\n",
        "\tbar.sync \t1;\n", "\tdiv.approx.f32 \t%r1, %r1, %r1;\n"})
    fails(code, {"kernel k, line 26", "none that this interpreter knows"});
  fails("\tadd.s32 \t%r5, %rd1, %r1;\n", {"register %rd1 is of another type"});
  fails("\tadd.s32 \t%r5, %r99, %r1;\n", {"register %r99 is not declared"});
  fails("\tadd.s32 \t%r5, %r1;\n", {"3 operands expected"});
  fails("\tbra \t$L7;\n", {"no such label"});
  fails("\tadd.s32 \t%r5, %r1, %r1\n", {"`;` expected"});
  CHECK_THROWS_AS(parse(""), Error);
  CHECK_THROWS_AS(parse(kernel("").substr(0, 500)), Error);
}

TEST_CASE("accesses outside memory, misaligned ones and memory that is gone") {
  const std::string store = "\tst.global.f64 \t[%rd1], 0d3FF0000000000000;\n";
  fails(store,
        {"kernel k, block 0, thread 3, line 26 `st.global.f64", "8 bytes end 8 bytes behind the end of out (24 bytes)"},
        {1, 4, 0}, 3);
  fails(store, {"block 2, thread 1"}, {4, 4, 0}, 9);
  fails("\tst.global.f64 \t[%rd1+4], 0d3FF0000000000000;\n", {"thread 0", "is not a multiple of 8"});
  fails("\tst.global.f64 \t[%rd1+-8], 0d3FF0000000000000;\n", {"thread 0", "begin 8 bytes before out"});
  fails("\tld.global.v2.f64 \t{%fd1, %fd2}, [%rd1];\n", {"is not a multiple of 16"});
  fails("\tst.global.f64 \t[%rd3], 0d3FF0000000000000;\n", {"outside global memory"});
  fails("\tst.shared.f64 \t[%rd5], 0d3FF0000000000000;\n", {"thread 2", "outside shared memory: bytes 16 to 24 of 16"},
        {1, 4, 16});
  fails("\tst.shared.f64 \t[%rd5+4], 0d3FF0000000000000;\n", {"offset 4 of shared memory is not a multiple of 8"});
  fails("\tst.shared.f64 \t[%rd5+-8], 0d3FF0000000000000;\n", {"outside shared memory: bytes -8 to 0"});
  fails("\tld.param.u32 \t%r5, [k_param_0+8];\n", {"outside the parameter: bytes 8 to 12 of 8"});
  fails("\tld.param.u32 \t%r5, [k_param_0+2];\n", {"is not a multiple of 4"});
  std::array<double, 4> values{};
  const double* p = values.data();
  const Program program = parse(kernel(store));
  Memory memory;
  Machine machine(program, memory);
  const auto message = [&] {
    try {
      machine.launch({1, 4, 0}, std::as_bytes(std::span(&p, 1)));
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string();
  };
  memory.add(p, 32, "block a");
  CHECK(message() == "");
  memory.remove(p);
  CHECK(message().find("it lies in block a, which was given back") != std::string::npos);
  memory.add(p, 32, "block b", true);
  CHECK(message().find("block b is written, which is only to be read") != std::string::npos);
}

TEST_CASE("registers, shared memory and poison that nobody wrote") {
  fails("\tadd.rn.f64 \t%fd2, %fd1, %fd1;\n", {"thread 0", "register %fd1 has not been written"});
  fails("\tsetp.eq.s32 \t%p1, %r1, 2;\n\t@!%p1 mov.f64 \t%fd1, 0d3FF0000000000000;\n\tst.global.f64 \t[%rd1], %fd1;\n",
        {"thread 2", "register %fd1 has not been written"});
  fails("\t@%p1 bra \t$L0;\n$L0:\n", {"register %p1 has not been written"});
  fails("\tld.shared.f64 \t%fd1, [%rd5];\n", {"shared memory is read that was never written"});
  // What the block before left there is no longer there.
  fails(
      "\tsetp.ne.s32 \t%p1, %r3, 0;\n\t@!%p1 st.shared.f64 \t[%rd5], 0d3FF0000000000000;\n\tbar.sync \t0;\n\tld.shared.f64 \t%fd1, [%rd5];\n",
      {"block 1, thread 0", "never written"}, {2, 4, 64});
  fails(
      "\tld.global.f64 \t%fd1, [%rd1];\n\tadd.rn.f64 \t%fd2, %fd1, 0d3FF0000000000000;\n\tst.global.f64 \t[%rd1], %fd2;\n",
      {"stems from memory that was never written"});
  fails("\tld.global.f64 \t%fd1, [%rd1];\n\tneg.f64 \t%fd2, %fd1;\n\tst.global.f64 \t[%rd1], %fd2;\n", {"poison"});
  CHECK(
      run("\tld.global.f64 \t%fd1, [%rd1];\n\tadd.rn.f64 \t%fd2, %fd1, %fd1;\n\tst.global.f64 \t[%rd1], 0d0000000000000000;\n")
          .error == "");
}

TEST_CASE("threads that meet in memory without a barrier between, and barriers that not all come to") {
  const std::string mine = "\tst.shared.f64 \t[%rd5], 0d3FF0000000000000;\n",
                    next = "\tld.shared.f64 \t%fd1, [%rd5+8];\n";
  const std::string shared = "\tst.shared.f64 \t[%rd3], 0d3FF0000000000000;\n", barrier = "\tbar.sync \t0;\n";
  fails(mine + next, {"thread 0", "thread 1 has written bytes 8 ff. of shared memory, with no barrier between"});
  fails(mine + barrier + next, {"thread 3", "never written"});
  CHECK(run(mine + mine + barrier + "\tld.shared.f64 \t%fd1, [%rd3+8];\n").error == "");
  fails(mine + barrier + "\tld.shared.f64 \t%fd1, [%rd3+8];\n" + mine, {"has read bytes"});
  CHECK(run(mine + barrier + "\tld.shared.f64 \t%fd1, [%rd3+8];\n" + barrier + mine).error == "");
  fails(shared, {"thread 1", "thread 0 has written bytes 0 ff. of shared memory, too"});
  fails("\tst.global.f64 \t[%rd0], 0d3FF0000000000000;\n", {"thread 0 of block 0 has written the same global memory"});
  fails("\tst.global.f64 \t[%rd0], 0d3FF0000000000000;\n", {"block 1, thread 0", "thread 0 of block 0"}, {2, 1, 0});
  fails("\tld.global.nc.f64 \t%fd1, [%rd1];\n\tst.global.f64 \t[%rd1], 0d3FF0000000000000;\n", {"as unchanging (.nc)"});
  fails("\tst.global.f64 \t[%rd1], 0d3FF0000000000000;\n\tld.global.nc.f64 \t%fd1, [%rd1];\n", {"as unchanging (.nc)"});
  const std::string first = "\tsetp.eq.s32 \t%p1, %r1, 1;\n";
  fails(first + "\t@%p1 bra \t$L0;\n" + barrier + "$L0:\n", {"a divergent barrier: 1 threads of the block have ended"});
  fails(first + "\t@%p1 bra \t$L0;\n" + barrier + "\tbra.uni \t$L1;\n$L0:\n" + barrier + "$L1:\n",
        {"a divergent barrier: thread"});
  fails(first + "\t@%p1 bar.sync \t0;\n", {"a divergent barrier"});
  fails("$L0:\n\tbra.uni \t$L0;\n", {"has not ended after"});
}

TEST_CASE("launches that the kernel does not allow") {
  const Program program = parse(kernel(""));
  Memory memory;
  Machine machine(program, memory);
  const std::array<std::byte, 16> arguments{};
  const auto refused = [&](Launch launch, std::size_t bytes) {
    CHECK_THROWS_AS(machine.launch(launch, std::span(arguments).first(bytes)), Error);
  };
  refused({1, 257, 0}, 8);
  refused({1, 0, 0}, 8);
  refused({0, 1, 0}, 8);
  refused({1, 1, 0}, 16);
  refused({1, 1, 48 * 1024 + 8}, 8);
}
