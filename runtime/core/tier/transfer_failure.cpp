#include "runtime/core/tier/transfer_failure.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace sial {
namespace {

const char* remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free space there, name another folder with `--spill`, or raise `--memory`";
    case EFBIG: return "raise `ulimit -f`, or name another folder with `--spill`";
    case EIO: return "the disk may be failing (see `dmesg`): name another folder with `--spill`";
    default: return "name another folder with `--spill`";
  }
}

}  // namespace

EnvironmentError transfer_failure(const Tier& tier, bool write, int error) {
  return EnvironmentError(fmt::format("cannot {} {}: {}", write ? "write blocks to" : "read blocks from", tier.name(),
                                      std::strerror(error)),
                          remedy(error));
}

}  // namespace sial
