// In place of trexio_file.cpp where the library is not there.

#include "runtime/chemistry/files/trexio_file.h"
#include "runtime/core/base/error.h"

namespace sial {

bool has_trexio() { return false; }

void require_trexio() {
  throw EnvironmentError("this sialrun was built without TREXIO",
                         "install libtrexio-dev, or another build of the library, and configure and build again");
}

void write_trexio_file(const std::string&, const TrexioData&) { require_trexio(); }

TrexioData read_trexio_file(const std::string&) {
  require_trexio();
  return {};
}

}  // namespace sial
