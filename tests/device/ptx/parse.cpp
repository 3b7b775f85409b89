#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "tests/device/ptx/program.h"

namespace ptx {
namespace {

struct Form {
  OpCode code;
  Type result;
  std::vector<Type> operands;
};

const std::map<std::string, Form, std::less<>>& forms() {
  static const std::map<std::string, Form, std::less<>> all = {
#define PTX_UNARY(name, text, result, a, value) {text, {OpCode::name, Type::result, {Type::a}}},
#define PTX_BINARY(name, text, result, a, b, value) {text, {OpCode::name, Type::result, {Type::a, Type::b}}},
#define PTX_TERNARY(name, text, result, a, b, c, value) \
  {text, {OpCode::name, Type::result, {Type::a, Type::b, Type::c}}},
#include "tests/device/ptx/ops.def"
  };
  return all;
}

/// How registers are declared: what is computed as u32 or s32 lies in .b32.
enum class Class { pred, b32, b64, f64 };
Class class_of(Type t) {
  switch (t) {
    case Type::u32:
    case Type::s32: return Class::b32;
    case Type::u64:
    case Type::s64: return Class::b64;
    case Type::f64: return Class::f64;
    default: return Class::pred;
  }
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> cut(std::string_view s, char by) {
  std::vector<std::string_view> parts;
  for (int depth = 0; !s.empty();) {
    std::size_t end = 0;
    for (; end < s.size(); ++end) {
      depth += s[end] == '{' || s[end] == '[' ? 1 : s[end] == '}' || s[end] == ']' ? -1 : 0;
      if (s[end] == by && depth == 0) break;
    }
    parts.push_back(trimmed(s.substr(0, end)));
    s.remove_prefix(std::min(s.size(), end + 1));
  }
  return parts;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Program parse() {
    int number = 0;
    for (std::string_view rest = text_; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      program_.lines.emplace_back(trimmed(line));
      line_ = ++number;
      const std::string_view code = trimmed(line.substr(0, line.find("//")));
      if (!code.empty()) statement(code);
    }
    if (program_.kernel.empty() || !ended_) fail("the text ends before a kernel does");
    for (const auto& [op, label] : branches_) {
      const auto found = labels_.find(label);
      line_ = program_.ops[op].line;
      if (found == labels_.end()) fail("there is no such label");
      program_.ops[op].target = found->second;
    }
    if (program_.ops.empty() || program_.ops.back().guard != no_slot ||
        (program_.ops.back().code != OpCode::ret && program_.ops.back().code != OpCode::branch))
      fail("the kernel does not end with `ret`");
    for (const auto& [label, at] : labels_)
      if (at >= static_cast<int>(program_.ops.size())) fail("a label at the end, without an instruction");
    // Constants behind the registers.
    const int first = program_.slots;
    for (const auto& [bits, slot] : constants_) program_.constants.push_back({first + slot, bits});
    std::sort(program_.constants.begin(), program_.constants.end(),
              [](const Constant& x, const Constant& y) { return x.slot < y.slot; });
    const auto resolve = [&](int& slot) {
      if (slot <= first_constant) slot = first + (first_constant - slot);
    };
    for (Op& op : program_.ops) {
      for (int& s : op.s) resolve(s);
      resolve(op.base);
    }
    program_.slots += static_cast<int>(constants_.size());
    return std::move(program_);
  }

 private:
  static constexpr int first_constant = -10;  // -10 - k: the k-th constant, while the number of registers is unknown

  struct Declared {
    Class of = Class::pred;
    int first = 0, count = 0;
  };

  [[noreturn]] void fail(const std::string& what) const {
    const std::string& line =
        program_.lines.empty() ? std::string() : program_.lines[static_cast<std::size_t>(line_) - 1];
    throw Error(fmt::format("kernel {}, line {} `{}`: {}", program_.kernel.empty() ? "(none yet)" : program_.kernel,
                            line_, line, what));
  }

  bool starts(std::string_view& code, std::string_view with) const {
    if (!code.starts_with(with)) return false;
    code = trimmed(code.substr(with.size()));
    return true;
  }

  void statement(std::string_view code) {
    if (starts(code, ".version") || starts(code, ".address_size") || code == ")" || code == "{") return;
    if (starts(code, ".target")) {
      program_.target = code;
      return;
    }
    if (starts(code, ".extern .shared .align")) {
      const std::size_t name = code.find(".b8 "), open = code.find("[];");
      if (name == std::string_view::npos || open == std::string_view::npos) fail("not understood");
      symbols_[std::string(trimmed(code.substr(name + 4, open - name - 4)))] = shared_base;
      return;
    }
    if (starts(code, ".visible .entry")) {
      if (!program_.kernel.empty()) fail("a second kernel");
      program_.kernel = code.substr(0, code.find('('));
      return;
    }
    if (starts(code, ".param")) {
      if (program_.parameter_bytes != 0) fail("a second parameter");
      const std::size_t type = code.find(".b8 "), open = code.find('[');
      if (type == std::string_view::npos || open == std::string_view::npos || open < type) fail("not understood");
      symbols_[std::string(code.substr(type + 4, open - type - 4))] = param_base;
      program_.parameter_bytes = static_cast<std::size_t>(number_in(code.substr(open + 1, code.find(']') - open - 1)));
      return;
    }
    if (starts(code, ".maxntid")) {
      program_.max_threads = static_cast<unsigned>(number_in(code.substr(0, code.find(','))));
      return;
    }
    if (code == "}") {
      ended_ = true;
      return;
    }
    if (program_.kernel.empty() || ended_) fail("not understood");
    if (code.back() == ':') {
      labels_[std::string(code.substr(0, code.size() - 1))] = static_cast<int>(program_.ops.size());
      return;
    }
    if (code.back() != ';') fail("`;` expected");
    code.remove_suffix(1);
    if (starts(code, ".reg")) return registers(code);
    instruction(code);
  }

  std::int64_t number_in(std::string_view s) const {
    const std::string text(trimmed(s));
    char* end = nullptr;
    const long long n = std::strtoll(text.c_str(), &end, 0);
    if (text.empty() || *end != 0) fail(fmt::format("`{}` is no number", text));
    return n;
  }

  /// .b32 %r<18>
  void registers(std::string_view code) {
    static const std::map<std::string, Class, std::less<>> classes = {
        {".pred", Class::pred}, {".b32", Class::b32}, {".b64", Class::b64}, {".f64", Class::f64}};
    const std::size_t space = std::min(code.find('\t'), code.find(' '));
    const std::size_t open = code.find('<');
    const auto found = classes.find(code.substr(0, space));
    if (space == std::string_view::npos || open == std::string_view::npos || found == classes.end())
      fail("registers of this kind are not understood");
    const Declared r{found->second, program_.slots,
                     static_cast<int>(number_in(code.substr(open + 1, code.find('>') - open - 1)))};
    const std::string prefix(trimmed(code.substr(space, open - space)));
    if (r.count < 0 || !registers_.emplace(prefix, r).second) fail("registers of this name are declared twice");
    program_.registers.push_back({prefix, r.first, r.count, r.of == Class::pred ? 0 : r.of == Class::b32 ? 1 : 2});
    program_.slots += r.count;
  }

  std::optional<std::pair<int, Class>> register_of(std::string_view s) const {
    static const std::map<std::string, int, std::less<>> special = {
        {"%tid.x", tid_x}, {"%ntid.x", ntid_x}, {"%ctaid.x", ctaid_x}, {"%nctaid.x", nctaid_x}};
    if (const auto found = special.find(s); found != special.end()) return std::pair(found->second, Class::b32);
    std::size_t digits = s.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(s[digits - 1]))) --digits;
    const auto found = registers_.find(s.substr(0, digits));
    if (found == registers_.end() || digits == s.size()) return std::nullopt;
    const std::int64_t n = number_in(s.substr(digits));
    if (n >= found->second.count) fail(fmt::format("register {} is not declared", s));
    return std::pair(found->second.first + static_cast<int>(n), found->second.of);
  }

  int constant(std::uint64_t bits) {
    const auto found = constants_.try_emplace(bits, static_cast<int>(constants_.size())).first;
    return first_constant - found->second;
  }

  int target_register(std::string_view s, Type type) const {
    const auto r = register_of(s);
    if (!r || r->first < specials) fail(fmt::format("`{}` is no register", s));
    if (r->second != class_of(type)) fail(fmt::format("register {} is of another type", s));
    return r->first;
  }

  int operand(std::string_view s, Type type) {
    if (const auto r = register_of(s)) {
      if (r->second != class_of(type)) fail(fmt::format("register {} is of another type", s));
      return r->first;
    }
    if (const auto symbol = symbols_.find(s); symbol != symbols_.end() && class_of(type) == Class::b64)
      return constant(symbol->second);
    if (type == Type::f64) {
      if (!s.starts_with("0d") && !s.starts_with("0D")) fail(fmt::format("`{}` is no number of 64 bits", s));
      return constant(std::strtoull(std::string(s.substr(2)).c_str(), nullptr, 16));
    }
    if (type == Type::pred) {
      if (s != "0" && s != "1" && s != "-1") fail(fmt::format("`{}` is no truth value", s));
      return constant(s == "0" ? 0 : 1);
    }
    const auto bits = static_cast<std::uint64_t>(number_in(s));
    return constant(class_of(type) == Class::b32 ? bits & 0xffffffffu : bits);
  }

  void instruction(std::string_view code) {
    Op op;
    op.line = line_;
    if (code.front() == '@') {
      const std::size_t end = std::min(code.find(' '), code.find('\t'));
      std::string_view guard = code.substr(1, end - 1);
      op.guarded_by_false = guard.starts_with('!');
      if (op.guarded_by_false) guard.remove_prefix(1);
      op.guard = target_register(guard, Type::pred);
      code = trimmed(code.substr(end));
    }
    const std::size_t end = std::min({code.find(' '), code.find('\t'), code.size()});
    const std::string_view name = code.substr(0, end);
    const std::vector<std::string_view> rest = cut(trimmed(code.substr(end)), ',');
    if (name == "bra" || name == "bra.uni") {
      if (rest.size() != 1) fail("one label expected");
      op.code = OpCode::branch;
      branches_.emplace_back(program_.ops.size(), rest[0]);
    } else if (name == "ret" && rest.empty()) {
      op.code = OpCode::ret;
    } else if (name == "bar.sync" && rest.size() == 1 && rest[0] == "0") {
      op.code = OpCode::barrier;
    } else if (name.starts_with("ld.") || name.starts_with("st.")) {
      memory(op, name, rest);
    } else {
      const auto form = forms().find(name);
      if (form == forms().end()) fail(fmt::format("the instruction `{}` is none that this interpreter knows", name));
      if (rest.size() != form->second.operands.size() + 1)
        fail(fmt::format("{} operands expected", form->second.operands.size() + 1));
      op.code = form->second.code;
      op.d[0] = target_register(rest[0], form->second.result);
      for (std::size_t k = 0; k + 1 < rest.size(); ++k) op.s[k] = operand(rest[k + 1], form->second.operands[k]);
    }
    program_.ops.push_back(op);
  }

  /// ld.global.nc.v2.f64 {%fd1, %fd2}, [%rd1+16]
  void memory(Op& op, std::string_view name, const std::vector<std::string_view>& rest) {
    const bool loads = name.front() == 'l';
    op.code = loads ? OpCode::load : OpCode::store;
    std::vector<std::string_view> words = cut(name.substr(3), '.');
    const auto take = [&](std::string_view word) {
      if (words.empty() || words.front() != word) return false;
      words.erase(words.begin());
      return true;
    };
    const auto unknown = [&] { fail(fmt::format("the instruction `{}` is none that this interpreter knows", name)); };
    if (take("param")) op.space = Space::param;
    else if (take("global")) op.space = Space::global;
    else if (take("shared")) op.space = Space::shared;
    else unknown();
    op.unchanging = take("nc");
    op.parts = take("v2") ? 2 : take("v4") ? 4 : 1;
    static const std::map<std::string, Type, std::less<>> types = {
        {"u32", Type::u32}, {"b32", Type::u32}, {"u64", Type::u64}, {"b64", Type::u64}, {"f64", Type::f64}};
    const auto type = words.size() == 1 ? types.find(words[0]) : types.end();
    if (type == types.end() || rest.size() != 2) unknown();
    op.bytes = type->second == Type::u32 ? 4 : 8;
    if (op.space == Space::param ? !loads : op.bytes != 8) unknown();
    if (op.unchanging && (!loads || op.space != Space::global)) unknown();
    std::string_view values = rest[loads ? 0 : 1], address = rest[loads ? 1 : 0];
    if (op.parts > 1) {
      if (values.size() < 2 || values.front() != '{' || values.back() != '}') fail("a vector of registers expected");
      values = values.substr(1, values.size() - 2);
    }
    const std::vector<std::string_view> each = cut(values, ',');
    if (each.size() != op.parts) fail(fmt::format("{} registers expected", op.parts));
    for (std::size_t k = 0; k < each.size(); ++k)
      (loads ? op.d : op.s)[k] = loads ? target_register(each[k], type->second) : operand(each[k], type->second);
    if (address.size() < 2 || address.front() != '[' || address.back() != ']') fail("an address expected");
    address = address.substr(1, address.size() - 2);
    const std::size_t plus = address.find('+');
    if (plus != std::string_view::npos) op.offset = number_in(address.substr(plus + 1));
    op.base = operand(trimmed(address.substr(0, plus)), Type::u64);
  }

  const std::string_view text_;
  Program program_;
  int line_ = 1;
  bool ended_ = false;
  std::map<std::string, std::uint64_t, std::less<>> symbols_;
  std::map<std::string, Declared, std::less<>> registers_;
  std::map<std::string, int, std::less<>> labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
  std::map<std::uint64_t, int> constants_;
};

}  // namespace

std::string Program::at(const Op& op) const {
  return fmt::format("line {} `{}`", op.line, lines[static_cast<std::size_t>(op.line) - 1]);
}

Program parse(std::string_view text) { return Parser(text).parse(); }

}  // namespace ptx
