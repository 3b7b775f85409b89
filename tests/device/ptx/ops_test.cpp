// Every row of ops.def, on numbers at its edges; a row without a case fails.
#include <catch2/catch.hpp>

#include <bit>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tests/device/ptx/machine.h"

using namespace ptx;

namespace {

struct Row {
  Type result;
  std::vector<Type> operands;
};
const std::map<std::string, Row>& rows() {
  static const std::map<std::string, Row> all = {
#define PTX_UNARY(name, text, result, a, value) {text, {Type::result, {Type::a}}},
#define PTX_BINARY(name, text, result, a, b, value) {text, {Type::result, {Type::a, Type::b}}},
#define PTX_TERNARY(name, text, result, a, b, c, value) {text, {Type::result, {Type::a, Type::b, Type::c}}},
#include "tests/device/ptx/ops.def"
  };
  return all;
}

char letter(Type t) {
  return t == Type::pred ? 'p' : t == Type::f64 ? 'f' : t == Type::u64 || t == Type::s64 ? 'd' : 'r';
}

/// Operands and result as bits, which are what registers hold.
std::uint64_t computed(const std::string& op, const std::vector<std::uint64_t>& operands) {
  const Row& row = rows().at(op);
  const std::map<char, const char*> prefix = {{'p', "%p"}, {'f', "%fd"}, {'d', "%rd"}, {'r', "%r"}};
  std::string body, list;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const char c = letter(row.operands[k]);
    const std::string name = fmt::format("{}{}", prefix.at(c), k + 2);
    if (c == 'p') body += fmt::format("mov.pred {}, {};\n", name, operands[k]);
    if (c == 'f') body += fmt::format("mov.f64 {}, 0d{:016X};\n", name, operands[k]);
    if (c == 'd') body += fmt::format("mov.u64 {}, {};\n", name, static_cast<std::int64_t>(operands[k]));
    if (c == 'r') body += fmt::format("mov.u32 {}, {};\n", name, operands[k]);
    list += ", " + name;
  }
  const char c = letter(row.result);
  body += fmt::format("{} {}9{};\n", op, prefix.at(c), list);
  if (c == 'p') body += "selp.b32 %r9, 1, 0, %p9;\n";
  if (c == 'p' || c == 'r') body += "cvt.u64.u32 %rd9, %r9;\n";
  const std::string store = c == 'f' ? "st.global.f64 [%rd0], %fd9;\n" : "st.global.u64 [%rd0], %rd9;\n";
  std::uint64_t out = 0;
  const std::uint64_t* p = &out;
  const Program program = parse(
      ".visible .entry k(\n.param .align 8 .b8 k_param_0[8]\n)\n{\n.reg .pred %p<10>;\n.reg .b32 %r<10>;\n"
      ".reg .b64 %rd<10>;\n.reg .f64 %fd<10>;\nld.param.u64 %rd0, [k_param_0];\n" +
      body + store + "ret;\n}\n");
  Memory memory;
  memory.add(p, 8);
  Machine(program, memory).launch({}, std::as_bytes(std::span(&p, 1)));
  return out;
}

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
constexpr std::uint64_t all32 = 0xffffffff, all64 = ~std::uint64_t{0}, low = std::uint64_t{1} << 63;
const double no_number = std::numeric_limits<double>::quiet_NaN();

struct Case {
  const char* op;
  std::vector<std::uint64_t> operands;
  std::uint64_t result;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"mov.u32", {all32}, all32},
      {"mov.b32", {7}, 7},
      {"mov.u64", {all64}, all64},
      {"mov.b64", {low}, low},
      {"mov.f64", {bits(-0.0)}, bits(-0.0)},
      {"mov.pred", {1}, 1},
      {"neg.s32", {5}, all32 - 4},
      {"neg.s64", {5}, all64 - 4},
      {"neg.f64", {bits(0.0)}, bits(-0.0)},
      {"abs.f64", {bits(-3.0)}, bits(3.0)},
      {"not.b32", {0xff}, 0xffffff00},
      {"not.b64", {0xff}, all64 - 0xff},
      {"not.pred", {1}, 0},
      {"cvt.u64.u32", {all32}, all32},
      {"cvt.s64.s32", {all32}, all64},
      {"cvt.u32.u64", {all64 - 1}, all32 - 1},
      {"add.s32", {all32, 2}, 1},
      {"add.s64", {all64, 2}, 1},
      {"sub.s32", {1, 2}, all32},
      {"sub.s64", {1, 2}, all64},
      {"mul.lo.s32", {0x10000, 0x10001}, 0x10000},
      {"mul.lo.s64", {all64, 3}, all64 - 2},
      {"mul.hi.u32", {all32, all32}, all32 - 1},
      {"mul.wide.u32", {all32, 8}, 0x7fffffff8},
      {"mul.wide.s32", {all32, 8}, all64 - 7},
      {"min.u32", {all32, 3}, 3},
      {"max.u32", {all32, 3}, all32},
      {"min.s32", {all32, 3}, all32},
      {"max.s32", {all32, 3}, 3},
      {"min.u64", {all64, 3}, 3},
      {"max.u64", {all64, 3}, all64},
      {"min.s64", {all64, 3}, all64},
      {"max.s64", {all64, 3}, 3},
      {"shl.b32", {3, 31}, 0x80000000},
      {"shl.b32", {3, 32}, 0},
      {"shl.b64", {3, 63}, low},
      {"shl.b64", {3, 64}, 0},
      {"shr.u32", {all32, 28}, 15},
      {"shr.u32", {all32, 99}, 0},
      {"shr.u64", {all64, 60}, 15},
      {"shr.u64", {all64, 64}, 0},
      {"shr.s32", {all32 - 7, 2}, all32 - 1},
      {"shr.s32", {all32 - 7, 40}, all32},
      {"shr.s64", {all64 - 7, 2}, all64 - 1},
      {"shr.s64", {all64 - 7, 70}, all64},
      {"and.b32", {12, 10}, 8},
      {"and.b64", {12, 10}, 8},
      {"or.b32", {12, 10}, 14},
      {"or.b64", {12, 10}, 14},
      {"xor.b32", {12, 10}, 6},
      {"and.pred", {1, 0}, 0},
      {"and.pred", {1, 1}, 1},
      {"or.pred", {1, 0}, 1},
      {"or.pred", {0, 0}, 0},
      {"xor.pred", {1, 1}, 0},
      {"xor.pred", {1, 0}, 1},
      {"add.rn.f64", {bits(1.0), bits(0x1p-53)}, bits(1.0)},  // a tie goes to the even one
      {"add.rn.f64", {bits(1.0), bits(0x1.000001p-53)}, bits(1.0 + 0x1p-52)},
      {"sub.rn.f64", {3, 1}, 2},  // denormal numbers stay
      {"mul.rn.f64", {bits(1.0 + 0x1p-30), bits(1.0 + 0x1p-30)}, bits(1.0 + 0x1p-29)},
      {"div.rn.f64", {bits(1.0), bits(3.0)}, bits(0x1.5555555555555p-2)},
      {"div.rn.f64", {bits(-1.0), bits(0.0)}, bits(-std::numeric_limits<double>::infinity())},
      {"mad.lo.s32", {3, 4, all32 - 4}, 7},
      {"mad.lo.s64", {3, 4, all64 - 4}, 7},
      {"mad.wide.u32", {all32, 8, 8}, 0x800000000},
      {"fma.rn.f64", {bits(1.0 + 0x1p-30), bits(1.0 + 0x1p-30), bits(-1.0 - 0x1p-29)}, bits(0x1p-60)},
      {"selp.b32", {1, 2, 1}, 1},
      {"selp.b32", {1, 2, 0}, 2},
      {"selp.b64", {1, 2, 0}, 2},
      {"selp.f64", {bits(1.0), bits(no_number), 1}, bits(1.0)},
      {"setp.lt.f64", {bits(1.0), bits(no_number)}, 0},
      {"setp.lt.f64", {bits(-0.0), bits(1.0)}, 1},
      {"setp.le.f64", {bits(-0.0), bits(0.0)}, 1},
      {"setp.gt.f64", {bits(2.0), bits(1.0)}, 1},
      {"setp.ge.f64", {bits(no_number), bits(1.0)}, 0},
      {"setp.eq.f64", {bits(no_number), bits(no_number)}, 0},
      {"setp.ne.f64", {bits(no_number), bits(no_number)}, 0},
      {"setp.ne.f64", {bits(1.0), bits(2.0)}, 1},
      {"setp.equ.f64", {bits(no_number), bits(1.0)}, 1},
      {"setp.equ.f64", {bits(2.0), bits(1.0)}, 0},
      {"setp.neu.f64", {bits(no_number), bits(no_number)}, 1},
      {"setp.neu.f64", {bits(0.0), bits(-0.0)}, 0},
  };
  return all;
}

}  // namespace

TEST_CASE("every instruction computes what PTX says") {
  std::set<std::string> seen;
  for (const Case& c : cases()) {
    CAPTURE(c.op, c.operands);
    seen.insert(c.op);
    CHECK(computed(c.op, c.operands) == c.result);
  }
  // -1 is the largest number where there is no sign.
  for (const char* type : {"u32", "s32", "u64", "s64"}) {
    const std::uint64_t minus = type[1] == '3' ? all32 : all64;
    const bool less = type[0] == 's';
    const std::pair<const char*, std::array<bool, 2>> compares[] = {// -1 with 1, and with itself
                                                                    {"lt", {less, false}},  {"le", {less, true}},
                                                                    {"gt", {!less, false}}, {"ge", {!less, true}},
                                                                    {"eq", {false, true}},  {"ne", {true, false}}};
    for (const auto& [how, expected] : compares) {
      const std::string op = fmt::format("setp.{}.{}", how, type);
      CAPTURE(op);
      seen.insert(op);
      CHECK((computed(op, {minus, 1}) == 1) == expected[0]);
      CHECK((computed(op, {minus, minus}) == 1) == expected[1]);
    }
  }
  for (const auto& [op, row] : rows()) {
    CAPTURE(op);
    CHECK(seen.count(op) == 1);
  }
}
