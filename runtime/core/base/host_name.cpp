#include "runtime/core/base/host_name.h"

#include <unistd.h>

#include "runtime/core/base/printable.h"

namespace sial {

HostName host_name() {
  HostName host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  return host;
}

std::string printable_host_name() { return printable_name(host_name().data()); }

}  // namespace sial
