#include "tests/unit/main/source_path.h"

namespace sial {

std::string source_path(std::string_view below) { return std::string(SIALX_SOURCE_DIR "/").append(below); }

}  // namespace sial
