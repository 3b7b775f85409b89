#include "runtime/core/base/processes.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <fmt/format.h>

#include "runtime/core/base/number.h"

namespace sial {

ProcessLook look_at_process(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  ProcessLook look;
  const std::size_t begin = line.find('('), end = line.rfind(')');  // the name between may hold anything
  if (end == std::string::npos || begin > end) return look;
  look.process = process;
  look.name = line.substr(begin + 1, end - begin - 1);
  std::istringstream(line.substr(end + 1)) >> look.state >> look.parent;
  return look;
}

std::vector<ProcessLook> children_of(pid_t process) {
  std::vector<ProcessLook> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const auto number = read_integer(entry.path().filename().string(), 1, std::numeric_limits<pid_t>::max());
    if (!number) continue;
    if (ProcessLook look = look_at_process(static_cast<pid_t>(*number)); look.parent == process && look.state != 0)
      children.push_back(std::move(look));
  }
  return children;
}

}  // namespace sial
