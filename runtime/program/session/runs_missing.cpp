// Without chemistry: no gradients, and no inputs of QCSchema.

#include "runtime/program/session/gradient_run.h"
#include "runtime/program/session/schema_run.h"

namespace sial {

struct AtomicInput {
  Job job;
};

static InputError refusal(const std::string& what) {
  return InputError(what + " needs chemistry, and this sialrun was built without it",
                    "leave it out, or build with -DSIALX_CHEMISTRY=ON");
}

void check_gradient(const Job&) { throw refusal("a gradient"); }
std::string gradient_plan(const Job&) { throw refusal("a gradient"); }
int run_gradient(Session&, int, const Job&, JobOutcome&, Gradient&) { throw refusal("a gradient"); }

Captured::Captured() = default;
Captured::~Captured() = default;

SchemaRun::SchemaRun(const std::string&, std::string, std::string, int) { throw refusal("`--qcschema`"); }
SchemaRun::~SchemaRun() = default;
const Job& SchemaRun::job() const { return input_->job; }
int SchemaRun::finish(int code) { return code; }
void SchemaRun::fail(const std::string&, int) noexcept {}

}  // namespace sial
