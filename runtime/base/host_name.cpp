#include "runtime/base/host_name.h"

#include <unistd.h>

#include <array>

#include "runtime/base/printable.h"

namespace sial {

std::string printable_host_name() {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  return printable_name(host.data());
}

}  // namespace sial
