#include "runtime/program/session/session.h"

#include "runtime/core/job/segments.h"

namespace sial {

int Session::run(const Job& job) {
  run_.emplace(tools_, compile_, job);
  const int code = run_->run();
  if (code == exit_ok) segments_ = named_segments(run_->job().data);
  run_.reset();
  return code;
}

void Session::release_outputs() {
  if (run_) run_->release_outputs();
}

}  // namespace sial
