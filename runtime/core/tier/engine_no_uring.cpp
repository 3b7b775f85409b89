// The engine of builds without liburing.

#include "runtime/core/tier/file_engine.h"

namespace sial {

std::unique_ptr<FileEngine> make_uring_engine(PieceQueue&, int) { return nullptr; }

}  // namespace sial
