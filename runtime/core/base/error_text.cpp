#include "runtime/core/base/error_text.h"

#include <fmt/format.h>

#include "runtime/core/base/printable.h"

namespace sial {

std::string error_text(const SialError& error, int rank, int ranks, const std::string& host) {
  std::string text = "error: ";
  if (!error.where().empty()) text += printable_name(error.where()) + ": ";
  text += printable_name(error.what());
  if (ranks > 1)
    text += fmt::format(" (on rank {} of {}{}{})", rank, ranks, host.empty() ? "" : ", host ", printable_name(host));
  if (!error.hint().empty()) text += "\n  hint: " + printable_name(error.hint());
  return text;
}

}  // namespace sial
