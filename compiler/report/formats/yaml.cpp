// Remarks in the form of LLVM's optimisation records, one YAML document each, which opt-viewer and llvm-remarkutil
// read. Where a run is given, `Hotness` is the time measured at the line, in microseconds.

#include <fmt/format.h>

#include <cmath>

#include "compiler/report/model.h"

namespace sial::report {
namespace {

/// Single quotes stand for every text of one line: only they are doubled. Bytes below 32 are no YAML.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
  }
  return out + "'";
}

std::string argument(const char* key, const std::string& value) {
  return fmt::format("  - {}: {}\n", key, quoted(value));
}

std::string amounts(const char* key, const Amount& a, const std::string& unit) {
  if (a.text.empty()) return {};
  return argument("String", fmt::format("; {}: ", key)) +
         argument(key, a.value ? fmt::format("{:.6g} = {}", *a.value, a.text) : a.text) +
         argument("String", " " + unit);
}

}  // namespace

std::string to_yaml(const Report& r) {
  std::string out;
  for (const RemarkLine& m : r.remarks) {
    const std::string& file = r.files[static_cast<std::size_t>(m.place.file)];
    out += fmt::format("--- !{}\n", m.kind == RemarkKind::passed   ? "Passed"
                                    : m.kind == RemarkKind::missed ? "Missed"
                                                                   : "Analysis");
    out += fmt::format("Pass:            {}\nName:            {}\n", quoted(m.pass), quoted(m.name));
    out += fmt::format("DebugLoc:        {{ File: {}, Line: {}, Column: {} }}\n", quoted(file), m.place.line,
                       m.place.column);
    out += fmt::format("Function:        {}\n", quoted(m.part.empty() ? r.program : m.part));
    if (r.run)
      for (const CostLine& c : r.run->lines)
        if (c.line == m.place.line && c.file == file) {
          out += fmt::format("Hotness:         {}\n", std::llround(c.seconds * 1e6));
          break;
        }
    out += "Args:\n";
    if (!m.array.empty()) out += argument("Array", m.array) + argument("String", ": ");
    out += argument("String", m.text);
    out += amounts("Bytes", m.bytes, "bytes each time") + amounts("Flops", m.flops, "flop each time") +
           amounts("Executions", m.executions, "times");
    if (!m.advice.empty()) out += argument("String", "; to change: ") + argument("Advice", m.advice);
    out += "...\n";
  }
  return out;
}

}  // namespace sial::report
