// Kernels of GPUs as PTX. Nothing is contracted: multiplications and additions stay apart and divisions are IEEE's, as
// on the host.

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>

#include "runtime/core/kernels/generator/jit_build.h"

namespace sial::kernels {
namespace {

/// False when the key is none of a GPU's kernel.
bool compile_ptx(const std::string& cpu, const CodeKey& key, std::string& text) {
  initialise_targets();
  const std::string triple = "nvptx64-nvidia-cuda";
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return false;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The oldest version of PTX that knows the processor: older drivers take it.
  const std::string features = cpu == "sm_90" ? "+ptx78" : "+ptx70";
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, options, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!machine) return false;
  llvm::LLVMContext context;
  llvm::Module module(code_name(key), context);
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());
  if (!build_device(module, key, false) || llvm::verifyModule(module)) return false;
  optimise_module(module, *machine);
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) return false;
  passes.run(module);
  text = "// sialx " + code_name(key) + "\n" + std::string(out.begin(), out.end());
  return true;
}

}  // namespace
}  // namespace sial::kernels

extern "C" const char* sialx_ptx_identity() { return "LLVM " LLVM_VERSION_STRING " PTX"; }

extern "C" bool sialx_compile_ptx(const char* target, const sial::kernels::CodeKey* key, std::string* text) {
  return key->kind >= sial::kernels::CodeKind::device_fused && sial::kernels::compile_ptx(target, *key, *text);
}
